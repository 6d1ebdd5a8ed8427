/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/data/wire.h"

#include <arpa/inet.h>
#include <string.h>

#include "objects/atomic/ops.h"
#include "sys/compiler.h"

/* What follows the header of RDV and RDV_TO. */
struct memory {
	struct rxm_wire_seg seg[RXM_WIRE_SEGS_MAX];
	uint8_t count;
	uint8_t unused[7];
};

static_assert(sizeof(struct memory) == RXM_WIRE_RDV - RXM_WIRE_HDR, "wire layout");

/* What follows the header of ATOMIC; the lengths are numbers of elements. */
struct targets {
	struct rxm_wire_seg seg[RXM_WIRE_SEGS_MAX];
};

static_assert(sizeof(struct targets) == RXM_WIRE_ATOMIC - RXM_WIRE_HDR, "wire layout");

/* What follows the header of ATOMIC_RESULT, in big endian. */
struct status {
	uint32_t err; /* 0, or a negative errno code */
	uint32_t len;
};

static_assert(sizeof(struct status) == RXM_WIRE_RESULT - RXM_WIRE_HDR, "wire layout");

/* Requirements for packets of one kind. */
struct row {
	uint16_t min; /* smallest length in bytes */
	bool message; /* The header describes a message or an operation. */
	int (*decode)(const uint8_t *buf, size_t len, struct rxm_packet *ret);
};

static struct rxm_hdr wire_get_hdr(const uint8_t *buf)
{
	struct rxm_hdr hdr;

	memcpy(&hdr, buf, sizeof(hdr));
	return hdr;
}

/* Decode EAGER, SEGMENT and RDV. */
static int rxm_wire_decode_message(const struct rxm_hdr *hdr, struct rxm_packet *ret)
{
	if (hdr->op != RXM_OP_MSG && hdr->op != RXM_OP_TAGGED)
		return -RXM_FAULT_OP;
	if (hdr->size > RXM_WIRE_SIZE_MAX)
		return -RXM_FAULT_SIZE;
	ret->op = hdr->op;
	ret->size = hdr->size;
	ret->has_data = hdr->flags & RXM_FLAG_DATA;
	ret->data = ret->has_data ? hdr->data : 0;
	ret->tag = hdr->op == RXM_OP_TAGGED ? hdr->tag : 0;
	return 0;
}

static int wire_decode_eager(const uint8_t *buf, size_t len, struct rxm_packet *ret)
{
	struct rxm_hdr hdr = wire_get_hdr(buf);

	if (hdr.size != len - RXM_WIRE_HDR)
		return -RXM_FAULT_SIZE;
	ret->payload = buf + RXM_WIRE_HDR;
	ret->payload_len = len - RXM_WIRE_HDR;
	return rxm_wire_decode_message(&hdr, ret);
}

static int wire_decode_segment(const uint8_t *buf, size_t len, struct rxm_packet *ret)
{
	struct rxm_hdr hdr = wire_get_hdr(buf);

	ret->msg_id = hdr.msg_id;
	ret->position = hdr.value & 3;
	ret->payload = buf + RXM_WIRE_HDR;
	ret->payload_len = len - RXM_WIRE_HDR;
	if (!ret->position || !hdr.segment_len || hdr.segment_len != ret->payload_len)
		return -RXM_FAULT_POSITION;
	if (hdr.size < ret->payload_len)
		return -RXM_FAULT_SIZE;
	return rxm_wire_decode_message(&hdr, ret);
}

static int wire_decode_memory(
	const uint8_t *buf, struct rxm_packet *ret, uint64_t *ret_len)
{
	struct memory memory;

	memcpy(&memory, buf + RXM_WIRE_HDR, sizeof(memory));
	if (!memory.count || memory.count > RXM_WIRE_SEGS_MAX)
		return -RXM_FAULT_SEGS;
	*ret_len = 0;
	ret->seg_count = memory.count;
	for (unsigned int i = 0; i < memory.count; i++) {
		ret->seg[i] = (struct fi_rma_iov){ memory.seg[i].addr,
			memory.seg[i].len, memory.seg[i].key };
		if (memory.seg[i].len > RXM_WIRE_SIZE_MAX - *ret_len)
			return -RXM_FAULT_SEGS;
		*ret_len += memory.seg[i].len;
	}
	return 0;
}

static int wire_decode_rdv(const uint8_t *buf, size_t len, struct rxm_packet *ret)
{
	struct rxm_hdr hdr = wire_get_hdr(buf);
	uint64_t described = 0;
	int fault = wire_decode_memory(buf, ret, &described);

	(void)len;
	ret->msg_id = hdr.msg_id;
	if (fault)
		return fault;
	if (described < hdr.size)
		return -RXM_FAULT_SEGS;
	return rxm_wire_decode_message(&hdr, ret);
}

static int wire_decode_rdv_to(const uint8_t *buf, size_t len, struct rxm_packet *ret)
{
	uint64_t described;

	(void)len;
	ret->msg_id = wire_get_hdr(buf).msg_id;
	return wire_decode_memory(buf, ret, &described);
}

static int wire_decode_end(const uint8_t *buf, size_t len, struct rxm_packet *ret)
{
	(void)len;
	ret->msg_id = wire_get_hdr(buf).msg_id;
	return 0;
}

static int wire_decode_credit(const uint8_t *buf, size_t len, struct rxm_packet *ret)
{
	(void)len;
	ret->credits = wire_get_hdr(buf).value;
	return 0;
}

/* Bytes of operands in the packet of an operation on @span bytes. */
static size_t wire_operand_bytes(const struct rxm_packet *packet, size_t span)
{
	if (packet->op == RXM_OP_COMPARE)
		return span * 2;
	return packet->atomic_op == FI_ATOMIC_READ ? 0 : span;
}

/* Decode the targets, with lengths in bytes; *@ret_span is their sum. */
static int wire_decode_targets(const uint8_t *buf, size_t elem_size, size_t limit,
	struct rxm_packet *ret, size_t *ret_span)
{
	struct targets targets;

	memcpy(&targets, buf + RXM_WIRE_HDR, sizeof(targets));
	*ret_span = 0;
	for (unsigned int i = 0; i < ret->seg_count; i++) {
		const struct rxm_wire_seg *seg = &targets.seg[i];

		if (!seg->len || seg->len > (limit - *ret_span) / elem_size)
			return -RXM_FAULT_ATOMIC;
		ret->seg[i] = (struct fi_rma_iov){ seg->addr, seg->len * elem_size,
			seg->key };
		*ret_span += seg->len * elem_size;
	}
	return 0;
}

enum wf_op_kind rxm_atomic_kind(const struct rxm_packet *packet)
{
	if (packet->op == RXM_OP_ATOMIC)
		return WF_OP_ATOMIC;
	return packet->op == RXM_OP_FETCH ? WF_OP_FETCH : WF_OP_COMPARE;
}

static int wire_decode_atomic(const uint8_t *buf, size_t len, struct rxm_packet *ret)
{
	/* FI_ATOMIC_READ has no operands that would limit its length. */
	const size_t limit = RXM_WIRE_SEGMENT_MAX;
	struct rxm_hdr hdr = wire_get_hdr(buf);
	size_t elem_size, span, count;
	int fault;

	ret->op = hdr.op;
	ret->msg_id = hdr.msg_id;
	ret->datatype = hdr.atomic.datatype;
	ret->atomic_op = hdr.atomic.op;
	ret->seg_count = hdr.atomic.count;
	ret->payload = buf + RXM_WIRE_ATOMIC;
	ret->payload_len = len - RXM_WIRE_ATOMIC;
	if (hdr.op < RXM_OP_ATOMIC || hdr.op > RXM_OP_COMPARE)
		return -RXM_FAULT_OP;
	if (hdr.size != len - RXM_WIRE_HDR)
		return -RXM_FAULT_SIZE;
	if (!ret->seg_count || ret->seg_count > RXM_WIRE_SEGS_MAX)
		return -RXM_FAULT_SEGS;
	elem_size = wf_atomic_size(ret->datatype);
	if (!elem_size || wf_atomic_valid(rxm_atomic_kind(ret), ret->datatype,
				  ret->atomic_op, SIZE_MAX, &count))
		return -RXM_FAULT_ATOMIC;
	fault = wire_decode_targets(buf, elem_size, limit, ret, &span);
	if (fault)
		return fault;
	return ret->payload_len == wire_operand_bytes(ret, span) ? 0
								 : -RXM_FAULT_ATOMIC;
}

static int wire_decode_result(const uint8_t *buf, size_t len, struct rxm_packet *ret)
{
	struct rxm_hdr hdr = wire_get_hdr(buf);
	struct status status;
	int32_t err;

	memcpy(&status, buf + RXM_WIRE_HDR, sizeof(status));
	ret->msg_id = hdr.msg_id;
	ret->payload = buf + RXM_WIRE_RESULT;
	ret->payload_len = len - RXM_WIRE_RESULT;
	if (hdr.size != len - RXM_WIRE_HDR || ntohl(status.len) != ret->payload_len)
		return -RXM_FAULT_SIZE;
	err = (int32_t)ntohl(status.err);
	if (err > 0 || err < -RXM_WIRE_ERRNO_MAX)
		return -RXM_FAULT_STATUS;
	ret->err = -err;
	return 0;
}

static const struct row rows[RXM_KINDS] = {
	[RXM_EAGER] = { RXM_WIRE_HDR, true, wire_decode_eager },
	[RXM_SEGMENT] = { RXM_WIRE_HDR, true, wire_decode_segment },
	[RXM_RDV] = { RXM_WIRE_RDV, true, wire_decode_rdv },
	[RXM_RDV_READ] = { RXM_WIRE_HDR, false, wire_decode_end },
	[RXM_ATOMIC] = { RXM_WIRE_ATOMIC, true, wire_decode_atomic },
	[RXM_ATOMIC_RESULT] = { RXM_WIRE_RESULT, true, wire_decode_result },
	[RXM_CREDIT] = { RXM_WIRE_HDR, false, wire_decode_credit },
	[RXM_RDV_TO] = { RXM_WIRE_RDV, false, wire_decode_rdv_to },
	[RXM_RDV_WRITTEN] = { RXM_WIRE_HDR, false, wire_decode_end },
	[RXM_LOCAL] = { RXM_WIRE_HDR, false, wire_decode_end },
};

int rxm_packet_decode(const void *buf, size_t len, struct rxm_packet *ret)
{
	const struct row *row;
	struct rxm_hdr hdr;

	if (wf_unlikely(len < RXM_WIRE_HDR))
		return -RXM_FAULT_SHORT;
	hdr = wire_get_hdr(buf);
	if (wf_unlikely(hdr.version != RXM_WIRE_VERSION))
		return -RXM_FAULT_VERSION;
	if (wf_unlikely(hdr.kind >= RXM_KINDS))
		return -RXM_FAULT_KIND;
	row = &rows[hdr.kind];
	if (wf_unlikely(len < row->min))
		return -RXM_FAULT_SHORT;
	if (wf_unlikely(row->message && hdr.op_version != RXM_WIRE_OP_VERSION))
		return -RXM_FAULT_VERSION;
	if (wf_unlikely(hdr.conn_id > UINT32_MAX))
		return -RXM_FAULT_CONN_ID;
	*ret = (struct rxm_packet){
		.kind = hdr.kind,
		.conn_id = (uint32_t)hdr.conn_id,
	};
	return row->decode(buf, len, ret);
}

const char *rxm_fault_text(int fault)
{
	static const char *const texts[RXM_FAULTS] = {
		[RXM_FAULT_NONE] = "no fault",
		[RXM_FAULT_SHORT] = "packet too short",
		[RXM_FAULT_VERSION] = "version",
		[RXM_FAULT_KIND] = "kind of packet",
		[RXM_FAULT_OP] = "operation",
		[RXM_FAULT_CONN_ID] = "connection id",
		[RXM_FAULT_SIZE] = "size",
		[RXM_FAULT_POSITION] = "segment",
		[RXM_FAULT_SEGS] = "description of memory",
		[RXM_FAULT_ATOMIC] = "atomic operation",
		[RXM_FAULT_STATUS] = "status of an atomic operation",
	};

	return fault >= 0 && fault < RXM_FAULTS ? texts[fault] : "unknown fault";
}

void rxm_put_segment(struct rxm_hdr *hdr, uint32_t conn_id, uint64_t msg_id,
	const struct rxm_message *msg, uint32_t number, uint32_t count, uint16_t len)
{
	rxm_put_message(hdr, RXM_SEGMENT, conn_id, msg_id, msg);
	hdr->segment_len = len;
	hdr->segment_number = number;
	if (!number)
		hdr->value = RXM_FIRST;
	else
		hdr->value = number + 1 == count ? RXM_LAST : RXM_MIDDLE;
}

static void wire_put_memory(
	uint8_t *buf, const struct fi_rma_iov *seg, size_t seg_count)
{
	struct memory memory = { .count = (uint8_t)seg_count };

	for (size_t i = 0; i < seg_count; i++)
		memory.seg[i] =
			(struct rxm_wire_seg){ seg[i].addr, seg[i].len, seg[i].key };
	memcpy(buf + RXM_WIRE_HDR, &memory, sizeof(memory));
}

static void wire_put_bare(
	struct rxm_hdr *hdr, enum rxm_kind kind, uint32_t conn_id, uint64_t msg_id)
{
	*hdr = (struct rxm_hdr){
		.version = RXM_WIRE_VERSION,
		.kind = (uint8_t)kind,
		.conn_id = conn_id,
		.msg_id = msg_id,
		.op_version = RXM_WIRE_OP_VERSION,
	};
}

void rxm_put_rdv(uint8_t *buf, uint32_t conn_id, uint64_t msg_id,
	const struct rxm_message *msg, const struct fi_rma_iov *seg, size_t seg_count)
{
	struct rxm_hdr hdr;

	rxm_put_message(&hdr, RXM_RDV, conn_id, msg_id, msg);
	memcpy(buf, &hdr, sizeof(hdr));
	wire_put_memory(buf, seg, seg_count);
}

void rxm_put_rdv_to(uint8_t *buf, uint32_t conn_id, uint64_t msg_id,
	const struct fi_rma_iov *seg, size_t seg_count)
{
	struct rxm_hdr hdr;

	wire_put_bare(&hdr, RXM_RDV_TO, conn_id, msg_id);
	memcpy(buf, &hdr, sizeof(hdr));
	wire_put_memory(buf, seg, seg_count);
}

void rxm_put_rdv_end(
	struct rxm_hdr *hdr, enum rxm_kind kind, uint32_t conn_id, uint64_t msg_id)
{
	wire_put_bare(hdr, kind, conn_id, msg_id);
}

void rxm_put_local(struct rxm_hdr *hdr, uint32_t conn_id)
{
	wire_put_bare(hdr, RXM_LOCAL, conn_id, 0);
}

void rxm_put_credit(struct rxm_hdr *hdr, uint32_t conn_id, uint64_t credits)
{
	wire_put_bare(hdr, RXM_CREDIT, conn_id, 0);
	hdr->value = credits;
}

void rxm_put_atomic(uint8_t *buf, uint32_t conn_id, uint64_t msg_id,
	const struct wf_op *op, size_t payload_len)
{
	static const uint8_t codes[] = {
		[WF_OP_ATOMIC] = RXM_OP_ATOMIC,
		[WF_OP_FETCH] = RXM_OP_FETCH,
		[WF_OP_COMPARE] = RXM_OP_COMPARE,
	};
	size_t elem_size = wf_atomic_size(op->atomic->datatype);
	struct targets targets = { 0 };
	struct rxm_hdr hdr;

	wire_put_bare(&hdr, RXM_ATOMIC, conn_id, msg_id);
	hdr.op = codes[op->kind];
	hdr.size = sizeof(targets) + payload_len;
	hdr.atomic.datatype = (uint8_t)op->atomic->datatype;
	hdr.atomic.op = (uint8_t)op->atomic->op;
	hdr.atomic.count = (uint8_t)op->rma_count;
	for (size_t i = 0; i < op->rma_count; i++)
		targets.seg[i] = (struct rxm_wire_seg){ op->rma[i].addr,
			op->rma[i].len / elem_size, op->rma[i].key };
	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), &targets, sizeof(targets));
}

void rxm_put_result(uint8_t *buf, uint32_t conn_id, const struct rxm_packet *request,
	int err, size_t len)
{
	struct status status = { htonl((uint32_t)-err), htonl((uint32_t)len) };
	struct rxm_hdr hdr;

	wire_put_bare(&hdr, RXM_ATOMIC_RESULT, conn_id, request->msg_id);
	hdr.op = request->op;
	hdr.size = sizeof(status) + len;
	hdr.atomic.datatype = request->datatype;
	hdr.atomic.op = request->atomic_op;
	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), &status, sizeof(status));
}
