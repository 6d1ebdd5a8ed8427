/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_CONN_H
#define TCP_CONN_H

#include "providers/tcp/slots.h"
#include "providers/tcp/tcp.h"

struct tcp_peer;

/* What ends an operation. */
enum tcp_want {
	TCP_WANT_SENT,    /* the kernel has all of it */
	TCP_WANT_ACK,     /* in conn->acks until acknowledged */
	TCP_WANT_RESP,    /* in conn->resps until answered */
	TCP_WANT_MATCHED, /* in conn->matches until matched */
	TCP_WANT_CTS,     /* in conn->rts until cleared to send */
};

/*
 * A record to send, and the operation that it is part of until that ends. Answers are
 * records without an operation: kind WF_OP_COUNT. Allocated with space for @copy.
 */
struct tcp_tx {
	struct wf_list link;
	struct tcp_source *from; /* NULL: an answer */
	void *kept;              /* a copy of the payload that was made later */
	struct tcp_record rec;
	uint64_t op_flags;
	void *context;
	fi_addr_t addr;
	size_t len;
	uint8_t op; /* enum wf_op_kind, or WF_OP_COUNT */
	uint8_t want;
	bool from_mr;    /* the payload is memory that rec.seg names */
	bool rendezvous; /* started as one: once cleared, the data goes */
	uint8_t hdr_len; /* 0: not encoded */
	uint8_t iov_count, result_count;
	uint64_t done; /* bytes of the record that were sent */
	struct iovec iov[2 * TCP_IOV_LIMIT];
	struct iovec result[TCP_IOV_LIMIT]; /* of fetching atomics */
	uint8_t hdr[TCP_WIRE_HDR_MAX];
	uint8_t copy[];
};

/* A message in the stage whose completion is due when the kernel has it. */
struct tcp_mark {
	struct tcp_source *from;
	void *context;
	uint64_t op_flags;
	fi_addr_t addr;
	uint64_t end; /* conn->staged behind it */
	uint32_t len;
	uint8_t op;
};

/*
 * Small records on their way out. Connections have one while they need it: a small one,
 * unless that fills up before it is sent. @bytes are behind @marks.
 */
struct tcp_stage {
	size_t head, tail, size;
	uint32_t mark_head, mark_tail; /* run free */
	uint32_t mark_mask;
	uint8_t *bytes;
	struct tcp_mark marks[];
};

struct wf_srx_unexpected;
struct tcp_rdv;

/* Where the payload of the record that arrives goes to. */
enum tcp_sink {
	TCP_SINK_IOV,  /* iov */
	TCP_SINK_MR,   /* memory that rec.seg names */
	TCP_SINK_HOLD, /* nowhere yet: nothing is read until the message is matched */
};

struct tcp_rx {
	bool body;         /* within a payload */
	uint8_t sink;      /* enum tcp_sink */
	uint8_t carry_len; /* bytes of a header that is not whole yet */
	int err;           /* of the operation that the record asks for */
	unsigned int iov_count;
	uint64_t left, capacity; /* bytes of the payload to come, and of the sink */
	uint64_t offset;         /* TCP_SINK_MR: bytes placed */
	struct iovec *iov;       /* the rest of the sink; points into iovs */
	struct fi_peer_rx_entry *entry;
	struct wf_srx_unexpected *unexp; /* no receive has asked for it yet */
	struct tcp_rdv *rdv;             /* whose data it is */
	uint8_t *buf;                    /* operands of atomics */
	uint8_t *held;                   /* TCP_SINK_HOLD: what was read already */
	size_t held_len;
	struct tcp_record rec;
	union {
		struct iovec iovs[TCP_IOV_LIMIT]; /* @body */
		uint8_t carry[TCP_WIRE_HDR_MAX];  /* not @body */
	};
};

/*
 * A connection in its data phase. What goes out, in this order: the stage (bytes of
 * whole records), the rest of @cur, acknowledgements that are due, @answers, @txq.
 */
struct tcp_conn {
	struct wf_watch watch; /* and the socket */
	struct tcp_ep *ep;
	struct tcp_peer *peer; /* FI_EP_RDM */
	struct wf_list link, hot_link, dirty_link, failed_link, owing_link;
	struct tcp_wire_peer wire; /* what was agreed */
	int err;                   /* why it is to be taken down */
	bool hot;
	bool local;          /* the other end is on this machine */
	bool unread;         /* failed in sending: what came before is to be read */
	bool probing;        /* a probe was sent and not answered yet */
	uint8_t number;      /* of the next record */
	uint32_t quiet;      /* polls in a row that found nothing */
	uint64_t alive_ns;   /* keepalive.c: not dead before; 0: nothing was owed */
	uint64_t checked_ns; /* when tcp_conn_gone() asked, last */
	uint32_t sent_epoch; /* when the last message went out at once */
	uint8_t at_once;     /* how many did since then, up to a limit */
	bool polled;         /* there was progress after some that did before */

	struct tcp_stage *stage;  /* NULL: empty */
	uint64_t staged, flushed; /* bytes that ever came into it and left it */
	struct tcp_tx *cur;
	uint32_t acks_due;
	uint32_t acks_ordered; /* acknowledgements among the answers */
	size_t answer_bytes;   /* memory of answers; see tcp_tx_choked */
	size_t asked_bytes;    /* the same at the peer, for what we asked it */
	struct wf_list answers, txq;
	struct wf_list acks, resps, matches;
	struct tcp_slots rts; /* of struct tcp_tx, by index */
	unsigned int rts_count, rts_next;
	unsigned int cleared; /* rendezvous whose data wait in txq */
	uint64_t match_id;

	fi_addr_t source; /* index in the AV; FI_ADDR_NOTAVAIL: not known */
	struct wf_unexp_conn unexp;
	struct tcp_slots rdv; /* of struct tcp_rdv, by index: the data is to come */
	struct tcp_rx rx;
};

/* conn.c. @fd becomes the connection's, non-blocking. */
struct tcp_conn *tcp_conn_new(struct tcp_ep *ep, int fd,
	const struct tcp_wire_peer *wire, struct tcp_peer *peer);
/* Mark it: the next progress call takes it down. Any caller under ep.lock. */
void tcp_conn_fail(struct tcp_conn *conn, int err);
/* Take it down. Operations end with @err, or without a word if that is 0. The owner's
 * lock and ep.lock held. The memory is freed at the end of progress. */
void tcp_conn_end(struct tcp_conn *conn, int err);
void tcp_conn_free_dead(struct tcp_ep *ep);
/* Before we end it ourselves: the kernel goes on sending what was completed. It would
 * not, were anything left unread. */
void tcp_conn_hang_up(struct tcp_conn *conn);
/* Read it in each progress call, or only when the epoll set tells of it. */
void tcp_conn_heat(struct tcp_conn *conn);
void tcp_conn_cool(struct tcp_conn *conn);
/* What a sleeper has to wait for. */
uint32_t tcp_conn_events(const struct tcp_conn *conn);
const union wf_sockaddr *tcp_conn_addr(const struct tcp_conn *conn);
/* The AV index of the other end, or FI_ADDR_NOTAVAIL. */
fi_addr_t tcp_conn_index(struct tcp_conn *conn);
/* What completions say is the source. */
fi_addr_t tcp_conn_source(struct tcp_conn *conn);

/* tx.c */
struct tcp_tx *tcp_tx_new(struct tcp_source *from, const struct wf_op *op);
struct tcp_tx *tcp_tx_answer(struct tcp_conn *conn, uint8_t kind, size_t copy_len);
void tcp_tx_free(struct tcp_tx *tx);
void tcp_tx_complete(struct tcp_tx *tx);
void tcp_tx_fail(struct tcp_tx *tx, int err, const union wf_sockaddr *peer);
/* A small plain message straight into the stage: false when it cannot go that way. */
bool tcp_tx_small(
	struct tcp_conn *conn, struct tcp_source *from, const struct wf_op *op);
/* The connection failed: what was staged since @before is taken out again, if none of
 * it has left. */
bool tcp_tx_take_back(struct tcp_conn *conn, uint64_t before);
/* Messages in the stage end with @err, or without a word if that is 0. */
void tcp_tx_drop_stage(struct tcp_conn *conn, int err);

/* flush.c */
/* Send what there is, as far as the socket takes it. */
void tcp_tx_flush(struct tcp_conn *conn);
/* There is something new to send: now, or with the next progress call when more is
 * likely to come. */
void tcp_tx_kick(struct tcp_conn *conn, bool more);
void tcp_tx_dirty(struct tcp_conn *conn);

static inline bool tcp_tx_idle(const struct tcp_conn *conn)
{
	return conn->staged == conn->flushed && !conn->cur && !conn->acks_due &&
	       wf_list_empty(&conn->answers) && wf_list_empty(&conn->txq);
}

/*
 * Memory of answers. A connection is read no further while its answers take more than
 * TCP_ANSWER_SHARE and either more than a quarter of the endpoint's limit or, together
 * with those of all other connections, the whole limit (FI_TCP_ANSWER_SIZE).
 *
 * Two ends that stopped reading each other would wait for ever. So a requester has no
 * more under way than TCP_ANSWER_WINDOW, by the same count: an end whose peer keeps to
 * that never stops reading.
 */
enum {
	TCP_ANSWER_COST = 576, /* of one without payload */
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

/* tx.c: an answer leaves conn->answers, to be sent or dropped. */
void tcp_answer_taken(struct tcp_conn *conn, const struct tcp_tx *tx);

/* prepare.c: what the answer to an operation takes at the peer. */
size_t tcp_asked_cost(const struct tcp_tx *tx);

/* prepare.c: choose the form of the record. -FI_EAGAIN: later. Other: it fails. */
int tcp_tx_prepare(struct tcp_conn *conn, struct tcp_tx *tx);

/* rx.c: read and handle what the socket has; true when it had something. */
bool tcp_rx_poll(struct tcp_conn *conn);
/* The same until nothing is left, of one that ends. */
void tcp_rx_drain(struct tcp_conn *conn);
/* It failed in sending: handle what had come before. */
void tcp_rx_last_words(struct tcp_conn *conn);
/* Did the other end close it, although we have not read that far? */
bool tcp_rx_ended(struct tcp_conn *conn);
/* The payload that is awaited goes to @iov. */
void tcp_rx_sink(struct tcp_conn *conn, const struct iovec *iov, size_t count);
void tcp_rx_drop(struct tcp_conn *conn);
/* It goes to @iov from now on, and what came of it lies at @from. */
void tcp_rx_move(struct tcp_conn *conn, const struct iovec *iov, size_t count,
	const uint8_t *from);

/* What a record means: called with its header in rx.rec, and after its payload. Not 0:
 * protocol error, the connection is closed. */
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
int tcp_write_head(struct tcp_conn *conn);
int tcp_write_done(struct tcp_conn *conn);
int tcp_read_head(struct tcp_conn *conn);
int tcp_resp_head(struct tcp_conn *conn);
int tcp_resp_done(struct tcp_conn *conn);
int tcp_atomic_head(struct tcp_conn *conn);
int tcp_atomic_done(struct tcp_conn *conn);

/* ack.c: answers that carry no identifier, in the order of what they answer. */
int tcp_answer_ack(struct tcp_conn *conn);
int tcp_answer_error(struct tcp_conn *conn, enum tcp_answer row, int err);

/* unexp.c: messages that are not whole fail with @err; with @quiet, receives that were
 * matched end without completion. */
void tcp_unexp_break(struct tcp_conn *conn, int err, bool quiet);

#endif
