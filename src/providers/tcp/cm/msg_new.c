/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/tcp/cm/pep.h"
#include "sys/calls.h"

/* Opening and closing of the connection management of FI_EP_MSG endpoints. An endpoint
 * may be opened for a connection request, or for a passive endpoint. */

static int msg_new_refuse(int err, const char *why)
{
	return wf_cm_refuse(&tcp_prov, "fi_endpoint", err, why);
}

static int msg_new_take_request(struct tcp_ep *ep, struct fid *handle)
{
	struct wf_cm_request *base = wf_cm_request_take(handle, tcp_connreq_reject);
	struct tcp_msg_cm *cm = ep->cm;
	socklen_t len = sizeof(ep->name);
	struct tcp_connreq *req;

	if (!base)
		return msg_new_refuse(-FI_EINVAL,
			"info->handle is not a connection request that is open");
	req = tcp_connreq_of(base);
	cm->base.state = WF_CM_ASKED;
	cm->base.peer = req->peer;
	cm->cm = req->cm;
	cm->watch.fd = req->fd;
	(void)getsockname(req->fd, &ep->name.sa, &len);
	ep->watches.epfd = req->epfd;
	req->fd = req->epfd = -1;
	tcp_connreq_free(req);
	return 0;
}

/* Take the passive endpoint's address and bind to it, so that no other process gets the
 * port before this endpoint connects. */
static int msg_new_take_name(struct tcp_ep *ep, struct fid *handle)
{
	struct wf_pep *pep;
	int ret = wf_pep_take(handle, &tcp_pep_ops, ep->name.sa.sa_family, &pep);

	if (ret)
		return ret;
	tcp_listener_close(&tcp_pep_of(pep)->listener);
	if (wf_sockaddr_port(&pep->name))
		ret = tcp_bound_socket(&pep->name, &ep->conf,
			ep->ep.info->tx_attr->tclass, &ep->cm->watch.fd);
	if (ret)
		return msg_new_refuse(
			ret, "the passive endpoint's address cannot be taken over");
	ep->name = pep->name;
	return 0;
}

int tcp_msg_new(struct tcp_ep *ep, struct fid *handle)
{
	struct tcp_msg_cm *cm = calloc(1, sizeof(*cm));
	int ret = 0;

	if (!cm)
		return -FI_ENOMEM;
	ep->cm = cm;
	cm->watch_ep = ep;
	cm->watch = (struct wf_watch){ .ready = tcp_msg_ready, .fd = -1 };
	if (handle)
		ret = handle->fclass == FI_CLASS_PEP ? msg_new_take_name(ep, handle)
						     : msg_new_take_request(ep, handle);
	if (ret) {
		free(cm);
		ep->cm = NULL;
		return ret;
	}
	wf_cm_init(
		&cm->base, &tcp_msg_ops, &ep->ep, &ep->ep.lock, ep->name.sa.sa_family);
	return 0;
}

void tcp_msg_free(struct tcp_ep *ep)
{
	struct tcp_msg_cm *cm = ep->cm;

	if (!cm)
		return;
	if (cm->watch.fd >= 0) {
		tcp_msg_unwatch(ep);
		(void)wf_sys_close(cm->watch.fd);
	}
	free(cm);
	ep->cm = NULL;
}
