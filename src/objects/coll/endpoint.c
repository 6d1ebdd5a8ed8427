/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/absent/absent.h"
#include "objects/coll/internal.h"
#include "objects/endpoint/calls/transfer.h"
#include "objects/peer/open.h"

/*
 * Objects that are opened at the engines for an endpoint. The engines' endpoints are
 * opened with the application's endpoint, because the peer of transfers has to be known
 * before it is enabled. fi_enable opens, binds and enables everything else.
 */

static int endpoint_failed(const struct wf_coll *coll, const struct wf_coll_port *port,
	const char *call, int ret)
{
	wf_coll_log(coll->ep, FI_LOG_WARN, "collectives: %s: %s: %s\n",
		port->engine->name, call, fi_strerror(-ret));
	return ret;
}

static int endpoint_open_av(struct wf_coll *coll, struct wf_coll_port *port)
{
	struct wf_av *av = coll->ep->av;
	struct fi_peer_av_context context = { sizeof(context), &port->peer_av };
	struct fi_av_attr attr = { .type = av->attr.type, .flags = FI_PEER };
	int ret = wf_av_export(av, &port->peer_av);

	if (ret)
		return endpoint_failed(coll, port, "export of the AV", ret);
	ret = fi_av_open(port->engine->domain, &attr, &port->av, &context);
	if (!ret)
		return 0;
	wf_av_unexport(&port->peer_av);
	port->av = NULL;
	return endpoint_failed(coll, port, "fi_av_open", ret);
}

/* Is @port that of the first engine, which serves the bootstrap of an offload
 * engine? */
static bool endpoint_intercepts(const struct wf_coll_port *port)
{
	return port->coll->port_count > WF_COLL_OFFLOAD &&
	       port == &port->coll->port[WF_COLL_BASE];
}

static int coll_endpoint_open_cq(struct wf_coll *coll, struct wf_coll_port *port)
{
	struct wf_cq *cq = coll->ep->tx_cq;
	struct fi_cq_attr attr = { .format = cq->ring.format,
		.wait_obj = FI_WAIT_NONE };
	int ret;

	wf_cq_export(cq, &port->peer_cq);
	if (endpoint_intercepts(port))
		wf_coll_intercept_cq(port);
	ret = wf_peer_open_cq(port->engine->domain, &attr, &port->peer_cq, &port->cq);
	if (!ret) {
		if (!endpoint_intercepts(port))
			wf_cq_link(port->cq, cq);
		return 0;
	}
	wf_cq_unexport(&port->peer_cq);
	port->cq = NULL;
	return endpoint_failed(coll, port, "fi_cq_open", ret);
}

static int endpoint_open_cntr(struct wf_coll *coll, struct wf_coll_port *port)
{
	struct wf_cntr *cntr = coll->ep->cntr[WF_CNTR_SEND];
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP,
		.wait_obj = FI_WAIT_NONE };
	int ret;

	wf_cntr_export(cntr, &port->peer_cntr);
	if (endpoint_intercepts(port))
		wf_coll_intercept_cntr(port);
	ret = wf_peer_open_cntr(
		port->engine->domain, &attr, &port->peer_cntr, &port->cntr);
	if (!ret) {
		if (!endpoint_intercepts(port))
			wf_cntr_link(port->cntr, cntr);
		return 0;
	}
	wf_cntr_unexport(&port->peer_cntr);
	port->cntr = NULL;
	return endpoint_failed(coll, port, "fi_cntr_open", ret);
}

static int endpoint_open_eq(
	struct wf_coll *coll, struct wf_coll_port *port, struct wf_eq *eq)
{
	struct fi_peer_eq_context context = { sizeof(context), &eq->fid };
	struct fi_eq_attr attr = { .flags = FI_PEER, .wait_obj = FI_WAIT_NONE };
	int ret = fi_eq_open(port->engine->fabric, &attr, &port->eq, &context);

	if (!ret)
		return 0;
	port->eq = NULL;
	return endpoint_failed(coll, port, "fi_eq_open", ret);
}

static int endpoint_bind(struct wf_coll *coll, struct wf_coll_port *port,
	struct fid *fid, uint64_t flags)
{
	int ret = fi_ep_bind(port->ep, fid, flags);

	return ret ? endpoint_failed(coll, port, "fi_ep_bind", ret) : 0;
}

/* Each object is opened and bound once, also if fi_enable is called again after a
 * failure. */

static int endpoint_add_av(struct wf_coll *coll, struct wf_coll_port *port)
{
	int ret = endpoint_open_av(coll, port);

	return ret ? ret : endpoint_bind(coll, port, &port->av->fid, 0);
}

static int endpoint_add_cq(struct wf_coll *coll, struct wf_coll_port *port)
{
	int ret = coll_endpoint_open_cq(coll, port);

	return ret ? ret
		   : endpoint_bind(coll, port, &port->cq->fid,
			     FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
}

static int endpoint_add_cntr(struct wf_coll *coll, struct wf_coll_port *port)
{
	int ret = endpoint_open_cntr(coll, port);

	return ret ? ret : endpoint_bind(coll, port, &port->cntr->fid, FI_SEND);
}

static int endpoint_add_eq(
	struct wf_coll *coll, struct wf_coll_port *port, struct wf_eq *eq)
{
	int ret = endpoint_open_eq(coll, port, eq);

	return ret ? ret : endpoint_bind(coll, port, &port->eq->fid, 0);
}

/* Import the endpoint's counter into the engine, if it has one. */
static int endpoint_count_port(struct wf_coll *coll, struct wf_coll_port *port)
{
	return port->cntr || !coll->ep->cntr[WF_CNTR_SEND]
		       ? 0
		       : endpoint_add_cntr(coll, port);
}

static int coll_cntr_bound(struct wf_ep *ep)
{
	struct wf_coll *coll = ep->coll;
	int ret = 0;

	for (unsigned int i = 0; i < coll->port_count && !ret; i++)
		ret = endpoint_count_port(coll, &coll->port[i]);
	return ret;
}

static int endpoint_enable_port(struct wf_coll *coll, struct wf_coll_port *port)
{
	struct wf_eq *eq = wf_ep_eq(coll->ep);
	int ret = 0;

	if (port->enabled)
		return 0;
	if (!port->av)
		ret = endpoint_add_av(coll, port);
	if (!ret && !port->cq)
		ret = endpoint_add_cq(coll, port);
	if (!ret)
		ret = endpoint_count_port(coll, port);
	if (!ret && !port->eq && eq)
		ret = endpoint_add_eq(coll, port, eq);
	if (ret)
		return ret;
	ret = fi_enable(port->ep);
	if (ret)
		return endpoint_failed(coll, port, "fi_enable", ret);
	port->enabled = true;
	return 0;
}

static int coll_enable(struct wf_ep *ep)
{
	struct wf_coll *coll = ep->coll;
	int ret = 0;

	if (!ep->tx_cq || !ep->rx_cq) {
		wf_coll_log(ep, FI_LOG_WARN,
			"fi_enable: FI_COLLECTIVE needs CQs for FI_TRANSMIT and "
			"FI_RECV\n");
		return -FI_ENOCQ;
	}
	if (ep->srx_ctx) {
		wf_coll_log(ep, FI_LOG_WARN,
			"fi_enable: no FI_COLLECTIVE with a shared receive context\n");
		return -FI_EINVAL;
	}
	for (unsigned int i = 0; i < coll->port_count && !ret; i++)
		ret = endpoint_enable_port(coll, &coll->port[i]);
	return ret;
}

static int endpoint_close_ep(struct wf_coll *coll, struct wf_coll_port *port)
{
	int ret;

	if (!port->ep)
		return 0;
	ret = port->engine->info->mode & FI_PEER_TRANSFER ? wf_transfer_close(coll->ep)
							  : fi_close(&port->ep->fid);
	if (ret)
		return endpoint_failed(coll, port, "fi_close", ret);
	port->ep = NULL;
	return 0;
}

static int coll_closing(struct wf_ep *ep)
{
	struct wf_coll *coll = ep->coll;
	int ret = 0;

	for (unsigned int i = coll->port_count; i-- > 0 && !ret;)
		ret = endpoint_close_ep(coll, &coll->port[i]);
	return ret;
}

static void endpoint_close_port(struct wf_coll_port *port)
{
	if (port->eq)
		(void)fi_close(&port->eq->fid);
	if (port->cntr) {
		(void)fi_close(&port->cntr->fid);
		wf_cntr_unexport(&port->peer_cntr);
	}
	if (port->cq) {
		(void)fi_close(&port->cq->fid);
		wf_cq_unexport(&port->peer_cq);
	}
	if (port->av) {
		(void)fi_close(&port->av->fid);
		wf_av_unexport(&port->peer_av);
	}
}

static void coll_closed(struct wf_ep *ep)
{
	struct wf_coll *coll = ep->coll;

	if (coll->eq)
		wf_eq_progress_del(coll->eq, &coll->join_timer.progress);
	while (coll->port_count)
		endpoint_close_port(&coll->port[--coll->port_count]);
	wf_coll_progress_done(coll);
	wf_coll_boots_done(coll);
	(void)pthread_mutex_destroy(&coll->lock);
	ep->coll_ops = NULL;
	ep->coll = NULL;
	free(coll);
}

static void coll_transferred(struct wf_ep *ep)
{
	wf_coll_wake(ep->coll);
	wf_coll_left_engine(ep->coll);
}

static struct wf_progress *coll_item(struct wf_ep *ep)
{
	return &ep->coll->timer.progress;
}

static const struct wf_ep_coll_ops coll_ops = {
	.enable = coll_enable,
	.cntr_bound = coll_cntr_bound,
	.join = wf_coll_join,
	.transferred = coll_transferred,
	.closing = coll_closing,
	.closed = coll_closed,
	.item = coll_item,
};

static int endpoint_open_port(struct wf_coll *coll, const struct wf_coll_engine *engine)
{
	struct wf_coll_port *port = &coll->port[coll->port_count];
	int ret;

	port->coll = coll;
	port->engine = engine;
	if (engine->info->mode & FI_PEER_TRANSFER)
		ret = wf_transfer_open(
			coll->ep, engine->domain, engine->info, &port->ep);
	else
		ret = fi_endpoint(engine->domain, engine->info, &port->ep, NULL);
	if (ret)
		return endpoint_failed(coll, port, "fi_endpoint", ret);
	port->builtin = wf_ep_from_fid(port->ep) != NULL;
	coll->port_count++;
	return 0;
}

static int endpoint_new_coll(struct wf_ep *ep, struct wf_coll_engines *engines)
{
	struct wf_coll *coll = calloc(1, sizeof(*coll));

	if (!coll)
		return -FI_ENOMEM;
	(void)pthread_mutex_init(&coll->lock, NULL);
	wf_coll_boots_init(coll);
	coll->ep = ep;
	coll->engines = engines;
	wf_coll_progress_init(coll);
	ep->coll = coll;
	ep->coll_ops = &coll_ops;
	return 0;
}

int wf_coll_attach(struct wf_ep *ep)
{
	struct wf_coll_engines *engines;
	int ret = wf_coll_engines(ep->domain, &engines);

	if (!ret)
		ret = endpoint_new_coll(ep, engines);
	for (unsigned int i = 0; !ret && i < engines->count; i++)
		ret = endpoint_open_port(ep->coll, &engines->at[i]);
	if (ret)
		return ret;
	/* Transfers of the engines are tagged messages, also if the application did
	 * not ask for FI_TAGGED. */
	ep->caps |= FI_TAGGED | FI_SEND | FI_RECV;
	ep->fid.tagged = &wf_disabled_tagged;
	ep->fid.collective = &wf_coll_calls;
	return 0;
}
