/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "objects/endpoint/life/name.h"
#include "providers/shm/conn/peer.h"
#include "providers/shm/proto/bulk.h"
#include "providers/shm/proto/life.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/unexp.h"
#include "sys/calls.h"
#include "sys/fds.h"

/* Opening, naming, enabling and closing endpoints. */

enum { NAME_TRIES = 64 };

static int endpoint_listen_at(struct shm_ep *ep)
{
	int ret = shm_socket_listen(ep->name, &ep->listener.fd);

	/* A name that the provider chose has a number: try others. */
	for (int i = 0; ret == -EADDRINUSE && ep->made_up && i < NAME_TRIES; i++) {
		ret = wf_name_text_first(&shm_fi, ep->ep.info, ep->name);
		if (!ret)
			ret = shm_socket_listen(ep->name, &ep->listener.fd);
	}
	if (ret)
		shm_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "cannot listen at %s: %s\n",
			ep->name, fi_strerror(-ret));
	return ret;
}

static int shm_enable(struct wf_ep *wf)
{
	struct shm_ep *ep = shm_ep_of(wf);
	int ret;

	/* Fixed before the first connection, because its exchange tells the peer
	 * whether this endpoint sleeps. A peer need not check that of an endpoint that
	 * never sleeps. */
	wf_ep_set_moved(wf, shm_progress_moved);
	ep->watches.sleepers = wf_ep_may_sleep(wf);
	ep->threaded = wf_domain_has_thread(wf->domain);
	ep->tx.size = wf->info->tx_attr->size;
	shm_peers_watch_av(ep);
	shm_regions_open(ep);
	if (ep->listener.fd >= 0)
		return 0;
	ret = endpoint_listen_at(ep);
	if (ret)
		return ret;
	ep->listener.ready = shm_attempt_accept_ready;
	ret = wf_watch_set(&ep->watches, &ep->listener, EPOLLIN);
	if (ret) {
		shm_socket_unlisten(ep->listener.fd, ep->name);
		ep->listener.fd = -1;
	}
	return ret;
}

/* Write posted operations as far as lanes have space, because peers read them after
 * this endpoint is closed; then end all connections. */
static void shm_endpoint_end_conns(struct shm_ep *ep)
{
	wf_ep_srx_lock(&ep->ep);
	wf_lock(&ep->ep.lock);
	while (ep->conns.count) {
		struct shm_conn *conn = ep->conns.at[ep->conns.count - 1];

		if (!conn->queue.idle)
			shm_out_flush(conn);
		shm_conn_end(conn, 0);
	}
	shm_conn_free_dead(ep);
	wf_unlock(&ep->ep.lock);
	wf_ep_srx_unlock(&ep->ep);
}

static void endpoint_close_spare(struct shm_ep *ep)
{
	if (ep->spare_fd >= 0)
		(void)wf_sys_close(ep->spare_fd);
}

static void shm_destroy(struct wf_ep *wf)
{
	struct shm_ep *ep = shm_ep_of(wf);

	wf_av_removals_stop(&ep->peers->remotes.removals);
	/* In a forked child the sockets and connections belong to the parent. */
	if (ep->pid == getpid()) {
		if (ep->listener.fd >= 0)
			shm_socket_unlisten(ep->listener.fd, ep->name);
		shm_endpoint_end_conns(ep);
		shm_peers_free(ep);
	}
	shm_regions_done(ep);
	endpoint_close_spare(ep);
	wf_watches_done(&ep->watches);
	free(ep->conns.at);
	wf_pool_done(&ep->tx.pool);
	wf_pool_done(&ep->sink_pool);
	wf_ep_free(wf);
}

static int shm_setname(struct wf_ep *wf, const void *addr, size_t len)
{
	struct shm_ep *ep = shm_ep_of(wf);
	int ret = wf_name_text_read(&shm_fi, addr, len, ep->name);

	if (!ret)
		ep->made_up = false;
	return ret;
}

static int shm_getname(struct wf_ep *wf, void *addr, size_t *len)
{
	struct shm_ep *ep = shm_ep_of(wf);

	return wf_name_text_give(ep->name, addr, len);
}

static int shm_forbid_shared_memory(struct wf_ep *wf)
{
	(void)wf;
	return -FI_EOPNOTSUPP;
}

static size_t shm_tx_left(struct wf_ep *wf)
{
	struct shm_ep *ep = shm_ep_of(wf);

	return ep->tx.pending < ep->tx.size ? ep->tx.size - ep->tx.pending : 0;
}

static void shm_addr_removed(struct wf_ep *wf, uint64_t index)
{
	struct wf_remote *remote = wf_remotes_at(&shm_ep_of(wf)->peers->remotes, index);
	struct shm_conn *conn = remote ? shm_peer_of(remote)->conn : NULL;

	if (conn)
		shm_conn_fail(conn, FI_ECONNABORTED);
}

static const struct wf_xfer_ops shm_xfer_ops = {
	.lock_kind = WF_LOCK_SPIN,
	.start = shm_start,
	.send_small = shm_send_small,
	.send_small_data = shm_send_small_data,
	.small_size = SHM_INLINE_MAX,
	.progress = shm_progress,
	.flushed = shm_flushed,
	.unfinished = shm_unfinished,
	.cancel_tx = shm_cancel,
	.srx_ops = &wf_unexp_srx_ops,
	.srx_addr = wf_unexp_srx_addr,
	.enable = shm_enable,
	.cntr_bound = shm_regions_change,
	.destroy = shm_destroy,
	.setname = shm_setname,
	.getname = shm_getname,
	.forbid_shared_memory = shm_forbid_shared_memory,
	.addr_removed = shm_addr_removed,
	.reach = shm_reach,
	.is_reached = shm_is_reached,
	.disconnect = shm_disconnect,
	.tx_left = shm_tx_left,
	.wait_fd = shm_wait_fd,
	.arm = shm_arm,
};

/* A known peer may have answers to all operations that it can have under way, if its
 * FI_SHM_TX_SIZE is that of this process: two endpoints never stop reading each
 * other. */
static size_t endpoint_answer_share(void)
{
	return shm_params.tx_size * (SHM_ATOMIC_MAX + sizeof(struct shm_tx));
}

static void shm_endpoint_init(struct shm_ep *ep)
{
	ep->unexp = (struct wf_unexp){
		.ops = &shm_unexp_ops,
		.ep = &ep->ep,
		.wants = wf_recv_wants_of(&ep->ep),
		.budget = {
			.limit = shm_params.unexpected_size,
			.share = WF_BUDGET_UNEXP_SHARE,
		},
	};
	ep->answers = (struct wf_budget){
		.limit = shm_params.answer_size,
		.share = endpoint_answer_share(),
	};
	ep->conn_ops = &shm_life_ops;
	ep->made_up = true;
	ep->pid = getpid();
	ep->listener.fd = -1;
	ep->spare_fd = wf_fds_spare();
	wf_watches_init(&ep->watches);
	ep->pace.calls = ep->pace.left = 1;
	shm_regions_init(ep);
	wf_pool_init(&ep->tx.pool, sizeof(struct shm_tx));
	wf_pool_init(&ep->sink_pool, sizeof(struct shm_sink));
	wf_list_init(&ep->failed);
	wf_list_init(&ep->dead);
	wf_list_init(&ep->dirty);
	wf_list_init(&ep->verdicts);
	wf_list_init(&ep->impatient);
	wf_list_init(&ep->pulls);
}

int shm_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context)
{
	struct shm_ep *ep;
	struct wf_ep *wf;
	int ret = wf_ep_new(sizeof(*ep), domain, info, &shm_xfer_ops, context, &wf);

	if (ret)
		return ret;
	ep = shm_ep_of(wf);
	ret = wf_name_text_first(&shm_fi, info, ep->name);
	if (ret)
		goto err_ep;
	shm_endpoint_init(ep);
	ret = wf_watches_open(&ep->watches);
	if (ret)
		goto err_spare;
	ret = shm_peers_new(ep);
	if (ret)
		goto err_watches;
	*ret_ep = &ep->ep.fid;
	return 0;

err_watches:
	wf_watches_done(&ep->watches);
err_spare:
	endpoint_close_spare(ep);
err_ep:
	wf_ep_free(wf);
	return ret;
}
