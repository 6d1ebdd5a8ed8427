/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_CONN_CONN_H
#define WF_TCP_CONN_CONN_H

#include "objects/endpoint/inbox.h"
#include "providers/tcp/data/slots.h"
#include "providers/tcp/tcp.h"

struct tcp_peer;
struct tcp_local;

/* The event that completes an operation after its record was sent. */
enum tcp_want {
	TCP_WANT_SENT, /* the kernel has taken the record */
	TCP_WANT_ACK,  /* the peer's acknowledgement; waits in conn->acks */
	TCP_WANT_RESP, /* the peer's response; waits in conn->resps */
	/* The peer's note that the message was matched; waits in conn->matches. */
	TCP_WANT_MATCHED,
	TCP_WANT_CTS, /* the peer's clear to send; waits in conn->rts */
};

/*
 * A record to send, and its operation until the operation ends. An answer to a peer has
 * no operation: op is WF_OP_COUNT. Allocated with as many bytes of @copy as its
 * injected payload or its operands need.
 */
struct tcp_tx {
	struct wf_list link;
	/* Endpoint or transmit context of the operation; NULL: an answer. */
	struct tcp_source *from;
	/* Heap copy of the payload, made when a transmit context was closed; else
	 * NULL. */
	void *kept;
	struct tcp_record rec;
	uint64_t op_flags;
	void *context;
	fi_addr_t addr;
	size_t len;
	uint8_t op; /* enum wf_op_kind, or WF_OP_COUNT */
	/* Enum tcp_want. */
	uint8_t want;
	/* The payload is the registered memory that rec.seg names, not iov. */
	bool from_mr;
	/* A request to send was sent; after the peer's clear to send the record is the
	 * payload. */
	bool rendezvous;
	/* The message was complete when an earlier process at the address left it
	 * unread in memory: its end is not reported again (local/unread.h). */
	bool left;
	uint8_t hdr_len; /* length of hdr in bytes; 0: it is not encoded yet */
	uint8_t iov_count, result_count;
	uint64_t done; /* bytes of the record that were sent, including its header */
	struct iovec iov[2 * TCP_IOV_LIMIT];
	/* Buffers for the result of a fetching atomic. */
	struct iovec result[TCP_IOV_LIMIT];
	uint8_t hdr[TCP_WIRE_HDR_MAX];
	uint8_t copy[];
};

/* The completion of a message in the stage, which is reported when the kernel has taken
 * the message. */
struct tcp_mark {
	struct tcp_source *from;
	void *context;
	uint64_t op_flags;
	fi_addr_t addr;
	/* The value that conn->staged had behind the message: the message is complete
	 * when conn->flushed has reached it. */
	uint64_t end;
	uint32_t len;
	uint8_t op;
};

/*
 * Bytes of small records that have not been sent. A connection has a stage only while
 * it has such records: a small stage first, and one of the endpoint's full size when
 * that is full. @bytes is in the same allocation, behind @marks.
 */
struct tcp_stage {
	size_t head, tail, size;
	/* Numbers of the next free mark and of the oldest mark; they run free and are
	 * masked with mark_mask. */
	uint32_t mark_head, mark_tail;
	uint32_t mark_mask;
	uint8_t *bytes;
	struct tcp_mark marks[];
};

struct wf_srx_unexpected;
struct tcp_rdv;

/* Where the payload of the arriving record is stored. */
enum tcp_sink {
	TCP_SINK_IOV, /* in rx.iov */
	TCP_SINK_MR,  /* in the registered memory that rec.seg names */
	/* Nowhere yet: the socket is not read until a receive matches the message. */
	TCP_SINK_HOLD,
};

struct tcp_rx {
	/* The next bytes are payload; else they are a header, or the rest of one. */
	bool body;
	uint8_t sink;      /* enum tcp_sink */
	uint8_t carry_len; /* length of @carry, an incomplete header */
	/* Positive fi_errno of the operation that the record asks for; 0: none. */
	int err;
	unsigned int iov_count;
	/* left: payload bytes that have not arrived. capacity: how many of them the
	 * sink can store. */
	uint64_t left, capacity;
	uint64_t offset; /* TCP_SINK_MR: payload bytes that were stored */
	/* Buffers of the sink that are not filled; points into iovs. */
	struct iovec *iov;
	struct fi_peer_rx_entry *entry;
	/* The unexpected message that the payload belongs to; NULL: the message was
	 * matched. */
	struct wf_srx_unexpected *unexp;
	/* The rendezvous that the payload belongs to; NULL: none. */
	struct tcp_rdv *rdv;
	/* Heap memory for the operands of an atomic; else NULL. */
	uint8_t *buf;
	/* TCP_SINK_HOLD: heap copy of the bytes behind the header that were read
	 * already; else NULL. */
	uint8_t *held;
	size_t held_len;
	struct tcp_record rec;
	union {
		struct iovec iovs[TCP_IOV_LIMIT]; /* if @body is set */
		uint8_t carry[TCP_WIRE_HDR_MAX];  /* if @body is not set */
	};
};

/*
 * A connection in its data phase, guarded by ep.lock. Bytes are sent in this order: the
 * stage (whole records), the rest of @cur, acknowledgements that are due, @answers,
 * @txq.
 */
struct tcp_conn {
	struct wf_watch watch; /* watches the socket; contains its fd */
	struct tcp_ep *ep;
	struct tcp_peer *peer; /* NULL for FI_EP_MSG */
	/* In peers.unconfirmed while the peer may be verifying it; tcp_peers_owe. */
	struct wf_list unconfirmed_link;
	uint64_t made_ns; /* time (wf_now_ns) when it was added to that list */
	/* Instance that the peer told in the exchange; 0: none. */
	uint64_t instance;
	struct wf_list link, hot_link, dirty_link, failed_link, owing_link, held_link;
	struct tcp_wire_peer wire; /* what the two ends agreed on */
	/* Positive fi_errno that ends the connection; 0: none. */
	int err;
	bool hot;
	bool same_host; /* The peer is on this machine. */
	/* The peer connected to another address of this endpoint, too: operations to it
	 * use peer->conn. */
	bool extra;
	/* Sending failed: receive what the peer sent before the failure, then take the
	 * connection down. */
	bool unread;
	bool probing;   /* A probe was sent and has not been answered. */
	uint8_t number; /* running number of the next record */
	uint32_t quiet; /* polls in a row that read nothing */
	/* Time (wf_now_ns) when the peer was last known to be alive (keepalive.c); 0:
	 * all bytes were acknowledged. */
	uint64_t alive_ns;
	uint64_t checked_ns; /* time (wf_now_ns) of the last check by tcp_conn_gone() */
	/* ep->epoch when the call that posted a message last sent it, too. */
	uint32_t sent_epoch;
	/* Number of messages sent so in that epoch, at most AT_ONCE (flush.c). */
	uint8_t at_once;
	/* The application made a progress call between two such messages. */
	bool polled;

	/* Bytes of small records that were not sent; NULL: there are none. */
	struct tcp_stage *stage;
	/* Bytes that were added to the stage, and bytes that left it, since the
	 * connection began. */
	uint64_t staged, flushed;
	struct tcp_tx *cur;
	uint32_t acks_due;
	/* Acknowledgements that are queued in @answers, because an error before them
	 * has to be sent first. */
	uint32_t acks_ordered;
	size_t answer_bytes; /* Part of ep->answers; see tcp_rx_is_stopped. */
	/* Bytes of answers that the peer may have to keep because of this end's
	 * requests. */
	size_t asked_bytes;
	struct wf_list answers, txq;
	struct wf_list acks, resps, matches;
	/* struct tcp_tx by index: requests to send whose payload is not in the stream
	 * yet, with @want TCP_WANT_CTS until the clear to send. Until then the peer
	 * would take the index in another request for an error. */
	struct tcp_slots rts;
	unsigned int rts_count, rts_next;
	unsigned int cleared; /* number of rendezvous whose payload waits in txq */
	uint64_t match_id;

	fi_addr_t source; /* AV index of the peer; FI_ADDR_NOTAVAIL: not known */
	struct wf_unexp_conn unexp;
	/* struct tcp_rdv by index: rendezvous of the peer whose payload has not
	 * arrived. */
	struct tcp_slots rdv;
	/* State for TCP_HAVE_LOCAL (local/local.h); NULL: not agreed on. */
	struct tcp_local *local;
	/* Bytes of records that the socket took, and bytes that were read from it. */
	uint64_t sent, received;
	struct tcp_rx rx;
};

/* conn.c. The connection owns @fd, a non-blocking socket, from now on; it is not read
 * before tcp_conn_start_reading. NULL: no memory. ep.lock held, as for all functions in
 * this file. */
struct tcp_conn *tcp_conn_new(struct tcp_ep *ep, int fd,
	const struct tcp_wire_peer *wire, struct tcp_peer *peer);
/* Read the connection from now on. */
void tcp_conn_start_reading(struct tcp_conn *conn);
/* Mark the connection as failed with @err (positive): the next progress call takes it
 * down. ep.lock held. */
void tcp_conn_fail(struct tcp_conn *conn, int err);
/* Take the connection down. Its operations fail with @err, or are dropped without a
 * completion if @err is 0. The lock of the owner of ep.srx and ep.lock are held. The
 * memory is freed at the end of progress. */
void tcp_conn_end(struct tcp_conn *conn, int err);
void tcp_conn_free_dead(struct tcp_ep *ep);
/* Called before this end closes a working connection: reads what the peer sent, because
 * the kernel drops unsent bytes when a socket with unread bytes is closed. */
void tcp_conn_hang_up(struct tcp_conn *conn);
/* Limit of hot connections; others are read when the epoll set reports them. */
enum { TCP_HOT_MAX = 16 };

/* Start or stop reading the connection in each progress call (a hot connection);
 * otherwise it is read when the epoll set reports it. */
void tcp_conn_make_hot(struct tcp_conn *conn);
void tcp_conn_make_cold(struct tcp_conn *conn);
/* The epoll events that a sleeping thread has to wait for. */
uint32_t tcp_conn_events(struct tcp_conn *conn);

/* Have the epoll set report @events of the socket; the connection fails if it
 * cannot. */
void tcp_conn_watch(struct tcp_conn *conn, uint32_t events);
const union wf_sockaddr *tcp_conn_addr(const struct tcp_conn *conn);
/* The peer's index in the AV, or FI_ADDR_NOTAVAIL. */
fi_addr_t tcp_conn_index(struct tcp_conn *conn);
/* The source that completions report; FI_ADDR_NOTAVAIL if it is unknown or not asked
 * for. */
fi_addr_t tcp_conn_source(struct tcp_conn *conn);

/* tx.c */
struct tcp_tx *tcp_tx_new(struct tcp_source *from, const struct wf_op *op);
struct tcp_tx *tcp_tx_answer(struct tcp_conn *conn, uint8_t kind, size_t copy_len);
void tcp_tx_free(struct tcp_tx *tx);
void tcp_tx_complete(struct tcp_tx *tx);
void tcp_tx_fail(struct tcp_tx *tx, int err, const union wf_sockaddr *peer);
/* Fast path: write a small message into the stage. False: the caller has to queue a
 * struct tcp_tx. */
bool tcp_tx_small(
	struct tcp_conn *conn, struct tcp_source *from, const struct wf_op *op);
/* The connection failed: remove from the stage the last message, which began at
 * @before. False: bytes behind @before were sent, or the message is not in the
 * stage. */
bool tcp_tx_take_back(struct tcp_conn *conn, uint64_t before);
/* End the messages in the stage with the error @err, or without a completion if @err is
 * 0. */
void tcp_tx_drop_stage(struct tcp_conn *conn, int err);

/* flush.c */
/* Send what is queued, as far as the socket takes it. */
void tcp_tx_flush(struct tcp_conn *conn);
/* A record was queued. Send it now; or in the next progress call, if the caller is
 * likely to queue more (@more). */
void tcp_tx_kick(struct tcp_conn *conn, bool more);
void tcp_tx_dirty(struct tcp_conn *conn);

static inline bool tcp_tx_idle(const struct tcp_conn *conn)
{
	return conn->staged == conn->flushed && !conn->cur && !conn->acks_due &&
	       wf_list_empty(&conn->answers) && wf_list_empty(&conn->txq);
}

/*
 * The memory of answers has a budget, FI_TCP_ANSWER_SIZE: a connection is not read
 * while its answers take more than its part (objects/conn/budget.h).
 *
 * Two ends that stop reading each other would wait for ever. So a requester limits its
 * requests under way: their answers take at most TCP_ANSWER_WINDOW, counted in the same
 * way. An end whose known peer keeps this limit never stops reading; to a stranger it
 * has no requests under way.
 */
enum {
	TCP_ANSWER_COST = 576, /* bytes that an answer without payload is counted as */
	TCP_ANSWER_WINDOW = 256 << 10,
	TCP_ANSWER_SHARE = 2 * TCP_ANSWER_WINDOW,
};

static_assert(sizeof(struct tcp_tx) <= TCP_ANSWER_COST, "an answer without payload");

/* conn.c: is the peer in the AV, or was its connection accepted by the application? */
bool tcp_conn_is_known(struct tcp_conn *conn);

/* Do the answers, of which there are some, take too much memory? */
static inline bool tcp_answers_full(struct tcp_conn *conn)
{
	const struct wf_budget *budget = &conn->ep->answers;
	size_t bytes = conn->answer_bytes;

	return !wf_budget_fits(budget, bytes, 0) &&
	       (!wf_budget_shares(budget, bytes, 0) || !tcp_conn_is_known(conn));
}

/* Must the connection not be read now, because of its answers, or because the layer
 * above takes no more of its messages? */
static inline bool tcp_rx_is_stopped(struct tcp_conn *conn)
{
	const struct wf_inbox_feed *feed = conn->ep->ep.inbox;

	return (wf_unlikely(conn->answer_bytes) && tcp_answers_full(conn)) ||
	       (feed && wf_unlikely(wf_inbox_is_held(feed)));
}

/* tx.c: count an answer that leaves conn->answers, to be sent or dropped. */
void tcp_answer_taken(struct tcp_conn *conn, const struct tcp_tx *tx);

/* prepare.c: bytes that the answer to an operation will take at the peer. */
size_t tcp_asked_cost(const struct tcp_tx *tx);

/* prepare.c: choose the kind of record for an operation. Returns 0; -FI_EAGAIN: the
 * operation has to wait; another negative fi_errno: the operation fails with it. */
int tcp_tx_prepare(struct tcp_conn *conn, struct tcp_tx *tx);

/* Can the connection continue without new bytes in the socket? True if a held message
 * was matched, and bytes behind its header were read already or it has no payload; or
 * if bytes were read behind a record after which reading stopped. */
static inline bool tcp_rx_goes_on(const struct tcp_rx *rx)
{
	return rx->sink != TCP_SINK_HOLD && (rx->held || (rx->body && !rx->left));
}

/* rx.c: read and handle the bytes in the socket; true if there were any. The lock of
 * the owner of ep.srx and ep.lock are held. */
bool tcp_rx_poll(struct tcp_conn *conn);
/* The same until the socket is empty, for a connection that is being ended. */
void tcp_rx_drain(struct tcp_conn *conn);
/* Handle what the peer had sent before sending to the peer failed. */
void tcp_rx_last_words(struct tcp_conn *conn);
/* Did the peer close the connection, although not all of its bytes were read? */
bool tcp_rx_ended(struct tcp_conn *conn);
/* Store the payload of the current record in @iov; bytes beyond that are dropped. */
void tcp_rx_sink(struct tcp_conn *conn, const struct iovec *iov, size_t count);
void tcp_rx_drop(struct tcp_conn *conn);
/* The payload is stored in @iov from now on; the bytes of it that have arrived are
 * copied from @from. */
void tcp_rx_move(struct tcp_conn *conn, const struct iovec *iov, size_t count,
	const uint8_t *from);

/* Handlers of one kind of record: head() with the header in rx.rec, done() after the
 * payload. head() returns 0, or the negative fi_errno with which the connection fails:
 * -FI_EPROTO. */
struct tcp_handler {
	int (*head)(struct tcp_conn *conn);
	void (*done)(struct tcp_conn *conn);
};

int tcp_msg_head(struct tcp_conn *conn);
void tcp_msg_done(struct tcp_conn *conn);
int tcp_rts_head(struct tcp_conn *conn);
int tcp_cts_head(struct tcp_conn *conn);
int tcp_rdv_head(struct tcp_conn *conn);
void tcp_rdv_done(struct tcp_conn *conn);
int tcp_ack_head(struct tcp_conn *conn);
int tcp_error_head(struct tcp_conn *conn);
int tcp_matched_head(struct tcp_conn *conn);
int tcp_probe_head(struct tcp_conn *conn);
int tcp_card_head(struct tcp_conn *conn);
void tcp_card_done(struct tcp_conn *conn);
int tcp_write_head(struct tcp_conn *conn);
void tcp_write_done(struct tcp_conn *conn);
int tcp_read_head(struct tcp_conn *conn);
int tcp_resp_head(struct tcp_conn *conn);
void tcp_resp_done(struct tcp_conn *conn);
int tcp_atomic_head(struct tcp_conn *conn);
void tcp_atomic_done(struct tcp_conn *conn);

/* answer.c: queue an answer. Answers have no identifier; they are sent in the order of
 * the records that they answer. */
void tcp_answer_ack(struct tcp_conn *conn);
void tcp_answer_error(struct tcp_conn *conn, enum tcp_answer row, int err);

/* unexp.c: fail with @err the messages whose payload is incomplete. If @quiet is set,
 * matched receives end without a completion. */
void tcp_unexp_break(struct tcp_conn *conn, int err, bool quiet);

#endif
