/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of fi_bench that open endpoints, with a clock that moves by what fakes of the
 * other files take: which steps are made, and which of them are measured. */
#include "fake.h"

#include <time.h>
#include "../../../tools/bench/config.h"
#include "../../../tools/bench/idle.h"
#include "../../../tools/bench/message.h"
#include "../../../tools/bench/patterns.h"
#include "../../../tools/bench/ramp.h"

enum { ROWS_MAX = 16, US = 1000 };

static uint64_t now_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

/* Each reading takes a ns, so that loops until a time end. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	now_ns++;
	ret->tv_sec = (time_t)(now_ns / 1000000000);
	ret->tv_nsec = (long)(now_ns % 1000000000);
	return 0;
}

/* ---- the other files ---- */

static struct {
	struct fb_config config; /* of the last pair */
	struct fb_node node;
	uint32_t pairs;
	uint64_t messages; /* of the last pair */
	uint32_t more;     /* pairs that member 0 wants of its peer */
	enum fb_test test;
	size_t bytes;
	/* The first pairs take 3, 6, 2, 5 and once that long. */
	uint64_t message_ns;
	uint64_t connect_ns;
	struct fb_slot *arrives;
} seen;

static struct fb_worker worker;

void fb_node_open(struct fb_node *node)
{
	(void)fake_call("open", "%s", "");
	seen.config = *node->config;
	seen.node = *node;
	seen.pairs++;
	seen.messages = 0;
	node->worker = &worker;
	worker.node = node;
	worker.side = node->control->rank;
	node->connect_ns = seen.connect_ns;
}

void fb_node_close(struct fb_node *node)
{
	assert_ptr_equal(node->worker, &worker);
	(void)fake_call("shut", "%s", "");
}

void fb_worker_size(struct fb_worker *w, enum fb_test test, size_t bytes)
{
	assert_ptr_equal(w, &worker);
	seen.test = test;
	seen.bytes = bytes;
}

static void play(struct fb_worker *w, uint64_t count)
{
	assert_ptr_equal(w, &worker);
	seen.messages += count;
	now_ns += 2 * count * (seen.pairs * 3 % 7) * seen.message_ns;
}

const struct fb_pattern *fb_pattern_of(
	const struct fb_config *config, enum fb_test test)
{
	static const struct fb_pattern pattern = { play, 2 };

	(void)config;
	assert_int_equal(test, FB_LATENCY);
	return &pattern;
}

void fb_control_barrier(struct fb_control *c)
{
	(void)c;
	now_ns += 700 * US;
	(void)fake_call("barrier", "%s", "");
}

void fb_control_share(struct fb_control *c, void *data, size_t len)
{
	assert_int_equal(len, 1);
	if (c->rank)
		*(char *)data = --seen.more > 0;
}

void fb_poll(struct fb_worker *w)
{
	assert_ptr_equal(w->end.cq, &fake_cq);
	now_ns += 100 * US;
	(void)fake_call("poll", "%s", "");
	if (seen.arrives)
		fb_fifo_put(&w->rx.fifo, seen.arrives);
	seen.arrives = NULL;
}

void fb_message_post(struct fb_worker *w, struct fb_slot *slot)
{
	assert_ptr_equal(w->end.ep, &fake_ep);
	assert_true(slot->receives);
	(void)fake_call("post", "%s", "");
	seen.arrives = slot;
}

void fb_message_send_empty(struct fb_worker *w)
{
	now_ns += 20 * US;
	(void)fake_call("empty", ":%d", (int)w->end.peer);
	/* One that answers others has its slots elsewhere. */
	if (w != &worker)
		assert_false(fb_fifo_take(&w->tx.fifo)->receives);
}

void fb_message_await_empty(struct fb_worker *w)
{
	(void)w;
	(void)fake_call("await", "%s", "");
}

void fb_message_finish(struct fb_worker *w)
{
	(void)w;
	now_ns += 3 * US;
	(void)fake_call("finish", "%s", "");
}

struct fid_cq *fb_node_queue(struct fb_node *node)
{
	(void)node;
	now_ns += 50 * US;
	(void)fake_call("queue", "%s", "");
	fake.open++;
	return &fake_cq;
}

struct fid_ep *fb_node_endpoint(struct fb_node *node, struct fi_info *info,
	struct fid_cq *cq, struct fid_av *av)
{
	(void)info;
	assert_ptr_equal(cq, &fake_cq);
	assert_ptr_equal(av, node->worker->end.av);
	now_ns += 1000 * US;
	(void)fake_call("new", "%s", "");
	fake.open++;
	return &fake_ep;
}

struct fid_ep *fb_node_connect(struct fb_node *node, struct fid_cq *cq)
{
	(void)node;
	assert_ptr_equal(cq, &fake_cq);
	now_ns += 4000 * US;
	(void)fake_call("link", "%s", "");
	fake.open++;
	return &fake_ep;
}

void fb_node_swap_addresses(
	struct fb_node *node, struct fid_ep *ep, struct fb_address *ret_all)
{
	(void)node;
	assert_ptr_equal(ep, &fake_ep);
	ret_all[0].len = 10;
	ret_all[1].len = 11;
	now_ns += 30000 * US;
	(void)fake_call("swap", "%s", "");
}

fi_addr_t fb_address_insert(struct fid_av *av, const struct fb_address *address)
{
	assert_ptr_equal(av, &fake_av);
	(void)fake_call("insert", ":%d", (int)address->len);
	return 8;
}

static int fake_av_remove(
	struct fid_av *av, fi_addr_t *addr, size_t count, uint64_t flags)
{
	assert_ptr_equal(av, &fake_av);
	assert_int_equal(flags, 0);
	return fake_call("remove", ":%d:%zu", (int)*addr, count);
}

/* ---- ramps ---- */

static struct fb_config config;
static struct fb_control control;
static struct fi_fabric_attr fabric_attr = { .prov_name = (char *)"tcp" };
static struct fi_domain_attr domain_attr = { .name = (char *)"lo" };
static struct fi_info info = { .fabric_attr = &fabric_attr,
	.domain_attr = &domain_attr };
static const uint32_t cores[] = { 3 };
static struct fb_node outer;

static struct fb_row *rows;
static uint32_t row_count;

static int reset(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	memset(&seen, 0, sizeof(seen));
	memset(&worker, 0, sizeof(worker));
	fake_av_ops.remove = fake_av_remove;
	fb_config_init(&config);
	config.duration_ns = 1;
	control = (struct fb_control){ .members = 2 };
	outer = (struct fb_node){ .config = &config,
		.control = &control,
		.info = &info,
		.source = "192.0.2.1",
		.cores = cores,
		.core_count = 1,
		.call = FB_CALL_MSG };
	seen.message_ns = 10 * US;
	row_count = 0;
	now_ns = UINT64_C(1000000000000);
	return 0;
}

static void tell(void *arg, const struct fb_row *row)
{
	assert_ptr_equal(arg, &seen);
	assert_true(row_count < ROWS_MAX);
	rows[row_count++] = *row;
}

static void ranges_are(const uint64_t (*wanted)[2], uint32_t count)
{
	assert_int_equal(row_count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(rows[i].first, wanted[i][0]);
		assert_int_equal(rows[i].last, wanted[i][1]);
	}
}

#define RANGES_ARE(...)                                                                \
	do {                                                                           \
		static const uint64_t wanted_[][2] = { __VA_ARGS__ };                  \
                                                                                       \
		ranges_are(wanted_, sizeof(wanted_) / sizeof(wanted_[0]));             \
	} while (0)

/* At most a thousandth apart: readings of the clock take a ns. */
static void is_about(double found, double wanted)
{
	if (found < wanted * 0.999 || found > wanted * 1.001)
		fail_msg("%g instead of %g", found, wanted);
}

/* A pair has the configuration of this test alone. */
static void a_pair_is_configured(void **state)
{
	(void)state;
	config.tests = 1 << FB_LATENCY | 1 << FB_RAMP;
	config.size_count = 3;
	config.size[0] = 4096;
	config.narrow = true;
	config.idle = 7;
	config.verify = true;
	fb_ramp(&outer, 8, tell, &seen);
	assert_int_equal(seen.config.tests, 1 << FB_RAMP);
	assert_int_equal(seen.config.size_count, 1);
	assert_int_equal(seen.config.size[0], 8);
	assert_int_equal(seen.config.call, FB_CALL_MSG);
	assert_int_equal(seen.config.narrow, 0);
	assert_int_equal(seen.config.idle, 0);
	assert_int_equal(seen.config.verify, 1);
	assert_string_equal(seen.config.provider, "tcp");
	assert_string_equal(seen.config.domain, "lo");
	assert_ptr_equal(seen.node.control, &control);
	assert_ptr_equal(seen.node.source, outer.source);
	assert_ptr_equal(seen.node.cores, cores);
	assert_int_equal(seen.node.core_count, 1);
	assert_int_equal(seen.test, FB_RAMP);
	assert_int_equal(seen.bytes, 8);
	strcpy(config.provider, "shm");
	strcpy(config.domain, "eth9");
	fb_ramp(&outer, 8, tell, &seen);
	assert_string_equal(seen.config.provider, "shm");
	assert_string_equal(seen.config.domain, "eth9");
}

static void a_ramp_has_ranges(void **state)
{
	(void)state;
	fb_ramp(&outer, 8, tell, &seen);
	RANGES_ARE({ 1, 1 }, { 1, 10 }, { 1, 100 }, { 1, 1000 }, { 1, 10000 },
		{ 5001, 10000 }, { 2, 100 });
	assert_int_equal(seen.messages, 10000);
	row_count = 0;
	config.count = 199;
	fb_ramp(&outer, 8, tell, &seen);
	RANGES_ARE({ 1, 1 }, { 1, 10 }, { 1, 100 });
	assert_int_equal(seen.messages, 100);
	row_count = 0;
	config.count = 200;
	fb_ramp(&outer, 8, tell, &seen);
	RANGES_ARE({ 1, 1 }, { 1, 10 }, { 1, 100 }, { 101, 200 }, { 2, 100 });
	assert_int_equal(seen.messages, 200);
}

/* Large messages: as many as make a GiB, but at least 100. */
static void large_messages_make_short_ramps(void **state)
{
	(void)state;
	fb_ramp(&outer, 1 << 20, tell, &seen);
	RANGES_ARE({ 1, 1 }, { 1, 10 }, { 1, 100 }, { 1, 1000 }, { 513, 1024 },
		{ 2, 100 });
	row_count = 0;
	fb_ramp(&outer, 1 << 26, tell, &seen);
	RANGES_ARE({ 1, 1 }, { 1, 10 }, { 1, 100 });
}

/* The first message has the time of the connection, later ones do not. */
static void times_of_a_ramp(void **state)
{
	(void)state;
	config.count = 200;
	config.percentiles = true;
	seen.connect_ns = 500 * US;
	fb_ramp(&outer, 8, tell, &seen);
	assert_int_equal(seen.pairs, 5);
	assert_int_equal(row_count, 5);
	for (uint32_t i = 0; i < 5; i++) {
		uint64_t n = rows[i].last - rows[i].first + 1;
		double more = rows[i].first == 1 ? 500.0 * US / (2 * (double)n) : 0;

		assert_int_equal(rows[i].test, FB_RAMP);
		assert_int_equal(rows[i].bytes, 8);
		assert_int_equal(rows[i].window, 1);
		assert_int_equal(rows[i].messages, 2 * n * 5);
		assert_false(rows[i].failed);
		is_about(rows[i].best_ns, 10 * US + more);
		is_about(rows[i].median_ns, 30 * US + more);
		assert_int_equal(rows[i].hist.total, 5);
		is_about((double)rows[i].hist.max, 1000 * (60 * US + more));
	}
	assert_string_equal(fake_told(),
		"open barrier barrier shut open barrier barrier shut "
		"open barrier barrier shut open barrier barrier shut "
		"open barrier barrier shut");
	config.percentiles = false;
	fb_ramp(&outer, 8, tell, &seen);
	assert_int_equal(rows[5].hist.total, 0);
}

/* Pairs are measured as long as the size may take, and not without an end. */
static void pairs_take_their_time(void **state)
{
	/* Two barriers, and the time in which the other side wakes up. */
	const uint64_t pair_ns = 2 * 700 * US + 200 * US;

	(void)state;
	config.count = 100;
	seen.message_ns = 0;
	config.duration_ns = 10 * pair_ns - pair_ns / 2;
	fb_ramp(&outer, 8, tell, &seen);
	assert_int_equal(seen.pairs, 10);
	seen.pairs = 0;
	config.duration_ns = UINT64_C(86400) * 1000000000;
	fb_ramp(&outer, 8, tell, &seen);
	assert_int_equal(seen.pairs, 1000);
}

/* The other side does as member 0 decides, and tells nothing. */
static void the_peer_follows(void **state)
{
	(void)state;
	control.rank = 1;
	seen.more = 3;
	fb_ramp(&outer, 8, tell, &seen);
	assert_int_equal(seen.pairs, 3);
	assert_int_equal(row_count, 0);
}

/* ---- new endpoints ---- */

static void begin(uint32_t type, int side)
{
	config.type = type;
	worker.node = &outer;
	worker.side = side;
	worker.end.cq = NULL;
	worker.end.ep = &fake_ep;
	worker.end.av = &fake_av;
	worker.end.peer = 3;
	outer.worker = &worker;
}

/* Opening, the message and its answer are measured; the swap of addresses is not. */
static void calls_are_measured(void **state)
{
	uint64_t stamps[2], base = now_ns;

	(void)state;
	begin(FI_EP_RDM, 0);
	worker.stamps = stamps;
	fb_connect.iterate(&worker, 2);
	is_about(worker.batch_ns, 2 * (50 + 1000 + 20 + 100 + 3) * US);
	is_about((double)(stamps[0] - base), (50 + 1000 + 20 + 100 + 3) * US);
	is_about((double)(stamps[1] - base), worker.batch_ns);
	assert_string_equal(fake_told(),
		"queue new post swap empty:3 poll finish barrier close:ep close:cq "
		"queue new post swap empty:3 poll finish barrier close:ep close:cq");
	assert_int_equal(fake.open, 0);
}

static void connections_are_measured(void **state)
{
	(void)state;
	begin(FI_EP_MSG, 0);
	fb_connect.iterate(&worker, 1);
	is_about(worker.batch_ns, (50 + 4000 + 20 + 100 + 3) * US);
	assert_string_equal(fake_told(),
		"queue link post empty:3 poll finish barrier close:ep close:cq");
	assert_int_equal(fake.open, 0);
}

static void calls_are_answered(void **state)
{
	(void)state;
	begin(FI_EP_RDM, 1);
	fb_connect.iterate(&worker, 1);
	assert_string_equal(
		fake_told(), "swap insert:10 await empty:8 finish barrier remove:8:1");
	assert_int_equal(worker.end.peer, 3);
	assert_true(worker.batch_ns == 0);
	begin(FI_EP_MSG, 1);
	fb_connect.iterate(&worker, 1);
	assert_string_equal(fake_told(),
		"queue link post poll empty:3 finish barrier close:ep close:cq");
	assert_int_equal(fake.open, 0);
}

/* ---- idle peers ---- */

static void idle_peers_are_added(void **state)
{
	static const struct {
		uint32_t type;
		int side;
		const char *added, *removed;
	} table[] = {
		{ FI_EP_RDM, 0,
			"swap insert:11 await empty:8 finish "
			"swap insert:11 await empty:8 finish barrier",
			"" },
		{ FI_EP_RDM, 1,
			"queue new post swap empty:3 poll finish "
			"new post swap empty:3 poll finish barrier",
			"close:ep close:ep close:cq" },
		{ FI_EP_MSG, 0,
			"link post poll empty:3 finish link post poll empty:3 finish "
			"barrier",
			"close:ep close:ep" },
		{ FI_EP_MSG, 1,
			"link post empty:3 poll finish link post empty:3 poll finish "
			"barrier",
			"close:ep close:ep" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		begin(table[i].type, table[i].side);
		worker.end.cq = &fake_cq;
		config.idle = 0;
		fb_idle_add(&worker);
		assert_string_equal(fake_told(), "");
		config.idle = 2;
		fb_idle_add(&worker);
		assert_string_equal(fake_told(), table[i].added);
		fb_idle_remove();
		assert_string_equal(fake_told(), table[i].removed);
		assert_int_equal(fake.open, 0);
		fb_idle_remove();
		assert_string_equal(fake_told(), "");
	}
}

#define TEST(name) cmocka_unit_test_setup(name, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pair_is_configured),
		TEST(a_ramp_has_ranges),
		TEST(large_messages_make_short_ramps),
		TEST(times_of_a_ramp),
		TEST(pairs_take_their_time),
		TEST(the_peer_follows),
		TEST(calls_are_measured),
		TEST(connections_are_measured),
		TEST(calls_are_answered),
		TEST(idle_peers_are_added),
	};
	int ret;

	rows = calloc(ROWS_MAX, sizeof(*rows));
	if (!rows)
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	free(rows);
	return ret;
}
