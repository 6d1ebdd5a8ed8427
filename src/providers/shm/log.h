/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_LOG_H
#define WF_SHM_LOG_H

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

/* provider.c */
extern struct fi_provider shm_fi;

#define shm_log(level, subsys, ...) FI_LOG(&shm_fi, level, subsys, __VA_ARGS__)

#endif
