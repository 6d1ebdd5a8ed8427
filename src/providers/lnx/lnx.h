/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_H
#define LNX_H

#include <pthread.h>
#include <stdatomic.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_peer.h>

#include "objects/endpoint/endpoint.h"
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
 * hand. A member is opened through the public interface and may be of any provider; one
 * of this library is spared that interface afterwards (short.c).
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
	struct {
		struct fid_fabric *fabric;
		struct fid_domain *domain;
		struct fi_info *info; /* with what the application settled */
	} member[LNX_MAX_LINKS];
	_Atomic uint64_t next_key;
	struct fi_ops_domain ops;
};

static inline struct lnx_domain *lnx_domain_of(const struct wf_domain *domain)
{
	return domain->prov_data;
}

/* The links of @domain, without addresses. */
void lnx_domain_name(const struct lnx_domain *domain, struct lnx_name *ret);

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
	size_t stride; /* of struct lnx_peer */
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
	/* acquire: pairs with the release of whoever made it; it is initialised. */
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

	addr &= av->wf->index_mask;
	if (wf_unlikely(addr >> WF_AV_MAX_BITS))
		return NULL;
	segment = lnx_av_segment(av, addr);
	return segment ? lnx_av_peer_in(av, segment, addr) : NULL;
}

/* ---- endpoints ---- */

struct lnx_ep;
struct lnx_op;

/* What a member writes into, one for each direction: see owner.c. */
struct lnx_port {
	struct fid_peer_cq fid;
	struct lnx_ep *ep;
	struct wf_cq *cq; /* the application's */
	unsigned int rail;
	bool sources; /* were asked for */
};

/* And what it counts with: see count.c. */
struct lnx_cntr_port {
	struct fid_peer_cntr fid;
	struct lnx_ep *ep;
};

struct lnx_rail {
	struct fid_ep *ep;
	struct wf_ep *here; /* the same, if it is of this library */
	struct fid_cq *cq;  /* read for progress: rx_cq, or tx_cq */
	struct fid_cq *tx_cq, *rx_cq;
	struct fid_ep *srx;
	struct fid_fabric *fabric;
	struct lnx_port tx, rx;
	struct wf_srx_port srx_port;
	struct fi_ops_srx_owner srx_ops; /* of a member of another library: sources.c */
	fi_addr_t (*put_off)(struct fi_peer_rx_entry *entry); /* control lock */
	struct fid_cntr *cntr[WF_CNTR_COUNT];
	struct lnx_cntr_port cntr_port[WF_CNTR_COUNT];
	bool av_bound, exported, enabled;
	bool sleeps; /* its CQ has a descriptor */
	bool far;    /* it goes through sockets, and others may not */
	/* Looks at a far one since something moved; see progress.c. */
	_Atomic uint32_t quiet;
	_Atomic uint64_t ops, bytes, failures; /* of a tracked endpoint */
};

/* How small messages leave over a rail; see short.c. */
struct lnx_short {
	ssize_t (*send)(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
		size_t len, fi_addr_t addr, uint64_t tag);
	struct wf_ep *ep; /* NULL: the member is not of this library */
	size_t limit;     /* they are shorter; 0: none leaves this way */
};

struct lnx_ep {
	struct wf_ep wf;
	struct lnx_av *av;      /* NULL until enabled */
	struct wf_list av_link; /* in its eps */
	unsigned int count;
	bool tracked;  /* every transmission has a struct lnx_op */
	bool thin;     /* members' default flags are ours */
	bool all_here; /* members are of this library */
	bool per_msg;
	bool counts; /* a counter is bound */
	bool sleeps; /* somebody may sleep until something comes */
	/* What progress calls do; see progress.c. The first member in memory that is of
	 * this library, calls to the next look at far rails, how often that was, and
	 * what was completed then. */
	struct wf_ep *first;
	_Atomic uint32_t wait, turn;
	_Atomic uint64_t completed;
	bool has_near, has_more;
	uint8_t more[LNX_MAX_LINKS]; /* rails that are neither far nor @first */
	unsigned int more_count;
	struct lnx_short rail_short[LNX_MAX_LINKS + 1]; /* none over LNX_NO_RAIL */
	struct lnx_domain *domain;
	/* Of those who sleep, -1 until somebody does: the members' descriptors and a
	 * timer for members that have none. Guarded by the lock of the receive context.
	 */
	int epfd, nap_fd;
	bool naps;                /* there are such members */
	unsigned int nap_refused; /* since @nap_completed changed */
	uint64_t nap_completed;
	struct fi_ops_msg long_msg; /* the calls as they are without short ways */
	struct fi_ops_tagged long_tagged;
	const struct fi_ops *base_ops; /* the skeleton's */
	struct fi_ops fid_ops;
	struct wf_lock ops_lock; /* guards @ops_pool and @listed */
	struct wf_pool ops_pool;
	struct wf_list listed; /* struct lnx_op that are searched for */
	_Atomic uint32_t listed_count;
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
 * that is NULL; give it all that @ep is bound to, and enable it, what was done before
 * not again; close it. */
int lnx_rail_open(
	struct lnx_ep *ep, unsigned int index, const struct lnx_name_link *source);
int lnx_rail_enable(struct lnx_ep *ep, unsigned int index);
/* Import those of ep->wf.cntr that the member has not yet, and bind them there. */
int lnx_rail_bind_cntrs(struct lnx_ep *ep, unsigned int index);
void lnx_rail_close(struct lnx_ep *ep, unsigned int index);

/* owner.c: what the member at @rail writes into. */
void lnx_ports_init(struct lnx_ep *ep, unsigned int rail);

/* sources.c. Export: the member at @rail is not of this library; enabled: all members
 * are; done: they are closed next. Insert: fi_av_insert of one address at the member;
 * forget: nobody is at @index any more; the control lock is held for both. */
void lnx_sources_export(struct lnx_rail *rail);
void lnx_sources_enabled(struct lnx_ep *ep);
void lnx_sources_done(struct lnx_ep *ep);
int lnx_sources_insert(struct lnx_av *av, unsigned int rail, const void *addr,
	fi_addr_t *id, uint64_t flags);
void lnx_sources_forget(struct lnx_av *av, fi_addr_t index);

/* count.c. lnx_work_done: what @op stands for is over, if it is deferred work; its
 * context becomes the application's. */
void lnx_cntr_export(
	struct lnx_ep *ep, struct wf_cntr *cntr, struct lnx_cntr_port *port);
void lnx_count_held(void);
void lnx_work_done(struct lnx_ep *ep, struct lnx_op *op, bool failed);

/* progress.c */
void lnx_progress(struct wf_ep *ep);
void lnx_progress_init(struct lnx_ep *ep);
void lnx_progress_enabled(struct lnx_ep *ep);
void lnx_progress_done(struct lnx_ep *ep);

/* Something was given to @rail: look at it soon. */
static inline void lnx_rail_wake(struct lnx_ep *ep, struct lnx_rail *rail)
{
	if (!rail->far)
		return;
	atomic_store_explicit(&rail->quiet, 0, memory_order_relaxed);
	atomic_store_explicit(&ep->wait, 0, memory_order_relaxed);
}

/* short.c: what members of this library do without being asked. Enabled: the members
 * are; direct: completions and counts need not come by here (ops_lock held); finish:
 * the calls. */
void lnx_short_enabled(struct lnx_ep *ep);
void lnx_short_direct(struct lnx_ep *ep, bool direct);
void lnx_short_finish(struct lnx_ep *ep);

/* start.c: any operation; forward.c: calls that need no more than the right member. */
ssize_t lnx_start(struct wf_ep *ep, struct wf_op *op);
ssize_t lnx_start_rx(struct wf_ep *ep, struct wf_op *op);
void lnx_forward_finish(struct lnx_ep *ep);
int lnx_atomic_valid(struct wf_ep *ep, enum wf_op_kind kind, enum fi_datatype datatype,
	enum fi_op op, size_t *ret_count);

/* -FI_EINVAL, with a log line. */
ssize_t lnx_no_peer(fi_addr_t addr);

/* ---- operations that lnx keeps an eye on: track.c ---- */

/*
 * One that is under way. Members get it as the operation's context. All transmissions
 * of a tracked endpoint have one, so that its transmit ports know what they are given;
 * elsewhere, and for receives, only deferred work has. Deferred work is listed.
 */
struct lnx_op {
	struct fi_context2 room; /* for a member with FI_CONTEXT2; first */
	struct wf_list link;
	void *context; /* the application's */
	uint64_t flags;
	enum wf_op_kind kind;
	bool cancelled; /* its rail did not fail */
	fi_addr_t peer;
};

/* NULL: no memory. */
struct lnx_op *lnx_op_new(struct lnx_ep *ep, const struct wf_op *op);
void lnx_op_free(struct lnx_ep *ep, struct lnx_op *op);

struct lnx_op *lnx_op_search(struct lnx_ep *ep, const void *context);

/* The listed operation with that context, or NULL. */
static inline struct lnx_op *lnx_op_find(struct lnx_ep *ep, const void *context)
{
	if (wf_likely(!atomic_load_explicit(&ep->listed_count, memory_order_relaxed)))
		return NULL;
	return lnx_op_search(ep, context);
}

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
