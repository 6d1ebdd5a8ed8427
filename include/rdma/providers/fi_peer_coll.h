/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collective engines: what fi_peer(3) leaves open between a main provider and a
 * provider that implements only collectives for it. docs/design/coll.md shows the
 * calls in their order. Not part of libfabric's interface of any version: a provider
 * finds by the sizes whether the other side knows it.
 *
 * A main provider opens an engine's domain, AV, AV sets, CQ, counter and EQ with the
 * contexts of fi_peer.h, and its endpoint with FI_PEER_TRANSFER in info->mode, if the
 * engine moves its data over the main endpoint. It joins a group of the engine by
 * fi_join_collective with FI_PEER in the flags and a struct fi_peer_mc_context as
 * context. The engine returns its own fid_mc, whose fi_mc_addr() the main provider uses
 * in the engine's collective calls and which it closes when the application leaves.
 */
#ifndef FI_PEER_COLL_H
#define FI_PEER_COLL_H

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Small collectives of the main provider over its point-to-point messages, for an
 * engine that has to exchange something before it works. The members are those of the
 * group that is being joined, in the order of its set.
 */
struct fi_ops_coll_bootstrap {
	size_t size;
	/*
	 * Gather @len bytes at @buf of each member in @result, ordered by rank. All
	 * members call it in the same order, one call at a time for each group, with
	 * the same @len of at most FI_COLL_BOOTSTRAP_MAX. 0: @done is called once, by a
	 * thread that makes progress and holds no lock, with 0 or a negative fabric
	 * errno; until then both buffers are in use. Negative: not started. May be
	 * called from @done, and until the group is joined.
	 */
	int (*allgather)(struct fid_mc *mc, const void *buf, size_t len, void *result,
		void (*done)(void *arg, int err), void *arg);
};

enum { FI_COLL_BOOTSTRAP_MAX = 4096 };

/* Context of fi_join_collective with FI_PEER. Valid during the call only; what it
 * points to, as long as the engine's group is open. */
struct fi_peer_mc_context {
	size_t size;
	struct fid_mc *mc; /* the main provider's group, for @bootstrap and events */
	/* NULL for an engine that has peer transfers. */
	struct fi_ops_coll_bootstrap *bootstrap;
	/*
	 * The group is joined (0), or cannot be (negative fabric errno). Called once,
	 * never inside fi_join_collective, by a thread that makes progress and holds no
	 * lock. NULL: the engine writes FI_JOIN_COMPLETE with &mc->fid and @context to
	 * the imported EQ instead, and only logs a failure.
	 */
	void (*joined)(void *context, int err);
	void *context;
};

#ifdef __cplusplus
}
#endif

#endif /* FI_PEER_COLL_H */
