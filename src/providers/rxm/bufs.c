/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "providers/rxm/below.h"
#include "providers/rxm/conn/credit.h"
#include "providers/rxm/data/hold.h"

/* Receive buffers. */

struct rxm_buf {
	struct rxm_call call; /* the receive that is posted below */
	struct rxm_bufs *bufs;
	uint8_t *data; /* bufs->buf_size bytes of bufs->area */
	bool tagged;   /* It is posted for tagged messages. */
	/* The completion of a message that waits for memory (ep->data.held_raw). */
	struct fi_cq_tagged_entry entry;
};

struct rxm_bufs {
	struct rxm_ep *ep;
	struct fid_ep *target; /* endpoint or receive context that they are posted to */
	uint8_t *area;         /* memory of all buffers */
	size_t area_size, buf_size; /* bytes of @area and of one buffer */
	/* Registration of @area; NULL: the provider below needs none. */
	struct fid_mr *mr;
	size_t count; /* number of buffers */
	struct rxm_buf buf[];
};

/* Number of buffers for tagged messages, which only old peers send. */
enum { TAGGED_COUNT = 16 };

static struct rxm_buf *buf_of(struct rxm_call *call)
{
	return wf_container_of(call, struct rxm_buf, call);
}

/* False: it cannot be posted now, and is in ep->idle. */
static bool bufs_post(struct rxm_buf *buf)
{
	struct rxm_bufs *bufs = buf->bufs;
	void *desc = bufs->mr ? fi_mr_desc(bufs->mr) : NULL;
	ssize_t ret;

	ret = buf->tagged ? fi_trecv(bufs->target, buf->data, bufs->buf_size, desc,
				    FI_ADDR_UNSPEC, 0, UINT64_MAX, &buf->call.scratch)
			  : fi_recv(bufs->target, buf->data, bufs->buf_size, desc,
				    FI_ADDR_UNSPEC, &buf->call.scratch);
	if (wf_likely(!ret))
		return true;
	wf_list_push(&bufs->ep->idle, &buf->call.link);
	if (ret != -FI_EAGAIN)
		rxm_log(FI_LOG_INFO, FI_LOG_EP_DATA,
			"a receive buffer cannot be posted: %s\n",
			fi_strerror((int)-ret));
	return false;
}

/* Post a buffer again; the peer of its connection gets a credit for it. */
static void bufs_repost(struct rxm_buf *buf)
{
	if (wf_likely(bufs_post(buf)) && buf->call.conn)
		rxm_credit_reposted(buf->call.conn);
}

void rxm_bufs_post_idle(struct rxm_ep *ep)
{
	struct wf_list idle, *link;

	wf_list_init(&idle);
	while ((link = wf_list_pop(&ep->idle)))
		wf_list_push(&idle, link);
	while ((link = wf_list_pop(&idle)))
		bufs_repost(buf_of(wf_list_entry(link, struct rxm_call, link)));
}

void rxm_bufs_post_withheld(struct rxm_conn *conn)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&conn->withheld)))
		bufs_repost(buf_of(wf_list_entry(link, struct rxm_call, link)));
}

/* The connection of a packet; in a shared context the id in the packet tells it. NULL:
 * unknown. */
static struct rxm_conn *bufs_conn_of(struct rxm_buf *buf, size_t len)
{
	enum { ID_AT = 8 };
	uint64_t id;

	if (buf->call.conn)
		return buf->call.conn;
	if (len < RXM_HEADER)
		return NULL;
	memcpy(&id, buf->data + ID_AT, sizeof(id));
	return rxm_conn_by_id(buf->bufs->ep, id);
}

static void bufs_deliver(struct rxm_buf *buf, const struct fi_cq_tagged_entry *entry)
{
	struct rxm_conn *conn;

	if (wf_unlikely(entry->flags & FI_REMOTE_WRITE)) {
		rxm_data_event(buf->bufs->ep, entry);
		return;
	}
	/* The endpoint is being closed: its receive context takes no more messages. */
	if (wf_unlikely(buf->bufs->ep->data.quiet))
		return;
	if (wf_unlikely(buf->tagged)) {
		rxm_data_received_raw(
			buf->bufs->ep, buf->call.conn, buf->data, entry->len, entry);
		if (buf->call.conn)
			wf_inbox_handled(&buf->call.conn->inbox);
		return;
	}
	conn = bufs_conn_of(buf, entry->len);
	if (wf_unlikely(!conn)) {
		FI_WARN_SPARSE(&rxm_fi, FI_LOG_EP_DATA,
			"a packet of %zu bytes is dropped: it belongs to no "
			"connection\n",
			entry->len);
		return;
	}
	rxm_data_received(conn, buf->data, entry->len);
	wf_inbox_handled(&conn->inbox);
}

/* A message without a header, of an unknown connection: wait behind others of that kind
 * for memory? */
static bool bufs_waits_raw(struct rxm_buf *buf, const struct fi_cq_tagged_entry *entry)
{
	struct rxm_ep *ep = buf->bufs->ep;

	if (wf_likely(!buf->tagged) || buf->call.conn || ep->data.quiet ||
		(wf_list_empty(&ep->data.held_raw) && !rxm_hold_raw(ep)))
		return false;
	buf->entry = *entry;
	wf_list_push(&ep->data.held_raw, &buf->call.link);
	return true;
}

void rxm_bufs_deliver_raw(struct rxm_ep *ep)
{
	struct wf_list *link;

	while (!wf_list_empty(&ep->data.held_raw) && !rxm_hold_raw(ep)) {
		struct rxm_buf *buf;

		link = wf_list_pop(&ep->data.held_raw);
		buf = buf_of(wf_list_entry(link, struct rxm_call, link));
		bufs_deliver(buf, &buf->entry);
		bufs_repost(buf);
	}
}

/* The connection is held: a buffer is not posted again, unless it brought a packet that
 * was handled nevertheless. */
static bool bufs_is_withheld(const struct rxm_conn *conn, size_t held_bytes)
{
	return wf_unlikely(rxm_conn_is_held(conn)) &&
	       conn->data.held_bytes != held_bytes;
}

static void bufs_received(
	struct rxm_call *call, int err, const struct fi_cq_tagged_entry *entry)
{
	struct rxm_buf *buf = buf_of(call);
	struct rxm_conn *conn = call->conn;
	size_t held_bytes = conn ? conn->data.held_bytes : 0;

	if (wf_likely(!err) && bufs_waits_raw(buf, entry))
		return;
	if (wf_likely(!err))
		bufs_deliver(buf, entry);
	else if (err != FI_ETRUNC)
		return; /* the connection or the receive context is closed */
	else if (conn)
		rxm_conn_fail(conn, FI_EPROTO);
	if (conn && conn->state == RXM_CONN_DOWN)
		return;
	if (conn && bufs_is_withheld(conn, held_bytes)) {
		wf_list_push(&conn->withheld, &buf->call.link);
		return;
	}
	bufs_repost(buf);
}

static int bufs_make_area(struct rxm_bufs *bufs)
{
	struct iovec iov;
	void *area;

	bufs->area_size = bufs->count * bufs->buf_size;
	/* Pages of buffers that are never used are not populated. */
	area = mmap(NULL, bufs->area_size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return -FI_ENOMEM;
	bufs->area = area;
	if (!bufs->ep->domain->local_mr)
		return 0;
	iov = (struct iovec){ area, bufs->area_size };
	return rxm_domain_expose(bufs->ep->domain, &iov, FI_RECV, &bufs->mr);
}

int rxm_bufs_new(struct rxm_ep *ep, struct rxm_conn *conn, struct fid_ep *target,
	size_t count, struct rxm_bufs **ret_bufs)
{
	size_t all = count + (ep->domain->tagged ? TAGGED_COUNT : 0);
	struct rxm_bufs *bufs = calloc(1, sizeof(*bufs) + all * sizeof(bufs->buf[0]));
	int ret;

	if (!bufs)
		return -FI_ENOMEM;
	bufs->ep = ep;
	bufs->target = target;
	bufs->count = all;
	bufs->buf_size = RXM_HEADER + ep->buffer_size;
	ret = bufs_make_area(bufs);
	if (ret) {
		rxm_bufs_free(bufs);
		return ret;
	}
	for (size_t i = 0; i < all; i++) {
		bufs->buf[i].call.done = bufs_received;
		bufs->buf[i].call.conn = conn;
		wf_list_init(&bufs->buf[i].call.link);
		bufs->buf[i].bufs = bufs;
		bufs->buf[i].data = bufs->area + i * bufs->buf_size;
		bufs->buf[i].tagged = i >= count;
		/* The credits of a new connection are for all of them. */
		if (!bufs_post(&bufs->buf[i]) && conn)
			conn->reposted--;
	}
	*ret_bufs = bufs;
	return 0;
}

void rxm_bufs_free(struct rxm_bufs *bufs)
{
	if (!bufs)
		return;
	for (size_t i = 0; i < bufs->count; i++)
		if (bufs->buf[i].bufs)
			wf_list_remove(&bufs->buf[i].call.link);
	if (bufs->mr)
		(void)fi_close(&bufs->mr->fid);
	if (bufs->area)
		(void)munmap(bufs->area, bufs->area_size);
	free(bufs);
}
