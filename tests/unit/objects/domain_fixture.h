/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_OBJECTS_DOMAIN_FIXTURE_H
#define TESTS_UNIT_OBJECTS_DOMAIN_FIXTURE_H

/* A domain without a provider, for objects that are opened on one. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rdma/fi_errno.h>

#include "objects/domain/domain.h"
#include "objects/progress/thread.h"

struct domain_fixture {
	struct fi_provider fi;
	struct wf_prov prov;
	struct wf_fabric fabric;
	struct fi_domain_attr domain_attr;
	struct fi_info info;
	struct wf_domain domain;
};

static int domain_fixture_setup(void **state)
{
	struct domain_fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->fi.name = "test";
	f->prov.fi = &f->fi;
	f->fabric.prov = &f->prov;
	f->info.addr_format = FI_SOCKADDR_IN;
	f->info.domain_attr = &f->domain_attr;
	f->domain.fabric = &f->fabric;
	f->domain.prov = &f->prov;
	f->domain.info = &f->info;
	f->domain.api_version = FI_VERSION(2, 6);
	pthread_mutex_init(&f->domain.control, NULL);
	wf_progress_list_init(&f->domain.items, WF_LOCK_MUTEX, NULL);
	wf_triggers_init(&f->domain.triggers);
	wf_counted_init(&f->domain.counted);
	*state = f;
	return 0;
}

static int domain_fixture_teardown(void **state)
{
	struct domain_fixture *f = *state;

	/* All objects of the domain were closed. */
	assert_int_equal(atomic_load(&f->domain.refs), 0);
	wf_progress_thread_stop(f->domain.thread);
	wf_counted_done(&f->domain.counted);
	wf_triggers_done(&f->domain.triggers);
	wf_progress_list_done(&f->domain.items);
	pthread_mutex_destroy(&f->domain.control);
	free(f);
	return 0;
}

#define DOMAIN_TEST(name)                                                              \
	cmocka_unit_test_setup_teardown(                                               \
		name, domain_fixture_setup, domain_fixture_teardown)

#endif
