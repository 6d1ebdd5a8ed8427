/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/flow/path.h"

enum { TRIES = 3 };

#define INTERVAL_NS UINT64_C(20000000)

void rxd_path_init(struct rxd_path *path)
{
	*path = (struct rxd_path){ .at_ns = UINT64_MAX };
}

void rxd_path_start(
	struct rxd_path *path, uint16_t smallest, size_t largest, uint64_t now_ns)
{
	rxd_path_init(path);
	if (largest > UINT16_MAX)
		largest = UINT16_MAX;
	if (largest <= smallest)
		return;
	path->probe = (uint16_t)largest;
	path->smallest = smallest;
	path->at_ns = now_ns;
}

uint16_t rxd_path_next(struct rxd_path *path, uint64_t now_ns)
{
	static const uint16_t sizes[] = { 32768, 16384, 8972, 4096, 0 };
	const uint16_t *size = sizes;

	if (path->tries == TRIES) {
		while (*size >= path->probe)
			size++;
		path->probe = *size > path->smallest ? *size : 0;
		path->tries = 0;
	}
	if (path->probe == 0) {
		path->at_ns = UINT64_MAX;
		return 0;
	}
	path->tries++;
	path->at_ns = now_ns + (INTERVAL_NS << path->tries);
	return path->probe;
}

bool rxd_path_arrived(struct rxd_path *path, uint16_t largest, uint16_t *ret_size)
{
	if (path->probe == 0 || largest < path->probe)
		return false;
	*ret_size = path->probe;
	rxd_path_init(path);
	return true;
}
