/* SPDX-License-Identifier: BSD-2-Clause */
#include "worker.h"
#include "message.h"
#include "say.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINE = 64, PAGE = 4096, LATENCY_SLOTS = 2 };

struct fb_worker *fb_workers_new(struct fb_node *node)
{
	struct fb_worker *all = fb_alloc(node->config->threads, sizeof(*all));

	for (uint32_t i = 0; i < node->config->threads; i++) {
		all[i].node = node;
		all[i].number = i;
		all[i].side = node->control->rank;
		all[i].end.peer = FI_ADDR_UNSPEC;
	}
	return all;
}

/* ---- sizes of memory ---- */

static bool worker_streams(enum fb_test test)
{
	return fb_tests[test].unit != FB_UNIT_TIME;
}

/* Bytes of a buffer for messages of @bytes. Receives of datagrams stay posted when the
 * size changes, so all of them have the largest size that can be sent. */
static uint64_t worker_extent(const struct fb_node *node, uint64_t bytes)
{
	uint64_t sizes[FB_SIZES_MAX];
	uint32_t n;

	if (node->config->type != FI_EP_DGRAM)
		return bytes;
	for (int test = 0; test < FB_TEST_COUNT; test++) {
		if (!fb_config_has(node->config, test))
			continue;
		n = fb_config_sizes(node->config, test, sizes);
		for (uint32_t i = 0; i < n; i++)
			if (sizes[i] > bytes && sizes[i] <= node->size_max)
				bytes = sizes[i];
	}
	return bytes;
}

static uint32_t worker_tx_slots(
	const struct fb_node *node, enum fb_test test, uint64_t bytes)
{
	if (test == FB_EXCHANGE)
		return 1;
	if (test == FB_BURST)
		return fb_config_burst(node->config);
	if (!worker_streams(test) && node->config->type != FI_EP_DGRAM)
		return LATENCY_SLOTS;
	return fb_config_window(node->config, worker_extent(node, bytes));
}

/* The number of receives: in streams twice the window, so that some are posted while
 * others complete. */
static uint32_t worker_rx_slots(
	const struct fb_node *node, enum fb_test test, uint64_t bytes)
{
	uint32_t slots = worker_tx_slots(node, test, bytes);

	return worker_streams(test) || node->config->type == FI_EP_DGRAM ? 2 * slots
									 : slots;
}

/* The number of buffers of a lane with @slots slots, a multiple of @slots. */
static uint32_t worker_buffers(const struct fb_config *c, uint32_t slots)
{
	if (!c->touch && !c->verify)
		return c->buffers ? c->buffers : 1;
	return c->buffers > slots ? (c->buffers + slots - 1) / slots * slots : slots;
}

/* Bytes from one buffer of a lane to the next. Groups have their own buffers
 * (group.c). */
static size_t worker_lane_stride(
	const struct fb_node *node, enum fb_test test, uint64_t bytes)
{
	if (fb_tests[test].need == FB_NEED_COLLECTIVE)
		return 0;
	return (size_t)((worker_extent(node, bytes) + LINE - 1) / LINE * LINE);
}

static void worker_grow(size_t *len, size_t wanted)
{
	if (wanted > *len)
		*len = wanted;
}

/* Bytes of both lanes for the largest size of all tests. */
static void worker_lane_lengths(
	const struct fb_node *node, size_t *ret_tx, size_t *ret_rx)
{
	const struct fb_config *c = node->config;
	uint64_t sizes[FB_SIZES_MAX];

	*ret_tx = *ret_rx = PAGE;
	for (int test = 0; test < FB_TEST_COUNT; test++) {
		uint32_t n =
			fb_config_has(c, test) ? fb_config_sizes(c, test, sizes) : 0;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t tx = worker_tx_slots(node, test, sizes[i]);
			uint32_t rx = worker_rx_slots(node, test, sizes[i]);

			if (sizes[i] > node->size_max)
				continue;
			worker_grow(ret_tx,
				worker_buffers(c, tx) *
					worker_lane_stride(node, test, sizes[i]));
			worker_grow(ret_rx,
				worker_buffers(c, rx) *
					worker_lane_stride(node, test, sizes[i]));
		}
	}
}

/* ---- memory ---- */

/* A shared memory file that cannot shrink: providers may let peers map it. */
static void *worker_shared_memory(size_t len)
{
	int fd = memfd_create("fi_bench", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *memory = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, (off_t)len) &&
		!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_POPULATE, fd, 0);
	return memory;
}

static void *worker_private_memory(size_t len)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
}

static void worker_lane_open(
	struct fb_worker *w, struct fb_lane *lane, size_t len, uint64_t access)
{
	struct fi_info *info = w->node->info;

	lane->len = (len + PAGE - 1) / PAGE * PAGE;
	lane->memory = w->node->config->shared ? worker_shared_memory(lane->len)
					       : worker_private_memory(lane->len);
	if (lane->memory == MAP_FAILED)
		fb_die(FB_EXIT_FAILED,
			"no memory for buffers of %zu bytes: try a smaller --window or "
			"--buffers",
			lane->len);
	if (!(info->domain_attr->mr_mode & FI_MR_LOCAL) &&
		!(info->caps & (FI_RMA | FI_ATOMIC)))
		return;
	fb_must(fi_mr_reg(w->node->domain, lane->memory, lane->len, access, 0,
			2 * (uint64_t)w->number + (lane == &w->rx), 0, &lane->mr, NULL),
		"fi_mr_reg");
	if (info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		fb_must(fi_mr_bind(lane->mr, &w->end.ep->fid, 0), "fi_mr_bind");
		fb_must(fi_mr_enable(lane->mr), "fi_mr_enable");
	}
	lane->desc = fi_mr_desc(lane->mr);
}

static void worker_swap_keys(struct fb_worker *w)
{
	struct {
		uint64_t addr, key;
	} mine = { 0 }, all[FB_MEMBERS_MAX];

	if (w->rx.mr) {
		if (w->node->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
			mine.addr = (uintptr_t)w->rx.memory;
		mine.key = fi_mr_key(w->rx.mr);
	}
	fb_control_gather(w->node->control, &mine, all, sizeof(mine));
	w->remote_addr = all[!w->side].addr;
	w->remote_key = all[!w->side].key;
}

void fb_workers_memory(struct fb_node *node)
{
	bool remote = node->info->caps & (FI_RMA | FI_ATOMIC);
	size_t tx, rx;

	worker_lane_lengths(node, &tx, &rx);
	for (uint32_t i = 0; i < node->config->threads; i++) {
		struct fb_worker *w = &node->worker[i];

		worker_lane_open(
			w, &w->tx, tx, FI_SEND | (remote ? FI_WRITE | FI_READ : 0));
		worker_lane_open(w, &w->rx, rx,
			FI_RECV | (remote ? FI_REMOTE_WRITE | FI_REMOTE_READ : 0));
		worker_swap_keys(w);
	}
}

static void worker_lane_close(struct fb_lane *lane)
{
	if (lane->mr)
		(void)fi_close(&lane->mr->fid);
	munmap(lane->memory, lane->len);
	free(lane->slot);
	free(lane->fifo.at);
}

void fb_worker_memory_close(struct fb_worker *w)
{
	worker_lane_close(&w->tx);
	worker_lane_close(&w->rx);
}

/* ---- one size ---- */

static void worker_fifo_new(struct fb_fifo *fifo, uint32_t slots)
{
	uint32_t size = 1;

	while (size < slots)
		size *= 2;
	free(fifo->at);
	fifo->at = fb_alloc(size, sizeof(void *));
	fifo->mask = size - 1;
	fifo->head = fifo->tail = 0;
}

static void worker_lane_size(struct fb_worker *w, struct fb_lane *lane, uint32_t slots)
{
	const struct fb_config *c = w->node->config;

	free(lane->slot);
	lane->slot = fb_alloc(slots, sizeof(*lane->slot));
	lane->slots = slots;
	lane->stride = worker_lane_stride(w->node, w->test, w->bytes);
	lane->buffers = worker_buffers(c, slots);
	if (lane->buffers * lane->stride > lane->len)
		fb_die(FB_EXIT_FAILED, "%zu bytes: more than was allocated", w->bytes);
	lane->iteration = 0;
	worker_fifo_new(&lane->fifo, slots);
	for (uint32_t i = 0; i < slots; i++) {
		struct fb_slot *slot = &lane->slot[i];

		slot->receives = lane == &w->rx;
		slot->first = i % lane->buffers;
		/* fb_next_buffer then returns the first buffer of this slot. */
		slot->buffer = UINT32_MAX - slots;
		slot->memory = fb_buffer(lane, slot->first);
	}
}

/* Tests of groups have no receives, exchanges post theirs when they begin, and a target
 * that makes no calls gets no messages. */
static bool worker_posts(const struct fb_config *c, enum fb_test test)
{
	enum fb_need need = fb_tests[test].need;

	return need != FB_NEED_COLLECTIVE && test != FB_EXCHANGE && test != FB_BURST &&
	       !(c->silent && need != FB_NEED_NOTHING);
}

void fb_worker_size(struct fb_worker *w, enum fb_test test, size_t bytes)
{
	const struct fb_config *c = w->node->config;
	bool stay = c->type == FI_EP_DGRAM && w->rx.slot;

	w->test = test;
	w->bytes = bytes;
	w->window = worker_tx_slots(w->node, test, bytes);
	w->touch = c->touch || c->verify;
	w->verify = c->verify;
	w->step = c->verify ? sizeof(uint64_t) : LINE;
	w->iteration = 0;
	w->lost = 0;
	w->stalled = false;
	w->posts = worker_posts(c, test);
	fb_message_choose(w);
	if (stay)
		return;
	worker_lane_size(w, &w->tx, w->window);
	worker_lane_size(w, &w->rx, worker_rx_slots(w->node, test, bytes));
	w->rx_bytes = c->type == FI_EP_DGRAM ? w->rx.stride : bytes;
	memset(w->tx.memory, 0, w->tx.buffers * w->tx.stride);
	memset(w->rx.memory, 0, w->rx.buffers * w->rx.stride);
	for (uint32_t i = 0; i < w->tx.slots; i++)
		fb_fifo_put(&w->tx.fifo, &w->tx.slot[i]);
	for (uint32_t i = 0; i < w->rx.slots; i++) {
		if (w->posts)
			fb_message_post(w, &w->rx.slot[i]);
		else
			fb_fifo_put(&w->rx.fifo, &w->rx.slot[i]);
	}
}

/* ---- contents of buffers ---- */

static uint64_t worker_word_of(uint64_t iteration, size_t at)
{
	return (iteration + 1) * UINT64_C(0x9e3779b97f4a7c15) + at;
}

void fb_fill(const struct fb_worker *w, char *buf, uint64_t iteration)
{
	size_t at = 0;

	for (; at + sizeof(uint64_t) <= w->bytes; at += w->step) {
		uint64_t word = worker_word_of(iteration, at);

		memcpy(buf + at, &word, sizeof(word));
	}
	if (!w->verify && w->bytes >= sizeof(uint64_t))
		return;
	for (; at < w->bytes; at++)
		buf[at] = (char)worker_word_of(iteration, at);
}

char fb_fill_byte(const struct fb_worker *w, uint64_t iteration, size_t at)
{
	size_t start = at / sizeof(uint64_t) * sizeof(uint64_t);
	uint64_t word = worker_word_of(iteration, start);
	char bytes[sizeof(word)];

	if (start + sizeof(word) > w->bytes)
		return (char)worker_word_of(iteration, at);
	memcpy(bytes, &word, sizeof(word));
	return bytes[at - start];
}

static _Noreturn void worker_damaged(
	const struct fb_worker *w, uint64_t iteration, size_t at)
{
	fb_die(FB_EXIT_DAMAGED,
		"%s, %zu bytes: message %llu arrived damaged, first at byte %zu",
		fb_tests[w->test].name, w->bytes, (unsigned long long)iteration, at);
}

static void worker_verify(
	const struct fb_worker *w, const char *buf, uint64_t iteration)
{
	size_t at = 0;

	for (; at + sizeof(uint64_t) <= w->bytes; at += sizeof(uint64_t)) {
		uint64_t word = worker_word_of(iteration, at);

		if (memcmp(buf + at, &word, sizeof(word)) != 0)
			worker_damaged(w, iteration, at);
	}
	for (; at < w->bytes; at++)
		if (buf[at] != (char)worker_word_of(iteration, at))
			worker_damaged(w, iteration, at);
}

void fb_read(struct fb_worker *w, const char *buf, uint64_t iteration)
{
	uint64_t sum = 0, word = 0;

	if (w->verify) {
		worker_verify(w, buf, iteration);
		return;
	}
	if (w->bytes < sizeof(word))
		sum = (unsigned char)buf[0];
	for (size_t at = 0; at + sizeof(word) <= w->bytes; at += w->step) {
		memcpy(&word, buf + at, sizeof(word));
		sum += word;
	}
	w->received_bytes_sum += sum;
	/* Keeps the compiler from removing the reads: the sum is not used. */
	__asm__ volatile("" : : "r"(sum) : "memory");
}
