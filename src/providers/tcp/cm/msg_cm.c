/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <sys/random.h>

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

void tcp_msg_event(struct tcp_ep *ep, uint32_t type, const void *data, size_t len)
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

void tcp_msg_failed(struct tcp_ep *ep, int err, void *data, size_t len)
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

void tcp_msg_unwatch(struct tcp_ep *ep)
{
	tcp_watch_set(ep, &ep->cm->watch, 0);
}

static void give_up(struct tcp_ep *ep, int err)
{
	struct tcp_msg_cm *cm = ep->cm;
	bool told = cm->cm.state == TCP_CM_REJECTED;

	tcp_msg_unwatch(ep);
	(void)close(cm->watch.fd);
	cm->watch.fd = -1;
	cm->state = TCP_MSG_DOWN;
	tcp_msg_failed(ep, err, told ? (void *)(uintptr_t)tcp_cm_data(&cm->cm) : NULL,
		told ? cm->cm.msg.data_len : 0);
}

static void connected(struct tcp_ep *ep)
{
	struct tcp_msg_cm *cm = ep->cm;
	struct tcp_wire_peer wire = cm->cm.peer;
	int fd = cm->watch.fd;

	if (wire.have & TCP_HAVE_TAGGED_MSG)
		wire.have |= TCP_HAVE_TAGGED;
	else if (ep->ep.caps & FI_TAGGED && !cm->cm.msg.ext.instance)
		wire.have |= TCP_HAVE_RAW_TAGGED;
	if (wire.have & TCP_HAVE_RDV_MSG)
		wire.have |= TCP_HAVE_RDV;
	tcp_msg_unwatch(ep);
	cm->watch.fd = -1;
	cm->conn = tcp_conn_new(ep, fd, &wire, NULL);
	if (!cm->conn) {
		(void)close(fd);
		cm->state = TCP_MSG_DOWN;
		tcp_msg_failed(ep, FI_ENOMEM, NULL, 0);
		return;
	}
	cm->state = TCP_MSG_CONNECTED;
	tcp_msg_event(ep, FI_CONNECTED, tcp_cm_data(&cm->cm),
		cm->active ? cm->cm.msg.data_len : 0);
}

void tcp_msg_went_on(struct tcp_ep *ep, int ret)
{
	if (!ret)
		tcp_watch_set(ep, &ep->cm->watch, tcp_cm_events(&ep->cm->cm));
	else if (ret < 0)
		give_up(ep, -ret);
	else
		connected(ep);
}

void tcp_msg_ready(struct wf_watch *watch, uint32_t events)
{
	struct tcp_msg_cm *cm = wf_container_of(watch, struct tcp_msg_cm, watch);

	(void)events;
	if (cm->state == TCP_MSG_CONNECTING)
		tcp_msg_went_on(cm->watch_ep, tcp_cm_progress(&cm->cm));
}

void tcp_msg_tick(struct tcp_ep *ep)
{
	if (wf_now_ns() >= tcp_msg_deadline(ep))
		tcp_msg_ready(&ep->cm->watch, 0);
}

uint64_t tcp_msg_deadline(struct tcp_ep *ep)
{
	return ep->cm->state == TCP_MSG_CONNECTING ? ep->cm->cm.deadline_ns
						   : UINT64_MAX;
}

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

void tcp_msg_take_down(struct tcp_ep *ep)
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
	tcp_msg_take_down(ep);
	tcp_msg_event(ep, FI_SHUTDOWN, NULL, 0);
}
