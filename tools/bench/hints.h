/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_HINTS_H
#define TOOLS_BENCH_HINTS_H

#include "node.h"

/* Asks for what the tests need, to listen and wait for peers, or to reach @dest if it
 * is not NULL. Sets node->info and node->call, or ends the process. */
void fb_node_getinfo(struct fb_node *node, const struct fb_address *dest);

#endif
