/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_SRX_SRX_H
#define WF_OBJECTS_SRX_SRX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/providers/fi_peer.h>

#include "match/match.h"
#include "objects/op/op.h"
#include "sys/list.h"
#include "sys/lock.h"
#include "sys/pool.h"
#include "sys/sizes.h"

struct wf_srx_contexts;
struct wf_srx_heads;

/* The table of a transport that starts, and discards, tagged and untagged messages by
 * one function. */
#define WF_SRX_PEER_OPS(start_, discard_)                                              \
	{                                                                              \
		.size = sizeof(struct fi_ops_srx_peer), .start_msg = start_,           \
		.start_tag = start_, .discard_msg = discard_, .discard_tag = discard_  \
	}

/*
 * Receive contexts: the application posts receives to them, and transports ask them
 * which receive a message belongs to. A transport never matches. For each kind of
 * context the transport sees one struct fid_peer_srx *, ep->srx, which is set before
 * its enable() is called:
 *
 *   nothing was bound          a context of the endpoint's own
 *   fi_srx_context() object    that context, shared with other endpoints
 *   the same with FI_PEER      the context of another provider, its owner
 *
 * The transport calls, with the lock described below held, nothing but
 *
 *   wf_srx_get_msg/get_tag     A message came. 0: *ret_entry has the buffers of its
 *                              receive. -FI_ENOENT: no receive matches. Set
 *                              entry->cq_data and FI_REMOTE_CQ_DATA in entry->flags if
 *                              the message has data, then call wf_srx_save, before any
 *                              other get. Another code: there is no entry.
 *   wf_srx_save                Save the unexpected message. The transport gives up the
 *                              entry and gets a struct wf_srx_unexpected with payload
 *                              memory. NULL: no memory; the entry is still valid.
 *   wf_srx_done, wf_srx_fail   The message was received, or failed: write the
 *                              completion, count it, free the entry
 *                              (objects/endpoint/endpoint.h).
 *   wf_srx_free_entry          Free the entry without a completion.
 *
 * and implements, in xfer->srx_ops,
 *
 *   start_msg/start_tag        The unexpected message entry->peer_context now has
 *                              buffers, as after a get that returned 0. A failure means
 *                              that nothing of the message was received: the receive
 *                              ends with that error and the context frees the entry.
 *                              In either case the transport calls wf_srx_release for
 *                              the message.
 *   discard_msg/discard_tag    No receive will take the message: end it without a
 *                              completion, and call wf_srx_release and
 *                              wf_srx_free_entry.
 *
 * entry->iov, count and desc are the whole buffer of the receive (for a multi-receive
 * buffer, the slice for this message). A message that is longer than their sum is
 * received as far as it fits and ends with FI_ETRUNC. entry->addr is the source as a
 * directed receive would name it (an index of the AV), FI_ADDR_UNSPEC while it is not
 * known: then xfer->srx_addr is asked again after each fi_av_insert. An imported
 * context uses the owner's numbering of addresses, so the transport converts indices
 * for it with wf_ep_srx_source.
 *
 * Lock. Order: srx lock, ep->lock, CQ or counter. The transport makes the calls above
 * with the owner's lock held. If this library owns the context, that lock is
 * *ep->srx_lock: the common endpoint code takes it, then ep->lock, before progress().
 * Posting a receive takes it and calls start_*, which take ep->lock themselves; so do
 * discard_* and xfer->srx_addr. If the context is imported, ep->srx_lock is NULL, the
 * owner holds its own lock when it calls the transport, and only the owner runs the
 * transport's progress. xfer->start() has neither lock and may not call these
 * functions, nor progress().
 *
 * Closing. Before xfer->destroy() posted receives are dropped, and queued entries of
 * the endpoint go through discard_*. The transport's destroy() ends the entries that it
 * still uses, with wf_srx_free_entry between wf_ep_srx_lock and wf_ep_srx_unlock.
 */

/* A posted receive, or a message that has buffers, was reserved with FI_CLAIM, or whose
 * entry a peer provider keeps a pointer to. Transports and peer providers see only
 * @peer. */
struct wf_srx_entry {
	struct fi_peer_rx_entry peer; /* The public entry, fi_peer(3). */
	/* Node in the matching engine while the receive is posted. A reserved message
	 * is in srx->claims by match.node, and in srx->claimed by match.order. */
	struct wf_match_entry match;
	/* Multi-receive buffer that this entry is a slice of; NULL: the entry is no
	 * slice. */
	struct wf_srx_entry *parent;

	/* The members up to @min are for multi-receive buffers only (WF_SRX_MULTI). */
	/* References: one for each slice in use, and one while @open is set. */
	uint32_t slices;
	bool open;   /* More messages may get slices. */
	bool queued; /* It is in the posted queue. */
	/* Positive FI_E code that the end of the buffer is reported with; 0:
	 * success. */
	int err;
	size_t used; /* Bytes at the start of the buffer that slices occupy. */
	/* The buffer is retired when fewer bytes than this are left:
	 * FI_OPT_MIN_MULTI_RECV at the time when it was posted. */
	size_t min;

	/* srx->iov_limit vectors, followed by as many descriptors (void *). */
	struct iovec iov[];
};

/*
 * The origin of unexpected messages; the transport embeds it in a struct of its own for
 * a connection. That struct is made with the first unexpected message and stays until
 * wf_srx_release of the last one, even if the connection is lost before. Guarded by the
 * owner's lock.
 */
struct wf_srx_origin {
	/* Receive context of the messages. The transport sets it and zeroes the other
	 * members. */
	struct fid_peer_srx *fid;
	/* Number in srx->origins while @count is not 0; unused if the context is
	 * imported. */
	uint32_t number;
	size_t count; /* Number of unexpected messages of this origin. */
};

/*
 * An unexpected message, as its transport sees it. There may be millions, so it is
 * small. Guarded by the owner's lock.
 */
struct wf_srx_unexpected {
	/* Message length in bytes. If is_long is set, the length is in words[] instead
	 * (messages of 4 GiB or more). */
	uint32_t len;
	/* Number of the struct wf_srx_origin in the context. 0: another provider owns
	 * the context, or @kept is set. */
	uint32_t origin : 24;
	/* A peer provider keeps a pointer to the entry: words[] holds the address of
	 * the struct wf_srx_entry and nothing else. */
	uint32_t kept : 1;
	uint32_t has_data : 1; /* words[] holds the CQ data. */
	uint32_t is_long : 1;  /* The length is in words[], not in @len. */
	/* The payload memory is a block of its own: words[] holds its address and
	 * size. */
	uint32_t separate : 1;
	uint32_t note : 4; /* State of the message, for the transport only. */
	/* CQ data if has_data is set, length if is_long is set, in this order; then the
	 * payload memory. */
	uint64_t words[];
};

/* An unexpected message with the members that only the context uses. */
struct wf_srx_message {
	/* Tag and source; node in the matching engine. */
	struct wf_match_message match;
	struct wf_srx_unexpected unexp; /* The message as its transport sees it. */
};

static_assert(sizeof(struct wf_srx_message) == 40, "one for each unexpected message");

/* Payload memory of more bytes than this is a block of its own. */
enum { WF_SRX_GROW_MIN = WF_SIZES_HANDLE_MAX };

/* Message length in bytes. */
static inline uint64_t wf_srx_len(const struct wf_srx_unexpected *unexp)
{
	return wf_unlikely(unexp->is_long) ? unexp->words[unexp->has_data] : unexp->len;
}

/* The payload memory, of the size given to wf_srx_save; 8-byte aligned. */
static inline void *wf_srx_payload(struct wf_srx_unexpected *unexp)
{
	uint64_t *payload = unexp->words + unexp->has_data + unexp->is_long;

	return wf_unlikely(unexp->separate) ? (void *)(uintptr_t)*payload : payload;
}

/* Bytes of the payload memory of a message that is not whole, and was saved with memory
 * for all of it or with memory that grows (wf_srx_grow). */
static inline size_t wf_srx_payload_size(const struct wf_srx_unexpected *unexp)
{
	const uint64_t *words = unexp->words + unexp->has_data + unexp->is_long;

	return wf_unlikely(unexp->separate) ? words[1] : wf_srx_len(unexp);
}

/*
 * The endpoint that receives, as its receive context sees it: for results that the
 * context reports itself (a cancelled receive, the answer to a peek). All functions are
 * called with the context's lock held; @op_flags are the flags of the receive.
 */
struct wf_srx_sink;
struct wf_srx_sink_ops {
	/* A receive failed: write the error entry and add to the counter's error
	 * value. */
	void (*fail)(struct wf_srx_sink *sink, uint64_t op_flags,
		const struct fi_cq_err_entry *entry);
	/* Write the answer to a peek; no counter counts it. @src is numbered as in
	 * fi_peer_rx_entry.addr. A negative FI_E code: the CQ took no entry. */
	ssize_t (*answer)(struct wf_srx_sink *sink, uint64_t op_flags,
		const struct fi_cq_tagged_entry *entry, fi_addr_t src);
	ssize_t (*answer_err)(struct wf_srx_sink *sink, uint64_t op_flags,
		const struct fi_cq_err_entry *entry);
	/* Write the FI_MULTI_RECV entry: the application owns the multi-receive buffer
	 * posted with @context again. */
	void (*release)(struct wf_srx_sink *sink, uint64_t op_flags, void *context);
	/* Run the transport's progress, unless another thread holds ep->lock. */
	void (*progress)(struct wf_srx_sink *sink);
};
struct wf_srx_sink {
	const struct wf_srx_sink_ops *ops;
};

/* A handle to the context, for one endpoint or peer provider, which gets @fid. */
struct wf_srx_port {
	struct fid_peer_srx fid;  /* The handle that transports and peers get. */
	struct wf_srx *srx;       /* The context. */
	struct wf_srx_sink *sink; /* Endpoint that reports results of the handle. */
	struct wf_list link; /* In srx->ports; linked to itself after wf_srx_drain. */
	/* Operations, filled in by a peer provider; unused by own endpoints. */
	struct fi_ops_srx_peer table;
	/* Flags added to each receive when its message comes: FI_COMPLETION, or 0 if
	 * the endpoint's CQ is selective. A receive posted to a shared context does not
	 * know the CQ yet, and a peer provider sees entries only. */
	uint64_t forced;
	bool detached; /* wf_srx_detach was called. */
	/* Recognises heads among the messages of the handle; see heads.h. NULL: none
	 * come. Set before messages come. */
	struct wf_srx_heads *heads;
};

/*
 * The context itself. @lock guards everything but the constants, and is held while the
 * endpoints that use the context make progress.
 *
 * Results that belong to no particular endpoint (of a peek, a cancelled receive) go to
 * the CQ of the endpoint bound first. The release of a multi-receive buffer goes to the
 * CQ of the endpoint that ended its last slice.
 */
struct wf_srx {
	/* own_lock, or a lock that several contexts share (wf_srx_init_with). */
	struct wf_lock *lock;
	struct wf_lock own_lock; /* The lock, unless several contexts share one. */
	/* Matching engines of untagged and of tagged messages. */
	struct wf_match msg, tag;
	struct wf_pool pool;      /* Memory of struct wf_srx_entry. */
	struct wf_sizes messages; /* Memory of unexpected messages and their payload. */
	/* struct wf_srx_origin by number, while messages refer to it. */
	struct wf_id_map origins;
	/* Spare entry, so that wf_srx_drain needs no memory; NULL: none yet. */
	struct wf_srx_entry *reserve;
	/* Messages reserved with FI_CLAIM, by their context. */
	struct wf_match_table claims;
	struct wf_list claimed; /* The same messages by match.order, oldest first. */
	struct wf_list ports;   /* struct wf_srx_port, the first bound first. */
	/* Index of posted receives by context, while fi_cancel searches now and then;
	 * NULL: none. */
	struct wf_srx_contexts *contexts;
	/* Receives in both posted queues, without those of peer transfers. */
	size_t posted;
	/* The fast path posts while there are fewer: @size, or 0 if each receive has to
	 * take the long path, which indexes it in @contexts or checks its source. */
	size_t fast_size;
	uint64_t addr_mask; /* Bits of a fi_addr_t that are the index in the AV. */

	/* Constant once messages or receives come. */
	const struct fi_provider *prov; /* For log lines. */
	size_t size; /* Receives that may be posted at a time; SIZE_MAX: any number. */
	size_t iov_limit; /* The most buffers of a receive. */
	/* Untagged and tagged receives may name a source; @exact: each must
	 * (FI_EXACT_DIRECTED_RECV). */
	bool msg_directed, tag_directed, exact;
	/* Receives of peer transfers may name a source. */
	bool transfer_directed;
	/* FI_OPT_MIN_MULTI_RECV in bytes, of the endpoint or shared context. */
	atomic_size_t *min_multi_recv;
};

/* Attributes of a new context, from those of an endpoint or of fi_srx_context(3). */
struct wf_srx_attr {
	const struct fi_provider *prov;
	size_t size;      /* Receives that may be posted at a time; 0: any number. */
	size_t iov_limit; /* The most buffers of a receive. */
	/* FI_DIRECTED_RECV, FI_TAGGED_DIRECTED_RECV, FI_EXACT_DIRECTED_RECV, FI_SOURCE;
	 * other bits are ignored. 0 if there is one peer. */
	uint64_t caps;
	atomic_size_t *min_multi_recv; /* FI_OPT_MIN_MULTI_RECV in bytes. */
};

/* Make a context with a lock of its own. */
void wf_srx_init(struct wf_srx *srx, const struct wf_srx_attr *attr,
	enum wf_lock_kind lock_kind);
/* Make a context that uses @lock, which several contexts share. */
void wf_srx_init_with(
	struct wf_srx *srx, const struct wf_srx_attr *attr, struct wf_lock *lock);

/* Free the contents of @srx. The caller has drained all handles; posted receives are
 * dropped without a completion. No lock held. */
void wf_srx_fini(struct wf_srx *srx);

/* The endpoint or peer provider that a handle is for. */
struct wf_srx_user {
	/* Endpoint that reports results of the handle. */
	struct wf_srx_sink *sink;
	/* Transport's operations. NULL for a peer provider, which sets its operations
	 * when it imports @port->fid (objects/peer/open.h). */
	struct fi_ops_srx_peer *peer_ops;
	uint64_t forced; /* FI_COMPLETION; 0 if the CQ is selective. */
	/* Bits of a fi_addr_t that are the index in the AV; 0: no AV is bound. */
	uint64_t addr_mask;
};

/* Initialise the handle @port for @user and put it last into srx->ports. No lock
 * held. */
void wf_srx_export(
	struct wf_srx *srx, struct wf_srx_port *port, const struct wf_srx_user *user);

/* Discard the unexpected messages that came through @port. The context does not call
 * @port->fid's operations any more, and only wf_srx_free_entry may be called for it. No
 * lock held. */
void wf_srx_drain(struct wf_srx_port *port);

/* The peer's endpoint behind @port, which is drained, is about to be closed. The caller
 * does not hold the context's lock then, because closing takes locks that come first in
 * the lock order: from now on wf_srx_free_entry takes the lock itself. No lock held. */
void wf_srx_detach(struct wf_srx_port *port);

/* Lock for callers that run a peer's progress, or do anything else that may make the
 * peer call the context. */
static inline void wf_srx_lock(struct wf_srx *srx)
{
	wf_lock(srx->lock);
}

static inline void wf_srx_unlock(struct wf_srx *srx)
{
	wf_unlock(srx->lock);
}

/* Post a receive (fi_recv(3), fi_trecv(3)): an operation of kind WF_OP_RECV or
 * WF_OP_TRECV, with the flags in force. -FI_EAGAIN: srx->size receives are posted
 * already. -FI_ENOMEM, -FI_EINVAL. No lock held. */
ssize_t wf_srx_post(struct wf_srx *srx, const struct wf_op *op);

/* fi_cancel(3): withdraw one posted receive with @context, untagged before tagged, the
 * oldest first, and write its FI_ECANCELED entry. False: there is none. Lock held. */
bool wf_srx_cancel(struct wf_srx *srx, void *context);

/* End every posted receive with the positive FI_E code @err: the connection is lost.
 * Lock held. */
void wf_srx_flush(struct wf_srx *srx, int err);

/* Addresses were removed, so the sources of unexpected messages may have changed: call
 * @get_addr for each message of @fid whose source is known and for whose source
 * @changed(source, @arg) is true (NULL: each message). Takes the lock. */
void wf_srx_recheck_sources(struct fid_peer_srx *fid,
	fi_addr_t (*get_addr)(struct fi_peer_rx_entry *entry),
	bool (*changed)(fi_addr_t addr, const void *arg), const void *arg);

/* How many more receives can be posted. Lock held. */
static inline size_t wf_srx_left(const struct wf_srx *srx)
{
	return srx->size - srx->posted;
}

#endif
