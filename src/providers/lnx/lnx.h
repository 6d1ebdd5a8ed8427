/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_H
#define LNX_H

#include <pthread.h>
#include <stdatomic.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_peer.h>

#include "objects/endpoint/endpoint.h"
#include "objects/lower/endpoint.h"
#include "objects/srx/srx.h"
#include "providers/lnx/links.h"
#include "sys/pool.h"

/*
 * lnx links the endpoints of other providers, its members, into one.
 *
 * It owns what the application sees: the CQs, the counters, the receive context, the
 * AV. Members import these (fi_peer(3)) and complete, count and match there. A
 * transmission is handed to the member that reaches its destination, by the public call
 * that the application used; it completes in the application's CQ by the member's own
 * hand. A member is opened through the public interface and may be of any provider. A
 * builtin member, one of this library, is then called and linked directly
 * (fast_path.c).
 *
 *   struct lnx_domain  the members' fabrics and domains
 *   struct lnx_av      the members' AVs, and which member reaches which address
 *   struct lnx_ep      the members' endpoints ("rails")
 *   struct lnx_mr      the members' registrations, under one key
 *
 * Locks. Order: lnx_domain.control, lock of the receive context, locks of members,
 * lnx_ep.ops_lock, CQ or counter. The lock of the receive context is held whenever a
 * member may call back into it (peer/open.h); sending takes no lock of ours.
 */

#define lnx_log(level, subsys, ...) FI_LOG(&lnx_fi, level, subsys, __VA_ARGS__)

extern struct fi_provider lnx_fi;

struct lnx_domain {
	struct wf_domain *wf;
	const struct lnx_link *link;
	pthread_mutex_t control; /* guards what AVs keep beside addresses */
	unsigned int count;
	struct wf_lower_domain member[LNX_MAX_LINKS];
	_Atomic uint64_t next_key;
};

static inline struct lnx_domain *lnx_domain_of(const struct wf_domain *domain)
{
	return domain->prov_data;
}

/* The links of @domain, without addresses. */
void lnx_domain_name(const struct lnx_domain *domain, struct lnx_name *ret);

/* Hooks of struct wf_prov: a counter that some member cannot feed is refused; what
 * every member can do. */
int lnx_cntr_opened(struct wf_cntr *cntr);
int lnx_query_atomic(struct wf_domain *wf, enum fi_datatype datatype, enum fi_op op,
	struct fi_atomic_attr *attr, uint64_t flags);

int lnx_domain_init(struct wf_domain *domain, const struct fi_info *info);
void lnx_domain_done(struct wf_domain *domain);

/* ---- addresses ---- */

enum { LNX_NO_RAIL = LNX_MAX_LINKS };

/* Where an address leads. */
struct lnx_peer {
	/* The rail in use. With several, others of @rails may be used in turn, or
	 * instead. LNX_NO_RAIL: no such address. */
	_Atomic uint32_t rail;
	_Atomic uint8_t rails; /* a bit for each rail that reaches the peer */
	_Atomic uint8_t down;  /* those of them that failed */
	uint64_t hash;         /* of the address; see lnx_av_removed */
	fi_addr_t addr[];      /* in the member's AV */
};

struct lnx_av {
	struct wf_av *wf;
	struct lnx_domain *domain;
	struct fid_av *member[LNX_MAX_LINKS];
	/* Endpoints with members that are not of this library; see sources.c.
	 * Guarded by domain->control. */
	struct wf_list eps;
	atomic_bool inserting; /* a member's fi_av_insert runs; see sources.c */
	size_t stride;         /* of struct lnx_peer */
	/* As the slots of objects/av/table.h. A segment is made under
	 * domain->control and stays. */
	_Atomic uintptr_t segment[WF_AV_SEGMENTS];
};

int lnx_av_opened(struct wf_av *av);
void lnx_av_closing(struct wf_av *av);
int lnx_av_inserted(
	struct wf_av *av, fi_addr_t index, const void *addr, uint64_t flags);
void lnx_av_removed(struct wf_av *av, fi_addr_t index);

/* What lnx_av_peer finds the peer at @index by, which is not too large; 0: nothing was
 * ever inserted near it. */
static inline uintptr_t lnx_av_segment(const struct lnx_av *av, uint64_t index)
{
	/* acquire: pairs with the release of the insertion: the segment is initialised.
	 */
	return atomic_load_explicit(
		&av->segment[wf_av_segment(index)], memory_order_acquire);
}

static inline struct lnx_peer *lnx_av_peer_in(
	const struct lnx_av *av, uintptr_t segment, uint64_t index)
{
	return (struct lnx_peer *)(segment + index * av->stride);
}

/* NULL when nothing was ever inserted near @addr; else the rail may be LNX_NO_RAIL. */
static inline struct lnx_peer *lnx_av_peer(const struct lnx_av *av, fi_addr_t addr)
{
	uintptr_t segment;

	addr = wf_av_slot_index(av->wf, addr);
	if (wf_unlikely(addr >> WF_AV_MAX_BITS))
		return NULL;
	segment = lnx_av_segment(av, addr);
	return segment ? lnx_av_peer_in(av, segment, addr) : NULL;
}

/* ---- endpoints ---- */

struct lnx_ep;
struct lnx_op;

/* What a member writes completions into, one for each direction: see completion.c. */
struct lnx_port {
	struct fid_peer_cq fid;
	struct lnx_ep *ep;
	struct wf_cq *cq; /* the application's */
	unsigned int rail;
	bool sources; /* the application asked for FI_SOURCE */
};

typedef fi_addr_t lnx_get_addr_fn(struct fi_peer_rx_entry *entry);

/* The endpoint of one member. */
struct lnx_rail {
	struct wf_lower_ep below;
	struct lnx_port tx, rx;
	/* Every transmission has a struct lnx_op, and ends in completion.c. */
	bool recorded;
	bool network; /* it goes through sockets, and another member does not */
	/* Polls of a network member since something moved; see progress.c. */
	_Atomic uint32_t idle_polls;
	_Atomic uint64_t ops, bytes, failures; /* statistics; see track.c */

	/* Of a member of another library. sources.c: */
	struct fi_ops_srx_owner srx_ops;
	_Atomic(lnx_get_addr_fn *) put_off;
	/* deferred.c: the member's own operations and those in their place; receives
	 * that the member has and that are deferred work; a success that it counted is
	 * held; the next failure that it counts is no receive of the endpoint's. */
	struct fi_ops_srx_peer *member_srx;
	struct fi_ops_srx_peer peer_ops;
	_Atomic uint32_t deferred;
	atomic_bool held, failure_counted;
};

/* How small messages leave over a rail; see fast_path.c. */
struct lnx_fast_path {
	ssize_t (*send)(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
		size_t len, fi_addr_t addr, uint64_t tag);
	struct wf_ep *ep; /* the builtin member's */
	size_t limit;     /* messages are shorter, in bytes; 0: none leaves this way */
};

struct lnx_ep {
	struct wf_ep wf;
	struct lnx_av *av;      /* NULL until enabled */
	struct wf_list av_link; /* in its eps */
	unsigned int count;
	bool tracked;   /* every rail is recorded: several rails, or statistics */
	bool per_msg;   /* rails are chosen for each message */
	bool may_sleep; /* a thread may sleep until something comes */
	/* What progress calls do; see progress.c. The first builtin member in memory,
	 * calls to the next poll of network members, how often those were polled, and
	 * wf_ep_activity() then. */
	struct wf_ep *first;
	_Atomic uint32_t calls_left, rounds;
	_Atomic uint64_t activity;
	bool has_memory;             /* some member does not go through sockets */
	uint8_t more[LNX_MAX_LINKS]; /* rails that are neither network nor @first */
	unsigned int more_count;
	struct lnx_fast_path fast_path[LNX_MAX_LINKS + 1]; /* none over LNX_NO_RAIL */
	struct lnx_domain *domain;
	/* For threads that sleep, -1 until one does: the members' descriptors, and a
	 * timer for members that have none. Guarded by the lock of the receive context.
	 */
	int epfd, timer_fd;
	bool needs_timer;            /* some member has no descriptor */
	unsigned int sleeps_refused; /* since @sleep_activity changed */
	uint64_t sleep_activity; /* wf_ep_activity() when a sleep was refused last */
	struct fi_ops_msg plain_msg; /* the calls as they are without fast path */
	struct fi_ops_tagged plain_tagged;
	struct wf_lock ops_lock; /* guards @ops_pool and @ops */
	struct wf_pool ops_pool;
	struct wf_list ops; /* all struct lnx_op under way */
	struct lnx_rail rail[LNX_MAX_LINKS];
};

static inline struct lnx_ep *lnx_ep_of(struct wf_ep *wf)
{
	return wf_container_of(wf, struct lnx_ep, wf);
}

static inline struct lnx_ep *lnx_ep_of_fid(struct fid_ep *fid)
{
	return wf_container_of(fid, struct lnx_ep, wf.fid);
}

int lnx_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context);

/* rail.c: open the endpoint of member @index, at @source or where the member chooses if
 * that is NULL; import all that @ep is bound to, and enable it, what was done before
 * not again. */
int lnx_rail_open(
	struct lnx_ep *ep, unsigned int index, const struct lnx_name_link *source);
int lnx_rail_enable(struct lnx_ep *ep, unsigned int index);
/* Import those counters of ep->wf.cntr that the member counts and has not imported yet,
 * and bind them to the member's endpoint. */
int lnx_rail_bind_cntrs(struct lnx_ep *ep, unsigned int index);

/* completion.c: what the member at @rail writes into. */
void lnx_ports_init(struct lnx_ep *ep, unsigned int rail);

/* sources.c, for members of other libraries. Export: the one at @rail; enabled: all
 * members are; done: they are closed next. Insert: fi_av_insert of one address at the
 * member; forget: nothing is at @index any more; the control lock is held for both. */
void lnx_sources_export(struct lnx_rail *rail);
void lnx_sources_enabled(struct lnx_ep *ep);
void lnx_sources_done(struct lnx_ep *ep);
int lnx_sources_insert(struct lnx_av *av, unsigned int rail, const void *addr,
	fi_addr_t *id, uint64_t flags);
void lnx_sources_forget(struct lnx_av *av, fi_addr_t index);

/* deferred.c, for members of other libraries: the operations of the imported counter of
 * receives and of the receive context, and what to do when the latter was imported. */
extern struct fi_ops_cntr_owner lnx_deferred_cntr_ops;
void lnx_deferred_export_srx(struct fi_ops_srx_owner *ops);
void lnx_deferred_srx_opened(struct lnx_rail *rail);

/* The member ended a receive with @context. If that is deferred work it is counted, and
 * @context is the application's. False: it asked for no entry of a success. Lock of the
 * receive context held. */
bool lnx_deferred_done(struct lnx_rail *rail, void **context, bool failed);

/* The call that moved the member returned: count what was held. */
void lnx_count_held(struct lnx_rail *rail);

/* progress.c */
extern const struct wf_progress lnx_progress_item;
void lnx_progress(struct wf_ep *ep);
void lnx_progress_init(struct lnx_ep *ep);
void lnx_progress_enabled(struct lnx_ep *ep);
void lnx_progress_done(struct lnx_ep *ep);

/* An operation was given to @rail: poll it soon. */
static inline void lnx_rail_wake(struct lnx_ep *ep, struct lnx_rail *rail)
{
	if (!rail->network)
		return;
	atomic_store_explicit(&rail->idle_polls, 0, memory_order_relaxed);
	atomic_store_explicit(&ep->calls_left, 0, memory_order_relaxed);
}

/* fast_path.c. Link: the queues and counters of a builtin member with the
 * application's, again when a counter was bound late. Enabled: all members are. Finish:
 * the calls. */
void lnx_fast_path_link(struct lnx_ep *ep, struct lnx_rail *rail);
void lnx_fast_path_enabled(struct lnx_ep *ep);
void lnx_fast_path_finish(struct wf_ep *ep);

/* start.c: any operation that the fast path does not take. */
ssize_t lnx_start(struct wf_ep *ep, struct wf_op *op);

/* ---- records of operations: track.c ---- */

/*
 * One operation under way. Members get it as the operation's context. All transmissions
 * over a recorded rail have one, and deferred receives at members of other libraries.
 */
struct lnx_op {
	struct fi_context2
		room;        /* memory for a member with FI_CONTEXT2; first member */
	struct wf_list link; /* in lnx_ep.ops */
	void *context;       /* the application's */
	uint64_t flags;
	size_t len; /* bytes */
	enum wf_op_kind kind;
	uint32_t rail;
	bool cancelled; /* its rail did not fail */
	/* While a cancel call names it the memory stays; ended: it is free then. */
	bool cancelling, ended;
	fi_addr_t peer;
};

/* NULL: no memory. */
struct lnx_op *lnx_op_new(struct lnx_ep *ep, const struct wf_op *op, uint32_t rail);
void lnx_op_free(struct lnx_ep *ep, struct lnx_op *op);

/* The operation at @rail that the member knows by @context, or NULL. */
struct lnx_op *lnx_op_find(struct lnx_ep *ep, const void *context, uint32_t rail);

/* Has an operation at @rail not ended of which the application hears no success, because
 * it was injected? */
bool lnx_op_any_injected(struct lnx_ep *ep, uint32_t rail);

/* fi_cancel at a recorded rail whose member is of another library; no lock held. It
 * does not tell whether it found the operation. */
void lnx_op_cancel(struct lnx_ep *ep, const void *context, uint32_t rail);

/* @rail failed for the address with @err (positive), and is taken out if that says so.
 * True: another is in its place. */
bool lnx_rail_failed(struct lnx_ep *ep, fi_addr_t addr, uint32_t rail, int err);

void lnx_rail_count(struct lnx_ep *ep, uint32_t rail, size_t len);

/* The rail for the next message to @peer; LNX_NO_RAIL. */
uint32_t lnx_rail_next(struct lnx_ep *ep, struct lnx_peer *peer);

void lnx_dump_stats(const struct lnx_ep *ep);

/* mr.c */
int lnx_mr_register(struct wf_domain *wf, const struct fi_mr_attr *attr, uint64_t flags,
	struct fid_mr **ret_mr);

#endif
