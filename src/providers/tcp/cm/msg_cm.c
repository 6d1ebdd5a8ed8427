/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "objects/endpoint/life/flush.h"
#include "objects/endpoint/life/name.h"
#include "providers/tcp/cm/listen.h"
#include "providers/tcp/cm/msg_cm.h"
#include "sys/clock.h"

/*
 * The one connection of an FI_EP_MSG endpoint. The endpoint connects once, or accepts
 * the request that it was opened with; events report the result and the end.
 */

uint32_t tcp_msg_features(const struct fi_info *info)
{
	uint32_t features = TCP_HAVE_ATOMIC | TCP_HAVE_RDV_MSG | TCP_HAVE_RDV_MANY |
			    TCP_HAVE_ERROR | TCP_HAVE_MATCH | TCP_HAVE_PROBE |
			    TCP_HAVE_LDBL_OWN;

	if (info->caps & FI_TAGGED)
		features |= TCP_HAVE_TAGGED_MSG;
	return features;
}

uint64_t tcp_msg_instance(void)
{
	uint64_t instance = 0;

	while (!instance)
		if (getrandom(&instance, sizeof(instance), 0) < 0)
			instance = wf_now_ns();
	return instance;
}

const union wf_sockaddr *tcp_msg_peer(const struct tcp_ep *ep)
{
	return &ep->cm->peer;
}

/* ---- events ---- */

static void event(struct tcp_ep *ep, uint32_t type, const void *data, size_t len)
{
	struct wf_eq *eq = wf_ep_eq(&ep->ep);
	union {
		struct fi_eq_cm_entry entry;
		uint8_t bytes[sizeof(struct fi_eq_cm_entry) + TCP_CM_DATA_MAX];
	} cm = { .entry.fid = &ep->ep.fid.fid };

	if (!eq)
		return;
	if (len)
		memcpy(cm.entry.data, data, len);
	(void)wf_eq_write(eq, type, &cm, sizeof(cm.entry) + len);
}

static void failed(struct tcp_ep *ep, int err, void *data, size_t len)
{
	struct wf_eq *eq = wf_ep_eq(&ep->ep);
	struct fi_eq_err_entry entry = {
		.fid = &ep->ep.fid.fid,
		.context = ep->ep.fid.fid.context,
		.err = err,
		.prov_errno = err,
		.err_data = data,
		.err_data_size = len,
	};

	if (eq)
		(void)wf_eq_write_err(eq, &entry);
}

/* ---- the exchange ---- */

static void stop_watching(struct tcp_ep *ep)
{
	tcp_watch_set(ep, &ep->cm->watch, 0);
}

static void give_up(struct tcp_ep *ep, int err)
{
	struct tcp_msg_cm *cm = ep->cm;
	bool told = cm->cm.state == TCP_CM_REJECTED;

	stop_watching(ep);
	(void)close(cm->watch.fd);
	cm->watch.fd = -1;
	cm->state = TCP_MSG_DOWN;
	failed(ep, err, told ? (void *)(uintptr_t)tcp_cm_data(&cm->cm) : NULL,
		told ? cm->cm.msg.data_len : 0);
}

static void connected(struct tcp_ep *ep)
{
	struct tcp_msg_cm *cm = ep->cm;
	struct tcp_wire_peer wire = cm->cm.peer;
	int fd = cm->watch.fd;

	if (wire.have & TCP_HAVE_TAGGED_MSG)
		wire.have |= TCP_HAVE_TAGGED;
	if (wire.have & TCP_HAVE_RDV_MSG)
		wire.have |= TCP_HAVE_RDV;
	stop_watching(ep);
	cm->watch.fd = -1;
	cm->conn = tcp_conn_new(ep, fd, &wire, NULL);
	if (!cm->conn) {
		(void)close(fd);
		cm->state = TCP_MSG_DOWN;
		failed(ep, FI_ENOMEM, NULL, 0);
		return;
	}
	cm->state = TCP_MSG_CONNECTED;
	event(ep, FI_CONNECTED, tcp_cm_data(&cm->cm),
		cm->active ? cm->cm.msg.data_len : 0);
}

static void went_on(struct tcp_ep *ep, int ret)
{
	if (!ret)
		tcp_watch_set(ep, &ep->cm->watch, tcp_cm_events(&ep->cm->cm));
	else if (ret < 0)
		give_up(ep, -ret);
	else
		connected(ep);
}

static void exchange_ready(struct wf_watch *watch, uint32_t events)
{
	struct tcp_msg_cm *cm = wf_container_of(watch, struct tcp_msg_cm, watch);

	(void)events;
	if (cm->state == TCP_MSG_CONNECTING)
		went_on(cm->watch_ep, tcp_cm_progress(&cm->cm));
}

void tcp_msg_tick(struct tcp_ep *ep)
{
	if (wf_now_ns() >= tcp_msg_deadline(ep))
		exchange_ready(&ep->cm->watch, 0);
}

uint64_t tcp_msg_deadline(struct tcp_ep *ep)
{
	return ep->cm->state == TCP_MSG_CONNECTING ? ep->cm->cm.deadline_ns
						   : UINT64_MAX;
}

/* ---- data path ---- */

int tcp_msg_route(
	struct tcp_ep *ep, struct tcp_conn **ret_conn, struct wf_list **ret_wait)
{
	struct tcp_msg_cm *cm = ep->cm;

	if (wf_likely(cm->conn && !cm->conn->err)) {
		*ret_conn = cm->conn;
		return 0;
	}
	*ret_wait = NULL;
	return cm->state == TCP_MSG_CONNECTING ? -FI_EAGAIN : -FI_ENOTCONN;
}

/* Ends the receives that only this connection could have filled. */
static void take_down(struct tcp_ep *ep)
{
	struct tcp_msg_cm *cm = ep->cm;

	tcp_conn_end(cm->conn, FI_ECANCELED);
	cm->conn = NULL;
	cm->state = TCP_MSG_DOWN;
	wf_ep_srx_flush(&ep->ep, FI_ECANCELED);
}

void tcp_msg_lost(struct tcp_ep *ep, struct tcp_conn *conn)
{
	(void)conn;
	take_down(ep);
	event(ep, FI_SHUTDOWN, NULL, 0);
}

/* ---- calls ---- */

static struct tcp_ep *ep_of(struct fid *fid)
{
	return tcp_ep_of(wf_container_of(fid, struct wf_ep, fid.fid));
}

static int refuse(const char *call, int err, const char *why)
{
	tcp_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "%s refused: %s\n", call, why);
	return err;
}

/* Check that an EQ is bound, enable the endpoint, and have the readers of the EQ drive
 * the exchange. */
static int get_ready(struct tcp_ep *ep, const char *call)
{
	struct wf_eq *eq = wf_ep_eq(&ep->ep);
	int ret = 0;

	if (!eq)
		return refuse(call, -FI_ENOEQ, "no event queue is bound");
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
		return refuse("fi_connect", -FI_EINVAL,
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
		failed(ep, -ret, NULL, 0);
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
		ret = refuse("fi_connect", -FI_EOPBADSTATE,
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
		went_on(ep, tcp_cm_accept(&cm->cm, tcp_msg_features(ep->ep.info), param,
				    WF_MIN(len, (size_t)TCP_CM_DATA_MAX)));
		wf_watches_expect(&ep->watches, tcp_msg_deadline(ep));
	} else {
		ret = refuse("fi_accept", -FI_EOPBADSTATE,
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
		return refuse("fi_shutdown", -FI_EINVAL, "flags are reserved");
	wf_ep_flush(&ep->ep);
	wf_ep_srx_lock(&ep->ep);
	wf_lock(&ep->ep.lock);
	if (cm->conn) {
		tcp_conn_hang_up(cm->conn);
		take_down(ep);
		event(ep, FI_SHUTDOWN, NULL, 0);
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

/* ---- life ---- */

static int take_request(struct tcp_ep *ep, struct fid *handle)
{
	struct tcp_connreq *req = tcp_connreq_take(handle);
	struct tcp_msg_cm *cm = ep->cm;
	socklen_t len = sizeof(ep->name);

	if (!req)
		return refuse("fi_endpoint", -FI_EINVAL,
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
		return refuse("fi_endpoint", ret,
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
	cm->watch = (struct wf_watch){ .ready = exchange_ready, .fd = -1 };
	if (handle)
		ret = handle->fclass == FI_CLASS_PEP ? take_name(ep, handle)
						     : take_request(ep, handle);
	if (ret) {
		free(cm);
		ep->cm = NULL;
		return ret;
	}
	cm->ops = *ep->ep.fid.cm;
	cm->ops.connect = msg_connect;
	cm->ops.accept = msg_accept;
	cm->ops.shutdown = msg_shutdown;
	cm->ops.getpeer = msg_getpeer;
	ep->ep.fid.cm = &cm->ops;
	return 0;
}

void tcp_msg_free(struct tcp_ep *ep)
{
	struct tcp_msg_cm *cm = ep->cm;

	if (!cm)
		return;
	if (cm->watch.fd >= 0) {
		stop_watching(ep);
		(void)close(cm->watch.fd);
	}
	free(cm);
	ep->cm = NULL;
}
