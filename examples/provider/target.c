/* SPDX-License-Identifier: BSD-2-Clause */
#include "target.h"

#include "sys/iov.h"

/* Copy between the checked segments and the data of a read or write. */
static int target_move(
	struct wf_mr_map *map, const struct loop_copy *copy, uint64_t access)
{
	struct iovec iov[4];
	size_t done = 0, count;
	int ret;

	while (done < copy->op.len) {
		ret = wf_target_pieces(map, copy->rma, copy->op.rma_count, done, access,
			iov, WF_ARRAY_SIZE(iov), &count);
		if (ret)
			return ret;
		if (copy->found)
			done += wf_iov_gather(copy->found + done, iov, count);
		else
			done += wf_iov_scatter(
				iov, count, copy->src + done, copy->op.len - done);
		wf_unlock(&map->lock);
		if (!count)
			return -FI_EINVAL;
	}
	return 0;
}

static int target_update(struct wf_mr_map *map, const struct loop_copy *copy)
{
	struct wf_target_atomic atomic = {
		.kind = copy->op.kind,
		.datatype = copy->atomic.datatype,
		.op = copy->atomic.op,
		.seg = copy->rma,
		.count = copy->op.rma_count,
		.len = copy->op.len,
		.src = copy->src,
		.compare = copy->compare,
		.result = copy->found,
	};

	return wf_target_atomic(map, &atomic);
}

int loop_target_serve(struct wf_ep *ep, const struct loop_copy *copy, fi_addr_t src)
{
	uint64_t access, flags = copy->op.flags & FI_REMOTE_CQ_DATA;
	struct wf_mr_map *map = wf_ep_mr_map(ep);
	bool is_atomic = copy->op.atomic;
	int ret;

	if (is_atomic)
		access = wf_target_atomic_access(copy->op.kind, copy->atomic.op);
	else
		access = copy->found ? FI_REMOTE_READ : FI_REMOTE_WRITE;
	ret = wf_target_check(map, copy->rma, copy->op.rma_count, access);
	if (!ret)
		ret = is_atomic ? target_update(map, copy)
				: target_move(map, copy, access);
	if (!ret)
		wf_target_done(ep, copy->rma, copy->op.rma_count,
			flags | access | (is_atomic ? FI_ATOMIC : FI_RMA), copy->op.len,
			copy->op.data, src);
	return ret;
}
