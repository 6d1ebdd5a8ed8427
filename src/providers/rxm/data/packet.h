/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_PACKET_H
#define RXM_PACKET_H

#include "providers/rxm/conn/conn.h"
#include "providers/rxm/data/wire.h"

/*
 * A packet on its way below: its header, and what has to stay until the provider below
 * has taken the payload. ep.lock is held.
 *
 * A provider below with FI_MR_LOCAL sends from registered memory only. Packets are
 * copied into buffers that were registered when they were allocated then, many at a
 * time.
 */
struct rxm_buffer {
	struct wf_list link; /* in data.buffers while it is free */
	void *desc;
	uint8_t *at; /* RXM_HEADER + ep->buffer_size bytes */
};

struct rxm_sending {
	struct rxm_call call;      /* the caller sets call.done */
	struct rxm_buffer *buffer; /* NULL: none */
	void *copy;                /* of a payload in too many pieces; NULL: none */
	_Alignas(8) uint8_t head[RXM_WIRE_RDV];
};

/* Send the packet with the @head_len bytes of sending->head and the payload @iov, with
 * the flags of rxm_conn_send, whose results it has. The caller calls rxm_sending_done
 * in call.done. */
ssize_t rxm_sending_start(struct rxm_conn *conn, struct rxm_sending *sending,
	size_t head_len, const struct iovec *iov, size_t count, uint64_t flags);
void rxm_sending_done(struct rxm_ep *ep, struct rxm_sending *sending);

/* The part of @count pieces at @iov from byte @offset on, @len bytes, in @ret, which
 * has RXM_IOV_LIMIT members, and so has @ret_index (may be NULL): the piece that each
 * of them is of. Returns their number. */
size_t rxm_iov_part(const struct iovec *iov, size_t count, size_t offset, size_t len,
	struct iovec *ret, size_t *ret_index);

/* A registered buffer, given back by rxm_sending_done. NULL: no memory. */
struct rxm_buffer *rxm_buffer_get(struct rxm_ep *ep);
void rxm_buffers_free(struct rxm_ep *ep);

#endif
