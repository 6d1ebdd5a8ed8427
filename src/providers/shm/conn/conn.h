/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_CONN_CONN_H
#define WF_SHM_CONN_CONN_H

#include "providers/shm/shm.h"
#include "providers/shm/wire/reader.h"
#include "providers/shm/wire/writer.h"

struct shm_peer;
struct shm_remote;
struct shm_sink;
struct shm_verdicts;
struct wf_srx_unexpected;

/* The process of the peer, and whether its memory can be accessed (conn/proof.h). */
struct shm_process {
	uint64_t instance; /* of the peer's endpoint */
	/* The peer keeps probe_value at probe_addr: proof that the process pid is still
	 * the peer; and when it was last seen (wf_now_ns). */
	uint64_t probe_addr, probe_value, proved_ns;
	pid_t pid; /* in this process's PID namespace; 0: not visible */
	bool cma;  /* its memory can be accessed (cross-memory attach) */
};

/* Why the first operation of queue.txq stays there, though the lane has space: it is in
 * the middle of a copy that the next flush continues; or earlier ones have not
 * ended. */
enum shm_held { SHM_HELD_NOT, SHM_HELD_COPYING, SHM_HELD_ORDER };

/* Records to be written into the lane, struct shm_tx by link; in this order:
 * acknowledgements, answers, operations (txq), streams of messages that have a clear to
 * send. */
struct shm_queue {
	/* Nothing is queued and no error is set, so an operation may be written at
	 * once. */
	bool idle;
	bool full;    /* The last flush ended because the lane had no space. */
	uint8_t held; /* enum shm_held */
	/* Link in ep->dirty while there is something to send. */
	struct wf_list dirty_link;
	struct wf_list answers, txq, streams;
	uint64_t *acks; /* ids of the peer that have to be acknowledged */
	uint32_t ack_count, ack_capacity;
	/* Memory of answers: the connection's part of ep->answers. */
	size_t answer_bytes;
};

/* The objects of this endpoint that a peer's record can refer to by an id
 * (proto/id.h). */
enum shm_id_type { SHM_ID_FREE, SHM_ID_TX, SHM_ID_SINK };

struct shm_id {
	void *object;
	uint32_t generation;
	/* Index of the next free entry, if this one is free; (uint32_t)-1: none. */
	uint32_t next;
	uint8_t type;
};

struct shm_ids {
	struct shm_id *at;
	uint32_t count, free;
};

/* Operations that were sent and that the peer has not answered. */
struct shm_waits {
	struct wf_list settling; /* struct shm_tx by link */
	uint32_t unsettled;      /* number of those with an id */
	uint64_t tokens; /* bit mask of the tokens that messages of this endpoint use */
	/* Small writes and atomics, which have no id (proto/verdict.h); NULL: there was
	 * none. @link: in ep->verdicts. */
	struct shm_verdicts *verdicts;
	struct wf_list verdict_link;
};

/* How long the peer has left requests unread (proto/withdraw.h). */
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
	/* Operations in waits.settling with shm_tx.request.in_record. */
	uint32_t waiting;
};

/* The registered memory of the peer (copy/remote.h), and that of this endpoint for the
 * peer (copy/regions.h). */
struct shm_access {
	struct shm_remote *remote; /* NULL: none was accessed yet */
	/* Descriptor that the peer has its table open as; -1: there is none. */
	int table_fd;
	/* Number of a record: no access to the peer's memory has to wait until the peer
	 * has taken it or an earlier one. */
	uint32_t passed;
	bool copied; /* the peer lets this endpoint copy the memory of its regions */
	/* Link in ep->regions.visits, guarded by the lock of the map of regions. */
	struct wf_list visit_link;
};

/* How the bytes of the byte ring are used again (conn/reuse.h). */
struct shm_reuse {
	uint32_t bytes; /* bytes of payload in this stretch */
	/* Length in bytes of the ring's beginning whose pages are populated, as far as
	 * that is known. */
	uint32_t populated;
	uint16_t ask; /* stretches until the connection asks for a wide ring */
	bool is_wide; /* it has a wide ring, and is counted in ep->conns.wide_rings */
};

/* A message whose pieces are arriving (proto/pieces.h). They are copied to the buffers
 * of the matched receive @entry, or to the memory of the message @saved; both NULL: the
 * message was dropped. */
struct shm_coming {
	struct fi_peer_rx_entry *entry;
	struct wf_srx_unexpected *saved;
	uint64_t data;
	uint32_t len;  /* message length in bytes */
	uint32_t left; /* bytes that have not arrived; 0: no message arrives */
	uint8_t flags; /* SHM_FLAG_* of its first record */
};

/* Payloads of the peer that have not arrived whole. */
struct shm_arriving {
	struct shm_coming coming;
	struct wf_list sinks; /* struct shm_sink by link */
	/* The peer's write to which DATA records with word 0 belong; NULL: none. */
	struct shm_sink *writing;
};

/*
 * A connection between two endpoints, guarded by ep.lock. While nothing is queued, an
 * operation that fits is written to the lane by the call that posts it; otherwise
 * shm_out_flush writes it.
 */
struct shm_conn {
	struct shm_writer out;
	struct shm_reader in;
	struct shm_queue queue;
	struct shm_ep *ep;
	struct shm_peer *peer;
	/* Records are being read, or transfers end: acknowledgements are sent together
	 * afterwards. */
	bool polling;
	bool wake; /* The peer may sleep: write to its socket when it is armed. */
	/* The peer waits for verdicts: report the reader's position after every batch
	 * of records. */
	bool tells;
	/* Index in segment->lane of the lane that this endpoint writes. */
	uint8_t out_lane;
	int err;           /* positive fi_errno that ends the connection; 0: none */
	uint32_t position; /* index in ep->conns.at */
	uint32_t quiet;    /* number of successive polls that found nothing */
	fi_addr_t index;   /* of the peer in the AV; FI_ADDR_NOTAVAIL: not known */
	/* Number of the peer's record that this endpoint waited for when it last sent a
	 * message which could be sent in pieces. */
	uint32_t heard;
	struct shm_arriving arriving;
	struct shm_reuse reuse;
	struct shm_waits waits;
	struct shm_ids ids;
	struct shm_patience patience;
	struct shm_access access;
	struct shm_process process;
	struct wf_unexp_conn unexp;
	struct shm_segment *segment;
	struct wf_watch watch; /* watches the peer's socket */
	/* Link in ep->failed, then in ep->dead. */
	struct wf_list failed_link;
};

/*
 * What the floors above do for this one: the only calls from here to there. ep.lock is
 * held in all of them, and the lock of the owner of ep.srx in read and end.
 */
struct shm_conn_ops {
	/* The connection works from now on. */
	void (*begin)(struct shm_conn *conn);
	/* Operations wait in queue.txq: write them soon. */
	void (*dirty)(struct shm_conn *conn);
	/* Write what is queued, as far as there is space. */
	void (*flush)(struct shm_conn *conn);
	/* Read records of the peer; returns their number, 0: there are none. */
	unsigned int (*read)(struct shm_conn *conn);
	/* End what is under way with @err, a positive fi_errno; without completions if
	 * that is 0. @keep: messages that are complete for the application stay in
	 * queue.txq. */
	void (*end)(struct shm_conn *conn, int err, bool keep);
	/* The peer of @conn, which was taken down, has died: keep the messages that it
	 * never processed for the next one with its name. */
	void (*replay)(struct shm_conn *conn);
	/* End an operation that waits for a connection to @peer, and is on no list any
	 * more; the error entry names the peer. Without a completion if @err is 0. */
	void (*end_waiting)(
		struct shm_ep *ep, struct wf_list *link, int err, const char *peer);
	/* Was it completed before, and is to be replayed? */
	bool (*is_replayed)(const struct wf_list *link);
	/* Hand such a message over to @unread, and free it. */
	void (*hand_over)(
		struct shm_ep *ep, struct wf_list *link, struct wf_unread *unread);
};

struct shm_conn *shm_conn_new(struct shm_ep *ep, struct shm_peer *peer, int fd,
	struct shm_segment *segment, unsigned int out_lane);
/* Mark the connection as failed with @err (positive): the next progress call takes it
 * down. ep.lock held. */
void shm_conn_fail(struct shm_conn *conn, int err);
/* Take the connection down. Its operations fail with @err, or are dropped without a
 * completion if that is 0. Where @err is not 0 and the connection has failed with
 * FI_ECONNRESET, what the peer left unread waits for the next process of the same name
 * (proto/replay.c). The lock of the owner of ep.srx and ep.lock are held. The memory is
 * freed at the end of progress. */
void shm_conn_end(struct shm_conn *conn, int err);
void shm_conn_free_dead(struct shm_ep *ep);
/* Stop watching the socket of @watch and close it, unless it is closed. */
void shm_watch_close(struct shm_ep *ep, struct wf_watch *watch);
/* From now on each progress call polls the connection (a hot connection), or only one
 * call in a round of all cold connections does. */
void shm_conn_make_hot(struct shm_conn *conn);
void shm_conn_make_cold(struct shm_conn *conn);
const char *shm_conn_name(const struct shm_conn *conn);
fi_addr_t shm_conn_index_slow(struct shm_conn *conn);

static inline fi_addr_t shm_conn_index(struct shm_conn *conn)
{
	if (wf_likely(conn->index != FI_ADDR_NOTAVAIL &&
		      shm_av_seq(conn->ep) == conn->ep->av_seq.seen))
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
