/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_SRX_INTERNAL_H
#define WF_OBJECTS_SRX_INTERNAL_H

#include <rdma/providers/fi_log.h>

#include "match/posted.h"
#include "objects/srx/owner.h"

/* What the files of the receive context share. The caller of each function holds the
 * context's lock, unless the function says otherwise. */

#define wf_srx_log(srx, level, ...)                                                    \
	FI_LOG((srx)->prov, level, FI_LOG_EP_DATA, __VA_ARGS__)

static inline struct wf_srx_entry *wf_srx_entry_of(struct fi_peer_rx_entry *peer)
{
	return wf_container_of(peer, struct wf_srx_entry, peer);
}

static inline struct wf_srx_entry *wf_srx_matched(struct wf_match_entry *match)
{
	return wf_container_of(match, struct wf_srx_entry, match);
}

/* @msg: handle of the message in the matching engine. */
static inline struct wf_srx_message *wf_srx_message_at(
	const struct wf_srx *srx, uint32_t msg)
{
	return wf_pool_at(&srx->messages.handles, msg);
}

static inline struct wf_srx_port *wf_srx_port_of(struct fid_peer_srx *fid)
{
	return wf_container_of(fid, struct wf_srx_port, fid);
}

/* The matching engine of tagged messages if @flags has FI_TAGGED, else that of untagged
 * ones. */
static inline struct wf_match *wf_srx_engine(struct wf_srx *srx, uint64_t flags)
{
	return flags & FI_TAGGED ? &srx->tag : &srx->msg;
}

static inline void **wf_srx_desc(const struct wf_srx *srx, struct wf_srx_entry *entry)
{
	return (void **)(void *)&entry->iov[srx->iov_limit];
}

static inline uint64_t wf_srx_type(const struct wf_op *op)
{
	return op->kind == WF_OP_TRECV ? FI_TAGGED : FI_MSG;
}

/* The source that a receive from @addr is matched by. */
static inline uint64_t wf_srx_key(const struct wf_srx *srx, bool tagged, fi_addr_t addr)
{
	bool directed = tagged ? srx->tag_directed : srx->msg_directed;

	return addr == FI_ADDR_UNSPEC || !directed ? WF_MATCH_ANY
						   : addr & srx->addr_mask;
}

/* Make @entry an empty one of @type, FI_MSG or FI_TAGGED, without buffers. The caller
 * sets context, tag, source and message size. */
static inline void wf_srx_set_type(
	const struct wf_srx *srx, struct wf_srx_entry *entry, uint64_t type)
{
	struct fi_peer_rx_entry *peer = &entry->peer;

	peer->desc = wf_srx_desc(srx, entry);
	peer->iov = entry->iov;
	peer->cq_data = 0;
	peer->peer_context = peer->owner_context = NULL;
	entry->parent = NULL;
	entry->multi = false;
	/* Last: the compiler merges these stores with those of wf_srx_set_receive. */
	peer->count = 0;
	peer->flags = type | FI_RECV;
}

/* The @i-th buffer of @entry. */
static inline void wf_srx_set_buffer(
	struct wf_srx_entry *entry, size_t i, void *buf, size_t len, void *desc)
{
	entry->iov[i].iov_base = buf;
	entry->iov[i].iov_len = len;
	entry->peer.desc[i] = desc;
}

/* @entry becomes a receive with @count buffers, of an operation with @flags and
 * @context. */
static inline void wf_srx_set_receive(
	struct wf_srx_entry *entry, size_t count, uint64_t flags, void *context)
{
	entry->peer.count = count;
	entry->peer.context = context;
	entry->peer.flags |= flags & (FI_COMPLETION | WF_OP_WORK | FI_PEER_TRANSFER);
}

/* An empty entry of @type; NULL: no memory. */
static inline struct wf_srx_entry *wf_srx_new_entry(struct wf_srx *srx, uint64_t type)
{
	struct wf_srx_entry *entry = wf_pool_get(&srx->pool);

	if (wf_likely(entry != NULL))
		wf_srx_set_type(srx, entry, type);
	return entry;
}

/* Bit in peer.flags of the receives that are in the index of context.c. The index is
 * filled by fi_cancel only, so posting costs nothing. */
#define WF_SRX_INDEXED (1ULL << 62)

/* The oldest posted receive of @type, FI_MSG or FI_TAGGED, with @context, or NULL. */
struct wf_srx_entry *wf_srx_find_posted(
	struct wf_srx *srx, uint64_t type, const void *context);
/* Remove @entry, which has WF_SRX_INDEXED, from the index. */
void wf_srx_index_remove(struct wf_srx *srx, struct wf_srx_entry *entry);
void wf_srx_contexts_done(struct wf_srx *srx);

/* Put @entry into the posted queue of @engine. */
WF_INLINE void wf_srx_enqueue(struct wf_srx *srx, struct wf_match *engine,
	struct wf_srx_entry *entry, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	entry->peer.tag = tag;
	wf_match_post_inline(engine, &entry->match, tag, ignore, addr);
	srx->posted++;
}

/* The same for a receive that may be a peer's, which does not count against the limit.
 */
static inline void wf_srx_enqueue_any(struct wf_srx *srx, struct wf_match *engine,
	struct wf_srx_entry *entry, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	wf_srx_enqueue(srx, engine, entry, tag, ignore, addr);
	if (wf_unlikely(entry->peer.flags & FI_PEER_TRANSFER))
		srx->posted--;
}

/* May no receive of @op be posted, because the limit is reached? */
static inline bool wf_srx_is_full(const struct wf_srx *srx, const struct wf_op *op)
{
	return wf_unlikely(srx->posted >= srx->size) && !(op->flags & FI_PEER_TRANSFER);
}

/* Remove a receive without WF_SRX_INDEXED and FI_PEER_TRANSFER from the posted queue.
 */
WF_INLINE void wf_srx_dequeue(
	struct wf_srx *srx, struct wf_match *engine, struct wf_srx_entry *entry)
{
	wf_match_unpost_inline(engine, &entry->match);
	srx->posted--;
}

/* @entry, which has WF_SRX_INDEXED or FI_PEER_TRANSFER, leaves the posted queue: undo
 * what is special about it. */
static inline void wf_srx_unpost_special(struct wf_srx *srx, struct wf_srx_entry *entry)
{
	if (entry->peer.flags & WF_SRX_INDEXED)
		wf_srx_index_remove(srx, entry);
	if (entry->peer.flags & FI_PEER_TRANSFER)
		srx->posted++;
}

/* Remove any posted receive from its queue and from the index. */
static inline void wf_srx_unpost(struct wf_srx *srx, struct wf_srx_entry *entry)
{
	if (wf_unlikely(entry->peer.flags & (WF_SRX_INDEXED | FI_PEER_TRANSFER)))
		wf_srx_unpost_special(srx, entry);
	wf_srx_dequeue(srx, wf_srx_engine(srx, entry->peer.flags), entry);
}

/* The endpoint that reports results: that of @fid if it is not drained (NULL: no
 * preference), else the one bound first. NULL: no endpoint uses the context any more.
 */
struct wf_srx_sink *wf_srx_reporter(struct wf_srx *srx, struct fid_peer_srx *fid);

/* Write the error entry of a posted receive or multi-receive buffer that ends with @err
 * (positive) and without a message. @flags are added to those of the entry. */
void wf_srx_report_failed(
	struct wf_srx *srx, const struct wf_srx_entry *entry, uint64_t flags, int err);

/* take.c: the handle that message @msg came through. */
struct fid_peer_srx *wf_srx_fid_of(const struct wf_srx *srx, uint32_t msg);

/* The entry of @msg if a peer provider keeps a pointer to it, else NULL. */
struct fi_peer_rx_entry *wf_srx_kept(const struct wf_srx *srx, uint32_t msg);

/* A copy of what peers and applications see of @msg, valid until the lock is released.
 * It is in no queue. */
struct fi_peer_rx_entry wf_srx_view(
	const struct wf_srx *srx, uint32_t msg, uint64_t type);

/* fi_ops_srx_owner.queue_msg and .queue_tag. */
int wf_srx_own_keep(struct fi_peer_rx_entry *peer);

/* Take @msg out of the unexpected queue. The result describes it: @blank, which may
 * have buffers, or the entry that a peer provider keeps a pointer to, which gets the
 * buffers of @blank; @blank is freed then. NULL: @blank is NULL and needed. */
struct wf_srx_entry *wf_srx_take(struct wf_srx *srx, struct wf_match *engine,
	uint32_t msg, struct wf_srx_entry *blank);

/* The source of a message for the matching engine: an AV index, or WF_MATCH_ANY if it
 * is not known. */
static inline uint64_t wf_srx_known(fi_addr_t addr)
{
	return wf_match_addr_fits(addr) ? addr : WF_MATCH_ANY;
}

/* @entry left the unexpected queue and has buffers: call the transport's start_*. On
 * failure the receive ends with the error. */
void wf_srx_start_entry(struct wf_srx *srx, struct wf_srx_entry *entry);
void wf_srx_discard_entry(struct wf_srx_entry *entry);

/* source.c: fi_ops_srx_owner.foreach_unspec_addr. Called from fi_av_insert without the
 * lock, and takes it. */
void wf_srx_own_foreach_unspec(
	struct fid_peer_srx *fid, fi_addr_t (*get_addr)(struct fi_peer_rx_entry *));

/* claim.c: messages reserved with FI_CLAIM, by the context of the call that reserved
 * them. */
void wf_srx_claim(struct wf_srx *srx, struct wf_srx_entry *entry, void *context);
struct wf_srx_entry *wf_srx_find_claimed(const struct wf_srx *srx, const void *context);
void wf_srx_unclaim(struct wf_srx *srx, struct wf_srx_entry *entry);

#define wf_srx_foreach_claimed(entry, srx)                                             \
	for (struct wf_srx_entry *entry = wf_list_entry(                               \
		     (srx)->claimed.next, struct wf_srx_entry, match.order),           \
				 *entry##_next =                                       \
					 wf_list_entry(entry->match.order.next,        \
						 struct wf_srx_entry, match.order);    \
		&entry->match.order != &(srx)->claimed; entry = entry##_next,          \
				 entry##_next = wf_list_entry(entry->match.order.next, \
					 struct wf_srx_entry, match.order))

/* post.c: give @entry the buffers of @op, or those of @from. */
void wf_srx_set_buffers(
	const struct wf_srx *srx, struct wf_srx_entry *entry, const struct wf_op *op);
void wf_srx_move_buffers(const struct wf_srx *srx, struct wf_srx_entry *entry,
	const struct wf_srx_entry *from);
uint64_t wf_srx_source(const struct wf_srx *srx, const struct wf_op *op);

/* multi.c */
ssize_t wf_srx_multi_post(struct wf_srx *srx, const struct wf_op *op);

/* Make @entry a slice of @buffer with its next @size bytes (the rest of the buffer if
 * it holds no message yet and is shorter). False: the bytes do not fit behind other
 * slices, so the buffer was retired; @entry is unchanged. */
bool wf_srx_multi_take(struct wf_srx *srx, struct wf_srx_entry *buffer,
	struct wf_srx_entry *entry, size_t size);

/* Close @buffer for further messages. Its end is reported when its last slice ends. */
void wf_srx_multi_retire(struct wf_srx *srx, struct wf_srx_entry *buffer);

/* The message in @slice ended: drop its reference to the buffer. */
void wf_srx_multi_put(struct wf_srx *srx, struct wf_srx_entry *slice);

/* peek.c: an operation with FI_PEEK, FI_CLAIM or FI_DISCARD. */
ssize_t wf_srx_peek(struct wf_srx *srx, const struct wf_op *op);

/* message.c: free the memory of a message that is in no queue. Lock held. */
void wf_srx_message_free(struct wf_srx *srx, struct wf_srx_unexpected *unexp);

#endif
