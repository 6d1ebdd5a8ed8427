/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_INFO_H
#define WF_OBJECTS_LOWER_INFO_H

#include <stdbool.h>
#include <rdma/fabric.h>

/*
 * The fi_info with which an endpoint below is opened: a copy of its domain's fi_info,
 * adapted to the endpoint above.
 */

/* Lower the limits of @info (sizes, counts of buffers) and its message order to those
 * of @above, the fi_info of the endpoint above, and copy its modes. Default flags,
 * traffic class and the capabilities of contexts are cleared: they apply above. */
void wf_lower_info_fit(struct fi_info *info, const struct fi_info *above);

/* Set src_addr of @info to a copy of the @len bytes at @addr in @format, where text
 * (FI_ADDR_STR) may lack its NUL. False: no memory, nothing changed. */
bool wf_lower_info_set_source(
	struct fi_info *info, const void *addr, size_t len, uint32_t format);

#endif
