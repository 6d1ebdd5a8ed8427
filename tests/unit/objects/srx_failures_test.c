/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives and unexpected messages when there is no memory, or no room for a result. */
#include "srx_fixture.h"

#include "../../log_lines.h"
#include "objects/srx/heads.h"
#include "objects/srx/internal.h"

enum { T = FI_TAGGED | FI_RECV, M = FI_MSG | FI_RECV };

/* Calls until the one that fails; 0: none does. */
static unsigned int no_object_in, no_block_in, no_malloc_in;

#define VISIBLE __attribute__((visibility("default")))

VISIBLE void *__wrap_wf_pool_get(struct wf_pool *pool);
VISIBLE void *__wrap_wf_sizes_get(struct wf_sizes *sizes, size_t len);
VISIBLE void *__wrap_malloc(size_t len);
void *__real_wf_pool_get(struct wf_pool *pool);
void *__real_wf_sizes_get(struct wf_sizes *sizes, size_t len);
void *__real_malloc(size_t len);

static bool fails_now(unsigned int *left)
{
	return *left && !--*left;
}

void *__wrap_wf_pool_get(struct wf_pool *pool)
{
	return fails_now(&no_object_in) ? NULL : __real_wf_pool_get(pool);
}

void *__wrap_wf_sizes_get(struct wf_sizes *sizes, size_t len)
{
	return fails_now(&no_block_in) ? NULL : __real_wf_sizes_get(sizes, len);
}

void *__wrap_malloc(size_t len)
{
	return fails_now(&no_malloc_in) ? NULL : __real_malloc(len);
}

/* ---- a sink that takes no answer ---- */

static unsigned int releases;
static struct wf_srx *locked_srx;

static ssize_t no_answer(struct wf_srx_sink *sink, uint64_t op_flags,
	const struct fi_cq_tagged_entry *entry, fi_addr_t src)
{
	return -FI_ENOMEM;
}

static void locked_release(struct wf_srx_sink *sink, uint64_t op_flags, void *context)
{
	releases++;
	assert_false(wf_trylock(locked_srx->lock));
}

/* Objects of @pool that nobody gave back. */
static size_t in_use(const struct wf_pool *pool)
{
	size_t ret = 0;

	if (!pool->slabs)
		return 0;
	wf_list_foreach(link, &pool->all) ret +=
		wf_list_entry(link, struct wf_pool_slab, all)->used;
	return ret - pool->spare_count;
}

static size_t blocks_in_use(const struct wf_sizes *sizes)
{
	size_t ret = 0;

	for (int i = 0; sizes->pools && i < WF_SIZES_CLASSES; i++)
		if (sizes->pools[i])
			ret += in_use(sizes->pools[i]);
	return ret;
}

static struct wf_srx_sink *sink_of(struct fk *fk)
{
	return wf_srx_port_of(fk->ep.srx)->sink;
}

static ssize_t look(struct fk *fk, uint64_t tag, void *context, uint64_t flags)
{
	return fk_trecvmsg(
		&fk->ep.fid, NULL, 0, FI_ADDR_UNSPEC, tag, 0, context, flags);
}

static void peeks(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct wf_srx_sink *sink = sink_of(fk);
	const struct wf_srx_sink_ops *ops = sink->ops;
	struct wf_srx_sink_ops full = *ops;
	struct wf_pool *pool = &fk->ep.srx_queue->pool;
	struct fi_context ctx;
	unsigned char b[8];
	size_t before;

	full.answer = no_answer;
	fk_tagged(fk, 3, 5, 10, 6);
	before = in_use(pool);
	no_object_in = 1;
	assert_int_equal(look(fk, 5, &ctx, FI_PEEK | FI_CLAIM), -FI_ENOMEM);
	assert_int_equal(no_object_in, 0);
	no_object_in = 1;
	assert_int_equal(look(fk, 5, &ctx, FI_PEEK | FI_DISCARD), -FI_ENOMEM);
	assert_int_equal(no_object_in, 0);
	/* One that takes nothing away needs no memory. */
	no_object_in = 1;
	assert_int_equal(look(fk, 5, &ctx, FI_PEEK), 0);
	assert_int_equal(no_object_in, 1);
	no_object_in = 0;
	fk_expect(&a, &ctx, T, 6, 5);

	sink->ops = &full;
	assert_int_equal(look(fk, 5, &ctx, FI_PEEK), -FI_ENOMEM);
	assert_int_equal(look(fk, 5, &ctx, FI_PEEK | FI_CLAIM), -FI_ENOMEM);
	assert_int_equal(look(fk, 5, &ctx, FI_PEEK | FI_DISCARD), -FI_ENOMEM);
	assert_int_equal(fk->discards, 0);
	assert_int_equal(in_use(pool), before);
	sink->ops = ops;
	/* Nothing was reserved or dropped. */
	assert_int_equal(look(fk, 5, &ctx, FI_CLAIM), -FI_EINVAL);
	assert_int_equal(look(fk, 5, &ctx, FI_PEEK | FI_CLAIM), 0);
	fk_expect(&a, &ctx, T, 6, 5);
	sink->ops = &full;
	assert_int_equal(look(fk, 5, &ctx, FI_CLAIM | FI_DISCARD), -FI_ENOMEM);
	assert_int_equal(fk->discards, 0);
	sink->ops = ops;
	/* It is still reserved. */
	assert_int_equal(fk_trecvmsg(&fk->ep.fid, b, 8, 0, 5, 0, &ctx, FI_CLAIM), 0);
	fk_expect(&a, &ctx, T, 6, 5);
	assert_true(fk_holds(b, 10, 6));
	fk_close(fk);
	fk_close_around(&a);
}

/* ---- heads ---- */

static int described;
static unsigned int discarded_heads;
static uint64_t discarded_data;

static int describe(struct wf_srx_heads *heads, struct fi_peer_rx_entry *view)
{
	if (!described)
		view->msg_size = 77;
	return described;
}

static void on_discarded(struct wf_srx_heads *heads, uint64_t data)
{
	discarded_heads++;
	discarded_data = data;
}

/* A reserved head is dropped when it is known what it stands for. */
static void reserved_heads(void **state)
{
	static const struct wf_srx_head_ops ops = { .describe = describe,
		.discarded = on_discarded };
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	const uint64_t flags = T | FI_REMOTE_CQ_DATA;
	struct wf_srx_heads heads = { &ops };
	struct fi_context ctx;

	fk->path = FK_LONG;
	fk_arrive(fk, &(struct fk_arrival){ .from = 3,
			      .tagged = true,
			      .tag = 5,
			      .has_data = true,
			      .data = 1234 });
	assert_int_equal(look(fk, 5, &ctx, FI_PEEK | FI_CLAIM), 0);
	fk_expect(&a, &ctx, flags, 0, 5);
	wf_srx_port_of(fk->ep.srx)->heads = &heads;
	described = -FI_EAGAIN;
	assert_int_equal(look(fk, 5, &ctx, FI_CLAIM | FI_DISCARD), -FI_EAGAIN);
	fk_expect_none(&a);
	assert_int_equal(fk->discards, 0);
	assert_int_equal(discarded_heads, 0);
	described = 0;
	assert_int_equal(look(fk, 5, &ctx, FI_CLAIM | FI_DISCARD), 0);
	fk_expect(&a, &ctx, flags, 77, 5);
	assert_int_equal(fk->discards, 1);
	assert_int_equal(discarded_heads, 1);
	assert_int_equal(discarded_data, 1234);
	wf_srx_port_of(fk->ep.srx)->heads = NULL;
	fk_close(fk);
	fk_close_around(&a);
}

/* ---- multi-receive buffers ---- */

static struct fk *open_multi(struct fk_around *a, uint64_t caps)
{
	struct fk *fk = fk_open_enabled(a, FI_MULTI_RECV | caps);
	size_t min = 4;

	fk->path = FK_LONG;
	assert_int_equal(fi_setopt(&fk->ep.fid.fid, FI_OPT_ENDPOINT,
				 FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)),
		0);
	return fk;
}

static void slices(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_multi(&a, 0);
	struct fi_peer_match_attr attr = { .msg_size = 6 };
	struct fi_peer_rx_entry *entry = NULL;
	unsigned char b[32], c[8];

	no_object_in = 1;
	assert_int_equal(fk_recvmsg(&fk->ep.fid, b, 32, b, FI_MULTI_RECV), -FI_ENOMEM);
	assert_int_equal(no_object_in, 0);
	assert_int_equal(fk_left(fk), 8);

	/* No memory for the slice of a message that waits: the buffer ends, the message
	 * stays. */
	fk_message(fk, 1, 10, 6);
	no_object_in = 2;
	assert_int_equal(fk_recvmsg(&fk->ep.fid, b, 32, b, FI_MULTI_RECV), 0);
	assert_int_equal(no_object_in, 0);
	(void)fk_expect_err(&a, b, M | FI_MULTI_RECV, FI_ENOMEM);
	fk_expect_none(&a);
	assert_int_equal(fk_left(fk), 8);
	assert_int_equal(fi_recv(&fk->ep.fid, c, 8, NULL, 0, c), 0);
	fk_expect(&a, c, M, 6, 0);
	assert_true(fk_holds(c, 10, 6));

	/* Nor for the slice of one that comes: the transport is told. */
	assert_int_equal(fk_recvmsg(&fk->ep.fid, b, 32, b, FI_MULTI_RECV), 0);
	wf_ep_srx_lock(&fk->ep);
	no_object_in = 1;
	assert_int_equal(wf_srx_get_msg(fk->ep.srx, &attr, &entry), -FI_ENOMEM);
	assert_int_equal(no_object_in, 0);
	wf_ep_srx_unlock(&fk->ep);
	assert_null(entry);
	assert_int_equal(fk_left(fk), 7);
	fk_message(fk, 1, 20, 6);
	fk_expect(&a, b, M, 6, 0);
	assert_true(fk_holds(b, 20, 6));
	fk_close(fk);
	fk_close_around(&a);
}

static ssize_t directed(
	struct fk *fk, unsigned char *buf, fi_addr_t src, uint64_t flags)
{
	struct iovec iov = { buf, 16 };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = src, .context = buf
	};

	return fi_recvmsg(&fk->ep.fid, &msg, flags);
}

/* Messages whose source becomes known go into the buffers for that source. */
static void slices_of_learnt_sources(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_multi(&a, FI_DIRECTED_RECV);
	unsigned char b[2][16] = { { 0 } }, c[16];
	fi_addr_t src = fk_insert(&a, 1000);
	struct wf_pool *pool = &fk->ep.srx_queue->pool;
	size_t before = in_use(pool);

	atomic_store(&fk_learnt, false);
	assert_int_equal(directed(fk, b[0], src, FI_MULTI_RECV), 0);
	assert_int_equal(directed(fk, b[1], src, FI_MULTI_RECV), 0);
	fk_arrive_from(fk, src, true, 0, false, 10, 9);
	fk_arrive_from(fk, src, true, 0, false, 40, 9);
	fk_expect_none(&a);
	atomic_store(&fk_learnt, true);
	(void)fk_insert(&a, 1001);
	/* The second one does not fit behind the first one. */
	fk_expect(&a, b[0], M, 9, 0);
	fk_expect(&a, b[0], FI_MULTI_RECV, 0, 0);
	fk_expect(&a, b[1], M, 9, 0);
	fk_expect_none(&a);
	assert_true(fk_holds(b[0], 10, 9) && fk_holds(b[1], 40, 9));
	assert_int_equal(fk_left(fk), 7);

	/* Without memory for a slice the buffer ends, and the message stays. */
	atomic_store(&fk_learnt, false);
	fk_arrive_from(fk, src, true, 0, false, 70, 5);
	atomic_store(&fk_learnt, true);
	no_object_in = 1;
	(void)fk_insert(&a, 1002);
	assert_int_equal(no_object_in, 0);
	(void)fk_expect_err(&a, b[1], M | FI_MULTI_RECV, FI_ENOMEM);
	fk_expect_none(&a);
	assert_int_equal(fk_left(fk), 8);
	assert_int_equal(directed(fk, c, src, 0), 0);
	fk_expect(&a, c, M, 5, 0);
	assert_true(fk_holds(c, 70, 5));
	/* One is the reserve, which the first saved message left. */
	assert_int_equal(in_use(pool), before + (fk->ep.srx_queue->reserve != NULL));
	fk_close(fk);
	fk_close_around(&a);
}

/* ---- unexpected messages ---- */

static struct fi_peer_rx_entry *arriving(struct fk *fk, size_t len)
{
	struct fi_peer_match_attr attr = { .addr = 1, .msg_size = len, .tag = 9 };
	struct fi_peer_rx_entry *entry = NULL;

	assert_int_equal(wf_srx_get_tag(fk->ep.srx, &attr, &entry), -FI_ENOENT);
	assert_non_null(entry);
	return entry;
}

static void saved_messages(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct wf_srx_origin origin = { .fid = fk->ep.srx };
	struct wf_match *queue = &fk->ep.srx_queue->tag;
	struct wf_srx_unexpected *saved;
	struct fi_peer_rx_entry *entry;
	struct wf_sizes *blocks = &fk->ep.srx_queue->messages;
	char *payload;

	wf_ep_srx_lock(&fk->ep);
	/* The message, and its payload if that is large. */
	entry = arriving(fk, 10);
	no_block_in = 1;
	assert_null(wf_srx_save(FI_TAGGED, entry, &origin, 10));
	assert_int_equal(no_block_in, 0);
	no_block_in = 2;
	assert_null(wf_srx_save(FI_TAGGED, entry, &origin, 100000));
	assert_int_equal(no_block_in, 0);
	/* A transport that keeps the entry. */
	no_block_in = 1;
	assert_int_equal(entry->srx->owner_ops->queue_tag(entry), -FI_ENOMEM);
	assert_int_equal(no_block_in, 0);
	assert_int_equal(queue->unexpected_count, 0);
	assert_int_equal(origin.count, 0);
	assert_int_equal(blocks_in_use(blocks), 0);

	/* More payload memory later. */
	saved = wf_srx_save(FI_TAGGED, entry, &origin, 100);
	assert_non_null(saved);
	assert_int_equal(queue->unexpected_count, 1);
	no_block_in = 1;
	assert_false(wf_srx_enlarge(fk->ep.srx, saved, 5000));
	assert_int_equal(no_block_in, 0);
	assert_int_equal(saved->separate, 0);
	assert_true(wf_srx_enlarge(fk->ep.srx, saved, 5000));
	assert_int_equal(saved->separate, 1);
	payload = wf_srx_payload(saved);
	memset(payload, 7, 5000);
	wf_match_unqueue(
		queue, wf_pool_handle(&fk->ep.srx_queue->messages.handles,
			       wf_container_of(saved, struct wf_srx_message, unexp)));
	wf_srx_release(&origin, saved);
	assert_int_equal(origin.count, 0);
	assert_int_equal(blocks_in_use(blocks), 0);
	wf_ep_srx_unlock(&fk->ep);
	fk_close(fk);
	fk_close_around(&a);
}

static int queue_result;
static unsigned int queued_tags, queued_msgs;

static int queue_tag(struct fi_peer_rx_entry *entry)
{
	queued_tags++;
	return queue_result;
}

static int queue_msg(struct fi_peer_rx_entry *entry)
{
	queued_msgs++;
	return queue_result;
}

/* The context is of another library, which keeps the entry. */
static void saved_elsewhere(void **state)
{
	struct fi_ops_srx_owner ops = {
		.size = sizeof(ops), .queue_msg = queue_msg, .queue_tag = queue_tag
	};
	struct fid_peer_srx fid = { .owner_ops = &ops };
	struct fi_peer_rx_entry entry = { .srx = &fid, .msg_size = UINT32_MAX + 5ull };
	struct wf_srx_origin origin = { .fid = &fid };
	struct wf_srx_unexpected *saved;

	assert_null(wf_srx_save(FI_MSG, &entry, &origin, SIZE_MAX));
	no_malloc_in = 1;
	assert_null(wf_srx_save(FI_MSG, &entry, &origin, 100));
	assert_int_equal(no_malloc_in, 0);
	assert_int_equal(queued_msgs, 0);
	queue_result = -FI_ENOMEM;
	assert_null(wf_srx_save(FI_MSG, &entry, &origin, 100));
	assert_int_equal(queued_msgs, 1);
	assert_null(wf_srx_save(FI_TAGGED, &entry, &origin, 100));
	assert_int_equal(queued_tags, 1);
	assert_int_equal(origin.count, 0);
	queue_result = 0;
	saved = wf_srx_save(FI_TAGGED, &entry, &origin, 100);
	assert_non_null(saved);
	assert_int_equal(queued_tags, 2);
	assert_int_equal(queued_msgs, 1);
	assert_ptr_equal(entry.peer_context, saved);
	assert_int_equal(saved->len, UINT32_MAX);
	assert_int_equal(origin.count, 1);
	assert_ptr_equal(wf_srx_origin(&entry), &origin);
	no_malloc_in = 1;
	assert_false(wf_srx_enlarge(&fid, saved, 5000));
	assert_int_equal(saved->separate, 0);
	assert_true(wf_srx_enlarge(&fid, saved, 5000));
	assert_int_equal(saved->separate, 1);
	memset(wf_srx_payload(saved), 7, 5000);
	wf_srx_release(&origin, saved);
	assert_int_equal(origin.count, 0);
}

/* ---- the end ---- */

/* A context that is closed discards its messages; an entry that the transport kept
 * needs no memory for that, one that was saved does. */
static void drained_without_memory(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct wf_srx_port *port = wf_srx_port_of(fk->ep.srx);
	struct wf_srx *srx = port->srx;
	struct fk_msg *msg = calloc(1, sizeof(*msg));
	struct fi_peer_rx_entry *entry;

	assert_non_null(msg);
	*msg = (struct fk_msg){ .to = fk, .from = 1, .len = 4 };
	wf_ep_srx_lock(&fk->ep);
	entry = arriving(fk, 4);
	fk_queue(entry, true, msg);
	assert_null(srx->reserve);
	wf_ep_srx_unlock(&fk->ep);
	no_object_in = 1;
	wf_srx_drain(port);
	no_object_in = 0;
	assert_int_equal(fk->discards, 1);
	assert_int_equal(srx->tag.unexpected_count, 0);
	fk_close(fk);
	fk_close_around(&a);
}

static void lost_without_memory(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct wf_srx_port *port = wf_srx_port_of(fk->ep.srx);
	struct wf_srx *srx = port->srx;
	struct wf_srx_origin origin = { .fid = fk->ep.srx };

	wf_ep_srx_lock(&fk->ep);
	assert_non_null(wf_srx_save(FI_TAGGED, arriving(fk, 4), &origin, 8));
	assert_non_null(srx->reserve);
	wf_pool_put(&srx->pool, (void *)srx->reserve);
	srx->reserve = NULL;
	wf_ep_srx_unlock(&fk->ep);
	log_lines_start();
	no_object_in = 1;
	wf_srx_drain(port);
	assert_int_equal(no_object_in, 0);
	assert_true(log_lines_have(
		"no memory to let a message go: the transport keeps it\n"));
	assert_int_equal(fk->discards, 0);
	assert_int_equal(srx->tag.unexpected_count, 0);
	fk_close(fk);
	fk_close_around(&a);
}

/* The end of a transport frees entries without the context's lock. */
static void freed_when_detached(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_multi(&a, 0);
	struct wf_srx_port *port = wf_srx_port_of(fk->ep.srx);
	const struct wf_srx_sink_ops *ops = port->sink->ops;
	struct wf_srx_sink_ops locked = *ops;
	unsigned char b[16];

	locked.release = locked_release;
	locked_srx = port->srx;
	fk->hold = true;
	assert_int_equal(fk_recvmsg(&fk->ep.fid, b, 16, b, FI_MULTI_RECV), 0);
	fk_message(fk, 1, 10, 16);
	assert_int_equal(fk->held_count, 1);
	port->sink->ops = &locked;
	wf_srx_detach(port);
	assert_int_equal(releases, 0);
	wf_srx_free_entry(fk->held[0]);
	fk->held[0] = NULL;
	assert_int_equal(releases, 1);
	assert_true(wf_trylock(port->srx->lock));
	wf_unlock(port->srx->lock);
	port->sink->ops = ops;
	fk_close(fk);
	fk_close_around(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(peeks),
		DOMAIN_TEST(reserved_heads),
		DOMAIN_TEST(slices),
		DOMAIN_TEST(slices_of_learnt_sources),
		DOMAIN_TEST(saved_messages),
		DOMAIN_TEST(saved_elsewhere),
		DOMAIN_TEST(drained_without_memory),
		DOMAIN_TEST(lost_without_memory),
		DOMAIN_TEST(freed_when_detached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
