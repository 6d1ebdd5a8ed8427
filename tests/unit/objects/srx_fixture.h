/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_OBJECTS_SRX_FIXTURE_H
#define TESTS_UNIT_OBJECTS_SRX_FIXTURE_H

/*
 * Endpoints of a transport that receives for a receive context, and whose messages come
 * from the test. It keeps unexpected messages in memory.
 */

#include "domain_fixture.h"

#include <arpa/inet.h>

#include "objects/open/open.h"
#include "objects/endpoint/endpoint.h"
#include "objects/endpoint/scalable/srx_ctx.h"

enum { FK_ROOM = 64 };

struct fk {
	struct wf_ep ep;
	unsigned int discards, arrivals, tries;
	enum { FK_IN_TURN, FK_FAST, FK_LONG } path; /* path of arriving messages */
	unsigned int delivered; /* number of messages through the fast path */
	int start_result, enable_result;
	bool save;         /* All unexpected messages are saved. */
	bool hold;         /* Matched messages are not completed before fk_finish. */
	bool sends;        /* A send completes at once, with locks held. */
	int send_error;    /* or fails with this error */
	int start_refused; /* A send is refused with this code; 0: it is not. */
	struct fi_peer_rx_entry *held[FK_ROOM];
	size_t held_count;
};

/* A message. While it is unexpected it is in the memory of the saved message, or
 * allocated and in entry->peer_context, plus one as a mark. */
struct fk_msg {
	struct wf_srx_origin origin;
	struct fk *to;
	fi_addr_t from;
	bool unknown; /* The transport learns from later. */
	size_t len;
	unsigned char data[FK_ROOM];
};

static atomic_uint fk_destroyed, fk_discarded;
static atomic_bool fk_learnt; /* Unknown sources are known now. */
/* The address of a removed peer. */
static _Atomic fi_addr_t fk_removed = FI_ADDR_NOTAVAIL;

/* Start receiving a message that has buffers, as a transport does. */
static void fk_receive(
	struct fk *fk, struct fi_peer_rx_entry *entry, const struct fk_msg *msg)
{
	size_t done = 0;

	for (size_t i = 0; i < entry->count && done < msg->len; i++) {
		size_t n = WF_MIN(entry->iov[i].iov_len, msg->len - done);

		memcpy(entry->iov[i].iov_base, msg->data + done, n);
		done += n;
	}
	if (done < msg->len)
		wf_srx_fail(&fk->ep, entry, 0, done, msg->len - done, entry->cq_data,
			msg->from, FI_ETRUNC);
	else if (fk->hold)
		fk->held[fk->held_count++] = entry;
	else
		wf_srx_done(&fk->ep, entry, 0, done, entry->cq_data, msg->from);
}

/* Complete the message with index @i of those that were held. */
static inline void fk_finish(struct fk *fk, size_t i)
{
	struct fi_peer_rx_entry *entry = fk->held[i];

	wf_ep_srx_lock(&fk->ep);
	wf_srx_done(&fk->ep, entry, 0, entry->msg_size, 0, 0);
	wf_ep_srx_unlock(&fk->ep);
	fk->held[i] = NULL;
}

static bool fk_is_stowed(const struct fi_peer_rx_entry *entry)
{
	return !((uintptr_t)entry->peer_context & 1);
}

static struct fk_msg *fk_msg_of(const struct fi_peer_rx_entry *entry)
{
	void *room;

	if (!fk_is_stowed(entry))
		return (struct fk_msg *)(void *)((char *)entry->peer_context - 1);
	room = wf_srx_payload(entry->peer_context);
	return *(struct fk_msg **)room;
}

static void fk_give_back(bool unexp, void *context, struct fk_msg *msg)
{
	if (unexp)
		wf_srx_release(&msg->origin, context);
	free(msg);
}

static int fk_start(struct fi_peer_rx_entry *entry)
{
	struct fk_msg *msg = fk_msg_of(entry);
	bool unexp = fk_is_stowed(entry);
	void *context = entry->peer_context;
	struct fk *fk = msg->to;

	if (!fk->start_result) {
		wf_lock(&fk->ep.lock);
		fk_receive(fk, entry, msg);
		wf_unlock(&fk->ep.lock);
	}
	fk_give_back(unexp, context, msg);
	return fk->start_result;
}

static int fk_discard(struct fi_peer_rx_entry *entry)
{
	struct fk_msg *msg = fk_msg_of(entry);
	struct fk *fk = msg->to;

	wf_lock(&fk->ep.lock);
	fk->discards++;
	atomic_fetch_add(&fk_discarded, 1);
	wf_unlock(&fk->ep.lock);
	fk_give_back(fk_is_stowed(entry), entry->peer_context, msg);
	wf_srx_free_entry(entry);
	return 0;
}

static struct fi_ops_srx_peer fk_srx_ops = {
	.size = sizeof(fk_srx_ops),
	.start_msg = fk_start,
	.start_tag = fk_start,
	.discard_msg = fk_discard,
	.discard_tag = fk_discard,
};

static fi_addr_t fk_srx_addr(struct fi_peer_rx_entry *entry)
{
	const struct fk_msg *msg = fk_msg_of(entry);

	if (!msg->unknown)
		return msg->from == atomic_load(&fk_removed) ? FI_ADDR_UNSPEC
							     : msg->from;
	return atomic_load(&fk_learnt) ? msg->from : FI_ADDR_UNSPEC;
}

static ssize_t fk_start_op(struct wf_ep *ep, struct wf_op *op)
{
	const struct wf_op_report *report = &wf_op_reports[op->kind];
	struct fk *fk = wf_container_of(ep, struct fk, ep);

	/* Receives do not reach the transport. */
	assert_true(op->kind != WF_OP_RECV && op->kind != WF_OP_TRECV);
	if (fk->start_refused || !fk->sends)
		return fk->start_refused;
	wf_lock(&ep->lock);
	if (fk->send_error)
		wf_ep_tx_err(ep, report->cntr, op->context, op->flags,
			report->comp_flags, op->len, fk->send_error);
	else
		wf_ep_tx_done(ep, report->cntr, op->context, op->flags,
			report->comp_flags, op->len);
	wf_unlock(&ep->lock);
	return 0;
}

static void fk_progress(struct wf_ep *ep)
{
	/* The caller holds the lock of the context, if it is one of this library. */
	if (ep->srx_lock && !ep->srx_lock->gate)
		assert_false(wf_trylock(ep->srx_lock));
}

static int fk_enable(struct wf_ep *ep)
{
	assert_non_null(ep->srx);
	return wf_container_of(ep, struct fk, ep)->enable_result;
}

static void fk_destroy(struct wf_ep *ep)
{
	struct fk *fk = wf_container_of(ep, struct fk, ep);

	wf_ep_srx_lock(ep);
	for (size_t i = 0; i < fk->held_count; i++)
		if (fk->held[i])
			wf_srx_free_entry(fk->held[i]);
	wf_ep_srx_unlock(ep);
	atomic_fetch_add(&fk_destroyed, 1);
	wf_ep_done(ep);
	free(fk);
}

static const struct wf_xfer_ops fk_xfer_ops = {
	.lock_kind = WF_LOCK_SPIN,
	.start = fk_start_op,
	.progress = fk_progress,
	.enable = fk_enable,
	.destroy = fk_destroy,
	.srx_ops = &fk_srx_ops,
	.srx_addr = fk_srx_addr,
};

/* A message that arrives: @len bytes that count up from @first. */
struct fk_arrival {
	fi_addr_t from;
	bool unknown; /* The transport learns from later. */
	bool tagged, has_data;
	uint64_t tag, data;
	unsigned char first;
	size_t len;
};

/* Deliver a message through the fast path, if it takes the message. */
static bool fk_deliver(
	struct fk *fk, const struct fk_arrival *a, const struct fk_msg *msg)
{
	const struct wf_srx_arrival arrival = {
		.buf = msg->data,
		.len = msg->len,
		.tag = a->tagged ? a->tag : 0,
		.flags = a->has_data ? FI_REMOTE_CQ_DATA : 0,
		.data = a->data,
		.addr = a->unknown ? FI_ADDR_UNSPEC : a->from,
		.src = msg->from,
	};

	/* Both paths are used alternately, so that every test uses both: the results
	 * must not differ. */
	if (fk->hold || fk->path == FK_LONG ||
		(fk->path == FK_IN_TURN && fk->tries++ % 2))
		return false;
	if (!wf_ep_deliver(&fk->ep, a->tagged ? FI_TAGGED : FI_MSG, &arrival))
		return false;
	fk->delivered++;
	return true;
}

static void fk_queue(struct fi_peer_rx_entry *entry, bool tagged, struct fk_msg *msg)
{
	const struct fi_ops_srx_owner *ops = entry->srx->owner_ops;

	entry->peer_context = (char *)msg + 1;
	assert_int_equal(tagged ? ops->queue_tag(entry) : ops->queue_msg(entry), 0);
}

static void fk_stow(struct fi_peer_rx_entry *entry, bool tagged, struct fk_msg *msg)
{
	struct wf_srx_unexpected *unexp;

	msg->origin.fid = entry->srx;
	unexp = wf_srx_save(
		tagged ? FI_TAGGED : FI_MSG, entry, &msg->origin, sizeof(msg));
	assert_non_null(unexp);
	memcpy(wf_srx_payload(unexp), &msg, sizeof(msg));
}

static inline void fk_arrive(struct fk *fk, const struct fk_arrival *a)
{
	struct fi_peer_match_attr attr = {
		.addr = a->unknown ? FI_ADDR_UNSPEC : a->from,
		.msg_size = a->len,
		.tag = a->tagged ? a->tag : 0,
	};
	struct fk_msg *msg = calloc(1, sizeof(*msg));
	struct fi_peer_rx_entry *entry = NULL;
	bool tagged = a->tagged;
	int ret;

	assert_non_null(msg);
	assert_true(a->len <= FK_ROOM);
	*msg = (struct fk_msg){ { 0 }, fk, a->from, a->unknown, a->len, { 0 } };
	for (size_t i = 0; i < a->len; i++)
		msg->data[i] = (unsigned char)(a->first + i);

	wf_ep_srx_lock(&fk->ep);
	wf_lock(&fk->ep.lock);
	if (fk_deliver(fk, a, msg)) {
		free(msg);
		goto out;
	}
	ret = tagged ? wf_srx_get_tag(fk->ep.srx, &attr, &entry)
		     : wf_srx_get_msg(fk->ep.srx, &attr, &entry);
	assert_non_null(entry);
	if (a->has_data) {
		entry->flags |= FI_REMOTE_CQ_DATA;
		entry->cq_data = a->data;
	}
	if (!ret) {
		fk_receive(fk, entry, msg);
		free(msg);
	} else {
		assert_int_equal(ret, -FI_ENOENT);
		/* Alternately as a transport of this library does it, and as the public
		 * API requires it. */
		if (!fk->save && fk->arrivals++ % 2)
			fk_queue(entry, tagged, msg);
		else
			fk_stow(entry, tagged, msg);
	}
out:
	wf_unlock(&fk->ep.lock);
	wf_ep_srx_unlock(&fk->ep);
}

static inline void fk_arrive_from(struct fk *fk, fi_addr_t from, bool unknown,
	uint64_t tag, bool tagged, unsigned char first, size_t len)
{
	fk_arrive(fk, &(struct fk_arrival){
			      .from = from,
			      .unknown = unknown,
			      .tagged = tagged,
			      .tag = tag,
			      .first = first,
			      .len = len,
		      });
}

static inline void fk_tagged(
	struct fk *fk, fi_addr_t from, uint64_t tag, unsigned char first, size_t len)
{
	fk_arrive_from(fk, from, false, tag, true, first, len);
}

static inline void fk_message(
	struct fk *fk, fi_addr_t from, unsigned char first, size_t len)
{
	fk_arrive_from(fk, from, false, 0, false, first, len);
}

static inline ssize_t fk_left(struct fk *fk)
{
	/* Called directly, because the function's wrapper is deprecated. */
	return fk->ep.fid.ops->rx_size_left(&fk->ep.fid);
}

static inline bool fk_holds(const unsigned char *buf, unsigned char first, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (buf[i] != (unsigned char)(first + i))
			return false;
	return true;
}

/* ---- what is around ---- */

struct fk_around {
	struct domain_fixture *f;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_cntr *cntr;
};

static inline struct fk_around fk_open_around_with(
	struct domain_fixture *f, enum fi_cq_format format, enum fi_cntr_events events)
{
	struct fi_cq_attr cq_attr = { .format = format };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cntr_attr cntr_attr = { .events = events };
	struct fk_around a = { .f = f };

	f->domain.fid.ops = &wf_domain_ops;
	f->domain_attr.max_ep_srx_ctx = 100;
	f->prov.srx_ops = &fk_srx_ops;
	assert_int_equal(wf_cq_open(&f->domain.fid, &cq_attr, &a.cq, NULL), 0);
	assert_int_equal(wf_av_open(&f->domain.fid, &av_attr, &a.av, NULL), 0);
	assert_int_equal(wf_cntr_open(&f->domain.fid, &cntr_attr, &a.cntr, NULL), 0);
	return a;
}

static inline struct fk_around fk_open_around(struct domain_fixture *f)
{
	return fk_open_around_with(f, FI_CQ_FORMAT_TAGGED, FI_CNTR_EVENTS_COMP);
}

static inline void fk_close_around(struct fk_around *a)
{
	assert_int_equal(fi_close(&a->cq->fid), 0);
	assert_int_equal(fi_close(&a->av->fid), 0);
	assert_int_equal(fi_close(&a->cntr->fid), 0);
}

static inline struct fi_info *fk_info(uint64_t caps)
{
	struct fi_info *info = fi_allocinfo();

	assert_non_null(info);
	info->caps = FI_MSG | FI_TAGGED | caps;
	info->addr_format = FI_SOCKADDR_IN;
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->max_msg_size = 1000;
	info->tx_attr->inject_size = 100;
	info->tx_attr->iov_limit = 4;
	info->rx_attr->iov_limit = 3;
	info->rx_attr->size = 8;
	info->domain_attr->cq_data_size = 8;
	return info;
}

/* Open an endpoint, which is not bound. Frees @info. */
static struct fk *fk_open(struct domain_fixture *f, struct fi_info *info)
{
	struct fk *fk = calloc(1, sizeof(*fk));

	assert_non_null(fk);
	assert_int_equal(wf_ep_init(&fk->ep, &f->domain, info, &fk_xfer_ops, fk), 0);
	fi_freeinfo(info);
	return fk;
}

static inline void fk_enable_with(struct fk *fk, struct fk_around *a, uint64_t cq_flags)
{
	struct fid_ep *ep = &fk->ep.fid;

	assert_int_equal(
		fi_ep_bind(ep, &a->cq->fid, FI_TRANSMIT | FI_RECV | cq_flags), 0);
	if (fk->ep.type != FI_EP_MSG)
		assert_int_equal(fi_ep_bind(ep, &a->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &a->cntr->fid, FI_RECV), 0);
	assert_int_equal(fi_enable(ep), 0);
}

static inline struct fk *fk_open_enabled(struct fk_around *a, uint64_t caps)
{
	struct fk *fk = fk_open(a->f, fk_info(caps));

	fk_enable_with(fk, a, 0);
	return fk;
}

static inline void fk_close(struct fk *fk)
{
	unsigned int before = atomic_load(&fk_destroyed);

	assert_int_equal(fi_close(&fk->ep.fid.fid), 0);
	assert_int_equal(atomic_load(&fk_destroyed), before + 1);
}

static inline fi_addr_t fk_insert(struct fk_around *a, unsigned int port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	fi_addr_t ret = FI_ADDR_NOTAVAIL;

	assert_int_equal(fi_av_insert(a->av, &addr, 1, &ret, 0, NULL), 1);
	return ret;
}

/* The next entry: a success with this context, flags, length and tag. */
static inline void fk_expect(
	struct fk_around *a, void *context, uint64_t flags, size_t len, uint64_t tag)
{
	struct fi_cq_tagged_entry entry = { 0 };

	assert_int_equal(fi_cq_read(a->cq, &entry, 1), 1);
	assert_ptr_equal(entry.op_context, context);
	assert_int_equal(entry.flags, flags);
	assert_int_equal(entry.len, len);
	assert_int_equal(entry.tag, tag);
}

static inline struct fi_cq_err_entry fk_expect_err(
	struct fk_around *a, void *context, uint64_t flags, int err)
{
	struct fi_cq_tagged_entry none;
	struct fi_cq_err_entry entry = { 0 };

	assert_int_equal(fi_cq_read(a->cq, &none, 1), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(a->cq, &entry, 0), 1);
	assert_ptr_equal(entry.op_context, context);
	assert_int_equal(entry.flags, flags);
	assert_int_equal(entry.err, err);
	return entry;
}

static inline void fk_expect_none(struct fk_around *a)
{
	struct fi_cq_tagged_entry entry;

	assert_int_equal(fi_cq_read(a->cq, &entry, 1), -FI_EAGAIN);
}

static inline ssize_t fk_trecvmsg(struct fid_ep *ep, void *buf, size_t len,
	fi_addr_t src, uint64_t tag, uint64_t ignore, void *context, uint64_t flags)
{
	struct iovec iov = { buf, len };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = src,
		.tag = tag,
		.ignore = ignore,
		.context = context,
	};

	return fi_trecvmsg(ep, &msg, flags);
}

static inline ssize_t fk_recvmsg(
	struct fid_ep *ep, void *buf, size_t len, void *context, uint64_t flags)
{
	struct iovec iov = { buf, len };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = context,
	};

	return fi_recvmsg(ep, &msg, flags);
}

#endif
