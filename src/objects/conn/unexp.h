/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_UNEXP_H
#define WF_OBJECTS_CONN_UNEXP_H

#include "objects/conn/recv.h"
#include "objects/conn/remote.h"

/*
 * Unexpected messages of connections: those that arrived before a receive was posted
 * for them. Each belongs to an origin: the connection that it came over and the receive
 * context that it is for. An origin stays until the connection and the last of its
 * messages are gone, for messages whose payload is here outlive the connection.
 *
 * The functions here are what the owner of the receives calls (start_msg, start_tag,
 * discard_msg, discard_tag, xfer->srx_addr); the transport does what depends on where a
 * payload is in its ops. The srx lock comes before ep->lock; both guard an origin.
 */

/* In the note of a struct wf_srx_unexpected. The transport has numbers 1 to 7 for its
 * own states of messages whose payload is not whole. */
enum {
	WF_UNEXP_WHOLE = 0,  /* the payload is in the message's payload memory */
	WF_UNEXP_STATES = 7, /* mask of the state */
	/* The sender is told of the match (FI_MATCH_COMPLETE): the uint64_t id that it
	 * knows the message by is in the payload memory, behind the payload. */
	WF_UNEXP_MATCH = 8,
};

struct wf_unexp_conn;

/* What differs between transports. The srx lock and ep->lock are held in all. */
struct wf_unexp_ops {
	/* The AV index of @remote, or FI_ADDR_NOTAVAIL. */
	fi_addr_t (*index)(struct wf_ep *ep, struct wf_remote *remote);
	/* The address of @remote, *@ret_len bytes in the address format of the
	 * endpoint; valid as long as @remote. */
	const void *(*name)(const struct wf_remote *remote, size_t *ret_len);
	/* Bytes of payload memory that wf_unexp_save was asked for; only called for
	 * messages that are not whole. */
	size_t (*size)(const struct wf_srx_unexpected *unexp);
	/* Tell the sender that message @id was matched or dropped. */
	void (*matched)(struct wf_unexp_conn *conn, uint64_t id);
	/* A message that is not whole was matched to @entry: have its payload come to
	 * the buffers. 0, or a negative FI_E code if nothing of it was taken. */
	int (*start)(struct wf_unexp_conn *conn, struct wf_srx_unexpected *unexp,
		struct fi_peer_rx_entry *entry);
	/* A message that is not whole is dropped: let the sender end its operation. */
	void (*discard)(struct wf_unexp_conn *conn, struct wf_srx_unexpected *unexp);
	/* Send what the calls above have to send. */
	void (*flush)(struct wf_unexp_conn *conn);
};

/* All of one endpoint. */
struct wf_unexp {
	const struct wf_unexp_ops *ops;
	struct wf_ep *ep;
	struct wf_remotes *remotes; /* NULL: FI_EP_MSG */
	struct wf_recv_wants wants;
	/* Memory of all unexpected messages in bytes, also of lost connections. */
	size_t bytes;
};

/* Of one connection; zeroed with it. */
struct wf_unexp_conn {
	size_t bytes; /* memory of its unexpected messages */
	struct wf_origin *origins;
};

struct wf_origin {
	struct wf_srx_origin srx;
	struct wf_origin *next; /* of the connection's */
	struct wf_unexp *unexp;
	struct wf_unexp_conn *conn; /* NULL: lost */
	struct wf_remote *remote;   /* whom the connection is with; NULL: FI_EP_MSG */
	int err; /* what the connection ended with; a positive FI_E code */
};

extern struct fi_ops_srx_peer wf_unexp_srx_ops;
fi_addr_t wf_unexp_srx_addr(struct fi_peer_rx_entry *entry);

/* Memory in bytes of a message with @size bytes of payload memory. */
static inline size_t wf_unexp_cost(size_t size)
{
	return size + sizeof(struct wf_srx_message);
}

static inline unsigned int wf_unexp_state(const struct wf_srx_unexpected *unexp)
{
	return unexp->note & WF_UNEXP_STATES;
}

/* No receive waits for the message of @entry, which came over @conn from @remote (NULL:
 * FI_EP_MSG): give up the entry, and keep the message with @size bytes of payload
 * memory. The caller sets its note and fills that memory. @type: FI_MSG or FI_TAGGED.
 * The srx lock and ep->lock are held. NULL: no memory, the entry is still there. */
struct wf_srx_unexpected *wf_unexp_save(struct wf_unexp *unexp,
	struct wf_unexp_conn *conn, struct wf_remote *remote, uint64_t type,
	struct fi_peer_rx_entry *entry, size_t size);

/* The connection is lost: messages that are not whole fail with @err, a positive FI_E
 * code, when a receive asks for them. Both locks are held. */
void wf_unexp_break(struct wf_unexp_conn *conn, int err);

#endif
