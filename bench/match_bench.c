/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match_bench [ROUNDS [TAGS [NAME]]]: time of one receive and its message in the
 * matching engine, with 0, 1,000 and 100,000 other entries waiting. The rounds of the
 * three are interleaved; ratios are to the time with none: of the best rounds, and the
 * median of the ratios within each round, which a machine that changes its pace leaves
 * alone. With NAME it runs only the cases whose names begin with that.
 */
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "match/match.h"
#include "sys/clock.h"

/* Bytes of a cache line and of a huge page. The engine and the entries begin with one,
 * so that the times depend neither on where the linker or the allocator put them nor on
 * the physical pages: these change those of 100,000 untagged receives by a half. */
#define LINE 64
#define PAGE (UINT32_C(2) << 20)

#define MAX_OTHERS  100000
#define MAX_ROUNDS  101
#define PAIRS       50000
#define MASK        UINT64_C(0xff)
#define SECOND_MASK UINT64_C(0xff00000000)

/* The entry with the data of its owner, as for a receive: struct fi_peer_rx_entry. */
struct receive {
	struct wf_match_entry entry;
	struct receive *free;
	uint64_t fields[20];
};

/* The entry of an unexpected message, with its flags, length and data pointer. */
struct message {
	struct wf_match_message entry;
	uint32_t free;
	uint64_t fields[2];
};

struct world {
	alignas(LINE) struct wf_match match;
	struct receive *others;
	uint32_t *messages;
	size_t count;
	uint64_t rng, iteration;
};

struct bench {
	const char *name;
	/* Queue the other entries. */
	void (*fill)(struct world *w, const struct bench *b);
	/* One receive and its message. */
	void (*pair)(struct world *w, const struct bench *b);
	uint64_t ignore, addr;
};

/* Work of the owner that is timed, too: an entry from a pool, its fields filled in, and
 * at the end a completion, struct fi_cq_tagged_entry. */
static alignas(LINE) struct receive pool[16];
static struct receive *pool_free;
static struct wf_handles handles;
static struct wf_pool messages;
static size_t messages_kept;
static uint32_t message_free;
static struct {
	uint64_t fields[6];
} completions[256];
static size_t completion_count;

static uint64_t hot_tags = 16; /* a power of two */

static struct receive *owner_get(uint64_t tag, uint64_t addr)
{
	struct receive *r = pool_free;

	pool_free = r->free;
	for (size_t i = 0; i < 12; i++)
		r->fields[i] = i % 2 ? tag : addr;
	return r;
}

static void owner_put(struct wf_match_entry *e)
{
	struct receive *r = wf_container_of(e, struct receive, entry);

	r->free = pool_free;
	pool_free = r;
}

static void owner_complete(struct wf_match_entry *e)
{
	struct receive *r = wf_container_of(e, struct receive, entry);
	uint64_t *fields = completions[completion_count++ % 256].fields;

	for (size_t i = 0; i < 6; i++)
		fields[i] = r->fields[i];
	owner_put(e);
}

static struct message *message_at(uint32_t msg)
{
	return wf_pool_at(&handles, msg);
}

static uint32_t owner_keep(uint64_t tag, uint64_t addr)
{
	uint32_t msg = message_free;
	struct message *message = message_at(msg);

	message_free = message->free;
	message->fields[0] = tag;
	message->fields[1] = addr;
	return msg;
}

static void owner_drop(uint32_t msg)
{
	message_at(msg)->free = message_free;
	message_free = msg;
}

static uint32_t message_new(void)
{
	struct message *msg = wf_pool_get(&messages);

	if (!msg)
		abort();
	return wf_pool_handle(&handles, msg);
}

static void owner_init(void)
{
	wf_pool_init_handles(
		&messages, sizeof(struct message), &messages_kept, &handles);
	for (size_t i = 0; i < WF_ARRAY_SIZE(pool); i++) {
		owner_put(&pool[i].entry);
		owner_drop(message_new());
	}
}

/* The tag of other entry @i: bit 40 is set, so no timed receive or message matches
 * it. */
static uint64_t other_tag(size_t i)
{
	return (UINT64_C(1) << 40) + (uint64_t)i * 0x100;
}

static uint64_t hot_tag(struct world *w)
{
	return (w->iteration++ & (hot_tags - 1)) * 0x100;
}

static void fill_posted(struct world *w, const struct bench *b)
{
	for (size_t i = 0; i < w->count; i++)
		wf_match_post(&w->match, &w->others[i].entry, other_tag(i), b->ignore,
			b->addr);
}

/* Half of the others have another mask. */
static void fill_posted_mixed(struct world *w, const struct bench *b)
{
	for (size_t i = 0; i < w->count; i++)
		wf_match_post(&w->match, &w->others[i].entry, other_tag(i),
			i % 2 ? SECOND_MASK : b->ignore, b->addr);
}

static void fill_unexpected(struct world *w, const struct bench *b)
{
	for (size_t i = 0; i < w->count; i++)
		wf_match_queue(&w->match, w->messages[i], other_tag(i), 1);
}

static void receive(struct world *w, const struct bench *b, uint64_t tag)
{
	uint32_t msg = wf_match_take_unexpected(&w->match, tag, b->ignore, b->addr);
	struct receive *r = owner_get(tag, b->addr);

	if (msg) {
		owner_drop(msg);
		owner_complete(&r->entry);
	} else {
		wf_match_post(&w->match, &r->entry, tag, b->ignore, b->addr);
	}
}

static void arrive(struct world *w, uint64_t tag)
{
	struct wf_match_entry *e = wf_match_take_posted(&w->match, tag, 1);

	if (e)
		owner_complete(e);
	else
		wf_match_queue(&w->match, owner_keep(tag, 1), tag, 1);
}

static void expected(struct world *w, const struct bench *b)
{
	uint64_t tag = hot_tag(w);

	receive(w, b, tag);
	arrive(w, tag | (b->ignore & 0x55));
}

static void unexpected(struct world *w, const struct bench *b)
{
	uint64_t tag = hot_tag(w);

	arrive(w, tag | (b->ignore & 0x55));
	receive(w, b, tag);
}

static uint64_t random_below(struct world *w, uint64_t n)
{
	w->rng = w->rng * 6364136223846793005u + 1442695040888963407u;
	return (uint64_t)(((unsigned __int128)w->rng * n) >> 64);
}

/* A random one of the waiting receives is matched and posted again. Each access misses
 * the caches, so the row shows them as much as matching. */
static void any_posted(struct world *w, const struct bench *b)
{
	size_t i = random_below(w, w->count);
	struct wf_match_entry *e = wf_match_take_posted(&w->match, other_tag(i), 1);

	wf_match_post(&w->match, e, other_tag(i), b->ignore, b->addr);
}

static void any_unexpected(struct world *w, const struct bench *b)
{
	size_t i = random_below(w, w->count);
	uint32_t e =
		wf_match_take_unexpected(&w->match, other_tag(i), b->ignore, b->addr);

	wf_match_queue(&w->match, e, other_tag(i), 1);
}

static void fill_posted_fifo(struct world *w, const struct bench *b)
{
	for (size_t i = 0; i < w->count + 1; i++)
		wf_match_post(&w->match, &w->others[i].entry, 0, 0, b->addr);
}

static void posted_fifo(struct world *w, const struct bench *b)
{
	wf_match_post(&w->match, wf_match_take_posted(&w->match, 0, 1), 0, 0, b->addr);
}

static void fill_unexpected_fifo(struct world *w, const struct bench *b)
{
	for (size_t i = 0; i < w->count + 1; i++)
		wf_match_queue(&w->match, w->messages[i], 0, 1);
}

static void unexpected_fifo(struct world *w, const struct bench *b)
{
	wf_match_queue(
		&w->match, wf_match_take_unexpected(&w->match, 0, 0, b->addr), 0, 1);
}

/* The bare list that the fifos compare with. */
static void fill_list(struct world *w, const struct bench *b)
{
	for (size_t i = 0; i < w->count + 1; i++)
		wf_list_push(&w->match.ungrouped, &w->others[i].entry.order);
}

static void __attribute__((noinline)) list(struct world *w, const struct bench *b)
{
	struct wf_list *item = wf_list_pop(&w->match.ungrouped);

	wf_list_entry(item, struct wf_match_entry, order)->stamp = w->match.stamp++;
	wf_list_push(&w->match.ungrouped, item);
}

static const struct bench benches[] = {
	{ "posted, exact", fill_posted, expected, 0, WF_MATCH_ANY },
	{ "posted, exact, directed", fill_posted, expected, 0, 1 },
	{ "posted, masked", fill_posted, expected, MASK, WF_MATCH_ANY },
	{ "posted, masked, directed", fill_posted, expected, MASK, 1 },
	{ "posted, two masks", fill_posted_mixed, expected, MASK, WF_MATCH_ANY },
	{ "unexpected, exact", fill_unexpected, unexpected, 0, WF_MATCH_ANY },
	{ "unexpected, exact, directed", fill_unexpected, unexpected, 0, 1 },
	{ "unexpected, masked", fill_unexpected, unexpected, MASK, WF_MATCH_ANY },
	{ "unexpected, masked, directed", fill_unexpected, unexpected, MASK, 1 },
	{ "bare list, first to last", fill_list, list, 0, WF_MATCH_ANY },
	{ "posted, untagged", fill_posted_fifo, posted_fifo, 0, WF_MATCH_ANY },
	{ "posted, untagged, directed", fill_posted_fifo, posted_fifo, 0, 1 },
	{ "unexpected, untagged", fill_unexpected_fifo, unexpected_fifo, 0,
		WF_MATCH_ANY },
	{ "unexpected, untagged, directed", fill_unexpected_fifo, unexpected_fifo, 0,
		1 },
	{ "posted, any of all", fill_posted, any_posted, 0, WF_MATCH_ANY },
	{ "unexpected, any of all", fill_unexpected, any_unexpected, 0, WF_MATCH_ANY },
};

/* Zeroed; NULL: no memory. */
static struct receive *receives_new(size_t count)
{
	size_t len = (count * sizeof(struct receive) + PAGE - 1) / PAGE * PAGE;
	struct receive *receives = aligned_alloc(PAGE, len);

	if (!receives)
		return NULL;
	/* Refused by kernels without huge pages. */
	(void)madvise(receives, len, MADV_HUGEPAGE);
	return memset(receives, 0, len);
}

static double round_ns(struct world *w, const struct bench *b)
{
	uint64_t start = wf_now_ns();

	for (int i = 0; i < PAIRS; i++)
		b->pair(w, b);
	return (double)(wf_now_ns() - start) / PAIRS;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int run(const struct bench *b, int rounds)
{
	static const size_t counts[] = { 0, 1000, MAX_OTHERS };
	bool draws = b->pair == any_posted || b->pair == any_unexpected;
	struct world w[3];
	double ns[3][MAX_ROUNDS], ratios[MAX_ROUNDS];

	for (int i = 0; i < 3; i++) {
		memset(&w[i], 0, sizeof(w[i]));
		w[i].count = counts[i] + (draws && !counts[i]);
		w[i].others = receives_new(counts[i] + 1);
		w[i].messages = calloc(counts[i] + 1, sizeof(uint32_t));
		if (!w[i].others || !w[i].messages)
			return 1;
		for (size_t j = 0; j <= counts[i]; j++)
			w[i].messages[j] = message_new();
		wf_match_init(&w[i].match, &handles);
		b->fill(&w[i], b);
		(void)round_ns(&w[i], b);
	}
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < 3; i++)
			ns[i][r] = round_ns(&w[i], b);
		ratios[r] = ns[2][r] / ns[0][r];
	}
	qsort(ratios, (size_t)rounds, sizeof(double), compare);
	for (int i = 0; i < 3; i++) {
		qsort(ns[i], (size_t)rounds, sizeof(double), compare);
		wf_match_done(&w[i].match);
		free(w[i].others);
		for (size_t j = 0; j <= counts[i]; j++)
			wf_pool_put(&messages, message_at(w[i].messages[j]));
		free(w[i].messages);
	}
	printf("%-32s", b->name);
	for (int i = 0; i < 3; i++)
		printf(" %7.1f %7.1f", ns[i][0], ns[i][rounds / 2]);
	printf("   %6.2f %6.2f\n", ns[2][0] / ns[0][0], ratios[rounds / 2]);
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 15;
	const char *name = argc > 3 ? argv[3] : "";

	if (argc > 2)
		hot_tags = strtoull(argv[2], NULL, 0);
	if (!hot_tags || hot_tags & (hot_tags - 1)) {
		fprintf(stderr, "TAGS is a power of two\n");
		return 2;
	}
	rounds = WF_MIN(WF_MAX(rounds, 1), MAX_ROUNDS);
	owner_init();
	printf("%-32s %15s %15s %15s   %13s\n", "ns for a receive and its message",
		"none waiting", "1,000", "100,000", "100,000/none");
	printf("%-32s", "");
	for (int i = 0; i < 3; i++)
		printf(" %7s %7s", "best", "median");
	printf("   %6s %6s\n", "best", "median");
	for (size_t i = 0; i < WF_ARRAY_SIZE(benches); i++)
		if (!strncmp(benches[i].name, name, strlen(name)) &&
			run(&benches[i], rounds))
			return 1;
	return 0;
}
