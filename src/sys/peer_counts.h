/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_PEER_COUNTS_H
#define WF_SYS_PEER_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct fid;

/*
 * Number of peers of an endpoint by transport, for a provider whose endpoints have
 * several. Hooks, also loadable ones, get this table by fi_open_ops of the endpoint
 * with the name WF_PEER_COUNTS.
 */
#define WF_PEER_COUNTS "weft peer counts 1"

struct wf_peer_counts {
	uint64_t shm;     /* peers reached through shared memory */
	uint64_t sockets; /* peers reached through sockets */
};

struct wf_peer_counts_ops {
	size_t size;
	/* The counts of @ep, which is open. Any thread may call it, whatever the
	 * threading level of the domain: it takes no lock. */
	void (*get)(struct fid *ep, struct wf_peer_counts *ret);
};

#endif
