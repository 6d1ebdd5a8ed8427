/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_MR_CACHE_H
#define WF_CORE_MR_CACHE_H

#include <stdint.h>
#include <rdma/fi_ext.h>

/* The memory monitor that an application imports instead of the library's own;
 * fi_mem_monitor(3). */
int wf_mr_cache_import(struct fid_mem_monitor *monitor);

/* The number of notifications by monitors that a mapping changed. */
uint64_t wf_mr_cache_notified(void);

#endif
