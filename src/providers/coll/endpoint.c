/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>
#include <stdlib.h>

#include "providers/coll/coll.h"
#include "providers/coll/control.h"
#include "providers/coll/engine.h"
#include "providers/coll/exec.h"
#include "providers/coll/join.h"
#include "providers/coll/remains.h"
#include "providers/coll/xfer.h"
#include "sys/clock.h"

/* Endpoints: opening and closing, progress, and sleeping. */

enum {
	/* Progress calls between two readings of the clock. */
	RUNS_PER_CHECK = 256,
	/* Successive runs in which no transfer ended, after which each further one
	 * yields. */
	IDLE_RUNS = 16,
	/* Deadlines of the timer that wakes sleeping threads. */
	NOW = 0,
};

#define NO_DEADLINE (UINT64_MAX - 1)

static bool endpoint_is_moving(const struct coll_ep *ep)
{
	return !wf_list_empty(&ep->pending) || !wf_list_empty(&ep->joined) ||
	       !wf_list_empty(&ep->node_groups);
}

/* Are there operations or joins that may have to be probed or given up? */
static bool endpoint_is_waiting(const struct coll_ep *ep)
{
	return ep->in_flight || !wf_list_empty(&ep->joining) ||
	       !wf_list_empty(&ep->ending);
}

void coll_ep_unlock(struct coll_ep *ep)
{
	bool is_busy;

	if (ep->has_ended_joins) {
		ep->has_ended_joins = false;
		coll_join_next(ep);
	}
	is_busy = endpoint_is_moving(ep) || endpoint_is_waiting(ep);
	atomic_store_explicit(
		&ep->has_joined, !wf_list_empty(&ep->joined), memory_order_relaxed);
	atomic_store_explicit(&ep->is_busy, is_busy, memory_order_relaxed);
	if (is_busy && ep->is_armed) {
		ep->is_armed = false;
		(void)wf_timer_set(&ep->timer, NOW);
	}
	wf_unlock(&ep->ep.lock);
}

static void endpoint_check(struct coll_ep *ep)
{
	uint64_t now_ns = wf_now_ns();

	coll_exec_watch(ep, now_ns);
	coll_join_watch(ep, now_ns);
}

/* Does an operation wait for messages of processes that may need this processor? The
 * node engine itself yields. The lock is held. */
static bool endpoint_has_to_yield(struct coll_ep *ep)
{
	if (ep->moves != ep->moves_before || !ep->in_flight || !ep->is_oversubscribed ||
		!wf_list_empty(&ep->node_groups)) {
		ep->moves_before = ep->moves;
		ep->idle_runs = 0;
		return false;
	}
	if (ep->idle_runs < IDLE_RUNS)
		ep->idle_runs++;
	return ep->idle_runs == IDLE_RUNS;
}

static void endpoint_run(struct wf_progress *item)
{
	struct coll_ep *ep = coll_ep_of(wf_container_of(item, struct wf_ep, progress));
	bool yields;

	/* relaxed: a later endpoint_run() loads the new value. */
	if (!atomic_load_explicit(&ep->is_busy, memory_order_relaxed))
		return;
	if (!wf_trylock(&ep->ep.lock))
		return;
	if (ep->timer.deadline_ns == NOW)
		wf_timer_drain(&ep->timer);
	if (!wf_list_empty(&ep->pending))
		coll_xfer_retry(ep);
	coll_engine_progress(ep);
	if (++ep->runs % RUNS_PER_CHECK == 0)
		endpoint_check(ep);
	yields = endpoint_has_to_yield(ep);
	coll_ep_unlock(ep);
	coll_report_joined(ep);
	if (yields)
		(void)sched_yield();
}

static int endpoint_wait_fd(struct wf_progress *item)
{
	struct coll_ep *ep = coll_ep_of(wf_container_of(item, struct wf_ep, progress));
	int fd;

	wf_lock(&ep->ep.lock);
	/* The first deadline opens the descriptor. */
	if (ep->timer.fd < 0)
		(void)wf_timer_set(&ep->timer, NO_DEADLINE);
	fd = ep->timer.fd;
	wf_unlock(&ep->ep.lock);
	return fd < 0 ? -FI_EMFILE : fd;
}

static bool endpoint_arm(struct wf_progress *item)
{
	struct coll_ep *ep = coll_ep_of(wf_container_of(item, struct wf_ep, progress));
	bool may_sleep;

	wf_lock(&ep->ep.lock);
	/* While operations are under way, the main provider has to run this item now
	 * and then, for probes, whether or not a descriptor is readable. */
	may_sleep = !endpoint_is_moving(ep) && !endpoint_is_waiting(ep);
	/* A main provider that asked for no descriptor only wants to know whether there
	 * is work. */
	ep->is_armed = may_sleep && ep->timer.fd >= 0;
	if (ep->is_armed)
		(void)wf_timer_set(&ep->timer, NO_DEADLINE);
	wf_unlock(&ep->ep.lock);
	return may_sleep;
}

static const struct wf_progress item = {
	.run = endpoint_run,
	.wait_fd = endpoint_wait_fd,
	.arm = endpoint_arm,
};

static ssize_t endpoint_start(struct wf_ep *wf, struct wf_op *op)
{
	(void)wf;
	(void)op;
	return -FI_ENOSYS;
}

static int coll_endpoint_enable(struct wf_ep *wf)
{
	if (wf->tx_cq && wf->av->peer)
		return 0;
	coll_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
		"fi_enable: a CQ with FI_TRANSMIT and an imported AV must be bound "
		"first\n");
	return wf->tx_cq ? -FI_ENOAV : -FI_ENOCQ;
}

/* Close the endpoint. The owner makes no more callbacks. */
static void coll_endpoint_destroy(struct wf_ep *wf)
{
	struct coll_ep *ep = coll_ep_of(wf);
	bool is_kept;

	wf_list_foreach_safe(link, &ep->posted)
		coll_xfer_cancel(wf_list_entry(link, struct coll_xfer, all));
	wf_timer_done(&ep->timer);
	free(ep->ids);
	is_kept = coll_remains_keep(wf->domain, ep);
	/* Kept memory exists until this call releases the domain. */
	wf_ep_done(wf);
	if (!is_kept)
		free(ep);
}

static const struct wf_xfer_ops xfer_ops = {
	.lock_kind = WF_LOCK_SPIN,
	.start = endpoint_start,
	.enable = coll_endpoint_enable,
	.item = &item,
	.destroy = coll_endpoint_destroy,
	.join = coll_join,
	.collective = &coll_calls,
};

static int endpoint_refuse(const char *why)
{
	coll_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "endpoint refused: %s\n", why);
	return -FI_EINVAL;
}

/* Can collectives use the owner's endpoint? 0 or a negative fi_errno. */
static int endpoint_check_owner(
	const struct fi_info *info, const struct fi_peer_transfer_context *context)
{
	const struct fi_info *owner;

	if (!(info->mode & FI_PEER_TRANSFER))
		return endpoint_refuse("info->mode lacks FI_PEER_TRANSFER");
	if (!context || context->size < sizeof(*context) || !context->ep)
		return endpoint_refuse(
			"the context is no struct fi_peer_transfer_context with "
			"an endpoint");
	owner = context->info;
	if (!owner)
		return 0;
	if (!(owner->caps & FI_TAGGED))
		return endpoint_refuse("the main endpoint has no tagged messages");
	if (owner->domain_attr && owner->domain_attr->mr_mode & FI_MR_LOCAL)
		return endpoint_refuse("the main endpoint needs memory descriptors");
	return 0;
}

/* With user ids the sources are not indices. */
static bool endpoint_reports_sources(const struct fi_info *owner)
{
	return owner->caps & FI_SOURCE && !(owner->caps & FI_AV_USER_ID) &&
	       owner->caps & (FI_DIRECTED_RECV | FI_TAGGED_DIRECTED_RECV);
}

static void endpoint_read_owner(struct coll_ep *ep, const struct fi_info *owner)
{
	ep->max_msg_size = SIZE_MAX;
	if (!owner)
		return;
	if (owner->ep_attr && owner->ep_attr->max_msg_size)
		ep->max_msg_size = owner->ep_attr->max_msg_size;
	ep->has_sources = endpoint_reports_sources(owner);
	ep->is_ordered =
		owner->tx_attr && owner->rx_attr &&
		owner->tx_attr->msg_order & owner->rx_attr->msg_order & FI_ORDER_SAS;
	if (owner->tx_attr && owner->tx_attr->op_flags & FI_DELIVERY_COMPLETE)
		ep->probe_flags = FI_DELIVERY_COMPLETE;
}

static void coll_endpoint_init(
	struct coll_ep *ep, const struct fi_peer_transfer_context *context)
{
	ep->owner = context->ep;
	endpoint_read_owner(ep, context->info);
	wf_pool_init(&ep->xfers, sizeof(struct coll_xfer));
	wf_pool_init(&ep->ops, sizeof(struct coll_op));
	wf_list_init(&ep->spare_ops);
	wf_list_init(&ep->posted);
	wf_list_init(&ep->pending);
	wf_list_init(&ep->groups);
	wf_list_init(&ep->joining);
	wf_list_init(&ep->joined);
	wf_list_init(&ep->exchanges);
	wf_list_init(&ep->node_groups);
	wf_list_init(&ep->ending);
	wf_list_init(&ep->stopped);
	wf_list_init(&ep->remains_link);
	wf_list_init(&ep->controls);
	wf_list_init(&ep->answers);
	wf_timer_init(&ep->timer);
}

int coll_endpoint(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, uint64_t flags, void *arg)
{
	struct fi_peer_transfer_context *context = arg;
	struct coll_ep *ep;
	struct wf_ep *wf;
	int ret = endpoint_check_owner(info, context);

	(void)flags;
	/* The context is valid during the call only. */
	if (!ret)
		ret = wf_ep_new(sizeof(*ep), domain, info, &xfer_ops, context->ep, &wf);
	if (ret)
		return ret;
	ep = coll_ep_of(wf);
	coll_endpoint_init(ep, context);
	context->peer_ops = &coll_xfer_callbacks;
	*ret_ep = &ep->ep.fid;
	return 0;
}
