/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/vector.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t coll_ioc_count(const struct fi_ioc *ioc, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (__builtin_add_overflow(sum, ioc[i].count, &sum))
			return SIZE_MAX;
	return sum;
}

void coll_ioc_gather(void *buf, const struct fi_ioc *ioc, size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		if (ioc[i].count)
			memcpy(buf, ioc[i].addr, ioc[i].count * size);
		buf = (char *)buf + ioc[i].count * size;
	}
}

void coll_ioc_scatter(
	const struct fi_ioc *ioc, size_t count, size_t size, const void *buf)
{
	for (size_t i = 0; i < count; i++) {
		if (ioc[i].count)
			memcpy(ioc[i].addr, buf, ioc[i].count * size);
		buf = (const char *)buf + ioc[i].count * size;
	}
}

void coll_stage_finish(const struct coll_staging *stage)
{
	if (stage && stage->resultv)
		coll_ioc_scatter(stage->resultv, stage->result_count, stage->size,
			stage->result);
}

void coll_stage_free(struct coll_staging *stage)
{
	if (!stage)
		return;
	free(stage->buf);
	free(stage->result);
	free(stage->resultv);
	free(stage);
}
