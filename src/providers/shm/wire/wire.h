/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_WIRE_WIRE_H
#define WF_SHM_WIRE_WIRE_H

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_rma.h>

#include "sys/compiler.h"

/*
 * The memory that two connected endpoints share: one segment with a lane for each
 * direction.
 *
 * A lane is a ring of slots with one writer and one reader, and a ring of bytes for
 * blobs that do not fit a slot. A record is one slot. The reader detects it by the
 * number in its first word, which is stored last (L1) and loaded first (L2): a small
 * message moves one or two cache lines and nothing else. The reader stores its position
 * now and then (L3, L4); the writer loads it only when the ring seems to be full. A
 * writer may begin again at the beginning of the byte ring at any record, so only pages
 * that it uses take memory (reuse.h).
 * Records with many bytes also tell what their writer has read of the other lane: to a
 * reader that answers each message, the writer uses the same bytes again, which are in
 * the caches. Before the reader acts on a record it stores the record's number in
 * @taken: if the reader dies, the writer knows which records it never acted on
 * (replay.c). If it only makes no progress, the writer may withdraw small RMA
 * operations.
 *
 * Nothing in the segment is trusted. The position of a record's bytes is computed from
 * the reader's own count; kinds, lengths and numbers are loaded once and checked before
 * they are used. A peer that writes garbage damages its own operations with this
 * endpoint only, since no other peer shares the segment.
 */
enum {
	SHM_SLOTS = 256,
	SHM_BYTES = 4 << 20, /* size of the byte ring in bytes */
	/* Bytes left free behind each blob: the reader's processor prefetches lines
	 * behind those that it reads, and would take them from the writer, which writes
	 * the next blob. */
	SHM_BYTES_GAP = 1024,
	SHM_BYTES_ALIGN = 64,
	SHM_BLOB_MAX = 64 << 10, /* longest blob in the byte ring, in bytes */
	SHM_INLINE_MAX = 104,
};

enum shm_kind {
	SHM_REC_NONE,
	/* Blob: [id,] payload. With SHM_FLAG_MORE: in the byte ring, without an id, and
	 * the slot has the length of the whole payload behind that of the blob. */
	SHM_REC_MSG,
	SHM_REC_TAGGED, /* like SHM_REC_MSG */
	/* Blob: struct shm_rts, the request to send of a message whose payload is at
	 * the sender. */
	SHM_REC_RTS,
	SHM_REC_TAGGED_RTS,
	/* Clear to send; word: id of the message; blob: id of the sink. */
	SHM_REC_CTS,
	/* Word: id of the sink or of the read operation, or 0: the message or write in
	 * progress; blob: bytes of the payload. */
	SHM_REC_DATA,
	/* Word: shm_access_word; blob: id or SHM_ID_NONE, segments, [payload]. */
	SHM_REC_WRITE,
	SHM_REC_READ,   /* like SHM_REC_WRITE, without payload */
	SHM_REC_ATOMIC, /* like SHM_REC_WRITE, with operands */
	SHM_REC_FETCH,  /* like SHM_REC_ATOMIC */
	/* Like SHM_REC_ATOMIC, with the comparands behind the operands. */
	SHM_REC_COMPARE,
	/* Word: id; blob: the previous values that a fetching atomic returns. */
	SHM_REC_RESP,
	SHM_REC_ACK, /* blob: ids of the operations */
	/* Word: id; blob: uint32_t error. */
	SHM_REC_ERROR,
	/* The sender has read or written registered memory itself (remote.h), and the
	 * operation is an event here. Word: shm_access_word with SHM_DONE_*; blob: id
	 * or SHM_ID_NONE, segments. */
	SHM_REC_DONE,
	/* A WRITE or READ whose writer has withdrawn it (withdraw.h): it had no effect,
	 * which the reader tells as the result SHM_WITHDRAWN. */
	SHM_REC_GONE,
	SHM_REC_KINDS,
};

/* Flags of a record. */
enum {
	SHM_FLAG_DATA = 1 << 0, /* remote CQ data is in @data */
	/* Acknowledge the message when it is delivered; the blob begins with its id. */
	SHM_FLAG_ACK = 1 << 1,
	/* Acknowledge the message when it is matched; the blob begins with its id. */
	SHM_FLAG_MATCH = 1 << 2,
	SHM_FLAG_BYTES = 1 << 3, /* the blob is in the byte ring */
	SHM_FLAG_WRAP = 1 << 4,  /* the blob is at the beginning of the byte ring */
	SHM_FLAG_MORE = 1 << 5,  /* the rest of the payload follows in DATA records */
};

#define SHM_FLAGS_KNOWN 0x3f

enum { SHM_POSITION_MIN = 1024 };

/* What a slot has if the record's blob is in the byte ring. */
struct shm_long {
	uint32_t len;   /* length of the blob in bytes */
	uint32_t total; /* MSG, TAGGED with SHM_FLAG_MORE: bytes of the message */
	/* What the writer of this record had read of the other lane (struct
	 * shm_progress), if the blob has at least SHM_POSITION_MIN bytes: with shorter
	 * ones this takes more time than it saves. */
	uint64_t read_bytes;
	uint32_t read_slots;
};

struct shm_slot {
	/* Number of the record (32 bits) | kind << 32 | flags << 40 | length << 48 |
	 * heard << 56. The length is that of an inline blob in bytes. Heard: the lowest
	 * bits of the number of the last record of the other lane that the writer had
	 * read: is this an answer to it, or did the two cross? */
	alignas(2 * WF_CACHELINE) _Atomic uint64_t head;
	uint64_t word; /* tag, id or shm_access_word */
	uint64_t data; /* remote CQ data */
	union {
		uint8_t blob[SHM_INLINE_MAX];
		struct shm_long bytes; /* with SHM_FLAG_BYTES */
	};
};

/* Bytes of an inline blob that are in the first line of the slot. */
enum { SHM_FIRST_LINE = WF_CACHELINE - offsetof(struct shm_slot, blob) };

/* The reader polls the first line of a slot, and needs no other for a long record. */
static_assert(
	offsetof(struct shm_slot, bytes) + sizeof(struct shm_long) <= WF_CACHELINE,
	"one cache line");

static inline uint8_t shm_head_kind(uint64_t head)
{
	return (uint8_t)(head >> 32);
}

static inline uint8_t shm_head_flags(uint64_t head)
{
	return (uint8_t)(head >> 40);
}

/* Kind and flags of a record in one number. */
#define SHM_FORM(kind, flags) ((uint32_t)(kind) | (uint32_t)(flags) << 8)

static inline uint32_t shm_head_form(uint64_t head)
{
	return (uint16_t)(head >> 32);
}

static inline uint32_t shm_head_len(uint64_t head)
{
	return (uint8_t)(head >> 48);
}

static inline uint8_t shm_head_heard(uint64_t head)
{
	return (uint8_t)(head >> 56);
}

static_assert(SHM_INLINE_MAX <= UINT8_MAX, "the length has 8 bits");

static_assert(sizeof(struct shm_slot) == 2 * WF_CACHELINE, "two cache lines");

/* The position of a reader, in its own cache line. */
struct shm_progress {
	/* Bytes of the byte ring that were read; stored before @slots. */
	alignas(2 * WF_CACHELINE) _Atomic uint64_t bytes;
	_Atomic uint32_t slots;
	_Atomic uint32_t armed; /* the reader is about to sleep and has to be woken */
	/* The writer is about to sleep until there is space: the reader wakes it after
	 * it has stored its position. */
	_Atomic uint32_t waiting;
	/* The reader has ended the connection: the buffers of its own messages are the
	 * application's again. Stored before their operations end. */
	alignas(WF_CACHELINE) _Atomic uint32_t closed;
};

static_assert(sizeof(struct shm_progress) == 2 * WF_CACHELINE, "two cache lines");

struct shm_lane {
	struct shm_progress reader;
	/* Number of the last record that the reader began to process; the writer loads
	 * it when the reader has died. */
	alignas(2 * WF_CACHELINE) _Atomic uint32_t taken;
	/* Positive fi_errno of the WRITE or ATOMIC record with SHM_ID_NONE and the
	 * number n, in entry n % SHM_SLOTS: stored by the reader if it refuses the
	 * operation, before its position, and set to 0 by the writer, which has loaded
	 * the position (proto/verdict.h). */
	alignas(2 * WF_CACHELINE) _Atomic uint16_t refused[SHM_SLOTS];
	struct shm_slot slots[SHM_SLOTS];
	alignas(4096) uint8_t bytes[SHM_BYTES];
};

/*
 * A token: either end may move the payload of a rendezvous message, and the end that
 * takes the message's token does (bulk.c).
 */
enum { SHM_TOKENS = 64 };

struct shm_token {
	/* The id of the message until one end takes it, then 0. */
	alignas(2 * WF_CACHELINE) _Atomic uint64_t id;
};

/*
 * Accesses of one endpoint to the registered memory of the other one, without requests.
 * Which regions there are tells the owner's table (regions.h), where each has a serial
 * number that is never used again.
 *
 * The initiator stores the region's index in the table plus 1 in @busy (G1), loads
 * @open and the region's serial number (G2), accesses the memory only if both are as it
 * found them, and stores 0 in @busy (G3). To close a region the owner stores 0 in its
 * serial number, to end the connection 0 in @open (G4), and waits until @busy is not
 * that of the region, or is 0 (G5). Between G1 and G2 is a full fence, or the owner
 * executes one for both ends between G4 and G5 (membarrier(2)). So no access begins
 * after that, or lasts beyond it.
 *
 * Before its first access the initiator stores 1 in @used, and executes a full fence:
 * an owner that loads 0 from @used behind G4, and a fence, waits for nothing.
 */
struct shm_visits {
	alignas(2 * WF_CACHELINE) _Atomic uint32_t busy; /* of the initiator */
	_Atomic uint32_t used;
	/* Of the owner: 1 while it waits for accesses where it has to. */
	alignas(2 * WF_CACHELINE) _Atomic uint32_t open;
};

struct shm_segment {
	/* lane[0] is written by the endpoint that made the segment. */
	struct shm_lane lane[2];
	/* tokens[i]: of messages that the writer of lane[i] sends. */
	struct shm_token tokens[2][SHM_TOKENS];
	/* visits[i]: to regions of the writer of lane[i]. */
	struct shm_visits visits[2];
};

/* Limits and layouts of blobs, in the machine's byte order. */
enum { SHM_IOV_LIMIT = 4, SHM_RMA_LIMIT = 4 };

struct shm_rts {
	uint64_t id, len;
	uint32_t token; /* index of the token; SHM_TOKENS: none */
	uint32_t count;
	struct {
		uint64_t base, len;
	} iov[SHM_IOV_LIMIT];
};

/* Id in a WRITE or ATOMIC record, both with the whole payload, that gets no answer: the
 * reader's position and shm_lane.refused[] tell what became of it. */
enum { SHM_ID_NONE = 0 };

/* The error that tells the writer of a GONE that the reader found it withdrawn; no
 * fi_errno. */
enum { SHM_WITHDRAWN = UINT16_MAX };

/* The operation in the word of a DONE. */
enum { SHM_DONE_WRITE, SHM_DONE_READ };

/* Length in bytes of id and segment, with which the blob of an access to one segment
 * begins. */
enum { SHM_ACCESS_HEAD = sizeof(uint64_t) + sizeof(struct fi_rma_iov) };

/* The word of RMA and atomic records, from the lowest byte: number of segments, data
 * type, operation. (Not a structure, so that it is stored and loaded as one word.) */
static inline uint64_t shm_access_word(
	unsigned int segs, unsigned int datatype, unsigned int op)
{
	return segs | (uint64_t)datatype << 8 | (uint64_t)op << 16;
}

#endif
