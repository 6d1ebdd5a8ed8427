/* SPDX-License-Identifier: BSD-2-Clause */
/* A service that lives long: peers that came and went leave no memory behind. */
#include <malloc.h>

#include "../sanitizer.h"
#include "suites.h"

/* ONCE: bytes of tables whose size follows the number of peers that leave at a time. */
enum { WARM_UP = 100, ROUNDS = 400, EACH_MAX = 64, ONCE = 16384, LEN = 8 };

#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 33)
#define HAVE_MALLINFO2 1
#endif
#endif

/* What this process has allocated. */
static size_t allocated(void)
{
#ifdef HAVE_MALLINFO2
	return mallinfo2().uordblks;
#else
	return 0;
#endif
}

/* Drive both until @context is reported by @cq. */
static void wait_for(struct cf_side *a, struct cf_side *b, struct fid_cq *cq)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	struct fi_cq_data_entry entry;
	ssize_t ret = -FI_EAGAIN;

	while (ret == -FI_EAGAIN) {
		(void)fi_cq_read(a->rx_cq, NULL, 0);
		(void)fi_cq_read(b->rx_cq, NULL, 0);
		ret = fi_cq_read(cq, &entry, 1);
		CHECK(cf_now_ms() < deadline);
	}
	CHECK_EQ(ret, 1);
}

static void send_one(struct cf_side *from, struct cf_side *to, fi_addr_t addr)
{
	static const char out[LEN] = "message";
	struct fi_context2 contexts[2];
	char in[LEN] = { 0 };

	CHECK_OK(fi_recv(to->ep, in, LEN, NULL, FI_ADDR_UNSPEC, &contexts[0]));
	CHECK_OK(fi_send(from->ep, out, LEN, NULL, addr, &contexts[1]));
	wait_for(from, to, to->rx_cq);
	wait_for(from, to, from->tx_cq);
	CHECK(!memcmp(in, out, LEN));
}

static fi_addr_t insert(struct cf_side *side, struct cf_side *other)
{
	fi_addr_t addr = FI_ADDR_NOTAVAIL;
	size_t len = 256;
	char name[256];

	CHECK_OK(fi_getname(&other->ep->fid, name, &len));
	CHECK_EQ(fi_av_insert(side->av, name, 1, &addr, 0, NULL), 1);
	return addr;
}

/* A client asks, gets an answer and closes; its address is removed from the AV then or,
 * if @early, before. */
static void serve_one(struct cf_env *env, const struct cf_options *options, bool early)
{
	struct cf_side *server = &env->side[0], client = { .ep = NULL };
	fi_addr_t addr;

	cf_open_side(env, &client, env->info, options);
	send_one(&client, server, insert(&client, server));
	addr = insert(server, &client);
	send_one(server, &client, addr);
	if (early)
		CHECK_OK(fi_av_remove(server->av, &addr, 1, 0));
	CF_CLOSE(client.ep);
	if (client.rx_cq != client.tx_cq)
		CF_CLOSE(client.rx_cq);
	CF_CLOSE(client.tx_cq);
	CF_CLOSE(client.av);
	if (!early)
		CHECK_OK(fi_av_remove(server->av, &addr, 1, 0));
	for (int i = 0; i < 50; i++)
		(void)fi_cq_read(server->rx_cq, NULL, 0);
}

/* The server notices the end of the last clients only now and then. */
static void settle(struct cf_side *server)
{
	uint64_t until = cf_now_ms() + 50;

	while (cf_now_ms() < until)
		(void)fi_cq_read(server->rx_cq, NULL, 0);
}

static void peers_that_left_take_no_memory(void)
{
	struct cf_options options = { .split_cqs = true };
	struct cf_env env;
	size_t before = 0, after;

	if (cf_target.type != FI_EP_RDM)
		SKIP("one peer, which is known by its connection");
	cf_open_pair(&env, &options);
	for (int i = 0; i < WARM_UP + ROUNDS; i++) {
		if (i == WARM_UP) {
			settle(&env.side[0]);
			before = allocated();
		}
		serve_one(&env, &options, i % 2);
	}
	settle(&env.side[0]);
	after = allocated();
	if (!SANITIZED && after > before + ONCE + (size_t)ROUNDS * EACH_MAX)
		cf_fail(__FILE__, __LINE__, "%zu bytes for %d peers that left",
			after - before, ROUNDS);
	cf_exchange(&env, LEN);
	cf_close(&env);
}

CF_SUITE(forget, CF_CASE(peers_that_left_take_no_memory, "AV-029 AV-032", FI_MSG));
