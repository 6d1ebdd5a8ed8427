/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_ROUTE_H
#define WF_SYS_ROUTE_H

#include "sys/sockaddr.h"

/* The local address, with port 0, from which the kernel routes packets to @dest. 0, or
 * a negative errno: there is no route. Sends no packet. */
int wf_route_source(const union wf_sockaddr *dest, union wf_sockaddr *ret_source);

/* The path MTU to @dest as the kernel knows it: bytes of an IP packet. 0, or a negative
 * errno. Sends no packet. */
int wf_route_mtu(const union wf_sockaddr *dest, size_t *ret_mtu);

#endif
