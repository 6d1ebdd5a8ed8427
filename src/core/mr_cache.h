/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_MR_CACHE_H
#define WF_CORE_MR_CACHE_H

#include <stdint.h>
#include <rdma/fi_ext.h>

#include "sys/mem_monitor.h"

/* The memory monitor that an application imports instead of the library's own;
 * fi_mem_monitor(3). */
int wf_mr_cache_import(struct fid_mem_monitor *monitor);

/* The functions that caches of registrations call. Not const, because the structs of
 * fi_open_ops(3) are not. */
extern struct wf_mem_monitor_ops wf_mr_cache_ops;

#endif
