/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread posts an operation while another one, the application's or the library's,
 * sleeps because there was nothing to do: the second one has to be woken, because the
 * first one may make no further call.
 */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "suites.h"

enum { NAP_US = 20000 }; /* long enough to fall asleep in, usually */

#define SLEEP_MS (3 * CF_TIMEOUT_MS)

struct sleeper {
	struct fid_cq *cq;
	size_t wanted, got;
	pthread_t thread;
};

static void *sleep_until_all_came(void *arg)
{
	struct sleeper *sleeper = arg;
	struct fi_cq_data_entry entries[4];
	ssize_t ret;

	while (sleeper->got < sleeper->wanted) {
		ret = fi_cq_sread(sleeper->cq, entries, 4, NULL, SLEEP_MS);
		if (ret <= 0)
			break;
		sleeper->got += (size_t)ret;
	}
	return NULL;
}

static void start(struct sleeper *sleeper, struct fid_cq *cq, size_t wanted)
{
	*sleeper = (struct sleeper){ .cq = cq, .wanted = wanted };
	CHECK_OK(pthread_create(&sleeper->thread, NULL, sleep_until_all_came, sleeper));
}

static void finish(struct sleeper *sleeper)
{
	CHECK_OK(pthread_join(sleeper->thread, NULL));
	CHECK_EQ(sleeper->got, sleeper->wanted);
}

/* @count more entries of @cq, with no call for anything else. */
static void await(struct fid_cq *cq, size_t count)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	struct fi_cq_data_entry entry;
	ssize_t ret;

	while (count) {
		ret = fi_cq_read(cq, &entry, 1);
		CHECK(ret == 1 || ret == -FI_EAGAIN);
		count -= ret == 1;
		if (cf_now_ms() > deadline)
			cf_fail(__FILE__, __LINE__, "%zu entries did not come", count);
	}
}

static void need_reliable(void)
{
	if (cf_target.type == FI_EP_DGRAM)
		SKIP("messages that nobody waits for are dropped");
}

/* The first message of a burst is injected: no answer to it wakes a thread. */
static void a_burst_leaves_at_once(void)
{
	enum { ROUNDS = 10, BURST = 5 };
	struct cf_options options = { .wait_obj = FI_WAIT_FD, .split_cqs = true };
	struct fi_context2 contexts[2][BURST];
	struct sleeper sleeper;
	struct cf_env env;
	char in[BURST], out = 1;

	cf_open_pair(&env, &options);
	start(&sleeper, env.side[0].tx_cq, (size_t)ROUNDS * (BURST - 1));
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < BURST; i++)
			cf_post_recv(&env, &in[i], 1, &contexts[1][i]);
		(void)usleep(NAP_US);
		CHECK_OK(fi_inject(env.side[0].ep, &out, 1, env.side[0].peer));
		for (int i = 1; i < BURST; i++)
			CHECK_OK(fi_send(env.side[0].ep, &out, 1, NULL,
				env.side[0].peer, &contexts[0][i]));
		await(env.side[1].rx_cq, BURST);
	}
	finish(&sleeper);
	cf_close(&env);
}

/* A message that no socket takes at once: its sender sleeps while the receiver makes
 * room, and sends the rest. */
static void the_rest_of_a_message_leaves(void)
{
	enum { LARGE = 48 << 20 };
	struct cf_options options = { .wait_obj = FI_WAIT_FD, .split_cqs = true };
	static struct fi_context2 contexts[2];
	uint8_t *out = malloc(LARGE), *in = malloc(LARGE);
	struct sleeper sleeper;
	struct cf_env env;

	CHECK(out && in);
	CHECK_OK(setenv("FI_TCP_RENDEZVOUS_SIZE", "1000000000", 1));
	/* Nor does looking for dead hosts wake the sleeper. */
	CHECK_OK(setenv("FI_TCP_KEEPALIVE_TIMEOUT", "0", 1));
	if (cf_target.type == FI_EP_DGRAM)
		SKIP("no large messages");
	cf_fill(out, LARGE, 1);
	cf_open_pair(&env, &options);
	if (env.info->ep_attr->max_msg_size < LARGE)
		SKIP("no messages as large");
	cf_post_recv(&env, in, LARGE, &contexts[0]);
	start(&sleeper, env.side[0].tx_cq, 1);
	(void)usleep(NAP_US);
	CHECK_OK(fi_send(
		env.side[0].ep, out, LARGE, NULL, env.side[0].peer, &contexts[1]));
	await(env.side[1].rx_cq, 1);
	finish(&sleeper);
	cf_verify(in, LARGE, 1);
	cf_close(&env);
	free(out);
	free(in);
}

static void delivered(struct fi_info *hints)
{
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
}

/* The event that would have woken the sleeping thread, which waits on a descriptor, is
 * consumed by a thread that reads another queue, and does not happen again. */
static void the_next_message_wakes_as_well(void)
{
	struct cf_options options = {
		.adjust = delivered, .wait_obj = FI_WAIT_FD, .split_cqs = true
	};
	struct pollfd poll_fd = { .events = POLLIN };
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[4];
	struct cf_side *side;
	struct cf_env env;
	char in[2], out = 1;
	uint64_t until;

	need_reliable();
	if (!cf_offers(&options))
		SKIP("no delivery level");
	cf_open_pair(&env, &options);
	side = env.side;
	CHECK_OK(fi_control(&side[1].rx_cq->fid, FI_GETWAIT, &poll_fd.fd));
	cf_post_recv(&env, &in[0], 1, &contexts[0]);
	CHECK_OK(fi_recv(side[0].ep, &in[1], 1, NULL, FI_ADDR_UNSPEC, &contexts[1]));
	cf_arm(&env, side[1].rx_cq);
	/* An answer comes back for this one. */
	CHECK_OK(fi_send(side[1].ep, &out, 1, NULL, side[1].peer, &contexts[2]));
	await(side[0].rx_cq, 1);
	until = cf_now_ms() + NAP_US / 1000;
	await(side[1].tx_cq, 1);
	while (cf_now_ms() < until)
		CHECK_EQ(fi_cq_read(side[1].tx_cq, &entry, 1), -FI_EAGAIN);
	CHECK_OK(fi_send(side[0].ep, &out, 1, NULL, side[0].peer, &contexts[3]));
	CHECK_EQ(poll(&poll_fd, 1, CF_TIMEOUT_MS), 1);
	await(side[1].rx_cq, 1);
	await(side[0].tx_cq, 1);
	cf_close(&env);
}

/* ---- messages that wait, in whichever way a message of that size does ---- */

enum { LIMIT = 1 << 20 };

struct load {
	size_t len, count;
	uint8_t *in, *out;
	struct fi_context2 *contexts;
};

static const struct load loads[] = {
	{ .len = 100, .count = 3 },
	{ .len = LIMIT, .count = 1 }, /* with all that describes it, too long to keep */
	{ .len = LIMIT + 1, .count = 3 }, /* waits at the sender */
};

/* Read once by the library, so these cases ask it for nothing before. */
static void set_limits(void)
{
	CHECK_OK(setenv("FI_TCP_UNEXPECTED_SIZE", "1048576", 1));
	CHECK_OK(setenv("FI_TCP_RENDEZVOUS_SIZE", "1048576", 1));
	CHECK_OK(setenv("FI_SHM_UNEXPECTED_SIZE", "1048576", 1));
}

static void load_open(struct load *load)
{
	load->in = calloc(load->count, load->len);
	load->out = malloc(load->count * load->len);
	load->contexts = calloc(2 * load->count, sizeof(*load->contexts));
	CHECK(load->in && load->out && load->contexts);
	cf_fill(load->out, load->count * load->len, 1);
}

static void load_close(struct load *load)
{
	cf_verify(load->in, load->count * load->len, 1);
	free(load->in);
	free(load->out);
	free(load->contexts);
}

/* The messages arrive, as far as they can, before any thread waits for them. */
static void send_early(struct cf_env *env, struct load *load)
{
	struct cf_side *from = &env->side[0];
	uint64_t until = cf_now_ms() + 2 * NAP_US / 1000;

	for (size_t i = 0; i < load->count; i++)
		CHECK_OK(fi_send(from->ep, load->out + i * load->len, load->len, NULL,
			from->peer, &load->contexts[i]));
	while (cf_now_ms() < until)
		(void)fi_cq_read(from->tx_cq, NULL, 0);
	(void)usleep(NAP_US);
}

static void receive_late(struct cf_env *env, struct load *load)
{
	for (size_t i = 0; i < load->count; i++)
		CHECK_OK(fi_recv(env->side[1].ep, load->in + i * load->len, load->len,
			NULL, FI_ADDR_UNSPEC, &load->contexts[load->count + i]));
}

static void a_receive_takes_what_waits(void)
{
	struct cf_options options = { .wait_obj = FI_WAIT_FD, .split_cqs = true };

	need_reliable();
	set_limits();
	for (size_t i = 0; i < CF_COUNT(loads); i++) {
		struct load load = loads[i];
		struct sleeper sleeper;
		struct cf_env env;

		load_open(&load);
		cf_open_pair(&env, &options);
		start(&sleeper, env.side[1].rx_cq, load.count);
		send_early(&env, &load);
		receive_late(&env, &load);
		/* Once: this may take what was to wake the sleeper. */
		(void)fi_cq_read(env.side[1].tx_cq, NULL, 0);
		await(env.side[0].tx_cq, load.count);
		finish(&sleeper);
		cf_close(&env);
		load_close(&load);
	}
}

/* The sender's completion means that the receiver has the message. */
static void automatic(struct fi_info *hints)
{
	hints->domain_attr->control_progress = FI_PROGRESS_AUTO;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	delivered(hints);
}

static void a_receive_is_the_last_call(void)
{
	struct cf_options options = { .adjust = automatic, .split_cqs = true };

	need_reliable();
	set_limits();
	/* A thread that both sides share would wake for the sender's sake. */
	cf_target.apart = true;
	if (!cf_offers(&options))
		SKIP("no automatic progress, or no delivery level");
	for (size_t i = 0; i < CF_COUNT(loads); i++) {
		struct load load = loads[i];
		struct cf_env env;

		load_open(&load);
		cf_open_pair(&env, &options);
		send_early(&env, &load);
		receive_late(&env, &load);
		await(env.side[0].tx_cq, load.count);
		await(env.side[1].rx_cq, load.count);
		cf_close(&env);
		load_close(&load);
	}
}

CF_SUITE(asleep, CF_CASE(a_burst_leaves_at_once, "THR-007 CQ-020", FI_MSG),
	CF_CASE(the_rest_of_a_message_leaves, "THR-007 CQ-020", 0),
	CF_CASE(the_next_message_wakes_as_well, "THR-007 CQ-020", FI_MSG),
	CF_CASE(a_receive_takes_what_waits, "THR-007 CQ-020", 0),
	CF_CASE(a_receive_is_the_last_call, "THR-006", 0));
