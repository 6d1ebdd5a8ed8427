/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_STAGE_H
#define WF_PROVIDERS_COLL_STAGE_H

#include <stddef.h>
#include <rdma/fi_domain.h>

/*
 * Contiguous memory that stands for the vectors of a call in message form (struct
 * fi_msg_collective), whose schedules know one buffer only. Guarded by the endpoint's
 * lock once the operation has begun.
 */
struct coll_staging {
	void *buf, *result; /* NULL: the call has a contiguous one */
	/* The application's vector that @result is copied to at the end; a copy. */
	struct fi_ioc *resultv;
	size_t result_count; /* entries */
	size_t size;         /* bytes of an element */
};

/* Elements in the @count entries of @ioc. SIZE_MAX: more than a size_t holds. */
size_t coll_ioc_count(const struct fi_ioc *ioc, size_t count);

/* Copy the vector @ioc to the contiguous memory @buf, or back. */
void coll_ioc_gather(void *buf, const struct fi_ioc *ioc, size_t count, size_t size);
void coll_ioc_scatter(
	const struct fi_ioc *ioc, size_t count, size_t size, const void *buf);

/* Copy the result to the application's vector. No-op for NULL. */
void coll_stage_finish(const struct coll_staging *stage);
void coll_stage_free(struct coll_staging *stage);

#endif
