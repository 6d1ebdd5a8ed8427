/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXAMPLES_PROVIDER_TARGET_H
#define EXAMPLES_PROVIDER_TARGET_H

#include "copy.h"
#include "objects/endpoint/life/target.h"

/*
 * Serve a peer's read, write or atomic operation: check all segments, access them, then
 * call wf_target_done with @src. Results are stored in copy->found. 0, or a code of
 * wf_target_check or wf_target_atomic.
 */
int loop_target_serve(struct wf_ep *ep, const struct loop_copy *copy, fi_addr_t src);

#endif
