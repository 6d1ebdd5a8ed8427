/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_SRX_INTERNAL_H
#define WF_OBJECTS_SRX_INTERNAL_H

#include <rdma/providers/fi_log.h>

#include "objects/srx/entry.h"

/* Declarations that only the files of the receive context share. The caller of each
 * function holds the context's lock, unless the function says otherwise. */

#define wf_srx_log(srx, level, ...)                                                    \
	FI_LOG((srx)->prov, level, FI_LOG_EP_DATA, __VA_ARGS__)

/* @msg: handle of the message in the matching engine. */
static inline struct wf_srx_message *wf_srx_message_at(
	const struct wf_srx *srx, uint32_t msg)
{
	return wf_pool_at(&srx->messages.handles, msg);
}

/* The oldest posted receive of @type, FI_MSG or FI_TAGGED, with @context, or NULL. */
struct wf_srx_entry *wf_srx_find_posted(
	struct wf_srx *srx, uint64_t type, const void *context);
/* Free the index of posted receives. */
void wf_srx_contexts_done(struct wf_srx *srx);

/* The endpoint that reports results: that of @fid if it is not drained (NULL: no
 * preference), else the one bound first. NULL: no endpoint uses the context any
 * more. */
struct wf_srx_sink *wf_srx_reporter(struct wf_srx *srx, struct fid_peer_srx *fid);

/* Write the error entry of a posted receive or multi-receive buffer that ends with @err
 * (positive) and without a message. @flags are added to those of the entry. */
void wf_srx_report_failed(
	struct wf_srx *srx, const struct wf_srx_entry *entry, uint64_t flags, int err);

/* take.c: the handle that message @msg came through. */
struct fid_peer_srx *wf_srx_fid_of(const struct wf_srx *srx, uint32_t msg);

/* The entry of @msg if a peer provider keeps a pointer to it, else NULL. */
struct fi_peer_rx_entry *wf_srx_kept(const struct wf_srx *srx, uint32_t msg);

/* The public entry of @msg, as a copy: valid until the lock is released, in no
 * queue. */
struct fi_peer_rx_entry wf_srx_view(
	const struct wf_srx *srx, uint32_t msg, uint64_t type);

/* fi_ops_srx_owner.queue_msg and .queue_tag. */
int wf_srx_own_keep(struct fi_peer_rx_entry *peer);

/* Take @msg out of the unexpected queue. Returns the entry that describes it: @blank,
 * which may have buffers, or, if a peer provider keeps a pointer to the message's
 * entry, that entry with the buffers of @blank, which is freed. NULL: the message has
 * no entry, and @blank is NULL. */
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
