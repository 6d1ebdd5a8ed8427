/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/verbs/data/data.h"
#include "providers/verbs/device/device.h"

/*
 * Atomic operations of the device: fetch-and-add and compare-and-swap of one aligned
 * word of 64 bits. A read is an addition of 0; an addition without result fetches into
 * the domain's scratch word.
 */

static bool atomic_is_word(enum fi_datatype datatype)
{
	return datatype == FI_UINT64 || datatype == FI_INT64;
}

static bool atomic_is_possible(enum wf_op_kind kind, enum fi_op op)
{
	switch (kind) {
	case WF_OP_ATOMIC:
		return op == FI_SUM;
	case WF_OP_FETCH:
		return op == FI_SUM || op == FI_ATOMIC_READ;
	case WF_OP_COMPARE:
		return op == FI_CSWAP;
	default:
		return false;
	}
}

static int verbs_data_atomic_valid(struct wf_domain *domain, enum wf_op_kind kind,
	enum fi_datatype datatype, enum fi_op op, size_t *ret_count)
{
	const struct verbs_domain *own = verbs_domain_of(domain);

	if (!own->dgram && own->device->attr.atomic_cap != IBV_ATOMIC_NONE &&
		atomic_is_word(datatype) && atomic_is_possible(kind, op)) {
		*ret_count = 1;
		return 0;
	}
	verbs_log(FI_LOG_INFO, FI_LOG_DOMAIN,
		"no such atomic operation: possible are FI_SUM, FI_ATOMIC_READ with "
		"result and FI_CSWAP of one 64-bit integer, over connections, if the "
		"device has them\n");
	return -FI_EOPNOTSUPP;
}

int verbs_atomic_valid(struct wf_ep *ep, enum wf_op_kind kind,
	enum fi_datatype datatype, enum fi_op op, size_t *ret_count)
{
	return verbs_data_atomic_valid(ep->domain, kind, datatype, op, ret_count);
}

int verbs_query_atomic(struct wf_domain *domain, enum fi_datatype datatype,
	enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags)
{
	return wf_query_atomic_by(
		domain, datatype, op, attr, flags, verbs_data_atomic_valid);
}

static uint64_t atomic_read_word(const struct iovec *iov, size_t count)
{
	uint64_t word = 0;

	if (count && iov[0].iov_len == sizeof(word))
		memcpy(&word, iov[0].iov_base, sizeof(word));
	return word;
}

/* Set the buffer to which the device writes the old value. */
static int atomic_set_result(const struct verbs_ep *ep,
	const struct wf_op_atomic *atomic, struct ibv_sge *sge)
{
	const void *desc;

	if (!atomic->result_count) {
		*sge = (struct ibv_sge){
			.addr = (uintptr_t)&ep->domain->scratch->word,
			.length = sizeof(uint64_t),
			.lkey = ep->domain->scratch_mr->lkey,
		};
		return 0;
	}
	desc = atomic->result_desc ? atomic->result_desc[0] : NULL;
	if (!desc || atomic->result[0].iov_len != sizeof(uint64_t)) {
		verbs_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"atomic operation refused: the result is not one word with a "
			"memory descriptor\n");
		return -FI_EINVAL;
	}
	*sge = (struct ibv_sge){
		.addr = (uintptr_t)atomic->result[0].iov_base,
		.length = sizeof(uint64_t),
		.lkey = verbs_lkey(desc),
	};
	return 0;
}

int verbs_fill_atomic(
	const struct verbs_ep *ep, const struct wf_op *op, struct verbs_send *send)
{
	const struct wf_op_atomic *atomic = op->atomic;
	size_t count;
	int err = verbs_data_atomic_valid(
		ep->ep.domain, op->kind, atomic->datatype, atomic->op, &count);

	if (err)
		return err;
	if (atomic->count != 1 || !op->rma_count)
		return -FI_EINVAL;
	send->wr = (struct ibv_send_wr){
		.sg_list = send->sge,
		.num_sge = 1,
		.opcode = op->kind == WF_OP_COMPARE ? IBV_WR_ATOMIC_CMP_AND_SWP
						    : IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr.atomic.remote_addr = op->rma[0].addr,
		.wr.atomic.rkey = (uint32_t)op->rma[0].key,
	};
	if (op->kind == WF_OP_COMPARE) {
		send->wr.wr.atomic.compare_add =
			atomic_read_word(atomic->compare, atomic->compare_count);
		send->wr.wr.atomic.swap = atomic_read_word(op->iov, op->iov_count);
	} else {
		send->wr.wr.atomic.compare_add =
			atomic_read_word(op->iov, op->iov_count);
	}
	return atomic_set_result(ep, atomic, send->sge);
}
