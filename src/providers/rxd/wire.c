/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/wire.h"

#include <string.h>

static bool wire_is_atomic(uint8_t type)
{
	return type == RXD_ATOMIC || type == RXD_FETCH || type == RXD_COMPARE;
}

static bool wire_has_rma(uint8_t type)
{
	return type == RXD_READ || type == RXD_WRITE || wire_is_atomic(type);
}

static bool wire_needs_segment_head(uint8_t type)
{
	return type == RXD_READ || type == RXD_FETCH || type == RXD_COMPARE;
}

uint16_t rxd_op_flags(const struct rxd_op_head *head)
{
	uint16_t flags = 0;

	if (head->has_tag)
		flags |= RXD_FLAG_TAG;
	if (head->has_data)
		flags |= RXD_FLAG_CQ_DATA;
	if (head->whole)
		flags |= RXD_FLAG_WHOLE;
	return flags;
}

size_t rxd_op_head_size(const struct rxd_op_head *head)
{
	size_t size = 0;

	if (head->has_tag)
		size += sizeof(head->tag);
	if (head->has_data)
		size += sizeof(head->data);
	if (!head->whole)
		size += sizeof(struct rxd_segment_head);
	if (wire_has_rma(head->type))
		size += head->rma_count * sizeof(head->rma[0]);
	if (wire_is_atomic(head->type))
		size += sizeof(struct rxd_atomic_head);
	return size;
}

static uint8_t *wire_put(uint8_t *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	return to + len;
}

size_t rxd_op_head_write(const struct rxd_op_head *head, uint8_t *to)
{
	const struct rxd_segment_head segment = { .size = head->size,
		.packets = head->packets,
		.tx_id = head->tx_id,
		.rma_count = (uint8_t)head->rma_count };
	const struct rxd_atomic_head atomic = { head->datatype, head->op };
	uint8_t *at = to;

	if (head->has_tag)
		at = wire_put(at, &head->tag, sizeof(head->tag));
	if (head->has_data)
		at = wire_put(at, &head->data, sizeof(head->data));
	if (!head->whole)
		at = wire_put(at, &segment, sizeof(segment));
	if (wire_has_rma(head->type))
		at = wire_put(at, head->rma, head->rma_count * sizeof(head->rma[0]));
	if (wire_is_atomic(head->type))
		at = wire_put(at, &atomic, sizeof(atomic));
	return (size_t)(at - to);
}

/* The bytes of a packet that have not been decoded yet. */
struct reader {
	const uint8_t *at;
	size_t left;
};

static bool wire_take(struct reader *from, void *to, size_t len)
{
	if (from->left < len)
		return false;
	memcpy(to, from->at, len);
	from->at += len;
	from->left -= len;
	return true;
}

static bool wire_read_segment_head(struct reader *from, struct rxd_op_head *head)
{
	struct rxd_segment_head segment;

	if (!wire_take(from, &segment, sizeof(segment)))
		return false;
	head->size = segment.size;
	head->packets = segment.packets;
	head->tx_id = segment.tx_id;
	head->rma_count = segment.rma_count;
	return true;
}

/* Sum of the lengths of all RMA segments, in bytes. False: overflow. */
static bool wire_sum_segments(const struct rxd_op_head *head, uint64_t *ret)
{
	*ret = 0;
	for (uint32_t i = 0; i < head->rma_count; i++)
		if (__builtin_add_overflow(*ret, head->rma[i].len, ret))
			return false;
	return true;
}

static bool wire_read_access(struct reader *from, struct rxd_op_head *head)
{
	struct rxd_atomic_head atomic;
	uint64_t len;

	if (head->whole)
		head->rma_count = 1;
	if (!head->rma_count || head->rma_count > RXD_RMA_LIMIT ||
		!wire_take(from, head->rma, head->rma_count * sizeof(head->rma[0])) ||
		!wire_sum_segments(head, &len))
		return false;
	if (head->whole)
		head->size = len;
	if (len != head->size)
		return false;
	if (!wire_is_atomic(head->type))
		return true;
	if (!wire_take(from, &atomic, sizeof(atomic)))
		return false;
	head->datatype = atomic.datatype;
	head->op = atomic.op;
	return true;
}

/* Is the payload of @len bytes as long as the headers allow? That of atomic operations
 * depends on the operation, and is checked when that is known. */
static bool rxd_wire_payload_fits(const struct rxd_op_head *head, size_t len)
{
	if (wire_is_atomic(head->type))
		return true;
	if (head->type == RXD_READ)
		return !len;
	if (head->whole)
		return len == head->size;
	return head->packets && len <= head->size &&
	       (head->packets > 1 || len == head->size);
}

bool rxd_op_head_read(uint8_t type, uint16_t flags, const uint8_t *from, size_t len,
	struct rxd_op_head *ret, size_t *ret_size)
{
	struct reader reader = { from, len };
	struct rxd_op_head head = { .type = type,
		.has_tag = flags & RXD_FLAG_TAG,
		.has_data = flags & RXD_FLAG_CQ_DATA,
		.whole = flags & RXD_FLAG_WHOLE,
		.packets = 1 };

	if (!rxd_type_is_op(type) || (head.whole && wire_needs_segment_head(type)) ||
		(type == RXD_TAGGED && !head.has_tag))
		return false;
	if (head.has_tag && !wire_take(&reader, &head.tag, sizeof(head.tag)))
		return false;
	if (head.has_data && !wire_take(&reader, &head.data, sizeof(head.data)))
		return false;
	if (!head.whole && !wire_read_segment_head(&reader, &head))
		return false;
	if (wire_has_rma(type) && !wire_read_access(&reader, &head))
		return false;
	if (!wire_has_rma(type) && head.whole)
		head.size = reader.left;
	if (!rxd_wire_payload_fits(&head, reader.left))
		return false;
	*ret = head;
	*ret_size = len - reader.left;
	return true;
}
