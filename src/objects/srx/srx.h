/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_SRX_H
#define WF_OBJECTS_SRX_H

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

/*
 * Receive contexts: where receives are posted, and where transports ask which of them a
 * message belongs to. A transport never matches. Whatever stands behind, it sees one
 * struct fid_peer_srx *, ep->srx, set before its enable() is called:
 *
 *   nothing was bound          a context of the endpoint's own
 *   fi_srx_context() object    that context, shared with other endpoints
 *   the same with FI_PEER      the context of another provider, its owner
 *
 * and calls, with the lock below held, nothing but
 *
 *   wf_srx_get_msg/get_tag     a message came. 0: *ret_entry has its buffers.
 *                              -FI_ENOENT: nobody waits for it. Set entry->cq_data and
 *                              FI_REMOTE_CQ_DATA in entry->flags where the message has
 *                              data, then wf_srx_save, before any other get. Another
 *                              code: no entry.
 *   wf_srx_save                the entry is given up, and all that is left of it is a
 *                              struct wf_srx_unexpected with memory for the payload.
 * NULL: no memory; the entry is still there. wf_srx_done, wf_srx_fail   the message is
 * received, or failed: completion, counter, end of the entry
 * (objects/endpoint/endpoint.h) wf_srx_free_entry          the end of an entry without
 * completion
 *
 * and implements, in xfer->srx_ops,
 *
 *   start_msg/start_tag        an unexpected message, entry->peer_context, has buffers
 * now; the same as a get that returned 0. Fails only if nothing of the message was
 * taken: the receive then ends with that error and the entry is the owner's. In any
 *                              case the message is given back, with wf_srx_release.
 *   discard_msg/discard_tag    nobody will want it: let the message go, without
 *                              completion, and call wf_srx_release and
 *                              wf_srx_free_entry.
 *
 * entry->iov, count and desc are the whole buffer of the receive (for a multi-receive
 * buffer, the slice for this message); a message that is longer than their sum is
 * received as far as it fits and ends with FI_ETRUNC. entry->addr is the source as a
 * directed receive would name it (an index of the AV), FI_ADDR_UNSPEC while it is not
 * known: then xfer->srx_addr is asked again after each fi_av_insert. An imported
 * context has the owner's numbers, so what it is told goes through wf_ep_srx_source.
 *
 * Lock. Order: srx lock, ep->lock, CQ or counter. Of the calls above all but start and
 * discard are made with the owner's lock held. When the context is ours that is
 * *ep->srx_lock, and the skeleton takes it, then ep->lock, before progress(); posting a
 * receive takes it and calls start_*, which take ep->lock themselves; so do discard_*
 * and xfer->srx_addr. When the context is imported ep->srx_lock is NULL, the owner
 * holds his lock before he calls us, and only he runs our progress. start() has neither
 * lock and may not call these functions, nor progress().
 *
 * Closing. Before xfer->destroy() posted receives are dropped, and queued entries of
 * the endpoint go through discard_*. Entries that the transport is at work on are ended
 * by its destroy(), with wf_srx_free_entry between wf_ep_srx_lock and wf_ep_srx_unlock.
 */

/* One posted receive, or one message that has buffers, was reserved, or whose peer
 * remembers the entry. @peer is what others see of it. */
struct wf_srx_entry {
	struct fi_peer_rx_entry peer;
	/* As a receive that waits. A reserved message is in srx->claims by its node,
	 * and in srx->claimed by its order. */
	struct wf_match_entry match;
	struct wf_srx_entry *parent; /* slice: the multi-receive buffer */

	/* Multi-receive buffers only. */
	uint32_t slices; /* under way, and one as long as it is open */
	bool multi;      /* it is one */
	bool open;       /* takes more messages */
	bool queued;
	int err;     /* it was withdrawn, and ends with this */
	size_t used; /* bytes given to slices */
	size_t min;  /* closed when less is left; of the time of its posting */

	/* iov and desc are as many as the pool was made for. */
	struct iovec iov[];
};

/*
 * Where messages that wait came from: part of what a transport knows of a connection.
 * It is made with the first of them, and stays until the last was given back, whatever
 * becomes of the connection. Guarded by the owner's lock.
 */
struct wf_srx_origin {
	struct fid_peer_srx *fid; /* the context that they wait in; set by whoever makes
				   * it, the rest zeroed */
	uint32_t number;          /* in the context, if it is ours */
	size_t count;             /* of the messages */
};

/*
 * What a transport has of a message that waits. There may be millions, so it is small.
 * Guarded by the owner's lock.
 */
struct wf_srx_unexpected {
	/* Message length in bytes. If is_long is set, the length is in words[] instead
	 * (messages of 4 GiB or more). */
	uint32_t len;
	/* Number of the struct wf_srx_origin in the context; 0: another provider owns
	 * the context. */
	uint32_t origin : 24;
	/* words[] holds a pointer to the struct wf_srx_entry and nothing else. */
	uint32_t kept : 1;
	uint32_t has_data : 1; /* words[] holds the CQ data */
	uint32_t is_long : 1;
	/* The payload memory is a block of its own: words[] holds its address and size.
	 */
	uint32_t separate : 1;
	uint32_t note : 4; /* for the transport's use */
	/* CQ data and length, if there, in this order; then the payload memory. */
	uint64_t words[];
};

/* A message that waits for a receive. */
struct wf_srx_message {
	struct wf_match_message match; /* tag and source */
	struct wf_srx_unexpected unexp;
};

static_assert(sizeof(struct wf_srx_message) == 40, "one for each unexpected message");

/* The payload memory that wf_srx_save was asked for; 8-byte aligned. */
static inline void *wf_srx_payload(struct wf_srx_unexpected *unexp)
{
	uint64_t *payload = unexp->words + unexp->has_data + unexp->is_long;

	return wf_unlikely(unexp->separate) ? (void *)(uintptr_t)*payload : payload;
}

/*
 * Where results go that belong to no message of a transport: part of the endpoint that
 * receives. All are called with the context's lock held; @op_flags are those of the
 * receive.
 */
struct wf_srx_sink;
struct wf_srx_sink_ops {
	/* A receive failed: an error entry, and the counter's error value. */
	void (*fail)(struct wf_srx_sink *sink, uint64_t op_flags,
		const struct fi_cq_err_entry *entry);
	/* The answer to a peek, which no counter counts. @src is as entries have it.
	 * Negative: the CQ took no entry. */
	ssize_t (*answer)(struct wf_srx_sink *sink, uint64_t op_flags,
		const struct fi_cq_tagged_entry *entry, fi_addr_t src);
	ssize_t (*answer_err)(struct wf_srx_sink *sink, uint64_t op_flags,
		const struct fi_cq_err_entry *entry);
	/* The multi-receive buffer posted with @context is the application's again. */
	void (*release)(struct wf_srx_sink *sink, uint64_t op_flags, void *context);
	/* Move data, unless another thread does. */
	void (*progress)(struct wf_srx_sink *sink);
};
struct wf_srx_sink {
	const struct wf_srx_sink_ops *ops;
};

/* A handle for one endpoint or peer, given to it as @fid. */
struct wf_srx_port {
	struct fid_peer_srx fid;
	struct wf_srx *srx;
	struct wf_srx_sink *sink;     /* where its completions go */
	struct wf_list link;          /* srx->ports */
	struct fi_ops_srx_peer table; /* for a peer that fills in its operations */
	/* FI_COMPLETION, unless the endpoint's CQ is selective: whoever posts to a
	 * shared context leaves that to the endpoint, and a peer knows entries only. */
	uint64_t forced;
	bool detached;
};

/*
 * The context itself. @lock guards all of it but the constants, and is held while the
 * endpoints that use it make progress.
 *
 * Results that belong to no particular endpoint (of a peek, a cancelled receive) go to
 * the CQ of the endpoint bound first; the release of a multi-receive buffer goes to the
 * one that ended its last slice.
 */
struct wf_srx {
	struct wf_lock *lock; /* @own_lock, or one for several contexts */
	struct wf_lock own_lock;
	struct wf_match msg, tag;
	struct wf_pool pool;          /* of entries */
	struct wf_sizes messages;     /* that wait, with their payload */
	struct wf_id_map origins;     /* where those are from */
	struct wf_srx_entry *reserve; /* so that messages can always be let go */
	struct wf_match_table claims; /* reserved messages, by context */
	struct wf_list claimed;       /* the same, oldest first */
	struct wf_list ports;
	struct wf_srx_contexts *contexts; /* of posted receives; NULL: none cancelled */
	size_t posted;
	uint64_t addr_mask; /* of the AV: which bits of a fi_addr_t are the source */

	/* Constants. */
	const struct fi_provider *prov; /* for the log */
	size_t size;                    /* bound of @posted */
	size_t iov_limit;
	bool msg_directed, tag_directed, exact;
	atomic_size_t *min_multi_recv; /* the endpoint's or context's option */
};

/* What makes a context: taken from an endpoint's or context's attributes. */
struct wf_srx_attr {
	const struct fi_provider *prov;
	size_t size; /* receives that may be posted; 0: any number */
	size_t iov_limit;
	uint64_t caps; /* FI_DIRECTED_RECV and its like; 0 where there is one peer */
	atomic_size_t *min_multi_recv;
};

/* Negative errno of the lock. */
int wf_srx_init(struct wf_srx *srx, const struct wf_srx_attr *attr,
	enum wf_lock_kind lock_kind);
/* The same with a lock of the caller's, who makes progress for several contexts. */
void wf_srx_init_with(
	struct wf_srx *srx, const struct wf_srx_attr *attr, struct wf_lock *lock);

/* All handles are drained. Posted receives are dropped. */
void wf_srx_fini(struct wf_srx *srx);

/* Who uses a handle. */
struct wf_srx_user {
	struct wf_srx_sink *sink; /* of the endpoint of ours that receives through it */
	/* The endpoint's; NULL for a peer, which sets its operations when it imports
	 * @port->fid (objects/peer/open.h). */
	struct fi_ops_srx_peer *peer_ops;
	uint64_t forced;    /* FI_COMPLETION, or 0 with selective completion */
	uint64_t addr_mask; /* of the endpoint's AV; 0: it has none */
};

/* Make a handle. No lock held. */
void wf_srx_export(
	struct wf_srx *srx, struct wf_srx_port *port, const struct wf_srx_user *user);

/* Discard the messages queued through @port. It gets no more calls, and makes none but
 * wf_srx_free_entry. No lock held. */
void wf_srx_drain(struct wf_srx_port *port);

/* The endpoint of the peer behind @port, which was drained, is about to be closed, and
 * without lock, because closing takes locks that come before ours: what it ends
 * meanwhile takes the lock itself. */
void wf_srx_detach(struct wf_srx_port *port);

/* For whoever lets a peer progress, or does anything else that may make it call us. */
static inline void wf_srx_lock(struct wf_srx *srx)
{
	wf_lock(srx->lock);
}

static inline void wf_srx_unlock(struct wf_srx *srx)
{
	wf_unlock(srx->lock);
}

/* Post a receive: an operation of kind WF_OP_RECV or WF_OP_TRECV, with all its flags.
 * -FI_EAGAIN: as many as @size wait already. No lock held. */
ssize_t wf_srx_post(struct wf_srx *srx, const struct wf_op *op);

/* Withdraw one receive with @context, the untagged and the oldest first; true when
 * there was one. Lock held. */
bool wf_srx_cancel(struct wf_srx *srx, void *context);

/* End every posted receive with @err (positive): the connection is gone. Lock held. */
void wf_srx_flush(struct wf_srx *srx, int err);

/* Sources may have changed, because an address was removed: ask for those again that
 * messages of @fid have and that @changed tells, NULL all. Takes the lock. */
void wf_srx_ask_again(struct fid_peer_srx *fid,
	fi_addr_t (*get_addr)(struct fi_peer_rx_entry *entry),
	bool (*changed)(fi_addr_t addr, const void *arg), const void *arg);

/* How many receives can be posted still. Lock held. */
static inline size_t wf_srx_left(const struct wf_srx *srx)
{
	return srx->size - srx->posted;
}

/* ---- calls of a transport into the owner ---- */

extern struct fi_ops_srx_owner wf_srx_owner_ops;

int wf_srx_own_get_msg(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry);
int wf_srx_own_get_tag(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry);
/* @type: FI_MSG or FI_TAGGED. Where the owner is not ours, with his public operations.
 */
struct wf_srx_unexpected *wf_srx_save(uint64_t type, struct fi_peer_rx_entry *entry,
	struct wf_srx_origin *origin, size_t size);
void wf_srx_release(struct wf_srx_origin *origin, struct wf_srx_unexpected *unexp);
/* That of entry->peer_context. */
struct wf_srx_origin *wf_srx_origin(const struct fi_peer_rx_entry *entry);
void wf_srx_own_free_entry(struct fi_peer_rx_entry *entry);

/* Is the owner ours? Then the call needs no table. */
static inline bool wf_srx_is_own(const struct fid_peer_srx *srx)
{
	return wf_likely(srx->owner_ops == &wf_srx_owner_ops);
}

static inline int wf_srx_get_msg(struct fid_peer_srx *srx,
	struct fi_peer_match_attr *attr, struct fi_peer_rx_entry **ret_entry)
{
	return wf_srx_is_own(srx) ? wf_srx_own_get_msg(srx, attr, ret_entry)
				  : srx->owner_ops->get_msg(srx, attr, ret_entry);
}

static inline int wf_srx_get_tag(struct fid_peer_srx *srx,
	struct fi_peer_match_attr *attr, struct fi_peer_rx_entry **ret_entry)
{
	return wf_srx_is_own(srx) ? wf_srx_own_get_tag(srx, attr, ret_entry)
				  : srx->owner_ops->get_tag(srx, attr, ret_entry);
}

static inline void wf_srx_free_entry(struct fi_peer_rx_entry *entry)
{
	if (wf_srx_is_own(entry->srx))
		wf_srx_own_free_entry(entry);
	else
		entry->srx->owner_ops->free_entry(entry);
}

#endif
