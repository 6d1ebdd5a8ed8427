/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_UNEXP_H
#define WF_OBJECTS_CONN_UNEXP_H

#include "objects/conn/budget.h"
#include "objects/conn/recv.h"
#include "objects/conn/remote.h"

/*
 * Unexpected messages of connections: messages that arrived before a receive was posted
 * for them. Each belongs to an origin: the connection that it came over and the receive
 * context that it is for. Messages whose payload is complete outlive their connection,
 * so an origin stays until the connection and the last of its messages are gone.
 *
 * This module implements the calls of the owner of the receive context (start_msg,
 * start_tag, discard_msg, discard_tag, xfer->srx_addr). The transport implements the
 * steps that depend on the location of the payload, struct wf_unexp_ops. The lock of
 * the receive context (srx lock) comes before ep->lock; both guard an origin.
 */

/* Bits of wf_srx_unexpected.note. Numbers 1 to 7 are the transport's own states of
 * messages whose payload is not whole. */
enum {
	WF_UNEXP_WHOLE = 0,  /* The whole payload is in the payload memory. */
	WF_UNEXP_STATES = 7, /* Mask of the state. */
	/* The sender must be told of the match (FI_MATCH_COMPLETE): its uint64_t id of
	 * the message is in the payload memory, behind the payload. */
	WF_UNEXP_MATCH = 8,
};

struct wf_unexp_conn;

/* Functions of the transport. The caller holds the srx lock and ep->lock. */
struct wf_unexp_ops {
	/* The AV index of @remote, or FI_ADDR_NOTAVAIL. */
	fi_addr_t (*index)(struct wf_ep *ep, struct wf_remote *remote);
	/* The address of @remote, *@ret_len bytes in the address format of the
	 * endpoint; valid as long as @remote. */
	const void *(*name)(const struct wf_remote *remote, size_t *ret_len);
	/* Bytes of payload memory given to wf_unexp_save; called only for messages that
	 * are not whole. */
	size_t (*size)(const struct wf_srx_unexpected *unexp);
	/* Tell the sender that message @id was matched or dropped. NULL: no message has
	 * WF_UNEXP_MATCH. */
	void (*matched)(struct wf_unexp_conn *conn, uint64_t id);
	/* A message that is not whole was matched to @entry: have its payload delivered
	 * to the buffers. 0, or a negative FI_E code if nothing of it was received. */
	int (*start)(struct wf_unexp_conn *conn, struct wf_srx_unexpected *unexp,
		struct fi_peer_rx_entry *entry);
	/* A message that is not whole is dropped: let the sender end its operation. */
	void (*discard)(struct wf_unexp_conn *conn, struct wf_srx_unexpected *unexp);
	/* Send the replies that the calls above queued. */
	void (*flush)(struct wf_unexp_conn *conn);
};

/* State of one endpoint. */
struct wf_unexp {
	const struct wf_unexp_ops *ops;
	struct wf_ep *ep;
	struct wf_remotes *remotes; /* Peers of the endpoint; NULL: FI_EP_MSG. */
	struct wf_recv_wants wants; /* Uses of sources; constant. */
	union {
		/* Memory of all unexpected messages, also of lost connections. */
		struct wf_budget budget;
		size_t bytes; /* The same as budget.used. */
	};
};

static_assert(!offsetof(struct wf_budget, used), "wf_unexp.bytes");

/* State of one connection; zeroed with the connection. */
struct wf_unexp_conn {
	size_t bytes; /* Its part of wf_unexp.budget. */
	/* One for each receive context that it brought messages for. */
	struct wf_origin *origins;
};

struct wf_origin {
	struct wf_srx_origin srx; /* Origin as the receive context knows it. */
	struct wf_origin *next;   /* Next origin of the same connection. */
	struct wf_unexp *unexp;
	struct wf_unexp_conn *conn; /* NULL: the connection is lost. */
	/* Peer of the connection, with a reference; NULL: FI_EP_MSG. */
	struct wf_remote *remote;
	/* Positive FI_E code that the connection ended with; valid if @conn is NULL. */
	int err;
};

extern struct fi_ops_srx_peer wf_unexp_srx_ops;
fi_addr_t wf_unexp_srx_addr(struct fi_peer_rx_entry *entry);

/* Bytes of memory of a message with @size bytes of payload memory. */
static inline size_t wf_unexp_cost(size_t size)
{
	return size + sizeof(struct wf_srx_message);
}

static inline unsigned int wf_unexp_state(const struct wf_srx_unexpected *unexp)
{
	return unexp->note & WF_UNEXP_STATES;
}

/* May the unexpected messages of @conn, with @remote (NULL: FI_EP_MSG), take @size
 * bytes more? The transport asks before it saves a message, or after it: it then reads
 * on when this is true with a @size of 0. ep->lock is held. */
bool wf_unexp_admits_known(const struct wf_unexp *unexp,
	const struct wf_unexp_conn *conn, struct wf_remote *remote, size_t size);

static inline bool wf_unexp_admits(const struct wf_unexp *unexp,
	const struct wf_unexp_conn *conn, struct wf_remote *remote, size_t size)
{
	return wf_likely(wf_budget_fits(&unexp->budget, conn->bytes, size)) ||
	       wf_unexp_admits_known(unexp, conn, remote, size);
}

/* Count @bytes that belong to a message of @conn besides its payload memory, and that
 * they were freed. */
static inline void wf_unexp_take(
	struct wf_unexp *unexp, struct wf_unexp_conn *conn, size_t bytes)
{
	wf_budget_take(&unexp->budget, &conn->bytes, bytes);
}

static inline void wf_unexp_give(
	struct wf_unexp *unexp, struct wf_unexp_conn *conn, size_t bytes)
{
	wf_budget_give(&unexp->budget, &conn->bytes, bytes);
}

/* wf_srx_save for a message that came over @conn from @remote (NULL: FI_EP_MSG): keep
 * the message with @size bytes of payload memory, and give up @entry. The caller sets
 * the note and fills the memory. @type: FI_MSG or FI_TAGGED. The srx lock and ep->lock
 * are held. NULL: no memory; the entry is still valid. */
struct wf_srx_unexpected *wf_unexp_save(struct wf_unexp *unexp,
	struct wf_unexp_conn *conn, struct wf_remote *remote, uint64_t type,
	struct fi_peer_rx_entry *entry, size_t size);

/* Give @saved, a message of @conn with @old bytes of payload memory (at least
 * WF_SRX_ENLARGE_MIN), @size bytes instead. Their contents are undefined. False: no
 * memory, and nothing is changed. Both locks are held. */
bool wf_unexp_enlarge(struct wf_unexp *unexp, struct wf_unexp_conn *conn,
	struct wf_srx_unexpected *saved, size_t old, size_t size);
/* Give the message that was saved with more than WF_SRX_GROW_MIN bytes of payload
 * memory, which are @from now, @to bytes. @srx: its receive context, one of this
 * library. The transport's size() reports @to then. False: no memory. */
bool wf_unexp_grow(struct wf_unexp *unexp, struct wf_unexp_conn *conn,
	struct fid_peer_srx *srx, struct wf_srx_unexpected *saved, size_t from,
	size_t to);

/* The connection is lost: a receive that matches a message which is not whole fails
 * with @err, a positive FI_E code. Both locks are held. */
void wf_unexp_break(struct wf_unexp_conn *conn, int err);

#endif
