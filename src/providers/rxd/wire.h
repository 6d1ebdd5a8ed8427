/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_WIRE_H
#define WF_RXD_WIRE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_rma.h>

/*
 * Packets of reliable datagrams: their types, the base header with which each packet
 * begins, and the headers of operations behind it. All integers are in native byte
 * order. The handshake and acknowledgements have layouts of their own, in flow/.
 */
enum {
	RXD_VERSION = 2,
	RXD_RMA_LIMIT = 4, /* limit of RMA segments of one operation */
	/* Largest packet of the wire protocol in use over udp, in bytes. */
	RXD_MTU_WIRE = 1472,
	RXD_MTU_OTHER =
		4096, /* the same over any other provider, unless its limit is lower */
	/* Limit of the elements of an atomic operation in bytes. */
	RXD_ATOMIC_MAX = 384,
};

enum rxd_type {
	RXD_MSG = 0,
	RXD_TAGGED = 1,
	RXD_READ = 2,
	RXD_WRITE = 4,
	RXD_ATOMIC = 6,
	RXD_FETCH = 7,
	RXD_COMPARE = 8,
	RXD_RTS = 9,
	RXD_CTS = 10,
	RXD_ACK = 11,
	RXD_DATA = 12,   /* further payload of a message or write */
	RXD_ANSWER = 13, /* payload that answers a read, a fetch or a compare */
	/* Types between endpoints of this library, besides those of flow/ack.h: */
	RXD_BYE = 66, /* not numbered: the sender has been closed */
};

/* Bits of rxd_base.flags; other bits are ignored. */
enum {
	RXD_FLAG_CQ_DATA = 1 << 0, /* an 8-byte header of remote CQ data follows */
	RXD_FLAG_INJECT = 1 << 3,
	RXD_FLAG_TAG = 1 << 4, /* an 8-byte tag follows */
	/* The only packet of the operation: no segment header follows. */
	RXD_FLAG_WHOLE = 1 << 5,
};

struct rxd_base {
	uint8_t version;
	uint8_t type; /* enum rxd_type */
	uint16_t flags;
	uint32_t peer; /* index that the receiver gave to the sender */
	uint64_t seq;
};
static_assert(sizeof(struct rxd_base) == 16, "as on the wire");

/* The header behind the base header of RXD_DATA and RXD_ANSWER. */
struct rxd_data_head {
	uint32_t tx_id; /* in RXD_ANSWER: the requester's id of the request */
	uint32_t rx_id; /* id of the other end; not used */
	uint64_t segment;
};
static_assert(sizeof(struct rxd_data_head) == 16, "as on the wire");

/* The header behind tag and CQ data, unless RXD_FLAG_WHOLE is set. */
struct rxd_segment_head {
	uint64_t size;    /* bytes of the message or transfer */
	uint64_t packets; /* number of packets; in requests, of the answer */
	uint32_t tx_id;   /* the sender's id of the transfer */
	uint8_t rma_count;
	uint8_t undefined[3];
};
static_assert(sizeof(struct rxd_segment_head) == 24, "as on the wire");

/* The header behind the RMA segments of atomic operations: values of enum fi_datatype
 * and enum fi_op. */
struct rxd_atomic_head {
	uint32_t datatype;
	uint32_t op;
};
static_assert(sizeof(struct rxd_atomic_head) == 8, "as on the wire");

enum {
	RXD_DATA_HEAD = sizeof(struct rxd_base) + sizeof(struct rxd_data_head),
	/* Bytes of the longest headers of an operation, without the base header. */
	RXD_OP_HEAD_MAX = 8 + 8 + sizeof(struct rxd_segment_head) +
			  RXD_RMA_LIMIT * sizeof(struct fi_rma_iov) +
			  sizeof(struct rxd_atomic_head),
};

/* An atomic operation is one packet, with two operands for each element. */
enum { RXD_MTU_MIN = sizeof(struct rxd_base) + RXD_OP_HEAD_MAX + 2 * RXD_ATOMIC_MAX };

/* The headers of an operation's packet (types 0 to 8). */
struct rxd_op_head {
	uint8_t type;
	bool has_tag, has_data;
	bool whole; /* RXD_FLAG_WHOLE: size is that of the payload, packets is 1 */
	uint64_t tag, data;
	uint64_t size; /* bytes of the message, or of all RMA segments */
	uint64_t packets;
	uint32_t tx_id;
	uint32_t rma_count;
	struct fi_rma_iov rma[RXD_RMA_LIMIT];
	uint32_t datatype, op;
};

static inline bool rxd_type_is_op(unsigned int type)
{
	return type <= RXD_COMPARE && type != 3 && type != 5;
}

/* Has a packet of this type a sequence number? */
static inline bool rxd_type_is_numbered(unsigned int type)
{
	return rxd_type_is_op(type) || type == RXD_DATA || type == RXD_ANSWER;
}

/* The flags of rxd_base that tell which headers @head has. */
uint16_t rxd_op_flags(const struct rxd_op_head *head);

/* Length in bytes of the headers of @head, without the base header. */
size_t rxd_op_head_size(const struct rxd_op_head *head);

/* Write the headers to @to, which has RXD_OP_HEAD_MAX bytes; returns their length. */
size_t rxd_op_head_write(const struct rxd_op_head *head, uint8_t *to);

/*
 * Read the headers of the operation packet of @type with @flags, of which @len bytes at
 * @from follow the base header. *@ret_size is their size: the payload is behind them.
 * False: the packet is malformed: too short, or with contents that contradict each
 * other. The function checks the number of RMA segments, that their lengths add up to
 * the size, that the payload is not longer than the size, that the only packet of an
 * operation has all of the payload, that a read has no payload, and that a segment
 * header is present if the type requires it.
 */
bool rxd_op_head_read(uint8_t type, uint16_t flags, const uint8_t *from, size_t len,
	struct rxd_op_head *ret, size_t *ret_size);

#endif
