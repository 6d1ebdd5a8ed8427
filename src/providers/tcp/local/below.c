/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/local/below.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "objects/endpoint/calls/transfer.h"
#include "objects/endpoint/life/flush.h"
#include "objects/lower/call.h"
#include "objects/lower/info.h"
#include "objects/lower/progress.h"
#include "objects/lower/reach.h"
#include "providers/tcp/local/domain.h"
#include "providers/tcp/local/below_peers.h"

/*
 * The endpoint below is opened with an AV of its own, but without regions: its peers
 * access those of tcp's domain (wf_domain_lend_regions), so that the same keys, access
 * rights and counters are valid on both transports, and a region is closed for both at
 * once. An endpoint whose queues are imported uses only sockets.
 */
struct tcp_below {
	const struct wf_lower_domain *domain; /* domain of shm that it is opened on */
	struct fid_av *av;                    /* its AV */
	struct wf_av *table;          /* the same AV, as an object of this library */
	struct wf_lower_ep ep;        /* the endpoint itself */
	struct tcp_below_peers peers; /* peers in its AV */
	bool sleeps; /* A thread may sleep until tcp's endpoint has work. */
	/* Descriptors for sleeping threads: the epoll sets of both endpoints. */
	struct wf_fds fds;
	char name[TCP_PROOF_NAME]; /* its name, which peers insert into their AVs */
};

/* Why @ep cannot have an endpoint below; NULL: it can. */
static const char *unfit(struct tcp_ep *ep)
{
	if (ep->memory_forbidden)
		return "the application forbids shared memory";
	if (wf_ep_is_sep(&ep->ep))
		return "it is scalable";
	if (!wf_ep_srx(&ep->ep))
		return "its receive context is imported, or it does not receive";
	return NULL;
}

static int open_ep(struct tcp_ep *ep, struct tcp_below *below)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct fi_info *info;
	int ret = fi_av_open(below->domain->domain, &attr, &below->av, NULL);

	if (ret)
		return ret;
	info = fi_dupinfo(below->domain->info);
	if (!info)
		return -FI_ENOMEM;
	wf_lower_info_fit(info, ep->ep.info);
	info->caps &= TCP_BELOW_TRANSFERS | TCP_BELOW_LINKING | FI_LOCAL_COMM |
		      FI_REMOTE_COMM;
	info->caps &= ~TCP_BELOW_TRANSFERS | ep->ep.caps;
	/* Errors of injected operations report the context of tcp's endpoint. */
	ret = wf_lower_ep_open(&below->ep, below->domain, info, ep->ep.fid.fid.context);
	if (ret)
		return ret;
	if (!wf_lower_ep_reaches(&below->ep) ||
		wf_op_max_atomic(below->ep.builtin) < wf_op_max_atomic(&ep->ep))
		return -FI_ENOSYS;
	below->table = wf_av_of(below->av);
	wf_transfer_lend(&ep->ep, below->ep.builtin);
	ret = wf_lower_ep_set_limits(&below->ep, &ep->ep);
	return ret ? ret : wf_lower_ep_bind(&below->ep, &below->av->fid, 0);
}

static int import_tx(struct tcp_ep *ep, struct tcp_below *below)
{
	struct wf_cq *cq = ep->ep.tx_cq;

	if (!cq)
		return 0;
	tcp_below_peers_export(&below->peers, &below->peers.tx, cq);
	return wf_lower_ep_import_cq(&below->ep, &below->peers.tx.port, cq->ring.format,
		FI_TRANSMIT | FI_SELECTIVE_COMPLETION, below->sleeps);
}

static int import_rx(struct tcp_ep *ep, struct tcp_below *below)
{
	struct wf_cq *cq = ep->ep.rx_cq;
	uint64_t flags = FI_RECV;

	if (!cq)
		return 0;
	if (ep->ep.rx_selective)
		flags |= FI_SELECTIVE_COMPLETION;
	tcp_below_peers_export(&below->peers, &below->peers.rx, cq);
	return wf_lower_ep_import_cq(&below->ep, &below->peers.rx.port, cq->ring.format,
		flags, below->sleeps);
}

static int import_cntrs(struct tcp_ep *ep, struct tcp_below *below)
{
	int ret = 0;

	for (int i = 0; i < WF_CNTR_COUNT && !ret; i++) {
		if (!ep->ep.cntr[i])
			continue;
		ret = wf_lower_ep_import_cntr(
			&below->ep, (enum wf_ep_cntr)i, ep->ep.cntr[i], NULL);
		wf_cntr_link(below->ep.cntr[i].fid, ep->ep.cntr[i]);
	}
	return ret;
}

/* Sleeping threads wait for both endpoints. The endpoint below asks its peers to wake
 * it only if it has a queue with a descriptor. That descriptor is not slept on, because
 * an import's signals are not read. */
static int watch(struct tcp_ep *ep, struct tcp_below *below)
{
	int fd, ret;

	if (!below->sleeps)
		return 0;
	if (!below->ep.has_fd)
		return -FI_ENOSYS;
	fd = wf_progress_fd(&below->ep.builtin->progress);
	ret = fd < 0 ? fd : wf_fds_add(&below->fds, fd);
	return ret ? ret : wf_fds_add(&below->fds, ep->watches.epfd);
}

static struct wf_fds *wait_fds(struct wf_progress *item)
{
	struct wf_ep *wf = wf_container_of(item, struct wf_ep, progress);

	return &tcp_ep_of(wf)->below->fds;
}

/* Determine the sources of messages that the endpoint below has received and no receive
 * has matched. */
static void ask_again(struct tcp_below_peers *peers)
{
	struct tcp_below *below = wf_container_of(peers, struct tcp_below, peers);
	const struct wf_ep *ep = below->ep.builtin;

	wf_srx_recheck_sources(ep->srx, ep->xfer->srx_addr, NULL, NULL);
}

static int enable(struct tcp_ep *ep, struct tcp_below *below)
{
	size_t len = sizeof(below->name);
	int ret;

	tcp_below_peers_start(&below->peers, ep->ep.av, below->table, ask_again);
	ret = import_tx(ep, below);
	if (!ret)
		ret = import_rx(ep, below);
	if (!ret)
		ret = import_cntrs(ep, below);
	if (!ret)
		ret = wf_lower_ep_import_srx(&below->ep, &ep->ep, NULL);
	if (!ret)
		ret = watch(ep, below);
	if (ret)
		return ret;
	/* Sources are indices in tcp's AV until the application's queue is written. */
	wf_cq_link_sources(below->ep.rx_cq, ep->ep.av);
	wf_cq_link(below->ep.rx_cq, ep->ep.rx_cq);
	wf_cq_link(below->ep.tx_cq, ep->ep.tx_cq);
	ret = wf_lower_ep_enable(&below->ep);
	if (ret)
		return ret;
	ret = fi_getname(&below->ep.fid->fid, below->name, &len);
	return !ret && !memchr(below->name, 0, sizeof(below->name)) ? -FI_ENOSPC : ret;
}

static void done(struct tcp_below *below)
{
	tcp_below_peers_stop(&below->peers);
	wf_lower_ep_close(&below->ep);
	wf_fds_done(&below->fds);
	tcp_below_peers_done(&below->peers);
	if (below->av)
		wf_lower_close(below->domain, &below->av->fid);
	free(below);
}

/* wf_progress.moved: partial progress calls do not count what they find. */
static bool moved(struct wf_progress *item)
{
	struct wf_ep *wf = wf_container_of(item, struct wf_ep, progress);

	return tcp_below_moved(tcp_ep_of(wf));
}

static int try_open(struct tcp_ep *ep, const char **why)
{
	struct tcp_below *below = calloc(1, sizeof(*below));
	int ret;

	*why = NULL;
	if (!below)
		return -FI_ENOMEM;
	below->sleeps = wf_ep_may_sleep(&ep->ep);
	wf_fds_init(&below->fds);
	ret = wf_forks_count();
	if (!ret)
		ret = tcp_below_domain(ep, &below->domain, why);
	if (!ret) {
		*why = "its endpoint";
		ret = open_ep(ep, below);
	}
	if (!ret)
		ret = enable(ep, below);
	if (ret) {
		done(below);
		return ret;
	}
	wf_lock(&ep->ep.lock);
	ep->below = below;
	wf_unlock(&ep->ep.lock);
	wf_ep_set_run(&ep->ep, tcp_run_with_below);
	wf_ep_set_moved(&ep->ep, moved);
	if (below->sleeps)
		wf_ep_set_wait_fds(&ep->ep, wait_fds);
	return 0;
}

int tcp_below_open(struct tcp_ep *ep)
{
	const char *why;
	int ret;

	if (ep->below)
		return 0;
	why = unfit(ep);
	ret = why ? -FI_ENOSYS : try_open(ep, &why);
	if (ret)
		tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
			"all peers are reached by sockets: %s: %s\n",
			why ? why : "the endpoint below", fi_strerror(-ret));
	return ret;
}

void tcp_below_close(struct tcp_ep *ep)
{
	struct tcp_below *below;

	wf_lock(&ep->ep.lock);
	below = ep->below;
	ep->below = NULL;
	wf_unlock(&ep->ep.lock);
	if (below)
		done(below);
}

const char *tcp_below_name(const struct tcp_ep *ep)
{
	return ep->below ? ep->below->name : NULL;
}

/* Remove peers whose last messages were received since their connection ended. */
static void remove_left(struct tcp_below *below)
{
	fi_addr_t addr = tcp_below_peers_next_leaving(&below->peers);

	if (addr != FI_ADDR_NOTAVAIL &&
		!wf_lower_ep_disconnect(&below->ep, addr, 0, NULL))
		tcp_below_peers_remove(&below->peers, addr);
}

int tcp_below_insert(struct tcp_ep *ep, fi_addr_t user_id, const void *name, size_t len,
	fi_addr_t *ret_below)
{
	/* The AV may read as many bytes as an address of any format has. */
	uint32_t words[2 * WF_AV_ADDR_WORDS] = { 0 };

	if (!ep->below)
		return -FI_ENOSYS;
	if (!len || len > TCP_PROOF_NAME || len > sizeof(words) ||
		memchr(name, 0, len) != (const char *)name + len - 1)
		return -FI_EINVAL;
	memcpy(words, name, len);
	remove_left(ep->below);
	return tcp_below_peers_insert(&ep->below->peers, user_id, words, ret_below);
}

bool tcp_below_is_reached(struct tcp_ep *ep, fi_addr_t below)
{
	return ep->below && wf_lower_ep_is_reached(&ep->below->ep, below);
}

void tcp_below_remove(
	struct tcp_ep *ep, fi_addr_t below, int err, struct wf_unread *unread)
{
	if (!ep->below)
		return;
	if (wf_lower_ep_disconnect(&ep->below->ep, below, err, unread))
		tcp_below_peers_leave(&ep->below->peers, below);
	else
		tcp_below_peers_remove(&ep->below->peers, below);
}

int tcp_below_reach(struct tcp_ep *ep, fi_addr_t below)
{
	return ep->below ? wf_lower_ep_reach(&ep->below->ep, below) : -FI_ENOSYS;
}

/* An operation is started below: unpark the item of tcp's endpoint, which runs the
 * endpoint below. Partial runs suffice, because the sockets get no work. */
static inline void wake(struct tcp_ep *ep)
{
	if (wf_unlikely(wf_progress_is_parked(&ep->ep.progress)))
		wf_progress_wake_slow(&ep->ep.progress);
}

ssize_t tcp_below_start(struct tcp_ep *ep, fi_addr_t below, struct wf_op *op)
{
	if (!ep->below)
		return -FI_ENOSYS;
	if (tcp_below_is_inherited(ep))
		return -FI_EOPBADSTATE;
	wake(ep);
	return wf_lower_start(&ep->below->ep, op, below);
}

ssize_t tcp_below_send(struct tcp_ep *ep, fi_addr_t below, enum wf_op_kind kind,
	const void *buf, size_t len, uint64_t tag)
{
	if (wf_unlikely(!ep->below || tcp_below_is_inherited(ep)))
		return -FI_EAGAIN;
	wake(ep);
	return wf_lower_send_small(ep->below->ep.builtin, kind, buf, len, below, tag);
}

size_t tcp_below_small_limit(const struct tcp_ep *ep)
{
	return ep->below ? ep->below->ep.builtin->small_limit : 0;
}

void tcp_below_poll(struct tcp_ep *ep)
{
	tcp_below_peers_compare(&ep->below->peers);
	wf_lower_ep_poll(&ep->below->ep);
}

bool tcp_below_moved(struct tcp_ep *ep)
{
	return wf_progress_moved(&ep->below->ep.builtin->progress);
}

/* Peers may connect at any time, so the listener of the endpoint below may have an
 * event. */
static bool is_quiet(const struct tcp_below *below)
{
	struct wf_progress *item = &below->ep.builtin->progress;
	struct pollfd poll_fd = { .fd = wf_progress_fd(item), .events = POLLIN };

	return poll(&poll_fd, 1, 0) <= 0;
}

bool tcp_below_arm(struct tcp_ep *ep)
{
	const struct tcp_below *below = ep->below;

	return !below || tcp_below_is_inherited(ep) ||
	       (below->sleeps && wf_lower_ep_arm(&below->ep) && is_quiet(below));
}

bool tcp_below_flushed(struct tcp_ep *ep)
{
	return !ep->below || wf_ep_flushed(ep->below->ep.builtin);
}

bool tcp_below_cancel(struct tcp_ep *ep, const struct wf_cancel *which)
{
	return ep->below && wf_lower_cancel_tx(&ep->below->ep, which);
}

int tcp_below_bind_cntrs(struct tcp_ep *ep)
{
	return ep->below ? import_cntrs(ep, ep->below) : 0;
}
