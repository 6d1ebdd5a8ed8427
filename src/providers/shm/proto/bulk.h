/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_BULK_H
#define WF_SHM_PROTO_BULK_H

#include "providers/shm/proto/tx.h"
#include "providers/shm/wire/record.h"

/* Rendezvous messages, and other streams of DATA records: bulk.c, bulk_pull.c and
 * bulk_stream.c. ep.lock held. */

/* The destination of DATA records, and of copies by the kernel: a matched rendezvous
 * message, or a peer's write that is longer than one record. */
struct shm_sink {
	struct wf_list link; /* link in arriving.sinks of its connection */
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
	uint32_t token;    /* index in segment->tokens[]; SHM_TOKENS: none */
	uint8_t flags;     /* SHM_FLAG_* of the request's record */
	uint8_t from_count;
	/* This endpoint reads the payload from the peer's memory, and has taken the
	 * token. */
	bool pull;
	int err;
	struct iovec from[SHM_IOV_LIMIT]; /* addresses in the peer's process */
};

/* A message matched that the peer has announced by @rts. A result of a handler. */
int shm_bulk_start(struct shm_conn *conn, const struct shm_rts *rts,
	struct fi_peer_rx_entry *entry, uint8_t flags, uint64_t data);
/* Read payloads that are in the memory of peers. */
void shm_bulk_progress(struct shm_ep *ep);
/* Make a sink for a peer's write that arrives as a stream; NULL: no memory, and the
 * connection failed. */
struct shm_sink *shm_bulk_write(struct shm_conn *conn, uint64_t request);
void shm_bulk_free(struct shm_sink *sink);
/* The connection ends: fail the receives with @err, or, if @quiet is true, give them up
 * without completions. */
void shm_bulk_end(struct shm_conn *conn, int err, bool quiet);

/* The token with index @token for messages that the writer of lane @lane of the
 * segment sends. */
static inline struct shm_token *shm_bulk_token(
	struct shm_conn *conn, unsigned int lane, uint32_t token)
{
	return &conn->segment->tokens[lane][token];
}

/* The token of a message that is received; sink->token is less than SHM_TOKENS. */
static inline struct shm_token *shm_bulk_sink_token(const struct shm_sink *sink)
{
	return shm_bulk_token(sink->conn, !sink->conn->out_lane, sink->token);
}

/* Take the token: decide that this end moves the payload of message @id. False:
 * the other end moves it. */
static inline bool shm_bulk_take_token(struct shm_token *token, uint64_t id)
{
	return atomic_compare_exchange_strong_explicit(
		&token->id, &id, 0, memory_order_acq_rel, memory_order_relaxed);
}

/* Bytes of the payload that are received. */
static inline uint64_t shm_bulk_len(const struct shm_sink *sink)
{
	return WF_MIN(sink->len, sink->to.len);
}

/* Is the sum of the lengths of rts->iov[] the length of the payload? */
bool shm_bulk_is_whole(const struct shm_rts *rts);
/* The payload is where the request @rts says. */
void shm_bulk_set_source(struct shm_sink *sink, const struct shm_rts *rts);
/* From now on, progress calls read the payload, or decide whether to. */
void shm_bulk_add_pull(struct shm_sink *sink);
/* Send the clear to send: the sender then writes the payload into the lane. */
void shm_bulk_clear(struct shm_sink *sink);
/* The payload is complete: end the receive. */
void shm_bulk_finish(struct shm_sink *sink);

#endif
