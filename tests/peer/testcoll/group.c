/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testcoll.h"

/* Groups: joining by two exchanges, and operations on the board. */

#define VISIBLE __attribute__((visibility("default")))

VISIBLE atomic_uint testcoll_ended;
VISIBLE atomic_int testcoll_failing_rank = -1;

static struct tc_ep *ep_of(struct fid_ep *fid)
{
	return (struct tc_ep *)(void *)fid;
}

/* ---- joining ---- */

static void joined(struct tc_group *group, int err)
{
	group->main.joined(group->main.context, err);
}

/* Every member has opened the board, so its name is not needed any more. */
static void all_attached(void *arg, int err)
{
	struct tc_group *group = arg;

	if (!group->rank)
		(void)shm_unlink(group->names[0]);
	joined(group, err);
}

static int attach(struct tc_group *group)
{
	int fd = shm_open(group->names[0], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *at = MAP_FAILED;

	if (fd < 0)
		return -FI_ENOSPC;
	if (!ftruncate(fd, sizeof(*group->board)))
		at = mmap(NULL, sizeof(*group->board), PROT_READ | PROT_WRITE,
			MAP_SHARED, fd, 0);
	(void)close(fd);
	if (at == MAP_FAILED)
		return -FI_ENOMEM;
	group->board = at;
	return 0;
}

static void names_known(void *arg, int err)
{
	struct tc_group *group = arg;

	while (!err && group->rank < group->members &&
		memcmp(group->names[group->rank], group->mine, TC_NAME))
		group->rank++;
	if (!err && (int)group->rank == atomic_load(&testcoll_failing_rank))
		err = -FI_ENODEV;
	if (!err)
		err = attach(group);
	if (!err)
		err = group->main.bootstrap->allgather(group->main.mc, group->mine, 1,
			group->names[1], all_attached, group);
	if (err)
		joined(group, err);
}

static int mc_close(struct fid *fid)
{
	struct tc_group *group = (struct tc_group *)(void *)fid, **at;

	pthread_mutex_lock(&group->ep->lock);
	for (at = &group->ep->groups; *at != group; at = &(*at)->next)
		;
	*at = group->next;
	pthread_mutex_unlock(&group->ep->lock);
	if (group->board) {
		/* Joining may have failed before all had opened the board. */
		(void)shm_unlink(group->names[0]);
		(void)munmap(group->board, sizeof(*group->board));
	}
	free(group);
	return 0;
}

static struct fi_ops mc_ops = { .size = sizeof(mc_ops), .close = mc_close };

/* A name that no other member of any group has. */
static void name_group(struct tc_group *group)
{
	static atomic_uint serial;

	(void)snprintf(group->mine, TC_NAME, "/weft-testcoll-%d-%u", (int)getpid(),
		atomic_fetch_add(&serial, 1));
}

int tc_join(struct fid_ep *fid, const void *addr, uint64_t flags,
	struct fid_mc **ret_mc, void *context)
{
	const struct fi_collective_addr *coll = addr;
	const struct fi_peer_mc_context *main = context;
	const struct tc_set *set = (const struct tc_set *)(const void *)coll->set;
	fi_addr_t member[TC_MEMBERS];
	size_t count = TC_MEMBERS;
	struct tc_group *group;
	int ret;

	if (flags != (FI_COLLECTIVE | FI_PEER) || main->size < sizeof(*main) ||
		!main->bootstrap)
		return -FI_EINVAL;
	ret = set->owner->owner_ops->members(set->owner, member, &count);
	if (ret)
		return ret;
	group = calloc(1, sizeof(*group));
	if (!group)
		return -FI_ENOMEM;
	group->fid.fid.fclass = FI_CLASS_MC;
	group->fid.fid.ops = &mc_ops;
	group->fid.fi_addr = (fi_addr_t)(uintptr_t)group;
	group->ep = ep_of(fid);
	group->main = *main;
	group->members = (unsigned int)count;
	name_group(group);
	pthread_mutex_lock(&group->ep->lock);
	group->next = group->ep->groups;
	group->ep->groups = group;
	pthread_mutex_unlock(&group->ep->lock);
	*ret_mc = &group->fid;
	ret = main->bootstrap->allgather(
		main->mc, group->mine, TC_NAME, group->names, names_known, group);
	if (ret)
		(void)mc_close(&group->fid.fid);
	return ret;
}

/* ---- operations ---- */

static size_t piece(const struct tc_group *group)
{
	return group->left < TC_PIECE ? group->left : TC_PIECE;
}

static void arrive(struct tc_group *group)
{
	unsigned int slot = group->number % 2;

	if (group->left)
		memcpy(group->board->value[slot][group->rank], group->in,
			piece(group) * sizeof(*group->in));
	/* release: pairs with have_arrived of the others. */
	atomic_fetch_add_explicit(
		&group->board->arrived[slot], 1, memory_order_release);
}

static bool have_arrived(const struct tc_group *group)
{
	unsigned int all = (group->number / 2 + 1) * group->members;

	return atomic_load_explicit(&group->board->arrived[group->number % 2],
		       memory_order_acquire) == all;
}

static void add_up(struct tc_group *group)
{
	size_t n = piece(group);
	uint64_t sum;

	for (size_t i = 0; i < n; i++) {
		sum = 0;
		for (unsigned int m = 0; m < group->members; m++)
			sum += group->board->value[group->number % 2][m][i];
		group->out[i] = sum;
	}
	group->in += n;
	group->out += n;
	group->left -= n;
}

static void report(struct tc_group *group)
{
	struct tc_ep *ep = group->ep;

	group->is_active = false;
	atomic_fetch_add(&testcoll_ended, 1);
	if (ep->cntr)
		ep->cntr->owner->owner_ops->inc(ep->cntr->owner);
	if (group->flags & FI_COMPLETION)
		(void)ep->cq->owner->owner_ops->write(ep->cq->owner, group->context,
			FI_COLLECTIVE, 0, NULL, 0, 0, FI_ADDR_NOTAVAIL);
}

static void progress(struct tc_group *group)
{
	while (group->is_active && have_arrived(group)) {
		if (group->left)
			add_up(group);
		group->number++;
		if (group->left)
			arrive(group);
		else
			report(group);
	}
}

void tc_progress(struct tc_ep *ep)
{
	pthread_mutex_lock(&ep->lock);
	for (struct tc_group *group = ep->groups; group; group = group->next)
		progress(group);
	pthread_mutex_unlock(&ep->lock);
}

ssize_t tc_start(struct fid_ep *fid, fi_addr_t addr, const void *in, void *out,
	size_t count, uint64_t flags, void *context)
{
	struct tc_group *group = (struct tc_group *)(uintptr_t)addr;
	struct tc_ep *ep = ep_of(fid);
	ssize_t ret = -FI_EAGAIN;

	pthread_mutex_lock(&ep->lock);
	if (!group->is_active) {
		group->is_active = true;
		group->in = in;
		group->out = out;
		group->left = count;
		group->flags = flags;
		group->context = context;
		arrive(group);
		ret = 0;
	}
	pthread_mutex_unlock(&ep->lock);
	return ret;
}
