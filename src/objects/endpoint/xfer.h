/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_XFER_H
#define WF_OBJECTS_ENDPOINT_XFER_H

#include <stdbool.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/providers/fi_peer.h>

#include "objects/op/op.h"
#include "objects/progress/progress.h"

struct wf_ep;
struct wf_peer_counts;

/* The operation that fi_cancel(3) names: the first with @context or, if @is is set, the
 * first whose context @is returns true for. A provider that gives operations contexts
 * of its own sets @is, which is called only with operations that can be cancelled. */
struct wf_cancel {
	const void *context; /* context of the operation */
	bool (*is)(const struct wf_cancel *which, void *op_context);
};

static inline bool wf_cancel_is(const struct wf_cancel *which, void *op_context)
{
	return which->is ? which->is(which, op_context) : op_context == which->context;
}

/* Bytes before a datagram that its source takes: wf_xfer_ops.tell_sources. */
enum { WF_SOURCE_SPACE = 32 };

/* One datagram of @len bytes, in @iov_count pieces of memory. */
struct wf_datagram {
	const struct iovec *iov;
	size_t iov_count, len;
};

/* Receiver of the messages that a peer left unread; wf_xfer_ops.disconnect calls it. */
struct wf_unread {
	/* Called for each message, in the order in which they were sent. @op is
	 * WF_OP_SEND or WF_OP_TSEND with FI_INJECT, so the callee copies the payload;
	 * the completion of the message has been written. The locks of
	 * wf_xfer_ops.disconnect are held. */
	void (*take)(struct wf_unread *unread, const struct wf_op *op);
};

/*
 * What a transport implements for one endpoint. Functions return 0 or a negative fabric
 * errno unless their comment says otherwise.
 */
struct wf_xfer_ops {
	/* Kind of ep->lock if the domain needs locks: WF_LOCK_MUTEX if the transport
	 * makes system calls with it held. */
	enum wf_lock_kind lock_kind;

	/* Start @op. The caller holds no lock; the transport takes ep->lock to access
	 * its state. 0: the transport completes the operation, now or later.
	 * -FI_EAGAIN: the operation was not started, the caller may try again. */
	ssize_t (*start)(struct wf_ep *ep, struct wf_op *op);

	/* The fast path of start() for a message in one buffer of at most @small_size
	 * bytes without special flags. 0: the message is sent, and the caller writes
	 * the completion. Another result: it is not sent, and the caller calls start().
	 * NULL: the transport has no fast path. The caller holds no lock. */
	ssize_t (*send_small)(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
		size_t len, fi_addr_t addr, uint64_t tag);
	size_t small_size;
	/* The same for a message with remote CQ data. NULL: it has no fast path. */
	ssize_t (*send_small_data)(struct wf_ep *ep, enum wf_op_kind kind,
		const void *buf, size_t len, fi_addr_t addr, uint64_t tag,
		uint64_t data);

	/* For layers over an endpoint of type FI_EP_DGRAM: send @count datagrams to
	 * @addr, as start() does with FI_INJECT and without a completion. Returns the
	 * number of datagrams that were sent or queued; if it is below @count, the
	 * caller may try again with the remaining datagrams. A datagram that cannot be
	 * sent at all is dropped, and counts as sent. NULL: each datagram takes a call
	 * of start(). The caller holds no lock. */
	size_t (*send_many)(struct wf_ep *ep, fi_addr_t addr,
		const struct wf_datagram *datagrams, size_t count);

	/* For layers over an endpoint of type FI_EP_DGRAM all of whose receives are
	 * multi-receive buffers of one piece: from now on data of a completion is the
	 * address of the datagram's source, a struct sockaddr of its family. It is in
	 * the buffer, in the WF_SOURCE_SPACE bytes before the datagram, or before the
	 * first of several that came together. Called before the endpoint is enabled.
	 * NULL: the transport cannot do that. */
	void (*tell_sources)(struct wf_ep *ep);

	/* Messages are put into ep->inbox, if it is set, or passed (inbox.h). */
	bool inbox;

	/* Make progress without blocking. ep->lock is held, and before it *ep->srx_lock
	 * if that is not NULL. Calls no function of the application. */
	void (*progress)(struct wf_ep *ep);

	/* Operations for a receive context, see srx.h. A transport with this table gets
	 * no receives by start(), and its cancel and rx_left are not called. */
	struct fi_ops_srx_peer *srx_ops;

	/* The source of an unexpected message that was queued with FI_ADDR_UNSPEC, or
	 * FI_ADDR_UNSPEC. Called after addresses were inserted, with *ep->srx_lock (the
	 * owner's lock) held. */
	fi_addr_t (*srx_addr)(struct fi_peer_rx_entry *entry);

	/* Prepare data transfers; the bindings are complete and valid. May be called
	 * again after a failure. ep->control is held. */
	int (*enable)(struct wf_ep *ep);

	/* Replace calls in msg_ops, tagged_ops, rma_ops and atomic_ops of @ep, which
	 * are complete for its capabilities and not visible to the application yet.
	 * Last step of fi_enable. ep->control is held. NULL: the calls stay. */
	void (*tables_finished)(struct wf_ep *ep);

	/* The progress item, copied to ep->progress when the endpoint is opened. Its
	 * functions take the locks that they need. NULL: an item that takes the locks
	 * and calls progress(), wait_fd(), wait_fds() and arm(). */
	const struct wf_progress *item;

	/* The endpoint makes progress when the sources of its CQs are run
	 * (wf_cq.source): no queue or counter runs the endpoint itself. progress() runs
	 * them, too. */
	bool run_by_cqs;

	/* A counter was bound to the enabled endpoint: do what enable() does for bound
	 * counters. A failure undoes the binding. ep->control is held, and no thread
	 * runs the endpoint. NULL: nothing to do but to use ep->cntr. */
	int (*cntr_bound)(struct wf_ep *ep);

	/* fi_cancel(3): withdraw one posted receive with @context and write its
	 * FI_ECANCELED entry. False: there is none. ep->lock is held. */
	bool (*cancel)(struct wf_ep *ep, void *context);

	/* fi_cancel(3): withdraw the first transmit operation that @which names, that
	 * reports its end (wf_op_is_reported) and of which no byte was sent, and write
	 * its FI_ECANCELED entry. False: there is none. ep->lock is held. NULL: the
	 * transport queues no operations. */
	bool (*cancel_tx)(struct wf_ep *ep, const struct wf_cancel *which);

	/* Were all messages sent that were injected or are complete for the
	 * application? Messages to peers that cannot be reached any more do not count.
	 * Called repeatedly, with progress() after each false, before the endpoint or
	 * one of its contexts is closed and at the end of the process; ep->flushing is
	 * set meanwhile. Locks as for progress(). NULL: the transport queues no
	 * messages. */
	bool (*flushed)(struct wf_ep *ep);

	/* Has the endpoint accepted operations that its progress has to continue: that
	 * wait for a connection, for space or for a peer? ep->lock is held. NULL:
	 * accepted operations are on their way when a call returns. */
	bool (*unfinished)(struct wf_ep *ep);
	/* Milliseconds that a flush takes at most unless FI_FLUSH_TIMEOUT is set; 0:
	 * the usual limit. Longer where neither the kernel nor shared memory holds the
	 * messages for a peer that does not run. */
	int flush_ms;

	/* The number of peers by transport (sys/peer_counts.h). Any thread, no lock.
	 * NULL: the endpoint has one transport. */
	void (*peer_counts)(const struct wf_ep *ep, struct wf_peer_counts *ret);

	/* Release the transport's resources, and call wf_ep_free. The opening or
	 * enabling of the endpoint may have failed half-way. No lock is held, and no
	 * thread runs the endpoint any more. */
	void (*destroy)(struct wf_ep *ep);

	/* fi_setname, fi_getname, fi_join (fi_cm(3)); NULL: -FI_ENOSYS. setname is
	 * called before the endpoint is enabled, join after that. ep->control is held,
	 * except by a join with FI_COLLECTIVE, which a transport with @collective
	 * gets. */
	int (*setname)(struct wf_ep *ep, const void *addr, size_t len);
	int (*getname)(struct wf_ep *ep, void *addr, size_t *len);
	int (*join)(struct wf_ep *ep, const void *addr, uint64_t flags,
		struct fid_mc **mc, void *context);

	/* Options of the transport, fi_endpoint(3). -FI_ENOPROTOOPT: the common code
	 * handles the option. NULL: none. */
	int (*getopt)(struct wf_ep *ep, int name, void *val, size_t *len);
	int (*setopt)(struct wf_ep *ep, int name, const void *val, size_t len);

	/* FI_OPT_SHARED_MEMORY_PERMITTED becomes false, before the endpoint is enabled.
	 * 0, or -FI_EOPNOTSUPP: the transport needs shared memory. NULL: the transport
	 * never uses it. ep->control is held. */
	int (*forbid_shared_memory)(struct wf_ep *ep);

	/* The address at @index was removed from the AV: end the connection to it
	 * without reporting an error. Called only with FI_AV_REMOVE_CLEANUP. ep->lock
	 * is held. */
	void (*addr_removed)(struct wf_ep *ep, uint64_t index);

	/* For a layer that reaches the same peers by another transport, too. Connect to
	 * the peer at @addr, unless there is a connection or an attempt to connect;
	 * progress() continues the attempt. 0: connected, and the peer has accepted.
	 * -FI_EAGAIN: not connected yet. Another code: the AV has no address at @addr.
	 * ep->lock and *ep->srx_lock (the owner's lock) are held, as in the next two
	 * functions. NULL: the transport has none of the three. */
	int (*reach)(struct wf_ep *ep, fi_addr_t addr);
	/* Is there a connection to the peer at @addr whose other end is open? As long
	 * as it is open, the peer may receive what was sent. ep->lock suffices. */
	bool (*is_reached)(struct wf_ep *ep, fi_addr_t addr);
	/* End the connection to the peer at @addr. Operations under way end with the
	 * positive FI_E code @err, after everything was received that the peer has
	 * sent. If @err is 0, they end without a report, after all records that the
	 * transport could send were sent. If the peer has closed its end, @unread
	 * (NULL: none) gets the messages whose completions were written and that the
	 * peer has not begun to receive. Returns whether messages of the peer may still
	 * wait for a receive: their source is @addr as long as it stays in the AV, and
	 * the caller may call this function again later to learn whether they do. */
	bool (*disconnect)(
		struct wf_ep *ep, fi_addr_t addr, int err, struct wf_unread *unread);

	/* FI_GET_FD (fi_control(3)): the descriptor of the one connection. NULL:
	 * -FI_ENOSYS. ep->lock is held. */
	int (*get_fd)(struct wf_ep *ep, int *ret_fd);

	/* The number of operations that start() accepts before -FI_EAGAIN. NULL:
	 * unknown. ep->lock is held. */
	size_t (*rx_left)(struct wf_ep *ep);
	size_t (*tx_left)(struct wf_ep *ep);

	/* fi_atomicvalid(3) and its variants. NULL: wf_atomic_valid
	 * (objects/atomic/ops.h). No lock is held. */
	int (*atomic_valid)(struct wf_ep *ep, enum wf_op_kind kind,
		enum fi_datatype datatype, enum fi_op op, size_t *ret_count);

	/* The calls of fi_collective(3) of an enabled endpoint with FI_COLLECTIVE;
	 * slots that are not supported have the stubs of absent.h. No lock is held.
	 * NULL: all calls return -FI_ENOSYS. */
	struct fi_ops_collective *collective;

	/* As in struct wf_progress. ep->lock is held, but not in wait_fds. */
	int (*wait_fd)(struct wf_ep *ep);
	struct wf_fds *(*wait_fds)(struct wf_ep *ep);
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

#endif
