/* SPDX-License-Identifier: BSD-2-Clause */
#include <sys/random.h>

#include "providers/tcp/cm/listen.h"
#include "providers/tcp/cm/msg_cm.h"
#include "sys/calls.h"
#include "sys/clock.h"

/* The connection of an FI_EP_MSG endpoint: the exchange that begins it, and its end. */

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
		if (wf_sys_getrandom(&instance, sizeof(instance), 0) < 0)
			instance = wf_now_ns();
	return instance;
}

const union wf_sockaddr *tcp_msg_peer(const struct tcp_ep *ep)
{
	return &ep->cm->base.peer;
}

void tcp_msg_unwatch(struct tcp_ep *ep)
{
	(void)tcp_watch_set(ep, &ep->cm->watch, 0);
}

static void msg_cm_give_up(struct tcp_ep *ep, int err)
{
	struct tcp_msg_cm *cm = ep->cm;
	bool is_rejected = cm->cm.state == TCP_CM_REJECTED;

	tcp_msg_unwatch(ep);
	(void)wf_sys_close(cm->watch.fd);
	cm->watch.fd = -1;
	wf_cm_failed(&cm->base, err, err, tcp_cm_data(&cm->cm),
		is_rejected ? cm->cm.msg.data_len : 0);
}

static void msg_cm_connected(struct tcp_ep *ep)
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
		(void)wf_sys_close(fd);
		wf_cm_failed(&cm->base, FI_ENOMEM, FI_ENOMEM, NULL, 0);
		return;
	}
	tcp_conn_start_reading(cm->conn);
	cm->base.state = WF_CM_CONNECTED;
	wf_cm_tell(&cm->base, FI_CONNECTED, tcp_cm_data(&cm->cm),
		cm->base.active ? cm->cm.msg.data_len : 0);
}

void tcp_msg_went_on(struct tcp_ep *ep, int ret)
{
	if (!ret)
		ret = tcp_watch_set(ep, &ep->cm->watch, tcp_cm_events(&ep->cm->cm));
	if (ret < 0)
		msg_cm_give_up(ep, -ret);
	else if (ret)
		msg_cm_connected(ep);
}

void tcp_msg_ready(struct wf_watch *watch, uint32_t events)
{
	struct tcp_msg_cm *cm = wf_container_of(watch, struct tcp_msg_cm, watch);

	(void)events;
	if (cm->base.state == WF_CM_CONNECTING)
		tcp_msg_went_on(cm->watch_ep, tcp_cm_progress(&cm->cm));
}

void tcp_msg_tick(struct tcp_ep *ep)
{
	if (wf_now_ns() >= tcp_msg_deadline(ep))
		tcp_msg_ready(&ep->cm->watch, 0);
}

uint64_t tcp_msg_deadline(struct tcp_ep *ep)
{
	return ep->cm->base.state == WF_CM_CONNECTING ? ep->cm->cm.deadline_ns
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
	return cm->base.state == WF_CM_CONNECTING ? -FI_EAGAIN : -FI_ENOTCONN;
}

void tcp_msg_take_down(struct tcp_ep *ep)
{
	struct tcp_msg_cm *cm = ep->cm;

	tcp_conn_end(cm->conn, FI_ECANCELED);
	cm->conn = NULL;
	cm->base.state = WF_CM_DOWN;
	wf_ep_srx_flush(&ep->ep, FI_ECANCELED);
}

void tcp_msg_lost(struct tcp_ep *ep, struct tcp_conn *conn)
{
	(void)conn;
	tcp_msg_take_down(ep);
	wf_cm_tell(&ep->cm->base, FI_SHUTDOWN, NULL, 0);
}
