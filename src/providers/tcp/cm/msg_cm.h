/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_CM_MSG_CM_H
#define WF_TCP_CM_MSG_CM_H

#include "objects/cm/cm.h"
#include "providers/tcp/cm/cm.h"
#include "providers/tcp/conn/conn.h"

/* The connection of an FI_EP_MSG endpoint. Guarded by ep.lock. */
struct tcp_msg_cm {
	struct wf_cm base;
	struct wf_watch watch; /* watches the socket during the exchange */
	struct tcp_ep *watch_ep;
	struct tcp_cm cm;
	struct tcp_conn *conn;
};

static inline struct tcp_msg_cm *tcp_msg_cm_of(const struct wf_cm *cm)
{
	return wf_container_of(cm, struct tcp_msg_cm, base);
}

/* msg_new.c. @handle is info->handle. Returns 0 or a negative fi_errno. */
int tcp_msg_new(struct tcp_ep *ep, struct fid *handle);
void tcp_msg_free(struct tcp_ep *ep);

/* msg_begin.c */
extern const struct wf_cm_ops tcp_msg_ops;

/* msg_cm.c. ep.lock is held for tcp_msg_went_on and the functions after it. */
int tcp_msg_route(
	struct tcp_ep *ep, struct tcp_conn **ret_conn, struct wf_list **ret_wait);
void tcp_msg_lost(struct tcp_ep *ep, struct tcp_conn *conn);
void tcp_msg_tick(struct tcp_ep *ep);
uint64_t tcp_msg_deadline(struct tcp_ep *ep);
const union wf_sockaddr *tcp_msg_peer(const struct tcp_ep *ep);
uint32_t tcp_msg_features(const struct fi_info *info);
uint64_t tcp_msg_instance(void);
/* The exchange made a step, with the result @ret of tcp_cm_progress or tcp_cm_accept:
 * act on the new state. */
void tcp_msg_went_on(struct tcp_ep *ep, int ret);
/* Callback of the watch: the socket of the exchange is ready. */
void tcp_msg_ready(struct wf_watch *watch, uint32_t events);
void tcp_msg_unwatch(struct tcp_ep *ep);
/* End the connection, and the receives that only this connection could have filled. The
 * lock of the receive context is held, too. */
void tcp_msg_take_down(struct tcp_ep *ep);

#endif
