/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/wire.h"

#include <string.h>

static bool is_atomic(uint8_t type)
{
	return type == RXD_ATOMIC || type == RXD_FETCH || type == RXD_COMPARE;
}

static bool has_rma(uint8_t type)
{
	return type == RXD_READ || type == RXD_WRITE || is_atomic(type);
}

static bool needs_segment_head(uint8_t type)
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
	if (has_rma(head->type))
		size += head->rma_count * sizeof(head->rma[0]);
	if (is_atomic(head->type))
		size += sizeof(struct rxd_atomic_head);
	return size;
}

static uint8_t *put(uint8_t *to, const void *from, size_t len)
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
		at = put(at, &head->tag, sizeof(head->tag));
	if (head->has_data)
		at = put(at, &head->data, sizeof(head->data));
	if (!head->whole)
		at = put(at, &segment, sizeof(segment));
	if (has_rma(head->type))
		at = put(at, head->rma, head->rma_count * sizeof(head->rma[0]));
	if (is_atomic(head->type))
		at = put(at, &atomic, sizeof(atomic));
	return (size_t)(at - to);
}

/* The bytes of a packet that have not been decoded yet. */
struct reader {
	const uint8_t *at;
	size_t left;
};

static bool take(struct reader *from, void *to, size_t len)
{
	if (from->left < len)
		return false;
	memcpy(to, from->at, len);
	from->at += len;
	from->left -= len;
	return true;
}

static bool read_segment_head(struct reader *from, struct rxd_op_head *head)
{
	struct rxd_segment_head segment;

	if (!take(from, &segment, sizeof(segment)))
		return false;
	head->size = segment.size;
	head->packets = segment.packets;
	head->tx_id = segment.tx_id;
	head->rma_count = segment.rma_count;
	return true;
}

/* Sum of the lengths of all RMA segments, in bytes. False: overflow. */
static bool sum_segments(const struct rxd_op_head *head, uint64_t *ret)
{
	*ret = 0;
	for (uint32_t i = 0; i < head->rma_count; i++)
		if (__builtin_add_overflow(*ret, head->rma[i].len, ret))
			return false;
	return true;
}

static bool read_access(struct reader *from, struct rxd_op_head *head)
{
	struct rxd_atomic_head atomic;
	uint64_t len;

	if (head->whole)
		head->rma_count = 1;
	if (!head->rma_count || head->rma_count > RXD_RMA_LIMIT ||
		!take(from, head->rma, head->rma_count * sizeof(head->rma[0])) ||
		!sum_segments(head, &len))
		return false;
	if (head->whole)
		head->size = len;
	if (len != head->size)
		return false;
	if (!is_atomic(head->type))
		return true;
	if (!take(from, &atomic, sizeof(atomic)))
		return false;
	head->datatype = atomic.datatype;
	head->op = atomic.op;
	return true;
}

/* Is the payload of @len bytes as long as the headers allow? That of atomic operations
 * depends on the operation, and is checked when that is known. */
static bool payload_fits(const struct rxd_op_head *head, size_t len)
{
	if (is_atomic(head->type))
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

	if (!rxd_type_is_op(type) || (head.whole && needs_segment_head(type)) ||
		(type == RXD_TAGGED && !head.has_tag))
		return false;
	if (head.has_tag && !take(&reader, &head.tag, sizeof(head.tag)))
		return false;
	if (head.has_data && !take(&reader, &head.data, sizeof(head.data)))
		return false;
	if (!head.whole && !read_segment_head(&reader, &head))
		return false;
	if (has_rma(type) && !read_access(&reader, &head))
		return false;
	if (!has_rma(type) && head.whole)
		head.size = reader.left;
	if (!payload_fits(&head, reader.left))
		return false;
	*ret = head;
	*ret_size = len - reader.left;
	return true;
}
