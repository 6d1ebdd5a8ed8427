/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_CONN_H
#define TCP_CONN_H

#include "providers/tcp/data/slots.h"
#include "providers/tcp/tcp.h"

struct tcp_peer;
struct tcp_way;

/* The event that completes an operation after its record was sent. */
enum tcp_want {
	TCP_WANT_SENT, /* the record is with the kernel */
	TCP_WANT_ACK,  /* the peer's acknowledgement; waits in conn->acks */
	TCP_WANT_RESP, /* the peer's response; waits in conn->resps */
	/* The peer's note that the message was matched; waits in conn->matches. */
	TCP_WANT_MATCHED,
	TCP_WANT_CTS, /* the peer's clear to send; waits in conn->rts */
};

/*
 * A record to send, and the operation that it belongs to until the operation ends. An
 * answer to a peer has no operation: op is WF_OP_COUNT. Allocated with as many bytes of
 * @copy as its injected payload or its operands need.
 */
struct tcp_tx {
	struct wf_list link;
	struct tcp_source *from; /* where the operation was posted; NULL: an answer */
	/* Heap copy of the payload, made when a transmit context was closed; else NULL.
	 */
	void *kept;
	struct tcp_record rec;
	uint64_t op_flags;
	void *context;
	fi_addr_t addr;
	size_t len;
	uint8_t op; /* enum wf_op_kind, or WF_OP_COUNT */
	/* enum tcp_want */
	uint8_t want;
	/* The payload is the registered memory that rec.seg names, not iov. */
	bool from_mr;
	/* A request to send was sent; after the peer's clear to send this is its data.
	 */
	bool rendezvous;
	uint8_t hdr_len; /* bytes of hdr; 0: it is not encoded yet */
	uint8_t iov_count, result_count;
	uint64_t done; /* bytes of the record, header included, that were sent */
	struct iovec iov[2 * TCP_IOV_LIMIT];
	/* Buffers for the result of a fetching atomic. */
	struct iovec result[TCP_IOV_LIMIT];
	uint8_t hdr[TCP_WIRE_HDR_MAX];
	uint8_t copy[];
};

/* The completion of a message in the stage: it is due when the kernel has the message.
 */
struct tcp_mark {
	struct tcp_source *from;
	void *context;
	uint64_t op_flags;
	fi_addr_t addr;
	/* Value of conn->staged behind the message; it is complete when conn->flushed
	 * has reached that. */
	uint64_t end;
	uint32_t len;
	uint8_t op;
};

/*
 * Bytes of small records that were not sent yet. A connection has a stage only while it
 * has such records: a small one first, the endpoint's full size when that fills up.
 * @bytes lie behind @marks in the same allocation.
 */
struct tcp_stage {
	size_t head, tail, size;
	/* Next free mark and oldest mark; they run free and are masked with mark_mask.
	 */
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
	/* Nowhere yet: the socket is not read until the message is matched. */
	TCP_SINK_HOLD,
};

struct tcp_rx {
	/* The next bytes are payload; else they begin or continue a header. */
	bool body;
	uint8_t sink;      /* enum tcp_sink */
	uint8_t carry_len; /* bytes in @carry: an incomplete header */
	/* fi_errno of the operation that the record asks for; 0: none. */
	int err;
	unsigned int iov_count;
	/* Bytes of the payload that have not come, and how many of them the sink can
	 * store. */
	uint64_t left, capacity;
	uint64_t offset;   /* TCP_SINK_MR: payload bytes that were stored */
	struct iovec *iov; /* unused buffers of the sink; points into iovs */
	struct fi_peer_rx_entry *entry;
	/* The saved message; NULL: the message was matched. */
	struct wf_srx_unexpected *unexp;
	/* The rendezvous that the payload belongs to; NULL: none. */
	struct tcp_rdv *rdv;
	/* Heap memory for the operands of an atomic; else NULL. */
	uint8_t *buf;
	/* TCP_SINK_HOLD: heap copy of bytes that were read already; else NULL. */
	uint8_t *held;
	size_t held_len;
	struct tcp_record rec;
	union {
		struct iovec iovs[TCP_IOV_LIMIT]; /* if @body is set */
		uint8_t carry[TCP_WIRE_HDR_MAX];  /* if @body is not set */
	};
};

/*
 * A connection in its data phase; ep.lock. Bytes are sent in this order: the stage
 * (whole records), the rest of @cur, acknowledgements that are due, @answers, @txq.
 */
struct tcp_conn {
	struct wf_watch watch; /* has the socket (fd) */
	struct tcp_ep *ep;
	struct tcp_peer *peer; /* NULL for FI_EP_MSG */
	struct wf_list link, hot_link, dirty_link, failed_link, owing_link;
	struct tcp_wire_peer wire; /* what the two ends agreed on */
	/* Positive fi_errno that ends the connection; 0: none. */
	int err;
	bool hot;
	bool local; /* the peer is on this machine */
	/* Sending failed: receive what the peer sent before, then take the connection
	 * down. */
	bool unread;
	bool probing;   /* a probe was sent and is not answered */
	uint8_t number; /* running number of the next record */
	uint32_t quiet; /* polls in a row that read nothing */
	/* wf_now_ns when the peer was last known to be alive (keepalive.c); 0: all
	 * bytes were acknowledged. */
	uint64_t alive_ns;
	uint64_t checked_ns; /* wf_now_ns of the last check by tcp_conn_gone() */
	/* ep->epoch when a message was last sent by the call that posted it. */
	uint32_t sent_epoch;
	/* Number of such messages in that epoch, at most AT_ONCE (flush.c). */
	uint8_t at_once;
	/* A progress call came between such messages of two epochs. */
	bool polled;

	struct tcp_stage *stage; /* unsent bytes; NULL: none */
	/* Total bytes that were added to the stage, and that left it. */
	uint64_t staged, flushed;
	struct tcp_tx *cur;
	uint32_t acks_due;
	/* Acknowledgements in @answers, where they stay behind an error. */
	uint32_t acks_ordered;
	size_t answer_bytes; /* bytes of memory of @answers; see tcp_tx_choked */
	/* Bytes of answers that the peer may have to keep for this end's requests. */
	size_t asked_bytes;
	struct wf_list answers, txq;
	struct wf_list acks, resps, matches;
	/* struct tcp_tx by index: requests to send without an answer. */
	struct tcp_slots rts;
	unsigned int rts_count, rts_next;
	unsigned int cleared; /* rendezvous whose data waits in txq */
	uint64_t match_id;

	fi_addr_t source; /* AV index of the peer; FI_ADDR_NOTAVAIL: not known */
	struct wf_unexp_conn unexp;
	/* struct tcp_rdv by index: rendezvous of the peer whose data has not come. */
	struct tcp_slots rdv;
	struct tcp_way *way; /* with TCP_HAVE_LOCAL (local/way.h); else NULL */
	/* Bytes of records that the socket took, and that were read from it. */
	uint64_t sent, received;
	struct tcp_rx rx;
};

/* conn.c. @fd, non-blocking, belongs to the connection from now on. NULL: no memory.
 * ep.lock held, as in the rest of this file. */
struct tcp_conn *tcp_conn_new(struct tcp_ep *ep, int fd,
	const struct tcp_wire_peer *wire, struct tcp_peer *peer);
/* Mark the connection as failed with @err (positive): the next progress call takes it
 * down. ep.lock held. */
void tcp_conn_fail(struct tcp_conn *conn, int err);
/* Take the connection down. Its operations fail with @err, or are dropped without a
 * completion if that is 0. The lock of the owner of ep.srx and ep.lock held. The memory
 * is freed at the end of progress. */
void tcp_conn_end(struct tcp_conn *conn, int err);
void tcp_conn_free_dead(struct tcp_ep *ep);
/* To be called before this end closes a working connection: reads what the peer sent,
 * because the kernel drops unsent bytes when it closes a socket with unread ones. */
void tcp_conn_hang_up(struct tcp_conn *conn);
/* Beyond so many hot connections, others are read when the epoll set reports them. */
enum { TCP_HOT_MAX = 16 };

/* Have each progress call read the connection (hot); or only when the epoll set reports
 * it. */
void tcp_conn_heat(struct tcp_conn *conn);
void tcp_conn_cool(struct tcp_conn *conn);
/* The epoll events that a sleeper has to wait for. */
uint32_t tcp_conn_events(const struct tcp_conn *conn);
const union wf_sockaddr *tcp_conn_addr(const struct tcp_conn *conn);
/* The AV index of the other end, or FI_ADDR_NOTAVAIL. */
fi_addr_t tcp_conn_index(struct tcp_conn *conn);
/* The source that completions report: fi_addr_t, or FI_ADDR_NOTAVAIL if it is unknown
 * or not asked for. */
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
/* The connection failed: remove the last message, staged at @before, from the stage.
 * False: bytes behind @before were sent, or nothing was staged. */
bool tcp_tx_take_back(struct tcp_conn *conn, uint64_t before);
/* End the messages in the stage with @err, or without a completion if that is 0. */
void tcp_tx_drop_stage(struct tcp_conn *conn, int err);

/* flush.c */
/* Send what is queued, as far as the socket takes it. */
void tcp_tx_flush(struct tcp_conn *conn);
/* A record was queued: send it now, or in the next progress call if the caller is
 * likely to queue more (@more). */
void tcp_tx_kick(struct tcp_conn *conn, bool more);
void tcp_tx_dirty(struct tcp_conn *conn);

static inline bool tcp_tx_idle(const struct tcp_conn *conn)
{
	return conn->staged == conn->flushed && !conn->cur && !conn->acks_due &&
	       wf_list_empty(&conn->answers) && wf_list_empty(&conn->txq);
}

/*
 * The memory of answers is limited. A connection is not read while its answers take
 * more than TCP_ANSWER_SHARE and either more than a quarter of the endpoint's limit
 * (FI_TCP_ANSWER_SIZE) or, with those of all other connections, the whole limit.
 *
 * Two ends that stop reading each other would wait for ever. So a requester has
 * requests under way whose answers take at most TCP_ANSWER_WINDOW, by the same count:
 * an end whose peer keeps to that never stops reading.
 */
enum {
	TCP_ANSWER_COST = 576, /* bytes that an answer without payload counts */
	TCP_ANSWER_WINDOW = 256 << 10,
	TCP_ANSWER_SHARE = 2 * TCP_ANSWER_WINDOW,
};

static_assert(sizeof(struct tcp_tx) <= TCP_ANSWER_COST, "an answer without payload");

static inline bool tcp_answers_full(const struct tcp_conn *conn)
{
	size_t limit = tcp_params.answer_size;

	return conn->answer_bytes > limit / 4 || conn->ep->answer_bytes > limit;
}

static inline bool tcp_tx_choked(const struct tcp_conn *conn)
{
	return conn->answer_bytes > TCP_ANSWER_SHARE && tcp_answers_full(conn);
}

/* tx.c: count an answer that leaves conn->answers, to be sent or dropped. */
void tcp_answer_taken(struct tcp_conn *conn, const struct tcp_tx *tx);

/* prepare.c: bytes that the answer to an operation takes at the peer. */
size_t tcp_asked_cost(const struct tcp_tx *tx);

/* prepare.c: choose the kind of record for an operation. 0; -FI_EAGAIN: it has to wait;
 * other: the operation fails with that. */
int tcp_tx_prepare(struct tcp_conn *conn, struct tcp_tx *tx);

/* Is there something to handle that no socket reports: what was held, or a held message
 * without payload, is free to go on? */
static inline bool tcp_rx_goes_on(const struct tcp_rx *rx)
{
	return rx->sink != TCP_SINK_HOLD && (rx->held || (rx->body && !rx->left));
}

/* rx.c: read and handle what the socket has; true if there were bytes. The lock of the
 * owner of ep.srx and ep.lock held. */
bool tcp_rx_poll(struct tcp_conn *conn);
/* The same until the socket is empty, for a connection that is being ended. */
void tcp_rx_drain(struct tcp_conn *conn);
/* Handle what the peer had sent before sending to it failed. */
void tcp_rx_last_words(struct tcp_conn *conn);
/* Did the peer close the connection, although not all of its bytes were read? */
bool tcp_rx_ended(struct tcp_conn *conn);
/* Store the payload of the current record in @iov; bytes beyond that are dropped. */
void tcp_rx_sink(struct tcp_conn *conn, const struct iovec *iov, size_t count);
void tcp_rx_drop(struct tcp_conn *conn);
/* Store the payload in @iov from now on; the bytes that came before are at @from and
 * are copied. */
void tcp_rx_move(struct tcp_conn *conn, const struct iovec *iov, size_t count,
	const uint8_t *from);

/* Handlers of one kind of record: head() with the header in rx.rec, done() after the
 * payload. Not 0: protocol error, the connection is closed. */
struct tcp_handler {
	int (*head)(struct tcp_conn *conn);
	int (*done)(struct tcp_conn *conn);
};

int tcp_msg_head(struct tcp_conn *conn);
int tcp_msg_done(struct tcp_conn *conn);
int tcp_rts_head(struct tcp_conn *conn);
int tcp_cts_head(struct tcp_conn *conn);
int tcp_rdv_head(struct tcp_conn *conn);
int tcp_rdv_done(struct tcp_conn *conn);
int tcp_ack_head(struct tcp_conn *conn);
int tcp_error_head(struct tcp_conn *conn);
int tcp_matched_head(struct tcp_conn *conn);
int tcp_probe_head(struct tcp_conn *conn);
int tcp_card_head(struct tcp_conn *conn);
int tcp_card_done(struct tcp_conn *conn);
int tcp_write_head(struct tcp_conn *conn);
int tcp_write_done(struct tcp_conn *conn);
int tcp_read_head(struct tcp_conn *conn);
int tcp_resp_head(struct tcp_conn *conn);
int tcp_resp_done(struct tcp_conn *conn);
int tcp_atomic_head(struct tcp_conn *conn);
int tcp_atomic_done(struct tcp_conn *conn);

/* ack.c: queue an answer; answers have no identifier, and are sent in the order of the
 * records that they answer. */
int tcp_answer_ack(struct tcp_conn *conn);
int tcp_answer_error(struct tcp_conn *conn, enum tcp_answer row, int err);

/* unexp.c: fail messages whose payload is incomplete with @err; with @quiet, receives
 * that were matched end without a completion. */
void tcp_unexp_break(struct tcp_conn *conn, int err, bool quiet);

#endif
