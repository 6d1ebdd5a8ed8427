/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/name.h"
#include "providers/rxm/below.h"
#include "providers/rxm/conn/peer.h"
#include "providers/rxm/local/local.h"
#include "providers/rxm/param.h"

/* Opening, naming, enabling and closing endpoints. */

/* Open all objects below. Threads may then make progress. The endpoint's control mutex
 * is held. */
static int endpoint_open_all(struct rxm_ep *ep)
{
	int ret;

	if (ep->opened)
		return 0;
	ret = rxm_below_open(ep);
	if (ret)
		return ret;
	rxm_wait_open(ep);
	ep->opened = true;
	return 0;
}

static int rxm_enable(struct wf_ep *wf)
{
	struct rxm_ep *ep = rxm_ep_of(wf);

	wf_av_removals_start(&ep->peers->remotes.removals, wf->av);
	rxm_local_open(ep);
	return endpoint_open_all(ep);
}

static void rxm_endpoint_end_conns(struct rxm_ep *ep)
{
	wf_ep_srx_lock(&ep->ep);
	wf_lock(&ep->ep.lock);
	while (!wf_list_empty(&ep->conns))
		rxm_conn_end(wf_list_entry(ep->conns.next, struct rxm_conn, link), 0);
	wf_unlock(&ep->ep.lock);
	wf_ep_srx_unlock(&ep->ep);
}

static void rxm_destroy(struct wf_ep *wf)
{
	struct rxm_ep *ep = rxm_ep_of(wf);

	ep->data.quiet = true;
	rxm_endpoint_end_conns(ep);
	rxm_local_close(ep);
	rxm_peers_free(ep);
	rxm_wait_close(ep);
	rxm_below_close(ep);
	rxm_data_done(ep);
	wf_fds_done(&ep->fds);
	wf_watches_done(&ep->watches);
	wf_ep_free(wf);
}

static int rxm_setname(struct wf_ep *wf, const void *addr, size_t len)
{
	struct rxm_ep *ep = rxm_ep_of(wf);
	union wf_sockaddr name;
	int ret = wf_name_read(&rxm_prov, addr, len, ep->name.sa.sa_family, &name);

	if (ret)
		return ret;
	if (ep->pep)
		wf_lower_close(&ep->domain->below, &ep->pep->fid);
	ep->pep = NULL;
	ep->opened = false;
	ep->name = name;
	return endpoint_open_all(ep);
}

/* The port is known only when the endpoint listens, so fi_getname makes it listen. */
static int rxm_getname(struct wf_ep *wf, void *addr, size_t *len)
{
	struct rxm_ep *ep = rxm_ep_of(wf);
	int ret = endpoint_open_all(ep);

	if (ret)
		return ret;
	return wf_name_give(&ep->name, wf_sockaddr_len(&ep->name), addr, len);
}

static int rxm_cntr_bound(struct wf_ep *wf)
{
	struct rxm_ep *ep = rxm_ep_of(wf);
	int ret = 0;

	wf_lock(&wf->lock);
	wf_list_foreach(link, &ep->conns)
	{
		if (!ret)
			ret = rxm_conn_count_remote(
				wf_list_entry(link, struct rxm_conn, link));
	}
	wf_unlock(&wf->lock);
	return ret ? ret : wf_local_bind_cntrs(ep->below);
}

static int rxm_forbid_shared_memory(struct wf_ep *wf)
{
	rxm_ep_of(wf)->memory_forbidden = true;
	return 0;
}

/* Set the length from which on messages do not take the fast path: that of the endpoint
 * below. Without one, no message takes it. */
static void rxm_finish_tables(struct wf_ep *wf)
{
	wf->small_limit =
		WF_MIN(wf->small_limit, wf_local_small_limit(rxm_ep_of(wf)->below));
}

static void rxm_peer_counts(const struct wf_ep *wf, struct wf_peer_counts *ret)
{
	const struct rxm_ep *ep = wf_container_of(wf, const struct rxm_ep, ep);

	wf_local_peer_counts(&ep->memory_conns, &ep->conn_count, ret);
}

static void rxm_addr_removed(struct wf_ep *wf, uint64_t index)
{
	struct wf_remote *remote = wf_remotes_at(&rxm_ep_of(wf)->peers->remotes, index);
	struct rxm_conn *conn = remote ? rxm_peer_of(remote)->conn : NULL;

	if (!conn)
		return;
	conn->data.quiet = true;
	rxm_conn_fail(conn, FI_ECONNABORTED);
}

static const struct wf_xfer_ops rxm_xfer_ops = {
	.lock_kind = WF_LOCK_MUTEX,
	.start = rxm_start,
	.send_small = rxm_send_small,
	.send_small_data = rxm_send_small_data,
	.small_size = SIZE_MAX, /* rxm_finish_tables sets the limit */
	.tables_finished = rxm_finish_tables,
	.peer_counts = rxm_peer_counts,
	.forbid_shared_memory = rxm_forbid_shared_memory,
	.progress = rxm_progress,
	.flushed = rxm_flushed,
	.unfinished = rxm_unfinished,
	.cancel_tx = rxm_cancel,
	.srx_ops = &wf_unexp_srx_ops,
	.srx_addr = wf_unexp_srx_addr,
	.enable = rxm_enable,
	.destroy = rxm_destroy,
	.setname = rxm_setname,
	.getname = rxm_getname,
	.addr_removed = rxm_addr_removed,
	.cntr_bound = rxm_cntr_bound,
	.atomic_valid = rxm_atomic_valid,
	.tx_left = rxm_tx_left,
	.wait_fds = rxm_wait_fds,
	.arm = rxm_arm,
};

static void rxm_endpoint_init(struct rxm_ep *ep, const union wf_sockaddr *name)
{
	struct wf_ep *wf = &ep->ep;

	ep->domain = rxm_domain_of(wf->domain);
	ep->name = *name;
	ep->buffer_size = rxm_params.buffer_size;
	ep->inject_size = ep->domain->inject_size;
	ep->unexp = (struct wf_unexp){
		.ops = &rxm_unexp_ops,
		.ep = wf,
		.wants = wf_recv_wants_of(wf),
	};
	wf_watches_init(&ep->watches);
	wf_fds_init(&ep->fds);
	wf_list_init(&ep->idle);
	wf_list_init(&ep->conns);
	wf_list_init(&ep->ready);
	wf_list_init(&ep->failed);
	wf_list_init(&ep->reaching);
}

int rxm_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context)
{
	union wf_sockaddr name;
	struct rxm_ep *ep;
	struct wf_ep *wf;
	int ret;

	(void)flags;
	ret = wf_name_first(&rxm_prov, info, "fi_endpoint", &name);
	if (!ret)
		ret = wf_ep_new(sizeof(*ep), domain, info, &rxm_xfer_ops, context, &wf);
	if (ret)
		return ret;
	ep = rxm_ep_of(wf);
	rxm_endpoint_init(ep, &name);
	ret = rxm_peers_new(ep);
	if (ret)
		goto err_ep;
	ret = rxm_data_init(ep);
	if (ret)
		goto err_peers;
	ret = wf_watches_open(&ep->watches);
	if (!ret)
		ret = wf_fds_add(&ep->fds, ep->watches.epfd);
	if (ret)
		goto err_watches;
	*ret_ep = &ep->ep.fid;
	return 0;

err_watches:
	wf_watches_done(&ep->watches);
	rxm_data_done(ep);
err_peers:
	rxm_peers_free(ep);
err_ep:
	wf_fds_done(&ep->fds);
	wf_ep_free(wf);
	return ret;
}
