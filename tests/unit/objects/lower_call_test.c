/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint_fixture.h"

#include "objects/lower/call.h"

/* Each operation of a layered provider becomes the right call of the provider below. */

enum { ADDR = 5, TAG = 0x77, DATA = 0x99, KEY = 3, BYTES = 16 };

/* What the provider below saw: one call. */
static struct {
	const char *call;
	uint64_t flags, data, tag, ignore;
	fi_addr_t addr;
	void *context;
	size_t iov_count, rma_count, result_count, compare_count, bytes;
	void *desc[4], *result_desc[2], *compare_desc[2];
	bool has_desc, has_result_desc, has_compare_desc;
	struct fi_ioc ioc, result, compare;
	struct fi_rma_ioc rma_ioc;
	struct fi_rma_iov rma;
	const void *buf;
} saw;

static char memory[BYTES], fetched[BYTES], compared[BYTES];
static char local_desc, second_desc, result_desc, compare_desc, context;

static void save_descs(void **from, size_t count, void **to, bool *has)
{
	*has = from != NULL;
	for (size_t i = 0; from && i < count; i++)
		to[i] = from[i];
}

static ssize_t saw_msg(const char *call, const struct fi_msg *msg, uint64_t flags)
{
	saw.call = call;
	saw.flags = flags;
	saw.addr = msg->addr;
	saw.context = msg->context;
	saw.data = msg->data;
	saw.iov_count = msg->iov_count;
	for (size_t i = 0; i < msg->iov_count; i++)
		saw.bytes += msg->msg_iov[i].iov_len;
	save_descs(msg->desc, msg->iov_count, saw.desc, &saw.has_desc);
	return 0;
}

static ssize_t below_sendmsg(
	struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	return saw_msg("sendmsg", msg, flags);
}

static ssize_t below_recvmsg(
	struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	return saw_msg("recvmsg", msg, flags);
}

static ssize_t saw_tagged(
	const char *call, const struct fi_msg_tagged *msg, uint64_t flags)
{
	const struct fi_msg plain = { msg->msg_iov, msg->desc, msg->iov_count,
		msg->addr, msg->context, msg->data };

	saw.tag = msg->tag;
	saw.ignore = msg->ignore;
	return saw_msg(call, &plain, flags);
}

static ssize_t below_tsendmsg(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return saw_tagged("tsendmsg", msg, flags);
}

static ssize_t below_trecvmsg(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return saw_tagged("trecvmsg", msg, flags);
}

static ssize_t saw_rma(const char *call, const struct fi_msg_rma *msg, uint64_t flags)
{
	const struct fi_msg plain = { msg->msg_iov, msg->desc, msg->iov_count,
		msg->addr, msg->context, msg->data };

	saw.rma_count = msg->rma_iov_count;
	saw.rma = msg->rma_iov[0];
	return saw_msg(call, &plain, flags);
}

static ssize_t below_writemsg(
	struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return saw_rma("writemsg", msg, flags);
}

static ssize_t below_readmsg(
	struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return saw_rma("readmsg", msg, flags);
}

static ssize_t saw_atomic(
	const char *call, const struct fi_msg_atomic *msg, uint64_t flags)
{
	saw.call = call;
	saw.flags = flags;
	saw.addr = msg->addr;
	saw.context = msg->context;
	saw.data = msg->data;
	saw.iov_count = msg->iov_count;
	saw.rma_count = msg->rma_iov_count;
	saw.ioc = msg->msg_iov[0];
	saw.rma_ioc = msg->rma_iov[0];
	assert_int_equal(msg->datatype, FI_UINT32);
	assert_int_equal(msg->op, FI_SUM);
	save_descs(msg->desc, msg->iov_count, saw.desc, &saw.has_desc);
	return 0;
}

static ssize_t below_atomicmsg(
	struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return saw_atomic("atomicmsg", msg, flags);
}

static ssize_t below_fetchmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
	struct fi_ioc *result, void **desc, size_t count, uint64_t flags)
{
	saw.result = result[0];
	saw.result_count = count;
	save_descs(desc, count, saw.result_desc, &saw.has_result_desc);
	return saw_atomic("fetchmsg", msg, flags);
}

static ssize_t below_comparemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
	const struct fi_ioc *compare, void **desc, size_t count, struct fi_ioc *result,
	void **descs, size_t result_count, uint64_t flags)
{
	saw.compare = compare[0];
	saw.compare_count = count;
	save_descs(desc, count, saw.compare_desc, &saw.has_compare_desc);
	(void)below_fetchmsg(ep, msg, result, descs, result_count, flags);
	saw.call = "comparemsg";
	return 0;
}

static ssize_t saw_inject(const char *call, const void *buf, size_t len, fi_addr_t addr)
{
	saw.call = call;
	saw.buf = buf;
	saw.bytes = len;
	saw.addr = addr;
	return 0;
}

static ssize_t below_inject(
	struct fid_ep *ep, const void *buf, size_t len, fi_addr_t addr)
{
	return saw_inject("inject", buf, len, addr);
}

static ssize_t below_injectdata(
	struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t addr)
{
	saw.data = data;
	return saw_inject("injectdata", buf, len, addr);
}

static ssize_t below_tinject(
	struct fid_ep *ep, const void *buf, size_t len, fi_addr_t addr, uint64_t tag)
{
	saw.tag = tag;
	return saw_inject("tinject", buf, len, addr);
}

static ssize_t below_tinjectdata(struct fid_ep *ep, const void *buf, size_t len,
	uint64_t data, fi_addr_t addr, uint64_t tag)
{
	saw.data = data;
	saw.tag = tag;
	return saw_inject("tinjectdata", buf, len, addr);
}

static ssize_t below_inject_write(struct fid_ep *ep, const void *buf, size_t len,
	fi_addr_t dest, uint64_t addr, uint64_t key)
{
	saw.rma = (struct fi_rma_iov){ addr, len, key };
	return saw_inject("inject_write", buf, len, dest);
}

static ssize_t below_inject_writedata(struct fid_ep *ep, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key)
{
	saw.data = data;
	saw.rma = (struct fi_rma_iov){ addr, len, key };
	return saw_inject("inject_writedata", buf, len, dest);
}

static ssize_t below_inject_atomic(struct fid_ep *ep, const void *buf, size_t count,
	fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype datatype,
	enum fi_op op)
{
	assert_int_equal(datatype, FI_UINT32);
	assert_int_equal(op, FI_SUM);
	saw.rma = (struct fi_rma_iov){ addr, count, key };
	return saw_inject("inject_atomic", buf, count, dest);
}

static int below_fetch_valid(
	struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	*count = 11;
	return 0;
}

static struct fi_ops_msg below_msg = {
	.size = sizeof(below_msg),
	.recvmsg = below_recvmsg,
	.sendmsg = below_sendmsg,
	.inject = below_inject,
	.injectdata = below_injectdata,
};
static struct fi_ops_tagged below_tagged = {
	.size = sizeof(below_tagged),
	.recvmsg = below_trecvmsg,
	.sendmsg = below_tsendmsg,
	.inject = below_tinject,
	.injectdata = below_tinjectdata,
};
static struct fi_ops_rma below_rma = {
	.size = sizeof(below_rma),
	.readmsg = below_readmsg,
	.writemsg = below_writemsg,
	.inject = below_inject_write,
	.injectdata = below_inject_writedata,
};
static struct fi_ops_atomic below_atomic = {
	.size = sizeof(below_atomic),
	.writemsg = below_atomicmsg,
	.inject = below_inject_atomic,
	.readwritemsg = below_fetchmsg,
	.compwritemsg = below_comparemsg,
	.readwritevalid = below_fetch_valid,
};
static struct fid_ep below = {
	.fid.fclass = FI_CLASS_EP,
	.msg = &below_msg,
	.tagged = &below_tagged,
	.rma = &below_rma,
	.atomic = &below_atomic,
};

/* An operation of every kind with all that it may have. */
struct sample {
	struct wf_op op;
	struct iovec iov[2], result, compare;
	struct fi_rma_iov rma;
	struct wf_op_atomic atomic;
	void *desc[2], *result_descs[1], *compare_descs[1];
};

static void make(struct sample *s, enum wf_op_kind kind, uint64_t flags)
{
	bool atomic = kind >= WF_OP_ATOMIC;

	memset(&saw, 0, sizeof(saw));
	*s = (struct sample){
		.iov = { { memory, 12 }, { memory + 12, 4 } },
		.result = { fetched, BYTES },
		.compare = { compared, BYTES },
		.rma = { 0x1000, BYTES, KEY },
		.desc = { &local_desc, &second_desc },
		.result_descs = { &result_desc },
		.compare_descs = { &compare_desc },
		.atomic = {
			.datatype = FI_UINT32,
			.op = FI_SUM,
			.count = BYTES / 4,
			.size = BYTES,
		},
		.op = {
			.kind = kind,
			.flags = flags,
			.iov_count = 2,
			.len = BYTES,
			.addr = FI_ADDR_UNSPEC,
			.context = &context,
			.data = DATA,
			.tag = TAG,
			.ignore = 1,
		},
	};
	s->op.iov = s->iov;
	s->op.desc = s->desc;
	if (atomic || kind == WF_OP_READ || kind == WF_OP_WRITE) {
		s->op.rma = &s->rma;
		s->op.rma_count = 1;
	}
	if (!atomic)
		return;
	s->op.atomic = &s->atomic;
	if (kind == WF_OP_ATOMIC)
		return;
	s->atomic.result = &s->result;
	s->atomic.result_desc = s->result_descs;
	s->atomic.result_count = 1;
	if (kind == WF_OP_FETCH)
		return;
	s->atomic.compare = &s->compare;
	s->atomic.compare_desc = s->compare_descs;
	s->atomic.compare_count = 1;
}

static const char *const calls[WF_OP_COUNT] = {
	[WF_OP_SEND] = "sendmsg",
	[WF_OP_RECV] = "recvmsg",
	[WF_OP_TSEND] = "tsendmsg",
	[WF_OP_TRECV] = "trecvmsg",
	[WF_OP_READ] = "readmsg",
	[WF_OP_WRITE] = "writemsg",
	[WF_OP_ATOMIC] = "atomicmsg",
	[WF_OP_FETCH] = "fetchmsg",
	[WF_OP_COMPARE] = "comparemsg",
};

/* The buffers, counts and elements that the kind has. */
static void check_parts(enum wf_op_kind kind)
{
	if (kind == WF_OP_TSEND || kind == WF_OP_TRECV) {
		assert_int_equal(saw.tag, TAG);
		assert_int_equal(saw.ignore, 1);
	}
	if (kind == WF_OP_READ || kind == WF_OP_WRITE) {
		assert_int_equal(saw.rma_count, 1);
		assert_int_equal(saw.rma.addr, 0x1000);
		assert_int_equal(saw.rma.len, BYTES);
		assert_int_equal(saw.rma.key, KEY);
	}
	if (kind < WF_OP_ATOMIC) {
		assert_int_equal(saw.bytes, BYTES);
		return;
	}
	/* Elements of four bytes again. */
	assert_int_equal(saw.ioc.count, 3);
	assert_ptr_equal(saw.ioc.addr, memory);
	assert_int_equal(saw.rma_ioc.count, 4);
	assert_int_equal(saw.rma_ioc.key, KEY);
	assert_int_equal(saw.result_count, kind > WF_OP_ATOMIC);
	assert_int_equal(saw.result.count, kind > WF_OP_ATOMIC ? 4 : 0);
	assert_int_equal(saw.compare_count, kind == WF_OP_COMPARE);
	assert_ptr_equal(saw.compare.addr, kind == WF_OP_COMPARE ? compared : NULL);
}

static void test_calls(void **state)
{
	const uint64_t flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;

	(void)state;
	for (unsigned int kind = 0; kind < WF_OP_COUNT; kind++) {
		struct sample s;

		make(&s, kind, flags);
		assert_int_equal(wf_lower_call(&below, &s.op, ADDR, NULL), 0);
		assert_string_equal(saw.call, calls[kind]);
		assert_int_equal(saw.flags, flags);
		assert_int_equal(saw.addr, ADDR);
		assert_ptr_equal(saw.context, &context);
		assert_int_equal(saw.data, DATA);
		assert_int_equal(saw.iov_count, 2);
		/* Descriptors of the application mean nothing below. */
		assert_false(
			saw.has_desc || saw.has_result_desc || saw.has_compare_desc);
		check_parts(kind);
		assert_int_equal(s.op.addr, FI_ADDR_UNSPEC);
	}
}

static void *next_byte(const struct wf_lower_descs *descs, void *desc)
{
	assert_non_null(descs);
	return desc ? (char *)desc + 1 : NULL;
}

static void test_descs(void **state)
{
	const struct wf_lower_descs descs = { .map = next_byte };
	struct iovec many[WF_OP_ATOMIC_IOV + 1] = { { memory, 1 } };
	void *none[WF_OP_ATOMIC_IOV + 1] = { NULL };
	struct sample s;

	(void)state;
	for (unsigned int kind = 0; kind < WF_OP_COUNT; kind++) {
		make(&s, kind, FI_COMPLETION);
		assert_int_equal(wf_lower_call(&below, &s.op, ADDR, &descs), 0);
		assert_ptr_equal(saw.desc[0], &local_desc + 1);
		assert_ptr_equal(saw.desc[1], &second_desc + 1);
		assert_int_equal(saw.has_result_desc, kind > WF_OP_ATOMIC);
		if (saw.has_result_desc)
			assert_ptr_equal(saw.result_desc[0], &result_desc + 1);
		assert_int_equal(saw.has_compare_desc, kind == WF_OP_COMPARE);
		if (saw.has_compare_desc)
			assert_ptr_equal(saw.compare_desc[0], &compare_desc + 1);
	}
	/* No descriptors of buffers, but of results. */
	make(&s, WF_OP_FETCH, FI_COMPLETION);
	s.op.desc = NULL;
	assert_int_equal(wf_lower_call(&below, &s.op, ADDR, &descs), 0);
	assert_false(saw.has_desc);
	assert_true(saw.has_result_desc);
	/* More than can be mapped. */
	make(&s, WF_OP_SEND, FI_COMPLETION);
	s.op.iov = many;
	s.op.desc = none;
	s.op.iov_count = WF_OP_ATOMIC_IOV + 1;
	assert_int_equal(wf_lower_call(&below, &s.op, ADDR, &descs), -FI_EINVAL);
	assert_null(saw.call);
	assert_int_equal(wf_lower_call(&below, &s.op, ADDR, NULL), 0);
}

/* An operation without a reported success becomes an inject call, if that has its
 * arguments. */
static void test_injects(void **state)
{
	static const struct {
		enum wf_op_kind kind;
		uint64_t flags;
		const char *call;
	} rows[] = {
		{ WF_OP_SEND, FI_INJECT, "inject" },
		{ WF_OP_SEND, FI_INJECT | FI_REMOTE_CQ_DATA, "injectdata" },
		{ WF_OP_SEND, FI_INJECT | FI_TRANSMIT_COMPLETE, "inject" },
		{ WF_OP_TSEND, FI_INJECT, "tinject" },
		{ WF_OP_TSEND, FI_INJECT | FI_REMOTE_CQ_DATA, "tinjectdata" },
		{ WF_OP_WRITE, FI_INJECT, "inject_write" },
		{ WF_OP_WRITE, FI_INJECT | FI_REMOTE_CQ_DATA, "inject_writedata" },
		{ WF_OP_ATOMIC, FI_INJECT, "inject_atomic" },
		/* An operation with a completion, or with more arguments than an inject
		 * call has. */
		{ WF_OP_SEND, FI_INJECT | FI_COMPLETION, "sendmsg" },
		{ WF_OP_SEND, FI_INJECT | FI_DELIVERY_COMPLETE, "sendmsg" },
		{ WF_OP_TSEND, FI_INJECT | FI_FENCE, "tsendmsg" },
		{ WF_OP_WRITE, FI_INJECT | FI_MORE, "writemsg" },
		{ WF_OP_FETCH, FI_INJECT, "fetchmsg" },
		{ WF_OP_SEND, 0, "sendmsg" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool inject = strstr(rows[i].call, "inject") != NULL;
		struct sample s;

		make(&s, rows[i].kind, rows[i].flags);
		s.op.iov_count = 1;
		s.iov[0].iov_len = BYTES;
		assert_int_equal(wf_lower_call(&below, &s.op, ADDR, NULL), 0);
		assert_string_equal(saw.call, rows[i].call);
		assert_int_equal(saw.addr, ADDR);
		if (!inject) {
			assert_int_equal(saw.flags, rows[i].flags);
			continue;
		}
		assert_ptr_equal(saw.buf, memory);
		assert_int_equal(saw.bytes, rows[i].kind == WF_OP_ATOMIC ? 4 : BYTES);
		assert_int_equal(
			saw.data, rows[i].flags & FI_REMOTE_CQ_DATA ? DATA : 0);
		assert_int_equal(saw.tag, rows[i].kind == WF_OP_TSEND ? TAG : 0);
		assert_int_equal(saw.rma.key,
			rows[i].kind == WF_OP_WRITE || rows[i].kind == WF_OP_ATOMIC
				? KEY
				: 0);
	}
}

/* Nothing is injected: a buffer is not needed. */
static void test_empty_inject(void **state)
{
	struct sample s;

	(void)state;
	make(&s, WF_OP_SEND, FI_INJECT);
	s.op.iov_count = 0;
	s.op.len = 0;
	assert_int_equal(wf_lower_call(&below, &s.op, ADDR, NULL), 0);
	assert_string_equal(saw.call, "inject");
	assert_null(saw.buf);
	assert_int_equal(saw.bytes, 0);
	/* Without a place at the target there is nothing an inject call could name. */
	make(&s, WF_OP_WRITE, FI_INJECT);
	s.op.iov_count = 1;
	s.op.rma_count = 0;
	assert_int_equal(wf_lower_call(&below, &s.op, ADDR, NULL), 0);
	assert_string_equal(saw.call, "writemsg");
}

/* An endpoint of this library starts the operation itself, another one is called. */
static void test_start(void **state)
{
	struct wf_lower_ep ep = { .fid = &below };
	struct fake *fake = open_fake(*state, new_info());
	struct sample s;

	make(&s, WF_OP_SEND, FI_COMPLETION);
	assert_int_equal(wf_lower_start(&ep, &s.op, ADDR), 0);
	assert_string_equal(saw.call, "sendmsg");
	assert_int_equal(saw.addr, ADDR);

	ep = (struct wf_lower_ep){ .fid = &fake->ep.fid, .builtin = &fake->ep };
	make(&s, WF_OP_SEND, FI_COMPLETION);
	assert_int_equal(wf_lower_start(&ep, &s.op, ADDR), 0);
	assert_null(saw.call);
	assert_int_equal(fake->starts, 1);
	assert_int_equal(fake->op.addr, ADDR);
	assert_ptr_equal(fake->op.context, &context);
	assert_ptr_equal(fake->op.desc, s.desc);
	assert_int_equal(s.op.addr, FI_ADDR_UNSPEC);
	/* An atomic operation that it cannot do is refused by its own call. */
	make(&s, WF_OP_ATOMIC, FI_COMPLETION);
	s.atomic.size = (size_t)1 << 40;
	assert_true(wf_lower_start(&ep, &s.op, ADDR) < 0);
	assert_int_equal(fake->starts, 1);
	close_ep(&fake->ep.fid);
}

static void test_inject_builtin(void **state)
{
	struct fake *fake = open_fake(*state, new_info());
	struct wf_lower_ep ep = { .fid = &fake->ep.fid, .builtin = &fake->ep };

	fake->ep.fid.fid.context = &context;
	fake->ep.tx.plain = FI_COMPLETION | FI_TRANSMIT_COMPLETE;
	assert_int_equal(wf_lower_inject(&ep, memory, BYTES, ADDR), 0);
	assert_int_equal(fake->starts, 1);
	assert_any_op(fake, WF_OP_SEND, FI_INJECT | FI_TRANSMIT_COMPLETE, BYTES);
	assert_ptr_equal(fake->iov[0].iov_base, memory);
	assert_ptr_equal(fake->op.context, &context);
	/* More than inject_size of new_info(). */
	assert_int_equal(wf_lower_inject(&ep, memory, 101, ADDR), -FI_EMSGSIZE);
	assert_int_equal(fake->starts, 1);
	close_ep(&fake->ep.fid);
}

static unsigned int small_sends;

static ssize_t send_small(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag)
{
	assert_int_equal(kind, WF_OP_SEND);
	assert_ptr_equal(buf, memory);
	assert_int_equal(len, BYTES);
	assert_int_equal(addr, ADDR);
	small_sends++;
	return 0;
}

static void test_inject_small(void **state)
{
	struct wf_xfer_ops xfer = fake_ops;
	struct fake *fake = open_fake(*state, new_info());
	struct wf_lower_ep ep = { .fid = &fake->ep.fid, .builtin = &fake->ep };

	xfer.send_small = send_small;
	fake->ep.xfer = &xfer;
	fake->ep.small_limit = BYTES + 1;
	assert_int_equal(wf_lower_inject(&ep, memory, BYTES, ADDR), 0);
	assert_int_equal(small_sends, 1);
	assert_int_equal(fake->starts, 0);
	close_ep(&fake->ep.fid);
}

static uint64_t small_data;

static ssize_t send_small_data(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag, uint64_t data)
{
	assert_ptr_equal(buf, memory);
	assert_int_equal(len, BYTES);
	assert_int_equal(addr, ADDR);
	assert_int_equal(tag, 9);
	small_data = data;
	return 0;
}

/* The fast path takes what is shorter than its limit, and CQ data if it knows them. */
static void test_small(void **state)
{
	struct wf_xfer_ops xfer = fake_ops;
	struct fake *fake = open_fake(*state, new_info());
	struct wf_ep *ep = &fake->ep;
	unsigned int before = small_sends;

	xfer.send_small = send_small;
	ep->xfer = &xfer;
	ep->small_limit = BYTES;
	assert_int_equal(wf_lower_send_small(ep, WF_OP_SEND, memory, BYTES, ADDR, 0),
		-FI_EAGAIN);
	assert_int_equal(small_sends, before);
	ep->small_limit = BYTES + 1;
	assert_int_equal(
		wf_lower_send_small(ep, WF_OP_SEND, memory, BYTES, ADDR, 0), 0);
	assert_int_equal(small_sends, before + 1);
	assert_int_equal(
		wf_lower_send_small_data(ep, WF_OP_TSEND, memory, BYTES, ADDR, 9, 33),
		-FI_EAGAIN);
	xfer.send_small_data = send_small_data;
	ep->small_limit = BYTES;
	assert_int_equal(
		wf_lower_send_small_data(ep, WF_OP_TSEND, memory, BYTES, ADDR, 9, 33),
		-FI_EAGAIN);
	assert_int_equal(small_data, 0);
	ep->small_limit = BYTES + 1;
	assert_int_equal(
		wf_lower_send_small_data(ep, WF_OP_TSEND, memory, BYTES, ADDR, 9, 33),
		0);
	assert_int_equal(small_data, 33);
	close_ep(&fake->ep.fid);
}

static void test_inject_foreign(void **state)
{
	struct wf_lower_ep ep = { .fid = &below };

	(void)state;
	memset(&saw, 0, sizeof(saw));
	assert_int_equal(wf_lower_inject(&ep, memory, BYTES, ADDR), 0);
	assert_string_equal(saw.call, "inject");
	assert_ptr_equal(saw.buf, memory);
	assert_int_equal(saw.bytes, BYTES);
	assert_int_equal(saw.addr, ADDR);
}

static void test_atomic_valid(void **state)
{
	size_t count = 0;

	(void)state;
	assert_int_equal(
		wf_lower_atomic_valid(&below, WF_OP_FETCH, FI_UINT32, FI_SUM, &count),
		0);
	assert_int_equal(count, 11);
}

static const struct wf_cancel *asked;

static bool cancel_tx(struct wf_ep *ep, const struct wf_cancel *which)
{
	/* Its lock is held. */
	assert_false(wf_trylock(&ep->lock));
	asked = which;
	return true;
}

static void test_cancel(void **state)
{
	struct wf_xfer_ops xfer = fake_ops;
	struct wf_cancel which = { .context = &context };
	struct fake *fake = open_fake(*state, new_info());
	struct wf_lower_ep ep = { .fid = &fake->ep.fid, .builtin = &fake->ep };

	assert_false(wf_lower_cancel_tx(&ep, &which));
	xfer.cancel_tx = cancel_tx;
	fake->ep.xfer = &xfer;
	assert_true(wf_lower_cancel_tx(&ep, &which));
	assert_ptr_equal(asked, &which);
	assert_true(wf_trylock(&fake->ep.lock));
	wf_unlock(&fake->ep.lock);
	close_ep(&fake->ep.fid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_descs),
		cmocka_unit_test(test_injects),
		cmocka_unit_test(test_empty_inject),
		DOMAIN_TEST(test_start),
		DOMAIN_TEST(test_inject_builtin),
		DOMAIN_TEST(test_inject_small),
		cmocka_unit_test(test_inject_foreign),
		DOMAIN_TEST(test_small),
		cmocka_unit_test(test_atomic_valid),
		DOMAIN_TEST(test_cancel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
