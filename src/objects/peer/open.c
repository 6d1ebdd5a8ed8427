/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/peer/open.h"

/* The peer does not use a context after the call, so contexts are on the stack. */

int wf_peer_open_cq(struct fid_domain *peer, const struct fi_cq_attr *attr,
	struct fid_peer_cq *cq, struct fid_cq **ret_cq)
{
	struct fi_peer_cq_context context = { sizeof(context), cq };
	struct fi_cq_attr with_flag = *attr;

	with_flag.flags |= FI_PEER;
	return fi_cq_open(peer, &with_flag, ret_cq, &context);
}

int wf_peer_open_cntr(struct fid_domain *peer, const struct fi_cntr_attr *attr,
	struct fid_peer_cntr *cntr, struct fid_cntr **ret_cntr)
{
	struct fi_peer_cntr_context context = { sizeof(context), cntr };
	struct fi_cntr_attr with_flag = *attr;

	with_flag.flags |= FI_PEER;
	return fi_cntr_open(peer, &with_flag, ret_cntr, &context);
}

static bool open_is_complete(const struct fi_ops_srx_peer *ops)
{
	return FI_CHECK_OP(ops, struct fi_ops_srx_peer, start_msg) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_peer, start_tag) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_peer, discard_msg) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_peer, discard_tag);
}

int wf_peer_open_srx(struct fid_domain *peer, const struct fi_rx_attr *attr,
	struct fid_peer_srx *srx, struct fid_ep **ret_srx)
{
	struct fi_peer_srx_context context = { sizeof(context), srx };
	struct fi_rx_attr with_flag = *attr;
	struct fid_ep *opened;
	int ret;

	with_flag.op_flags |= FI_PEER;
	ret = fi_srx_context(peer, &with_flag, &opened, &context);
	if (ret)
		return ret;
	if (!open_is_complete(srx->peer_ops)) {
		(void)fi_close(&opened->fid);
		return -FI_EINVAL;
	}
	*ret_srx = opened;
	return 0;
}
