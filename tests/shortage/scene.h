/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SHORTAGE_SCENE_H
#define TESTS_SHORTAGE_SCENE_H

/* What a program does with one provider from the first call to the last, with both ends
 * in one process. Each call may fail; then everything that was opened is closed. */
#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

struct scene_asked {
	const char *provider;
	enum fi_ep_type type;
	uint32_t addr_format;
};

/* Returns 0 if all went well, the first error, or SCENE_LOST: an operation was neither
 * completed nor reported as failed. @ret_step tells where that was. */
enum { SCENE_LOST = -10000, SCENE_UNCLOSED = -10001 };
int scene_play(const struct scene_asked *asked, const char **ret_step);

#endif
