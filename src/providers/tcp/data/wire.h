/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_DATA_WIRE_H
#define WF_TCP_DATA_WIRE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <rdma/fi_rma.h>

#include "objects/op/op.h"

/*
 * The records of a connection: docs/tcp-wire.md has the byte tables.
 *
 * A record is a header of 16 to 128 bytes and a payload. Numbers in headers are little
 * endian between two little endian machines and big endian otherwise; a payload is
 * never converted. In this code a header is either bytes, or a struct tcp_record whose
 * fields were checked and are in the byte order of this machine.
 *
 * This code keeps no state. The callers make the checks that need state: whether an
 * answer was asked for, whether the index of a rendezvous is open, whether a read
 * response has the length of its request.
 */
enum {
	TCP_WIRE_VERSION = 3,
	TCP_WIRE_BASE = 16,
	TCP_WIRE_HDR_MAX =
		/* size of a header with a receive context; without one
		 * TCP_WIRE_HDR_OLD */
	128,
	TCP_WIRE_HDR_OLD = 120,
	TCP_WIRE_SEGS_MAX = 4,
	TCP_WIRE_SEG = 24,
	TCP_WIRE_ACK =
		2, /* op data that makes an untagged message an acknowledgement */
	TCP_WIRE_RDV_MIN = 1, /* range of the indices of open rendezvous */
	TCP_WIRE_RDV_MAX = 254,
	TCP_WIRE_RDV_MANY_MAX = 65535, /* highest index with TCP_HAVE_RDV_MANY */
	TCP_WIRE_ATOMIC_MAX = 16384,   /* size in bytes of one array of operands */
	TCP_WIRE_ERRNO_MAX = 4095,
	TCP_WIRE_CARD = 40,              /* payload bytes of TCP_REC_CARD */
	TCP_WIRE_CONTEXTS_MAX = 1 << 15, /* receive contexts of an endpoint */
};

/* Longest payload, and longest sum of segments. */
#define TCP_WIRE_PAYLOAD_MAX ((uint64_t)1 << 62)

/* The first 16 bytes of every header. */
struct tcp_wire_base {
	uint8_t version;
	uint8_t op;
	uint16_t flags;
	uint8_t op_data;
	uint8_t seg_count;
	uint8_t hdr_len;
	uint8_t number;
	uint64_t total;
};

static_assert(sizeof(struct tcp_wire_base) == TCP_WIRE_BASE, "wire layout");
static_assert(offsetof(struct tcp_wire_base, hdr_len) == 6, "wire layout");
static_assert(offsetof(struct tcp_wire_base, total) == 8, "wire layout");

/* Operation codes. Codes from 0x40 on belong to the extension; both ends must have
 * agreed on them. */
enum tcp_wire_op {
	TCP_OP_MSG = 0,
	TCP_OP_TAGGED = 1,
	TCP_OP_READ = 2,
	TCP_OP_READ_RESP = 3,
	TCP_OP_WRITE = 4,
	TCP_OP_RTS = 5,
	TCP_OP_CTS = 6,
	TCP_OP_RDV_DATA = 7,
	TCP_OP_ATOMIC = 0x40,
	TCP_OP_FETCH = 0x41,
	TCP_OP_COMPARE = 0x42,
	TCP_OP_ATOMIC_RESP = 0x43,
	TCP_OP_MSG_RTS = 0x44,
	TCP_OP_ERROR = 0x45,
	TCP_OP_MATCHED = 0x46,
	TCP_OP_PROBE = 0x47,
	TCP_OP_PROBE_RESP = 0x48,
	TCP_OP_CARD = 0x49,
};

/* The flags that this implementation knows; others are ignored. */
enum tcp_wire_flag {
	TCP_FLAG_DATA = 0x0001, /* remote CQ data is in the header */
	/* The receiver acknowledges the record when it is delivered. */
	TCP_FLAG_ACK = 0x0004,
	/* The receiver acknowledges the record when its data is persistent. */
	TCP_FLAG_COMMIT = 0x0008,
	/* Extension: the receiver answers with TCP_REC_MATCHED and the id of the
	 * header. */
	TCP_FLAG_MATCH = 0x0010,
	TCP_FLAG_CONTEXT = 0x0020, /* extension: a receive context is in the header */
	/* Untagged message with a tag in its header, which is a tagged one for
	 * endpoints with TCP_HAVE_RAW_TAGGED; only on the wire, never in a struct
	 * tcp_record. */
	TCP_FLAG_RAW_TAGGED = 0x0080,
};

/* Features that both ends agreed on when they connected. The low 16 bits are
 * exchanged. */
enum tcp_wire_have {
	TCP_HAVE_ATOMIC = 1 << 0,
	TCP_HAVE_RDV_MSG =
		1 << 1, /* rendezvous for untagged messages, also on FI_EP_MSG */
	TCP_HAVE_ERROR = 1 << 2,
	TCP_HAVE_MATCH = 1 << 3,
	TCP_HAVE_PROBE = 1 << 4,
	TCP_HAVE_TAGGED_MSG = 1 << 5, /* FI_EP_MSG: both ends support tagged messages */
	/* Formats of long double; a bit is agreed on only if both ends have that
	 * format. */
	TCP_HAVE_LDBL_X87 = 1 << 6,
	TCP_HAVE_LDBL_QUAD = 1 << 7,
	/* The index of a rendezvous has 16 bits, in two bytes of the base. */
	TCP_HAVE_RDV_MANY = 1 << 8,
	TCP_HAVE_CONTEXTS = 1 << 9, /* records may name a receive context */
	/* Both ends find out whether they share memory (docs/design/local.md). */
	TCP_HAVE_LOCAL = 1 << 11,
	/* All features of this implementation. Bit 10 belongs to an earlier form of
	 * TCP_HAVE_LOCAL. */
	TCP_HAVE_OFFER = 0xbff,

	/* The bits below are not exchanged; they are derived. */
	TCP_HAVE_TAGGED = 1 << 16, /* this end supports tagged messages */
	TCP_HAVE_RDV = 1 << 17,    /* RTS, CTS and the payload of a rendezvous */
	/* This end, an FI_EP_MSG endpoint, supports tagged messages, and the peer, of
	 * release 1.17, may send them with TCP_FLAG_RAW_TAGGED. */
	TCP_HAVE_RAW_TAGGED = 1 << 18,
};

/* The format of long double on this machine. */
#if defined(__x86_64__)
#define TCP_HAVE_LDBL_OWN TCP_HAVE_LDBL_X87
#elif __SIZEOF_LONG_DOUBLE__ == 16
#define TCP_HAVE_LDBL_OWN TCP_HAVE_LDBL_QUAD
#else
#define TCP_HAVE_LDBL_OWN 0
#endif

/* The properties of the peer that headers depend on. All zero: plain messages and RMA
 * only, and the same byte order. */
struct tcp_wire_peer {
	/* Numbers in the peer's headers are not in the byte order of this machine. */
	bool swap;
	uint32_t have;     /* enum tcp_wire_have */
	uint16_t contexts; /* number of receive contexts of the peer; 0 means 1 */
};

/* The highest index of a rendezvous on a connection. */
static inline unsigned int tcp_wire_rdv_max(const struct tcp_wire_peer *peer)
{
	return peer->have & TCP_HAVE_RDV_MANY ? TCP_WIRE_RDV_MANY_MAX
					      : TCP_WIRE_RDV_MAX;
}

/* Kinds of decoded records. */
enum tcp_rec_kind {
	TCP_REC_MSG,
	TCP_REC_TAGGED,
	TCP_REC_ACK,
	TCP_REC_READ,
	TCP_REC_READ_RESP,
	TCP_REC_WRITE,
	TCP_REC_RTS,
	TCP_REC_CTS,
	TCP_REC_RDV_DATA,
	TCP_REC_ATOMIC,      /* payload: operands */
	TCP_REC_FETCH,       /* payload: operands, none for FI_ATOMIC_READ */
	TCP_REC_COMPARE,     /* payload: operands, then as many comparands */
	TCP_REC_ATOMIC_RESP, /* payload: previous values */
	TCP_REC_MSG_RTS,     /* TCP_REC_RTS of an untagged message */
	TCP_REC_ERROR,       /* an error, in place of the answer of kind .answer */
	TCP_REC_MATCHED,     /* The message with the id .id was matched or discarded. */
	/* The receiver answers it at once, even if other records wait. */
	TCP_REC_PROBE,
	TCP_REC_PROBE_RESP, /* the answer to the probe with the id .id */
	/* The address of the sender's proof of locality; see local/proof.h. */
	TCP_REC_CARD,
	TCP_REC_KINDS,
};

/* The queue of answers that an error belongs to. Answers have no identifier:
 * acknowledgements come in the order of the records that asked for one, responses in
 * the order of reads, fetching and comparing atomics. */
enum tcp_answer {
	TCP_ANSWER_ACK = 2,
	TCP_ANSWER_RESP = 3,
};

struct tcp_record {
	uint8_t kind;    /* enum tcp_rec_kind */
	uint8_t hdr_len; /* length of the header in bytes; set by encode */
	uint8_t number;  /* running number modulo 256; 0: the sender does not count */
	uint8_t atomic_op, datatype; /* enum fi_op, enum fi_datatype */
	uint8_t answer;              /* in ERROR: enum tcp_answer */
	uint8_t seg_count;           /* in READ, WRITE and atomics */
	/* enum tcp_wire_flag, only flags that this kind of record may have. */
	uint16_t flags;
	uint16_t index; /* in RTS, MSG_RTS, CTS, RDV_DATA: index of the rendezvous */
	/* With TCP_FLAG_CONTEXT: index of the receive context; else 0. */
	uint16_t context;
	uint64_t payload_len;
	uint64_t data;    /* with TCP_FLAG_DATA: remote CQ data */
	uint64_t tag;     /* in TAGGED, RTS */
	uint64_t msg_len; /* in RTS, MSG_RTS: length of the message in bytes */
	/* With TCP_FLAG_MATCH, and in MATCHED, PROBE, PROBE_RESP: the sender's
	 * number. */
	uint64_t id;
	uint64_t span; /* length of all segments in bytes; encode does not read it */
	int err;       /* in ERROR: positive fi_errno */
	/* Memory at the target; the first seg_count entries are valid. Lengths are in
	 * bytes, also for atomics; addresses are offsets if the target's mr_mode lacks
	 * FI_MR_VIRT_ADDR. */
	struct fi_rma_iov seg[TCP_WIRE_SEGS_MAX];
};

/* The reason why a header is invalid. */
enum tcp_fault {
	TCP_FAULT_NONE,
	TCP_FAULT_OP, /* unknown operation, or one that was not agreed on */
	/* Header too short for its kind, too long, or not a multiple of 8 bytes. */
	TCP_FAULT_HDR_LEN,
	/* Total length below that of the header, or beyond the limit. */
	TCP_FAULT_TOTAL,
	TCP_FAULT_PAYLOAD, /* payload length that this kind of record cannot have */
	/* More than 4 segments, or a sum of lengths beyond the limit. */
	TCP_FAULT_SEGS,
	TCP_FAULT_INDEX,   /* index of a rendezvous out of range */
	TCP_FAULT_MSG_LEN, /* message length of a rendezvous beyond the limit */
	TCP_FAULT_ATOMIC,  /* invalid operation, data type or number of elements */
	/* An error record with an invalid kind of answer or an invalid fi_errno. */
	TCP_FAULT_ANSWER,
	TCP_FAULT_CONTEXT, /* index of a receive context beyond the limit */
	TCP_FAULTS,
};

/*
 * Decode the header at @buf, of which @len bytes have arrived.
 *
 * Returns 0: *ret is complete. Positive: number of bytes from @buf on that are needed,
 * always more than @len; no state is kept between calls. Negative: minus an enum
 * tcp_fault; the rest of the stream cannot be decoded. *ret is written on success only.
 */
int tcp_record_decode(const uint8_t *buf, size_t len, const struct tcp_wire_peer *peer,
	struct tcp_record *ret);

/*
 * Write the header of @rec and return its length. The peer must know the kind, and the
 * fields must be valid for decode: both are asserted. @buf has space for
 * TCP_WIRE_HDR_MAX bytes. The running number is left 0, see tcp_record_stamp().
 */
size_t tcp_record_encode(
	uint8_t *buf, const struct tcp_wire_peer *peer, const struct tcp_record *rec);

/* Text for a log line: "header length". */
const char *tcp_fault_text(int fault);
const char *tcp_rec_kind_text(unsigned int kind);

/* wire_atomic.c: the kind of operation of a record of kind TCP_REC_ATOMIC, _FETCH or
 * _COMPARE. */
enum wf_op_kind tcp_atomic_kind(unsigned int rec_kind);

/* Is the operation defined for the kind of record and the data type, do both ends know
 * the type, and is each segment a whole number of elements? Returns 0, or minus an enum
 * tcp_fault. */
int tcp_record_check_atomic(
	const struct tcp_record *rec, const struct tcp_wire_peer *peer);

/*
 * Fast paths for the most frequent records. Each one writes the same bytes as
 * tcp_record_encode(), and returns the header's length in bytes.
 */

static inline void tcp_put64(
	uint8_t *p, uint64_t value, const struct tcp_wire_peer *peer)
{
	if (__builtin_expect(peer->swap, 0))
		value = __builtin_bswap64(value);
	memcpy(p, &value, sizeof(value));
}

static inline void tcp_put_base(uint8_t *buf, const struct tcp_wire_peer *peer,
	uint8_t op, uint16_t flags, uint8_t op_data, size_t hdr_len,
	uint64_t payload_len)
{
	struct tcp_wire_base base = {
		.version = TCP_WIRE_VERSION,
		.op = op,
		.flags = flags,
		.op_data = op_data,
		.hdr_len = (uint8_t)hdr_len,
		.total = hdr_len + payload_len,
	};

	if (__builtin_expect(peer->swap, 0)) {
		base.flags = __builtin_bswap16(base.flags);
		base.total = __builtin_bswap64(base.total);
	}
	memcpy(buf, &base, sizeof(base));
}

/* @flags: TCP_FLAG_DATA (then with @data) and TCP_FLAG_ACK. */
static inline size_t tcp_put_msg(uint8_t *buf, const struct tcp_wire_peer *peer,
	uint16_t flags, uint64_t data, uint64_t payload_len)
{
	size_t hdr_len = TCP_WIRE_BASE;

	if (flags & TCP_FLAG_DATA) {
		tcp_put64(buf + hdr_len, data, peer);
		hdr_len += 8;
	}
	tcp_put_base(buf, peer, TCP_OP_MSG, flags, 0, hdr_len, payload_len);
	return hdr_len;
}

static inline size_t tcp_put_tagged(uint8_t *buf, const struct tcp_wire_peer *peer,
	uint16_t flags, uint64_t data, uint64_t tag, uint64_t payload_len)
{
	size_t hdr_len = TCP_WIRE_BASE;

	if (flags & TCP_FLAG_DATA) {
		tcp_put64(buf + hdr_len, data, peer);
		hdr_len += 8;
	}
	tcp_put64(buf + hdr_len, tag, peer);
	hdr_len += 8;
	tcp_put_base(buf, peer, TCP_OP_TAGGED, flags, 0, hdr_len, payload_len);
	return hdr_len;
}

/* Only for a record that asked for an acknowledgement: other implementations crash on
 * an unexpected one. */
static inline size_t tcp_put_ack(uint8_t *buf, const struct tcp_wire_peer *peer)
{
	tcp_put_base(buf, peer, TCP_OP_MSG, 0, TCP_WIRE_ACK, TCP_WIRE_BASE, 0);
	return TCP_WIRE_BASE;
}

/*
 * Set the running number of an encoded header, in the order in which headers reach the
 * socket; *next starts at 0. Debug builds of other implementations close the connection
 * on a gap.
 */
static inline void tcp_record_stamp(uint8_t *hdr, uint8_t *next)
{
	hdr[offsetof(struct tcp_wire_base, number)] = (*next)++;
}

#endif
