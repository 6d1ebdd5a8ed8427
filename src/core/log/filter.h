/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_LOG_FILTER_H
#define WF_CORE_LOG_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/providers/fi_log.h>

/* The filter of FI_LOG_LEVEL, FI_LOG_PROV and FI_LOG_SUBSYS. */
struct wf_log_filter {
	unsigned int level_count; /* 0: silent, 1: warn, 2: warn and trace, ... */
	uint32_t subsys_mask;
	bool prov_negated;
	char *provs; /* "tcp\0shm\0\0"; NULL: all providers */
	bool quiet;  /* The level is set to no messages at all. */

	/* Settings that are invalid or have no effect; log.c warns of them. */
	bool bad_level, debug_absent;
	const char *bad_subsys; /* points into the text given to init */
};

/* @level, @provs, @subsys: values of the variables, NULL if unset. Without memory the
 * filter admits all providers. */
void wf_log_filter_init(struct wf_log_filter *filter, const char *level,
	const char *provs, const char *subsys);
void wf_log_filter_done(struct wf_log_filter *filter);

bool wf_log_filter_prov(const struct wf_log_filter *filter, const char *name);
bool wf_log_filter_pass(const struct wf_log_filter *filter, const char *prov_name,
	enum fi_log_level level, enum fi_log_subsys subsys);

#endif
