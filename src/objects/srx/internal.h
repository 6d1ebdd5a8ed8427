/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_SRX_INTERNAL_H
#define WF_OBJECTS_SRX_INTERNAL_H

#include <rdma/providers/fi_log.h>

#include "match/posted.h"
#include "objects/srx/srx.h"

/* What the files of the receive context share. The context's lock is held in all. */

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

/* @msg: its name in either engine. */
static inline struct wf_srx_message *wf_srx_message_at(
	const struct wf_srx *srx, uint32_t msg)
{
	return wf_pool_at(&srx->messages.handles, msg);
}

static inline struct wf_srx_port *wf_srx_port_of(struct fid_peer_srx *fid)
{
	return wf_container_of(fid, struct wf_srx_port, fid);
}

/* Which of the two engines: entries and operations of FI_TAGGED, or those of FI_MSG. */
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

/* What a receive from @addr is filed under. */
static inline uint64_t wf_srx_key(const struct wf_srx *srx, bool tagged, fi_addr_t addr)
{
	bool directed = tagged ? srx->tag_directed : srx->msg_directed;

	return addr == FI_ADDR_UNSPEC || !directed ? WF_MATCH_ANY
						   : addr & srx->addr_mask;
}

/* Make @entry one without buffers; @type is FI_MSG or FI_TAGGED. Its context, tag,
 * source and message size are set with what it is for. */
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
	/* Last, so that the compiler merges them with wf_srx_set_receive. */
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

/* @entry has @count buffers of an operation with these @flags and @context. */
static inline void wf_srx_set_receive(
	struct wf_srx_entry *entry, size_t count, uint64_t flags, void *context)
{
	entry->peer.count = count;
	entry->peer.context = context;
	entry->peer.flags |= flags & (FI_COMPLETION | WF_OP_WORK | FI_PEER_TRANSFER);
}

/* NULL: no memory. */
static inline struct wf_srx_entry *wf_srx_new_entry(struct wf_srx *srx, uint64_t type)
{
	struct wf_srx_entry *entry = wf_pool_get(&srx->pool);

	if (wf_likely(entry != NULL))
		wf_srx_set_type(srx, entry, type);
	return entry;
}

/* context.c: posted receives by their context. Set in peer.flags of those that are in
 * that index; it is built when one is cancelled, so that posting costs nothing. */
#define WF_SRX_FILED (1ULL << 62)

/* The oldest posted receive of @type, FI_MSG or FI_TAGGED, with @context, or NULL. */
struct wf_srx_entry *wf_srx_find_posted(
	struct wf_srx *srx, uint64_t type, const void *context);
/* @entry, with WF_SRX_FILED, leaves the queue. */
void wf_srx_unfile(struct wf_srx *srx, struct wf_srx_entry *entry);
void wf_srx_contexts_done(struct wf_srx *srx);

/* A receive joins the queue of those that wait. */
WF_INLINE void wf_srx_enqueue(struct wf_srx *srx, struct wf_match *engine,
	struct wf_srx_entry *entry, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	entry->peer.tag = tag;
	wf_match_post_inline(engine, &entry->match, tag, ignore, addr);
	srx->posted++;
}

/* A posted receive without WF_SRX_FILED leaves the queue. */
WF_INLINE void wf_srx_dequeue(
	struct wf_srx *srx, struct wf_match *engine, struct wf_srx_entry *entry)
{
	wf_match_unpost_inline(engine, &entry->match);
	srx->posted--;
}

/* Any posted receive leaves the queue. */
static inline void wf_srx_unpost(struct wf_srx *srx, struct wf_srx_entry *entry)
{
	if (wf_unlikely(entry->peer.flags & WF_SRX_FILED))
		wf_srx_unfile(srx, entry);
	wf_srx_dequeue(srx, wf_srx_engine(srx, entry->peer.flags), entry);
}

/* Where results go that concern no endpoint, or @fid's if that is in use still: NULL
 * when nobody is left to be told. */
struct wf_srx_sink *wf_srx_reporter(struct wf_srx *srx, struct fid_peer_srx *fid);

/* A receive that was posted ends with @err (positive), no message having come. */
void wf_srx_report_failed(
	struct wf_srx *srx, const struct wf_srx_entry *entry, uint64_t flags, int err);

/* message.c: whom it came through. */
struct fid_peer_srx *wf_srx_fid_of(const struct wf_srx *srx, uint32_t msg);

/* Its entry, if that was kept, or NULL. */
struct fi_peer_rx_entry *wf_srx_kept(const struct wf_srx *srx, uint32_t msg);

/* @msg as others see it. Only for the moment; it is in no queue. */
struct fi_peer_rx_entry wf_srx_view(
	const struct wf_srx *srx, uint32_t msg, uint64_t type);

/* The public queue_msg and queue_tag. */
int wf_srx_own_keep(struct fi_peer_rx_entry *peer);

/* Take @msg out of its queue. Its entry is @blank, which may have buffers, or the one
 * that was kept, which gets them; @blank is gone then. */
struct wf_srx_entry *wf_srx_take(struct wf_srx *srx, struct wf_match *engine,
	uint32_t msg, struct wf_srx_entry *blank);

/* The source of a message, as far as our AVs can have it: an index. */
static inline uint64_t wf_srx_known(fi_addr_t addr)
{
	return wf_match_addr_fits(addr) ? addr : WF_MATCH_ANY;
}

/* @entry, out of its queue, got buffers: the peer's turn. */
void wf_srx_start_entry(struct wf_srx *srx, struct wf_srx_entry *entry);
void wf_srx_discard_entry(struct wf_srx_entry *entry);

/* source.c: takes the lock itself, being called from fi_av_insert. */
void wf_srx_own_foreach_unspec(
	struct fid_peer_srx *fid, fi_addr_t (*get_addr)(struct fi_peer_rx_entry *));

/* claim.c: messages that are reserved, by the context that they were reserved with. */
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

/* post.c: the buffers of @op become @entry's, or those of @from. */
void wf_srx_set_buffers(
	const struct wf_srx *srx, struct wf_srx_entry *entry, const struct wf_op *op);
void wf_srx_move_buffers(const struct wf_srx *srx, struct wf_srx_entry *entry,
	const struct wf_srx_entry *from);
uint64_t wf_srx_source(const struct wf_srx *srx, const struct wf_op *op);

/* multi.c */
ssize_t wf_srx_multi_post(struct wf_srx *srx, const struct wf_op *op);

/* Give @entry the next @size bytes of @buffer. False: it is retired instead, because
 * they do not fit behind what is there already. @entry is untouched then. */
bool wf_srx_multi_take(struct wf_srx *srx, struct wf_srx_entry *buffer,
	struct wf_srx_entry *entry, size_t size);

/* @buffer takes no more messages; it ends with the last one that is in it. */
void wf_srx_multi_retire(struct wf_srx *srx, struct wf_srx_entry *buffer);

/* The message in @slice is done with. */
void wf_srx_multi_put(struct wf_srx *srx, struct wf_srx_entry *slice);

/* peek.c: an operation with FI_PEEK, FI_CLAIM or FI_DISCARD. */
ssize_t wf_srx_peek(struct wf_srx *srx, const struct wf_op *op);

#endif
