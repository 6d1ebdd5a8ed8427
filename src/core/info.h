/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_INFO_H
#define WF_CORE_INFO_H

#include <rdma/fabric.h>

/* fi_dupinfo(3) and fi_freeinfo(3) for the current layout of struct fi_info. */
struct fi_info *wf_dupinfo(const struct fi_info *info);
void wf_freeinfo(struct fi_info *list);

#endif
