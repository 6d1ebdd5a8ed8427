/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_MSG_CM_H
#define TCP_MSG_CM_H

#include "providers/tcp/cm/cm.h"
#include "providers/tcp/conn/conn.h"

enum tcp_msg_state {
	TCP_MSG_NEW,        /* fi_connect is possible */
	TCP_MSG_ASKED,      /* opened for a connection request: fi_accept is possible */
	TCP_MSG_CONNECTING, /* connecting or accepting */
	TCP_MSG_CONNECTED,
	TCP_MSG_DOWN, /* final: was connected, or failed to */
};

struct tcp_connreq;

/* The connection of an FI_EP_MSG endpoint. Guarded by ep.lock. */
struct tcp_msg_cm {
	struct fi_ops_cm ops;
	struct wf_watch watch; /* during the exchange */
	struct tcp_ep *watch_ep;
	enum tcp_msg_state state;
	bool active;
	struct tcp_cm cm;
	struct tcp_conn *conn;
	union wf_sockaddr peer;
	struct wf_eq *eq; /* its readers make the exchange progress; NULL: none */
};

/*
 * A connection request, which an FI_CONNREQ event reports: the peer waits for an
 * answer. @handle is info->handle. It owns the descriptors that its endpoint will need:
 * if descriptors are short, waiting requests would otherwise use them all, and none
 * could be accepted.
 */
struct tcp_connreq {
	struct fid handle;
	struct wf_list link; /* in the list of all open requests */
	struct fid_pep *pep;
	int fd, epfd;
	union wf_sockaddr peer;
	struct tcp_cm cm; /* in state ASKED */
};

/* msg_new.c: @handle is info->handle. 0 or a negative FI_E code. */
int tcp_msg_new(struct tcp_ep *ep, struct fid *handle);
void tcp_msg_free(struct tcp_ep *ep);
/* Log why @call is refused, and return @err. */
int tcp_msg_refuse(const char *call, int err, const char *why);

/* msg_calls.c: give the endpoint its table of connection calls. */
void tcp_msg_set_calls(struct tcp_ep *ep);

/* msg_cm.c; ep.lock held, from tcp_msg_event on. */
int tcp_msg_route(
	struct tcp_ep *ep, struct tcp_conn **ret_conn, struct wf_list **ret_wait);
void tcp_msg_lost(struct tcp_ep *ep, struct tcp_conn *conn);
void tcp_msg_tick(struct tcp_ep *ep);
uint64_t tcp_msg_deadline(struct tcp_ep *ep);
const union wf_sockaddr *tcp_msg_peer(const struct tcp_ep *ep);
uint32_t tcp_msg_features(const struct fi_info *info);
uint64_t tcp_msg_instance(void);
/* Write an event, with @len bytes of the peer's data, or the failure @err (a positive
 * code) of the exchange to the EQ, if one is bound. */
void tcp_msg_event(struct tcp_ep *ep, uint32_t type, const void *data, size_t len);
void tcp_msg_failed(struct tcp_ep *ep, int err, void *data, size_t len);
/* The exchange made a step, with the result @ret of tcp_cm_progress or tcp_cm_accept.
 */
void tcp_msg_went_on(struct tcp_ep *ep, int ret);
/* The socket of the exchange is ready. */
void tcp_msg_ready(struct wf_watch *watch, uint32_t events);
void tcp_msg_unwatch(struct tcp_ep *ep);
/* End the connection, and the receives that only it could have filled. The srx lock is
 * held as well. */
void tcp_msg_take_down(struct tcp_ep *ep);

/* connreq.c: requests are looked up by their address, so that a stale handle is
 * refused. */
struct tcp_connreq *tcp_connreq_new(struct fid_pep *pep, int fd,
	const union wf_sockaddr *peer, const struct tcp_cm *cm);
/* Remove the request from the list; the caller owns it. NULL: there is no such request.
 */
struct tcp_connreq *tcp_connreq_take(struct fid *handle);
/* Remove any request that came to @pep, or NULL. */
struct tcp_connreq *tcp_connreq_take_any(struct fid_pep *pep);
void tcp_connreq_free(struct tcp_connreq *req);

/* pep.c: the address of a passive endpoint, for an active endpoint of @family that is
 * opened with its handle. The passive endpoint gives up the address and can only be
 * closed. */
int tcp_pep_take_name(struct fid *handle, int family, union wf_sockaddr *ret);

#endif
