/* SPDX-License-Identifier: BSD-2-Clause */
#include "coll_model.h"

/* The largest element, aligned as any. */
union element {
	long double _Complex number;
	unsigned char bytes[32];
};

bool cm_reduces(const struct am_type *type, enum fi_op op)
{
	return op <= FI_BXOR && am_valid(type, op, AM_BASE);
}

bool cm_is_reduction(enum fi_collective_op kind)
{
	return kind == FI_REDUCE || kind == FI_ALLREDUCE || kind == FI_REDUCE_SCATTER;
}

bool cm_has_root(enum fi_collective_op kind)
{
	return kind == FI_BROADCAST || kind == FI_SCATTER || kind == FI_GATHER ||
	       kind == FI_REDUCE;
}

const char *cm_kind_name(enum fi_collective_op kind)
{
	static const char *const names[] = { [FI_BARRIER] = "barrier",
		[FI_BROADCAST] = "broadcast",
		[FI_ALLTOALL] = "alltoall",
		[FI_ALLREDUCE] = "allreduce",
		[FI_ALLGATHER] = "allgather",
		[FI_REDUCE_SCATTER] = "reduce_scatter",
		[FI_REDUCE] = "reduce",
		[FI_SCATTER] = "scatter",
		[FI_GATHER] = "gather" };

	return names[kind];
}

size_t cm_buf_elems(const struct cm_call *call, uint32_t rank)
{
	switch (call->kind) {
	case FI_BARRIER:
		return 0;
	case FI_SCATTER:
		return rank == call->root ? call->count * call->members : 0;
	case FI_ALLTOALL:
	case FI_REDUCE_SCATTER:
		return call->count * call->members;
	default:
		return call->count;
	}
}

size_t cm_result_elems(const struct cm_call *call, uint32_t rank)
{
	switch (call->kind) {
	case FI_BARRIER:
		return 0;
	case FI_REDUCE:
		return rank == call->root ? call->count : 0;
	case FI_GATHER:
		return rank == call->root ? call->count * call->members : 0;
	case FI_ALLTOALL:
	case FI_ALLGATHER:
		return call->count * call->members;
	default:
		return call->count;
	}
}

/* ---- values ---- */

static uint32_t mixed(const struct cm_call *call, uint32_t rank, size_t i)
{
	uint32_t x = (uint32_t)i * 0x9e3779b1u + rank * 0x85ebca6bu +
		     call->seed * 0xc2b2ae35u;

	x ^= x >> 15;
	x *= 0x2c1b3c6du;
	x ^= x >> 12;
	return x;
}

/* Zero once in members + 1 times, so that a conjunction has both results. */
static int rarely_zero(const struct cm_call *call, uint32_t x)
{
	return x % (call->members + 1) ? (int)(x % 7) + 1 : 0;
}

static int rarely_set(const struct cm_call *call, uint32_t x)
{
	return x % (call->members + 1) ? 0 : (int)(x % 7) + 1;
}

/* Powers of two, and odd integers: their products are exact. */
static int factor(const struct cm_call *call, uint32_t x)
{
	static const int of_numbers[] = { 4, 8, -4, -8 };

	return call->type->class == AM_INTEGER ? (int)(2 * (x % 8)) - 7
					       : of_numbers[x % 4];
}

/* Element @i that member @rank contributes. */
static int value(const struct cm_call *call, uint32_t rank, size_t i)
{
	uint32_t x = mixed(call, rank, i);

	if (cm_is_reduction(call->kind)) {
		switch (call->op) {
		case FI_LAND:
			return rarely_zero(call, x);
		case FI_LOR:
			return rarely_set(call, x);
		case FI_PROD:
			return factor(call, x);
		default:
			break;
		}
	}
	return (int)(x % 128) - 64;
}

static void get(
	const struct cm_call *call, uint32_t rank, size_t i, union element *element)
{
	call->type->set(element, 0, value(call, rank, i));
}

/* Element @i of the reduction of all members' buffers. */
static void reduced(const struct cm_call *call, size_t i, union element *element)
{
	union element operand;

	get(call, 0, i, element);
	for (uint32_t rank = 1; rank < call->members; rank++) {
		get(call, rank, i, &operand);
		call->type->apply(call->op, element, &operand, &operand, 0);
	}
}

static void wanted(
	const struct cm_call *call, uint32_t rank, size_t i, union element *element)
{
	switch (call->kind) {
	case FI_BROADCAST:
		get(call, call->root, i, element);
		break;
	case FI_SCATTER:
		get(call, call->root, rank * call->count + i, element);
		break;
	case FI_GATHER:
	case FI_ALLGATHER:
		get(call, (uint32_t)(i / call->count), i % call->count, element);
		break;
	case FI_ALLTOALL:
		get(call, (uint32_t)(i / call->count),
			rank * call->count + i % call->count, element);
		break;
	case FI_REDUCE_SCATTER:
		reduced(call, rank * call->count + i, element);
		break;
	default:
		reduced(call, i, element);
		break;
	}
}

void cm_fill(const struct cm_call *call, uint32_t rank, void *buf)
{
	size_t count = cm_buf_elems(call, rank);

	for (size_t i = 0; i < count; i++)
		call->type->set(buf, i, value(call, rank, i));
}

bool cm_right(const struct cm_call *call, uint32_t rank, const void *result, size_t i)
{
	const char *at = (const char *)result + i * call->type->size;
	union element element;

	wanted(call, rank, i, &element);
	return call->type->equal(&element, at, 0);
}

bool cm_check(const struct cm_call *call, uint32_t rank, const void *result,
	size_t *ret_wrong)
{
	size_t count = cm_result_elems(call, rank);

	for (size_t i = 0; i < count; i++) {
		if (!cm_right(call, rank, result, i)) {
			*ret_wrong = i;
			return false;
		}
	}
	return true;
}
