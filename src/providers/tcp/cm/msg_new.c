/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/tcp/cm/listen.h"
#include "providers/tcp/cm/msg_cm.h"

/* The connection management of FI_EP_MSG endpoints that are opened and closed; an
 * endpoint may be opened for a connection request, or for a passive endpoint. */

int tcp_msg_refuse(const char *call, int err, const char *why)
{
	tcp_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "%s refused: %s\n", call, why);
	return err;
}

static int take_request(struct tcp_ep *ep, struct fid *handle)
{
	struct tcp_connreq *req = tcp_connreq_take(handle);
	struct tcp_msg_cm *cm = ep->cm;
	socklen_t len = sizeof(ep->name);

	if (!req)
		return tcp_msg_refuse("fi_endpoint", -FI_EINVAL,
			"info->handle is not a connection request that is open");
	cm->state = TCP_MSG_ASKED;
	cm->peer = req->peer;
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
static int take_name(struct tcp_ep *ep, struct fid *handle)
{
	union wf_sockaddr name;
	int ret = tcp_pep_take_name(handle, ep->name.sa.sa_family, &name);

	if (ret)
		return ret;
	if (wf_sockaddr_port(&name))
		ret = tcp_bound_socket(&name, &ep->conf, ep->ep.info->tx_attr->tclass,
			&ep->cm->watch.fd);
	if (ret)
		return tcp_msg_refuse("fi_endpoint", ret,
			"the passive endpoint's address cannot be taken over");
	ep->name = name;
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
		ret = handle->fclass == FI_CLASS_PEP ? take_name(ep, handle)
						     : take_request(ep, handle);
	if (ret) {
		free(cm);
		ep->cm = NULL;
		return ret;
	}
	tcp_msg_set_calls(ep);
	return 0;
}

void tcp_msg_free(struct tcp_ep *ep)
{
	struct tcp_msg_cm *cm = ep->cm;

	if (!cm)
		return;
	if (cm->watch.fd >= 0) {
		tcp_msg_unwatch(ep);
		(void)close(cm->watch.fd);
	}
	free(cm);
	ep->cm = NULL;
}
