/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "objects/endpoint/life/name.h"
#include "objects/local/local.h"
#include "objects/local/mode.h"
#include "providers/tcp/conn/conn.h"
#include "providers/tcp/context.h"
#include "providers/tcp/cm/msg_cm.h"
#include "providers/tcp/conn/peer.h"
#include "providers/tcp/data/unexp.h"
#include "providers/tcp/local/below.h"

/* Opening, naming, enabling and closing endpoints. */

enum { STAGE_MIN = 4096 };

/* Set the bits of an fi_addr_t that contain the index of a receive context, from the
 * AV's rx_ctx_bits. */
static void endpoint_set_address_bits(struct tcp_ep *ep)
{
	unsigned int bits = ep->ep.av ? wf_av_rx_ctx_bits(ep->ep.av) : 0;

	ep->context_shift = 64u - bits;
	ep->context_bits = bits ? UINT64_MAX << ep->context_shift : 0;
}

/* A layer with an inbox has an endpoint for each peer, takes messages soon, and limits
 * the memory of all of them itself. */
static void endpoint_set_layer_limits(struct tcp_ep *ep)
{
	const size_t limit = TCP_ANSWER_SHARE;

	ep->unexp.budget.limit = ep->unexp.budget.share = limit;
	ep->answers.limit = ep->answers.share = limit;
}

static int tcp_enable(struct wf_ep *wf)
{
	struct tcp_ep *ep = tcp_ep_of(wf);

	if (!ep->rbuf)
		ep->rbuf = malloc(ep->rbuf_size);
	if (!ep->rbuf)
		return -FI_ENOMEM;
	if (wf->inbox)
		endpoint_set_layer_limits(ep);
	endpoint_set_address_bits(ep);
	if (!ep->peers)
		return 0;
	wf_av_removals_start(&ep->peers->remotes.removals, wf->av);
	/* If the endpoint below cannot be opened, all peers are reached through
	 * sockets. */
	if (wf_local_mode != WF_LOCAL_OFF)
		(void)tcp_below_open(ep);
	return tcp_peers_listen(ep);
}

static void tcp_endpoint_end_conns(struct tcp_ep *ep)
{
	wf_ep_srx_lock(&ep->ep);
	wf_lock(&ep->ep.lock);
	while (!wf_list_empty(&ep->conns)) {
		struct tcp_conn *conn =
			wf_list_entry(ep->conns.next, struct tcp_conn, link);

		/* The sockets that a forked child inherited are its parent's, too. */
		if (!ep->ep.inherited)
			tcp_conn_hang_up(conn);
		tcp_conn_end(conn, 0);
	}
	tcp_conn_free_dead(ep);
	wf_unlock(&ep->ep.lock);
	wf_ep_srx_unlock(&ep->ep);
}

static void tcp_destroy(struct wf_ep *wf)
{
	struct tcp_ep *ep = tcp_ep_of(wf);

	if (ep->cm && ep->cm->base.eq)
		wf_eq_progress_del(ep->cm->base.eq, &wf->progress);
	tcp_endpoint_end_conns(ep);
	tcp_below_close(ep);
	tcp_peers_free(ep);
	tcp_msg_free(ep);
	tcp_contexts_free(ep);
	wf_watches_done(&ep->watches);
	free(ep->spare_stage);
	free(ep->rbuf);
	wf_ep_free(wf);
}

static int tcp_setname(struct wf_ep *wf, const void *addr, size_t len)
{
	struct tcp_ep *ep = tcp_ep_of(wf);
	union wf_sockaddr name;
	int ret = wf_name_read(&tcp_prov, addr, len, ep->name.sa.sa_family, &name);

	if (ret)
		return ret;
	if (ep->peers && ep->peers->listener.fd >= 0) {
		(void)tcp_watch_set(ep, &ep->peers->watch, 0);
		tcp_listener_close(&ep->peers->listener);
	}
	ep->name = name;
	return ep->peers ? tcp_peers_listen(ep) : 0;
}

/* The port of an RDM endpoint is known only when it listens, so fi_getname makes it
 * listen. */
static int tcp_getname(struct wf_ep *wf, void *addr, size_t *len)
{
	struct tcp_ep *ep = tcp_ep_of(wf);
	union wf_sockaddr name;
	int ret = ep->peers ? tcp_peers_listen(ep) : 0;

	if (ret)
		return ret;
	wf_lock(&wf->lock);
	name = ep->name;
	if (ep->cm && ep->cm->conn) {
		socklen_t size = sizeof(name);

		(void)getsockname(ep->cm->conn->watch.fd, &name.sa, &size);
	}
	wf_unlock(&wf->lock);
	return wf_name_give(&name, wf_sockaddr_len(&name), addr, len);
}

static int tcp_getopt(struct wf_ep *wf, int name, void *val, size_t *len)
{
	return wf->type == FI_EP_MSG ? wf_cm_getopt(TCP_CM_DATA_MAX, name, val, len)
				     : -FI_ENOPROTOOPT;
}

/* The socket of fi_tcp(7); connected endpoints only. */
static int tcp_get_fd(struct wf_ep *wf, int *ret_fd)
{
	struct tcp_ep *ep = tcp_ep_of(wf);

	if (!ep->cm)
		return -FI_ENOSYS;
	if (!ep->cm->conn)
		return -FI_EOPBADSTATE;
	*ret_fd = ep->cm->conn->watch.fd;
	return 0;
}

static void tcp_addr_removed(struct wf_ep *wf, uint64_t index)
{
	struct wf_remote *remote = wf_remotes_at(&tcp_ep_of(wf)->peers->remotes, index);

	if (remote)
		tcp_peer_removed(tcp_ep_of(wf), tcp_peer_of(remote));
}

/* Set the length from which on messages do not take the fast path: that of the endpoint
 * below. Without one, no message takes it. */
static void tcp_finish_tables(struct wf_ep *wf)
{
	wf->small_limit =
		WF_MIN(wf->small_limit, wf_local_small_limit(tcp_ep_of(wf)->below));
}

static int tcp_cntr_bound(struct wf_ep *wf)
{
	return wf_local_bind_cntrs(tcp_ep_of(wf)->below);
}

static int tcp_forbid_shared_memory(struct wf_ep *wf)
{
	tcp_ep_of(wf)->memory_forbidden = true;
	return 0;
}

/* A connection that has failed is counted until it is taken down. */
static void tcp_peer_counts(const struct wf_ep *wf, struct wf_peer_counts *ret)
{
	const struct tcp_ep *ep = wf_container_of(wf, const struct tcp_ep, ep);

	wf_local_peer_counts(&ep->memory_conns, &ep->conn_count, ret);
}

static size_t tcp_tx_left(struct wf_ep *wf)
{
	return tcp_source_left(&tcp_ep_of(wf)->own);
}

static const struct wf_xfer_ops tcp_xfer_ops = {
	.lock_kind = WF_LOCK_MUTEX,
	.start = tcp_start,
	.send_small = tcp_send_small,
	.send_small_data = tcp_send_small_data,
	.small_size = SIZE_MAX, /* tcp_finish_tables sets the limit */
	.tables_finished = tcp_finish_tables,
	.inbox = true,
	.progress = tcp_progress,
	.flushed = tcp_flushed,
	.unfinished = tcp_unfinished,
	.peer_counts = tcp_peer_counts,
	.cancel_tx = tcp_cancel,
	.srx_ops = &wf_unexp_srx_ops,
	.srx_addr = wf_unexp_srx_addr,
	.enable = tcp_enable,
	.destroy = tcp_destroy,
	.setname = tcp_setname,
	.getname = tcp_getname,
	.getopt = tcp_getopt,
	.addr_removed = tcp_addr_removed,
	.cntr_bound = tcp_cntr_bound,
	.forbid_shared_memory = tcp_forbid_shared_memory,
	.get_fd = tcp_get_fd,
	.tx_left = tcp_tx_left,
	.wait_fd = tcp_wait_fd,
	.arm = tcp_arm,
};

/* A connected endpoint has one peer, which may have all of the limit. */
static struct wf_budget endpoint_budget(
	const struct wf_ep *wf, size_t limit, size_t share)
{
	return (struct wf_budget){
		.limit = limit,
		.share = wf->type == FI_EP_MSG ? limit : share,
	};
}

static void tcp_endpoint_init(struct tcp_ep *ep, const union wf_sockaddr *name)
{
	struct wf_ep *wf = &ep->ep;

	ep->own = (struct tcp_source){ wf, 0, wf->info->tx_attr->size };
	ep->rx_contexts = 1;
	ep->name = *name;
	ep->conf = tcp_netconf_read();
	ep->manual = wf->domain->progress != FI_PROGRESS_AUTO;
	ep->unexp = (struct wf_unexp){
		.ops = &tcp_unexp_ops,
		.ep = wf,
		.wants = wf_recv_wants_of(wf),
		.budget = endpoint_budget(
			wf, tcp_params.unexpected_size, WF_BUDGET_UNEXP_SHARE),
	};
	ep->answers = endpoint_budget(wf, tcp_params.answer_size, TCP_ANSWER_SHARE);
	ep->rbuf_size = tcp_params.prefetch_size;
	ep->stage_size = WF_MAX(tcp_params.staging_size, (size_t)STAGE_MIN);
	ep->manual = ep->manual && tcp_params.staging_size;
	wf_watches_init(&ep->watches);
	wf_list_init(&ep->conns);
	wf_list_init(&ep->hot);
	wf_list_init(&ep->dirty);
	wf_list_init(&ep->owing);
	wf_list_init(&ep->held);
	wf_list_init(&ep->failed);
	wf_list_init(&ep->dead);
	wf_list_init(&ep->switching);
}

int tcp_ep_new(struct wf_domain *domain, struct fi_info *info, void *context,
	struct tcp_ep **ret_ep)
{
	union wf_sockaddr name;
	struct tcp_ep *ep;
	struct wf_ep *wf;
	int ret;

	ret = wf_name_first(&tcp_prov, info, "fi_endpoint", &name);
	if (!ret)
		ret = wf_ep_new(sizeof(*ep), domain, info, &tcp_xfer_ops, context, &wf);
	if (ret)
		return ret;
	ep = tcp_ep_of(wf);
	tcp_endpoint_init(ep, &name);
	ret = ep->ep.type == FI_EP_RDM ? tcp_peers_new(ep)
				       : tcp_msg_new(ep, info->handle);
	if (ret)
		goto err_ep;
	/* wf_watches_open does nothing if the endpoint got the epoll set of its
	 * connection request. */
	ret = wf_watches_open(&ep->watches);
	if (ret)
		goto err_kind;
	*ret_ep = ep;
	return 0;

err_kind:
	tcp_peers_free(ep);
	tcp_msg_free(ep);
err_ep:
	wf_ep_free(wf);
	return ret;
}

static bool endpoint_is_several(size_t count)
{
	return count > 1 && count != FI_SHARED_CONTEXT;
}

int tcp_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context)
{
	struct tcp_ep *ep = NULL;
	int ret;

	if (endpoint_is_several(info->ep_attr->tx_ctx_cnt) ||
		endpoint_is_several(info->ep_attr->rx_ctx_cnt)) {
		tcp_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_endpoint: %zu transmit, %zu receive contexts asked for; "
			"one of each is possible, more with fi_scalable_ep\n",
			info->ep_attr->tx_ctx_cnt, info->ep_attr->rx_ctx_cnt);
		return -FI_EINVAL;
	}
	ret = tcp_ep_new(domain, info, context, &ep);
	if (!ret)
		*ret_ep = &ep->ep.fid;
	return ret;
}
