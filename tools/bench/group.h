/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_GROUP_H
#define TOOLS_BENCH_GROUP_H

#include "worker.h"

/* All members join one group, if a test needs one. */
void fb_group_join(struct fb_worker *w);
void fb_group_leave(void);

#endif
