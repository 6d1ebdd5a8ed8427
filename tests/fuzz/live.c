/* SPDX-License-Identifier: BSD-2-Clause */
#include "live.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

enum { DRIVES = 4 };

void must(int ok)
{
	if (!ok)
		abort();
}

uint8_t byte_of(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

uint64_t number_of(struct input *in, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64_t)byte_of(in) << (8 * i);
	return value;
}

size_t length_of(struct input *in)
{
	return number_of(in, 2) % LIVE_BUF;
}

/* ---- opening and closing ---- */

void live_open_domain(struct live *v, const struct live_conf *conf)
{
	enum fi_progress progress =
		conf->auto_progress ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
	struct fi_info *hints = fi_allocinfo();

	must(hints != NULL);
	/* Peers here seldom take what is left when an endpoint closes. */
	(void)setenv("FI_FLUSH_TIMEOUT", "1", 0);
	v->conf = *conf;
	hints->caps = conf->caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = conf->addr_format;
	hints->ep_attr->type = conf->type;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->domain_attr->control_progress = progress;
	hints->domain_attr->data_progress = progress;
	hints->fabric_attr->prov_name = strdup(conf->prov);
	if (conf->domain)
		hints->domain_attr->name = strdup(conf->domain);
	if (conf->addr) {
		hints->src_addr = malloc(conf->addr_len);
		must(hints->src_addr != NULL);
		memcpy(hints->src_addr, conf->addr, conf->addr_len);
		hints->src_addrlen = conf->addr_len;
	}
	must(!fi_getinfo(FI_VERSION(2, 0), conf->node, NULL, conf->node ? FI_SOURCE : 0,
		hints, &v->info));
	fi_freeinfo(hints);
	must(!fi_fabric(v->info->fabric_attr, &v->fabric, NULL));
	must(!fi_domain(v->fabric, v->info, &v->domain, NULL));
	if (conf->type == FI_EP_MSG) {
		struct fi_eq_attr attr = { .wait_obj = FI_WAIT_NONE };

		must(!fi_eq_open(v->fabric, &attr, &v->eq, NULL));
	}
}

static void open_window(struct live *v)
{
	v->window = calloc(1, LIVE_BUF);
	must(v->window != NULL);
	must(!fi_mr_reg(v->domain, v->window, LIVE_BUF,
		FI_REMOTE_READ | FI_REMOTE_WRITE | FI_READ | FI_WRITE, 0, LIVE_KEY, 0,
		&v->mr, NULL));
}

static void close_window(struct live *v)
{
	if (!v->window)
		return;
	must(!fi_close(&v->mr->fid));
	free(v->window);
	v->window = NULL;
}

void live_open(struct live *v, bool sleeps)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED,
		.size = 4096,
		.wait_obj = sleeps ? FI_WAIT_FD : FI_WAIT_NONE };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	v->sleeps = sleeps;
	v->peer = FI_ADDR_UNSPEC;
	must(!fi_cq_open(v->domain, &cq_attr, &v->cq, NULL));
	if (v->conf.type == FI_EP_RDM)
		must(!fi_av_open(v->domain, &av_attr, &v->av, NULL));
	open_window(v);
}

void live_open_ep(struct live *v, struct fi_info *info)
{
	must(!fi_endpoint(v->domain, info, &v->ep, NULL));
	must(!fi_ep_bind(v->ep, &v->cq->fid, FI_TRANSMIT | FI_RECV));
	if (v->av)
		must(!fi_ep_bind(v->ep, &v->av->fid, 0));
	if (v->eq)
		must(!fi_ep_bind(v->ep, &v->eq->fid, 0));
	must(!fi_enable(v->ep));
}

void live_close(struct live *v)
{
	if (v->ep)
		must(!fi_close(&v->ep->fid));
	must(!fi_close(&v->cq->fid));
	if (v->av)
		must(!fi_close(&v->av->fid));
	close_window(v);
	for (unsigned int i = 0; i < v->op_count; i++)
		free(v->ops[i].buf);
	memset(v->ops, 0, v->op_count * sizeof(v->ops[0]));
	v->op_count = 0;
	v->ep = NULL;
	v->cq = NULL;
	v->av = NULL;
}

/* ---- operations ---- */

/* With @len bytes; NULL: an input has had enough of them. */
static struct live_op *new_op(struct live *v, size_t len)
{
	struct live_op *op;

	if (v->op_count == LIVE_OPS)
		return NULL;
	op = &v->ops[v->op_count++];
	op->buf = calloc(1, len + !len);
	must(op->buf != NULL);
	op->pending = true;
	return op;
}

static void end_op(struct live_op *op)
{
	op->pending = false;
	free(op->buf);
	op->buf = NULL;
}

/* @ret: of the call that was to start it. */
static void started(struct live_op *op, ssize_t ret)
{
	must(ret <= 0);
	if (ret)
		end_op(op);
}

/* NULL: of an injected operation, or without one. */
static struct live_op *op_of(
	struct live *v, void *context, uint64_t flags, const char *what)
{
	struct live_op *op = context;

	if (!context || (op >= v->ops && op < v->ops + v->op_count && op->pending))
		return op;
	fprintf(stderr, "%s of an operation that is not pending: %p, flags 0x%llx\n",
		what, context, (unsigned long long)flags);
	abort();
}

static void completed(struct live *v, const struct fi_cq_tagged_entry *entry)
{
	struct live_op *op = op_of(v, entry->op_context, entry->flags, "completion");

	if (!op || (op->multi && !(entry->flags & FI_MULTI_RECV)))
		return;
	op->claimed = op->peeked;
	op->peeked = false;
	end_op(op);
}

static void read_error(struct live *v)
{
	struct fi_cq_err_entry err = { 0 };
	struct live_op *op;

	must(fi_cq_readerr(v->cq, &err, 0) == 1 && err.err > 0);
	op = op_of(v, err.op_context, err.flags, fi_strerror(err.err));
	if (op && (!op->multi || err.flags & FI_MULTI_RECV))
		end_op(op);
}

void live_drive(struct live *v)
{
	struct fi_cq_tagged_entry entry[8];
	struct fid *fid = &v->cq->fid;
	ssize_t n;

	for (int i = 0; i < DRIVES; i++) {
		n = fi_cq_read(v->cq, entry, 8);
		must(n > 0 || n == -FI_EAGAIN || n == -FI_EAVAIL);
		for (ssize_t k = 0; k < n; k++)
			completed(v, &entry[k]);
		if (n == -FI_EAVAIL)
			read_error(v);
	}
	if (v->sleeps)
		(void)fi_trywait(v->fabric, &fid, 1);
	if (v->conf.auto_progress)
		(void)sched_yield();
}

static void move_receive(struct live *v, struct input *in)
{
	size_t len = length_of(in);
	struct live_op *op = new_op(v, len);
	fi_addr_t from = byte_of(in) & 1 ? v->peer : FI_ADDR_UNSPEC;

	if (op)
		started(op, fi_trecv(v->ep, op->buf, len, NULL, from, byte_of(in), 0xf,
				    op));
}

static void move_receive_msg(struct live *v, struct input *in)
{
	size_t len = length_of(in);
	struct live_op *op = new_op(v, len);

	if (op)
		started(op, fi_recv(v->ep, op->buf, len, NULL, FI_ADDR_UNSPEC, op));
}

static void move_receive_many(struct live *v, struct input *in)
{
	size_t len = length_of(in);
	struct live_op *op = new_op(v, len);
	struct iovec iov;
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = op
	};

	if (!op)
		return;
	iov = (struct iovec){ op->buf, len };
	op->multi = true;
	started(op, fi_recvmsg(v->ep, &msg, FI_MULTI_RECV));
}

static uint64_t flags_of(struct input *in)
{
	static const uint64_t flags[] = { FI_DELIVERY_COMPLETE, FI_MATCH_COMPLETE,
		FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE, FI_FENCE, FI_REMOTE_CQ_DATA,
		FI_MORE };
	uint8_t choice = byte_of(in);
	size_t at = choice % 16;

	return at < sizeof(flags) / sizeof(flags[0])
		       ? flags[at] | (choice & 0x80 ? FI_FENCE : 0)
		       : 0;
}

static void move_send(struct live *v, struct input *in)
{
	size_t len = length_of(in);
	struct live_op *op = new_op(v, len);
	uint64_t flags = flags_of(in);
	struct iovec iov;
	struct fi_msg_tagged tagged = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = v->peer,
		.tag = byte_of(in),
		.context = op };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = v->peer, .context = op
	};

	if (!op)
		return;
	iov = (struct iovec){ op->buf, len };
	started(op, byte_of(in) & 1 ? fi_tsendmsg(v->ep, &tagged, flags)
				    : fi_sendmsg(v->ep, &msg, flags));
}

static void move_rma(struct live *v, struct input *in)
{
	size_t len = length_of(in);
	struct live_op *op = new_op(v, len);
	uint64_t flags = flags_of(in);
	struct iovec iov;
	struct fi_rma_iov target = { .addr = byte_of(in), .len = len, .key = LIVE_KEY };
	struct fi_msg_rma msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = v->peer,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.context = op };

	if (!op)
		return;
	iov = (struct iovec){ op->buf, len };
	started(op, byte_of(in) & 1
			    ? fi_writemsg(v->ep, &msg, flags)
			    : fi_readmsg(v->ep, &msg, flags & ~FI_REMOTE_CQ_DATA));
}

/* Operands, results behind them. */
static void move_fetch(struct live *v, struct input *in)
{
	size_t count = byte_of(in) % 32 + 1;
	struct live_op *op = new_op(v, 2 * count * sizeof(uint64_t));

	if (op)
		started(op, fi_fetch_atomic(v->ep, op->buf, count, NULL,
				    op->buf + count * sizeof(uint64_t), NULL, v->peer,
				    0, LIVE_KEY, FI_UINT64, FI_SUM, op));
}

static void move_atomic(struct live *v, struct input *in)
{
	size_t count = byte_of(in) % 32 + 1;
	struct live_op *op = new_op(v, count * sizeof(uint64_t));

	if (op)
		started(op, fi_atomic(v->ep, op->buf, count, NULL, v->peer, 0, LIVE_KEY,
				    FI_UINT64, FI_BXOR, op));
}

/* From memory that is gone when the call has returned. */
static void move_inject(struct live *v, struct input *in)
{
	size_t len = byte_of(in);
	uint8_t *buf = calloc(1, len + 1);
	uint8_t which = byte_of(in);

	must(buf != NULL);
	if (which % 3 == 0)
		(void)fi_tinject(v->ep, buf, len, v->peer, which);
	else if (which % 3 == 1)
		(void)fi_inject(v->ep, buf, len, v->peer);
	else
		(void)fi_inject_write(v->ep, buf, len, v->peer, which, LIVE_KEY);
	free(buf);
}

static void move_cancel(struct live *v, struct input *in)
{
	struct live_op *op;

	if (!v->op_count)
		return;
	op = &v->ops[byte_of(in) % v->op_count];
	if (op->pending)
		(void)fi_cancel(&v->ep->fid, op);
}

static ssize_t receive_with(
	struct live *v, struct live_op *op, size_t len, uint8_t tag, uint64_t flags)
{
	struct iovec iov = { op->buf, len };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.tag = tag,
		.ignore = 0xf,
		.context = op };

	return fi_trecvmsg(v->ep, &msg, flags);
}

static void move_peek(struct live *v, struct input *in)
{
	static const uint64_t flags[] = { 0, FI_CLAIM, FI_DISCARD };
	unsigned int choice = byte_of(in) % 3;
	struct live_op *op = new_op(v, 0);

	if (!op)
		return;
	op->peeked = flags[choice] == FI_CLAIM;
	started(op, receive_with(v, op, 0, byte_of(in), FI_PEEK | flags[choice]));
}

/* A message that a peek claimed is received, or discarded. */
static void move_claim(struct live *v, struct input *in)
{
	size_t len = length_of(in);
	uint64_t discard = byte_of(in) & 1 ? FI_DISCARD : 0;

	for (unsigned int i = 0; i < v->op_count; i++) {
		struct live_op *op = &v->ops[i];

		if (!op->claimed)
			continue;
		op->claimed = false;
		op->buf = calloc(1, len + !len);
		must(op->buf != NULL);
		op->pending = true;
		started(op, receive_with(v, op, len, 0, FI_CLAIM | discard));
		return;
	}
}

/* The window goes, and may come back under the same key. */
static void move_window(struct live *v, struct input *in)
{
	close_window(v);
	if (byte_of(in) & 3)
		open_window(v);
}

static void (*const moves[])(struct live *v, struct input *in) = {
	move_receive,
	move_receive_msg,
	move_receive_many,
	move_send,
	move_rma,
	move_fetch,
	move_atomic,
	move_inject,
	move_cancel,
	move_peek,
	move_claim,
	move_window,
};

void live_move(struct live *v, struct input *in)
{
	unsigned int which = byte_of(in) % (sizeof(moves) / sizeof(moves[0]));

	if (v->ep)
		moves[which](v, in);
}
