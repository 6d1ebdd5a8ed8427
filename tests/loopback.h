/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_LOOPBACK_H
#define TESTS_LOOPBACK_H

/* An endpoint of type FI_EP_RDM on the loopback interface. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "rdm_end.h"

/* @mr_mode: as in fi_info(3). */
static inline struct fi_info *loopback_info(
	const char *provider, uint64_t caps, int mr_mode)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	hints->fabric_attr->prov_name = strdup(provider);
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->mr_mode = mr_mode;
	hints->addr_format = FI_SOCKADDR_IN;
	assert_int_equal(fi_getinfo(FI_VERSION(1, 20), "127.0.0.1", NULL, FI_SOURCE,
				 hints, &info),
		0);
	fi_freeinfo(hints);
	return info;
}

static inline void loopback_open_mr(
	struct rdm_end *end, const char *provider, uint64_t caps, int mr_mode)
{
	rdm_end_open(end, loopback_info(provider, caps, mr_mode), 0, FI_WAIT_NONE);
}

static inline void loopback_open(
	struct rdm_end *end, const char *provider, uint64_t caps)
{
	loopback_open_mr(end, provider, caps, 0);
}

#endif
