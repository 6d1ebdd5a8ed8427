/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_CM_PEP_H
#define WF_TCP_CM_PEP_H

#include "objects/cm/pep.h"
#include "providers/tcp/cm/listen.h"
#include "providers/tcp/cm/msg_cm.h"

/*
 * Passive endpoints. The threads that read their event queue accept connections and
 * read requests. A complete request becomes an event, and nothing more is read from its
 * socket until the application answers.
 *
 * @base.lock guards all fields.
 */
struct tcp_pep {
	struct wf_pep base;
	struct tcp_netconf conf;
	struct tcp_listener listener;
	int epfd;
	/* Accepted connections whose request is not complete, the oldest first. */
	struct wf_list asks;
	unsigned int ask_count;
};

static inline struct tcp_pep *tcp_pep_of(const struct wf_pep *pep)
{
	return wf_container_of(pep, struct tcp_pep, base);
}

/* pep.c */
extern const struct wf_pep_ops tcp_pep_ops;

/*
 * A connection request, whose peer waits for an answer. It owns the descriptors that
 * its endpoint will need: if descriptors are short, waiting requests would otherwise
 * use them all, and none could be accepted.
 */
struct tcp_connreq {
	struct wf_cm_request base;
	int fd, epfd;
	union wf_sockaddr peer;
	struct tcp_cm cm; /* in state ASKED */
};

static inline struct tcp_connreq *tcp_connreq_of(const struct wf_cm_request *req)
{
	return wf_container_of(req, struct tcp_connreq, base);
}

/* connreq.c: make a request of the connection @fd, which the request then owns. NULL,
 * with the reason logged if it is not memory: the caller keeps @fd. */
struct tcp_connreq *tcp_connreq_new(
	int fd, const union wf_sockaddr *peer, const struct tcp_cm *cm);
void tcp_connreq_free(struct tcp_connreq *req);
/* wf_cm_reject_fn */
void tcp_connreq_reject(struct wf_cm_request *req, enum wf_cm_reason reason,
	const void *data, size_t len);

/* ask.c: the accepted connections without a complete request. */
void tcp_asks_init(struct tcp_pep *pep);
void tcp_asks_drop(struct tcp_pep *pep);
/* Start to accept connections from the listener, which has just been opened. @base.lock
 * is held. Returns 0 or a negative errno. */
int tcp_asks_watch(struct tcp_pep *pep);

#endif
