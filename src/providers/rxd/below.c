/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/below.h"

#include <stdlib.h>

#include "objects/lower/call.h"
#include "objects/lower/info.h"
#include "sys/compiler.h"
#include "sys/iov.h"

enum {
	/* Limit of packets that are being sent and have a buffer. */
	SENDING_MAX = 256,
	ENTRIES = 32, /* limit of completions that one read of the queue gets */
	/* Multi-receive buffers, each with space for several trains of packets:
	 * together they are smaller than a core's cache. */
	SLICED_COUNT = 2,
	SLICED_BYTES = 256 << 10,
	SLICED_ENTRIES = 1024, /* limit of completions that wait in the queue */
	SLICE_MAX = 1 << 16,
};

/* The info that the endpoint below is opened with. */
static struct fi_info *below_info(const struct rxd_ep *ep)
{
	const struct fi_info *above = ep->ep.info;
	struct fi_info *info = fi_dupinfo(ep->domain->below.info);

	if (!info)
		return NULL;
	if (above->src_addr && !wf_lower_info_set_source(info, above->src_addr,
				       above->src_addrlen, above->addr_format)) {
		fi_freeinfo(info);
		return NULL;
	}
	info->caps &= FI_MSG | FI_SEND | FI_RECV | FI_MULTI_RECV | FI_SOURCE |
		      FI_LOCAL_COMM | FI_REMOTE_COMM;
	info->tx_attr->caps = info->rx_attr->caps = 0;
	info->tx_attr->op_flags = info->rx_attr->op_flags = 0;
	info->tx_attr->tclass = above->tx_attr->tclass;
	return info;
}

/* Have the provider below tell the sources of packets, in the best way that it has. */
static enum rxd_sources below_ask_sources(struct rxd_ep *ep, bool has_index)
{
	struct wf_ep *builtin = ep->below.builtin;

	if (!ep->sliced || !builtin->xfer->tell_sources)
		return has_index ? RXD_SOURCES_INDEX : RXD_SOURCES_NONE;
	builtin->xfer->tell_sources(builtin);
	return RXD_SOURCES_ADDR;
}

int rxd_below_open(struct rxd_ep *ep, void *context)
{
	struct fi_info *info = below_info(ep);
	bool sliced = info && info->caps & FI_MULTI_RECV && ep->domain->slices;
	bool has_index = info && info->caps & FI_SOURCE;
	int ret;

	wf_list_init(&ep->free_bufs);
	if (!info)
		return -FI_ENOMEM;
	ret = wf_lower_ep_open(&ep->below, &ep->domain->below, info, context);
	ep->sliced = !ret && sliced && ep->below.builtin;
	if (!ret)
		ep->sources = below_ask_sources(ep, has_index);
	ep->buf_size = ep->sliced ? (size_t)SLICED_BYTES
				  : ep->domain->prefix + ep->domain->max_packet;
	return ret;
}

static void below_free_bufs(struct rxd_ep *ep)
{
	struct rxd_buf *buf = ep->bufs, *next;

	for (; buf; buf = next) {
		next = buf->next;
		wf_lower_close(&ep->domain->below, buf->mr ? &buf->mr->fid : NULL);
		free(buf);
	}
	ep->bufs = NULL;
}

void rxd_below_close(struct rxd_ep *ep)
{
	const struct wf_lower_domain *domain = &ep->domain->below;

	wf_lower_ep_close(&ep->below);
	wf_lower_cq_close(&ep->cq, domain);
	wf_lower_close(domain, ep->av ? &ep->av->fid : NULL);
	below_free_bufs(ep);
	ep->av = NULL;
}

static struct rxd_buf *below_new_buf(struct rxd_ep *ep)
{
	struct rxd_buf *buf = calloc(1, sizeof(*buf) + ep->buf_size);

	if (!buf)
		return NULL;
	buf->mr = NULL;
	if (ep->domain->local_mr &&
		wf_lower_result(&ep->domain->below, FI_LOG_MR, "fi_mr_reg",
			fi_mr_reg(ep->domain->below.domain, buf->data, ep->buf_size,
				FI_SEND | FI_RECV, 0, 0, 0, &buf->mr, NULL))) {
		free(buf);
		return NULL;
	}
	buf->next = ep->bufs;
	ep->bufs = buf;
	return buf;
}

static struct rxd_buf *below_get_buf(struct rxd_ep *ep)
{
	struct wf_list *link = wf_list_pop(&ep->free_bufs);
	struct rxd_buf *buf;

	buf = wf_likely(link != NULL) ? wf_list_entry(link, struct rxd_buf, link)
				      : below_new_buf(ep);
	return buf;
}

/* The buffer that was used last is used first, because it is in the cache. */
static void below_put_buf(struct rxd_ep *ep, struct rxd_buf *buf)
{
	buf->state = RXD_BUF_IDLE;
	wf_list_insert_after(&ep->free_bufs, &buf->link);
}

void rxd_below_put(struct rxd_ep *ep, const struct rxd_packet *packet)
{
	if (packet->last)
		below_put_buf(ep, packet->buf);
}

static void *below_desc_of(const struct rxd_buf *buf)
{
	return buf->mr ? fi_mr_desc(buf->mr) : NULL;
}

static uint32_t below_post_max(const struct rxd_ep *ep)
{
	return ep->sliced ? SLICED_COUNT : (uint32_t)ep->domain->rx_buffers;
}

static ssize_t below_post(struct rxd_ep *ep, struct rxd_buf *buf)
{
	void *desc = below_desc_of(buf);
	const struct iovec iov = { buf->data, ep->buf_size };
	const struct fi_msg msg = { .msg_iov = &iov,
		.desc = &desc,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = buf };

	return fi_recvmsg(ep->below.fid, &msg, ep->sliced ? FI_MULTI_RECV : 0);
}

/* Post buffers until there are as many receives as there should be. */
static void below_refill(struct rxd_ep *ep)
{
	while (ep->posted < below_post_max(ep)) {
		struct rxd_buf *buf = below_get_buf(ep);

		if (!buf)
			return;
		buf->state = RXD_BUF_POSTED;
		if (below_post(ep, buf)) {
			below_put_buf(ep, buf);
			return;
		}
		ep->posted++;
	}
}

static int below_open_av(struct rxd_ep *ep)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .count = 1 };

	if (ep->av)
		return 0;
	return wf_lower_result(&ep->domain->below, FI_LOG_AV, "fi_av_open",
		fi_av_open(ep->domain->below.domain, &attr, &ep->av, NULL));
}

static int below_open_cq(struct rxd_ep *ep, bool sleeps)
{
	const struct fi_info *info = ep->domain->below.info;
	const struct fi_cq_attr attr = {
		.format = FI_CQ_FORMAT_DATA,
		.size = (ep->sliced ? (size_t)SLICED_ENTRIES : ep->domain->rx_buffers) +
			WF_MIN(info->tx_attr->size, (size_t)SENDING_MAX),
		.wait_obj = sleeps ? FI_WAIT_FD : FI_WAIT_NONE,
	};

	return wf_lower_cq_open(&ep->cq, &ep->domain->below, &attr);
}

/* A buffer is released when the longest train does not fit into it any more. */
static int below_set_slices(struct rxd_ep *ep)
{
	size_t min = SLICE_MAX + WF_SOURCE_SPACE;

	if (!ep->sliced)
		return 0;
	return wf_lower_result(&ep->domain->below, FI_LOG_EP_CTRL, "fi_setopt",
		fi_setopt(&ep->below.fid->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
			&min, sizeof(min)));
}

int rxd_below_enable(struct rxd_ep *ep, bool sleeps)
{
	int ret = below_open_av(ep);

	if (!ret)
		ret = below_open_cq(ep, sleeps);
	if (!ret)
		ret = wf_lower_ep_bind(&ep->below, &ep->av->fid, 0);
	if (!ret)
		ret = wf_lower_ep_bind(&ep->below, &ep->cq.fid->fid, FI_RECV);
	if (!ret)
		ret = wf_lower_ep_bind(&ep->below, &ep->cq.fid->fid,
			FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
	if (!ret)
		ret = below_set_slices(ep);
	if (!ret)
		ret = wf_lower_ep_enable(&ep->below);
	if (ret)
		return ret;
	below_refill(ep);
	return ep->posted ? 0 : -FI_ENOMEM;
}

int rxd_below_insert(struct rxd_ep *ep, const void *name, fi_addr_t *ret_addr)
{
	int ret = fi_av_insert(ep->av, name, 1, ret_addr, 0, NULL);

	if (ret == 1)
		return 0;
	return ret < 0 ? ret : -FI_EADDRNOTAVAIL;
}

void rxd_below_remove(struct rxd_ep *ep, fi_addr_t addr)
{
	(void)wf_lower_result(&ep->domain->below, FI_LOG_AV, "fi_av_remove",
		fi_av_remove(ep->av, &addr, 1, 0));
}

/* Handle the completion of a packet that was received from @source into @buf. */
static bool below_take_received(struct rxd_ep *ep, const struct fi_cq_data_entry *entry,
	struct rxd_buf *buf, fi_addr_t source, struct rxd_packet *ret)
{
	const uint8_t *data = ep->sliced ? entry->buf : buf->data;
	size_t prefix = ep->domain->prefix;
	bool last = !ep->sliced || entry->flags & FI_MULTI_RECV;

	if (last)
		ep->posted--;
	/* A completion of a multi-receive buffer without FI_RECV only releases it. A
	 * length beyond the buffer is that of a datagram that was cut. */
	if (wf_unlikely(entry->len < prefix || entry->len > ep->buf_size ||
			(ep->sliced && !(entry->flags & FI_RECV)))) {
		if (last)
			below_put_buf(ep, buf);
		return false;
	}
	*ret = (struct rxd_packet){ .buf = buf,
		.data = data + prefix,
		.len = entry->len - prefix,
		.last = last,
		.index = source };
	if (wf_likely(ep->sources == RXD_SOURCES_ADDR))
		ret->addr = (const void *)(uintptr_t)entry->data;
	return true;
}

/* Handle a completion; true: *@ret is a packet that was received. A provider of another
 * library may complete sends that asked for no completion, without a context. */
static bool below_take(struct rxd_ep *ep, const struct fi_cq_data_entry *entry,
	fi_addr_t source, struct rxd_packet *ret)
{
	struct rxd_buf *buf = entry->op_context;

	if (wf_likely(buf && buf->state == RXD_BUF_POSTED))
		return below_take_received(ep, entry, buf, source, ret);
	if (buf && buf->state == RXD_BUF_SENDING) {
		ep->sending--;
		below_put_buf(ep, buf);
	}
	return false;
}

/* Handle an error of the queue: a datagram that does not fit into a buffer, or one that
 * could not be sent. Both are lost. */
static void below_drop_failed(struct rxd_ep *ep)
{
	struct fi_cq_err_entry entry = { .op_context = NULL };
	struct rxd_buf *buf;

	if (fi_cq_readerr(ep->cq.fid, &entry, 0) != 1 || !entry.op_context)
		return;
	buf = entry.op_context;
	if (buf->state == RXD_BUF_SENDING)
		ep->sending--;
	else if (buf->state != RXD_BUF_POSTED || ep->sliced)
		return; /* another completion releases a multi-receive buffer */
	else
		ep->posted--;
	below_put_buf(ep, buf);
}

/* Read the queue, with the sources of packets if the provider below tells them so. */
static ssize_t below_read_queue(struct rxd_ep *ep, struct fi_cq_data_entry *entries,
	fi_addr_t *sources, size_t max)
{
	ssize_t n;

	if (wf_likely(ep->sources != RXD_SOURCES_INDEX))
		return fi_cq_read(ep->cq.fid, entries, max);
	n = fi_cq_readfrom(ep->cq.fid, entries, max, sources);
	if (n == -FI_ENOSYS)
		ep->sources = RXD_SOURCES_NONE;
	return n;
}

size_t rxd_below_receive(struct rxd_ep *ep, struct rxd_packet *packets, size_t max)
{
	struct fi_cq_data_entry entries[ENTRIES];
	fi_addr_t sources[ENTRIES];
	size_t count = 0;
	ssize_t n;

	if (wf_unlikely(ep->posted < below_post_max(ep)))
		below_refill(ep);
	n = below_read_queue(ep, entries, sources, WF_MIN(max, (size_t)ENTRIES));
	if (wf_unlikely(n == -FI_EAVAIL))
		below_drop_failed(ep);
	for (ssize_t i = 0; i < n; i++)
		count += below_take(ep, &entries[i],
			ep->sources == RXD_SOURCES_INDEX ? sources[i]
							 : FI_ADDR_NOTAVAIL,
			&packets[count]);
	return count;
}

static void *below_same_desc(const struct wf_lower_descs *descs, void *desc)
{
	(void)descs;
	return desc;
}

/* Send a copy of the packet, from memory that the provider below may use until the send
 * completes. */
static ssize_t below_send_copy(struct rxd_ep *ep, fi_addr_t to, const struct iovec *iov,
	size_t count, size_t len)
{
	static const struct wf_lower_descs descs = { below_same_desc };
	size_t prefix = ep->domain->prefix;
	struct rxd_buf *buf;
	struct iovec piece;
	struct wf_op op;
	ssize_t ret;
	void *desc;

	if (ep->sending >= SENDING_MAX)
		return -FI_EAGAIN;
	buf = below_get_buf(ep);
	if (!buf)
		return -FI_EAGAIN;
	desc = below_desc_of(buf);
	piece = (struct iovec){ buf->data, prefix + len };
	(void)wf_iov_gather(buf->data + prefix, iov, count);
	op = (struct wf_op){ .kind = WF_OP_SEND,
		.flags = FI_COMPLETION,
		.iov = &piece,
		.desc = &desc,
		.iov_count = 1,
		.len = prefix + len,
		.context = buf };
	buf->state = RXD_BUF_SENDING;
	ret = wf_lower_call(ep->below.fid, &op, to, &descs);
	if (ret) {
		below_put_buf(ep, buf);
		return ret;
	}
	ep->sending++;
	return (ssize_t)len;
}

/* Inject the packet as one buffer. */
static ssize_t below_inject_one(struct rxd_ep *ep, fi_addr_t to,
	const struct iovec *iov, size_t count, size_t len)
{
	struct rxd_buf *buf;
	ssize_t ret;

	if (count == 1) {
		ret = fi_inject(ep->below.fid, iov->iov_base, len, to);
		return ret ? ret : (ssize_t)len;
	}
	buf = below_get_buf(ep);
	if (!buf)
		return -FI_EAGAIN;
	(void)wf_iov_gather(buf->data, iov, count);
	ret = fi_inject(ep->below.fid, buf->data, len, to);
	below_put_buf(ep, buf);
	return ret ? ret : (ssize_t)len;
}

ssize_t rxd_below_send(struct rxd_ep *ep, fi_addr_t to, const struct iovec *iov,
	size_t count, size_t len)
{
	struct wf_op op = { .kind = WF_OP_SEND,
		.flags = FI_INJECT,
		.iov = iov,
		.iov_count = count,
		.len = len };
	ssize_t ret;

	if (wf_unlikely(!ep->domain->gathers))
		return below_send_copy(ep, to, iov, count, len);
	/* With its headers a packet may have more buffers than an endpoint below takes;
	 * a provider of this library takes any number from a provider above. Only
	 * fi_inject is sure to have no completion elsewhere. */
	if (wf_unlikely(!ep->below.builtin))
		return below_inject_one(ep, to, iov, count, len);
	ret = wf_lower_start(&ep->below, &op, to);
	return wf_likely(!ret) ? (ssize_t)len : ret;
}

size_t rxd_below_send_many(struct rxd_ep *ep, fi_addr_t to,
	const struct wf_datagram *packets, size_t count)
{
	size_t n = 0;

	if (count > 1 && ep->domain->gathers && wf_lower_sends_many(&ep->below))
		return wf_lower_send_many(&ep->below, to, packets, count);
	while (n < count && rxd_below_send(ep, to, packets[n].iov, packets[n].iov_count,
				    packets[n].len) != -FI_EAGAIN)
		n++;
	return n;
}
