/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_OP_COPY_H
#define WF_OBJECTS_OP_COPY_H

#include <stdint.h>

#include "objects/op/op.h"

/* Buffers, results and remote segments that an operation may have in a copy. */
enum { WF_OP_COPY_IOV = 4 };

/*
 * A copy of an operation, for a transport that carries it as it is and is done with it
 * after start() returned. Everything but results is copied: those go where the
 * initiator wanted them, by wf_op_copy_finish.
 */
struct wf_op_copy {
	struct wf_op op;            /* rma, atomic and context are its valid pointers */
	struct wf_op_atomic atomic; /* without pointers */
	struct fi_rma_iov rma[WF_OP_COPY_IOV];
	struct iovec result[WF_OP_COPY_IOV];
	size_t result_count;
	uint8_t *src; /* op.len bytes of payload or operands; NULL: there are none */
	uint8_t *compare; /* op.len bytes to compare with, or NULL */
	uint8_t *found;   /* op.len bytes for what a read or an atomic finds, or NULL */
};

/* Bytes of memory that the copy of @op needs for its data. */
size_t wf_op_copy_size(const struct wf_op *op);

/* @data has as many, and stays as long as @copy. Neither may move. */
void wf_op_copy(struct wf_op_copy *copy, const struct wf_op *op, uint8_t *data);

/* The operation succeeded: what was found goes to the application. The initiator calls
 * it, before it completes the operation. */
void wf_op_copy_finish(const struct wf_op_copy *copy);

#endif
