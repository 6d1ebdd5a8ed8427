/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/flush.h"
#include "objects/endpoint/life/name.h"
#include "providers/tcp/cm/listen.h"
#include "providers/tcp/cm/msg_cm.h"

/* fi_connect, fi_accept, fi_shutdown and fi_getpeer of FI_EP_MSG endpoints: fi_cm(3).
 */

static struct tcp_ep *ep_of(struct fid *fid)
{
	return tcp_ep_of(wf_container_of(fid, struct wf_ep, fid.fid));
}

/* Check that an EQ is bound, enable the endpoint, and have the readers of the EQ drive
 * the exchange. */
static int get_ready(struct tcp_ep *ep, const char *call)
{
	struct wf_eq *eq = wf_ep_eq(&ep->ep);
	int ret = 0;

	if (!eq)
		return tcp_msg_refuse(call, -FI_ENOEQ, "no event queue is bound");
	if (!ep->ep.enabled)
		ret = fi_enable(&ep->ep.fid);
	if (ret)
		return ret;
	if (!ep->cm->eq) {
		ret = wf_eq_progress_add(eq, &ep->ep.progress);
		if (!ret)
			ep->cm->eq = eq;
	}
	return ret;
}

static int read_dest(const struct tcp_ep *ep, const void *addr, union wf_sockaddr *ret)
{
	const struct fi_info *info = ep->ep.info;
	size_t len = sizeof(*ret);

	if (!addr) {
		addr = info->dest_addr;
		len = info->dest_addrlen;
	} else {
		len = ep->name.sa.sa_family == AF_INET ? sizeof(struct sockaddr_in)
						       : sizeof(struct sockaddr_in6);
	}
	if (!addr || wf_sockaddr_read(addr, len, ret) ||
		ret->sa.sa_family != ep->name.sa.sa_family)
		return tcp_msg_refuse("fi_connect", -FI_EINVAL,
			"not an address in the endpoint's format");
	return 0;
}

static int start_connecting(
	struct tcp_ep *ep, const union wf_sockaddr *dest, const void *data, size_t len)
{
	struct tcp_msg_cm *cm = ep->cm;
	struct tcp_cm_own own = {
		.features = tcp_msg_features(ep->ep.info),
		.instance = tcp_msg_instance(),
		.timeout_ms = ep->conf.connect_ms,
		.reply_ms = ep->conf.reply_ms,
	};
	int ret;

	ret = cm->watch.fd >= 0 ? tcp_connect_bound(cm->watch.fd, dest)
				: tcp_connect(&ep->name, dest, &ep->conf,
					  ep->ep.info->tx_attr->tclass, &cm->watch.fd);
	cm->peer = *dest;
	cm->active = true;
	if (ret) {
		cm->state = TCP_MSG_DOWN;
		tcp_msg_failed(ep, -ret, NULL, 0);
		return 0;
	}
	cm->state = TCP_MSG_CONNECTING;
	wf_progress_wake(&ep->ep.progress);
	tcp_cm_start_active(&cm->cm, cm->watch.fd, &own, data, len);
	tcp_watch_set(ep, &cm->watch, EPOLLOUT);
	wf_watches_expect(&ep->watches, cm->cm.deadline_ns);
	return 0;
}

static int msg_connect(
	struct fid_ep *fid, const void *addr, const void *param, size_t len)
{
	struct tcp_ep *ep = ep_of(&fid->fid);
	union wf_sockaddr dest;
	int ret;

	if (len && !param)
		return -FI_EINVAL;
	ret = read_dest(ep, addr, &dest);
	if (!ret)
		ret = get_ready(ep, "fi_connect");
	if (ret)
		return ret;
	wf_lock(&ep->ep.lock);
	if (ep->cm->state == TCP_MSG_NEW)
		ret = start_connecting(
			ep, &dest, param, WF_MIN(len, (size_t)TCP_CM_DATA_MAX));
	else
		ret = tcp_msg_refuse("fi_connect", -FI_EOPBADSTATE,
			"an endpoint connects once, and not after a request");
	wf_unlock(&ep->ep.lock);
	return ret;
}

static int msg_accept(struct fid_ep *fid, const void *param, size_t len)
{
	struct tcp_ep *ep = ep_of(&fid->fid);
	struct tcp_msg_cm *cm = ep->cm;
	int ret;

	if (len && !param)
		return -FI_EINVAL;
	ret = get_ready(ep, "fi_accept");
	if (ret)
		return ret;
	wf_lock(&ep->ep.lock);
	if (cm->state == TCP_MSG_ASKED) {
		cm->state = TCP_MSG_CONNECTING;
		wf_progress_wake(&ep->ep.progress);
		tcp_msg_went_on(
			ep, tcp_cm_accept(&cm->cm, tcp_msg_features(ep->ep.info), param,
				    WF_MIN(len, (size_t)TCP_CM_DATA_MAX)));
		wf_watches_expect(&ep->watches, tcp_msg_deadline(ep));
	} else {
		ret = tcp_msg_refuse("fi_accept", -FI_EOPBADSTATE,
			"the endpoint was not made from a connection request, or "
			"accepted it already");
	}
	wf_unlock(&ep->ep.lock);
	return ret;
}

static int msg_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct tcp_ep *ep = ep_of(&fid->fid);
	struct tcp_msg_cm *cm = ep->cm;
	int ret = 0;

	if (flags)
		return tcp_msg_refuse("fi_shutdown", -FI_EINVAL, "flags are reserved");
	wf_ep_flush(&ep->ep);
	wf_ep_srx_lock(&ep->ep);
	wf_lock(&ep->ep.lock);
	if (cm->conn) {
		tcp_conn_hang_up(cm->conn);
		tcp_msg_take_down(ep);
		tcp_msg_event(ep, FI_SHUTDOWN, NULL, 0);
	} else {
		ret = -FI_ENOTCONN;
	}
	wf_unlock(&ep->ep.lock);
	wf_ep_srx_unlock(&ep->ep);
	return ret;
}

static int msg_getpeer(struct fid_ep *fid, void *addr, size_t *len)
{
	struct tcp_ep *ep = ep_of(&fid->fid);
	int ret = -FI_ENOTCONN;

	if (!len || (*len && !addr))
		return -FI_EINVAL;
	wf_lock(&ep->ep.lock);
	if (ep->cm->state != TCP_MSG_NEW && wf_sockaddr_len(&ep->cm->peer))
		ret = wf_name_give(
			&ep->cm->peer, wf_sockaddr_len(&ep->cm->peer), addr, len);
	wf_unlock(&ep->ep.lock);
	return ret;
}

void tcp_msg_set_calls(struct tcp_ep *ep)
{
	struct fi_ops_cm *ops = &ep->cm->ops;

	*ops = *ep->ep.fid.cm;
	ops->connect = msg_connect;
	ops->accept = msg_accept;
	ops->shutdown = msg_shutdown;
	ops->getpeer = msg_getpeer;
	ep->ep.fid.cm = ops;
}
