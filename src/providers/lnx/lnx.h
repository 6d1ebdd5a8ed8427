/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_LNX_H
#define WF_LNX_LNX_H

#include <rdma/providers/fi_log.h>

/*
 * lnx links the endpoints of other providers, its members, into one.
 *
 * It owns what the application sees: the CQs, the counters, the receive context, the
 * AV. Members import these (fi_peer(3)) and complete, count and match there. A
 * transmission is handed to the member that reaches its destination, by the public call
 * that the application used; the member completes it in the application's CQ. A member
 * is opened through the public interface (objects/lower) and may be of any provider. A
 * builtin member, one of this library, is then called and linked directly
 * (fast_path.c).
 *
 *   domain.h    struct lnx_domain: the members' fabrics and domains
 *   av.h        struct lnx_av: the members' AVs, and which members reach which address
 *   rail.h      struct lnx_rail: the endpoint of one member
 *   endpoint.h  struct lnx_ep: the rails of one endpoint
 *   record.h    struct lnx_op: an operation that a rail has taken
 *   mr.c        a region: the members' registrations, under one key
 *
 * Locks. Order: lnx_domain.control, lock of the receive context, locks of members,
 * lnx_ep.ops_lock, CQ or counter. The lock of the receive context is held whenever a
 * member may call back into it (objects/peer/open.h). A send takes no lock of lnx,
 * except ops_lock if it has a record.
 */

#define lnx_log(level, subsys, ...) FI_LOG(&lnx_fi, level, subsys, __VA_ARGS__)

extern struct fi_provider lnx_fi;

#endif
