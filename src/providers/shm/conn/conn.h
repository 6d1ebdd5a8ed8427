/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_CONN_H
#define SHM_CONN_H

#include "providers/shm/data/reader.h"
#include "providers/shm/data/writer.h"
#include "providers/shm/shm.h"
#include "sys/copy.h"
#include "sys/pool.h"

struct shm_peer;
struct shm_remote;
struct shm_sink;
struct shm_verdicts;

/* Local memory of a transfer: the application's buffers, or segments of registered
 * memory. */
struct shm_span {
	uint64_t len;
	uint8_t count;
	/* seg[] is valid: registered memory, whose keys are looked up again for each
	 * piece. Else iov[] is. */
	bool remote;
	/* Copy with stores that bypass the caches, because the transfer is larger than
	 * they are. */
	bool past;
	union {
		struct iovec iov[SHM_IOV_LIMIT];
		struct fi_rma_iov seg[SHM_RMA_LIMIT];
	};
};

/* The objects of this endpoint that a peer's record can refer to by an id. */
enum shm_id_type { SHM_ID_FREE, SHM_ID_TX, SHM_ID_SINK };

struct shm_id {
	void *object;
	uint32_t generation;
	/* Index of the next free entry, if this one is free; (uint32_t)-1: none. */
	uint32_t next;
	uint8_t type;
};

/*
 * An operation of the application that did not end at once, or an answer to a peer's
 * request (op is WF_OP_COUNT). Operations wait in conn->txq until the lane has space;
 * then they are complete, or wait in conn->settling until the peer answers; the answer
 * contains their id.
 */
struct shm_tx {
	struct wf_list link;
	uint64_t op_flags;
	void *context;
	fi_addr_t addr;
	uint64_t id; /* id in records of the peer; 0: the operation has none */
	uint64_t tag, data, sink;
	/* Payload bytes that were sent (streams), received (reads), or copied by this
	 * endpoint (data/remote.h). */
	uint64_t done;
	uint8_t op;   /* enum wf_op_kind, or WF_OP_COUNT */
	uint8_t kind; /* of an answer: enum shm_kind of its record */
	/* Index in region->tokens[], plus 1; 0: the message has no token. */
	uint8_t token;
	uint8_t datatype, atomic_op;
	uint8_t result_count, compare_count, seg_count;
	bool asked; /* rendezvous: the request to send was written */
	/* Stream: the first record was sent, or the peer sent a clear to send. */
	bool begun;
	/* A replayed message, whose completion was written before: its end is not
	 * reported. */
	bool is_completed;
	/* An RMA or atomic operation that is a request, or that this endpoint has
	 * performed (data/remote.h). */
	bool by_lane, is_performed;
	uint32_t tell; /* SHM_TELL_* of its regions */
	/* A read or write whose request can be withdrawn; it is withdrawn; the number
	 * of its record (data/withdraw.h). */
	bool in_record, is_gone;
	uint32_t number;
	/* A long write (data/parts.h): it is sent in parts; it ends when its @parts
	 * have; positive fi_errno of the first part that failed. Of a part: the long
	 * write. */
	bool in_parts, awaits_parts;
	uint32_t parts;
	int part_err;
	struct shm_tx *whole;
	/* Heap memory that is freed with the operation: an injected payload, or the
	 * blob of an answer. NULL: none. */
	uint8_t *copy;
	size_t copy_len;
	struct shm_span local;
	/* Valid up to seg_count, result_count and compare_count. */
	struct fi_rma_iov seg[SHM_RMA_LIMIT];
	struct iovec result[SHM_IOV_LIMIT], compare[SHM_IOV_LIMIT];
};

/* The destination of DATA records, and of copies by the kernel: a matched rendezvous
 * message, or a peer's write that is longer than one record. */
struct shm_sink {
	struct wf_list link; /* link in conn->sinks */
	/* Link in ep->pulls while this endpoint reads, or may decide to read, the
	 * payload from the peer's memory. */
	struct wf_list pull_link;
	struct shm_conn *conn;
	struct fi_peer_rx_entry *entry; /* the matched receive; NULL: no message */
	struct shm_span to;
	uint64_t id;      /* id of the sink in records of the peer; 0: a write */
	uint64_t request; /* the peer's id of the operation */
	uint64_t len, done, data;
	uint64_t asked_ns; /* time (wf_now_ns) when the clear to send was written */
	uint32_t token;    /* index in region->tokens[]; SHM_TOKENS: none */
	uint8_t flags;     /* SHM_FLAG_* of the request's record */
	uint8_t from_count;
	/* This endpoint reads the payload from the peer's memory, and has taken the
	 * token. */
	bool pull;
	int err;
	struct iovec from[SHM_IOV_LIMIT]; /* addresses in the peer's process */
};

/* wf_srx_unexpected.note of an unexpected message (objects/conn/unexp.h). RTS: its
 * payload is at the sender, and its payload memory holds a struct shm_waiting. COMING:
 * it is in conn->coming, and its payload memory holds the pieces that came. */
enum { SHM_UNEXP_RTS = 1, SHM_UNEXP_COMING = 2 };

struct shm_waiting {
	struct shm_rts rts;
	uint8_t flags; /* SHM_FLAG_* of the request's record */
};

/* How long the peer has left requests unread (data/withdraw.h). */
struct shm_patience {
	/* Link in ep->impatient while there may be requests. */
	struct wf_list link;
	uint32_t taken;    /* shm_lane.taken at @since_ns */
	uint64_t since_ns; /* 0: there were no requests then */
	/* Requests were withdrawn, and the peer has taken none since. */
	bool is_silent;
	bool has_withdrawn; /* requests were withdrawn at any time */
	/* The peer has to tell which of them it executed. */
	bool is_asking;
	/* Operations in conn->settling with shm_tx.in_record. */
	uint32_t waiting;
};

/* How the bytes of the byte ring are used again (data/reuse.h). */
struct shm_reuse {
	uint32_t bytes; /* bytes of payload in this stretch */
	/* Length in bytes of the ring's beginning whose pages are populated, as far as
	 * that is known. */
	uint32_t populated;
	uint16_t ask; /* stretches until the connection asks for a wide ring */
	bool is_wide; /* it has a wide ring, and is counted in ep->wide_rings */
};

/* A message whose pieces are arriving (data/pieces.h). They are copied to the buffers
 * of the matched receive @entry, or to the memory of the message @saved; both NULL: the
 * message was dropped. */
struct shm_coming {
	struct fi_peer_rx_entry *entry;
	struct wf_srx_unexpected *saved;
	uint64_t data;
	uint32_t len; /* message length in bytes */
	uint32_t
		left; /* number of bytes that have not arrived; 0: no message arrives */
	uint8_t flags; /* SHM_FLAG_* of its first record */
};

/* Why the first operation of conn->txq stays there, though the lane has space: it is in
 * the middle of a copy that the next flush continues; or earlier ones have not ended.
 */
enum shm_held { SHM_HELD_NOT, SHM_HELD_COPYING, SHM_HELD_ORDER };

/*
 * A connection between two endpoints, guarded by ep.lock. While nothing is queued, an
 * operation that fits is written to the lane by the call that posts it. Otherwise
 * shm_out_flush sends, in this order: acknowledgements, answers, operations (txq),
 * streams of messages that have a clear to send.
 */
struct shm_conn {
	struct shm_writer out;
	struct shm_reader in;
	struct shm_ep *ep;
	struct shm_peer *peer;
	/* Nothing is queued and no error is set, so an operation may be written at
	 * once. */
	bool idle;
	/* Records are being read, or transfers end: acknowledgements are sent together
	 * afterwards. */
	bool polling;
	bool full; /* The last flush ended because the lane had no space. */
	bool wake; /* The peer may sleep: write to its socket when it is armed. */
	bool cma;  /* The peer's memory can be accessed (cross-memory attach). */
	/* The peer lets this endpoint copy the memory of its regions. */
	bool copies_regions;
	uint8_t held; /* enum shm_held */
	/* Index in region->lane of the lane that this endpoint writes. */
	uint8_t out_lane;
	int err;           /* positive fi_errno that ends the connection; 0: none */
	uint32_t position; /* index in ep->conns */
	uint32_t quiet;    /* number of successive polls that found nothing */
	fi_addr_t index;   /* of the peer in the AV; FI_ADDR_NOTAVAIL: not known */
	/* Number of the peer's record that this endpoint waited for when it last sent a
	 * message which could be sent in pieces. */
	uint32_t heard;
	struct shm_coming coming;
	struct shm_reuse reuse;
	struct wf_list failed_link, dirty_link, verdict_link;
	/* Link in ep->regions.visits, guarded by the lock of the map of regions. */
	struct wf_list visit_link;
	struct wf_list answers, txq, streams;
	/* struct shm_tx that were sent and that the peer has not answered, by link */
	struct wf_list settling;
	struct wf_list sinks;
	/* The peer's write to which DATA records with word 0 belong; NULL: none. */
	struct shm_sink *writing;
	uint64_t *acks; /* ids of the peer that have to be acknowledged */
	uint32_t ack_count, ack_capacity;
	/* Memory of answers: the connection's part of ep->answers. */
	size_t answer_bytes;
	/* Number of operations with an id that the peer has not answered. */
	uint32_t unsettled;
	/* Small writes and atomics, which have no id (data/verdict.h); NULL: there was
	 * none. */
	struct shm_verdicts *verdicts;
	struct shm_id *ids;
	uint32_t id_count, id_free;
	/* Bit mask of the tokens that messages of this endpoint use. */
	uint64_t tokens;
	struct wf_unexp_conn unexp;
	struct shm_region *region;
	/* The peer's regions (data/remote.h); NULL: none was accessed yet. The peer has
	 * its table open as descriptor @table_fd; -1: there is none. */
	struct shm_remote *remote;
	int table_fd;
	uint64_t instance; /* of the peer's endpoint */
	struct shm_patience patience;
	/* Number of a record: no access to the peer's memory has to wait until the peer
	 * has taken it or an earlier one. */
	uint32_t passed;
	/* The peer waits for verdicts: report the reader's position after every batch
	 * of records. */
	bool tells;
	/* Process of the peer, in this process's PID namespace; 0: not visible. */
	pid_t pid;
	/* The peer keeps probe_value at probe_addr: proof that the process pid is still
	 * the peer; and when it was last seen (wf_now_ns, data/proof.h). */
	uint64_t probe_addr, probe_value, proved_ns;
	struct wf_watch watch; /* watches the peer's socket */
};

/* conn.c. */
struct shm_conn *shm_conn_new(struct shm_ep *ep, struct shm_peer *peer, int fd,
	struct shm_region *region, unsigned int out_lane);
/* Mark the connection as failed with @err (positive): the next progress call takes it
 * down. ep.lock held. */
void shm_conn_fail(struct shm_conn *conn, int err);
/* Take the connection down. Its operations fail with @err, or are dropped without a
 * completion if that is 0. Where @err is not 0 and the connection has failed with
 * FI_ECONNRESET, what the peer left unread waits for the next process of the same name
 * (shm_replay). The lock of the owner of ep.srx and ep.lock are held. The memory is
 * freed at the end of progress. */
void shm_conn_end(struct shm_conn *conn, int err);
void shm_conn_free_dead(struct shm_ep *ep);
/* From now on each progress call polls the connection (a hot connection), or only one
 * call in a round of all cold connections does. */
void shm_conn_make_hot(struct shm_conn *conn);
void shm_conn_make_cold(struct shm_conn *conn);
const char *shm_conn_name(const struct shm_conn *conn);
fi_addr_t shm_conn_index_slow(struct shm_conn *conn);

/* id.c */
uint64_t shm_id_new(struct shm_conn *conn, enum shm_id_type type, void *object);
void *shm_id_find(const struct shm_conn *conn, uint64_t id, enum shm_id_type type);
void shm_id_free(struct shm_conn *conn, uint64_t id);

/* tx.c: operations that do not end in the call that posts them. ep.lock is held, as for
 * the rest of this file. */
/* An answer to the peer, on no list; NULL: no memory. */
struct shm_tx *shm_tx_blank(struct shm_ep *ep);
struct shm_tx *shm_tx_new(struct shm_ep *ep, const struct wf_op *op);
/* Describe the queued RMA or atomic operation @tx as the call that posted it did, for
 * as long as @tx and @atomic exist. */
void shm_tx_describe(
	const struct shm_tx *tx, struct wf_op *op, struct wf_op_atomic *atomic);
/* The same for an operation whose record is in the lane: stores only the fields that
 * its end needs. */
struct shm_tx *shm_tx_sent(struct shm_ep *ep, const struct wf_op *op);
void shm_tx_free(struct shm_ep *ep, struct shm_tx *tx);
void shm_tx_complete(struct shm_ep *ep, struct shm_tx *tx);
void shm_tx_fail(struct shm_ep *ep, struct shm_tx *tx, int err, const char *peer);
/* The peer answers the operation no more. */
void shm_tx_drop_id(struct shm_conn *conn, struct shm_tx *tx);
/* The peer answered the operation: complete it, or fail it with @err (positive). */
void shm_tx_settle(struct shm_conn *conn, struct shm_tx *tx, int err);

/* An operation that failed: the fields are those of struct wf_op. */
struct shm_failure {
	enum wf_op_kind kind;
	int err; /* positive fi_errno */
	uint64_t op_flags;
	void *context;
	fi_addr_t addr;
	const char *peer; /* its name */
};

/* Write the error entry, which contains the peer's fi_addr_t and its address, and count
 * the failure. */
void shm_tx_report_failure(struct shm_ep *ep, const struct shm_failure *failure);
/* Queue an answer: a record of kind @kind with a blob of @len bytes, which is copied.
 * If there is no memory, the connection fails. */
void shm_tx_answer(struct shm_conn *conn, uint8_t kind, uint64_t word, const void *blob,
	size_t len);
/* Queue a stream of DATA records from tx->local, which the caller sets, to the peer's
 * object with the id @sink. NULL: no memory, and the connection failed. */
struct shm_tx *shm_tx_stream(struct shm_conn *conn, uint64_t sink);
void shm_tx_ack(struct shm_conn *conn, uint64_t id);
void shm_tx_error(struct shm_conn *conn, uint64_t id, int err);

/* out.c: records into the lane. */
void shm_out_flush(struct shm_conn *conn);
/* Like shm_tx_answer, but written to the lane at once if nothing is queued and there is
 * space. */
void shm_out_answer(struct shm_conn *conn, uint8_t kind, uint64_t word,
	const void *blob, size_t len);
/* Send the acknowledgements of the records that were just read. */
void shm_out_acks(struct shm_conn *conn);
void shm_out_dirty(struct shm_conn *conn);
/* Wake the peer after a store for which it may sleep, if *@asleep is 1, which the peer
 * sets in the region before it sleeps. A full fence orders this endpoint's store before
 * its load of *@asleep; the peer's full fence (shm_arm) orders its store of that word
 * before its load of what this endpoint stored. */
void shm_out_ring(struct shm_conn *conn, _Atomic uint32_t *asleep);
/* Wake the peer if it sleeps; has to be called after every commit. */
void shm_out_wake_slow(struct shm_conn *conn);
/* Load the reader's position. False: it is impossible, and the connection failed. */
bool shm_out_refresh(struct shm_conn *conn);
bool shm_out_has_space_slow(struct shm_conn *conn);

/* Is a slot of the lane free? */
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

/* small.c: write an RMA or atomic operation that fits one slot into the lane at once.
 * True: *@ret is the result of the application's call. False: the operation does not
 * fit, or operations are queued before it, and the caller has to queue it. */
bool shm_small_start(struct shm_conn *conn, const struct wf_op *op, ssize_t *ret);
/* enum shm_kind of the records of RMA and atomic operations; 0 for messages. */
extern const uint8_t shm_access_kinds[WF_OP_COUNT];

/* replay.c: the peer of @conn, which was taken down, has died. Messages that it never
 * processed, and for which the application has completions, are queued for the next
 * peer with its name. */
void shm_replay(struct shm_conn *conn);

/* rx.c: handle the record with @head and those after it, up to a limit; returns their
 * number. The lock of the owner of ep.srx and ep.lock are held. */
unsigned int shm_rx_from(struct shm_conn *conn, uint64_t head);

/* Handle the acknowledgements that come next, and no other records: ep.lock alone is
 * held. */
void shm_rx_acks(struct shm_conn *conn);

static inline unsigned int shm_rx_poll(struct shm_conn *conn)
{
	return shm_rx_from(conn, shm_reader_head(&conn->in));
}

/* A record whose fields were loaded once. @blob points into memory that the peer may
 * still change. */
struct shm_record {
	uint64_t word, data;
	const uint8_t *blob;
	uint32_t len;
	uint32_t total; /* MSG, TAGGED with SHM_FLAG_MORE: bytes of the message */
	/* With SHM_FLAG_BYTES, as in struct shm_long. */
	uint32_t read_slots;
	uint64_t read_bytes;
	uint8_t kind, flags;
};

/* Decode the record with @head, and advance @in->pos behind its bytes. False: the
 * record is malformed. */
bool shm_rx_decode(struct shm_reader *in, uint64_t head, struct shm_record *rec);

/* Handlers of one kind of record each. They return 0, or -FI_EPROTO: the connection
 * fails. */
int shm_recv_msg(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_rts(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_cts(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_data(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_performed(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_gone(struct shm_conn *conn, const struct shm_record *rec);
/* Handle a write in one slot, without flags, to one segment with a single piece of
 * memory. False: shm_recv_write has to handle it. */
bool shm_recv_small_write(struct shm_conn *conn, uint64_t head);
int shm_recv_write(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_read(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_atomic(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_resp(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_ack(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_error(struct shm_conn *conn, const struct shm_record *rec);

/* recv.c: the payload of a message is in its buffers: write the completion. */
void shm_recv_done(struct shm_conn *conn, struct fi_peer_rx_entry *entry, uint8_t flags,
	uint64_t len, uint64_t data);

/* recv.c: the connection ends before the payload of a matched message is complete: fail
 * the receive with @err, or, if @quiet is true, give it up without a completion. */
void shm_recv_end(
	struct shm_conn *conn, struct fi_peer_rx_entry *entry, int err, bool quiet);

/* bulk.c: rendezvous messages, and other streams of DATA records. */
int shm_bulk_start(struct shm_conn *conn, const struct shm_rts *rts,
	struct fi_peer_rx_entry *entry, uint8_t flags, uint64_t data);
void shm_bulk_progress(struct shm_ep *ep);
/* Make a sink for a peer's write that arrives as a stream; NULL: no memory, and the
 * connection failed. */
struct shm_sink *shm_bulk_write(struct shm_conn *conn, uint64_t request);
void shm_bulk_free(struct shm_sink *sink);
/* access.c: all bytes of a peer's write have arrived. */
void shm_access_written(struct shm_conn *conn, struct shm_sink *sink);
void shm_bulk_end(struct shm_conn *conn, int err, bool quiet);

extern const struct wf_unexp_ops shm_unexp_ops;
/* unexp.c: wf_unexp_save for the message of @rec, with @size bytes of payload memory.
 */
struct wf_srx_unexpected *shm_unexp_new(struct shm_conn *conn,
	const struct shm_record *rec, struct fi_peer_rx_entry *entry, size_t size);

/* span.c: copy between @span and a buffer. 0, or a negative fi_errno if a region was
 * closed meanwhile. */
int shm_span_put(struct shm_ep *ep, const struct shm_span *span, uint64_t offset,
	const uint8_t *from, size_t len);
int shm_span_get(struct shm_ep *ep, const struct shm_span *span, uint64_t offset,
	uint8_t *to, size_t len);

/* memcpy for lengths of mostly at most SHM_INLINE_MAX bytes. */
static inline void shm_copy(void *to, const void *from, size_t len)
{
	if (wf_likely(len <= SHM_INLINE_MAX))
		wf_copy_small(to, from, len);
	else
		wf_copy(to, from, len);
}

static inline bool shm_is_past(uint64_t len)
{
	return len >= shm_params.nontemporal_size;
}

/* @tx, an answer to the peer, waits for space, or until the peer has read it; and does
 * not any more. */
static inline void shm_answer_begin(struct shm_conn *conn, const struct shm_tx *tx)
{
	wf_budget_take(
		&conn->ep->answers, &conn->answer_bytes, sizeof(*tx) + tx->copy_len);
}

static inline void shm_answer_end(struct shm_conn *conn, const struct shm_tx *tx)
{
	wf_budget_give(
		&conn->ep->answers, &conn->answer_bytes, sizeof(*tx) + tx->copy_len);
}

static inline fi_addr_t shm_conn_index(struct shm_conn *conn)
{
	if (wf_likely(conn->index != FI_ADDR_NOTAVAIL &&
		      shm_av_seq(conn->ep) == conn->ep->av_seq))
		return conn->index;
	return shm_conn_index_slow(conn);
}

/* The source that completions report; FI_ADDR_NOTAVAIL if it is unknown or not asked
 * for. */
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
