/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_MR_CACHE_H
#define WF_CORE_MR_CACHE_H

#include <stdint.h>
#include <rdma/fi_ext.h>

/* The memory monitor an application puts in the place of the library's own. */
int wf_mr_cache_import(struct fid_mem_monitor *monitor);

/* How often monitors have reported a change of mappings. */
uint64_t wf_mr_cache_notified(void);

#endif
