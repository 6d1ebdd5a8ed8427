/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections, local and remote names, and multicast groups, fi_cm(3). Results arrive
 * as events on the event queue of the endpoint.
 */
#ifndef FI_CM_H
#define FI_CM_H

#include <rdma/fi_endpoint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Membership in a multicast or collective group. */
struct fid_mc {
	struct fid fid;
	fi_addr_t fi_addr; /* for transfers to the group */
};

/* Operations of connection management. */
struct fi_ops_cm {
	size_t size;
	int (*setname)(fid_t fid, void *addr, size_t addrlen);
	int (*getname)(fid_t fid, void *addr, size_t *addrlen);
	int (*getpeer)(struct fid_ep *ep, void *addr, size_t *addrlen);
	int (*connect)(struct fid_ep *ep, const void *addr, const void *param,
		size_t paramlen);
	int (*listen)(struct fid_pep *pep);
	int (*accept)(struct fid_ep *ep, const void *param, size_t paramlen);
	int (*reject)(
		struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen);
	int (*shutdown)(struct fid_ep *ep, uint64_t flags);
	int (*join)(struct fid_ep *ep, const void *addr, uint64_t flags,
		struct fid_mc **mc, void *context);
};

#ifdef FABRIC_DIRECT
#include <rdma/fi_direct_cm.h>
#endif

#ifndef FABRIC_DIRECT_CM

/* Set the local address. */
static inline int fi_setname(fid_t fid, void *addr, size_t addrlen)
{
	struct fid_ep *ep = (struct fid_ep *)fid;

	return ep->cm->setname(fid, addr, addrlen);
}

/*
 * Get the local address, or that of the peer. -FI_ETOOSMALL: it was cut to @addrlen
 * bytes, which then holds its full size.
 */
static inline int fi_getname(fid_t fid, void *addr, size_t *addrlen)
{
	struct fid_ep *ep = (struct fid_ep *)fid;

	return ep->cm->getname(fid, addr, addrlen);
}

static inline int fi_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen)
{
	return ep->cm->getpeer(ep, addr, addrlen);
}

/* Take connection requests: FI_CONNREQ. */
static inline int fi_listen(struct fid_pep *pep)
{
	return pep->cm->listen(pep);
}

/*
 * Ask for a connection, once per endpoint. @param goes to the peer with the request.
 */
static inline int fi_connect(
	struct fid_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	return ep->cm->connect(ep, addr, param, paramlen);
}

/* Accept the request that the endpoint's info came with. */
static inline int fi_accept(struct fid_ep *ep, const void *param, size_t paramlen)
{
	return ep->cm->accept(ep, param, paramlen);
}

/* Refuse a request; @handle is that of its info. */
static inline int fi_reject(
	struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen)
{
	return pep->cm->reject(pep, handle, param, paramlen);
}

/* Disconnect. @flags must be 0. */
static inline int fi_shutdown(struct fid_ep *ep, uint64_t flags)
{
	return ep->cm->shutdown(ep, flags);
}

/* Join a group. -FI_ENOEQ: no queue is bound for the FI_JOIN_COMPLETE. */
static inline int fi_join(struct fid_ep *ep, const void *addr, uint64_t flags,
	struct fid_mc **mc, void *context)
{
	if (!FI_CHECK_OP(ep->cm, struct fi_ops_cm, join))
		return -FI_ENOSYS;
	return ep->cm->join(ep, addr, flags, mc, context);
}

/* Address of a joined group. */
static inline fi_addr_t fi_mc_addr(struct fid_mc *mc)
{
	return mc->fi_addr;
}

#endif /* FABRIC_DIRECT_CM */

#ifdef __cplusplus
}
#endif

#endif /* FI_CM_H */
