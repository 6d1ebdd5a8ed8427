/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_DATA_PACKET_H
#define WF_RXM_DATA_PACKET_H

#include "providers/rxm/conn/conn.h"
#include "providers/rxm/data/wire.h"

/*
 * A packet that is being sent: its header, and what is needed until the provider below
 * has taken the payload. ep.lock is held.
 *
 * A provider below with FI_MR_LOCAL sends from registered memory only. Packets are then
 * copied into buffers that are allocated and registered many at a time.
 */
struct rxm_buffer {
	struct wf_list link; /* link in data.buffers while the buffer is free */
	void *desc;
	uint8_t *at; /* its RXM_HEADER + ep->buffer_size bytes */
};

struct rxm_sending {
	struct rxm_call call;      /* the caller sets call.done */
	struct rxm_buffer *buffer; /* registered buffer of the packet; NULL: none */
	void *copy; /* copy of a payload that was in too many buffers; NULL: none */
	_Alignas(8) uint8_t head[RXM_WIRE_RDV];
};

/* Send a packet: the @head_len bytes of sending->head and the payload @iov. Flags and
 * results are those of rxm_conn_send. call.done has to call rxm_sending_done. */
ssize_t rxm_sending_start(struct rxm_conn *conn, struct rxm_sending *sending,
	size_t head_len, const struct iovec *iov, size_t count, uint64_t flags);
void rxm_sending_done(struct rxm_ep *ep, struct rxm_sending *sending);

/* Get the @len bytes from byte @offset on of the @count buffers @iov, as buffers in
 * @ret, which has RXM_IOV_LIMIT members. @ret_index, if it is not NULL, has as many:
 * the index in @iov of each buffer in @ret. Returns the number of buffers. */
size_t rxm_iov_slice(const struct iovec *iov, size_t count, size_t offset, size_t len,
	struct iovec *ret, size_t *ret_index);

/* A registered buffer; rxm_sending_done frees it. NULL: no memory. */
struct rxm_buffer *rxm_buffer_get(struct rxm_ep *ep);
void rxm_buffers_free(struct rxm_ep *ep);

#endif
