/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_PARAM_H
#define WF_VERBS_PARAM_H

#include <stdbool.h>
#include <stddef.h>

/* The parameters FI_VERBS_*, see fi_verbs(7). */
struct verbs_params {
	size_t tx_size, rx_size;
	size_t tx_iov_limit, rx_iov_limit;
	size_t inline_size; /* 0: the largest that the device supports */
	size_t min_rnr_timer;
	size_t cq_bunch;
	size_t gid_index;
	size_t name_server_port;
	int use_odp, use_name_server;
	/* Prefixes, separated by commas; NULL: all names. */
	const char *device_names, *ifaces;
};
extern struct verbs_params verbs_params;

void verbs_params_init(void);

/* Does @name begin with one of the prefixes in @list, separated by commas? NULL: always
 * true. */
bool verbs_listed(const char *list, const char *name);

#endif
