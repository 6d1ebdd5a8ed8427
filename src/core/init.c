/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/providers/fi_log.h>

#include "core/params/conf.h"
#include "core/fabric.h"
#include "core/init.h"
#include "core/load.h"
#include "core/log/log.h"
#include "core/missing.h"
#include "core/params/param.h"
#include "core/registry.h"
#include "core/params/settings.h"
#include "core/stand_in.h"
#include "sys/cancel.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool started;

/* This process is the forked child of a process in which the library had started. */
static bool forked;

/* This thread is in wf_core_init. A provider's fi_prov_ini calls the library for its
 * parameters and its log; those calls must not start it again. */
static _Thread_local bool starting;

static void init_add_builtin(bool first_wins)
{
	static const struct wf_prov_source source = { .origin = "the library" };

	for (const wf_prov_ini_fn *ini = wf_builtin_providers; *ini; ini++) {
		struct fi_provider *prov = (*ini)();

		if (prov)
			(void)wf_registry_add(prov, &source, first_wins);
	}
}

static void init_note_fork(void)
{
	forked = true;
}

/* Cancelled in the middle, it would run again; and what is loaded may do anything. */
static void init_start(void)
{
	WF_NO_CANCELLATION;

	starting = true;
	(void)pthread_atfork(NULL, NULL, init_note_fork);
	wf_settings_load();
	/* Loaded providers first: of two equal versions the first is kept. */
	init_add_builtin(wf_load_providers());
	wf_stand_ins_register();
	wf_missing_in_filter(&wf_settings.providers);
	wf_missing_in_log();
	wf_core_check_hooks();
	wf_params_warn_unknown();
	starting = false;
	atomic_store_explicit(&started, true, memory_order_relaxed);
}

void wf_core_init(void)
{
	if (!starting)
		(void)pthread_once(&once, init_start);
}

/* Priority of the destructor. It runs after the destructors without a priority, which
 * log and read parameters. */
enum { LAST = 101 };

__attribute__((destructor(LAST))) static void init_stop(void)
{
	/* In a forked child a lock that another thread held at the fork is never
	 * released, and open objects belong to the parent. */
	if (forked)
		return;
	/* relaxed: no other thread calls the library at this point. */
	if (!atomic_load_explicit(&started, memory_order_relaxed))
		return;
	wf_registry_done();
	wf_settings_done();
	wf_params_fini();
	wf_conf_fini();
	wf_log_fini();
}
