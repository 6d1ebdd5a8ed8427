/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations of fi_bench and their completions: the calls of each test, what is read
 * of results, and how a run ends that cannot go on. */
#include "fake.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <sys/socket.h>
#include <time.h>
#include "../../../tools/bench/message.h"
#include "dies.h"

enum { BYTES = 16, LANE = 4096, TX_DESC = 1 };

static uint64_t now_ns, step_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	now_ns += step_ns;
	ret->tv_sec = (time_t)(now_ns / 1000000000);
	ret->tv_nsec = (long)(now_ns % 1000000000);
	return 0;
}

/* ---- operations on memory of the peer ---- */

static ssize_t memory_call(const char *name, size_t len, fi_addr_t to, uint64_t addr,
	uint64_t key, int type, int op)
{
	return fake_call(name, ":%zu:%d:%llu:%llu:%d:%d", len, (int)to,
		(unsigned long long)addr, (unsigned long long)key, type, op);
}

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t from, uint64_t addr, uint64_t key, void *context)
{
	(void)ep;
	(void)buf;
	(void)desc;
	(void)context;
	return memory_call("read", len, from, addr, key, 0, 0);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t len, void *desc,
	fi_addr_t to, uint64_t addr, uint64_t key, void *context)
{
	(void)ep;
	(void)buf;
	(void)desc;
	(void)context;
	return memory_call("write", len, to, addr, key, 0, 0);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to,
	uint64_t addr, uint64_t key)
{
	(void)ep;
	(void)buf;
	return memory_call("inject_write", len, to, addr, key, 0, 0);
}

static ssize_t atomic_write(struct fid_ep *ep, const void *buf, size_t count,
	void *desc, fi_addr_t to, uint64_t addr, uint64_t key, enum fi_datatype type,
	enum fi_op op, void *context)
{
	(void)ep;
	(void)desc;
	(void)context;
	assert_int_equal(*(const uint64_t *)buf, 1);
	return memory_call("atomic", count, to, addr, key, type, op);
}

static ssize_t atomic_inject(struct fid_ep *ep, const void *buf, size_t count,
	fi_addr_t to, uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op op)
{
	(void)ep;
	assert_int_equal(*(const uint64_t *)buf, 1);
	return memory_call("inject_atomic", count, to, addr, key, type, op);
}

static ssize_t atomic_fetch(struct fid_ep *ep, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t to, uint64_t addr,
	uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	(void)ep;
	(void)desc;
	(void)result_desc;
	(void)context;
	assert_int_equal(*(const uint64_t *)buf, 1);
	assert_ptr_equal(result, (const uint64_t *)buf + 2);
	return memory_call("fetch", count, to, addr, key, type, op);
}

static ssize_t atomic_compare(struct fid_ep *ep, const void *buf, size_t count,
	void *desc, const void *compare, void *compare_desc, void *result,
	void *result_desc, fi_addr_t to, uint64_t addr, uint64_t key,
	enum fi_datatype type, enum fi_op op, void *context)
{
	(void)ep;
	(void)desc;
	(void)compare_desc;
	(void)result_desc;
	(void)context;
	assert_int_equal(*(const uint64_t *)buf, *(const uint64_t *)compare + 1);
	assert_ptr_equal(compare, (const uint64_t *)buf + 1);
	assert_ptr_equal(result, (const uint64_t *)buf + 2);
	return memory_call("compare", count, to, addr, key, type, op);
}

static struct fi_ops_rma rma_ops = { .size = sizeof(rma_ops),
	.read = rma_read,
	.write = rma_write,
	.inject = rma_inject };
static struct fi_ops_atomic atomic_ops = { .size = sizeof(atomic_ops),
	.write = atomic_write,
	.inject = atomic_inject,
	.readwrite = atomic_fetch,
	.compwrite = atomic_compare };

/* ---- a worker ---- */

static struct fb_config config;
static struct fb_control control;
static struct fb_node node;
static struct fb_worker w;
static char tx_memory[LANE] __attribute__((aligned(64)));
static char rx_memory[LANE] __attribute__((aligned(64)));
static int peer_fd = -1;

static int begin(void **state)
{
	int fd[2];

	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake_ep.rma = &rma_ops;
	fake_ep.atomic = &atomic_ops;
	now_ns = 1;
	step_ns = 1;
	fb_config_init(&config);
	config.type = FI_EP_RDM;
	config.window = 4;
	config.timeout_s = 3;
	fb_control_init(&control, 0, 2);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	fb_control_add(&control, 1, fd[0], 3);
	peer_fd = fd[1];
	node = (struct fb_node){ .config = &config,
		.control = &control,
		.call = FB_CALL_TAGGED,
		.size_max = LANE };
	memset(&w, 0, sizeof(w));
	memset(tx_memory, 0, LANE);
	memset(rx_memory, 0, LANE);
	w.node = &node;
	w.end.ep = &fake_ep;
	w.end.cq = &fake_cq;
	w.end.peer = 6;
	w.tx.memory = tx_memory;
	w.rx.memory = rx_memory;
	w.tx.len = w.rx.len = LANE;
	w.remote_addr = 1000;
	w.remote_key = 44;
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(w.tx.slot);
	free(w.tx.fifo.at);
	free(w.rx.slot);
	free(w.rx.fifo.at);
	fb_control_close(&control);
	if (peer_fd >= 0)
		(void)close(peer_fd);
	return 0;
}

static void size_of(enum fb_test test)
{
	fb_worker_size(&w, test, BYTES);
	(void)fake_told();
}

static void completes(struct fb_slot *slot, uint64_t flags)
{
	fake.cq[0] = (struct fake_read){ .ret = 1, .context = slot, .flags = flags };
	fake.cq_at = 0;
}

/* ---- calls ---- */

/* Of the second operation of each test: another buffer of the peer. */
static void each_test_has_its_call(void **state)
{
	static const struct {
		enum fb_test test;
		enum fb_call call;
		int inject;
		const char *told;
		bool injects;
	} table[] = {
		{ FB_LATENCY, FB_CALL_TAGGED, 0, "tsend:16:6:7", false },
		{ FB_LATENCY, FB_CALL_TAGGED, 1, "tinject:16:6:7", true },
		{ FB_RATE, FB_CALL_MSG, 0, "send:16:6", false },
		{ FB_RATE, FB_CALL_MSG, 1, "inject:16:6", true },
		{ FB_WRITE_LATENCY, FB_CALL_MSG, 0, "write:16:6:1064:44:0:0", false },
		{ FB_WRITE_BANDWIDTH, FB_CALL_MSG, 1, "inject_write:16:6:1064:44:0:0",
			true },
		{ FB_READ_LATENCY, FB_CALL_MSG, 1, "read:16:6:1064:44:0:0", false },
		{ FB_READ_BANDWIDTH, FB_CALL_MSG, 0, "read:16:6:1064:44:0:0", false },
		{ FB_FETCH_ADD, FB_CALL_MSG, 1, "fetch:1:6:1000:44:7:2", false },
		{ FB_COMPARE_SWAP, FB_CALL_MSG, 1, "compare:1:6:1000:44:7:12", false },
		{ FB_ADD_RATE, FB_CALL_MSG, 0, "atomic:1:6:1000:44:7:2", false },
		{ FB_ADD_RATE, FB_CALL_MSG, 1, "inject_atomic:1:6:1000:44:7:2", true },
	};

	(void)state;
	assert_int_equal(FI_UINT64, 7);
	assert_int_equal(FI_SUM, 2);
	assert_int_equal(FI_CSWAP, 12);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint32_t free_slots;

		config.inject = (uint8_t)table[i].inject;
		node.call = table[i].call;
		size_of(table[i].test);
		free_slots = fb_fifo_count(&w.tx.fifo);
		fb_message_start(&w);
		(void)fake_told();
		fb_message_start(&w);
		assert_string_equal(fake_told(), table[i].told);
		assert_int_equal(w.injects, table[i].injects);
		assert_int_equal(fb_fifo_count(&w.tx.fifo),
			table[i].injects ? free_slots : free_slots - 2);
	}
}

static void empty_messages_and_receives(void **state)
{
	(void)state;
	size_of(FB_LATENCY);
	fb_message_send_empty(&w);
	fb_message_post(&w, &w.rx.slot[0]);
	assert_string_equal(fake_told(), "tsend:0:6:7 trecv:16:7:0");
	completes(&w.rx.slot[1], FI_RECV);
	fb_message_await_empty(&w);
	assert_string_equal(fake_told(), "trecv:16:7:0");
	node.call = FB_CALL_MSG;
	size_of(FB_LATENCY);
	fb_message_send_empty(&w);
	fb_message_post(&w, &w.rx.slot[0]);
	assert_string_equal(fake_told(), "send:0:6 recv:16");
}

/* A call that has to wait is repeated, other failures end the run. */
static void start_one(void *arg)
{
	(void)arg;
	fb_message_start(&w);
}

static void calls_are_repeated(void **state)
{
	(void)state;
	size_of(FB_LATENCY);
	fake_refuse("tsend", 0, -FI_EAGAIN);
	fb_message_start(&w);
	assert_string_equal(fake_told(), "tsend:16:6:7 tsend:16:6:7");
	assert_int_equal(w.empty_polls, 1);
	fake_refuse("tsend", 0, -FI_ENOMEM);
	dies(FB_EXIT_FAILED, "fi_bench: latency: Cannot allocate memory\n", start_one,
		NULL);
}

/* ---- slots ---- */

static void sizes_have_slots(void **state)
{
	static const struct {
		enum fb_test test;
		uint32_t tx, rx;
		const char *told;
	} table[] = {
		{ FB_LATENCY, 2, 2, "trecv:16:7:0 trecv:16:7:0" },
		{ FB_EXCHANGE, 1, 1, "" },
		{ FB_BURST, 4, 4, "" },
		{ FB_READ_LATENCY, 2, 2, "trecv:16:7:0 trecv:16:7:0" },
		{ FB_RATE, 4, 8,
			"trecv:16:7:0 trecv:16:7:0 trecv:16:7:0 trecv:16:7:0 "
			"trecv:16:7:0 trecv:16:7:0 trecv:16:7:0 trecv:16:7:0" },
		{ FB_BARRIER, 2, 2, "" },
	};

	(void)state;
	config.touch = true;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		bool posted = table[i].told[0];

		fb_worker_size(&w, table[i].test, BYTES);
		assert_string_equal(fake_told(), table[i].told);
		assert_int_equal(w.tx.slots, table[i].tx);
		assert_int_equal(w.rx.slots, table[i].rx);
		assert_int_equal(w.tx.buffers, table[i].tx);
		assert_int_equal(w.rx.buffers, table[i].rx);
		assert_int_equal(w.window, table[i].tx);
		assert_int_equal(w.posts, posted);
		assert_int_equal(fb_fifo_count(&w.tx.fifo), table[i].tx);
		assert_int_equal(fb_fifo_count(&w.rx.fifo), posted ? 0 : table[i].rx);
		assert_int_equal(w.tx.stride, table[i].test == FB_BARRIER ? 0 : 64);
		assert_false(w.tx.slot[0].receives);
		assert_true(w.rx.slot[0].receives);
	}
	config.buffers = 7;
	fb_worker_size(&w, FB_RATE, BYTES);
	assert_int_equal(w.tx.buffers, 8);
	assert_int_equal(w.rx.buffers, 8);
	assert_int_equal(w.tx.fifo.mask, 3);
	config.buffers = 12;
	fb_worker_size(&w, FB_RATE, BYTES);
	assert_int_equal(w.tx.buffers, 12);
	assert_int_equal(w.rx.buffers, 16);
	config.buffers = 7;
	config.touch = false;
	fb_worker_size(&w, FB_RATE, BYTES);
	assert_int_equal(w.tx.buffers, 7);
	assert_false(w.touch);
	config.verify = true;
	fb_worker_size(&w, FB_RATE, BYTES);
	assert_true(w.touch);
	assert_true(w.verify);
	assert_int_equal(w.tx.buffers, 8);
}

static void size_too_large(void *arg)
{
	(void)arg;
	fb_worker_size(&w, FB_LATENCY, LANE);
}

static void memory_is_not_exceeded(void **state)
{
	(void)state;
	config.touch = true;
	fb_worker_size(&w, FB_LATENCY, LANE / 2);
	dies(FB_EXIT_FAILED, "fi_bench: 4096 bytes: more than was allocated\n",
		size_too_large, NULL);
}

/* ---- completions ---- */

static void completions_free_slots(void **state)
{
	(void)state;
	size_of(FB_LATENCY);
	fb_message_start(&w);
	w.empty_polls = 9;
	w.quiet_since_ns = 9;
	completes(&w.tx.slot[0], FI_SEND);
	fb_poll(&w);
	assert_int_equal(fb_fifo_count(&w.tx.fifo), 2);
	assert_int_equal(w.empty_polls, 0);
	assert_int_equal(w.quiet_since_ns, 0);
	completes(&w.rx.slot[1], FI_RECV);
	fb_poll(&w);
	assert_ptr_equal(fb_message_await(&w), &w.rx.slot[1]);
	fake.cq[0] = (struct fake_read){ .ret = -FI_EINTR };
	fake.cq_at = 0;
	fb_poll(&w);
	fb_poll(&w);
	assert_int_equal(w.empty_polls, 2);
	config.sleep = true;
	(void)fake_told();
	fb_poll(&w);
	assert_string_equal(fake_told(), "cq_sread:100");
}

static void poll_one(void *arg)
{
	(void)arg;
	fb_poll(&w);
}

static void failures_name_their_reason(void **state)
{
	(void)state;
	size_of(FB_LATENCY);
	fake.cq[0] = (struct fake_read){ .ret = -FI_EAVAIL };
	fake.err = FI_ETRUNC;
	dies(FB_EXIT_FAILED, "fi_bench: latency, 16 bytes: Truncation error\n",
		poll_one, NULL);
	fake_refuse("cq_readerr", 0, -FI_ENOMEM);
	dies(FB_EXIT_FAILED, "fi_bench: fi_cq_readerr: Cannot allocate memory\n",
		poll_one, NULL);
	fake.refused = NULL;
	fake.cq[0] = (struct fake_read){ .ret = -FI_EIO };
	dies(FB_EXIT_FAILED,
		"fi_bench: reading the completion queue: Input/output error\n",
		poll_one, NULL);
	/* The end of the peer is the reason of what fails afterwards. */
	fake.cq[0] = (struct fake_read){ .ret = -FI_EAVAIL };
	(void)close(peer_fd);
	peer_fd = -1;
	dies(FB_EXIT_FAILED, "fi_bench: the peer left\n", poll_one, NULL);
}

static void check_twice(void *arg)
{
	(void)arg;
	fb_check_peer(&w);
	step_ns = UINT64_C(3000000000);
	fb_check_peer(&w);
	fputs("still\n", stderr);
	step_ns = 1;
	fb_check_peer(&w);
}

static void waits_end(void **state)
{
	(void)state;
	size_of(FB_LATENCY);
	w.empty_polls = 1 << 14;
	dies(FB_EXIT_FAILED,
		"still\nfi_bench: latency, 16 bytes: nothing moves any more\n",
		check_twice, NULL);
	/* Not at each poll. */
	for (uint32_t more = 1; more < 3; more++) {
		w.empty_polls = (1 << 14) + more;
		dies(99, "still\n", check_twice, NULL);
	}
	config.sleep = true;
	dies(FB_EXIT_FAILED,
		"still\nfi_bench: latency, 16 bytes: nothing moves any more\n",
		check_twice, NULL);
	(void)close(peer_fd);
	peer_fd = -1;
	dies(FB_EXIT_FAILED, "fi_bench: the peer left\n", check_twice, NULL);
}

/* ---- results ---- */

/* An operation with the word that it fetched. */
static void fetch(void *arg)
{
	struct fb_slot *slot = &w.tx.slot[0];

	slot->iteration = 4;
	((uint64_t *)(void *)slot->memory)[2] = *(const uint64_t *)arg;
	completes(slot, FI_ATOMIC);
	fb_poll(&w);
}

static void fetched_words_are_checked(void **state)
{
	uint64_t right = 4, wrong = 5;

	(void)state;
	config.verify = true;
	size_of(FB_FETCH_ADD);
	fetch(&right);
	dies(FB_EXIT_DAMAGED, "fi_bench: fetch_add: operation 4 found 5\n", fetch,
		&wrong);
	config.verify = false;
	size_of(FB_FETCH_ADD);
	fetch(&wrong);
	/* Additions fetch nothing. */
	config.verify = true;
	size_of(FB_ADD_RATE);
	fetch(&wrong);
}

/* A read of buffer 1 of the peer, with byte *arg damaged. */
static void read_buffer(void *arg)
{
	struct fb_slot *slot = &w.tx.slot[0];
	int at = *(int *)arg;

	slot->iteration = 3;
	fb_fill(&w, slot->memory, 1);
	if (at >= 0)
		slot->memory[at] ^= 1;
	completes(slot, FI_READ);
	fb_poll(&w);
}

static void read_data_is_checked(void **state)
{
	int none = -1, first = 0, last = BYTES - 1;

	(void)state;
	config.verify = true;
	size_of(FB_READ_LATENCY);
	assert_int_equal(w.rx.buffers, 2);
	read_buffer(&none);
	dies(FB_EXIT_DAMAGED,
		"fi_bench: read_latency, 16 bytes: message 1 arrived damaged, first at "
		"byte 0\n",
		read_buffer, &first);
	dies(FB_EXIT_DAMAGED,
		"fi_bench: read_latency, 16 bytes: message 1 arrived damaged, first at "
		"byte 8\n",
		read_buffer, &last);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_test_has_its_call),
		TEST(empty_messages_and_receives),
		TEST(calls_are_repeated),
		TEST(sizes_have_slots),
		TEST(memory_is_not_exceeded),
		TEST(completions_free_slots),
		TEST(failures_name_their_reason),
		TEST(waits_end),
		TEST(fetched_words_are_checked),
		TEST(read_data_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
