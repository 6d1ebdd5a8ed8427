/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/local/local.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "objects/endpoint/calls/transfer.h"
#include "objects/endpoint/life/async.h"
#include "objects/endpoint/life/flush.h"
#include "objects/endpoint/scalable/scalable.h"
#include "objects/lower/call.h"
#include "objects/lower/info.h"
#include "objects/lower/progress.h"
#include "objects/lower/reach.h"
#include "sys/calls.h"

/* Why @ep cannot have an endpoint below; NULL: it can. */
static const char *local_unfit(struct wf_ep *ep, bool forbidden)
{
	if (forbidden)
		return "the application forbids shared memory";
	if (wf_ep_is_sep(ep))
		return "it is scalable";
	if (!wf_ep_srx(ep))
		return "its receive context is imported, or it does not receive";
	return NULL;
}

/* Name the endpoint below. No other process, also of a PID namespace that shares
 * /dev/shm, has that name, or gets it when this one has ended: it would take what is
 * for a peer that died. */
static int local_name_below(struct fi_info *info)
{
	uint64_t number;
	char name[64];

	if (wf_sys_getrandom(&number, sizeof(number), 0) < 0)
		return -errno;
	(void)snprintf(name, sizeof(name), "fi_ns://weft-%ld-%016" PRIx64,
		(long)getpid(), number);
	return wf_lower_info_set_source(info, name, strlen(name), FI_ADDR_STR)
		       ? 0
		       : -FI_ENOMEM;
}

static int local_open_ep(struct wf_local *below, size_t max_atomic)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct wf_ep *above = below->above;
	struct fi_info *info;
	int ret = fi_av_open(below->domain->domain, &attr, &below->av, NULL);

	if (ret)
		return ret;
	info = fi_dupinfo(below->domain->info);
	if (!info)
		return -FI_ENOMEM;
	wf_lower_info_fit(info, above->info);
	info->caps &=
		WF_LOCAL_TRANSFERS | WF_LOCAL_LINKING | FI_LOCAL_COMM | FI_REMOTE_COMM;
	info->caps &= ~WF_LOCAL_TRANSFERS | above->caps;
	ret = local_name_below(info);
	if (ret) {
		fi_freeinfo(info);
		return ret;
	}
	/* Errors of injected operations report the context of the endpoint above. */
	ret = wf_lower_ep_open(&below->ep, below->domain, info, above->fid.fid.context);
	if (ret)
		return ret;
	if (!wf_lower_ep_reaches(&below->ep) ||
		wf_op_max_atomic(below->ep.builtin) < max_atomic)
		return -FI_ENOSYS;
	wf_ep_async_below(above, below->ep.builtin);
	below->table = wf_av_of(below->av);
	wf_transfer_lend(above, below->ep.builtin);
	ret = wf_lower_ep_set_limits(&below->ep, above);
	return ret ? ret : wf_lower_ep_bind(&below->ep, &below->av->fid, 0);
}

static int local_import_tx(struct wf_local *below)
{
	struct wf_cq *cq = below->above->tx_cq;

	if (!cq)
		return 0;
	wf_local_peers_export(&below->peers, &below->peers.tx, cq);
	return wf_lower_ep_import_cq(&below->ep, &below->peers.tx.port, cq->ring.format,
		FI_TRANSMIT | FI_SELECTIVE_COMPLETION, below->sleeps);
}

static int local_import_rx(struct wf_local *below)
{
	struct wf_cq *cq = below->above->rx_cq;
	uint64_t flags = FI_RECV;

	if (!cq)
		return 0;
	if (below->above->rx_selective)
		flags |= FI_SELECTIVE_COMPLETION;
	wf_local_peers_export(&below->peers, &below->peers.rx, cq);
	return wf_lower_ep_import_cq(&below->ep, &below->peers.rx.port, cq->ring.format,
		flags, below->sleeps);
}

static int local_import_cntrs(struct wf_local *below)
{
	struct wf_ep *above = below->above;
	int ret = 0;

	for (int i = 0; i < WF_CNTR_COUNT && !ret; i++) {
		if (!above->cntr[i])
			continue;
		ret = wf_lower_ep_import_cntr(
			&below->ep, (enum wf_ep_cntr)i, above->cntr[i], NULL);
		wf_cntr_link(below->ep.cntr[i].fid, above->cntr[i]);
	}
	return ret;
}

int wf_local_fd(const struct wf_local *below)
{
	return wf_progress_fd(&below->ep.builtin->progress);
}

/* Threads sleep on the endpoint's own descriptor. The endpoint asks its peers to wake
 * it only if it has a queue with a descriptor, which is not slept on, because an
 * import's signals are not read. */
static int local_check_fd(const struct wf_local *below)
{
	int fd;

	if (!below->sleeps)
		return 0;
	if (!below->ep.has_fd)
		return -FI_ENOSYS;
	fd = wf_local_fd(below);
	return fd < 0 ? fd : 0;
}

/* Determine the sources of messages that the endpoint below has received and no receive
 * has matched. */
static void local_ask_again(struct wf_local_peers *peers)
{
	struct wf_local *below = wf_container_of(peers, struct wf_local, peers);
	const struct wf_ep *ep = below->ep.builtin;

	wf_srx_recheck_sources(ep->srx, ep->xfer->srx_addr, NULL, NULL);
}

static int local_enable(struct wf_local *below)
{
	struct wf_ep *above = below->above;
	size_t len = sizeof(below->name);
	int ret;

	wf_local_peers_start(&below->peers, above->av, below->table, local_ask_again);
	ret = local_import_tx(below);
	if (!ret)
		ret = local_import_rx(below);
	if (!ret)
		ret = local_import_cntrs(below);
	if (!ret)
		ret = wf_lower_ep_import_srx(&below->ep, above, NULL);
	if (!ret)
		ret = local_check_fd(below);
	if (ret)
		return ret;
	/* Sources are indices in the AV above until the application's queue is
	 * written. */
	wf_cq_link_sources(below->ep.rx_cq, above->av);
	wf_cq_link(below->ep.rx_cq, above->rx_cq);
	wf_cq_link(below->ep.tx_cq, above->tx_cq);
	ret = wf_lower_ep_enable(&below->ep);
	if (ret)
		return ret;
	ret = fi_getname(&below->ep.fid->fid, below->name, &len);
	return !ret && !memchr(below->name, 0, sizeof(below->name)) ? -FI_ENOSPC : ret;
}

static void local_done(struct wf_local *below)
{
	wf_local_peers_stop(&below->peers);
	wf_lower_ep_close(&below->ep);
	wf_local_peers_done(&below->peers);
	if (below->av)
		wf_lower_close(below->domain, &below->av->fid);
	free(below);
}

static int local_try_open(struct wf_ep *above, struct wf_local_domain *domain,
	struct wf_local **ret_below, const char **why)
{
	struct wf_local *below = calloc(1, sizeof(*below));
	int ret;

	*why = NULL;
	if (!below)
		return -FI_ENOMEM;
	below->above = above;
	below->domain = &domain->below;
	below->sleeps = wf_ep_may_sleep(above);
	ret = wf_forks_count();
	below->fork_depth = wf_fork_depth;
	if (!ret)
		ret = wf_local_domain_open(domain, above, why);
	if (!ret) {
		*why = "its endpoint";
		ret = local_open_ep(below, domain->max_atomic);
	}
	if (!ret)
		ret = local_enable(below);
	if (ret)
		local_done(below);
	else
		*ret_below = below;
	return ret;
}

int wf_local_open(struct wf_ep *above, struct wf_local_domain *domain, bool forbidden,
	struct wf_local **at)
{
	struct wf_local *below = NULL;
	const char *why;
	int ret;

	if (*at)
		return 0;
	why = local_unfit(above, forbidden);
	ret = why ? -FI_ENOSYS : local_try_open(above, domain, &below, &why);
	if (ret) {
		FI_LOG(above->domain->prov->fi, FI_LOG_INFO, FI_LOG_EP_CTRL,
			"all peers are reached by sockets: %s: %s\n",
			why ? why : "the endpoint below", fi_strerror(-ret));
		return ret;
	}
	wf_lock(&above->lock);
	*at = below;
	wf_unlock(&above->lock);
	return 0;
}

void wf_local_close(struct wf_local **at)
{
	struct wf_local *below = *at;

	if (!below)
		return;
	wf_lock(&below->above->lock);
	*at = NULL;
	wf_unlock(&below->above->lock);
	local_done(below);
}

const char *wf_local_name(const struct wf_local *below)
{
	return below ? below->name : NULL;
}

/* Remove peers whose last messages were received since their connection ended: more
 * than one for each that is inserted, so that they do not accumulate. */
static void local_remove_left(struct wf_local *below)
{
	for (int i = 0; i < 4; i++) {
		fi_addr_t peer = wf_local_peers_next_leaving(&below->peers);

		if (peer != FI_ADDR_NOTAVAIL &&
			!wf_lower_ep_disconnect(&below->ep, peer, 0, NULL))
			wf_local_peers_remove(&below->peers, peer);
	}
}

int wf_local_insert(struct wf_local *below, const union wf_sockaddr *addr,
	const void *name, size_t len, fi_addr_t *ret_peer)
{
	/* The AV may read as many bytes as an address of any format has. */
	uint32_t words[2 * WF_AV_ADDR_WORDS] = { 0 };

	if (!below)
		return -FI_ENOSYS;
	if (!len || len > WF_PROOF_NAME || len > sizeof(words) ||
		memchr(name, 0, len) != (const char *)name + len - 1)
		return -FI_EINVAL;
	memcpy(words, name, len);
	local_remove_left(below);
	return wf_local_peers_insert(&below->peers, addr, words, ret_peer);
}

bool wf_local_is_reached(struct wf_local *below, fi_addr_t peer)
{
	return below && wf_lower_ep_is_reached(&below->ep, peer);
}

void wf_local_remove(
	struct wf_local *below, fi_addr_t peer, int err, struct wf_unread *unread)
{
	if (!below)
		return;
	if (wf_lower_ep_disconnect(&below->ep, peer, err, unread))
		wf_local_peers_leave(&below->peers, peer);
	else
		wf_local_peers_remove(&below->peers, peer);
}

int wf_local_reach(struct wf_local *below, fi_addr_t peer)
{
	return below ? wf_lower_ep_reach(&below->ep, peer) : -FI_ENOSYS;
}

/* An operation is started below: unpark the item of the endpoint above, which runs the
 * endpoint below. Partial runs suffice, because the sockets get no work. */
static inline void local_wake(struct wf_local *below)
{
	struct wf_progress *item = &below->above->progress;

	if (wf_unlikely(wf_progress_is_parked(item)))
		wf_progress_wake_slow(item);
}

ssize_t wf_local_start(struct wf_local *below, fi_addr_t peer, struct wf_op *op)
{
	if (!below)
		return -FI_ENOSYS;
	local_wake(below);
	return wf_lower_start(&below->ep, op, peer);
}

ssize_t wf_local_send(struct wf_local *below, fi_addr_t peer, enum wf_op_kind kind,
	const void *buf, size_t len, uint64_t tag, const uint64_t *data)
{
	if (wf_unlikely(!below))
		return -FI_EAGAIN;
	local_wake(below);
	if (data)
		return wf_lower_send_small_data(
			below->ep.builtin, kind, buf, len, peer, tag, *data);
	return wf_lower_send_small(below->ep.builtin, kind, buf, len, peer, tag);
}

size_t wf_local_small_limit(const struct wf_local *below)
{
	return below ? below->ep.builtin->small_limit : 0;
}

void wf_local_poll(struct wf_local *below)
{
	wf_local_peers_compare(&below->peers);
	wf_lower_ep_poll(&below->ep);
}

/* Is this progress call partial? The lock of the receive context is held. */
static inline bool local_is_partial(struct wf_local *below)
{
	struct wf_local_pace *pace = &below->pace;

	if (!wf_progress_is_partial(&below->above->progress) || !pace->left)
		return false;
	return wf_likely(--pace->left % WF_LOCAL_CLOCK_INTERVAL) ||
	       (pace->left && wf_coarse_ns() == pace->tick);
}

void wf_local_run(struct wf_local *below)
{
	struct wf_ep *above = below->above;

	if (wf_unlikely(!wf_trylock(above->srx_lock)))
		return;
	if (wf_likely(local_is_partial(below)))
		wf_local_poll(below);
	else
		wf_ep_progress(above);
	wf_unlock(above->srx_lock);
}

void wf_local_set_partial(struct wf_local *below, uint32_t calls)
{
	if (calls)
		below->pace.tick = wf_coarse_ns();
	below->pace.calls = below->pace.left = calls;
	wf_progress_set_partial(&below->above->progress, calls);
}

bool wf_local_moved(struct wf_local *below)
{
	return wf_progress_moved(&below->ep.builtin->progress);
}

/* Peers may connect at any time, so the listener of the endpoint below may have an
 * event. */
static bool local_is_quiet(const struct wf_local *below)
{
	struct pollfd poll_fd = { .fd = wf_local_fd(below), .events = POLLIN };

	return wf_sys_poll(&poll_fd, 1, 0) <= 0;
}

bool wf_local_arm(struct wf_local *below)
{
	return !below ||
	       (below->sleeps && wf_lower_ep_arm(&below->ep) && local_is_quiet(below));
}

bool wf_local_unfinished(struct wf_local *below)
{
	return below && !wf_local_is_inherited(below) &&
	       wf_ep_unfinished(below->ep.builtin);
}

bool wf_local_flushed(struct wf_local *below)
{
	return !below || wf_ep_flushed(below->ep.builtin);
}

bool wf_local_cancel(struct wf_local *below, const struct wf_cancel *which)
{
	return below && wf_lower_cancel_tx(&below->ep, which);
}

int wf_local_bind_cntrs(struct wf_local *below)
{
	return below ? local_import_cntrs(below) : 0;
}
