/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_SRX_ENTRY_H
#define WF_OBJECTS_SRX_ENTRY_H

#include "match/posted.h"
#include "objects/srx/owner.h"

/* Filling, posting and withdrawing an entry of a receive context: the inline parts that
 * the general code (post.c, match.c) and the fast paths (fast_post.h,
 * objects/endpoint/life/deliver.h) have in common. The caller holds the context's
 * lock. */

static inline struct wf_srx_entry *wf_srx_entry_of(struct fi_peer_rx_entry *peer)
{
	return wf_container_of(peer, struct wf_srx_entry, peer);
}

static inline struct wf_srx_entry *wf_srx_matched(struct wf_match_entry *match)
{
	return wf_container_of(match, struct wf_srx_entry, match);
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

/* The source that a receive from @addr is matched by. @directed: it may name one. */
static inline uint64_t wf_srx_key_of(
	const struct wf_srx *srx, bool directed, fi_addr_t addr)
{
	return addr == FI_ADDR_UNSPEC || !directed ? WF_MATCH_ANY
						   : addr & srx->addr_mask;
}

/* The same for a receive of the application. */
static inline uint64_t wf_srx_key(const struct wf_srx *srx, bool tagged, fi_addr_t addr)
{
	return wf_srx_key_of(srx, tagged ? srx->tag_directed : srx->msg_directed, addr);
}

/* Members that most receives leave as they are: spare objects of srx->pool have them,
 * see wf_srx_put_spare. */
static inline void wf_srx_set_constants(
	const struct wf_srx *srx, struct wf_srx_entry *entry)
{
	struct fi_peer_rx_entry *peer = &entry->peer;

	peer->desc = wf_srx_desc(srx, entry);
	peer->iov = entry->iov;
	peer->cq_data = 0;
	peer->peer_context = peer->owner_context = NULL;
	entry->parent = NULL;
}

static inline void wf_srx_set_type(struct wf_srx_entry *entry, uint64_t type)
{
	entry->peer.count = 0;
	entry->peer.flags = type | FI_RECV;
}

/* The @i-th buffer of @entry. */
static inline void wf_srx_set_buffer(
	struct wf_srx_entry *entry, size_t i, void *buf, size_t len, void *desc)
{
	entry->iov[i].iov_base = buf;
	entry->iov[i].iov_len = len;
	entry->peer.desc[i] = desc;
}

/* Make @entry a receive with @count buffers, for an operation with @flags and
 * @context. */
static inline void wf_srx_set_receive(
	struct wf_srx_entry *entry, size_t count, uint64_t flags, void *context)
{
	entry->peer.count = count;
	entry->peer.context = context;
	entry->peer.flags |= flags & (FI_COMPLETION | WF_OP_WORK | FI_PEER_TRANSFER);
}

/* Initialise @entry as an entry of @type, FI_MSG or FI_TAGGED, without buffers. The
 * caller sets context, tag, source and message size. */
static inline void wf_srx_set_entry(
	const struct wf_srx *srx, struct wf_srx_entry *entry, uint64_t type)
{
	wf_srx_set_constants(srx, entry);
	wf_srx_set_type(entry, type);
}

/* An empty entry of @type; NULL: no memory. */
static inline struct wf_srx_entry *wf_srx_new_entry(struct wf_srx *srx, uint64_t type)
{
	struct wf_srx_entry *entry = wf_pool_get(&srx->pool);

	if (wf_likely(entry != NULL))
		wf_srx_set_entry(srx, entry, type);
	return entry;
}

/* wf_srx_new_entry of a spare object of the pool; NULL: there is none. */
static inline struct wf_srx_entry *wf_srx_get_spare(struct wf_srx *srx, uint64_t type)
{
	struct wf_srx_entry *entry = wf_pool_get_spare(&srx->pool);

	if (wf_unlikely(!entry))
		return NULL;
	if (WF_POOL_CHECKED)
		wf_srx_set_constants(srx, entry);
	wf_srx_set_type(entry, type);
	return entry;
}

/* Free @entry, whose members are those of wf_srx_set_constants. */
static inline void wf_srx_put_spare(struct wf_srx *srx, struct wf_srx_entry *entry)
{
	wf_pool_put_inline(&srx->pool, entry);
}

/* Bit in peer.flags of multi-receive buffers. */
#define WF_SRX_MULTI (1ULL << 61)

static inline bool wf_srx_is_multi(const struct wf_srx_entry *entry)
{
	return entry->peer.flags & WF_SRX_MULTI;
}

/* Bit in peer.flags of the receives that are in the index of context.c. */
#define WF_SRX_INDEXED (1ULL << 62)

/* Remove @entry, which has WF_SRX_INDEXED, from the index. */
void wf_srx_index_remove(struct wf_srx *srx, struct wf_srx_entry *entry);

/* Put @entry into the posted queue of @engine. */
WF_INLINE void wf_srx_enqueue(struct wf_srx *srx, struct wf_match *engine,
	struct wf_srx_entry *entry, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	entry->peer.tag = tag;
	wf_match_post_inline(engine, &entry->match, tag, ignore, addr);
	srx->posted++;
}

/* Choose the path of posting, when srx->exact or srx->contexts is set. */
static inline void wf_srx_settle_posts(struct wf_srx *srx)
{
	srx->fast_size = srx->exact || srx->contexts ? 0 : srx->size;
}

/* Put @entry, which was posted, into the index, which there is. */
void wf_srx_index_post(struct wf_srx *srx, struct wf_srx_entry *entry);

/* wf_srx_enqueue while there may be an index, for a receive that may have
 * FI_PEER_TRANSFER: such a receive does not count against the limit. */
static inline void wf_srx_enqueue_any(struct wf_srx *srx, struct wf_match *engine,
	struct wf_srx_entry *entry, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	wf_srx_enqueue(srx, engine, entry, tag, ignore, addr);
	if (wf_unlikely(entry->peer.flags & FI_PEER_TRANSFER))
		srx->posted--;
	if (wf_unlikely(srx->contexts != NULL))
		wf_srx_index_post(srx, entry);
}

/* Is the limit of posted receives reached for @op? */
static inline bool wf_srx_is_full(const struct wf_srx *srx, const struct wf_op *op)
{
	return wf_unlikely(srx->posted >= srx->size) && !(op->flags & FI_PEER_TRANSFER);
}

/* Remove a receive without WF_SRX_INDEXED and FI_PEER_TRANSFER from the posted
 * queue. */
WF_INLINE void wf_srx_dequeue(
	struct wf_srx *srx, struct wf_match *engine, struct wf_srx_entry *entry)
{
	wf_match_unpost_inline(engine, &entry->match);
	srx->posted--;
}

/* @entry, which has WF_SRX_INDEXED or FI_PEER_TRANSFER, leaves the posted queue: remove
 * it from the index, and undo the exception from the limit. */
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

#endif
