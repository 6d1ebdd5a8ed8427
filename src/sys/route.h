/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_ROUTE_H
#define WF_SYS_ROUTE_H

#include "sys/sockaddr.h"

/* The local address from which the kernel would reach @dest; port 0. A negative
 * errno when there is no route. No packet is sent. */
int wf_route_source(const union wf_sockaddr *dest, union wf_sockaddr *ret_source);

#endif
