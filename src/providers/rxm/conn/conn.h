/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_CONN_CONN_H
#define WF_RXM_CONN_CONN_H

#include "objects/conn/ip.h"
#include "objects/conn/verify.h"
#include "objects/endpoint/inbox.h"
#include "providers/rxm/rxm.h"

struct rxm_attempt;
struct rxm_bufs;
struct rxm_local;
struct rxm_request;

/* A peer of an endpoint, found by its address. Created by the first operation to the
 * peer or by the peer's first connection request. Guarded by ep.lock. */
struct rxm_peer {
	struct wf_ip_remote ip;
	/* The connection that operations use, or that is being made; NULL: there is
	 * none. */
	struct rxm_conn *conn;
	/* A request of the peer that is not answered until it is verified (verify.c);
	 * NULL: none. */
	struct rxm_request *unverified;
	/* A socket at the address has once accepted a request: no firewall keeps
	 * requests off. */
	bool reached;
	/* Memory failed for the process of the peer with this rxm_conn.peer_pid; 0: for
	 * none. */
	uint32_t barred_pid;
};

enum rxm_conn_state {
	/* This endpoint sent a request, which the peer has not answered. */
	RXM_CONN_CONNECTING,
	RXM_CONN_ACCEPTING, /* this endpoint accepted the peer's request */
	RXM_CONN_UP,
	/* It has failed with @err, and is in ep->failed; or it is closed. */
	RXM_CONN_DOWN,
};

/*
 * A connection: an FI_EP_MSG endpoint below. Guarded by ep.lock.
 *
 * @waiting is the queue of works (data/work.h) that cannot be sent yet, because the
 * queue below is full or the connection is not up. The operations to a peer without a
 * connection are in peer->ip.remote.pending; they move to @waiting when the connection
 * is up.
 */
struct rxm_conn {
	struct rxm_ep *ep;
	struct rxm_peer *peer; /* the connection holds a reference */
	struct wf_lower_ep below;
	enum rxm_conn_state state;
	/* The exchange that is under way; NULL: there is none. */
	struct rxm_attempt *attempt;
	int err;      /* positive fi_errno of a connection that failed; else 0 */
	bool was_up;  /* The connection was up before it failed; valid in state DOWN. */
	bool refused; /* No endpoint listens at the peer's address. */
	uint32_t id;  /* id of the connection in packets of the peer; see ids.h */
	struct rxm_conn *id_next;
	/* Id of the connection in packets to the peer; valid in state UP. */
	uint32_t peer_id;
	uint32_t peer_pid; /* identifies the process of the peer; 0: not known */
	uint8_t peer_flow; /* enum rxm_flow */
	/* Credits (verbs without shared receives): the number of buffers that the peer
	 * has for packets, and the number of buffers that were posted since credits
	 * were last given to the peer; see credit.c. */
	bool credited;
	uint32_t credits, reposted;
	uint32_t peer_depth; /* limit of @credits; 0 or 1: not known */
	/* Receive buffers of the connection; NULL: those of the endpoint are used. */
	struct rxm_bufs *bufs;
	/* Its buffers that are not posted while it is held (data/hold.h), by
	 * call.link. */
	struct wf_list withheld;
	/* Brings small packets to ep->inbox, if there is one. */
	struct wf_inbox_feed inbox;
	/* The provider below has connected; the connection is up when its transport is
	 * settled, too (rxm_conn_settled). */
	bool linked;
	/* Whether the peer shares memory with this process; NULL: it does not, or is
	 * not asked. local/local.h */
	struct rxm_local *local;
	uint64_t checked_ns; /* time (wf_coarse_ns) of the last rxm_conn_check */
	struct wf_list waiting;
	/* struct rxm_call that were started and have not ended, by link. */
	struct wf_list calls;
	struct wf_list link, ready_link, failed_link;
	struct wf_unexp_conn unexp;
	struct rxm_conn_data data; /* state of data/ */
};

/*
 * Functions for data/. ep.lock is held unless a comment says otherwise.
 */

/* Find the connection for operations to @addr (*ret_conn), which is in state UP, or, if
 * *ret_conn is NULL, the list where they wait for a connection (*ret_wait). Returns 0;
 * -FI_EINVAL: there is no such address; or -FI_ENOMEM. */
int rxm_route(struct rxm_ep *ep, fi_addr_t addr, struct rxm_conn **ret_conn,
	struct wf_list **ret_wait);

/* The connection for operations to @addr, which use memory; NULL: they do not. */
struct rxm_conn *rxm_memory_conn(struct rxm_ep *ep, fi_addr_t addr);

/*
 * Send one packet: a message below of the buffers @iov, the header first, with the
 * descriptors @desc (NULL: none). This and the next two functions return
 *   0: the packet was taken, and call->done will be called. The buffers must stay until
 *   then.
 *   -FI_EAGAIN: nothing was taken, because the queue below is full, the peer has no
 *   buffers, or the connection is not up yet. The work waits in conn->waiting;
 *   rxm_data_resume is called when it may be sent.
 *   Another negative fi_errno: the operation or the connection failed; done() is not
 *   called.
 * @flags: with FI_INJECT the packet is sent before the endpoint is closed, although it
 * is not injected below. FI_DELIVERY_COMPLETE, FI_MORE and other flags are passed on if
 * the provider below supports them.
 */
ssize_t rxm_conn_send(struct rxm_conn *conn, const struct iovec *iov, void **desc,
	size_t count, uint64_t flags, struct rxm_call *call);

/* Send the @len bytes at @packet, at most ep->inject_size. The buffer is free when the
 * call returns; there is no done(). Results as for rxm_conn_send. */
ssize_t rxm_conn_inject(struct rxm_conn *conn, const void *packet, size_t len);

/* Start @op, an RMA operation, on the connection, with its own flags and FI_COMPLETION,
 * and with @call as its context. @op is unchanged afterwards. Results as for
 * rxm_conn_send. An injected write, whose buffers stay valid until done() is called, is
 * not injected below: its failure there would name no operation. */
ssize_t rxm_conn_rma(struct rxm_conn *conn, struct wf_op *op, struct rxm_call *call);

/* Called before an operation after a pause: fail the connection if the peer has closed
 * it meanwhile. So the operation goes to a peer that was restarted; the progress calls
 * alone would notice the restart too late. False: the connection has failed. */
bool rxm_conn_check(struct rxm_conn *conn);

/* Let the next progress call, or the end of a call below, call rxm_data_resume for
 * @conn: conn->waiting is not empty. */
void rxm_conn_resume(struct rxm_conn *conn);

/* The connection cannot be used any more, for example because the peer sent an invalid
 * packet: the next progress call ends it with the positive fi_errno @err. */
void rxm_conn_fail(struct rxm_conn *conn, int err);

/* The peer gave @count credits in a packet. */
void rxm_conn_credit(struct rxm_conn *conn, uint64_t count);

/* The connection whose packets carry @id; NULL: there is none. The peers of other
 * connections cannot guess an id. */
struct rxm_conn *rxm_conn_by_id(struct rxm_ep *ep, uint64_t id);

/* The peer's index in the AV, or FI_ADDR_NOTAVAIL. */
static inline fi_addr_t rxm_peer_index(struct rxm_ep *ep, struct rxm_peer *peer)
{
	return wf_ip_remote_index(ep->ep.av, &peer->ip);
}

static inline struct rxm_peer *rxm_peer_of(const struct wf_remote *remote)
{
	return wf_container_of(remote, struct rxm_peer, ip.remote);
}

static inline struct rxm_peer *rxm_peer_of_ip(const struct wf_ip_remote *ip)
{
	return wf_container_of(ip, struct rxm_peer, ip);
}

static inline struct rxm_conn *rxm_conn_of_inbox(struct wf_inbox_feed *feed)
{
	return wf_container_of(feed, struct rxm_conn, inbox);
}

static inline struct rxm_conn *rxm_conn_of_unexp(struct wf_unexp_conn *unexp)
{
	return wf_container_of(unexp, struct rxm_conn, unexp);
}

#endif
