/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_ENDPOINT_H
#define WF_OBJECTS_ENDPOINT_ENDPOINT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>

#include "objects/av/av.h"
#include "objects/cntr/cntr.h"
#include "objects/cq/cq.h"
#include "objects/domain/domain.h"
#include "objects/endpoint/xfer.h"
#include "objects/eq/eq.h"
#include "objects/cntr/counted.h"
#include "objects/progress/async.h"
#include "objects/progress/progress.h"
#include "objects/srx/owner.h"

struct wf_ep;
struct wf_inbox_feed;
struct wf_srx_ctx;
struct wf_srx_watch;
struct wf_transfer;
struct wf_coll;
struct wf_sep;
struct wf_stx;

/* Flags of one direction, computed when the endpoint is enabled, so that no call tests
 * whether completions are selective; see flags.c. */
struct wf_ep_flags {
	_Atomic uint64_t plain; /* flags of calls without a flags argument */
	uint64_t forced;        /* added to the flags argument: FI_COMPLETION or 0 */
	uint64_t refused;       /* flags that calls must not have */
};

/*
 * Functions of the layer of collectives (objects/coll/) for an endpoint with
 * FI_COLLECTIVE. They return 0 or a negative FI_E code. No lock is held unless a
 * comment says otherwise.
 */
struct wf_ep_coll_ops {
	/* Last step of fi_enable that may fail; may be called again after a failure.
	 * ep->control is held. */
	int (*enable)(struct wf_ep *ep);
	/* A counter was bound to the enabled endpoint. A failure undoes the binding.
	 * ep->control is held. */
	int (*cntr_bound)(struct wf_ep *ep);
	/* fi_join(3) with FI_COLLECTIVE, on an enabled endpoint. */
	int (*join)(struct wf_ep *ep, const struct fi_collective_addr *addr,
		uint64_t flags, struct fid_mc **mc, void *context);
	/* The peer of the endpoint got the result of a transfer. */
	void (*transferred)(struct wf_ep *ep);
	/* The endpoint is about to be closed: close the engines' endpoints on top of
	 * it. A failure keeps the endpoint open. */
	int (*closing)(struct wf_ep *ep);
	/* Free everything else: no thread runs the endpoint any more. */
	void (*closed)(struct wf_ep *ep);
	/* The progress item of the engines; CQs, counters and the domain's progress
	 * thread run it. */
	struct wf_progress *(*item)(struct wf_ep *ep);
};

/*
 * The part of an endpoint (fi_endpoint(3)) that all transports share: bindings,
 * options, flags, life cycle. It is the first member of a transport's own struct.
 *
 * Bindings and attributes change before the endpoint is enabled, with @control held.
 * Then the tables of data transfer calls are set, and these members are read without a
 * lock. Exceptions: default flags and the size of multi-receive slices are atomic; an
 * EQ, a counter and a shared transmit context may be bound later (late.c). @lock guards
 * the transport's state. Lock order: @control, progress list locks, @lock.
 */
struct wf_ep {
	struct fid_ep fid;
	const struct wf_xfer_ops *xfer;
	struct wf_ep_flags tx, rx; /* flags of transmit and receive operations */
	/* Mask of the flags in @rx that tagged receives have, too. */
	uint64_t trecv_flags;
	/* Messages of fewer bytes than this may take the fast path; 0: none. */
	size_t small_limit;
	bool fast_post; /* receives may take the fast path; see srx/fast_post.h */
	/* Limits of operations: bytes, and numbers of buffers or segments. */
	size_t inject_size, max_msg_size, tx_iov_limit, rx_iov_limit, rma_iov_limit;
	atomic_size_t min_multi_recv; /* FI_OPT_MIN_MULTI_RECV in bytes */
	struct wf_cq *tx_cq, *rx_cq;  /* bound CQs; NULL: not bound */
	/* bound counters by event; NULL: not bound */
	struct wf_cntr *cntr[WF_CNTR_COUNT];
	struct wf_av *av;   /* the bound AV, or NULL */
	struct wf_stx *stx; /* the bound shared transmit context, or NULL */
	struct wf_domain *domain;
	struct fi_info *info; /* copy of the info that the endpoint was opened with */
	/* Data of a scalable endpoint, in it and in its contexts; NULL in other
	 * endpoints. */
	struct wf_sep *sep;
	unsigned int ctx_index; /* index of this context of @sep */
	enum fi_ep_type type;
	uint64_t caps;                     /* info->caps with all directions */
	uint64_t tx_op_flags, rx_op_flags; /* default flags set by the application */
	/* The CQ was bound with FI_SELECTIVE_COMPLETION. */
	bool tx_selective, rx_selective;
	bool enabled;         /* fi_enable succeeded */
	atomic_bool triggers; /* threads that run the endpoint start triggered work */
	pthread_mutex_t control;     /* guards bindings and attributes, see above */
	_Atomic(struct wf_eq *) eq;  /* the bound EQ; NULL: the domain's EQ, if any */
	struct wf_lock lock;         /* guards the state of the transport */
	struct wf_progress progress; /* the item that runs the transport's progress */
	/* Progress without calls of the application (life/async.h), and the item of the
	 * endpoint that does it: this one, or one above it. */
	struct wf_async_item async, *wants;
	struct wf_counted_ep counted; /* entry for counters of regions; see counted.h */
	atomic_int refs;      /* open groups and contexts; fi_close is refused */
	unsigned int handles; /* open handles: the endpoint and its aliases */
	struct wf_transfer *transfer; /* the peer that posts transfers, or NULL */
	/* Collectives; NULL: the endpoint has none. Constant once the endpoint is
	 * open. */
	const struct wf_ep_coll_ops *coll_ops;
	struct wf_coll *coll;          /* state of @coll_ops */
	struct wf_ep_cleanup *cleanup; /* for FI_AV_REMOVE_CLEANUP; else NULL */
	struct wf_list flush_link;     /* in the list of flush.c, guarded by its lock */
	int flush_pid;                 /* the process that enabled the endpoint */
	bool flushing;                 /* a flush is going on; guarded by @lock */

	/* Receiving, for a transport with xfer->srx_ops; set by fi_enable. */
	struct fid_peer_srx *srx;   /* the receive context that the transport calls */
	struct wf_lock *srx_lock;   /* its lock; NULL: no context, or an imported one */
	struct wf_srx *srx_queue;   /* receives on this endpoint are posted to it */
	struct wf_srx_ctx *srx_ctx; /* the bound shared or imported context, or NULL */
	/* Handle to the endpoint's own or shared context, in which @srx points. Unused
	 * with an imported context, and in contexts of a scalable endpoint. */
	struct wf_srx_port srx_port;
	struct wf_srx_sink srx_sink; /* the endpoint as the context sees it; sink.c */
	struct wf_srx_watch *srx_watch; /* reports changes of the AV; see srx_ctx.h */
	/* Where a transport with xfer->inbox puts small messages (inbox.h). Set before
	 * the endpoint is enabled. NULL: receives take all messages. */
	struct wf_inbox_feed *inbox;
	/* Starts a receive: xfer->start, wf_ep_srx_start or wf_ep_srx_refuse. Contract
	 * as xfer->start. */
	ssize_t (*start_rx)(struct wf_ep *ep, struct wf_op *op);

	/* The tables of data transfer calls, filled by fi_enable. */
	struct fi_ops_msg msg_ops;
	struct fi_ops_tagged tagged_ops;
	struct fi_ops_rma rma_ops;
	struct fi_ops_atomic atomic_ops;

	struct wf_fork_hook fork_hook; /* forked.c */
	bool inherited; /* This process is a forked child of the one that opened it. */
};

static inline struct wf_ep *wf_ep_of(struct fid_ep *fid)
{
	return wf_container_of(fid, struct wf_ep, fid);
}

/* Initialise @ep, which the transport has allocated, from @info, which wf_info_check
 * accepted, and take references. 0, or a negative fabric errno: no reference is held.
 * wf_ep_done undoes it. No lock is held. */
int wf_ep_init(struct wf_ep *ep, struct wf_domain *domain, struct fi_info *info,
	const struct wf_xfer_ops *xfer, void *context);
void wf_ep_done(struct wf_ep *ep);

/* Allocate the @size bytes of a transport's endpoint, which begins with its struct
 * wf_ep, and initialise that by wf_ep_init; the rest is zero. 0, or a negative fabric
 * errno. No lock is held. */
int wf_ep_new(size_t size, struct wf_domain *domain, struct fi_info *info,
	const struct wf_xfer_ops *xfer, void *context, struct wf_ep **ret_ep);
/* Undo wf_ep_new. */
void wf_ep_free(struct wf_ep *ep);

/* The EQ that gets the events of @ep, or NULL. Any lock of the endpoint may be held. */
struct wf_eq *wf_ep_eq(struct wf_ep *ep);

/* How the end of an operation is reported, by wf_op_kind: the counter, and the flags of
 * the CQ entry. CNT-018, CNT-019, CQ-039, CQ-040. */
struct wf_op_report {
	enum wf_ep_cntr cntr; /* event of the counter */
	uint64_t comp_flags;  /* flags of the CQ entry */
};
extern const struct wf_op_report wf_op_reports[WF_OP_COUNT];

/* A transmit (@cntr: SEND, READ or WRITE) or receive operation of @len bytes succeeded:
 * count it, and write a CQ entry with @comp_flags if @op_flags has FI_COMPLETION. Here
 * and below, @op_flags and @context are those of the operation; ep->lock or the lock of
 * the receive context may be held, but not that of a CQ or counter. */
void wf_ep_tx_done(struct wf_ep *ep, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len);
void wf_ep_rx_done(struct wf_ep *ep, void *context, uint64_t op_flags,
	uint64_t comp_flags, size_t len, void *buf, uint64_t data, uint64_t tag,
	fi_addr_t src);

/* Log that a CQ refused a completion with the error @ret. */
void wf_ep_lost(const struct wf_ep *ep, ssize_t ret);

/* wf_ep_tx_done for operations that are neither deferred work nor a peer's transfer nor
 * atomic. Inline for the fast path. */
static inline void wf_ep_tx_plain_done(struct wf_ep *ep, enum wf_ep_cntr cntr,
	void *context, uint64_t op_flags, uint64_t comp_flags, size_t len)
{
	ssize_t ret;

	wf_cntr_count(ep->cntr[cntr], len);
	if (!(op_flags & FI_COMPLETION))
		return;
	ret = wf_cq_write(
		ep->tx_cq, context, comp_flags, 0, NULL, 0, 0, FI_ADDR_NOTAVAIL);
	if (wf_unlikely(ret < 0))
		wf_ep_lost(ep, ret);
}

/* For transports that receive through ep->srx: @len bytes of the message of @entry
 * arrived from @src, numbered as in completions. Write the completion and free the
 * entry.
 * @flags, such as FI_REMOTE_CQ_DATA, are added to those of the entry. The owner's lock
 * is held. */
void wf_srx_done(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, uint64_t data, fi_addr_t src);

/* The same for a message that is no head (objects/srx/heads.h). */
void wf_srx_end(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, uint64_t data, fi_addr_t src);

/* The same for a receive that fails with the positive FI_E code @err after @len bytes.
 * @olen: with FI_ETRUNC, the number of bytes that did not fit. */
void wf_srx_fail(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, size_t olen, uint64_t data, fi_addr_t src, int err);

/* The same for a message from a source that is not in the AV, if the endpoint has
 * FI_SOURCE_ERR: an error entry with the address @name, of @name_len bytes. */
void wf_srx_unknown(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, uint64_t data, const void *name, size_t name_len);

/* The source at @index of the AV in the numbering of the owner of ep->srx, which may
 * have set user ids (objects/peer/open.h). */
static inline fi_addr_t wf_ep_srx_source(const struct wf_ep *ep, fi_addr_t index)
{
	if (wf_likely(ep->srx_lock != NULL) || index == FI_ADDR_NOTAVAIL)
		return index;
	return wf_av_report(ep->av, index);
}

/* The same source in the numbering of completions. */
static inline fi_addr_t wf_ep_source(const struct wf_ep *ep, fi_addr_t index)
{
	return wf_cq_source(ep->rx_cq, wf_av_report(ep->av, index));
}

/* Run the transport's progress, unless another thread holds ep->lock. The caller holds
 * the lock of the receive context. */
static inline void wf_ep_progress(struct wf_ep *ep)
{
	/* The caller is inside the gate. Tail call: keeps the caller's frame out of the
	 * hot path. */
	if (ep->lock.gate) {
		ep->xfer->progress(ep);
		return;
	}
	/* The thread that holds the lock makes progress or starts an operation. Waiting
	 * for it would take longer than trying again with the next call. */
	if (wf_trylock(&ep->lock)) {
		ep->xfer->progress(ep);
		wf_unlock(&ep->lock);
	}
}

/* The transport keeps an operation that its progress has to continue, without further
 * calls of the application. The caller holds ep->lock. */
static inline void wf_ep_want(struct wf_ep *ep)
{
	wf_async_want(ep->wants);
}

/* A number that changes when an entry is written to the receive CQ of @ep (or, without
 * one, to its transmit CQ) or a bound counter counts. The result may only be compared
 * with an earlier one. Takes no lock. */
uint64_t wf_ep_activity(const struct wf_ep *ep);

/* Run everything that moves the endpoint's operations, for threads that wait for an
 * event. The caller holds no lock but those of progress lists. */
void wf_ep_run(struct wf_ep *ep);

/* Run the endpoint's progress item by @run from now on. Called while the item is in no
 * progress list: before the endpoint is enabled, in enable() and in cntr_bound(). */
static inline void wf_ep_set_run(struct wf_ep *ep, void (*run)(struct wf_progress *))
{
	ep->progress.run = run;
}

/* Threads that sleep wait for the set that @wait_fds (struct wf_progress) returns,
 * instead of the one descriptor. Called while the item is in no list, as above. */
static inline void wf_ep_set_wait_fds(
	struct wf_ep *ep, struct wf_fds *(*wait_fds)(struct wf_progress *))
{
	ep->progress.wait_fds = wait_fds;
}

/* Set the function that tells whether the endpoint moved data: @moved of struct
 * wf_progress. Called while the item is in no list, as above. */
static inline void wf_ep_set_moved(
	struct wf_ep *ep, bool (*moved)(struct wf_progress *))
{
	ep->progress.moved = moved;
}

/* Is a counter bound to the endpoint for @cntr? */
static inline bool wf_ep_counts(const struct wf_ep *ep, enum wf_ep_cntr cntr)
{
	return ep->cntr[cntr] != NULL;
}

/* The regions that peers of the endpoint may access; see target.h. */
static inline struct wf_mr_map *wf_ep_mr_map(struct wf_ep *ep)
{
	return ep->domain->reached;
}

/* May a thread be asleep on a queue or counter of this endpoint? An estimate, as
 * wf_wait_is_armed. No lock. */
bool wf_ep_is_armed(const struct wf_ep *ep);

/* The one connection of @ep ended: its posted receives end with @err, a positive FI_E
 * code. Those of a receive context that several endpoints share stay. The lock of
 * the receive context and ep->lock are held. */
void wf_ep_srx_flush(struct wf_ep *ep, int err);

/* May a thread sleep until the endpoint has work? True if the domain has a progress
 * thread, or if a bound object, or a counter of a region, has a wait object, or if a
 * bound CQ is imported, because its owner may sleep on the descriptor. Bindings are
 * complete. */
bool wf_ep_may_sleep(const struct wf_ep *ep);

/* The endpoint behind @fid, which is an endpoint of this library or an alias of one. */
struct wf_ep *wf_ep_resolve(struct fid *fid);

/* The endpoint behind @fid, or NULL if it is not one of this library. */
struct wf_ep *wf_ep_from_fid(struct fid_ep *fid);

/* The receive context of an enabled endpoint, its own or a shared one, for exporting it
 * to peers. NULL: it has none, or an imported one. */
static inline struct wf_srx *wf_ep_srx(struct wf_ep *ep)
{
	return ep->srx_lock ? ep->srx_port.srx : NULL;
}

/* Take the lock of the receive context, for freeing entries outside of progress().
 * No-op if the context is imported: the owner holds its lock then. */
static inline void wf_ep_srx_lock(struct wf_ep *ep)
{
	if (ep->srx_lock)
		wf_lock(ep->srx_lock);
}

static inline void wf_ep_srx_unlock(struct wf_ep *ep)
{
	if (ep->srx_lock)
		wf_unlock(ep->srx_lock);
}

/* Write the FI_MULTI_RECV entry of the buffer posted with @context, which the
 * application owns again. */
void wf_ep_rx_release(struct wf_ep *ep, uint64_t op_flags, void *context);

/* Write the answer to a peek to the receive CQ; no counter counts it. */
ssize_t wf_ep_rx_answer(struct wf_ep *ep, uint64_t op_flags,
	const struct fi_cq_tagged_entry *entry, fi_addr_t src);
ssize_t wf_ep_rx_answer_err(
	struct wf_ep *ep, uint64_t op_flags, const struct fi_cq_err_entry *entry);

/* An operation failed with the positive FI_E code @err: write an error entry, with or
 * without FI_COMPLETION, and add to the counter's error value. */
void wf_ep_tx_err(struct wf_ep *ep, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len, int err);
/* The same with a complete entry, whose op_context may be changed by the call. */
void wf_ep_tx_fail(struct wf_ep *ep, enum wf_ep_cntr cntr, uint64_t op_flags,
	struct fi_cq_err_entry *entry);
void wf_ep_rx_err(
	struct wf_ep *ep, uint64_t op_flags, const struct fi_cq_err_entry *entry);

/* The operation @op ended: wf_ep_tx_done, or, with a positive @err, wf_ep_tx_err, with
 * the counter and flags of wf_op_reports. */
static inline void wf_ep_op_end(struct wf_ep *ep, const struct wf_op *op, int err)
{
	const struct wf_op_report *report = &wf_op_reports[op->kind];

	if (wf_unlikely(err))
		wf_ep_tx_err(ep, report->cntr, op->context, op->flags,
			report->comp_flags, 0, err);
	else
		wf_ep_tx_done(ep, report->cntr, op->context, op->flags,
			report->comp_flags, op->len);
}

/* A peer's RMA or atomic operation of @len bytes on local memory has ended.
 * @comp_flags: FI_RMA or FI_ATOMIC, with FI_REMOTE_READ or FI_REMOTE_WRITE. With
 * FI_REMOTE_CQ_DATA a CQ entry with @data is written. Adds to the counters of the
 * endpoint and of @mr, which may be NULL. */
void wf_ep_remote_done(struct wf_ep *ep, struct wf_mr *mr, uint64_t comp_flags,
	size_t len, uint64_t data, fi_addr_t src);

/* A message that arrived in one piece. */
struct wf_srx_arrival {
	const void *buf; /* the payload */
	size_t len;      /* bytes at @buf */
	uint64_t tag;    /* 0 without FI_TAGGED */
	uint64_t flags;  /* FI_REMOTE_CQ_DATA or 0 */
	uint64_t data;   /* CQ data, with FI_REMOTE_CQ_DATA */
	fi_addr_t addr;  /* the source in the numbering of the AV */
	fi_addr_t src;   /* the source in the numbering of completions: wf_ep_source */
};

/* The fast path of a message (deliver.h): match it, copy it and write the completion.
 * @type: FI_MSG or FI_TAGGED. False: nothing was done, the transport calls
 * wf_srx_get_*. The lock of the receive context is held. ep->srx is set. */
bool wf_ep_deliver(struct wf_ep *ep, uint64_t type, const struct wf_srx_arrival *msg);

/* The endpoint that contains @sink. */
static inline struct wf_ep *wf_ep_of_sink(struct wf_srx_sink *sink)
{
	return wf_container_of(sink, struct wf_ep, srx_sink);
}

/* Initialise @port as a handle to @srx for @ep, or, with @peer_ops NULL, for a peer
 * provider that receives for @ep. No lock is held. */
void wf_ep_srx_export(struct wf_srx *srx, struct wf_srx_port *port, struct wf_ep *ep,
	struct fi_ops_srx_peer *peer_ops);
/* The attributes of a receive context that the endpoint does not share. */
struct wf_srx_attr wf_ep_srx_attr(struct wf_ep *ep);

/* A value of ep->start_rx: post to ep->srx_queue. Results as wf_srx_post. */
ssize_t wf_ep_srx_start(struct wf_ep *ep, struct wf_op *op);
/* A value of ep->start_rx for an endpoint with a bound receive context: refuse the
 * receive, which must be posted to the context. -FI_ENOSYS, logged. */
ssize_t wf_ep_srx_refuse(struct wf_ep *ep, struct wf_op *op);

/* Log that the AV has no address at @addr. Returns -FI_EINVAL. */
int wf_no_address(const struct fi_provider *prov, fi_addr_t addr);

#endif
