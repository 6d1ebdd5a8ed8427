/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/local/below.h"

#include <stdlib.h>
#include <string.h>

#include "objects/endpoint/calls/transfer.h"
#include "objects/endpoint/life/flush.h"
#include "objects/lower/call.h"
#include "objects/lower/find.h"
#include "objects/lower/info.h"
#include "objects/lower/progress.h"

/*
 * It is opened with a domain and an AV of its own, for messages only: an endpoint that
 * has remote memory access or atomics keeps to its sockets, as does one for which a
 * thread may sleep, and one whose queues are imported themselves.
 */
struct tcp_below {
	struct wf_lower_domain domain;
	struct fid_av *av;
	struct wf_av *table; /* the same */
	struct wf_lower_ep ep;
	struct fid_peer_cq tx, rx;
	bool tx_exported, rx_exported;
	char name[TCP_PROOF_NAME];
};

static const uint64_t messages = FI_MSG | FI_TAGGED | FI_SEND | FI_RECV | FI_SOURCE |
				 FI_DIRECTED_RECV | FI_TAGGED_DIRECTED_RECV |
				 FI_EXACT_DIRECTED_RECV;
static const uint64_t linking = FI_PEER | FI_AV_USER_ID;

/* Why @ep gets no endpoint below; NULL: it may have one. */
static const char *unfit(const struct tcp_ep *ep)
{
	const struct wf_ep *wf = &ep->ep;

	if (wf_ep_is_sep(&ep->ep))
		return "it is scalable";
	if (wf->caps & (FI_RMA | FI_ATOMIC))
		return "it has FI_RMA or FI_ATOMIC";
	if (wf_ep_may_sleep(wf))
		return "a thread may sleep until it has work";
	if (!wf_ep_srx(&((struct tcp_ep *)ep)->ep))
		return "its receive context is imported, or it does not receive";
	return NULL;
}

/* Why the endpoint of @below could not serve all that @above promises; NULL: it can. */
static const char *lacks(const struct fi_info *below, const struct fi_info *above)
{
	if (below->domain_attr->mr_mode & FI_MR_LOCAL || below->mode)
		return "it needs more of the application";
	if (below->tx_attr->inject_size < above->tx_attr->inject_size)
		return "it injects less";
	if (below->tx_attr->iov_limit < above->tx_attr->iov_limit ||
		below->rx_attr->iov_limit < above->rx_attr->iov_limit)
		return "it takes fewer buffers";
	if (below->ep_attr->max_msg_size < above->ep_attr->max_msg_size)
		return "its messages are shorter";
	if (below->domain_attr->cq_data_size < above->domain_attr->cq_data_size)
		return "its remote CQ data is shorter";
	if (above->tx_attr->msg_order & ~below->tx_attr->msg_order)
		return "it has another order";
	return NULL;
}

static int find(const struct tcp_ep *ep, struct fi_info **ret_info)
{
	struct fi_info *hints = fi_allocinfo();
	int ret = -FI_ENOMEM;

	if (!hints)
		return ret;
	hints->caps = (ep->ep.caps & messages) | linking;
	hints->domain_attr->caps = linking;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = ep->ep.domain->info->domain_attr->mr_mode;
	hints->fabric_attr->prov_name = strdup("shm");
	if (hints->fabric_attr->prov_name)
		ret = wf_lower_find(FI_VERSION(1, 17), hints, ret_info);
	fi_freeinfo(hints);
	return ret;
}

static int open_domain(struct tcp_ep *ep, struct tcp_below *below, const char **why)
{
	struct fi_info *found, *info;
	int ret = find(ep, &found);

	*why = "fi_getinfo of shm";
	if (ret)
		return ret;
	*why = lacks(found, ep->ep.info);
	info = *why ? NULL : wf_lower_domain_info(found, ep->ep.domain);
	ret = *why ? -FI_ENOSYS : -FI_ENOMEM;
	fi_freeinfo(found);
	if (!info)
		return ret;
	*why = "its domain";
	return wf_lower_domain_open(&below->domain, &tcp_fi, "shm", info);
}

static int open_ep(struct tcp_ep *ep, struct tcp_below *below)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct fi_info *info;
	int ret = fi_av_open(below->domain.domain, &attr, &below->av, NULL);

	if (ret)
		return ret;
	info = fi_dupinfo(below->domain.info);
	if (!info)
		return -FI_ENOMEM;
	wf_lower_info_fit(info, ep->ep.info);
	info->caps &= messages | linking | FI_LOCAL_COMM | FI_REMOTE_COMM;
	info->caps &= ~messages | ep->ep.caps;
	/* Errors of injected operations report the context of tcp's endpoint. */
	ret = wf_lower_ep_open(
		&below->ep, &below->domain, info, ep->ep.fid.fid.context);
	if (ret)
		return ret;
	/* Of a provider of another library the AV could not be used within progress. */
	if (!below->ep.builtin)
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
	wf_cq_export(cq, &below->tx);
	below->tx_exported = true;
	return wf_lower_ep_import_cq(&below->ep, &below->tx, cq->ring.format,
		FI_TRANSMIT | FI_SELECTIVE_COMPLETION, false);
}

static int import_rx(struct tcp_ep *ep, struct tcp_below *below)
{
	struct wf_cq *cq = ep->ep.rx_cq;
	uint64_t flags = FI_RECV;

	if (!cq)
		return 0;
	if (ep->ep.rx_selective)
		flags |= FI_SELECTIVE_COMPLETION;
	wf_cq_export(cq, &below->rx);
	below->rx_exported = true;
	return wf_lower_ep_import_cq(
		&below->ep, &below->rx, cq->ring.format, flags, false);
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

static int enable(struct tcp_ep *ep, struct tcp_below *below)
{
	size_t len = sizeof(below->name);
	int ret = import_tx(ep, below);

	if (!ret)
		ret = import_rx(ep, below);
	if (!ret)
		ret = import_cntrs(ep, below);
	if (!ret)
		ret = wf_lower_ep_import_srx(&below->ep, &ep->ep, NULL);
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
	wf_lower_ep_close(&below->ep);
	if (below->tx_exported)
		wf_cq_unexport(&below->tx);
	if (below->rx_exported)
		wf_cq_unexport(&below->rx);
	wf_lower_close(&below->domain, below->av ? &below->av->fid : NULL);
	wf_lower_domain_close(&below->domain);
	free(below);
}

static const struct tcp_below_ops below_ops = {
	.name = tcp_below_name,
	.insert = tcp_below_insert,
	.remove = tcp_below_remove,
	.start = tcp_below_start,
};

static int try_open(struct tcp_ep *ep, const char **why)
{
	struct tcp_below *below = calloc(1, sizeof(*below));
	int ret;

	*why = NULL;
	if (!below)
		return -FI_ENOMEM;
	ret = open_domain(ep, below, why);
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
	ep->below_ops = &below_ops;
	wf_unlock(&ep->ep.lock);
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

int tcp_below_insert(struct tcp_ep *ep, fi_addr_t user_id, const void *name, size_t len,
	fi_addr_t *ret_below)
{
	/* The AV may read as much as an address of any format has. */
	uint32_t words[2 * WF_AV_ADDR_WORDS] = { 0 };

	if (!ep->below)
		return -FI_ENOSYS;
	if (!len || len > TCP_PROOF_NAME || len > sizeof(words) ||
		memchr(name, 0, len) != (const char *)name + len - 1)
		return -FI_EINVAL;
	memcpy(words, name, len);
	return wf_av_insert_untold(ep->below->table, words, user_id, ret_below);
}

/* Messages of the peer that no receive has matched keep their source: it is an index of
 * tcp's AV, where the peer may stay. */
void tcp_below_remove(struct tcp_ep *ep, fi_addr_t below)
{
	if (ep->below)
		(void)wf_av_remove_untold(ep->below->table, below);
}

ssize_t tcp_below_start(struct tcp_ep *ep, fi_addr_t below, struct wf_op *op)
{
	return ep->below ? wf_lower_start(&ep->below->ep, op, below) : -FI_ENOSYS;
}

bool tcp_below_poll(struct tcp_ep *ep)
{
	wf_lower_ep_poll(&ep->below->ep);
	return wf_progress_moved(&ep->below->ep.builtin->progress);
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
