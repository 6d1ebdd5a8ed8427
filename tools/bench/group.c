/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collective operations of all members, on doubles. Sizes are what one member
 * contributes to, or gets from, one other. Roots change with each operation, so that a
 * root cannot run ahead of the others. Buffers are used one after the other, and
 * together exceed the caches.
 */
#include "group.h"
#include "../clock.h"
#include "message.h"
#include "say.h"
#include "patterns.h"

#include <rdma/fi_collective.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64 };

static const size_t out_of_caches = (size_t)128 << 20;

/* The buffers of one direction. */
struct pool {
	char *memory;
	struct fid_mr *mr;
	void *desc;
	size_t len, stride, count;
};

/* A process is a member of one group. */
static struct {
	struct fid_av_set *set;
	struct fid_mc *mc;
	fi_addr_t addr;
	struct pool from, to;
	uint64_t iteration;
} group;

/* ---- joining ---- */

static size_t group_members(const struct fb_worker *w)
{
	return (size_t)w->node->control->members;
}

static void group_wait_join(struct fb_worker *w)
{
	struct fi_eq_entry entry;
	uint32_t event;
	ssize_t ret;

	while ((ret = fi_eq_read(w->node->eq, &event, &entry, sizeof(entry), 0)) ==
		-FI_EAGAIN)
		fb_poll(w);
	fb_must(ret, "joining the group");
	if (event != FI_JOIN_COMPLETE)
		fb_die(FB_EXIT_FAILED, "joining the group: event %u", event);
}

void fb_group_join(struct fb_worker *w)
{
	struct fi_av_set_attr attr = { .count = group_members(w),
		.flags = FI_UNIVERSE,
		.start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL };
	int ret;

	if (!fb_config_needs(w->node->config, FB_NEED_COLLECTIVE))
		return;
	ret = fi_av_set(w->end.av, &attr, &group.set, NULL);
	if (ret && w->node->config->narrow) {
		fb_config_drop(w->node->config, FB_NEED_COLLECTIVE);
		return;
	}
	fb_must(ret, "fi_av_set");
	fb_must(fi_join_collective(
			w->end.ep, FI_ADDR_NOTAVAIL, group.set, 0, &group.mc, NULL),
		"fi_join_collective");
	group_wait_join(w);
	group.addr = fi_mc_addr(group.mc);
}

/* ---- buffers ---- */

static void group_pool_close(struct pool *pool)
{
	if (pool->mr)
		(void)fi_close(&pool->mr->fid);
	if (pool->memory)
		munmap(pool->memory, pool->len);
	*pool = (struct pool){ .memory = NULL };
}

/* Opens a pool of buffers of @extent bytes, whose number depends on the members. */
static void group_pool_open(struct fb_worker *w, struct pool *pool, size_t extent)
{
	group_pool_close(pool);
	pool->stride = (extent / LINE + 1) * LINE;
	pool->count = out_of_caches / group_members(w) / pool->stride;
	if (w->node->config->buffers)
		pool->count = w->node->config->buffers;
	if (pool->count < 2)
		pool->count = 2;
	pool->len = pool->count * pool->stride;
	pool->memory = mmap(NULL, pool->len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (pool->memory == MAP_FAILED)
		fb_die(FB_EXIT_FAILED, "no memory for buffers of %zu bytes", pool->len);
	/* The first write to a page is not measured, also where the kernel does not
	 * populate the mapping. */
	memset(pool->memory, 0, pool->len);
	if (!(w->node->info->domain_attr->mr_mode & FI_MR_COLLECTIVE))
		return;
	fb_must(fi_mr_reg(w->node->domain, pool->memory, pool->len,
			FI_SEND | FI_RECV | FI_COLLECTIVE, 0,
			100 + (uint64_t)(pool == &group.to), 0, &pool->mr, NULL),
		"fi_mr_reg");
	pool->desc = fi_mr_desc(pool->mr);
}

static double *group_pool_at(const struct pool *pool)
{
	return (double *)(void *)(pool->memory +
				  group.iteration % pool->count * pool->stride);
}

static bool group_of_all(enum fb_test test, bool result)
{
	return test == FB_ALLTOALL || (test == FB_ALLGATHER && result);
}

static void group_prepare(struct fb_worker *w)
{
	size_t bytes = w->bytes;

	group_pool_open(w, &group.from,
		bytes * (group_of_all(w->test, false) ? group_members(w) : 1));
	group_pool_open(w, &group.to,
		bytes * (group_of_all(w->test, true) ? group_members(w) : 1));
	group.iteration = 0;
}

/* ---- one operation ---- */

/* Element @at of the contribution of member @rank: a whole number, so that sums are
 * exact. */
static double group_mark(const struct fb_worker *w, size_t rank, size_t at)
{
	return (double)((group.iteration * group_members(w) + rank + at) % 1000);
}

static double group_expected(
	const struct fb_worker *w, size_t root, size_t count, size_t i)
{
	double sum = 0;

	switch (w->test) {
	case FB_BROADCAST:
		return group_mark(w, root, i);
	case FB_ALLGATHER:
		return group_mark(w, i / count, i % count);
	case FB_ALLTOALL:
		return group_mark(w, i / count, (size_t)w->side * count + i % count);
	default:
		for (size_t rank = 0; rank < group_members(w); rank++)
			sum += group_mark(w, rank, i);
		return sum;
	}
}

static void group_fill(struct fb_worker *w, double *buf, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf[i] = group_mark(w, (size_t)w->side, i);
}

static void group_check(
	struct fb_worker *w, const double *result, size_t root, size_t count)
{
	size_t all = count * (group_of_all(w->test, true) ? group_members(w) : 1);

	for (size_t i = 0; i < all; i++)
		if (result[i] != group_expected(w, root, count, i))
			fb_die(FB_EXIT_DAMAGED,
				"%s, %zu bytes: operation %llu, element %zu is wrong",
				fb_tests[w->test].name, w->bytes,
				(unsigned long long)group.iteration, i);
}

static void group_finish(struct fb_worker *w, ssize_t started)
{
	fb_must(started, fb_tests[w->test].name);
	fb_message_finish(w);
}

/* The context of the one operation that is under way. */
static void *group_context(struct fb_worker *w)
{
	while (fb_fifo_empty(&w->tx.fifo))
		fb_poll(w);
	return &fb_fifo_take(&w->tx.fifo)->context;
}

static void group_broadcast(struct fb_worker *w, double *buf, size_t count, size_t root)
{
	group_finish(w, fi_broadcast(w->end.ep, buf, count, group.to.desc, group.addr,
				w->node->member[root], FI_DOUBLE, 0, group_context(w)));
}

static void group_operation(
	struct fb_worker *w, double *from, double *to, size_t count, size_t root)
{
	struct fid_ep *ep = w->end.ep;
	void *from_desc = group.from.desc, *to_desc = group.to.desc;

	switch (w->test) {
	case FB_BARRIER:
		group_finish(w, fi_barrier(ep, group.addr, group_context(w)));
		break;
	case FB_BROADCAST:
		group_broadcast(w, to, count, root);
		break;
	case FB_ALLREDUCE:
		group_finish(
			w, fi_allreduce(ep, from, count, from_desc, to, to_desc,
				   group.addr, FI_DOUBLE, FI_SUM, 0, group_context(w)));
		break;
	case FB_ALLGATHER:
		group_finish(w, fi_allgather(ep, from, count, from_desc, to, to_desc,
					group.addr, FI_DOUBLE, 0, group_context(w)));
		break;
	case FB_ALLTOALL:
		group_finish(w, fi_alltoall(ep, from, count, from_desc, to, to_desc,
					group.addr, FI_DOUBLE, 0, group_context(w)));
		break;
	default:
		group_finish(w, fi_reduce(ep, from, count, from_desc, to, to_desc,
					group.addr, w->node->member[root], FI_DOUBLE,
					FI_SUM, 0, group_context(w)));
		group_broadcast(w, to, count, root);
		break;
	}
}

static void group_one_iteration(struct fb_worker *w)
{
	size_t count = w->bytes / sizeof(double);
	size_t root = group.iteration % group_members(w);
	double *from = group_pool_at(&group.from), *to = group_pool_at(&group.to);

	if (w->verify) {
		group_fill(w, from,
			count * (group_of_all(w->test, false) ? group_members(w) : 1));
		if (w->test == FB_BROADCAST)
			group_fill(w, to, count);
	}
	group_operation(w, from, to, count, root);
	if (w->verify && w->test != FB_BARRIER)
		group_check(w, to, root, count);
	group.iteration++;
}

static void group_iterations(struct fb_worker *w, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		group_one_iteration(w);
		if (w->stamps)
			w->stamps[i] = tool_now_ns();
	}
}

const struct fb_pattern fb_collective = { group_iterations, 1,
	.prepare = group_prepare };

void fb_group_leave(void)
{
	group_pool_close(&group.from);
	group_pool_close(&group.to);
	if (group.mc)
		(void)fi_close(&group.mc->fid);
	if (group.set)
		(void)fi_close(&group.set->fid);
	group.mc = NULL;
	group.set = NULL;
}
