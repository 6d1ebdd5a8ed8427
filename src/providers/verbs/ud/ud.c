/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/ud/ud.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "objects/endpoint/life/name.h"
#include "providers/verbs/device/device.h"
#include "providers/verbs/ud/ns.h"

/* Life and address of datagram endpoints. */

int verbs_ud_new(struct verbs_ep *ep, const struct fi_info *info)
{
	struct verbs_ud *ud = calloc(1, sizeof(*ud));
	struct verbs_ud_name asked;

	if (!ud)
		return -FI_ENOMEM;
	/* Of the address that was asked for, an endpoint can only have the service. */
	if (verbs_ud_name_read(info->src_addr, info->src_addrlen, &asked))
		ud->name.service = asked.service;
	ep->ud = ud;
	return 0;
}

void verbs_ud_free(struct verbs_ep *ep)
{
	if (!ep->ud)
		return;
	verbs_ns_unregister(ep->ud);
	free(ep->ud->restart.kept);
	free(ep->ud);
	ep->ud = NULL;
}

static int ud_read_own(struct verbs_ep *ep, struct verbs_ud_name *name)
{
	const struct verbs_device *device = ep->domain->device;
	__be16 pkey;

	if (VERBS_IBV(query_pkey(ep->domain->context, device->port, 0, &pkey)))
		return verbs_failed(FI_LOG_EP_CTRL, "ibv_query_pkey", errno);
	memcpy(name->gid, device->gid.raw, sizeof(name->gid));
	name->lid = device->port_attr.lid;
	name->sl = device->port_attr.sm_sl;
	name->pkey = pkey;
	name->qpn = ep->qp->qp_num;
	return 0;
}

int verbs_ud_to_rts(struct verbs_ep *ep)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int err = verbs_qp_modify(ep, &attr, IBV_QP_STATE);

	attr.qp_state = IBV_QPS_RTS;
	return err ? err : verbs_qp_modify(ep, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static int ud_open_kept(struct verbs_ep *ep)
{
	struct verbs_restart *restart = &ep->ud->restart;

	if (!restart->kept)
		restart->kept = calloc((size_t)ep->rq.mask + 1, sizeof(*restart->kept));
	return restart->kept ? 0 : -FI_ENOMEM;
}

int verbs_ud_enable(struct verbs_ep *ep)
{
	int err = ud_open_kept(ep);

	if (!err)
		err = verbs_ud_to_rts(ep);
	if (!err)
		err = ud_read_own(ep, &ep->ud->name);
	if (err)
		return err;
	/* release: a thread that loads it posts to a complete queue pair. */
	atomic_store_explicit(&ep->ready, true, memory_order_release);
	verbs_ns_register(ep->ud);
	return 0;
}

int verbs_ud_setname(struct verbs_ep *ep, const void *addr, size_t len)
{
	struct verbs_ud_name name;

	if (!verbs_ud_name_read(addr, len, &name)) {
		verbs_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_setname: not an address in the endpoint's format\n");
		return -FI_EINVAL;
	}
	/* The device chooses the other fields. */
	ep->ud->name.service = name.service;
	return 0;
}

int verbs_ud_getname(struct verbs_ep *ep, void *addr, size_t *len)
{
	if (!ep->ud->name.qpn) {
		verbs_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_getname: an endpoint has its address once it is "
			"enabled\n");
		return -FI_EOPBADSTATE;
	}
	return wf_name_give(&ep->ud->name, sizeof(ep->ud->name), addr, len);
}
