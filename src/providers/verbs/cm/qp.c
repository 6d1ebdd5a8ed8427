/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/cm/cm.h"
#include "providers/verbs/device/device.h"
#include "providers/verbs/param.h"

/* The states of a queue pair that is connected: INIT, ready to receive (RTR), ready to
 * send (RTS). The exchange provides the peer's queue pair number and the path. */

enum {
	REMOTE_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ,
	/* The largest values of 3 bits: seven retries; and retries without end while
	 * the peer has no receive posted, as FI_RM_ENABLED requires. */
	RETRIES = 7,
	RNR_RETRIES = 7,
};

static int verbs_qp_access_flags(const struct verbs_device *device)
{
	return device->attr.atomic_cap == IBV_ATOMIC_NONE
		       ? REMOTE_ACCESS
		       : REMOTE_ACCESS | IBV_ACCESS_REMOTE_ATOMIC;
}

/* The number of outstanding reads: the peer asks for it, and the device limits it. */
static uint8_t qp_within(uint8_t asked, int limit)
{
	return (uint8_t)WF_MIN((int)asked, WF_MAX(limit, 0));
}

static int qp_move(struct verbs_cm *cm, enum ibv_qp_state state)
{
	const struct verbs_device *device = cm->ep->domain->device;
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask = 0;

	if (VERBS_RDMA(init_qp_attr(cm->id, &attr, &mask)))
		return verbs_cm_errno("rdma_init_qp_attr");
	if (mask & IBV_QP_ACCESS_FLAGS)
		attr.qp_access_flags = (unsigned int)verbs_qp_access_flags(device);
	if (mask & IBV_QP_MIN_RNR_TIMER)
		attr.min_rnr_timer = (uint8_t)verbs_params.min_rnr_timer;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		attr.max_dest_rd_atomic =
			qp_within(attr.max_dest_rd_atomic, device->attr.max_qp_rd_atom);
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		attr.max_rd_atomic =
			qp_within(attr.max_rd_atomic, device->attr.max_qp_init_rd_atom);
	return verbs_qp_modify(cm->ep, &attr, mask);
}

int verbs_cm_qp_connect(struct verbs_cm *cm)
{
	int ret = qp_move(cm, IBV_QPS_INIT);

	if (!ret)
		ret = qp_move(cm, IBV_QPS_RTR);
	return ret ? ret : qp_move(cm, IBV_QPS_RTS);
}

struct rdma_conn_param verbs_cm_param(
	const struct verbs_cm *cm, const struct verbs_cm_data *data)
{
	return (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = (uint8_t)verbs_cm_data_size(data),
		.responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.flow_control = 1,
		.retry_count = RETRIES,
		.rnr_retry_count = RNR_RETRIES,
		.srq = cm->ep->srx != NULL,
		.qp_num = cm->ep->qp->qp_num,
	};
}
