/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "srx_fixture.h"

/*
 * The fast path against the long one. Operations drawn at random are done twice, once
 * with the fast path of posting, sending and receiving allowed and once without any of
 * them, on the same memory: return codes, completions, counters and memory after each
 * operation must be the same. WEFT_FAST_PATH_SEED repeats one sequence.
 */

enum {
	SEQUENCES = 60,
	OPERATIONS = 300,
	SENDERS = 2,
	SLOTS = 64,     /* receive buffers and contexts */
	SLOT_SIZE = 96, /* bytes */
	TRACE_SIZE = 1 << 16,
};

/* Memory of both runs, so that addresses in completions are the same. */
static unsigned char memory[SLOTS][SLOT_SIZE];
static struct fi_context2 contexts[SLOTS];

/* What a run showed, and the operation that showed it. */
struct trace {
	size_t count;
	struct {
		uint64_t value;
		unsigned int operation;
		const char *what;
	} at[TRACE_SIZE];
};

static struct trace traces[2];

/* How endpoints and queues are opened: drawn once for each sequence. */
struct setup {
	uint64_t caps, tx_flags, rx_flags;
	uint64_t tx_cq_flags, rx_cq_flags;
	enum fi_cq_format format;
	enum fi_cntr_events events;
	bool save, shared; /* receives are posted to a shared context */
};

struct run {
	uint64_t rng;
	bool fast;
	unsigned int operation;
	struct trace *trace;
	struct setup setup;
	struct fk_around rx_around, tx_around;
	struct fk *rx, *tx[SENDERS];
	struct fid_ep *context,
		*posts; /* shared context or NULL; where receives are posted */
	fi_addr_t addr[SENDERS];
};

/* Through which path the messages of all fast runs went. */
static unsigned int sent_fast, delivered_fast;

static uint64_t draw(struct run *r, uint64_t below)
{
	r->rng = r->rng * 6364136223846793005u + 1442695040888963407u;
	return (r->rng >> 33) % below;
}

static bool one_in(struct run *r, uint64_t n)
{
	return draw(r, n) == 0;
}

static void show(struct run *r, const char *what, uint64_t value)
{
	assert_true(r->trace->count < TRACE_SIZE);
	r->trace->at[r->trace->count].value = value;
	r->trace->at[r->trace->count].operation = r->operation;
	r->trace->at[r->trace->count++].what = what;
}

/* ---- the senders' transport: what they send arrives at the receiver at once ---- */

static struct run *current;

static fi_addr_t source_of(const struct wf_ep *ep)
{
	return current->addr[ep == &current->tx[1]->ep];
}

static ssize_t send_fast(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag)
{
	const unsigned char *bytes = buf;

	(void)addr;
	/* There is no space for it: it takes the long path. */
	if (len % 8 == 7)
		return -FI_EAGAIN;
	assert_true(current->fast);
	sent_fast++;
	fk_arrive(current->rx, &(struct fk_arrival){
				       .from = source_of(ep),
				       .tagged = kind == WF_OP_TSEND,
				       .tag = tag,
				       .first = len ? bytes[0] : 0,
				       .len = len,
			       });
	return 0;
}

static ssize_t send_long(struct wf_ep *ep, struct wf_op *op)
{
	const unsigned char *bytes = op->len ? op->iov[0].iov_base : NULL;

	fk_arrive(current->rx, &(struct fk_arrival){
				       .from = source_of(ep),
				       .tagged = op->kind == WF_OP_TSEND,
				       .has_data = op->flags & FI_REMOTE_CQ_DATA,
				       .tag = op->tag,
				       .data = op->data,
				       .first = bytes ? bytes[0] : 0,
				       .len = op->len,
			       });
	return fk_start_op(ep, op);
}

static const struct wf_xfer_ops sender_ops = {
	.lock_kind = WF_LOCK_SPIN,
	.start = send_long,
	.send_small = send_fast,
	.small_size = 32,
	.progress = fk_progress,
	.enable = fk_enable,
	.destroy = fk_destroy,
	.srx_ops = &fk_srx_ops,
	.srx_addr = fk_srx_addr,
};

/* ---- operations ---- */

static uint64_t draw_tag(struct run *r)
{
	return draw(r, 3);
}

static fi_addr_t draw_source(struct run *r)
{
	return one_in(r, 2) ? FI_ADDR_UNSPEC : r->addr[draw(r, SENDERS)];
}

static uint64_t draw_ignore(struct run *r)
{
	return one_in(r, 3) ? draw(r, 4) : 0;
}

static size_t draw_len(struct run *r)
{
	return one_in(r, 4) ? draw(r, FK_ROOM + 1) : draw(r, 17);
}

static void do_recv(struct run *r)
{
	size_t slot = draw(r, SLOTS), len = draw_len(r);
	fi_addr_t source = draw_source(r);
	uint64_t tag = draw_tag(r), ignore = draw_ignore(r);
	struct fid_ep *ep = r->posts;

	if (one_in(r, 2))
		show(r, "fi_recv",
			(uint64_t)fi_recv(
				ep, memory[slot], len, NULL, source, &contexts[slot]));
	else
		show(r, "fi_trecv",
			(uint64_t)fi_trecv(ep, memory[slot], len, NULL, source, tag,
				ignore, &contexts[slot]));
}

/* The same receive in one buffer or, by the long path, in two. */
static ssize_t post_pieces(struct run *r, unsigned char *buf, size_t len, size_t first,
	fi_addr_t source, void *context)
{
	struct iovec iov[2] = { { buf, first }, { buf + first, len - first } };
	uint64_t tag = draw_tag(r), ignore = draw_ignore(r);
	bool tagged = one_in(r, 2);

	if (r->fast)
		return tagged ? fi_trecv(r->posts, buf, len, NULL, source, tag, ignore,
					context)
			      : fi_recv(r->posts, buf, len, NULL, source, context);
	return tagged ? fi_trecvv(r->posts, iov, NULL, 2, source, tag, ignore, context)
		      : fi_recvv(r->posts, iov, NULL, 2, source, context);
}

static void do_recvv(struct run *r)
{
	size_t slot = draw(r, SLOTS), len = draw_len(r) + 1, first = draw(r, len + 1);
	fi_addr_t source = draw_source(r);

	/* A buffer for several messages is one piece. */
	if (r->setup.rx_flags & FI_MULTI_RECV)
		return;
	show(r, "fi_recvv",
		(uint64_t)post_pieces(
			r, memory[slot], len, first, source, &contexts[slot]));
}

static void do_recvmsg(struct run *r)
{
	size_t slot = draw(r, SLOTS), len = draw_len(r);
	uint64_t flags = one_in(r, 2) ? FI_COMPLETION : 0;
	struct iovec iov = { memory[slot], len };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = draw_source(r),
		.context = &contexts[slot],
	};

	if (one_in(r, 4)) {
		flags |= FI_MULTI_RECV;
		iov.iov_len = SLOT_SIZE;
	}
	show(r, "fi_recvmsg", (uint64_t)fi_recvmsg(r->posts, &msg, flags));
}

static void do_trecvmsg(struct run *r)
{
	static const uint64_t looks[] = { 0, FI_COMPLETION, FI_PEEK, FI_PEEK | FI_CLAIM,
		FI_PEEK | FI_DISCARD, FI_CLAIM, FI_CLAIM | FI_DISCARD };
	size_t slot = draw(r, SLOTS / 16), len = draw_len(r);
	uint64_t flags = looks[draw(r, WF_ARRAY_SIZE(looks))];
	fi_addr_t source = draw_source(r);
	uint64_t tag = draw_tag(r), ignore = draw_ignore(r);

	show(r, "fi_trecvmsg",
		(uint64_t)fk_trecvmsg(r->posts, memory[slot], len, source, tag, ignore,
			&contexts[slot], flags));
}

static void do_cancel(struct run *r)
{
	show(r, "fi_cancel",
		(uint64_t)fi_cancel(&r->posts->fid, &contexts[draw(r, SLOTS)]));
}

/* What a sender sends: @first and its successors. */
struct payload {
	unsigned char bytes[FK_ROOM];
	size_t len;
	struct fid_ep *ep;
	fi_addr_t to;
	uint64_t tag;
	void *context;
};

static struct payload draw_payload(struct run *r)
{
	struct payload p = {
		.len = draw_len(r),
		.ep = &r->tx[draw(r, SENDERS)]->ep.fid,
		.to = r->addr[0],
		.tag = draw_tag(r),
		.context = &contexts[draw(r, SLOTS)],
	};
	unsigned char first = (unsigned char)draw(r, 256);

	for (size_t i = 0; i < p.len; i++)
		p.bytes[i] = (unsigned char)(first + i);
	return p;
}

static ssize_t send_untagged(struct run *r, const struct payload *p)
{
	switch (draw(r, 5)) {
	case 0:
		return fi_inject(p->ep, p->bytes, p->len, p->to);
	case 1:
		return fi_senddata(
			p->ep, p->bytes, p->len, NULL, 77, p->to, p->context);
	case 2:
		return fi_injectdata(p->ep, p->bytes, p->len, 78, p->to);
	default:
		return fi_send(p->ep, p->bytes, p->len, NULL, p->to, p->context);
	}
}

static ssize_t send_tagged(struct run *r, const struct payload *p)
{
	struct iovec iov = { (void *)(uintptr_t)p->bytes, p->len };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = p->to,
		.tag = p->tag,
		.context = p->context,
	};

	switch (draw(r, 6)) {
	case 0:
		return fi_tinject(p->ep, p->bytes, p->len, p->to, p->tag);
	case 1:
		return fi_tsenddata(
			p->ep, p->bytes, p->len, NULL, 79, p->to, p->tag, p->context);
	case 2:
		return fi_tinjectdata(p->ep, p->bytes, p->len, 80, p->to, p->tag);
	case 3:
		return fi_tsendmsg(p->ep, &msg, one_in(r, 2) ? FI_COMPLETION : 0);
	default:
		return fi_tsend(
			p->ep, p->bytes, p->len, NULL, p->to, p->tag, p->context);
	}
}

static void do_send(struct run *r)
{
	struct payload p = draw_payload(r);

	show(r, "send",
		(uint64_t)(one_in(r, 2) ? send_untagged(r, &p) : send_tagged(r, &p)));
}

static void show_error(struct run *r, struct fid_cq *cq)
{
	struct fi_cq_err_entry err = { 0 };

	show(r, "fi_cq_readerr", (uint64_t)fi_cq_readerr(cq, &err, 0));
	show(r, "error: context", (uintptr_t)err.op_context);
	show(r, "error: flags", err.flags);
	show(r, "error: len", err.len);
	show(r, "error: buf", (uintptr_t)err.buf);
	show(r, "error: data", err.data);
	show(r, "error: tag", err.tag);
	show(r, "error: olen", err.olen);
	show(r, "error: err", (uint64_t)err.err);
	show(r, "error: src_addr", err.src_addr);
}

/* One entry; an error if that is first. False: there is none. */
static bool show_completion(struct run *r, struct fid_cq *cq)
{
	uint64_t words[sizeof(struct fi_cq_tagged_entry) / sizeof(uint64_t)] = { 0 };
	fi_addr_t source = 0;
	ssize_t ret = fi_cq_readfrom(cq, words, 1, &source);

	show(r, "fi_cq_readfrom", (uint64_t)ret);
	if (ret == -FI_EAVAIL)
		show_error(r, cq);
	if (ret != 1)
		return ret == -FI_EAVAIL;
	for (size_t i = 0; i < WF_ARRAY_SIZE(words); i++)
		show(r, "completion", words[i]);
	show(r, "completion: source", source);
	return true;
}

static void do_read(struct run *r)
{
	for (uint64_t n = draw(r, 6); n; n--) {
		(void)show_completion(r, r->rx_around.cq);
		(void)show_completion(r, r->tx_around.cq);
	}
}

static uint64_t hash_of_memory(void)
{
	const unsigned char *bytes = memory[0];
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < sizeof(memory); i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

static void show_state(struct run *r)
{
	show(r, "memory", hash_of_memory());
	show(r, "receive counter", fi_cntr_read(r->rx_around.cntr));
	show(r, "receive errors", fi_cntr_readerr(r->rx_around.cntr));
	show(r, "send counter", fi_cntr_read(r->tx_around.cntr));
	show(r, "free receives", (uint64_t)r->posts->ops->rx_size_left(r->posts));
}

static void step(struct run *r)
{
	static const struct {
		void (*operation)(struct run *r);
		unsigned int weight;
	} operations[] = {
		{ do_recv, 40 },
		{ do_recvv, 6 },
		{ do_recvmsg, 8 },
		{ do_trecvmsg, 8 },
		{ do_cancel, 3 },
		{ do_send, 50 },
		{ do_read, 25 },
	};
	uint64_t n = draw(r, 140);

	for (size_t i = 0; i < WF_ARRAY_SIZE(operations); i++) {
		if (n < operations[i].weight) {
			operations[i].operation(r);
			break;
		}
		n -= operations[i].weight;
	}
	show_state(r);
}

/* ---- two runs of one sequence ---- */

static struct setup draw_setup(struct run *r)
{
	static const uint64_t tx_flags[] = { 0, 0, FI_COMPLETION, FI_INJECT_COMPLETE,
		FI_DELIVERY_COMPLETE };
	static const enum fi_cq_format formats[] = { FI_CQ_FORMAT_CONTEXT,
		FI_CQ_FORMAT_MSG, FI_CQ_FORMAT_DATA, FI_CQ_FORMAT_TAGGED,
		FI_CQ_FORMAT_TAGGED };
	struct setup s = { .caps = FI_SOURCE | FI_MULTI_RECV };

	if (one_in(r, 2))
		s.caps |= FI_DIRECTED_RECV;
	if (one_in(r, 8))
		s.caps |= FI_EXACT_DIRECTED_RECV | FI_DIRECTED_RECV;
	s.tx_flags = tx_flags[draw(r, WF_ARRAY_SIZE(tx_flags))];
	s.rx_flags = one_in(r, 3) ? FI_COMPLETION : 0;
	s.rx_flags |= one_in(r, 8) ? FI_MULTI_RECV : 0;
	s.tx_cq_flags = one_in(r, 3) ? FI_SELECTIVE_COMPLETION : 0;
	s.rx_cq_flags = one_in(r, 3) ? FI_SELECTIVE_COMPLETION : 0;
	s.format = formats[draw(r, WF_ARRAY_SIZE(formats))];
	s.events = one_in(r, 4) ? FI_CNTR_EVENTS_BYTES : FI_CNTR_EVENTS_COMP;
	s.save = one_in(r, 2);
	s.shared = one_in(r, 4);
	return s;
}

static void no_fast_path(struct wf_ep *ep)
{
	ep->fast_post = false;
	ep->small_limit = 0;
}

static struct fid_ep *open_context(const struct run *r)
{
	struct fi_rx_attr attr = {
		.caps = FI_MSG | FI_TAGGED | r->setup.caps,
		.op_flags = r->setup.rx_flags,
		.iov_limit = 3,
		.size = 8,
	};
	struct fid_ep *context;

	assert_int_equal(
		wf_srx_open(&r->rx_around.f->domain.fid, &attr, &context, NULL), 0);
	if (!r->fast)
		no_fast_path(wf_ep_of(context));
	return context;
}

static struct fk *open_endpoint(struct run *r, struct fk_around *a,
	const struct wf_xfer_ops *ops, uint64_t cq_flags)
{
	struct fi_info *info = fk_info(r->setup.caps);
	struct fk *fk;
	struct fid_ep *ep;

	info->tx_attr->op_flags = r->setup.tx_flags;
	info->rx_attr->op_flags = r->setup.rx_flags;
	fk = fk_open(a->f, info);
	fk->ep.xfer = ops;
	fk->sends = true;
	fk->save = r->setup.save;
	fk->path = r->fast ? FK_FAST : FK_LONG;
	ep = &fk->ep.fid;
	if (r->context && ops == &fk_xfer_ops)
		assert_int_equal(fi_ep_bind(ep, &r->context->fid, 0), 0);
	assert_int_equal(
		fi_ep_bind(ep, &a->cq->fid, FI_TRANSMIT | FI_RECV | cq_flags), 0);
	assert_int_equal(fi_ep_bind(ep, &a->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &a->cntr->fid, FI_RECV | FI_SEND), 0);
	assert_int_equal(fi_enable(ep), 0);
	if (!r->fast)
		no_fast_path(&fk->ep);
	return fk;
}

static void run_open(struct run *r, struct domain_fixture *f)
{
	r->setup = draw_setup(r);
	r->rx_around = fk_open_around_with(f, r->setup.format, r->setup.events);
	r->tx_around = fk_open_around_with(f, r->setup.format, r->setup.events);
	r->context = r->setup.shared ? open_context(r) : NULL;
	r->rx = open_endpoint(r, &r->rx_around, &fk_xfer_ops, r->setup.rx_cq_flags);
	r->posts = r->context ? r->context : &r->rx->ep.fid;
	for (unsigned int i = 0; i < SENDERS; i++) {
		r->tx[i] = open_endpoint(
			r, &r->tx_around, &sender_ops, r->setup.tx_cq_flags);
		r->addr[i] = fk_insert(&r->rx_around, 1000 + i);
	}
	current = r;
}

static void run_close(struct run *r)
{
	for (unsigned int i = 0; i < SENDERS; i++)
		fk_close(r->tx[i]);
	fk_close(r->rx);
	if (r->context)
		assert_int_equal(fi_close(&r->context->fid), 0);
	fk_close_around(&r->rx_around);
	fk_close_around(&r->tx_around);
}

static void run(struct domain_fixture *f, uint64_t seed, bool fast)
{
	struct run r = { .rng = seed, .fast = fast, .trace = &traces[fast] };

	memset(memory, 0, sizeof(memory));
	memset(contexts, 0, sizeof(contexts));
	r.trace->count = 0;
	run_open(&r, f);
	for (r.operation = 0; r.operation < OPERATIONS; r.operation++)
		step(&r);
	while (show_completion(&r, r.rx_around.cq) ||
		show_completion(&r, r.tx_around.cq))
		;
	show_state(&r);
	if (fast)
		delivered_fast += r.rx->delivered;
	else
		assert_int_equal(r.rx->delivered, 0);
	run_close(&r);
}

static void compare(uint64_t seed)
{
	const struct trace *slow = &traces[false], *fast = &traces[true];

	for (size_t i = 0; i < WF_MIN(slow->count, fast->count); i++) {
		if (slow->at[i].value == fast->at[i].value)
			continue;
		fail_msg("operation %u, %s: %#" PRIx64 " by the long path, %#" PRIx64
			 " by the fast one; WEFT_FAST_PATH_SEED=%" PRIu64,
			slow->at[i].operation, slow->at[i].what, slow->at[i].value,
			fast->at[i].value, seed);
	}
	assert_int_equal(slow->count, fast->count);
}

/* CQ-039, CNT-018 */
static void test_same(void **state)
{
	const char *asked = getenv("WEFT_FAST_PATH_SEED");
	uint64_t first = asked ? strtoull(asked, NULL, 0) : 1;
	uint64_t count = asked ? 1 : SEQUENCES;

	sent_fast = delivered_fast = 0;
	for (uint64_t seed = first; seed < first + count; seed++) {
		run(*state, seed, false);
		run(*state, seed, true);
		compare(seed);
	}
	assert_true(asked || (sent_fast > 100 && delivered_fast > 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
