/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXAMPLES_PROVIDER_COPY_H
#define EXAMPLES_PROVIDER_COPY_H

#include <stdint.h>

#include "objects/op/op.h"

/* The most result buffers and remote segments that the copy of an operation has. */
enum { LOOP_COPY_IOV = 4 };

/*
 * A copy of an operation, for a transport that performs the operation after start()
 * returned. It includes payload and operands. loop_copy_finish stores the results in
 * the initiator's buffers.
 */
struct loop_copy {
	struct wf_op
		op; /* valid pointers: rma, atomic (to the fields below), context */
	struct wf_op_atomic atomic; /* datatype, operation and counts; no pointers */
	struct fi_rma_iov rma[LOOP_COPY_IOV]; /* the remote segments */
	struct iovec result[LOOP_COPY_IOV];   /* the initiator's buffers for results */
	size_t result_count;
	uint8_t *src;     /* op.len bytes of payload or operands, or NULL */
	uint8_t *compare; /* op.len bytes of compare operands, or NULL */
	uint8_t *found;   /* op.len bytes for the data read or fetched, or NULL */
};

/* Bytes of memory that loop_copy_make needs for the data of @op. */
size_t loop_copy_size(const struct wf_op *op);

/* Copy @op. @data has loop_copy_size bytes and is used as long as @copy. Neither may
 * move. */
void loop_copy_make(struct loop_copy *copy, const struct wf_op *op, uint8_t *data);

/* Copy the data read or fetched to the application's buffers. The initiator calls this
 * after the operation succeeded, before it writes the completion. */
void loop_copy_finish(const struct loop_copy *copy);

#endif
