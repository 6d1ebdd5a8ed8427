/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_COPY_SPAN_H
#define WF_SHM_COPY_SPAN_H

#include "providers/shm/shm.h"
#include "sys/copy.h"

/* Local memory of a transfer: the application's buffers, or segments of registered
 * memory. */
struct shm_span {
	uint64_t len;
	uint8_t count;
	/* seg[] is valid: registered memory, whose keys are looked up again for each
	 * piece. Else iov[] is. */
	bool remote;
	/* Copy with stores that bypass the caches, because the transfer is larger than
	 * they are. */
	bool past;
	union {
		struct iovec iov[SHM_IOV_LIMIT];
		struct fi_rma_iov seg[SHM_RMA_LIMIT];
	};
};

/* Copy between @span and a buffer. 0, or a negative fi_errno if a region was closed
 * meanwhile. */
int shm_span_put(struct shm_ep *ep, const struct shm_span *span, uint64_t offset,
	const uint8_t *from, size_t len);
int shm_span_get(struct shm_ep *ep, const struct shm_span *span, uint64_t offset,
	uint8_t *to, size_t len);

/* Get the buffers behind the first @offset bytes of @iov, at most @max bytes of them;
 * returns their number. */
size_t shm_iov_rest(const struct iovec *iov, size_t count, uint64_t offset, size_t max,
	struct iovec *to);

/* memcpy for lengths of mostly at most SHM_INLINE_MAX bytes. */
static inline void shm_copy(void *to, const void *from, size_t len)
{
	if (wf_likely(len <= SHM_INLINE_MAX))
		wf_copy_small(to, from, len);
	else
		wf_copy(to, from, len);
}

static inline bool shm_is_past(uint64_t len)
{
	return len >= shm_params.nontemporal_size;
}

#endif
