/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_VECTOR_H
#define WF_COLL_VECTOR_H

#include <stddef.h>
#include <rdma/fi_domain.h>

/*
 * Contiguous memory used instead of the vectors of a call in message form (struct
 * fi_msg_collective), because schedules use contiguous buffers only. Guarded by the
 * endpoint's lock once the operation has begun.
 */
struct coll_staging {
	void *buf, *result; /* NULL: the call has a contiguous buffer */
	/* Copy of the application's vector, to which @result is copied at the end. */
	struct fi_ioc *resultv;
	size_t result_count; /* number of entries */
	size_t size;         /* size of an element in bytes */
};

/* Number of elements in the @count entries of @ioc. SIZE_MAX: it exceeds a size_t. */
size_t coll_ioc_count(const struct fi_ioc *ioc, size_t count);

/* Copy the elements of the vector @ioc to the contiguous memory @buf, or back. @size:
 * of an element, in bytes. */
void coll_ioc_gather(void *buf, const struct fi_ioc *ioc, size_t count, size_t size);
void coll_ioc_scatter(
	const struct fi_ioc *ioc, size_t count, size_t size, const void *buf);

/* Copy the result to the application's vector. NULL: no-op. */
void coll_stage_finish(const struct coll_staging *stage);
void coll_stage_free(struct coll_staging *stage);

#endif
