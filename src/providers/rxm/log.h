/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_LOG_H
#define WF_RXM_LOG_H

#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

extern struct fi_provider rxm_fi;

#define rxm_log(level, subsys, ...) FI_LOG(&rxm_fi, level, subsys, __VA_ARGS__)

#endif
