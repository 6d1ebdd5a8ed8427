/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_LOG_H
#define WF_OBJECTS_ENDPOINT_LOG_H

#include "objects/endpoint/endpoint.h"

/* Log in the name of the endpoint's provider; fi_log(3). @ep may be locked. */
#define wf_ep_log(ep, level, subsys, ...)                                              \
	FI_LOG((ep)->domain->prov->fi, level, subsys, __VA_ARGS__)

#endif
