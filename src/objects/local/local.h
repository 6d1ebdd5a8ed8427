/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOCAL_LOCAL_H
#define WF_OBJECTS_LOCAL_LOCAL_H

#include "objects/local/domain.h"
#include "objects/local/peers.h"
#include "objects/local/proof.h"
#include "objects/lower/endpoint.h"
#include "sys/clock.h"
#include "sys/forks.h"
#include "sys/peer_counts.h"

/*
 * While messages go through memory, most progress calls of the endpoint above are
 * partial: they poll the endpoint below and nothing else, without the lock of the
 * endpoint above. After some partial calls, or with the next tick of the coarse clock,
 * comes a full call, which polls everything. wf_progress_wake makes the next call a
 * full one: a call that gives the sockets work calls it.
 */
struct wf_local_pace {
	/* Number of partial calls between the last full one and the next, and how many
	 * of them are still to come; 0: none. @left is guarded by the lock of the
	 * receive context. */
	uint32_t calls, left;
	uint64_t tick; /* time (wf_coarse_ns) of the last full call */
};

/* The coarse clock is read in one of so many partial calls: a divisor of their
 * number. */
enum { WF_LOCAL_CLOCK_INTERVAL = 8 };

/*
 * The endpoint below: an endpoint of shm, through which an FI_EP_RDM endpoint of
 * another provider, the endpoint above, reaches the peers that share memory with it
 * (docs/design/local.md, section 3). It completes, counts and matches in the objects of
 * the endpoint above. It has an AV of its own, in which the user id of each peer is the
 * peer's index in the AV above, but it has no regions: its peers access those of the
 * domain above (wf_domain_lend_regions), so that the same keys, access rights and
 * counters are valid on both transports, and a region is closed for both at once.
 */
struct wf_local {
	struct wf_ep *above;
	const struct wf_lower_domain *domain; /* domain of shm that it is opened on */
	struct fid_av *av;                    /* its AV */
	struct wf_av *table;         /* the same AV, as an object of this library */
	struct wf_lower_ep ep;       /* the endpoint itself */
	struct wf_local_peers peers; /* peers in its AV */
	bool sleeps;         /* A thread may sleep until the endpoint above has work. */
	uint32_t fork_depth; /* of the process that opened the endpoint */
	struct wf_local_pace pace;
	char name[WF_PROOF_NAME]; /* its name, which peers insert into their AVs */
};

/* Open and enable the endpoint below @above, whose bindings are complete, as *@at;
 * no-op if that is not NULL. @forbidden: the application forbids shared memory
 * (FI_OPT_SHARED_MEMORY_PERMITTED). 0 or a negative fi_errno, which is logged with the
 * reason: it cannot be opened, or does not support all capabilities of @above. A
 * control call without locks. */
int wf_local_open(struct wf_ep *above, struct wf_local_domain *domain, bool forbidden,
	struct wf_local **at);
/* Close *@at, after the last wf_local_remove; its operations end. No-op if there is
 * none. A control call without locks. */
void wf_local_close(struct wf_local **at);

/* @below may be NULL, no endpoint, in all functions below but those for its
 * progress. */

/* Is this process a forked child of the process that opened the endpoint? A child has
 * neither the pages of connections nor the memory of the endpoint below. */
static inline bool wf_local_is_inherited(const struct wf_local *below)
{
	return below && wf_unlikely(wf_is_forked_since(below->fork_depth));
}

/* The name that peers insert, a string; NULL: there is no endpoint below. */
const char *wf_local_name(const struct wf_local *below);

/* Descriptor that is readable when the endpoint below has work; only if below->sleeps.
 * Or a negative fi_errno. */
int wf_local_fd(const struct wf_local *below);

/* The lock of the endpoint above is held from here on, but not needed by wf_local_poll;
 * in the next four functions and in wf_local_poll the lock of the receive context is
 * held, too. */

/* Insert the peer whose endpoint below has the name @name, of @len bytes with the NUL,
 * which may come from any program, and whose address above is @addr. If @addr is not in
 * the AV above, messages of the peer have no source until it is. 0 or a negative
 * fi_errno. */
int wf_local_insert(struct wf_local *below, const union wf_sockaddr *addr,
	const void *name, size_t len, fi_addr_t *ret_peer);
/* Connect to the peer with the index @peer. As struct wf_xfer_ops.reach. */
int wf_local_reach(struct wf_local *below, fi_addr_t peer);
/* As struct wf_xfer_ops.is_reached. */
bool wf_local_is_reached(struct wf_local *below, fi_addr_t peer);
/* The socket connection to the peer has been closed by the peer: is it too early to end
 * it, because the peer has not closed its end of the memory? A process that dies closes
 * both, one after the other; one that lives may receive more first. Only then it is
 * known which messages the peer left unread. They go to the next connection, which
 * therefore has to wait; at most a second, because a live peer may never close its end.
 * *@since_ns: 0 at first. */
static inline bool wf_local_lingers(
	struct wf_local *below, fi_addr_t peer, uint64_t *since_ns)
{
	const uint64_t limit_ns = UINT64_C(1000000000);
	uint64_t now;

	if (!wf_local_is_reached(below, peer))
		return false;
	now = wf_now_ns();
	if (!*since_ns)
		*since_ns = now;
	return now - *since_ns < limit_ns;
}

/* End the connection to it, as struct wf_xfer_ops.disconnect, and remove it. */
void wf_local_remove(
	struct wf_local *below, fi_addr_t peer, int err, struct wf_unread *unread);

/* Start @op, whose address is that of the AV above, at the peer that was reached with
 * the index @peer. -FI_ENOTCONN: it is not connected any more. Otherwise the contract
 * is that of struct wf_xfer_ops.start. */
ssize_t wf_local_start(struct wf_local *below, fi_addr_t peer, struct wf_op *op);

/* The fast path of a message, as struct wf_xfer_ops.send_small, or .send_small_data if
 * @data is not NULL. */
ssize_t wf_local_send(struct wf_local *below, fi_addr_t peer, enum wf_op_kind kind,
	const void *buf, size_t len, uint64_t tag, const uint64_t *data);

/* Make progress of the endpoint below; not NULL. */
void wf_local_poll(struct wf_local *below);
/* wf_progress.run of the endpoint above: a partial progress call, or a full one. No
 * lock is held. */
void wf_local_run(struct wf_local *below);
/* At the end of a full call: @calls partial ones follow; 0: the next call is full. */
void wf_local_set_partial(struct wf_local *below, uint32_t calls);
/* The length from which on messages do not take the fast path; 0 without an endpoint
 * below. Any thread. */
size_t wf_local_small_limit(const struct wf_local *below);
/* struct wf_xfer_ops.peer_counts of the endpoint above: @memory of its @all connections
 * use memory. Any thread. */
static inline void wf_local_peer_counts(
	const atomic_uint *memory, const atomic_uint *all, struct wf_peer_counts *ret)
{
	/* relaxed: the counts of one moment are not needed. */
	unsigned int shm = atomic_load_explicit(memory, memory_order_relaxed);
	unsigned int count = atomic_load_explicit(all, memory_order_relaxed);

	ret->shm = shm;
	ret->sockets = count - WF_MIN(count, shm);
}

/* Has the endpoint below, not NULL, moved data since the last call? */
bool wf_local_moved(struct wf_local *below);
/* As in struct wf_xfer_ops; without an endpoint below they return true, false, true and
 * false. */
bool wf_local_arm(struct wf_local *below);
bool wf_local_unfinished(struct wf_local *below);
bool wf_local_flushed(struct wf_local *below);
bool wf_local_cancel(struct wf_local *below, const struct wf_cancel *which);

/* Let counters that were bound later count, too. A control call without locks. */
int wf_local_bind_cntrs(struct wf_local *below);

#endif
