/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_CORE_CAPTURE_H
#define TESTS_UNIT_CORE_CAPTURE_H

#include <stdio.h>
#include <string.h>
#include <rdma/fi_ext.h>

#include "core/log/log.h"

/* A logger that keeps the lines that it gets, so that tests can check them. */
static char captured[16384];

static int capture_enabled(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t capture_flags)
{
	return 1;
}

static void capture_log(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	size_t len = strlen(captured);

	(void)snprintf(captured + len, sizeof(captured) - len, "%s %d %d %s",
		prov ? prov->name : "(null)", (int)level, (int)subsys, msg);
}

static struct fi_ops_log capture_ops = {
	.size = sizeof(struct fi_ops_log),
	.enabled = capture_enabled,
	.log = capture_log,
};

static struct fid_logging capture_fid = {
	.fid.fclass = FI_CLASS_LOG,
	.ops = &capture_ops,
};

static inline void capture_start(void)
{
	captured[0] = '\0';
	assert_int_equal(wf_log_import(&capture_fid), 0);
}

static inline const char *capture_end(void)
{
	assert_int_equal(wf_log_restore(&capture_fid), 0);
	return captured;
}

#endif
