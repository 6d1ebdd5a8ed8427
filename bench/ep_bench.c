/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ep_bench [-e rdm|msg|dgram] [-i IDLE] [-b BATCH] PROVIDER TEST SIZE COUNT: two
 * endpoints in two processes over the public API. Prints the best and the median time
 * in ns for one message, of batches of BATCH; the tests are in the table below. IDLE
 * others are connected and silent: rdm endpoints that said one word to side 0 and heard
 * one from it, or pairs of msg endpoints that share the queues.
 *
 * Side 0 measures. Every batch ends with side 1 having everything.
 */
#include <getopt.h>
#include <stdatomic.h>

#include "ep_bench.h"

enum { TURNS = 100, STREAM = 64 * WINDOW, STREAM_LARGE = 4 * WINDOW };

struct bench_test {
	const char *name, *what;
	void (*turns)(const struct pair *pair, void *arg, size_t count);
	ssize_t (*start)(struct work *w);
	ssize_t (*post)(struct work *w);
	int legs;     /* messages one after the other in a turn; 0: a stream */
	bool silent;  /* what is started never completes */
	bool sliding; /* the next starts as soon as one completed */
	bool answers; /* each window waits for an answer */
};

/* ---- operations ---- */

static ssize_t post_tagged(struct work *w)
{
	return fi_trecv(
		w->ep, w->rx, w->size, w->rx_desc, FI_ADDR_UNSPEC, TAG, 0, NULL);
}

static ssize_t post_msg(struct work *w)
{
	return fi_recv(w->ep, w->rx, w->size, w->rx_desc, FI_ADDR_UNSPEC, NULL);
}

/* For a word on the side. */
static ssize_t post_word(struct work *w)
{
	return w->tagged ? post_tagged(w) : post_msg(w);
}

static ssize_t start_tagged(struct work *w)
{
	return fi_tsend(w->ep, w->tx, w->size, w->tx_desc, w->peer, TAG, NULL);
}

static ssize_t start_tagged_inject(struct work *w)
{
	return fi_tinject(w->ep, w->tx, w->size, w->peer, TAG);
}

static ssize_t start_msg(struct work *w)
{
	return fi_send(w->ep, w->tx, w->size, w->tx_desc, w->peer, NULL);
}

static ssize_t start_msg_inject(struct work *w)
{
	return fi_inject(w->ep, w->tx, w->size, w->peer);
}

static ssize_t start_write(struct work *w)
{
	return fi_write(w->ep, w->tx, w->size, w->tx_desc, w->peer, w->remote_addr,
		w->remote_key, NULL);
}

static ssize_t start_write_inject(struct work *w)
{
	return fi_inject_write(
		w->ep, w->tx, w->size, w->peer, w->remote_addr, w->remote_key);
}

static ssize_t start_read(struct work *w)
{
	return fi_read(w->ep, w->tx, w->size, w->tx_desc, w->peer, w->remote_addr,
		w->remote_key, NULL);
}

static ssize_t start_fetch_add(struct work *w)
{
	static uint64_t one = 1;

	return fi_fetch_atomic(w->ep, &one, 1, NULL, w->tx, w->tx_desc, w->peer,
		w->remote_addr, w->remote_key, FI_UINT64, FI_SUM, NULL);
}

/* ---- completions ---- */

static void fail_with_entry(struct work *w)
{
	struct fi_cq_err_entry err = { 0 };

	must(fi_cq_readerr(w->cq, &err, 0), "fi_cq_readerr");
	fprintf(stderr, "operation %#llx: %s\n", (unsigned long long)err.flags,
		fi_strerror(err.err));
	exit(1);
}

/* What is there, if anything. */
static void look(struct work *w)
{
	struct fi_cq_msg_entry entries[16];
	ssize_t n = fi_cq_read(w->cq, entries, 16);

	if (n == -FI_EAGAIN)
		return;
	if (n == -FI_EAVAIL)
		fail_with_entry(w);
	must(n, "fi_cq_read");
	for (ssize_t i = 0; i < n; i++) {
		bool received = entries[i].flags & FI_RECV;

		w->received += received;
		w->sent += !received;
	}
}

/* Ask until there is room, reading that queue. */
#define ASK(look, call)                                                                \
	do {                                                                           \
		ssize_t ret_;                                                          \
                                                                                       \
		while ((ret_ = (call)) == -FI_EAGAIN)                                  \
			look;                                                          \
		must(ret_, #call);                                                     \
	} while (0)

static void post(struct work *w)
{
	ASK(look(w), w->test->post(w));
}

static void start(struct work *w)
{
	ASK(look(w), w->test->start(w));
}

static void finish(struct work *w, uint64_t count)
{
	if (w->test->silent)
		return;
	while (w->sent < count)
		look(w);
	w->sent -= count;
}

static void await(struct work *w)
{
	while (!w->received)
		look(w);
	w->received--;
}

static void hear(struct work *w)
{
	await(w);
	post(w);
}

/* ---- messages to and fro ---- */

static void say(struct work *w)
{
	start(w);
	finish(w, 1);
}

/* A receive is posted while a message is on its way, as ucx_perftest does; there is
 * always another one for what comes meanwhile. */
static void ping_pong(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;

	for (size_t i = 0; i < count; i++) {
		if (pair->side)
			await(w);
		say(w);
		post(w);
		if (!pair->side)
			await(w);
	}
}

/* The last eight bytes of what the peer wrote here; it writes them last. */
static uint64_t written(struct work *w)
{
	return atomic_load_explicit(
		(_Atomic uint64_t *)(void *)(w->rx + w->size - sizeof(uint64_t)),
		memory_order_acquire);
}

static void write_ping_pong(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;

	for (size_t i = 0; i < count; i++) {
		w->turn++;
		memcpy(w->tx + w->size - sizeof(w->turn), &w->turn, sizeof(w->turn));
		if (!pair->side)
			say(w);
		while (written(w) != w->turn)
			look(w);
		if (pair->side)
			say(w);
	}
}

/* Side 1 only drives progress, until everything was added. One look can take in the
 * last addition and the first ones of the next batch, hence no equality. */
static void fetch_adds(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;

	w->turn += count;
	if (!pair->side)
		for (size_t i = 0; i < count; i++)
			say(w);
	else
		while (written(w) < w->turn)
			look(w);
}

/* ---- streams ---- */

static void answer(const struct pair *pair, struct work *w)
{
	if (!pair->side) {
		hear(w);
		return;
	}
	if (w->tagged)
		ASK(look(w), fi_tsend(w->ep, w->tx, 0, w->tx_desc, w->peer, TAG, NULL));
	else
		ASK(look(w), fi_send(w->ep, w->tx, 0, w->tx_desc, w->peer, NULL));
	while (!w->sent)
		look(w);
	w->sent--;
}

/* Side 0 of a stream: a window, and what it waits for before the next one. */
static void send_window(struct work *w)
{
	for (int i = 0; i < WINDOW; i++) {
		if (w->test->sliding && w->turn++ >= WINDOW)
			finish(w, 1);
		start(w);
	}
	if (!w->test->sliding)
		finish(w, WINDOW);
}

static void stream(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;

	w->turn = 0;
	for (size_t done = 0; done < count; done += WINDOW) {
		if (pair->side)
			for (int i = 0; i < WINDOW; i++)
				hear(w);
		else
			send_window(w);
		if (w->test->answers)
			answer(pair, w);
	}
	if (!pair->side && w->test->sliding)
		finish(w, WINDOW);
	if (!w->test->answers)
		answer(pair, w);
}

/* RMA: side 1 waits for the word that all is over. */
static void rma_stream(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;

	if (pair->side) {
		hear(w);
		return;
	}
	w->turn = 0;
	for (size_t done = 0; done < count; done += WINDOW)
		send_window(w);
	if (w->test->sliding)
		finish(w, WINDOW);
	if (w->tagged)
		ASK(look(w), fi_tinject(w->ep, w->tx, 0, w->peer, TAG));
	else
		ASK(look(w), fi_inject(w->ep, w->tx, 0, w->peer));
}

/* ---- the table ---- */

static const struct bench_test tests[] = {
	{ "tagged", "tagged messages to and fro, a completion for each", ping_pong,
		start_tagged, post_tagged, .legs = 2 },
	{ "tagged_inject", "the same, injected", ping_pong, start_tagged_inject,
		post_tagged, .legs = 2, .silent = true },
	{ "msg", "messages to and fro, a completion for each", ping_pong, start_msg,
		post_msg, .legs = 2 },
	{ "msg_inject", "the same, injected", ping_pong, start_msg_inject, post_msg,
		.legs = 2, .silent = true },
	{ "write", "writes to and fro, seen in memory", write_ping_pong, start_write,
		post_word, .legs = 2 },
	{ "write_inject", "the same, injected", write_ping_pong, start_write_inject,
		post_word, .legs = 2, .silent = true },
	{ "fetch_add", "8 B fetch-and-add, one after the other", fetch_adds,
		start_fetch_add, post_word, .legs = 1 },
	{ "burst", "a window of tagged messages, all their completions, the next",
		stream, start_tagged, post_tagged },
	{ "msg_burst", "the same without tags", stream, start_msg, post_msg },
	{ "window", "the same as burst, and an answer to each window", stream,
		start_tagged, post_tagged, .answers = true },
	{ "window_inject", "the same, injected", stream, start_tagged_inject,
		post_tagged, .answers = true, .silent = true },
	{ "slide", "tagged messages, a window of them in flight", stream, start_tagged,
		post_tagged, .sliding = true },
	{ "msg_slide", "the same without tags", stream, start_msg, post_msg,
		.sliding = true },
	{ "slide_inject", "tagged messages, injected as they are taken", stream,
		start_tagged_inject, post_tagged, .silent = true },
	{ "write_slide", "writes, a window of them in flight", rma_stream, start_write,
		post_word, .sliding = true },
	{ "read_slide", "reads, a window of them in flight", rma_stream, start_read,
		post_word, .sliding = true },
};

static const struct bench_test *test_named(const char *name)
{
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!strcmp(tests[i].name, name))
			return &tests[i];
	return NULL;
}

/* ---- idle peers ---- */

/* Side 1 has them, with a queue of their own that is not read any more. */
static void have_idle(struct work *w, const struct pair *pair)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG };
	struct fi_cq_msg_entry entry;
	struct fid_cq *cq;
	struct fid_ep *ep;
	static char word;

	must(fi_cq_open(w->domain, &cq_attr, &cq, NULL), "fi_cq_open");
	for (size_t i = 0; i < w->idle; i++) {
		ep = ep_another(w, cq);
		must(fi_trecv(ep, &word, 1, w->rx_desc, FI_ADDR_UNSPEC, TAG, 0, NULL),
			"fi_trecv");
		ep_tell(pair, ep);
		ASK((void)fi_cq_read(cq, NULL, 0),
			fi_tsend(ep, w->tx, 1, w->tx_desc, w->peer, TAG, NULL));
		/* Sent, and answered. */
		for (int n = 0; n < 2;)
			n += fi_cq_read(cq, &entry, 1) == 1;
	}
}

static void meet_idle(struct work *w, const struct pair *pair)
{
	for (size_t i = 0; i < w->idle; i++) {
		fi_addr_t addr = ep_told(pair, w);

		hear(w);
		ASK(look(w), fi_tsend(w->ep, w->tx, 1, w->tx_desc, addr, TAG, NULL));
		while (!w->sent)
			look(w);
		w->sent--;
	}
}

static void add_idle(struct work *w, const struct pair *pair)
{
	if (w->type != FI_EP_MSG) {
		if (pair->side)
			have_idle(w, pair);
		else
			meet_idle(w, pair);
		return;
	}
	for (size_t i = 0; i < w->idle; i++)
		(void)ep_connect(w, pair);
}

/* ---- */

/* A stream goes by whole windows. */
static size_t batch_of(const struct work *w)
{
	if (!w->batch && w->test->legs)
		return TURNS;
	if (!w->batch)
		return w->size > 65536 ? STREAM_LARGE : STREAM;
	return w->test->legs ? w->batch : (w->batch + WINDOW - 1) / WINDOW * WINDOW;
}

static void run(const struct pair *pair, void *arg)
{
	struct work *w = arg;
	struct pair_test timed = {
		.turns = w->test->turns,
		.count = w->count,
		.batch = batch_of(w),
		.legs = w->test->legs ? w->test->legs : 1,
	};

	w->tx = calloc(1, w->size);
	w->rx = calloc(1, w->size);
	if (!w->tx || !w->rx)
		pair_fail("calloc");
	ep_open(w, pair);
	ep_register(w, pair);
	for (int i = 0; i < (w->test->legs ? 2 : 2 * WINDOW); i++)
		post(w);
	pair_barrier(pair);
	add_idle(w, pair);
	pair_barrier(pair);
	pair_time(pair, &timed, w);
	/* Neither leaves while the other may need it. */
	pair_barrier(pair);
}

static int usage(const char *name)
{
	fprintf(stderr,
		"usage: %s [-e rdm|msg|dgram] [-i IDLE] [-b BATCH] PROVIDER TEST "
		"SIZE COUNT\n",
		name);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		fprintf(stderr, "  %-16s%s\n", tests[i].name, tests[i].what);
	return 2;
}

static bool parse_type(const char *name, enum fi_ep_type *ret_type)
{
	static const struct {
		const char *name;
		enum fi_ep_type type;
	} types[] = {
		{ "rdm", FI_EP_RDM },
		{ "msg", FI_EP_MSG },
		{ "dgram", FI_EP_DGRAM },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, name)) {
			*ret_type = types[i].type;
			return true;
		}
	return false;
}

int main(int argc, char **argv)
{
	struct work w = { .type = FI_EP_RDM };
	int option;

	while ((option = getopt(argc, argv, "b:e:i:")) != -1) {
		if (option == 'b')
			w.batch = strtoul(optarg, NULL, 0);
		else if (option == 'i')
			w.idle = strtoul(optarg, NULL, 0);
		else if (option != 'e' || !parse_type(optarg, &w.type))
			return usage(argv[0]);
	}
	if (argc - optind != 4)
		return usage(argv[0]);
	w.provider = argv[optind];
	w.test = test_named(argv[optind + 1]);
	w.size = strtoul(argv[optind + 2], NULL, 0);
	w.count = strtoul(argv[optind + 3], NULL, 0);
	if (!w.test || w.size < sizeof(uint64_t) || (w.idle && w.type == FI_EP_DGRAM))
		return usage(argv[0]);
	/* verbs has no tags (a layer above it does). */
	w.tagged = w.type != FI_EP_DGRAM && w.test->post != post_msg &&
		   strcmp(w.provider, "verbs") != 0;
	return pair_main(run, &w);
}
