/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/below.h"

#include <stdlib.h>
#include <strings.h>

#include "objects/endpoint/inbox.h"
#include "objects/lower/info.h"
#include "providers/rxm/param.h"

/* The queues below, the listener, and the shared receive context. */

enum {
	SHARED_DEPTH = 256, /* buffers in a shared receive context, by default */
	OWN_DEPTH = 128,    /* buffers of a connection, by default */
	/* Operations of a connection if its queue is a resource of a device. */
	TX_DEPTH = 128,
};

static const struct wf_lower_domain *below_domain_of(const struct rxm_ep *ep)
{
	return &ep->domain->below;
}

/* Open a queue with a descriptor for sleeping threads or, if the provider below has no
 * descriptors, without one. */
static int below_open_eq(struct rxm_ep *ep)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };
	int ret;

	if (ep->eq)
		return 0;
	ret = fi_eq_open(below_domain_of(ep)->fabric, &attr, &ep->eq, NULL);
	if (ret) {
		attr.wait_obj = FI_WAIT_NONE;
		ret = fi_eq_open(below_domain_of(ep)->fabric, &attr, &ep->eq, NULL);
	}
	if (ret)
		ep->eq = NULL;
	return wf_lower_result(below_domain_of(ep), FI_LOG_EP_CTRL, "fi_eq_open", ret);
}

static int below_listen_at(struct rxm_ep *ep, struct fid_pep *pep)
{
	union wf_sockaddr name = { 0 };
	size_t len = sizeof(name);
	const char *call = "fi_pep_bind";
	int ret = fi_pep_bind(pep, &ep->eq->fid, 0);

	if (!ret) {
		call = "fi_listen";
		ret = fi_listen(pep);
	}
	if (!ret) {
		call = "fi_getname";
		ret = fi_getname(&pep->fid, &name, &len);
	}
	if (!ret && (len > sizeof(name) || wf_sockaddr_read(&name, len, &ep->name)))
		ret = -FI_EADDRNOTAVAIL;
	return wf_lower_result(below_domain_of(ep), FI_LOG_EP_CTRL, call, ret);
}

static int below_open_pep(struct rxm_ep *ep)
{
	struct fid_pep *pep;
	struct fi_info *info;
	int ret;

	if (ep->pep)
		return 0;
	info = rxm_info_below(ep, &ep->name);
	if (!info)
		return -FI_ENOMEM;
	ret = fi_passive_ep(below_domain_of(ep)->fabric, info, &pep, NULL);
	fi_freeinfo(info);
	if (ret)
		return wf_lower_result(
			below_domain_of(ep), FI_LOG_EP_CTRL, "fi_passive_ep", ret);
	ret = below_listen_at(ep, pep);
	if (ret)
		wf_lower_close(below_domain_of(ep), &pep->fid);
	else
		ep->pep = pep;
	return ret;
}

bool rxm_below_is_stream(const struct rxm_ep *ep)
{
	return below_domain_of(ep)->info->ep_attr->protocol == FI_PROTO_SOCK_TCP;
}

/* Number of buffers to post, by default @size. */
static size_t below_depth_of(size_t size)
{
	return rxm_params.msg_rx_size ? rxm_params.msg_rx_size : size;
}

static bool below_wants_srx(const struct rxm_ep *ep)
{
	const char *name = below_domain_of(ep)->info->fabric_attr->prov_name;

	if (rxm_params.use_srx >= 0)
		return rxm_params.use_srx;
	/* A connection of another library that shares buffers cannot be held
	 * (data/hold.h). */
	return ep->domain->own &&
	       (!strcasecmp(name, "tcp") || !strcasecmp(name, "net"));
}

static int below_open_srx(struct rxm_ep *ep)
{
	struct fi_rx_attr attr = *below_domain_of(ep)->info->rx_attr;
	int ret;

	if (ep->srx)
		return 0;
	attr.op_flags = 0;
	if (!rxm_below_is_stream(ep))
		attr.size = below_depth_of(SHARED_DEPTH);
	ret = fi_srx_context(below_domain_of(ep)->domain, &attr, &ep->srx, NULL);
	if (!ret)
		return 0;
	ep->srx = NULL;
	rxm_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
		"no shared receive context below: %s; each connection has buffers\n",
		fi_strerror(-ret));
	return ret;
}

static int below_open_buffers(struct rxm_ep *ep)
{
	bool shared = ep->bufs || (below_wants_srx(ep) && !below_open_srx(ep));

	if (ep->bufs)
		return 0;
	ep->rx_depth = below_depth_of(shared ? SHARED_DEPTH : OWN_DEPTH);
	/* A stream holds messages back until there are buffers. */
	ep->counts_credits = !shared && !rxm_below_is_stream(ep);
	return shared ? rxm_bufs_new(ep, NULL, ep->srx, ep->rx_depth, &ep->bufs) : 0;
}

/* Without an inbox, all packets come in posted buffers. */
static void below_open_inbox(struct rxm_ep *ep)
{
	const struct wf_cq *cq = ep->cq.builtin;

	if (!ep->inbox && cq && rxm_below_is_stream(ep))
		ep->inbox = wf_inbox_new(cq->domain->gate, RXM_HEADER + ep->buffer_size,
			&ep->cq.builtin->wait);
}

int rxm_below_open(struct rxm_ep *ep)
{
	const struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = FI_WAIT_FD };
	int ret = wf_lower_cq_open(&ep->cq, below_domain_of(ep), &attr);

	if (!ret)
		ret = below_open_eq(ep);
	if (!ret)
		below_open_inbox(ep);
	if (!ret)
		ret = below_open_buffers(ep);
	return ret ? ret : below_open_pep(ep);
}

void rxm_below_close(struct rxm_ep *ep)
{
	const struct wf_lower_domain *domain = below_domain_of(ep);

	wf_lower_close(domain, ep->pep ? &ep->pep->fid : NULL);
	wf_lower_close(domain, ep->srx ? &ep->srx->fid : NULL);
	wf_lower_cq_close(&ep->cq, domain);
	wf_lower_close(domain, ep->eq ? &ep->eq->fid : NULL);
	rxm_bufs_free(ep->bufs);
	wf_inbox_free(ep->inbox);
}

void rxm_below_size(const struct rxm_ep *ep, struct fi_info *info)
{
	size_t *tx = &info->tx_attr->size, *rx = &info->rx_attr->size;

	if (rxm_params.msg_tx_size)
		*tx = rxm_params.msg_tx_size;
	else if (!rxm_below_is_stream(ep))
		*tx = *tx ? WF_MIN(*tx, (size_t)TX_DEPTH) : TX_DEPTH;
	if (!rxm_below_is_stream(ep) && !ep->srx)
		*rx = ep->rx_depth;
}

struct fi_info *rxm_info_below(const struct rxm_ep *ep, const union wf_sockaddr *src)
{
	struct fi_info *info = fi_dupinfo(below_domain_of(ep)->info);
	uint32_t format = info ? info->addr_format : 0;

	if (!info)
		return NULL;
	info->caps &= ~(FI_LOCAL_COMM | FI_REMOTE_COMM);
	info->tx_attr->op_flags = info->rx_attr->op_flags = 0;
	info->tx_attr->caps = info->rx_attr->caps = 0;
	info->tx_attr->tclass = ep->ep.info->tx_attr->tclass;
	if (src && !wf_lower_info_set_source(info, src, wf_sockaddr_len(src), format)) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}
