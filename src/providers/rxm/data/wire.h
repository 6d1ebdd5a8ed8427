/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_WIRE_H
#define RXM_WIRE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_rma.h>

#include "objects/op/op.h"

/*
 * The packets of a connection, each one message of the provider below: a header of 64
 * bytes, the same for all kinds, then what belongs to the kind. Numbers are in the byte
 * order of the machine, because peers of another byte order are refused when they
 * connect; only the answer to an atomic operation has two big endian ones.
 *
 * Which fields of a header mean something depends on the kind. Other implementations
 * leave old memory in the rest, so rxm_packet_decode() reads nothing else.
 *
 * This code keeps no state. Checks that need state are made by the callers: whether the
 * connection and message ids are known, and whether an answer was asked for.
 */
enum {
	RXM_WIRE_VERSION = 4, /* of packets */
	RXM_WIRE_OP_VERSION =
		2, /* of the part of the header that describes the message */
	RXM_WIRE_HDR = 64,
	RXM_WIRE_SEGS_MAX = 4, /* pieces of memory that one packet describes */
	RXM_WIRE_RDV = 168,    /* header, and a description of memory */
	RXM_WIRE_ATOMIC = 160, /* header, and the targets of an atomic operation */
	RXM_WIRE_RESULT = 72,  /* header, and the status of an atomic operation */
	RXM_WIRE_ERRNO_MAX = 4095,
	/* A segment says its length in 16 bits. */
	RXM_WIRE_SEGMENT_MAX = 65535,
};

/* Longest message. */
#define RXM_WIRE_SIZE_MAX ((uint64_t)1 << 62)
/* Key of memory that the sender of a message does not let the receiver read. */
#define RXM_WIRE_NO_KEY UINT64_MAX

enum rxm_kind {
	RXM_EAGER = 0,
	RXM_SEGMENT = 1,  /* part of a message */
	RXM_RDV = 2,      /* message whose payload is in the sender's memory */
	RXM_RDV_READ = 3, /* the receiver has read the payload */
	RXM_ATOMIC = 4,
	RXM_ATOMIC_RESULT = 5,
	RXM_CREDIT = 6,
	RXM_RDV_TO = 7,      /* the payload is to be written to this memory */
	RXM_RDV_WRITTEN = 8, /* the sender has written the payload */
	RXM_KINDS,
};

enum rxm_wire_op {
	RXM_OP_MSG = 0,
	RXM_OP_TAGGED = 1,
	RXM_OP_ATOMIC = 6,
	RXM_OP_FETCH = 7,
	RXM_OP_COMPARE = 8,
};

/* Where a segment is in its message. */
enum rxm_place {
	RXM_FIRST = 1,
	RXM_MIDDLE = 2,
	RXM_LAST = 3,
};

enum { RXM_FLAG_DATA = 1 << 17 }; /* remote CQ data is in the header */

/* The header as it is on the wire. */
struct rxm_hdr {
	uint8_t version, kind;
	uint16_t segment_len; /* SEGMENT: bytes of payload in this packet */
	uint32_t segment_number;
	uint64_t conn_id; /* number that the receiver gave to the connection */
	uint64_t msg_id;
	uint64_t value; /* SEGMENT: enum rxm_place in two bits; CREDIT: how many */
	uint8_t op_version, unused, op, unused2;
	uint32_t flags;
	uint64_t size; /* of the whole message; atomics: bytes behind the header */
	uint64_t data; /* with RXM_FLAG_DATA: remote CQ data */
	union {
		uint64_t tag;
		struct {
			uint8_t datatype, op, count;
		} atomic;
	};
};

static_assert(sizeof(struct rxm_hdr) == RXM_WIRE_HDR, "wire layout");
static_assert(offsetof(struct rxm_hdr, conn_id) == 8, "wire layout");
static_assert(offsetof(struct rxm_hdr, op_version) == 32, "wire layout");
static_assert(offsetof(struct rxm_hdr, flags) == 36, "wire layout");
static_assert(offsetof(struct rxm_hdr, tag) == 56, "wire layout");

/* Memory that a packet of kind RDV or RDV_TO describes, or on which ATOMIC operates, as
 * it is on the wire. */
struct rxm_wire_seg {
	uint64_t addr, len, key;
};

/* A packet whose fields were checked. Fields that its kind does not have are 0. */
struct rxm_packet {
	uint8_t kind;                /* enum rxm_kind */
	uint8_t op;                  /* enum rxm_wire_op */
	uint8_t place;               /* SEGMENT: enum rxm_place */
	uint8_t seg_count;           /* RDV, RDV_TO, ATOMIC */
	uint8_t datatype, atomic_op; /* ATOMIC, ATOMIC_RESULT */
	bool has_data;
	uint32_t conn_id;
	uint64_t msg_id;
	uint64_t size; /* EAGER, SEGMENT, RDV: bytes of the whole message */
	uint64_t data, tag;
	uint64_t credits; /* CREDIT */
	int err;          /* ATOMIC_RESULT: positive fi_errno, 0: success */
	/* Bytes of the message, operands (then comparands), previous values; in the
	 * packet. */
	const uint8_t *payload;
	size_t payload_len;
	/* ATOMIC: lengths are bytes. */
	struct fi_rma_iov seg[RXM_WIRE_SEGS_MAX];
};

/* The reason why a packet is invalid. */
enum rxm_fault {
	RXM_FAULT_NONE,
	RXM_FAULT_SHORT,   /* shorter than its kind */
	RXM_FAULT_VERSION, /* of the packet, or of the description of the message */
	RXM_FAULT_KIND,
	RXM_FAULT_OP,      /* operation that this kind of packet cannot have */
	RXM_FAULT_CONN_ID, /* more than 32 bits */
	RXM_FAULT_SIZE,    /* not what came, or beyond the limit */
	RXM_FAULT_PLACE,   /* no place of a segment, or one of no or too many bytes */
	RXM_FAULT_SEGS,   /* no memory, too many pieces, or fewer bytes than the message
			   */
	RXM_FAULT_ATOMIC, /* invalid operation, data type or number of elements */
	RXM_FAULT_STATUS, /* status of an atomic operation that is no error */
	RXM_FAULTS,
};

/* Decode the packet of @len bytes at @buf, which must stay while *@ret is used. 0, or
 * minus an enum rxm_fault: *@ret is undefined. */
int rxm_packet_decode(const void *buf, size_t len, struct rxm_packet *ret);

/* Text for a log line: "number of elements". */
const char *rxm_fault_text(int fault);

/* The kind of operation of a packet of kind ATOMIC. */
enum wf_op_kind rxm_atomic_kind(const struct rxm_packet *packet);

/*
 * Encoding. Each function writes all bytes that its packet has before the payload, and
 * leaves no old memory in them. @conn_id is the number that the peer gave to the
 * connection.
 */

/* What a header says of a message. */
struct rxm_message {
	bool tagged, has_data;
	uint64_t size, data, tag;
};

static inline void rxm_put_message(struct rxm_hdr *hdr, enum rxm_kind kind,
	uint32_t conn_id, uint64_t msg_id, const struct rxm_message *msg)
{
	*hdr = (struct rxm_hdr){
		.version = RXM_WIRE_VERSION,
		.kind = (uint8_t)kind,
		.conn_id = conn_id,
		.msg_id = msg_id,
		.op_version = RXM_WIRE_OP_VERSION,
		.op = msg->tagged ? RXM_OP_TAGGED : RXM_OP_MSG,
		.flags = msg->has_data ? RXM_FLAG_DATA : 0,
		.size = msg->size,
		.data = msg->data,
		.tag = msg->tag,
	};
}

static inline void rxm_put_eager(
	struct rxm_hdr *hdr, uint32_t conn_id, const struct rxm_message *msg)
{
	rxm_put_message(hdr, RXM_EAGER, conn_id, 0, msg);
}

/* Segment @number of a message that has @count segments, with @len bytes. */
void rxm_put_segment(struct rxm_hdr *hdr, uint32_t conn_id, uint64_t msg_id,
	const struct rxm_message *msg, uint32_t number, uint32_t count, uint16_t len);
/* RXM_WIRE_RDV bytes at @buf: a request for a message in the memory @seg. */
void rxm_put_rdv(uint8_t *buf, uint32_t conn_id, uint64_t msg_id,
	const struct rxm_message *msg, const struct fi_rma_iov *seg, size_t seg_count);
/* RXM_WIRE_RDV bytes at @buf: the payload of message @msg_id goes to the memory @seg.
 */
void rxm_put_rdv_to(uint8_t *buf, uint32_t conn_id, uint64_t msg_id,
	const struct fi_rma_iov *seg, size_t seg_count);
/* RDV_READ or RDV_WRITTEN. */
void rxm_put_rdv_end(
	struct rxm_hdr *hdr, enum rxm_kind kind, uint32_t conn_id, uint64_t msg_id);
void rxm_put_credit(struct rxm_hdr *hdr, uint32_t conn_id, uint64_t credits);
/* RXM_WIRE_ATOMIC bytes at @buf: operation @op, whose operands and comparands have
 * @payload_len bytes and follow. */
void rxm_put_atomic(uint8_t *buf, uint32_t conn_id, uint64_t msg_id,
	const struct wf_op *op, size_t payload_len);
/* RXM_WIRE_RESULT bytes at @buf: the answer to @request, with @err (a positive FI_E
 * code, or 0) and @len bytes of previous values, which follow. */
void rxm_put_result(uint8_t *buf, uint32_t conn_id, const struct rxm_packet *request,
	int err, size_t len);

#endif
