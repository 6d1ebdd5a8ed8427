/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_IDLE_H
#define TOOLS_BENCH_IDLE_H

#include "worker.h"

/* Opens the idle endpoints of the configuration on side 1. Each is connected with @w of
 * side 0, and both exchange an empty message. */
void fb_idle_add(struct fb_worker *w);
void fb_idle_remove(void);

#endif
