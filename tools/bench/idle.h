/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_IDLE_H
#define TOOLS_BENCH_IDLE_H

#include "worker.h"

/* Side 1 gets as many more endpoints as the configuration says; each is connected with
 * @w of side 0, says a word and hears one. */
void fb_idle_add(struct fb_worker *w);
void fb_idle_remove(void);

#endif
