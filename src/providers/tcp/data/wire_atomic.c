/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/atomic/ops.h"
#include "providers/tcp/data/wire.h"

/* The atomic operations that can be sent, and the size of their elements. */

enum wf_op_kind tcp_atomic_kind(unsigned int rec_kind)
{
	switch (rec_kind) {
	case TCP_REC_FETCH:
		return WF_OP_FETCH;
	case TCP_REC_COMPARE:
		return WF_OP_COMPARE;
	default:
		return WF_OP_ATOMIC;
	}
}

/* A data type whose size or format differs between the ends cannot be sent. */
static bool wire_atomic_datatype_agreed(
	unsigned int datatype, const struct tcp_wire_peer *peer)
{
	return (datatype != FI_LONG_DOUBLE && datatype != FI_LONG_DOUBLE_COMPLEX) ||
	       peer->have & TCP_HAVE_LDBL_OWN;
}

/* Not every operation is defined on every data type. */
static bool wire_atomic_operation_exists(const struct tcp_record *rec)
{
	size_t count;

	return !wf_atomic_valid(tcp_atomic_kind(rec->kind), rec->datatype,
		rec->atomic_op, TCP_WIRE_ATOMIC_MAX, &count);
}

int tcp_record_check_atomic(
	const struct tcp_record *rec, const struct tcp_wire_peer *peer)
{
	size_t size;

	if (!wire_atomic_datatype_agreed(rec->datatype, peer) ||
		!wire_atomic_operation_exists(rec) || !rec->span ||
		rec->span > TCP_WIRE_ATOMIC_MAX)
		return -TCP_FAULT_ATOMIC;
	size = wf_atomic_size(rec->datatype);
	for (unsigned int i = 0; i < rec->seg_count; i++)
		if (!rec->seg[i].len || rec->seg[i].len % size)
			return -TCP_FAULT_ATOMIC;
	return 0;
}
