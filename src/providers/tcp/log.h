/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_LOG_H
#define WF_TCP_LOG_H

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

/* provider.c */
extern struct fi_provider tcp_fi;

#define tcp_log(level, subsys, ...) FI_LOG(&tcp_fi, level, subsys, __VA_ARGS__)

#endif
