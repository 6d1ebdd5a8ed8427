/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_CONN_H
#define SHM_CONN_H

#include "providers/shm/ring.h"
#include "providers/shm/shm.h"
#include "sys/copy.h"
#include "sys/pool.h"

struct shm_peer;

/* Memory at one end of a transfer: buffers, or what keys of ours name. */
struct shm_span {
	uint64_t len;
	uint8_t count;
	bool remote; /* seg, looked up again for each piece */
	bool past;   /* the caches: it would only fill them */
	union {
		struct iovec iov[SHM_IOV_LIMIT];
		struct fi_rma_iov seg[SHM_RMA_LIMIT];
	};
};

/* What a peer's record may refer to by id. */
enum shm_id_type { SHM_ID_FREE, SHM_ID_TX, SHM_ID_SINK };

struct shm_id {
	void *object;
	uint32_t generation;
	uint32_t next; /* free one */
	uint8_t type;
};

/*
 * An operation until it ends, or an answer to a peer's (kind WF_OP_COUNT). Operations
 * wait in conn->txq until there is space; then they are complete, or known by their id
 * until the peer answers.
 */
struct shm_tx {
	struct wf_list link;
	uint64_t op_flags;
	void *context;
	fi_addr_t addr;
	uint64_t id; /* 0: none */
	uint64_t tag, data, sink;
	uint64_t done; /* of a stream: bytes that were sent */
	uint8_t op;    /* enum wf_op_kind, or WF_OP_COUNT */
	uint8_t kind;  /* of an answer: enum shm_kind */
	uint8_t claim; /* and 1; 0: none */
	uint8_t datatype, atomic_op;
	uint8_t result_count, compare_count, seg_count;
	bool asked;    /* a message that waits to be cleared */
	bool begun;    /* a stream: its head was sent */
	bool told;     /* the application thinks that it is over */
	uint8_t *copy; /* owned; what was injected, or the blob of an answer */
	size_t copy_len;
	struct shm_span local;
	/* Set as far as they are counted. */
	struct fi_rma_iov seg[SHM_RMA_LIMIT];
	struct iovec result[SHM_IOV_LIMIT], compare[SHM_IOV_LIMIT];
};

/* Where a stream of DATA goes: a matched message, or a peer's write. */
struct shm_sink {
	struct wf_list link;      /* conn->sinks */
	struct wf_list pull_link; /* ep->pulls: it may be, or is, pulled */
	struct shm_conn *conn;
	struct fi_peer_rx_entry *entry; /* NULL: a write */
	struct shm_span to;
	uint64_t id;      /* ours */
	uint64_t request; /* the peer's */
	uint64_t len, done, data;
	uint64_t asked_ns; /* when it was cleared to send */
	uint32_t claim;
	uint8_t flags; /* of the record */
	uint8_t from_count;
	bool pull; /* read from the peer's memory */
	int err;
	struct iovec from[SHM_IOV_LIMIT]; /* the peer's buffers */
};

/* The state of an unexpected message (objects/conn/unexp.h) whose payload is at the
 * sender: its payload memory has a struct shm_waiting. */
enum { SHM_UNEXP_RTS = 1 };

struct shm_waiting {
	struct shm_rts rts;
	uint8_t flags; /* of the record */
};

/*
 * Two endpoints that are connected. Small messages are written at once while nothing
 * waits in front of them. Otherwise, in this order: acknowledgements, answers, then
 * operations (txq) and messages that were cleared to send (streams) in turn.
 */
struct shm_conn {
	struct shm_writer out;
	struct shm_reader in;
	struct shm_ep *ep;
	struct shm_peer *peer;
	bool idle;       /* nothing of the below waits to be sent */
	bool polling;    /* acknowledgements are sent when all was read */
	bool full;       /* what waits found no space in the lane */
	bool wake;       /* the other end may sleep */
	bool cma;        /* its memory can be read */
	uint8_t side;    /* which lane we write */
	int err;         /* why it is to be taken down */
	uint32_t place;  /* in ep->conns */
	uint32_t quiet;  /* polls in a row that found nothing */
	fi_addr_t index; /* in the AV; FI_ADDR_NOTAVAIL: not known */
	struct wf_list failed_link, dirty_link;
	struct wf_list answers, txq, streams;
	struct wf_list settling; /* sent, and not settled: by tx->link */
	struct wf_list sinks;
	struct shm_sink *writing; /* the peer's write that DATA goes to */
	uint64_t *acks;           /* ids to acknowledge */
	uint32_t ack_count, ack_capacity, answer_count;
	uint32_t unsettled; /* ids that the peer has not answered */
	uint64_t silent;    /* operations that it only answers when they fail */
	struct shm_id *ids;
	uint32_t id_count, id_free;
	uint64_t claims; /* in use, of ours */
	struct wf_unexp_conn unexp;
	struct shm_region *region;
	pid_t pid; /* of the peer, as we see it; 0: not visible */
	uint64_t probe_addr, probe_value; /* what is where in its memory */
	struct wf_watch watch;            /* its socket */
};

/* conn.c. */
struct shm_conn *shm_conn_new(struct shm_ep *ep, struct shm_peer *peer, int fd,
	struct shm_region *region, unsigned int side);
/* Mark it: the next progress call takes it down. Any caller under ep.lock. */
void shm_conn_fail(struct shm_conn *conn, int err);
/* Take it down: operations end with @err, or without a word if that is 0. The owner's
 * lock and ep.lock held. The memory is freed at the end of progress. */
void shm_conn_end(struct shm_conn *conn, int err);
void shm_conn_free_dead(struct shm_ep *ep);
void shm_conn_heat(struct shm_conn *conn);
void shm_conn_cool(struct shm_conn *conn);
const char *shm_conn_name(const struct shm_conn *conn);
fi_addr_t shm_conn_index_slow(struct shm_conn *conn);

/* id.c */
uint64_t shm_id_new(struct shm_conn *conn, enum shm_id_type type, void *object);
void *shm_id_find(const struct shm_conn *conn, uint64_t id, enum shm_id_type type);
void shm_id_free(struct shm_conn *conn, uint64_t id);

/* tx.c: what operations are while they last. */
struct shm_tx *shm_tx_new(struct shm_ep *ep, const struct wf_op *op);
/* The same for one that is sent already: what is needed for its end. */
struct shm_tx *shm_tx_sent(struct shm_ep *ep, const struct wf_op *op);
void shm_tx_free(struct shm_ep *ep, struct shm_tx *tx);
void shm_tx_complete(struct shm_ep *ep, struct shm_tx *tx);
void shm_tx_fail(struct shm_ep *ep, struct shm_tx *tx, int err, const char *peer);
/* The peer is done with the operation. */
void shm_tx_settle(struct shm_conn *conn, struct shm_tx *tx, int err);
/* One that has no id failed. */
void shm_tx_fail_silent(struct shm_conn *conn, enum wf_op_kind kind, int err);
/* An answer of kind @kind with a blob of @len bytes, in its turn. */
void shm_tx_answer(struct shm_conn *conn, uint8_t kind, uint64_t word, const void *blob,
	size_t len);
/* A stream of ours to whom the peer knows as @sink, from tx->local; NULL as above. */
struct shm_tx *shm_tx_stream(struct shm_conn *conn, uint64_t sink);
void shm_tx_ack(struct shm_conn *conn, uint64_t id);
void shm_tx_error(struct shm_conn *conn, uint64_t id, int err);

/* out.c: records into the lane. */
void shm_out_flush(struct shm_conn *conn);
/* As shm_tx_answer, but written at once where that is possible. */
void shm_out_answer(struct shm_conn *conn, uint8_t kind, uint64_t word,
	const void *blob, size_t len);
/* The acknowledgements of what was read just now. */
void shm_out_acks(struct shm_conn *conn);
void shm_out_dirty(struct shm_conn *conn);
/* The peer hears of what we stored, should it sleep by the word @asleep of the region,
 * which it sets before it sleeps: there is a full fence between our store and our load
 * of that word, as between its store of the word and its load of what we stored
 * (shm_arm). */
void shm_out_ring(struct shm_conn *conn, _Atomic uint32_t *asleep);
/* Wake a reader that sleeps; after every commit. */
void shm_out_wake_slow(struct shm_conn *conn);
bool shm_out_has_space_slow(struct shm_conn *conn);

/* Is there a slot? */
static inline bool shm_out_has_space(struct shm_conn *conn)
{
	return wf_likely(shm_writer_slots(&conn->out) > 0) ||
	       shm_out_has_space_slow(conn);
}

static inline void shm_out_wake(struct shm_conn *conn)
{
	if (wf_unlikely(conn->wake))
		shm_out_wake_slow(conn);
}

/* small.c: an operation on the peer's memory, in one slot and at once. False: not this
 * one, or not now. *ret: what the call returns. */
bool shm_small_start(struct shm_conn *conn, const struct wf_op *op, ssize_t *ret);
/* What their records are. */
extern const uint8_t shm_access_kinds[WF_OP_COUNT];

/* replay.c: the peer of @conn, which was taken down, is dead. What it never took, and
 * cannot be reported to the application, waits for the next peer of its name. */
void shm_again(struct shm_conn *conn);

/* rx.c: read records; how many. The owner's lock and ep.lock held. */
unsigned int shm_rx_from(struct shm_conn *conn, uint64_t head);

static inline unsigned int shm_rx_poll(struct shm_conn *conn)
{
	return shm_rx_from(conn, shm_reader_head(&conn->in));
}

/* A record as it was read, once. @blob lies in memory that the peer may still change.
 */
struct shm_record {
	uint64_t word, data;
	const uint8_t *blob;
	uint32_t len;
	uint8_t kind, flags;
};

/* The record with @head, and @in->pos behind its bytes. False: it cannot be. */
bool shm_rx_decode(struct shm_reader *in, uint64_t head, struct shm_record *rec);

/* What records mean. Not 0: protocol error. */
int shm_recv_msg(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_rts(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_cts(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_data(struct shm_conn *conn, const struct shm_record *rec);
/* A write whose head this is, when it is short and plain. False: the long way. */
bool shm_recv_small_write(struct shm_conn *conn, uint64_t head);
int shm_recv_write(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_read(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_atomic(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_resp(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_ack(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_error(struct shm_conn *conn, const struct shm_record *rec);

/* recv.c: a message is whole; completion. */
void shm_recv_done(struct shm_conn *conn, struct fi_peer_rx_entry *entry, uint8_t flags,
	uint64_t len, uint64_t data);

/* bulk.c: messages that wait for their match. */
int shm_bulk_start(struct shm_conn *conn, const struct shm_rts *rts,
	struct fi_peer_rx_entry *entry, uint8_t flags, uint64_t data);
void shm_bulk_progress(struct shm_ep *ep);
/* For a peer's write that comes as a stream; NULL: the connection failed. */
struct shm_sink *shm_bulk_write(struct shm_conn *conn, uint64_t request);
void shm_bulk_free(struct shm_sink *sink);
/* access.c: all of it came. */
void shm_access_written(struct shm_conn *conn, struct shm_sink *sink);
void shm_bulk_end(struct shm_conn *conn, int err, bool quiet);

extern const struct wf_unexp_ops shm_unexp_ops;
/* unexp.c: wf_unexp_save for the message of @rec. */
struct wf_srx_unexpected *shm_unexp_new(struct shm_conn *conn,
	const struct shm_record *rec, struct fi_peer_rx_entry *entry, size_t size);

/* span.c: -errno when a region is not there any more. */
int shm_span_put(struct shm_ep *ep, const struct shm_span *span, uint64_t offset,
	const uint8_t *from, size_t len);
int shm_span_get(struct shm_ep *ep, const struct shm_span *span, uint64_t offset,
	uint8_t *to, size_t len);

/* What is mostly short. */
static inline void shm_copy(void *to, const void *from, size_t len)
{
	if (wf_likely(len <= SHM_INLINE_MAX))
		wf_copy_small(to, from, len);
	else
		memcpy(to, from, len);
}

static inline bool shm_is_past(uint64_t len)
{
	return len >= shm_params.nontemporal_size;
}

static inline fi_addr_t shm_conn_index(struct shm_conn *conn)
{
	if (wf_likely(conn->index != FI_ADDR_NOTAVAIL &&
		      shm_av_seq(conn->ep) == conn->ep->av_seq))
		return conn->index;
	return shm_conn_index_slow(conn);
}

/* What completions say is the source. */
static inline fi_addr_t shm_conn_source(struct shm_conn *conn)
{
	struct shm_ep *ep = conn->ep;
	fi_addr_t index;

	if (!ep->unexp.wants.source)
		return FI_ADDR_NOTAVAIL;
	index = shm_conn_index(conn);
	return wf_recv_source(&ep->ep, index);
}

#endif
