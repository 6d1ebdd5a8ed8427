/* SPDX-License-Identifier: BSD-2-Clause */
#include "copy.h"

#include <assert.h>

#include "sys/iov.h"

static bool copy_reads(enum wf_op_kind kind)
{
	return kind == WF_OP_READ || kind == WF_OP_FETCH || kind == WF_OP_COMPARE;
}

static bool copy_has_operands(const struct wf_op *op)
{
	return op->atomic ? op->atomic->op != FI_ATOMIC_READ : op->kind != WF_OP_READ;
}

static size_t copy_len_of(const struct wf_op *op)
{
	return op->atomic ? op->atomic->size : op->len;
}

size_t loop_copy_size(const struct wf_op *op)
{
	return copy_len_of(op) * (copy_has_operands(op) + (op->kind == WF_OP_COMPARE) +
					 copy_reads(op->kind));
}

static void copy_keep_results(
	struct loop_copy *copy, const struct iovec *iov, size_t count)
{
	assert(count <= LOOP_COPY_IOV);
	for (size_t i = 0; i < count; i++)
		copy->result[i] = iov[i];
	copy->result_count = count;
}

static uint8_t *copy_gather(uint8_t **data, const struct iovec *iov, size_t count)
{
	uint8_t *at = *data;

	*data += wf_iov_gather(at, iov, count);
	return at;
}

void loop_copy_make(struct loop_copy *copy, const struct wf_op *op, uint8_t *data)
{
	const struct wf_op_atomic *atomic = op->atomic;

	assert(op->rma_count <= LOOP_COPY_IOV);
	*copy = (struct loop_copy){ .op = *op };
	copy->op.len = copy_len_of(op);
	copy->op.iov = NULL;
	copy->op.desc = NULL;
	for (size_t i = 0; i < op->rma_count; i++)
		copy->rma[i] = op->rma[i];
	copy->op.rma = copy->rma;
	if (copy_has_operands(op))
		copy->src = copy_gather(&data, op->iov, op->iov_count);
	if (op->kind == WF_OP_COMPARE)
		copy->compare =
			copy_gather(&data, atomic->compare, atomic->compare_count);
	if (copy_reads(op->kind))
		copy->found = data;
	if (op->kind == WF_OP_READ)
		copy_keep_results(copy, op->iov, op->iov_count);
	if (!atomic)
		return;
	copy_keep_results(copy, atomic->result, atomic->result_count);
	copy->atomic = (struct wf_op_atomic){
		.datatype = atomic->datatype,
		.op = atomic->op,
		.count = atomic->count,
		.size = atomic->size,
	};
	copy->op.atomic = &copy->atomic;
}

void loop_copy_finish(const struct loop_copy *copy)
{
	(void)wf_iov_scatter(
		copy->result, copy->result_count, copy->found, copy->op.len);
}
