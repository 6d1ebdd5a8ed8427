/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_INFO_H
#define WF_OBJECTS_LOWER_INFO_H

#include <stdbool.h>
#include <rdma/fabric.h>

/*
 * The fi_info that an endpoint below is opened with: a copy of what its domain was
 * opened with, made to fit the endpoint above.
 */

/* Lower the limits of @info, sizes and counts of buffers, and its message order to what
 * @above, the fi_info of the endpoint above, settled; take its modes. Default flags,
 * traffic class and the capabilities of the contexts are cleared: those apply above. */
void wf_lower_info_fit(struct fi_info *info, const struct fi_info *above);

/* Set src_addr of @info to a copy of the @len bytes at @addr in @format, where text
 * (FI_ADDR_STR) may lack its NUL. False: no memory, nothing changed. */
bool wf_lower_info_set_source(
	struct fi_info *info, const void *addr, size_t len, uint32_t format);

#endif
