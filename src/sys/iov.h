/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_IOV_H
#define WF_SYS_IOV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "sys/copy.h"

/* Memory in several pieces. */

static inline size_t wf_iov_len(const struct iovec *iov, size_t count)
{
	size_t len = 0;

	for (size_t i = 0; i < count; i++)
		len += iov[i].iov_len;
	return len;
}

/* Copy all pieces to @to, one after the other; returns the number of bytes. */
static inline size_t wf_iov_gather(void *to, const struct iovec *iov, size_t count)
{
	uint8_t *at = to;

	for (size_t i = 0; i < count; i++) {
		wf_copy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	return (size_t)(at - (uint8_t *)to);
}

/* wf_iov_gather of at most @len bytes. */
static inline size_t wf_iov_gather_some(
	void *to, const struct iovec *iov, size_t count, size_t len)
{
	uint8_t *at = to;
	size_t left = len;

	for (size_t i = 0; i < count && left; i++) {
		size_t step = iov[i].iov_len < left ? iov[i].iov_len : left;

		wf_copy(at, iov[i].iov_base, step);
		at += step;
		left -= step;
	}
	return len - left;
}

/* Copy as much of @len bytes as the pieces can hold; returns the number of bytes. */
static inline size_t wf_iov_scatter(
	const struct iovec *iov, size_t count, const void *from, size_t len)
{
	const uint8_t *at = from;
	size_t left = len;

	for (size_t i = 0; i < count && left; i++) {
		size_t step = iov[i].iov_len < left ? iov[i].iov_len : left;

		wf_copy(iov[i].iov_base, at, step);
		at += step;
		left -= step;
	}
	return len - left;
}

/* wf_iov_scatter, beginning at byte @offset of the pieces. */
static inline size_t wf_iov_scatter_at(const struct iovec *iov, size_t count,
	size_t offset, const void *from, size_t len)
{
	const uint8_t *at = from;
	size_t left = len;

	for (size_t i = 0; i < count && left; i++) {
		size_t step;

		if (offset >= iov[i].iov_len) {
			offset -= iov[i].iov_len;
			continue;
		}
		step = iov[i].iov_len - offset < left ? iov[i].iov_len - offset : left;
		wf_copy((uint8_t *)iov[i].iov_base + offset, at, step);
		at += step;
		left -= step;
		offset = 0;
	}
	return len - left;
}

/* Is each of @count pieces within one of @whole? */
static inline bool wf_iov_all_inside(const struct iovec *iov, size_t count,
	const struct iovec *whole, size_t whole_count)
{
	for (size_t i = 0, k = 0; i < count; i++) {
		for (k = 0; k < whole_count; k++) {
			uintptr_t offset = (uintptr_t)iov[i].iov_base -
					   (uintptr_t)whole[k].iov_base;

			if (offset <= whole[k].iov_len &&
				iov[i].iov_len <= whole[k].iov_len - offset)
				break;
		}
		if (k == whole_count)
			return false;
	}
	return true;
}

#endif
