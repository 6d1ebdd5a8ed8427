/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_DATA_WIRE_H
#define WF_RXM_DATA_WIRE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_rma.h>

#include "objects/op/op.h"

/*
 * The packets of a connection, each one message of the provider below: a header of 64
 * bytes, the same for all kinds, then the fields of the kind. Numbers are in the byte
 * order of the machine, because peers of another byte order are refused when they
 * connect; only the answer to an atomic operation has two big endian ones.
 *
 * The kind determines which fields of a header are valid. Other implementations leave
 * old memory in the other fields, so rxm_packet_decode() does not read them.
 *
 * This code keeps no state. The callers make the checks that need state: whether the
 * connection and message ids are known, and whether an answer was asked for.
 */
enum {
	RXM_WIRE_VERSION = 4, /* version of packets */
	RXM_WIRE_OP_VERSION =
		2, /* version of the fields of the header that describe the message */
	RXM_WIRE_HDR = 64,
	RXM_WIRE_SEGS_MAX = 4, /* segments of memory that one packet can describe */
	/* Length of the header and a description of memory, in bytes. */
	RXM_WIRE_RDV = 168,
	/* Length of the header and the targets of an atomic operation, in bytes. */
	RXM_WIRE_ATOMIC = 160,
	/* Length of the header and the status of an atomic operation, in bytes. */
	RXM_WIRE_RESULT = 72,
	RXM_WIRE_ERRNO_MAX = 4095,
	/* Longest segment of a message in bytes: its length has 16 bits. */
	RXM_WIRE_SEGMENT_MAX = 65535,
};

/* Longest message in bytes. */
#define RXM_WIRE_SIZE_MAX ((uint64_t)1 << 62)
/* Key of memory that the sender of a message does not let the receiver read. */
#define RXM_WIRE_NO_KEY UINT64_MAX

enum rxm_kind {
	RXM_EAGER = 0,
	RXM_SEGMENT = 1,  /* segment of a message */
	RXM_RDV = 2,      /* message whose payload is in the sender's memory */
	RXM_RDV_READ = 3, /* the receiver has read the payload */
	RXM_ATOMIC = 4,
	RXM_ATOMIC_RESULT = 5,
	RXM_CREDIT = 6,
	RXM_RDV_TO = 7,      /* memory that the sender has to write the payload to */
	RXM_RDV_WRITTEN = 8, /* the sender has written the payload */
	/* The sender has answered the card of its peer, which accepted the connection;
	 * only to peers that sent one (local/local.h). */
	RXM_LOCAL = 9,
	RXM_KINDS,
};

enum rxm_wire_op {
	RXM_OP_MSG = 0,
	RXM_OP_TAGGED = 1,
	RXM_OP_ATOMIC = 6,
	RXM_OP_FETCH = 7,
	RXM_OP_COMPARE = 8,
};

/* Position of a segment in its message. */
enum rxm_position {
	RXM_FIRST = 1,
	RXM_MIDDLE = 2,
	RXM_LAST = 3,
};

enum { RXM_FLAG_DATA = 1 << 17 }; /* remote CQ data is in the header */

/* The header in the wire format. */
struct rxm_hdr {
	uint8_t version, kind;
	uint16_t segment_len; /* in SEGMENT: bytes of payload in this packet */
	uint32_t segment_number;
	uint64_t conn_id; /* id that the receiver gave to the connection */
	uint64_t msg_id;
	/* In SEGMENT: enum rxm_position in two bits; in CREDIT: number of credits. */
	uint64_t value;
	uint8_t op_version, unused, op, unused2;
	uint32_t flags;
	/* Length of the whole message in bytes; in atomics: of the bytes behind the
	 * header. */
	uint64_t size;
	uint64_t data; /* remote CQ data, with RXM_FLAG_DATA */
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

/* Wire format of a segment of memory that a packet of kind RDV or RDV_TO describes, or
 * on which an ATOMIC operates. */
struct rxm_wire_seg {
	uint64_t addr, len, key;
};

/* A decoded packet, whose fields were checked. Fields that its kind does not have are
 * 0. */
struct rxm_packet {
	uint8_t kind;                /* enum rxm_kind */
	uint8_t op;                  /* enum rxm_wire_op */
	uint8_t position;            /* in SEGMENT: enum rxm_position */
	uint8_t seg_count;           /* in RDV, RDV_TO, ATOMIC */
	uint8_t datatype, atomic_op; /* in ATOMIC, ATOMIC_RESULT */
	bool has_data;
	uint32_t conn_id;
	uint64_t msg_id;
	/* In EAGER, SEGMENT, RDV: length of the whole message in bytes. */
	uint64_t size;
	uint64_t data, tag;
	uint64_t credits; /* in CREDIT */
	int err;          /* in ATOMIC_RESULT: positive fi_errno; 0: success */
	/* Payload of the message; or operands, then comparands; or previous values. A
	 * pointer into the packet. */
	const uint8_t *payload;
	size_t payload_len;
	/* In ATOMIC: the lengths are in bytes. */
	struct fi_rma_iov seg[RXM_WIRE_SEGS_MAX];
};

/* The reason why a packet is invalid. */
enum rxm_fault {
	RXM_FAULT_NONE,
	RXM_FAULT_SHORT, /* shorter than its kind requires */
	/* Version of the packet, or of the description of the message. */
	RXM_FAULT_VERSION,
	RXM_FAULT_KIND,
	RXM_FAULT_OP,      /* operation that this kind of packet cannot have */
	RXM_FAULT_CONN_ID, /* id of more than 32 bits */
	/* Length that differs from that of the packet, or is beyond the limit. */
	RXM_FAULT_SIZE,
	/* Invalid position of a segment, or a segment with no bytes or too many. */
	RXM_FAULT_POSITION,
	/* No segments of memory, too many, or fewer bytes than the message has. */
	RXM_FAULT_SEGS,
	RXM_FAULT_ATOMIC, /* invalid operation, data type or number of elements */
	RXM_FAULT_STATUS, /* status of an atomic operation that is no valid error */
	RXM_FAULTS,
};

/* Decode the packet of @len bytes at @buf; *@ret points into it. Returns 0, or minus an
 * enum rxm_fault: *@ret is undefined. */
int rxm_packet_decode(const void *buf, size_t len, struct rxm_packet *ret);

/* Text for a log line: "number of elements". */
const char *rxm_fault_text(int fault);

/* The kind of operation of a packet of kind ATOMIC. */
enum wf_op_kind rxm_atomic_kind(const struct rxm_packet *packet);

/*
 * Encoding. Each function writes all bytes of a packet before the payload, and sets
 * unused fields to 0. @conn_id is the id that the peer gave to the connection.
 */

/* The description of a message in a header. */
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

/* Encode segment @number of a message with @count segments; the segment has @len
 * bytes. */
void rxm_put_segment(struct rxm_hdr *hdr, uint32_t conn_id, uint64_t msg_id,
	const struct rxm_message *msg, uint32_t number, uint32_t count, uint16_t len);
/* Encode in RXM_WIRE_RDV bytes at @buf a request for a message whose payload is in the
 * memory @seg. */
void rxm_put_rdv(uint8_t *buf, uint32_t conn_id, uint64_t msg_id,
	const struct rxm_message *msg, const struct fi_rma_iov *seg, size_t seg_count);
/* Encode in RXM_WIRE_RDV bytes at @buf that the payload of message @msg_id has to be
 * written to the memory @seg. */
void rxm_put_rdv_to(uint8_t *buf, uint32_t conn_id, uint64_t msg_id,
	const struct fi_rma_iov *seg, size_t seg_count);
/* @kind: RXM_RDV_READ or RXM_RDV_WRITTEN. */
void rxm_put_rdv_end(
	struct rxm_hdr *hdr, enum rxm_kind kind, uint32_t conn_id, uint64_t msg_id);
void rxm_put_local(struct rxm_hdr *hdr, uint32_t conn_id);
void rxm_put_credit(struct rxm_hdr *hdr, uint32_t conn_id, uint64_t credits);
/* Encode in RXM_WIRE_ATOMIC bytes at @buf the operation @op; its operands and
 * comparands follow in @payload_len bytes. */
void rxm_put_atomic(uint8_t *buf, uint32_t conn_id, uint64_t msg_id,
	const struct wf_op *op, size_t payload_len);
/* Encode in RXM_WIRE_RESULT bytes at @buf the answer to @request, with @err (a positive
 * fi_errno, or 0); @len bytes of previous values follow. */
void rxm_put_result(uint8_t *buf, uint32_t conn_id, const struct rxm_packet *request,
	int err, size_t len);

#endif
