/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_H
#define WF_OBJECTS_ENDPOINT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_endpoint.h>

#include "objects/av/av.h"
#include "objects/cntr/cntr.h"
#include "objects/cq/cq.h"
#include "objects/domain/domain.h"
#include "objects/eq/eq.h"
#include "objects/cntr/counted.h"
#include "objects/op/op.h"
#include "objects/progress/progress.h"
#include "objects/srx/srx.h"

struct wf_ep;
struct wf_srx_ctx;
struct wf_srx_watch;
struct wf_transfer;
struct wf_sep;
struct wf_stx;

/* Which operation is to be cancelled: the one with @context, or where a provider posts
 * operations with contexts of its own, the first for which @is says yes. That is asked
 * of an operation only if it will be cancelled then. */
struct wf_cancel {
	const void *context;
	bool (*is)(const struct wf_cancel *which, void *op_context);
};

static inline bool wf_cancel_is(const struct wf_cancel *which, void *op_context)
{
	return which->is ? which->is(which, op_context) : op_context == which->context;
}

/* What a transport implements for one endpoint. */
struct wf_xfer_ops {
	/* Strength of ep->lock where the domain needs locks at all: WF_LOCK_MUTEX when
	 * the kernel is called under it. */
	enum wf_lock_kind lock_kind;

	/* Start @op. No lock held: takes ep->lock itself for as long as it touches
	 * state that others share. 0: taken, its completion is written now or later.
	 * -FI_EAGAIN: nothing was taken, the caller may retry. */
	ssize_t (*start)(struct wf_ep *ep, struct wf_op *op);

	/* The fast path of start() for a message in one buffer of at most @small_size
	 * bytes that asks for nothing but to be sent; NULL: there is none. 0: it is
	 * sent, and the caller's to complete. Anything else: nothing was done, it
	 * takes start(). */
	ssize_t (*send_small)(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
		size_t len, fi_addr_t addr, uint64_t tag);
	size_t small_size;

	/* Move data without blocking; ep->lock held, and *ep->srx_lock before it where
	 * there is one. Never enters user code. */
	void (*progress)(struct wf_ep *ep);

	/* What receives from a receive context; see srx.h. With this table receives
	 * are not start()ed, and cancel and rx_left are not asked. */
	struct fi_ops_srx_peer *srx_ops;

	/* The source of a queued message that had FI_ADDR_UNSPEC, if known by now.
	 * Called after addresses were inserted, *ep->srx_lock (the owner's lock) held.
	 */
	fi_addr_t (*srx_addr)(struct fi_peer_rx_entry *entry);

	/* Bindings are complete and valid: open what the data path needs. Called
	 * again when an earlier call failed. */
	int (*enable)(struct wf_ep *ep);

	/* msg_ops, tagged_ops, rma_ops and atomic_ops of @ep are finished, those that
	 * its capabilities have, and not visible to the application yet: a transport
	 * may put calls of its own in place of those that the skeleton offers. Last
	 * step of fi_enable, ep->control held. NULL: they are good. */
	void (*tables_finished)(struct wf_ep *ep);

	/* How the endpoint is run and slept on: copied into ep->progress when it is
	 * opened. Its functions take the locks that they need. NULL: the skeleton's,
	 * which asks progress(), wait_fd() and arm(). */
	const struct wf_progress *item;

	/* The endpoint makes progress when the sources of its CQs are run
	 * (wf_cq.source): no queue or counter runs the endpoint itself. progress() runs
	 * them, too. */
	bool run_by_cqs;

	/* A counter was bound to the endpoint, which is enabled: do for it what enable
	 * does for those that are bound already. ep->control is held, nothing runs the
	 * endpoint. A failure undoes the binding. NULL: ep->cntr says it all. */
	int (*cntr_bound)(struct wf_ep *ep);

	/* Withdraw one posted receive with @context: true when one was found and its
	 * FI_ECANCELED entry written. ep->lock held. */
	bool (*cancel)(struct wf_ep *ep, void *context);

	/* Withdraw the first transmit operation that @which names, that reports its end
	 * (wf_op_is_reported) and of which nothing has left: true when one was found
	 * and its FI_ECANCELED entry written. ep->lock held. NULL: nothing ever waits.
	 */
	bool (*cancel_tx)(struct wf_ep *ep, const struct wf_cancel *which);

	/* Is nothing left of what is the library's to send: injected, or complete
	 * for the application? It has gone on its way, or cannot any more. Asked again
	 * and again, with a call of progress() after each false, before the endpoint or
	 * a context of it is closed and at the end of the process; ep->flushing is set
	 * meanwhile. Locks as for progress(). NULL: nothing ever waits. */
	bool (*flushed)(struct wf_ep *ep);

	/* Release everything of the transport, call wf_ep_done and free the memory.
	 * Accepts an endpoint whose opening or enabling failed half-way. No lock held,
	 * nothing runs any more. */
	void (*destroy)(struct wf_ep *ep);

	/* Addresses; -FI_ENOSYS or NULL where the transport cannot. setname is not
	 * called once the endpoint is enabled, join not before. */
	int (*setname)(struct wf_ep *ep, const void *addr, size_t len);
	int (*getname)(struct wf_ep *ep, void *addr, size_t *len);
	int (*join)(struct wf_ep *ep, const void *addr, uint64_t flags,
		struct fid_mc **mc, void *context);

	/* Options beyond those that the skeleton answers, asked first and answering
	 * -FI_ENOPROTOOPT to the others; NULL for none. */
	int (*getopt)(struct wf_ep *ep, int name, void *val, size_t *len);
	int (*setopt)(struct wf_ep *ep, int name, const void *val, size_t len);

	/* FI_OPT_SHARED_MEMORY_PERMITTED is set to false, before the endpoint is
	 * enabled. Returns 0 or -FI_EOPNOTSUPP where the transport cannot do without
	 * shared memory; NULL for a transport that never uses it. ep->control held. */
	int (*forbid_shared_memory)(struct wf_ep *ep);

	/* Nothing is at @index of the AV any more: end what was kept for it, quietly.
	 * Called with FI_AV_REMOVE_CLEANUP only; ep->lock held. */
	void (*addr_removed)(struct wf_ep *ep, uint64_t index);

	/* FI_GET_FD: the descriptor that carries the data, NULL: there is no one such.
	 * ep->lock held. */
	int (*get_fd)(struct wf_ep *ep, int *ret_fd);

	/* How many more operations start() takes; NULL: not said. ep->lock held. */
	size_t (*rx_left)(struct wf_ep *ep);
	size_t (*tx_left)(struct wf_ep *ep);

	/* wf_atomic_valid (objects/atomic/ops.h) for a transport that knows better,
	 * else NULL. No lock held. */
	int (*atomic_valid)(struct wf_ep *ep, enum wf_op_kind kind,
		enum fi_datatype datatype, enum fi_op op, size_t *ret_count);

	/* The calls of endpoints with FI_COLLECTIVE, from the time they are enabled;
	 * slots that it lacks are of wf_absent_collective. No lock held. NULL: such
	 * calls answer -FI_ENOSYS. */
	struct fi_ops_collective *collective;

	/* See struct wf_progress; ep->lock held. */
	int (*wait_fd)(struct wf_ep *ep);
	bool (*arm)(struct wf_ep *ep);
};

/* Index of a bound counter, by the event that it counts. */
enum wf_ep_cntr {
	WF_CNTR_SEND,
	WF_CNTR_RECV,
	WF_CNTR_READ,
	WF_CNTR_WRITE,
	WF_CNTR_REMOTE_READ,
	WF_CNTR_REMOTE_WRITE,
	WF_CNTR_COUNT,
};

/* The flags in force for calls that have no flags argument, and those that are added
 * to the flags of calls that have one. Settled when the endpoint is enabled, so that
 * no call asks whether completions are selective. */
struct wf_ep_flags {
	_Atomic uint64_t plain; /* op flags, with FI_COMPLETION settled */
	uint64_t forced;        /* FI_COMPLETION, or 0 with selective completion */
	uint64_t refused;       /* what the endpoint cannot honour */
};

/*
 * The part of an endpoint that is the same for every transport: bindings, options,
 * flags, life cycle. A transport embeds it first in its own endpoint.
 *
 * Bindings and attributes change only before the endpoint is enabled, under
 * @control; then the data path tables are swapped from "not enabled" to the finished
 * ones and all of it is read without lock. (Default flags and the size of
 * multi-receive slices may change later: they are atomic. An EQ, a counter and a shared
 * transmit context may come later, too: late.c.)
 * @lock guards the transport's transfer state. Order: @control, progress list locks,
 * @lock.
 */
struct wf_ep {
	struct fid_ep fid;
	const struct wf_xfer_ops *xfer;
	struct wf_ep_flags tx, rx;
	uint64_t trecv_flags; /* a mask: flags of @rx that tagged receives have too */
	size_t small_limit;   /* messages below it are small; 0: none is */
	bool fast_post;       /* receives may take the fast path, see srx.h */
	size_t inject_size, max_msg_size, tx_iov_limit, rx_iov_limit, rma_iov_limit;
	atomic_size_t min_multi_recv;
	struct wf_cq *tx_cq, *rx_cq;
	struct wf_cntr *cntr[WF_CNTR_COUNT];
	struct wf_av *av;
	struct wf_stx *stx; /* bound; NULL: none is shared */
	struct wf_domain *domain;
	struct fi_info *info; /* our copy of what it was opened with */
	struct wf_sep
		*sep; /* it is scalable, or a context of one that is; scalable.h */
	unsigned int ctx_index; /* the context's number */
	enum fi_ep_type type;
	uint64_t caps;                     /* with directions spelled out */
	uint64_t tx_op_flags, rx_op_flags; /* as the application set them */
	bool tx_selective, rx_selective;
	bool enabled;
	atomic_bool triggers; /* work was posted: our CQs and counters start it */
	pthread_mutex_t control;
	_Atomic(struct wf_eq *) eq; /* NULL: the domain's */
	struct wf_lock lock;
	struct wf_progress progress;
	struct wf_counted_ep counted;
	atomic_int refs;              /* groups and contexts: they keep it open */
	unsigned int handles;         /* the endpoint and its aliases: the last frees */
	struct wf_transfer *transfer; /* a peer on top of us, or NULL; see transfer.h */
	struct wf_ep_cleanup *cleanup; /* NULL: addresses may go unnoticed */
	struct wf_list flush_link;     /* see flush.h; guarded by its lock */
	int flush_pid;                 /* the process that enabled it */
	bool flushing;                 /* under @lock: flushed() is being asked */

	/* Receiving, with xfer->srx_ops; settled when the endpoint is enabled. */
	struct fid_peer_srx *srx;   /* what the transport calls */
	struct wf_lock *srx_lock;   /* NULL: none, or the owner's */
	struct wf_srx *srx_queue;   /* where receives on this endpoint are posted */
	struct wf_srx_ctx *srx_ctx; /* bound; NULL: a context of our own */
	struct wf_srx_port srx_port;
	struct wf_srx_sink srx_sink; /* sink.c */
	struct wf_srx_watch
		*srx_watch; /* of addresses; see objects/endpoint/scalable/srx_ctx.h */
	ssize_t (*start_rx)(struct wf_ep *ep, struct wf_op *op);

	/* Finished when enabled; absent slots filled. */
	struct fi_ops_msg msg_ops;
	struct fi_ops_tagged tagged_ops;
	struct fi_ops_rma rma_ops;
	struct fi_ops_atomic atomic_ops;
};

static inline struct wf_ep *wf_ep_of(struct fid_ep *fid)
{
	return wf_container_of(fid, struct wf_ep, fid);
}

/* Fill @ep from @info (checked by wf_info_check) and take references; the transport
 * has allocated it. On failure nothing is held. */
int wf_ep_init(struct wf_ep *ep, struct wf_domain *domain, struct fi_info *info,
	const struct wf_xfer_ops *xfer, void *context);
void wf_ep_done(struct wf_ep *ep);

/* Where events of @ep go, or NULL. Any lock of the endpoint may be held. */
struct wf_eq *wf_ep_eq(struct wf_ep *ep);

/* How the end of an initiated operation is reported: the counter, and the flags of its
 * entry. CNT-018, CNT-019, CQ-039, CQ-040. */
struct wf_op_report {
	enum wf_ep_cntr cntr;
	uint64_t comp_flags;
};
extern const struct wf_op_report wf_op_reports[WF_OP_COUNT];

/* A transmit (@cntr: SEND, READ or WRITE) or receive operation succeeded: counter,
 * and CQ entry when @op_flags has FI_COMPLETION. @comp_flags is what the entry says.
 * @op_flags and @context are those of the operation, here and below.
 */
void wf_ep_tx_done(struct wf_ep *ep, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len);
void wf_ep_rx_done(struct wf_ep *ep, void *context, uint64_t op_flags,
	uint64_t comp_flags, size_t len, void *buf, uint64_t data, uint64_t tag,
	fi_addr_t src);

/* The log line for a completion that the queue did not take (@ret). */
void wf_ep_lost(const struct wf_ep *ep, ssize_t ret);

/* wf_ep_tx_done of what is neither deferred work nor a peer's transfer nor an atomic
 * operation: the common part, for the fast path as well. */
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

/* For transports that receive through ep->srx: the message of @entry arrived, @len
 * bytes from @src (as completions report it). @flags: FI_REMOTE_CQ_DATA and the like,
 * beyond those of @entry. Ends the entry. The owner's lock is held. */
void wf_srx_done(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, uint64_t data, fi_addr_t src);

/* The receive ends with @err (positive), @len bytes arrived. @olen: with FI_ETRUNC, the
 * bytes that did not fit. */
void wf_srx_fail(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, size_t olen, uint64_t data, fi_addr_t src, int err);

/* It arrived from a source that is in no AV, and the application wants to hear of it
 * (FI_SOURCE_ERR). @name: in the address format of the endpoint. */
void wf_srx_unknown(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, uint64_t data, const void *name, size_t name_len);

/* The source at @index of the AV as the owner of ep->srx names it; the owner may have
 * given it an id of its own (objects/peer/open.h). */
static inline fi_addr_t wf_ep_srx_source(const struct wf_ep *ep, fi_addr_t index)
{
	if (wf_likely(ep->srx_lock != NULL) || index == FI_ADDR_NOTAVAIL)
		return index;
	return wf_av_report(ep->av, index);
}

/* The same source as completions of receives report it. */
static inline fi_addr_t wf_ep_source(const struct wf_ep *ep, fi_addr_t index)
{
	return wf_cq_source(ep->rx_cq, wf_av_report(ep->av, index));
}

/* Move data. The caller holds the lock of the receive context. */
static inline void wf_ep_progress(struct wf_ep *ep)
{
	/* Tail call: keeps the caller's frame out of the hot path. */
	if (ep->lock.kind == WF_LOCK_NONE) {
		ep->xfer->progress(ep);
		return;
	}
	/* Another thread moves data or posts: it is done sooner than a wait for it. */
	if (wf_trylock(&ep->lock)) {
		ep->xfer->progress(ep);
		wf_unlock(&ep->lock);
	}
}

/* Changes when an operation of @ep completed in its receive queue (its transmit queue
 * where it has no other) or was counted by a counter bound to it. Only for comparing
 * with what an earlier call returned. No lock. */
uint64_t wf_ep_activity(const struct wf_ep *ep);

/* Run the endpoint's progress item by @run from now on. While it is in no list: before
 * it is enabled, in enable() and in cntr_bound(). */
static inline void wf_ep_set_run(struct wf_ep *ep, void (*run)(struct wf_progress *))
{
	ep->progress.run = run;
}

/* Tell by @moved (struct wf_progress) whether the endpoint moved data. While it is in
 * no list, as above. */
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
	return &ep->domain->mr_map;
}

/* May a thread be asleep on a queue or counter of this endpoint? An estimate, as
 * wf_wait_is_armed. No lock. */
bool wf_ep_is_armed(const struct wf_ep *ep);

/* The one connection of @ep ended: its posted receives end with @err, a positive FI_E
 * code. Those of a receive context that several endpoints share stay. The lock of
 * the receive context and ep->lock are held. */
void wf_ep_srx_flush(struct wf_ep *ep, int err);

/* May a thread sleep until something comes for this endpoint, whose bindings are
 * complete? The reader of an imported queue sleeps on its descriptor, if on anything.
 */
bool wf_ep_may_sleep(const struct wf_ep *ep);

/* The endpoint of this library behind @fid, which may be an alias. Control calls only.
 */
struct wf_ep *wf_ep_resolve(struct fid *fid);

/* The endpoint behind @fid, if it is of this library; NULL. */
struct wf_ep *wf_ep_from_fid(struct fid_ep *fid);

/* The receive context of ours that an enabled endpoint uses, its own or the one bound
 * to it, to be exported to peers. NULL when it has none, or an imported one. */
static inline struct wf_srx *wf_ep_srx(struct wf_ep *ep)
{
	return ep->srx_lock ? ep->srx_port.srx : NULL;
}

/* For what ends entries outside of progress(); nothing when the lock is the owner's. */
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

/* The multi-receive buffer posted with @context is the application's again. */
void wf_ep_rx_release(struct wf_ep *ep, uint64_t op_flags, void *context);

/* Entries of the receive CQ that count for nothing: answers to a peek. */
ssize_t wf_ep_rx_answer(struct wf_ep *ep, uint64_t op_flags,
	const struct fi_cq_tagged_entry *entry, fi_addr_t src);
ssize_t wf_ep_rx_answer_err(
	struct wf_ep *ep, uint64_t op_flags, const struct fi_cq_err_entry *entry);

/* It failed with @err (positive): always an entry, and the counter's error value. */
void wf_ep_tx_err(struct wf_ep *ep, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len, int err);
/* The same with an entry that tells more; its op_context may change. */
void wf_ep_tx_fail(struct wf_ep *ep, enum wf_ep_cntr cntr, uint64_t op_flags,
	struct fi_cq_err_entry *entry);
void wf_ep_rx_err(
	struct wf_ep *ep, uint64_t op_flags, const struct fi_cq_err_entry *entry);

/* The initiated operation @op ended: wf_ep_tx_done, or with a positive @err
 * wf_ep_tx_err, as wf_op_reports says. */
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

/* A peer's RMA or atomic operation on our memory is done. @comp_flags: FI_RMA or
 * FI_ATOMIC, with FI_REMOTE_READ or FI_REMOTE_WRITE, and FI_REMOTE_CQ_DATA when @data
 * came along: that, and only that, writes an entry. Counters of the endpoint and of
 * @mr (may be NULL) count. */
void wf_ep_remote_done(struct wf_ep *ep, struct wf_mr *mr, uint64_t comp_flags,
	size_t len, uint64_t data, fi_addr_t src);

/* A message that has arrived in one piece. */
struct wf_srx_arrival {
	const void *buf;
	size_t len;
	uint64_t tag;   /* 0 without FI_TAGGED */
	uint64_t flags; /* FI_REMOTE_CQ_DATA or 0 */
	uint64_t data;
	fi_addr_t addr; /* the source as a directed receive would name it */
	fi_addr_t src;  /* as completions report it: wf_ep_source */
};

/* Match, copy and complete it on the fast path (deliver.c). @type: FI_MSG or FI_TAGGED.
 * False: nothing was done, it takes wf_srx_get_*. The lock of the receive context is
 * held as for those; there is an ep->srx. */
bool wf_ep_deliver(struct wf_ep *ep, uint64_t type, const struct wf_srx_arrival *msg);

/* The endpoint behind the handle that a transport got an entry through. */
static inline struct wf_ep *wf_ep_of_sink(struct wf_srx_sink *sink)
{
	return wf_container_of(sink, struct wf_ep, srx_sink);
}

/* A handle to @srx for @ep, or with @peer_ops NULL for a peer that receives for it. */
void wf_ep_srx_export(struct wf_srx *srx, struct wf_srx_port *port, struct wf_ep *ep,
	struct fi_ops_srx_peer *peer_ops);
/* What makes a receive context of the endpoint's own. */
struct wf_srx_attr wf_ep_srx_attr(struct wf_ep *ep);

/* ep->start_rx where receives are posted to ep->srx_queue. */
ssize_t wf_ep_srx_start(struct wf_ep *ep, struct wf_op *op);
/* The same of an endpoint that has no receives of its own. */
ssize_t wf_ep_srx_refuse(struct wf_ep *ep, struct wf_op *op);

/* Nothing is at @addr of the AV: -FI_EINVAL, logged. */
int wf_no_address(const struct fi_provider *prov, fi_addr_t addr);

#endif
