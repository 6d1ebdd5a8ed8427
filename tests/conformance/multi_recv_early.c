/* SPDX-License-Identifier: BSD-2-Clause */
/* Multi-receive buffers under load, and those that are posted after the messages. */
#include "suites.h"

enum { MIN_FREE = 128, SPACE = 4096, BUFFERS = 8 };

struct ring {
	struct cf_env env;
	uint8_t space[BUFFERS][SPACE];
	struct fi_context2 contexts[BUFFERS];
	size_t received, released;
	bool tagged;
};

static void open_ring(struct ring *ring, bool tagged)
{
	struct cf_options options = { .split_cqs = true };
	size_t min = MIN_FREE;

	options.caps = tagged ? FI_TAGGED | FI_MULTI_RECV | FI_TAGGED_MULTI_RECV
			      : FI_MULTI_RECV;
	memset(ring, 0, sizeof(*ring));
	ring->tagged = tagged;
	cf_open_pair(&ring->env, &options);
	CHECK_OK(fi_setopt(&ring->env.side[1].ep->fid, FI_OPT_ENDPOINT,
		FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)));
}

static void post(struct ring *ring, int i)
{
	struct cf_side *to = &ring->env.side[1];
	struct iovec iov = { ring->space[i], SPACE };
	struct fi_msg msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = &ring->contexts[i] };
	struct fi_msg_tagged tagged = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.tag = 0x100,
		.ignore = 0xff,
		.context = &ring->contexts[i] };

	if (ring->tagged)
		CF_RETRY(to->rx_cq, fi_trecvmsg(to->ep, &tagged, FI_MULTI_RECV));
	else
		CF_RETRY(to->rx_cq, fi_recvmsg(to->ep, &msg, FI_MULTI_RECV));
}

static size_t len_of(size_t i)
{
	return 1 + (i * 37) % MIN_FREE;
}

static void send_one(struct ring *ring, size_t i)
{
	struct cf_side *from = &ring->env.side[0];
	uint8_t out[MIN_FREE];

	cf_fill(out, len_of(i), (unsigned int)i);
	if (ring->tagged)
		CF_RETRY(from->tx_cq, fi_tinject(from->ep, out, len_of(i), from->peer,
					      0x100 + i % 256));
	else
		CF_RETRY(from->tx_cq, fi_inject(from->ep, out, len_of(i), from->peer));
}

/* Take what is there; a released buffer is posted again. */
static void drain(struct ring *ring)
{
	struct fi_cq_data_entry entry;
	ssize_t ret;

	while ((ret = fi_cq_read(ring->env.side[1].rx_cq, &entry, 1)) == 1) {
		size_t i = (size_t)((struct fi_context2 *)entry.op_context -
				    ring->contexts);

		CHECK(i < BUFFERS);
		if (entry.flags & FI_RECV) {
			size_t n = ring->received++;

			CHECK_EQ(entry.len, len_of(n));
			CHECK((uint8_t *)entry.buf >= ring->space[i]);
			CHECK((uint8_t *)entry.buf + entry.len <=
				ring->space[i] + SPACE);
			cf_verify(entry.buf, entry.len, (unsigned int)n);
		}
		if (entry.flags & FI_MULTI_RECV) {
			ring->released++;
			post(ring, (int)i);
		}
	}
	CHECK_EQ(ret, -FI_EAGAIN);
}

static void run(struct ring *ring, size_t count, size_t early)
{
	uint64_t deadline = cf_now_ms() + 2 * CF_TIMEOUT_MS;

	for (size_t i = 0; i < early; i++)
		send_one(ring, i);
	for (int i = 0; i < BUFFERS; i++)
		post(ring, i);
	for (size_t i = early; i < count; i++) {
		send_one(ring, i);
		drain(ring);
	}
	while (ring->received < count) {
		drain(ring);
		cf_progress();
		CHECK(cf_now_ms() < deadline);
	}
	CHECK(ring->released > count * MIN_FREE / 2 / SPACE / 2);
	cf_close(&ring->env);
}

static void buffers_take_turns(void)
{
	static struct ring ring;

	open_ring(&ring, false);
	run(&ring, 3000, 0);
}

static void early_messages_fill_a_late_buffer(void)
{
	static struct ring ring;

	open_ring(&ring, false);
	run(&ring, 1000, 200);
}

static void tags_select_buffers(void)
{
	static struct ring ring;

	NEED_API(2, 0);
	open_ring(&ring, true);
	run(&ring, 1000, 50);
}

CF_SUITE(multi_recv_early,
	CF_CASE(buffers_take_turns, "MRV-002 MRV-003 MRV-006", FI_MSG | FI_MULTI_RECV),
	CF_CASE(early_messages_fill_a_late_buffer, "MRV-009", FI_MSG | FI_MULTI_RECV),
	CF_CASE(tags_select_buffers, "MRV-008",
		FI_TAGGED | FI_MULTI_RECV | FI_TAGGED_MULTI_RECV));
