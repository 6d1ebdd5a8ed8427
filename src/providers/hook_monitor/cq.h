/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_HOOK_MONITOR_CQ_H
#define WF_HOOK_MONITOR_CQ_H

#include <rdma/fi_eq.h>

#include "providers/hook_monitor/file.h"

/* Monitor the queue @fid, which was opened with @format. If there is no memory, nothing
 * is changed, which is logged. */
void mon_cq_put(struct fid_cq *fid, enum fi_cq_format format, struct mon_file *file);

#endif
