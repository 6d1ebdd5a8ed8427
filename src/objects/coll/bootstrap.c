/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/coll/internal.h"

/*
 * Joining the group of an offload engine, after the group of the first engine was
 * joined: the allgather of the first engine is the bootstrap of the offload engine.
 *
 * All members make exchanges in the same rounds, until all know how the join ended. A
 * round begins with an allgather of the members' wishes: to exchange data, or to end
 * the rounds, because the member's engine has joined or failed. If all wish to exchange
 * the same number of bytes, an allgather of the data follows. If all have joined, calls
 * go to the offload engine from then on. In any other case all calls go to the first
 * engine. So the members always agree, also if the join fails at one of them.
 *
 * @boots.lock of struct wf_coll guards the members of struct wf_coll_boot that several
 * threads use: the thread of the offload engine, which asks for an exchange, and the
 * thread that makes progress, which runs bootstrap_step() with the run_lock of @boots
 * held. The memory of an exchange that the first engine has not completed stays until
 * the endpoint is closed.
 */

enum want { WANT_EXCHANGE = 1, WANT_JOINED, WANT_FAILED };

/* The wish of a member, for the allgather at the beginning of a round. */
struct head {
	uint32_t want;
	uint32_t len; /* bytes that the member has for the exchange */
};

enum phase { PHASE_IDLE, PHASE_HEADS, PHASE_DATA };

struct wf_coll_boot {
	struct wf_list link;  /* in coll->boot_list */
	struct wf_list ready; /* in coll->boots.list */
	struct wf_coll *coll;
	struct wf_coll_group *group; /* NULL: closed */
	size_t members;              /* number of members of the group */
	enum phase phase;            /* of the round under way */
	bool is_queued;              /* @ready is in coll->boots.list */
	bool is_posted;   /* the phase's allgather was posted and has not ended */
	bool is_over;     /* the phase's allgather has ended with @err */
	bool is_finished; /* there are no more rounds */
	int err;          /* negative fi_errno of the phase's allgather; 0: none */
	/* The exchange that the offload engine asked for; @done NULL: none. */
	void (*done)(void *arg, int err);
	void *arg, *result; /* argument of @done; where the data of all members go */
	uint32_t len;       /* bytes that each member exchanges */
	uint32_t end; /* WANT_JOINED or WANT_FAILED when the join has ended, else 0 */
	struct head mine, *heads; /* wishes of this member and of all members */
	/* FI_COLL_BOOTSTRAP_MAX bytes for this member's data, then the data of all
	 * members, @len bytes each. */
	uint8_t *data;
};

static struct wf_coll_boot *bootstrap_boot_of(struct wf_list *ready)
{
	return wf_list_entry(ready, struct wf_coll_boot, ready);
}

static void bootstrap_boot_free(struct wf_coll_boot *boot)
{
	free(boot->heads);
	free(boot->data);
	free(boot);
}

/* Queue @boot, so that progress calls bootstrap_step(). coll->boots.lock is held. */
static void bootstrap_queue(struct wf_coll_boot *boot)
{
	struct wf_later *boots = &boot->coll->boots;

	if (boot->is_queued)
		return;
	boot->is_queued = true;
	wf_list_push(&boots->list, &boot->ready);
	atomic_store(&boots->is_ready, true);
	wf_coll_wake(boot->coll);
}

bool wf_coll_boot_ended(struct wf_coll *coll, void *context, int err)
{
	bool found = false;

	if (wf_likely(!atomic_load_explicit(&coll->boot_count, memory_order_relaxed)))
		return false;
	wf_lock(&coll->boots.lock);
	wf_list_foreach(link, &coll->boot_list)
	{
		struct wf_coll_boot *boot =
			wf_list_entry(link, struct wf_coll_boot, link);

		if (boot != context)
			continue;
		boot->is_over = true;
		boot->err = err;
		bootstrap_queue(boot);
		found = true;
		break;
	}
	wf_unlock(&coll->boots.lock);
	return found;
}

static int bootstrap_fail(const struct wf_coll_group *group, const char *what, int err)
{
	wf_coll_log(group->coll->ep, FI_LOG_WARN, "collectives: %s: %s: %s\n",
		group->coll->port[WF_COLL_OFFLOAD].engine->name, what,
		fi_strerror(-err));
	return err;
}

/* ---- what the offload engine calls ---- */

static int bootstrap_allgather(struct fid_mc *mc, const void *buf, size_t len,
	void *result, void (*done)(void *arg, int err), void *arg)
{
	struct wf_coll_group *group = wf_container_of(mc, struct wf_coll_group, fid);
	struct wf_coll_boot *boot = group->boot;
	int ret = -FI_EINVAL;

	if (!buf || !result || !done || !len || len > FI_COLL_BOOTSTRAP_MAX || !boot)
		return bootstrap_fail(group, "bootstrap", ret);
	wf_lock(&boot->coll->boots.lock);
	if (!boot->done && !boot->end && !boot->is_finished) {
		memcpy(boot->data, buf, len);
		boot->len = (uint32_t)len;
		boot->result = result;
		boot->done = done;
		boot->arg = arg;
		bootstrap_queue(boot);
		ret = 0;
	}
	wf_unlock(&boot->coll->boots.lock);
	return ret ? bootstrap_fail(group, "bootstrap: one exchange at a time", ret)
		   : 0;
}

static struct fi_ops_coll_bootstrap bootstrap_ops = {
	.size = sizeof(bootstrap_ops),
	.allgather = bootstrap_allgather,
};

/* fi_peer_mc_context.joined of the offload engine. */
static void bootstrap_offload_joined(void *context, int err)
{
	struct wf_coll_group *group = context;
	struct wf_coll_boot *boot = group->boot;

	if (err)
		(void)bootstrap_fail(group, "join", err);
	wf_lock(&boot->coll->boots.lock);
	boot->end = err ? WANT_FAILED : WANT_JOINED;
	if (!boot->is_finished)
		bootstrap_queue(boot);
	wf_unlock(&boot->coll->boots.lock);
}

/* ---- rounds ---- */

/* Start the allgather of the phase. False: the first engine has no space now. */
static bool bootstrap_post(struct wf_coll_boot *boot)
{
	const struct wf_coll_group *group = boot->group;
	const struct wf_coll_port *port = &boot->coll->port[WF_COLL_BASE];
	bool heads = boot->phase == PHASE_HEADS;
	ssize_t ret;

	boot->is_posted = true;
	ret = fi_allgather(port->ep, heads ? (void *)&boot->mine : boot->data,
		heads ? sizeof(boot->mine) : boot->len, NULL,
		heads ? (void *)boot->heads : boot->data + FI_COLL_BOOTSTRAP_MAX, NULL,
		fi_mc_addr(group->at[WF_COLL_BASE].mc), FI_UINT8, FI_COMPLETION, boot);
	wf_coll_left_engine(boot->coll);
	if (!ret)
		return true;
	boot->is_posted = false;
	if (ret == -FI_EAGAIN)
		return false;
	(void)wf_coll_boot_ended(boot->coll, boot, (int)ret);
	return true;
}

/* End the rounds: the join of @group is complete. @offloads: all members have joined at
 * the offload engine. @err: an exchange failed with this negative FI_E code; or 0. */
static void bootstrap_finish(struct wf_coll_boot *boot, bool offloads, int err)
{
	struct wf_coll_group *group = boot->group;
	void (*done)(void *, int) = boot->done;

	wf_lock(&boot->coll->boots.lock);
	boot->done = NULL;
	boot->is_finished = true;
	wf_unlock(&boot->coll->boots.lock);
	free(boot->heads);
	free(boot->data);
	boot->heads = NULL;
	boot->data = NULL;
	group->offloads = offloads;
	wf_coll_log(group->coll->ep, FI_LOG_INFO, "collectives: group of %zu: %s %s\n",
		boot->members, group->coll->port[WF_COLL_OFFLOAD].engine->name,
		offloads ? "takes part" : "is left out");
	if (done)
		done(boot->arg, err ? err : -FI_ECONNREFUSED);
	wf_coll_joined(group, err);
}

static void bootstrap_exchanged(struct wf_coll_boot *boot)
{
	void (*done)(void *, int) = boot->done;

	memcpy(boot->result, boot->data + FI_COLL_BOOTSTRAP_MAX,
		boot->members * boot->len);
	wf_lock(&boot->coll->boots.lock);
	boot->done = NULL;
	boot->phase = PHASE_IDLE;
	wf_unlock(&boot->coll->boots.lock);
	done(boot->arg, 0);
}

static bool bootstrap_all_want(
	const struct wf_coll_boot *boot, enum want want, uint32_t len)
{
	for (size_t i = 0; i < boot->members; i++)
		if (boot->heads[i].want != want || boot->heads[i].len != len)
			return false;
	return true;
}

/* A phase has ended. False: bootstrap_step() has to be called again. */
static bool bootstrap_next_phase(struct wf_coll_boot *boot)
{
	boot->is_posted = boot->is_over = false;
	if (boot->err) {
		bootstrap_finish(boot, false, boot->err);
		return true;
	}
	if (boot->phase == PHASE_DATA) {
		bootstrap_exchanged(boot);
		return true;
	}
	if (boot->mine.want == WANT_EXCHANGE &&
		bootstrap_all_want(boot, WANT_EXCHANGE, boot->len)) {
		boot->phase = PHASE_DATA;
		return bootstrap_post(boot);
	}
	bootstrap_finish(boot, bootstrap_all_want(boot, WANT_JOINED, 0), 0);
	return true;
}

static bool bootstrap_begin_round(struct wf_coll_boot *boot)
{
	struct head mine = { 0 };

	wf_lock(&boot->coll->boots.lock);
	if (boot->done)
		mine = (struct head){ WANT_EXCHANGE, boot->len };
	else if (boot->end)
		mine.want = boot->end;
	wf_unlock(&boot->coll->boots.lock);
	if (!mine.want)
		return true;
	boot->mine = mine;
	boot->phase = PHASE_HEADS;
	return bootstrap_post(boot);
}

/* Post or finish the phases of @boot that can proceed. False: the first engine has no
 * space now. */
static bool bootstrap_advance(struct wf_coll_boot *boot)
{
	struct wf_coll_group *group = boot->group;
	bool is_over, has_base;

	if (!group || boot->is_finished)
		return true;
	wf_lock(&boot->coll->boots.lock);
	is_over = boot->is_over;
	has_base = group->has_base;
	wf_unlock(&boot->coll->boots.lock);
	/* wf_coll_boot_base queues @boot again. */
	if (!has_base)
		return true;
	if (boot->phase == PHASE_IDLE)
		return bootstrap_begin_round(boot);
	if (is_over)
		return bootstrap_next_phase(boot);
	return boot->is_posted || bootstrap_post(boot);
}

/* struct wf_later.run. An event after this point queues @boot again. */
static bool bootstrap_step(struct wf_later *later, struct wf_list *ready)
{
	struct wf_coll_boot *boot = bootstrap_boot_of(ready);

	wf_lock(&later->lock);
	boot->is_queued = false;
	wf_unlock(&later->lock);
	if (bootstrap_advance(boot))
		return true;
	/* wf_later keeps @boot in its list when this function returns false. */
	wf_lock(&later->lock);
	boot->is_queued = true;
	wf_unlock(&later->lock);
	return false;
}

/* ---- beginning and end ---- */

static struct wf_coll_boot *bootstrap_boot_new(struct wf_coll_group *group)
{
	struct wf_coll_boot *boot = calloc(1, sizeof(*boot));
	size_t members = group->member_count;

	if (!boot)
		return NULL;
	boot->coll = group->coll;
	boot->group = group;
	boot->members = members;
	boot->heads = calloc(members, sizeof(*boot->heads));
	boot->data = calloc(members + 1, FI_COLL_BOOTSTRAP_MAX);
	if (boot->heads && boot->data)
		return boot;
	bootstrap_boot_free(boot);
	return NULL;
}

/* Join the group of the offload engine. boots.run_lock is held. */
static void bootstrap_start(struct wf_coll_group *group, struct wf_coll_boot *boot)
{
	struct wf_coll *coll = group->coll;
	int ret;

	wf_lock(&coll->boots.lock);
	wf_list_push(&coll->boot_list, &boot->link);
	group->boot = boot;
	wf_unlock(&coll->boots.lock);
	atomic_fetch_add(&coll->boot_count, 1);
	ret = wf_coll_join_engine(
		group, WF_COLL_OFFLOAD, &bootstrap_ops, bootstrap_offload_joined);
	if (ret)
		bootstrap_offload_joined(group, ret);
}

void wf_coll_boot_start(struct wf_coll_group *group)
{
	struct wf_lock *run_lock = &group->coll->boots.run_lock;
	struct wf_coll_boot *boot = bootstrap_boot_new(group);
	bool is_closing;

	if (!boot) {
		/* The other members wait for this one until it closes the group. */
		wf_coll_joined(group, bootstrap_fail(group, "bootstrap", -FI_ENOMEM));
		return;
	}
	wf_lock(run_lock);
	is_closing = group->is_closing;
	if (!is_closing)
		bootstrap_start(group, boot);
	wf_unlock(run_lock);
	if (is_closing)
		bootstrap_boot_free(boot);
}

void wf_coll_boot_base(struct wf_coll_group *group)
{
	struct wf_coll *coll = group->coll;

	wf_lock(&coll->boots.lock);
	group->has_base = true;
	if (group->boot)
		bootstrap_queue(group->boot);
	wf_unlock(&coll->boots.lock);
}

void wf_coll_boot_halt(struct wf_coll_group *group)
{
	struct wf_lock *run_lock = &group->coll->boots.run_lock;

	wf_lock(run_lock);
	group->is_closing = true;
	if (group->boot)
		group->boot->group = NULL;
	wf_unlock(run_lock);
}

void wf_coll_boot_stop(struct wf_coll_group *group)
{
	struct wf_coll_boot *boot = group->boot;
	struct wf_coll *coll = group->coll;
	bool is_free;

	if (!boot)
		return;
	wf_lock(&coll->boots.run_lock);
	wf_lock(&coll->boots.lock);
	if (boot->is_queued)
		wf_list_remove(&boot->ready);
	boot->is_queued = false;
	is_free = !boot->is_posted;
	if (is_free)
		wf_list_remove(&boot->link);
	wf_unlock(&coll->boots.lock);
	wf_unlock(&coll->boots.run_lock);
	if (!is_free)
		return;
	atomic_fetch_sub(&coll->boot_count, 1);
	bootstrap_boot_free(boot);
}

void wf_coll_boots_init(struct wf_coll *coll)
{
	wf_list_init(&coll->boot_list);
	wf_later_init(&coll->boots, bootstrap_step);
}

void wf_coll_boots_done(struct wf_coll *coll)
{
	wf_list_foreach_safe(link, &coll->boot_list)
		bootstrap_boot_free(wf_list_entry(link, struct wf_coll_boot, link));
	wf_later_done(&coll->boots);
}
