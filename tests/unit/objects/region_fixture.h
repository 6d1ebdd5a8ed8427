/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_OBJECTS_REGION_FIXTURE_H
#define TESTS_UNIT_OBJECTS_REGION_FIXTURE_H

/* A region of pieces that are not contiguous, in a map of its own. */

#include "objects/mr/map.h"

enum { KEY = 7, BASE = 0x1000 };

static struct wf_mr_map map;
static struct wf_mr region;
static struct iovec pieces[6];
static uint64_t memory[6];

/* A region of six pieces of @size bytes each. */
static inline void open_region(size_t size, uint64_t access)
{
	assert_int_equal(wf_mr_map_init(&map, WF_LOCK_SPIN), 0);
	memset(&region, 0, sizeof(region));
	for (size_t i = 0; i < 6; i++) {
		memory[i] = i;
		pieces[i] = (struct iovec){ &memory[i], size };
	}
	region.iov = pieces;
	region.iov_count = 6;
	region.len = 6 * size;
	region.base = BASE;
	region.access = access;
	region.enabled = true;
	region.fid.key = KEY;
	assert_int_equal(wf_mr_map_insert(&map, &region, false, UINT64_MAX), 0);
}

static inline void close_region(void)
{
	/* No call left the lock taken. */
	assert_true(wf_trylock(&map.lock));
	wf_unlock(&map.lock);
	wf_mr_map_remove(&map, &region);
	wf_mr_map_done(&map);
}

#define RW (FI_REMOTE_READ | FI_REMOTE_WRITE)

#endif
