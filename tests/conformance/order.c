/* SPDX-License-Identifier: BSD-2-Clause */
/* What overtakes what: message order under load, and around remote memory access. */
#include "suites.h"

static uint64_t order; /* of the case */

static void ordered(struct fi_info *hints)
{
	hints->tx_attr->msg_order = order;
	hints->rx_attr->msg_order = order;
}

static void open_ordered(struct cf_env *env, uint64_t caps, uint64_t wanted)
{
	struct cf_options options = { .caps = caps,
		.cq_format = FI_CQ_FORMAT_TAGGED,
		.split_cqs = true,
		.adjust = ordered };

	order = wanted;
	if (!cf_offers(&options))
		SKIP("the order is not offered");
	cf_open_pair(env, &options);
	CHECK_EQ(env->info->tx_attr->msg_order & wanted, wanted);
	CHECK_EQ(env->info->rx_attr->msg_order & wanted, wanted);
}

/* ---- messages ---- */

enum { COUNT = 400, LARGEST = 200000 };

static size_t len_of(uint32_t i)
{
	static const size_t sizes[] = { 4, 64, 5000, 4, 300, LARGEST, 4, 70000 };

	return sizes[(i * 5 + i / 8) % CF_COUNT(sizes)];
}

struct stream {
	struct cf_env env;
	struct fi_context2 tx[COUNT], rx[COUNT];
	uint8_t *out[COUNT], *in[COUNT];
	uint32_t sent, done, posted, received;
};

static void read_queues(struct stream *s)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	while ((ret = fi_cq_read(s->env.side[0].tx_cq, &entry, 1)) == 1)
		s->done++;
	CHECK_EQ(ret, -FI_EAGAIN);
	while ((ret = fi_cq_read(s->env.side[1].rx_cq, &entry, 1)) == 1) {
		/* Completions may come in another order, matches may not. */
		uint32_t i = (uint32_t)((struct fi_context2 *)entry.op_context - s->rx),
			 value;

		CHECK(i < COUNT);
		CHECK_EQ(entry.len, len_of(i));
		memcpy(&value, s->in[i], 4);
		CHECK_EQ(value, i);
		cf_verify(s->in[i] + 4, len_of(i) - 4, i);
		s->received++;
	}
	CHECK_EQ(ret, -FI_EAGAIN);
}

static void send_next(struct stream *s, bool tagged)
{
	uint32_t i = s->sent++;
	struct cf_side *from = &s->env.side[0];
	ssize_t ret;

	s->out[i] = malloc(LARGEST);
	CHECK(s->out[i]);
	memcpy(s->out[i], &i, 4);
	cf_fill(s->out[i] + 4, len_of(i) - 4, i);
	do {
		if (tagged)
			ret = fi_tsend(from->ep, s->out[i], len_of(i), NULL, from->peer,
				7, &s->tx[i]);
		else
			ret = fi_send(from->ep, s->out[i], len_of(i), NULL, from->peer,
				&s->tx[i]);
		if (ret == -FI_EAGAIN)
			read_queues(s);
	} while (ret == -FI_EAGAIN);
	CHECK_OK(ret);
}

static void post_next(struct stream *s, bool tagged)
{
	uint32_t i = s->posted++;
	struct cf_side *to = &s->env.side[1];
	ssize_t ret;

	s->in[i] = calloc(1, LARGEST);
	CHECK(s->in[i]);
	do {
		if (tagged)
			ret = fi_trecv(to->ep, s->in[i], LARGEST, NULL, FI_ADDR_UNSPEC,
				i % 2 ? 7 : 0, i % 2 ? 0 : UINT64_MAX, &s->rx[i]);
		else
			ret = fi_recv(to->ep, s->in[i], LARGEST, NULL, FI_ADDR_UNSPEC,
				&s->rx[i]);
		if (ret == -FI_EAGAIN)
			read_queues(s);
	} while (ret == -FI_EAGAIN);
	CHECK_OK(ret);
}

/* Receives are ahead for a while, then behind, in turns. */
static void run_stream(bool tagged)
{
	static struct stream s;
	uint64_t deadline = cf_now_ms() + 4 * CF_TIMEOUT_MS;

	open_ordered(&s.env, tagged ? FI_TAGGED : 0, FI_ORDER_SAS);
	while (s.posted < COUNT || s.sent < COUNT) {
		uint32_t phase = (s.posted + s.sent) / 40 % 2;

		if (s.sent < COUNT && (phase || s.posted == COUNT) &&
			s.sent < s.posted + 30)
			send_next(&s, tagged);
		else if (s.posted < COUNT && s.posted < s.sent + 30)
			post_next(&s, tagged);
		else if (s.sent < COUNT)
			send_next(&s, tagged);
		read_queues(&s);
	}
	while (s.received < COUNT || s.done < COUNT) {
		read_queues(&s);
		CHECK(cf_now_ms() < deadline);
	}
	cf_close(&s.env);
	for (int i = 0; i < COUNT; i++) {
		free(s.out[i]);
		free(s.in[i]);
	}
}

static void messages_of_all_sizes_stay_in_order(void)
{
	run_stream(false);
}

static void tagged_messages_stay_in_order(void)
{
	run_stream(true);
}

/* ---- remote memory ---- */

enum { LEN = 200000, ROUNDS = 30 };

struct memory {
	struct cf_env env;
	struct cf_region region;
	struct fi_context2 contexts[3];
	struct cf_side *from;
	uint8_t *local[2];
};

static void open_memory(struct memory *m, uint64_t caps, uint64_t wanted)
{
	open_ordered(&m->env, FI_RMA | caps, wanted);
	m->from = &m->env.side[0];
	cf_open_region(
		&m->env, 1, &m->region, NULL, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE);
	for (int i = 0; i < 2; i++) {
		m->local[i] = calloc(1, LEN);
		CHECK(m->local[i]);
	}
}

static void close_memory(struct memory *m)
{
	for (int i = 0; i < 2; i++)
		free(m->local[i]);
	cf_close_region(&m->region);
	cf_close(&m->env);
}

/* The largest length up to @limit, LEN and the round's. */
static size_t ordered_len(size_t limit, int round)
{
	size_t len = 8 + (size_t)round * (LEN - 8) / ROUNDS;

	return len < limit ? len : limit;
}

static void write_local(struct memory *m, int which, size_t len)
{
	CF_RETRY(m->from->tx_cq,
		fi_write(m->from->ep, m->local[which], len, NULL, m->from->peer,
			m->region.addr, m->region.key, &m->contexts[which]));
}

static void read_into(struct memory *m, int which, size_t len)
{
	CF_RETRY(m->from->tx_cq,
		fi_read(m->from->ep, m->local[which], len, NULL, m->from->peer,
			m->region.addr, m->region.key, &m->contexts[which]));
}

static void wait_for(struct memory *m, int count)
{
	struct fi_cq_tagged_entry entry;

	while (count-- > 0)
		cf_cq_wait(m->from->tx_cq, &entry);
}

/* Send one byte, which means that everything written before is in memory. */
static void post_flag(struct memory *m, bool tagged, void *buf)
{
	struct cf_side *to = &m->env.side[1];

	if (tagged)
		CF_RETRY(to->rx_cq, fi_trecv(to->ep, buf, 1, NULL, FI_ADDR_UNSPEC, 5, 0,
					    &m->contexts[1]));
	else
		cf_post_recv(&m->env, buf, 1, &m->contexts[1]);
}

static void send_flag(struct memory *m, bool tagged, const void *buf)
{
	if (tagged)
		CF_RETRY(m->from->tx_cq, fi_tsend(m->from->ep, buf, 1, NULL,
						 m->from->peer, 5, &m->contexts[2]));
	else
		cf_post_send(&m->env, buf, 1, &m->contexts[2]);
}

static void check_sends_after_writes(bool tagged)
{
	struct fi_cq_tagged_entry entry;
	static struct memory m;
	char in, out = 1;

	open_memory(&m, tagged ? FI_TAGGED : 0, FI_ORDER_SAW);
	for (int round = 0; round < ROUNDS; round++) {
		size_t len = ordered_len(LEN, round);

		cf_fill(m.local[0], len, (unsigned int)round);
		post_flag(&m, tagged, &in);
		write_local(&m, 0, len);
		send_flag(&m, tagged, &out);
		cf_cq_wait(m.env.side[1].rx_cq, &entry);
		cf_verify(m.region.bytes, len, (unsigned int)round);
		wait_for(&m, 2);
	}
	close_memory(&m);
}

static void a_send_comes_after_writes(void)
{
	check_sends_after_writes(false);
}

static void a_tagged_send_comes_after_writes(void)
{
	check_sends_after_writes(true);
}

static void a_read_sees_the_write_before(void)
{
	static struct memory m;

	open_memory(&m, 0, FI_ORDER_RAW);
	for (int round = 0; round < ROUNDS; round++) {
		size_t len =
			ordered_len(m.env.info->ep_attr->max_order_raw_size, round);

		cf_fill(m.local[0], len, (unsigned int)round);
		write_local(&m, 0, len);
		read_into(&m, 1, len);
		wait_for(&m, 2);
		cf_verify(m.local[1], len, (unsigned int)round);
	}
	close_memory(&m);
}

static void a_write_leaves_the_read_before(void)
{
	static struct memory m;

	open_memory(&m, 0, FI_ORDER_WAR);
	for (int round = 0; round < ROUNDS; round++) {
		size_t len =
			ordered_len(m.env.info->ep_attr->max_order_war_size, round);

		cf_fill(m.region.bytes, len, 1);
		cf_fill(m.local[0], len, 2);
		read_into(&m, 1, len);
		write_local(&m, 0, len);
		wait_for(&m, 2);
		cf_verify(m.local[1], len, 1);
	}
	close_memory(&m);
}

static void the_last_write_stays(void)
{
	static struct memory m;

	open_memory(&m, 0, FI_ORDER_WAW | FI_ORDER_RAW);
	for (int round = 0; round < ROUNDS; round++) {
		size_t len =
			ordered_len(m.env.info->ep_attr->max_order_waw_size, round);

		cf_fill(m.local[0], LEN, 1);
		cf_fill(m.local[1], LEN, 2);
		for (int i = 0; i < 6; i++)
			write_local(&m, i % 2, i % 3 ? len : 8);
		write_local(&m, 1, len);
		wait_for(&m, 7);
		read_into(&m, 0, len);
		wait_for(&m, 1);
		cf_verify(m.local[0], len, 2);
	}
	close_memory(&m);
}

/* ---- fence ---- */

static void a_fence_waits_for_what_was_before(void)
{
	struct cf_options options = { .caps = FI_RMA | FI_FENCE, .split_cqs = true };
	struct fi_rma_iov target;
	struct iovec iov;
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .iov_count = 1, .rma_iov = &target, .rma_iov_count = 1
	};
	static struct memory m;

	cf_open_pair(&m.env, &options);
	m.from = &m.env.side[0];
	cf_open_region(
		&m.env, 1, &m.region, NULL, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE);
	for (int i = 0; i < 2; i++) {
		m.local[i] = calloc(1, LEN);
		CHECK(m.local[i]);
	}
	for (int round = 0; round < ROUNDS; round++) {
		size_t len = ordered_len(LEN, round);

		cf_fill(m.local[0], len, (unsigned int)round);
		write_local(&m, 0, len);
		iov = (struct iovec){ m.local[1], len };
		target = (struct fi_rma_iov){ m.region.addr, len, m.region.key };
		msg.addr = m.from->peer;
		msg.context = &m.contexts[1];
		CF_RETRY(m.from->tx_cq, fi_readmsg(m.from->ep, &msg, FI_FENCE));
		/* The one before is complete first. */
		(void)cf_cq_wait_for(m.from->tx_cq, &m.contexts[0]);
		(void)cf_cq_wait_for(m.from->tx_cq, &m.contexts[1]);
		cf_verify(m.local[1], len, (unsigned int)round);
	}
	close_memory(&m);
}

/* Poll until the first byte of the target changes, at most @looks times. */
static bool written(const struct memory *m, int looks)
{
	const volatile uint8_t *first = m->region.bytes;

	for (int i = 0; i < looks && !*first; i++) {
		cf_progress();
		(void)fi_cq_read(m->env.side[1].rx_cq, NULL, 0);
	}
	return *first;
}

/* A send whose receive comes late: the write waits for its data. */
static void a_fenced_write_waits_for_a_send(void)
{
	enum { LOOKS = 2000 };
	struct cf_options options = { .caps = FI_RMA | FI_FENCE, .split_cqs = true };
	static struct fi_context2 contexts[3];
	static struct memory m;
	uint8_t *out = malloc(LARGEST), *in = calloc(1, LARGEST);
	struct iovec iov[2] = { { out, LARGEST }, { out, 8 } };
	struct fi_rma_iov target;
	struct fi_msg send = { .msg_iov = &iov[0], .iov_count = 1 };
	struct fi_msg_rma write = { .msg_iov = &iov[1],
		.iov_count = 1,
		.rma_iov = &target,
		.rma_iov_count = 1 };
	uint64_t deadline;

	CHECK(out && in);
	cf_fill(out, LARGEST, 1);
	out[0] = 1;
	cf_open_pair(&m.env, &options);
	cf_meet(&m.env);
	m.from = &m.env.side[0];
	cf_open_region(&m.env, 1, &m.region, NULL, 8, FI_REMOTE_WRITE);
	target = (struct fi_rma_iov){ m.region.addr, 8, m.region.key };
	send.addr = write.addr = m.from->peer;
	send.context = &contexts[0];
	write.context = &contexts[1];
	CF_RETRY(m.from->tx_cq,
		fi_sendmsg(m.from->ep, &send, FI_DELIVERY_COMPLETE | FI_COMPLETION));
	CF_RETRY(m.from->tx_cq,
		fi_writemsg(m.from->ep, &write, FI_FENCE | FI_COMPLETION));
	CHECK(!written(&m, LOOKS));
	cf_post_recv(&m.env, in, LARGEST, &contexts[2]);
	deadline = cf_now_ms() + CF_TIMEOUT_MS;
	while (!written(&m, 1))
		CHECK(cf_now_ms() < deadline);
	CHECK(!memcmp(in, out, LARGEST));
	(void)cf_cq_wait_for(m.from->tx_cq, &contexts[0]);
	(void)cf_cq_wait_for(m.from->tx_cq, &contexts[1]);
	(void)cf_cq_wait_for(m.env.side[1].rx_cq, &contexts[2]);
	free(out);
	free(in);
	close_memory(&m);
}

/* Operations of each side behind a fence wait for messages that the other side has to
 * receive: neither fence holds back the answers to the peer. */
static void fences_of_both_sides(void)
{
	struct cf_options options = { .caps = FI_MSG | FI_FENCE, .split_cqs = true };
	static struct fi_context2 contexts[2][4];
	static uint8_t small[2] = { 1, 2 }, got[2];
	uint8_t *out = malloc(LARGEST), *in[2];
	struct cf_env env;

	in[0] = calloc(1, LARGEST);
	in[1] = calloc(1, LARGEST);
	CHECK(out && in[0] && in[1]);
	cf_fill(out, LARGEST, 3);
	cf_open_pair(&env, &options);
	for (int i = 0; i < 2; i++) {
		struct cf_side *side = &env.side[i];
		struct iovec iov[2] = { { out, LARGEST }, { &small[i], 1 } };
		struct fi_msg msg = {
			.msg_iov = &iov[0], .iov_count = 1, .addr = side->peer
		};

		msg.context = &contexts[i][0];
		CF_RETRY(side->tx_cq, fi_sendmsg(side->ep, &msg,
					      FI_DELIVERY_COMPLETE | FI_COMPLETION));
		msg.msg_iov = &iov[1];
		msg.context = &contexts[i][1];
		CF_RETRY(side->tx_cq,
			fi_sendmsg(side->ep, &msg, FI_FENCE | FI_COMPLETION));
	}
	for (int i = 0; i < 2000; i++)
		cf_progress();
	for (int i = 0; i < 2; i++) {
		struct cf_side *side = &env.side[i];

		CF_RETRY(side->rx_cq, fi_recv(side->ep, in[i], LARGEST, NULL,
					      FI_ADDR_UNSPEC, &contexts[i][2]));
		CF_RETRY(side->rx_cq, fi_recv(side->ep, &got[i], 1, NULL,
					      FI_ADDR_UNSPEC, &contexts[i][3]));
	}
	for (int i = 0; i < 2; i++) {
		(void)cf_cq_wait_for(env.side[i].tx_cq, &contexts[i][0]);
		(void)cf_cq_wait_for(env.side[i].tx_cq, &contexts[i][1]);
		(void)cf_cq_wait_for(env.side[i].rx_cq, &contexts[i][2]);
		(void)cf_cq_wait_for(env.side[i].rx_cq, &contexts[i][3]);
		cf_verify(in[i], LARGEST, 3);
		CHECK_EQ(got[i], small[!i]);
		free(in[i]);
	}
	free(out);
	cf_close(&env);
}

CF_SUITE(order, CF_CASE(messages_of_all_sizes_stay_in_order, "EPA-034 MSG-012", FI_MSG),
	CF_CASE(tagged_messages_stay_in_order, "EPA-034 TAG-002", FI_TAGGED),
	CF_CASE(a_send_comes_after_writes, "CS-022 EPA-029", FI_MSG | FI_RMA),
	CF_CASE(a_tagged_send_comes_after_writes, "CS-022 EPA-029 EPA-031",
		FI_MSG | FI_TAGGED | FI_RMA),
	CF_CASE(a_read_sees_the_write_before, "EPA-008 EPA-029 EPA-030", FI_RMA),
	CF_CASE(a_write_leaves_the_read_before, "EPA-008 EPA-029 EPA-030", FI_RMA),
	CF_CASE(the_last_write_stays, "EPA-008 EPA-029 EPA-030", FI_RMA),
	CF_CASE(a_fence_waits_for_what_was_before, "CS-024 CS-025",
		FI_MSG | FI_RMA | FI_FENCE),
	CF_CASE(a_fenced_write_waits_for_a_send, "CS-024 CS-025",
		FI_MSG | FI_RMA | FI_FENCE),
	CF_CASE(fences_of_both_sides, "CS-024", FI_MSG | FI_FENCE));
