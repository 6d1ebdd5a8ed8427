/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PEER_TESTCOLL_TESTCOLL_H
#define TESTS_PEER_TESTCOLL_TESTCOLL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_peer.h>
#include <rdma/providers/fi_peer_coll.h>
#include <rdma/providers/fi_prov.h>

/*
 * An engine of collectives, written against the public headers only: off_testcoll does
 * barriers and sums of FI_UINT64 in a piece of shared memory, which its members find by
 * the bootstrap of the main provider. It has no peer transfers.
 *
 * One lock for each endpoint guards its groups.
 */

enum { TC_MEMBERS = 16, TC_PIECE = 8, TC_NAME = 32 };

/* Memory that the members share. Operations, and the pieces of long ones, are numbered;
 * an even and an odd one may be under way at a time. */
struct tc_board {
	/* Numbers of arrivals of members at even and at odd ones. */
	atomic_uint arrived[2];
	uint64_t value[2][TC_MEMBERS][TC_PIECE];
};

struct tc_set {
	struct fid_av_set fid;
	struct fid_peer_av_set *owner;
};

struct tc_cq {
	struct fid_cq fid;
	struct fid_peer_cq *owner;
	struct tc_ep *ep;
};

struct tc_cntr {
	struct fid_cntr fid;
	struct fid_peer_cntr *owner;
};

struct tc_ep {
	struct fid_ep fid;
	struct tc_cq *cq;
	struct tc_cntr *cntr;
	pthread_mutex_t lock;
	struct tc_group *groups;
};

struct tc_group {
	struct fid_mc fid;
	struct tc_ep *ep;
	struct tc_group *next;
	struct fi_peer_mc_context main; /* passed by the main provider */
	unsigned int members, rank;
	char mine[TC_NAME], names[TC_MEMBERS][TC_NAME];
	struct tc_board *board;

	/* The operation under way. */
	bool is_active;
	unsigned int number; /* number of the piece */
	uint64_t flags;
	void *context;
	const uint64_t *in;
	uint64_t *out;
	size_t left; /* elements left, from @in on; 0 in a barrier */
};

/* group.c */
int tc_join(struct fid_ep *fid, const void *addr, uint64_t flags,
	struct fid_mc **ret_mc, void *context);
void tc_progress(struct tc_ep *ep);
ssize_t tc_start(struct fid_ep *fid, fi_addr_t addr, const void *in, void *out,
	size_t count, uint64_t flags, void *context);

/* For the test: number of operations that have ended at any member, and the rank whose
 * joins fail after the first exchange. */
extern atomic_uint testcoll_ended;
extern atomic_int testcoll_failing_rank;

#endif
