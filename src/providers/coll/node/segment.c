/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "providers/coll/node/segment.h"
#include "sys/sealed.h"

#define NAME "weft-coll"

int coll_segment_new(uint64_t cookie, int *ret_fd, struct coll_segment **ret_segment)
{
	struct coll_segment *segment;
	void *mem;
	int ret = wf_sealed_new(NAME, sizeof(*segment), ret_fd, &mem);

	if (ret)
		return ret;
	segment = mem;
	segment->cookie = cookie;
	segment->address = (uintptr_t)segment;
	*ret_segment = segment;
	return 0;
}

int coll_segment_map(
	const struct coll_card *card, const struct coll_segment **ret_segment)
{
	const struct coll_segment *segment;
	const void *mem;
	int ret = wf_sealed_map(NAME, card->pid, card->fd, sizeof(*segment), &mem);

	if (ret)
		return ret;
	segment = mem;
	if (segment->cookie != card->cookie || coll_card_alive(card) != COLL_ALIVE) {
		coll_segment_unmap(segment);
		return -EINVAL;
	}
	*ret_segment = segment;
	return 0;
}

void coll_segment_unmap(const struct coll_segment *segment)
{
	wf_sealed_unmap(segment, sizeof(*segment));
}
