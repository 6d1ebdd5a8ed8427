/* SPDX-License-Identifier: BSD-2-Clause */
#include <complex.h>
#include <rdma/fi_atomic.h>

#include "providers/tcp/wire.h"
#include "sys/compiler.h"

/* Which atomic operations can travel, and how long their elements are there. */

static const uint8_t datatype_size[] = {
	[FI_INT8] = sizeof(int8_t),
	[FI_UINT8] = sizeof(uint8_t),
	[FI_INT16] = sizeof(int16_t),
	[FI_UINT16] = sizeof(uint16_t),
	[FI_INT32] = sizeof(int32_t),
	[FI_UINT32] = sizeof(uint32_t),
	[FI_INT64] = sizeof(int64_t),
	[FI_UINT64] = sizeof(uint64_t),
	[FI_FLOAT] = sizeof(float),
	[FI_DOUBLE] = sizeof(double),
	[FI_FLOAT_COMPLEX] = sizeof(float complex),
	[FI_DOUBLE_COMPLEX] = sizeof(double complex),
	[FI_LONG_DOUBLE] = sizeof(long double),
	[FI_LONG_DOUBLE_COMPLEX] = sizeof(long double complex),
	[FI_INT128] = 16,
	[FI_UINT128] = 16,
};

/* Bytes of one element of an enum fi_datatype; 0 for one that does not travel. */
static size_t size_of(unsigned int datatype)
{
	return datatype < WF_ARRAY_SIZE(datatype_size) ? datatype_size[datatype] : 0;
}

/* A type whose size or format differs between the ends cannot travel. */
static bool datatype_agreed(unsigned int datatype, const struct tcp_wire_peer *peer)
{
	if (datatype == FI_LONG_DOUBLE || datatype == FI_LONG_DOUBLE_COMPLEX)
		return peer->have & TCP_HAVE_LDBL_OWN;
	return size_of(datatype) != 0;
}

static bool atomic_op_fits(unsigned int kind, unsigned int op)
{
	switch (op) {
	case FI_MIN:
	case FI_MAX:
	case FI_SUM:
	case FI_PROD:
	case FI_LOR:
	case FI_LAND:
	case FI_BOR:
	case FI_BAND:
	case FI_LXOR:
	case FI_BXOR:
	case FI_ATOMIC_WRITE:
	case FI_DIFF:
		return kind != TCP_REC_COMPARE;
	case FI_ATOMIC_READ:
		return kind == TCP_REC_FETCH;
	case FI_CSWAP:
	case FI_CSWAP_NE:
	case FI_CSWAP_LE:
	case FI_CSWAP_LT:
	case FI_CSWAP_GE:
	case FI_CSWAP_GT:
	case FI_MSWAP:
		return kind == TCP_REC_COMPARE;
	default:
		return false;
	}
}

int tcp_record_check_atomic(
	const struct tcp_record *rec, const struct tcp_wire_peer *peer)
{
	size_t size;

	if (!datatype_agreed(rec->datatype, peer) ||
		!atomic_op_fits(rec->kind, rec->atomic_op) || !rec->span ||
		rec->span > TCP_WIRE_ATOMIC_MAX)
		return -TCP_FAULT_ATOMIC;
	size = size_of(rec->datatype);
	for (unsigned int i = 0; i < rec->seg_count; i++)
		if (!rec->seg[i].len || rec->seg[i].len % size)
			return -TCP_FAULT_ATOMIC;
	return 0;
}
