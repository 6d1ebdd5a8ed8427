/* SPDX-License-Identifier: BSD-2-Clause */
/* Cancelling what is to be sent, and sending to an address without an endpoint. */
#include <rdma/fi_atomic.h>

#include "scalable.h"

enum {
	LEN = 4096,
	MOST = 4096, /* messages that fill the way to a peer that does nothing */
	PENDING = 16,
};

static bool automatic; /* of the case, for adjust */
static size_t pending;

static void adjust(struct fi_info *hints)
{
	if (automatic)
		hints->domain_attr->progress = FI_PROGRESS_AUTO;
	if (pending)
		hints->tx_attr->size = pending;
}

static const struct cf_options options = { .caps = FI_MSG | FI_TAGGED | FI_RMA |
						   FI_ATOMIC,
	.cq_format = FI_CQ_FORMAT_TAGGED,
	.split_cqs = true,
	.counters = true,
	.adjust = adjust };

static void open_pair(struct cf_env *env)
{
	if (!cf_offers(&options))
		SKIP("not offered");
	cf_open_pair(env, &options);
}

static void set_patience(const char *ms)
{
	CHECK(!setenv("FI_TCP_REFUSED_TIMEOUT", ms, 1));
	CHECK(!setenv("FI_SHM_REFUSED_TIMEOUT", ms, 1));
	CHECK(!setenv("FI_OFI_RXM_REFUSED_TIMEOUT", ms, 1));
	CHECK(!setenv("FI_OFI_RXD_PEER_TIMEOUT", strlen(ms) > 3 ? "30" : "1", 1));
}

/* The address of an endpoint that was closed, in the AV of side 0. */
static fi_addr_t absent_peer(struct cf_env *env)
{
	struct cf_side gone = { 0 };
	char name[256];
	size_t len = sizeof(name);
	fi_addr_t addr;

	cf_open_side(env, &gone, env->info, &options);
	CHECK_OK(fi_getname(&gone.ep->fid, name, &len));
	CF_CLOSE(gone.ep);
	CF_CLOSE(gone.tx_cq);
	CF_CLOSE(gone.rx_cq);
	CF_CLOSE(gone.tx_cntr);
	CF_CLOSE(gone.rx_cntr);
	CF_CLOSE(gone.av);
	CHECK_EQ(fi_av_insert(env->side[0].av, name, 1, &addr, 0, NULL), 1);
	return addr;
}

/* ---- to a peer that is not there ---- */

enum kind { SEND, TSEND, WRITE, READ, ATOMIC, FETCH, KINDS };

static const uint64_t kind_flags[] = { FI_SEND | FI_MSG, FI_SEND | FI_TAGGED,
	FI_WRITE | FI_RMA, FI_READ | FI_RMA, FI_WRITE | FI_ATOMIC,
	FI_READ | FI_ATOMIC };

static ssize_t start(struct cf_side *side, enum kind kind, fi_addr_t to, void *context)
{
	static _Alignas(uint64_t) uint8_t buf[LEN];
	static uint64_t result;

	switch (kind) {
	case SEND:
		return fi_send(side->ep, buf, LEN, NULL, to, context);
	case TSEND:
		return fi_tsend(side->ep, buf, LEN, NULL, to, 7, context);
	case WRITE:
		return fi_write(side->ep, buf, LEN, NULL, to, 0, 1, context);
	case READ:
		return fi_read(side->ep, buf, LEN, NULL, to, 0, 1, context);
	case ATOMIC:
		return fi_atomic(
			side->ep, buf, 1, NULL, to, 0, 1, FI_UINT64, FI_SUM, context);
	case FETCH:
		return fi_fetch_atomic(side->ep, buf, 1, NULL, &result, NULL, to, 0, 1,
			FI_UINT64, FI_SUM, context);
	case KINDS:
		break;
	}
	abort();
}

static void cancel(struct cf_side *side, struct fi_context2 *context, uint64_t flags)
{
	struct fi_cq_err_entry err = { 0 };

	CHECK_OK(fi_cancel(&side->ep->fid, context));
	/* The entry is there when the call returns. */
	CHECK_EQ(fi_cq_readerr(side->tx_cq, &err, 0), 1);
	CHECK_EQ(err.err, FI_ECANCELED);
	CHECK(err.op_context == context);
	CHECK_EQ(err.flags & flags, flags);
}

static void cancel_each_kind(void)
{
	struct fi_context2 contexts[KINDS][3];
	struct cf_side *side;
	struct cf_env env;
	fi_addr_t to;

	open_pair(&env);
	side = &env.side[0];
	to = absent_peer(&env);
	for (int k = 0; k < KINDS; k++)
		for (int i = 0; i < 3; i++)
			CHECK_OK(start(side, (enum kind)k, to, &contexts[k][i]));
	for (int k = KINDS; k-- > 0;) {
		cancel(side, &contexts[k][1], kind_flags[k]);
		/* Once: a second time there is nothing. */
		CHECK_OK(fi_cancel(&side->ep->fid, &contexts[k][1]));
		cf_cq_quiet(side->tx_cq);
		cancel(side, &contexts[k][2], kind_flags[k]);
		cancel(side, &contexts[k][0], kind_flags[k]);
	}
	CHECK_EQ(fi_cntr_readerr(side->tx_cntr), 6);
	cf_cq_quiet(side->tx_cq);
	cf_exchange(&env, 8); /* with the peer that is there */
	cf_close(&env);
}

static void what_waits_for_an_absent_peer_is_cancelled(void)
{
	cf_need_connectionless();
	cf_own_ports();
	set_patience("600000");
	cancel_each_kind();
	automatic = true;
	if (cf_offers(&options))
		cancel_each_kind();
}

/* Where lnx keeps a record of each transmission. */
static void what_is_recorded_is_cancelled(void)
{
	if (strcmp(cf_target.provider, "lnx") != 0)
		SKIP("only lnx keeps records");
	CHECK(!setenv("FI_LNX_DUMP_STATS", "1", 1));
	cf_own_ports();
	set_patience("600000");
	cancel_each_kind();
}

/* Operations of kinds 0 to @count - 1 at once: each ends in an error. */
static void fail_each(struct cf_side *side, fi_addr_t to, int count)
{
	struct fi_context2 contexts[KINDS];
	bool ended[KINDS] = { false };

	for (int k = 0; k < count; k++)
		CHECK_OK(start(side, (enum kind)k, to, &contexts[k]));
	for (int i = 0; i < count; i++) {
		struct fi_cq_err_entry err = { 0 };
		int kind = 0;

		cf_cq_wait_err(side->tx_cq, &err);
		CHECK_EQ(err.err, FI_ECONNREFUSED);
		while (kind < count && err.op_context != &contexts[kind])
			kind++;
		CHECK(kind < count && !ended[kind]);
		CHECK_EQ(err.flags & kind_flags[kind], kind_flags[kind]);
		ended[kind] = true;
	}
}

/* The second time, the peer is known to be absent. */
static void an_absent_peer_is_an_error_soon(void)
{
	struct cf_env env;
	fi_addr_t to;

	cf_need_connectionless();
	cf_own_ports();
	set_patience("100");
	open_pair(&env);
	to = absent_peer(&env);
	fail_each(&env.side[0], to, KINDS);
	fail_each(&env.side[0], to, 1);
	cf_exchange(&env, 8);
	cf_close(&env);
}

/* ---- behind others ---- */

static uint8_t (*bufs)[LEN];
static struct fi_context2 contexts[MOST];

/* Until no more are taken; how many were. The other side does nothing. */
static int fill_way(struct cf_side *side)
{
	enum { TRIES = 16 }; /* what was put off leaves when one is refused */
	int count = 0;

	for (int tries = 0; tries < TRIES && count < MOST;) {
		ssize_t ret;

		cf_fill(bufs[count], LEN, (unsigned int)count);
		ret = fi_send(
			side->ep, bufs[count], LEN, NULL, side->peer, &contexts[count]);
		CHECK_EITHER(ret, 0, -FI_EAGAIN);
		tries = ret ? tries + 1 : 0;
		count += !ret;
	}
	CHECK(count < MOST);
	return count;
}

/* The successes that are there come first; how many. */
static int skip_to_error(struct cf_side *side, struct fi_cq_err_entry *err)
{
	struct fi_cq_tagged_entry entry;
	int count = 0;

	while (fi_cq_read(side->tx_cq, &entry, 1) == 1)
		count++;
	CHECK_EQ(fi_cq_readerr(side->tx_cq, err, 0), 1);
	return count;
}

static void receive(struct cf_env *env, int number)
{
	struct cf_side *side = &env->side[1];
	static uint8_t buf[LEN];
	struct fi_context2 context;

	CHECK_OK(fi_recv(side->ep, buf, LEN, NULL, FI_ADDR_UNSPEC, &context));
	(void)cf_cq_wait_for(side->rx_cq, &context);
	cf_verify(buf, LEN, (unsigned int)number);
}

static void what_waits_behind_others_is_cancelled(void)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry;
	struct fi_context2 late;
	struct cf_side *side;
	struct cf_env env;
	int count, done;
	uint8_t buf[8];

	pending = PENDING;
	open_pair(&env);
	side = &env.side[0];
	if (cf_target.type != FI_EP_MSG)
		cf_meet(&env);
	bufs = cf_map(MOST * sizeof(*bufs));
	count = fill_way(side);
	CHECK(count > 2);
	CHECK_OK(fi_cancel(&side->ep->fid, &contexts[count - 2]));
	done = skip_to_error(side, &err);
	CHECK_EQ(err.err, FI_ECANCELED);
	CHECK(err.op_context == &contexts[count - 2]);
	for (int i = 0; i < count; i++)
		if (i != count - 2)
			receive(&env, i);
	for (; done < count - 1; done++)
		cf_cq_wait(side->tx_cq, &entry);
	CHECK_OK(
		fi_recv(env.side[1].ep, buf, sizeof(buf), NULL, FI_ADDR_UNSPEC, &late));
	cf_cq_quiet(env.side[1].rx_cq);
	cf_close(&env);
}

/* ---- too late ---- */

static void what_has_left_is_not_cancelled(void)
{
	static const size_t sizes[] = { 8, 1 << 20 };
	struct fi_context2 tx, rx;
	uint8_t *out = malloc(sizes[1]), *in = malloc(sizes[1]);
	struct cf_env env;

	CHECK(out && in);
	if (cf_target.type == FI_EP_DGRAM)
		SKIP("datagrams may be lost");
	open_pair(&env);
	if (cf_target.type != FI_EP_MSG)
		cf_meet(&env);
	for (size_t i = 0; i < CF_COUNT(sizes); i++) {
		cf_fill(out, sizes[i], (unsigned int)i);
		CF_RETRY(env.side[0].tx_cq, fi_send(env.side[0].ep, out, sizes[i], NULL,
						    env.side[0].peer, &tx));
		cf_cq_quiet(env.side[1].rx_cq);
		CHECK_OK(fi_cancel(&env.side[0].ep->fid, &tx));
		CHECK_OK(fi_recv(
			env.side[1].ep, in, sizes[i], NULL, FI_ADDR_UNSPEC, &rx));
		(void)cf_cq_wait_for(env.side[1].rx_cq, &rx);
		cf_verify(in, sizes[i], (unsigned int)i);
		(void)cf_cq_wait_for(env.side[0].tx_cq, &tx);
	}
	free(out);
	free(in);
	cf_close(&env);
}

/* ---- contexts ---- */

static void a_context_cancels_its_own(void)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_context2 context;
	struct sc_end end, gone;
	struct cf_env env;
	char buf[8] = "absent";

	cf_own_ports();
	set_patience("600000");
	sc_open_domain(&env, FI_MSG);
	sc_open_end(&env, &end, FI_WAIT_NONE);
	sc_enable_end(&end);
	sc_open_end(&env, &gone, FI_WAIT_NONE);
	sc_enable_end(&gone);
	sc_introduce(&end, gone.sep);
	sc_close_end(&gone);
	for (int i = 0; i < SC_CONTEXTS; i++)
		CHECK_OK(fi_send(
			end.tx[i], buf, sizeof(buf), NULL, sc_addr(&end, 0), &context));
	CHECK_OK(fi_cancel(&end.tx[1]->fid, &context));
	CHECK_EQ(fi_cq_readerr(end.tx_cq[1], &err, 0), 1);
	CHECK_EQ(err.err, FI_ECANCELED);
	CHECK(err.op_context == &context);
	CHECK_EQ(fi_cq_readerr(end.tx_cq[0], &err, 0), -FI_EAGAIN);
	sc_close_end(&end);
	cf_close(&env);
}

CF_SUITE(cancel_send,
	CF_CASE(what_waits_for_an_absent_peer_is_cancelled,
		"EP-032 EP-033 EP-034 EP-038", 0),
	CF_CASE(what_is_recorded_is_cancelled, "EP-033 EP-034", 0),
	CF_CASE(an_absent_peer_is_an_error_soon, "CQ-044", 0),
	CF_CASE(what_waits_behind_others_is_cancelled, "EP-033", 0),
	CF_CASE(what_has_left_is_not_cancelled, "EP-036", 0),
	CF_CASE(a_context_cancels_its_own, "EP-033", 0));
