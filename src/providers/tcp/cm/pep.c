/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "providers/tcp/cm/pep.h"
#include "sys/calls.h"
#include "sys/fds.h"

/* Passive endpoints: a listening socket, and one epoll set for it and for the accepted
 * connections whose requests are not complete. */

/* The bound socket listens at once, so that no other socket gets the port. No
 * connection is accepted before fi_listen. */
static int tcp_pep_bind(struct wf_pep *base)
{
	struct tcp_pep *pep = tcp_pep_of(base);
	int ret;

	if (pep->listener.fd >= 0)
		return 0;
	ret = tcp_listen(&pep->listener, &base->name, &pep->conf);
	if (ret)
		return ret;
	ret = tcp_asks_watch(pep);
	if (ret) {
		tcp_listener_close(&pep->listener);
		return ret;
	}
	base->name = pep->listener.name;
	return 0;
}

static void tcp_pep_unbind(struct wf_pep *base)
{
	tcp_listener_close(&tcp_pep_of(base)->listener);
}

static void pep_set_backlog(struct wf_pep *base)
{
	(void)listen(tcp_pep_of(base)->listener.fd,
		base->backlog ? base->backlog : TCP_LISTEN_BACKLOG);
}

static int tcp_pep_listen(struct wf_pep *base)
{
	pep_set_backlog(base);
	return 0;
}

static void tcp_pep_destroy(struct wf_pep *base)
{
	struct tcp_pep *pep = tcp_pep_of(base);

	tcp_asks_drop(pep);
	tcp_listener_close(&pep->listener);
	wf_fds_close(pep->epfd);
	wf_pep_done(base);
	free(pep);
}

const struct wf_pep_ops tcp_pep_ops = {
	.prov = &tcp_prov,
	.data_size = TCP_CM_DATA_MAX,
	.bind = tcp_pep_bind,
	.unbind = tcp_pep_unbind,
	.listen = tcp_pep_listen,
	.backlog_changed = pep_set_backlog,
	.reject = tcp_connreq_reject,
	.destroy = tcp_pep_destroy,
};

int tcp_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_pep **ret_pep, void *context)
{
	struct tcp_pep *pep = calloc(1, sizeof(*pep));
	int ret;

	if (!pep)
		return -FI_ENOMEM;
	ret = wf_pep_init(&pep->base, &tcp_pep_ops, fabric, info, context);
	if (ret)
		goto err_free;
	pep->epfd = wf_epoll();
	if (pep->epfd < 0) {
		ret = -errno;
		goto err_base;
	}
	pep->conf = tcp_netconf_read();
	pep->listener.fd = pep->listener.reserve = -1;
	tcp_asks_init(pep);
	*ret_pep = &pep->base.fid;
	return 0;

err_base:
	wf_pep_done(&pep->base);
err_free:
	free(pep);
	return ret;
}
