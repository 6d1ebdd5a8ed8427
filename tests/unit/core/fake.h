/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_CORE_FAKE_H
#define TESTS_UNIT_CORE_FAKE_H

/* Simulated providers and a log for the tests of discovery. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <rdma/fabric.h>
#include <rdma/fi_ext.h>
#include <rdma/providers/fi_prov.h>

#include "core/init.h"
#include "core/log/log.h"
#include "core/registry.h"
#include "core/params/settings.h"
#include "core/stand_in.h"

#define FAKE_VERSION FI_VERSION(2, 6)

/* Everything that was logged since fake_log_start. */
static char fake_logged[16384];

static int fake_log_enabled(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags)
{
	return 1;
}

static int fake_log_ready(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags, uint64_t *showtime)
{
	return 1;
}

static void fake_log(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	size_t used = strlen(fake_logged);

	(void)snprintf(fake_logged + used, sizeof(fake_logged) - used, "%s%s: %s",
		level == FI_LOG_WARN ? "warning " : "", prov->name, msg);
}

static inline void fake_log_start(void)
{
	static struct fi_ops_log ops = {
		.size = sizeof(ops),
		.enabled = fake_log_enabled,
		.ready = fake_log_ready,
		.log = fake_log,
	};
	static struct fid_logging fid = {
		.fid = { .fclass = FI_CLASS_LOG },
		.ops = &ops,
	};

	fake_logged[0] = '\0';
	assert_int_equal(wf_log_import(&fid), 0);
}

#define assert_logged(text)                                                            \
	do {                                                                           \
		if (!strstr(fake_logged, text))                                        \
			fail_msg("not logged: %s\nbut:\n%s", text, fake_logged);       \
	} while (0)

static inline struct fi_info *fake_info(const char *prov_name, const char *domain)
{
	struct fi_info *info = fi_allocinfo();

	assert_non_null(info);
	info->fabric_attr->prov_name = prov_name ? strdup(prov_name) : NULL;
	info->fabric_attr->name = strdup("net0");
	info->domain_attr->name = strdup(domain);
	return info;
}

static inline int fake_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return -FI_ENODEV;
}

/* A registry of exactly these providers, as if the process had started with this
 * environment. */
static inline void fake_start(const char *const *env, struct fi_provider *const *provs)
{
	static const char *const vars[] = { "FI_PROVIDER", "FI_ADDR_FORMAT",
		"FI_HOOK" };
	const struct wf_prov_source source = { .origin = "the test" };

	wf_core_init();
	wf_registry_done();
	wf_settings_done();
	for (size_t i = 0; i < sizeof(vars) / sizeof(vars[0]); i++)
		assert_int_equal(unsetenv(vars[i]), 0);
	for (; env && *env; env += 2)
		assert_int_equal(setenv(env[0], env[1], 1), 0);
	fake_log_start();
	wf_settings_load();
	for (; *provs; provs++)
		(void)wf_registry_add(*provs, &source, false);
}

#endif
