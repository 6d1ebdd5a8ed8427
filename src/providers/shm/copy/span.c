/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#include "objects/endpoint/life/target.h"
#include "providers/shm/copy/span.h"

/* Copies bytes to and from the memory of a transfer. */

enum move { PUT, PUT_PAST, GET };

size_t shm_iov_rest(const struct iovec *iov, size_t count, uint64_t offset, size_t max,
	struct iovec *to)
{
	size_t n = 0;

	for (size_t i = 0; i < count && max; i++) {
		size_t len = iov[i].iov_len;

		if (offset >= len) {
			offset -= len;
			continue;
		}
		len = WF_MIN(len - offset, max);
		to[n].iov_base = (uint8_t *)iov[i].iov_base + offset;
		to[n++].iov_len = len;
		max -= len;
		offset = 0;
	}
	return n;
}

/*
 * Copy with stores that bypass the caches: a destination larger than the caches would
 * evict their contents and itself, and each of its lines would be loaded before it is
 * written. The source is in the lane, which stays cached.
 */
static void copy_past(uint8_t *to, const uint8_t *from, size_t len)
{
#ifdef __x86_64__
	size_t head = WF_MIN(-(uintptr_t)to % sizeof(__m128i), len);

	memcpy(to, from, head);
	to += head;
	from += head;
	len -= head;
	for (; len >= 4 * sizeof(__m128i); len -= 4 * sizeof(__m128i)) {
		const __m128i *s = (const __m128i *)(const void *)from;
		__m128i *d = (__m128i *)(void *)to;
		__m128i v[4];

		for (int i = 0; i < 4; i++)
			v[i] = _mm_loadu_si128(s + i);
		for (int i = 0; i < 4; i++)
			_mm_stream_si128(d + i, v[i]);
		from += sizeof(v);
		to += sizeof(v);
	}
	/* The stores complete before the completion is written. */
	_mm_sfence();
#endif
	memcpy(to, from, len);
}

static void span_move_iov(enum move move, const struct iovec *iov, size_t count,
	uint64_t offset, uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < count && len; i++) {
		size_t step;

		if (offset >= iov[i].iov_len) {
			offset -= iov[i].iov_len;
			continue;
		}
		step = WF_MIN(iov[i].iov_len - offset, len);
		if (move == PUT)
			shm_copy((uint8_t *)iov[i].iov_base + offset, bytes, step);
		else if (move == PUT_PAST)
			copy_past((uint8_t *)iov[i].iov_base + offset, bytes, step);
		else
			wf_copy(bytes, (const uint8_t *)iov[i].iov_base + offset, step);
		bytes += step;
		len -= step;
		offset = 0;
	}
}

static int span_move_remote(enum move move, struct shm_ep *ep,
	const struct shm_span *span, uint64_t offset, uint8_t *bytes, size_t len)
{
	uint64_t access = move == GET ? FI_REMOTE_READ : FI_REMOTE_WRITE;
	struct wf_mr_map *map = wf_ep_mr_map(&ep->ep);
	struct iovec iov[SHM_IOV_LIMIT];
	size_t count, step;
	int ret;

	while (len) {
		ret = wf_target_pieces(map, span->seg, span->count, offset, access, iov,
			SHM_IOV_LIMIT, &count);
		if (ret)
			return ret;
		step = WF_MIN(wf_iov_len(iov, count), len);
		span_move_iov(move, iov, count, 0, bytes, step);
		wf_target_release(map);
		if (!step)
			return -FI_EINVAL;
		bytes += step;
		offset += step;
		len -= step;
	}
	return 0;
}

int shm_span_put(struct shm_ep *ep, const struct shm_span *span, uint64_t offset,
	const uint8_t *from, size_t len)
{
	/* The memory is only read. */
	uint8_t *bytes = (uint8_t *)(uintptr_t)from;
	enum move move = span->past ? PUT_PAST : PUT;

	if (span->remote)
		return span_move_remote(move, ep, span, offset, bytes, len);
	span_move_iov(move, span->iov, span->count, offset, bytes, len);
	return 0;
}

int shm_span_get(struct shm_ep *ep, const struct shm_span *span, uint64_t offset,
	uint8_t *to, size_t len)
{
	if (span->remote)
		return span_move_remote(GET, ep, span, offset, to, len);
	span_move_iov(GET, span->iov, span->count, offset, to, len);
	return 0;
}
