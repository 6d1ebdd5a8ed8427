/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/data/packet.h"

#include <rdma/fi_domain.h>
#include <stdlib.h>

#include "providers/rxm/param.h"
#include "sys/iov.h"

enum { SLAB_BUFFERS = 32 };

/* A block of buffers that are registered together. */
struct slab {
	struct wf_list link; /* link in data.slabs */
	struct fid_mr *mr;
	uint8_t *memory;
	struct rxm_buffer buffers[SLAB_BUFFERS];
};

static bool packet_slab_register(struct rxm_ep *ep, struct slab *slab, size_t size)
{
	struct iovec iov = { NULL, size * SLAB_BUFFERS };

	iov.iov_base = slab->memory = malloc(iov.iov_len);
	if (!slab->memory)
		return false;
	if (!rxm_domain_expose(ep->domain, &iov, FI_SEND | FI_WRITE, &slab->mr))
		return true;
	free(slab->memory);
	return false;
}

static bool packet_slab_new(struct rxm_ep *ep)
{
	size_t size = RXM_HEADER + ep->buffer_size;
	struct slab *slab = malloc(sizeof(*slab));

	if (!slab || !packet_slab_register(ep, slab, size)) {
		free(slab);
		return false;
	}
	for (size_t i = 0; i < SLAB_BUFFERS; i++) {
		slab->buffers[i].at = slab->memory + i * size;
		slab->buffers[i].desc = fi_mr_desc(slab->mr);
		wf_list_push(&ep->data.buffers, &slab->buffers[i].link);
	}
	wf_list_push(&ep->data.slabs, &slab->link);
	return true;
}

void rxm_buffers_free(struct rxm_ep *ep)
{
	wf_list_foreach_safe(link, &ep->data.slabs)
	{
		struct slab *slab = wf_list_entry(link, struct slab, link);

		(void)fi_close(&slab->mr->fid);
		free(slab->memory);
		free(slab);
	}
	wf_list_init(&ep->data.slabs);
	wf_list_init(&ep->data.buffers);
}

struct rxm_buffer *rxm_buffer_get(struct rxm_ep *ep)
{
	if (wf_list_empty(&ep->data.buffers) && !packet_slab_new(ep))
		return NULL;
	return wf_list_entry(wf_list_pop(&ep->data.buffers), struct rxm_buffer, link);
}

size_t rxm_iov_slice(const struct iovec *iov, size_t count, size_t offset, size_t len,
	struct iovec *ret, size_t *ret_index)
{
	size_t i = 0, slices = 0;

	while (i < count && offset >= iov[i].iov_len)
		offset -= iov[i++].iov_len;
	for (; i < count && len; i++, offset = 0) {
		size_t step = WF_MIN(iov[i].iov_len - offset, len);

		if (!step)
			continue;
		if (ret_index)
			ret_index[slices] = i;
		ret[slices++] =
			(struct iovec){ (uint8_t *)iov[i].iov_base + offset, step };
		len -= step;
	}
	return slices;
}

/* Send the packet from a registered buffer, to which it is copied. */
static ssize_t packet_send_copied(struct rxm_conn *conn, struct rxm_sending *sending,
	size_t head_len, const struct iovec *iov, size_t count, uint64_t flags)
{
	struct rxm_buffer *buffer = rxm_buffer_get(conn->ep);
	struct iovec packet;

	if (!buffer)
		return -FI_ENOMEM;
	sending->buffer = buffer;
	memcpy(buffer->at, sending->head, head_len);
	packet.iov_base = buffer->at;
	packet.iov_len = head_len + wf_iov_gather(buffer->at + head_len, iov, count);
	return rxm_conn_send(conn, &packet, &buffer->desc, 1, flags, &sending->call);
}

/* Copy the packet of @count buffers into one, because the provider below takes no
 * more. */
static bool rxm_packet_join(
	struct rxm_sending *sending, struct iovec *packet, size_t count)
{
	sending->copy = malloc(wf_iov_len(packet, count));
	if (!sending->copy)
		return false;
	packet->iov_len = wf_iov_gather(sending->copy, packet, count);
	packet->iov_base = sending->copy;
	return true;
}

ssize_t rxm_sending_start(struct rxm_conn *conn, struct rxm_sending *sending,
	size_t head_len, const struct iovec *iov, size_t count, uint64_t flags)
{
	struct iovec packet[1 + RXM_IOV_LIMIT] = { { sending->head, head_len } };
	ssize_t ret;

	sending->buffer = NULL;
	sending->copy = NULL;
	if (conn->ep->domain->local_mr) {
		ret = packet_send_copied(conn, sending, head_len, iov, count, flags);
	} else {
		for (size_t i = 0; i < count; i++)
			packet[1 + i] = iov[i];
		if (wf_unlikely(1 + count > conn->ep->data.iov_limit ||
				(count && !rxm_params.direct_send))) {
			if (!rxm_packet_join(sending, packet, 1 + count))
				return -FI_ENOMEM;
			count = 0;
		}
		ret = rxm_conn_send(
			conn, packet, NULL, 1 + count, flags, &sending->call);
	}
	if (wf_unlikely(ret))
		rxm_sending_done(conn->ep, sending);
	return ret;
}

void rxm_sending_done(struct rxm_ep *ep, struct rxm_sending *sending)
{
	if (wf_unlikely(sending->buffer != NULL))
		wf_list_insert_after(&ep->data.buffers, &sending->buffer->link);
	free(sending->copy);
	sending->buffer = NULL;
	sending->copy = NULL;
}
