/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/cm/listen.h"
#include "providers/tcp/cm/msg_cm.h"
#include "sys/calls.h"

/* What fi_connect, fi_accept and fi_shutdown start (struct wf_cm_ops). */

static struct tcp_ep *msg_begin_ep_of(const struct wf_cm *cm)
{
	return tcp_ep_of(cm->ep);
}

static int msg_begin_run(struct wf_cm *base, struct wf_eq *eq)
{
	return wf_eq_progress_add(eq, &base->ep->progress);
}

static int msg_begin_start_connecting(struct wf_cm *base, const void *data, size_t len)
{
	struct tcp_msg_cm *cm = tcp_msg_cm_of(base);
	struct tcp_ep *ep = msg_begin_ep_of(base);
	struct tcp_cm_own own = {
		.features = tcp_msg_features(ep->ep.info),
		.instance = tcp_msg_instance(),
		.timeout_ms = ep->conf.connect_ms,
		.reply_ms = ep->conf.reply_ms,
	};
	int ret = cm->watch.fd >= 0
			  ? tcp_connect_bound(cm->watch.fd, &base->peer)
			  : tcp_connect(&ep->name, &base->peer, &ep->conf,
				    ep->ep.info->tx_attr->tclass, &cm->watch.fd);

	if (ret)
		return ret;
	wf_progress_wake(&ep->ep.progress);
	tcp_cm_start_active(&cm->cm, cm->watch.fd, &own, data, len);
	ret = tcp_watch_set(ep, &cm->watch, EPOLLOUT);
	if (ret) {
		(void)wf_sys_close(cm->watch.fd);
		cm->watch.fd = -1;
		return ret;
	}
	wf_watches_expect(&ep->watches, cm->cm.deadline_ns);
	return 0;
}

/* The exchange itself reports its failure, by an event. */
static int msg_begin_answer(struct wf_cm *base, const void *data, size_t len)
{
	struct tcp_msg_cm *cm = tcp_msg_cm_of(base);
	struct tcp_ep *ep = msg_begin_ep_of(base);

	wf_progress_wake(&ep->ep.progress);
	tcp_msg_went_on(
		ep, tcp_cm_accept(&cm->cm, tcp_msg_features(ep->ep.info), data, len));
	wf_watches_expect(&ep->watches, tcp_msg_deadline(ep));
	return 0;
}

static int msg_begin_shut_down(struct wf_cm *base)
{
	struct tcp_msg_cm *cm = tcp_msg_cm_of(base);
	struct tcp_ep *ep = msg_begin_ep_of(base);
	int ret = 0;

	wf_ep_srx_lock(&ep->ep);
	wf_lock(&ep->ep.lock);
	if (cm->conn) {
		tcp_conn_hang_up(cm->conn);
		tcp_msg_take_down(ep);
		wf_cm_tell(base, FI_SHUTDOWN, NULL, 0);
	} else {
		ret = -FI_ENOTCONN;
	}
	wf_unlock(&ep->ep.lock);
	wf_ep_srx_unlock(&ep->ep);
	return ret;
}

const struct wf_cm_ops tcp_msg_ops = {
	.data_size = TCP_CM_DATA_MAX,
	.run = msg_begin_run,
	.connect = msg_begin_start_connecting,
	.accept = msg_begin_answer,
	.shutdown = msg_begin_shut_down,
};
