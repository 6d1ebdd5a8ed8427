/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/target.h"

#include "objects/atomic/ops.h"
#include "sys/iov.h"

int wf_target_check(struct wf_mr_map *map, const struct fi_rma_iov *seg, size_t count,
	uint64_t access)
{
	struct wf_mr *mr;
	int ret = 0;

	wf_lock(&map->lock);
	for (size_t i = 0; i < count && !ret; i++)
		if (seg[i].len)
			ret = wf_mr_lookup(
				map, seg[i].key, seg[i].addr, seg[i].len, access, &mr);
	wf_unlock(&map->lock);
	return ret;
}

int wf_target_pieces(struct wf_mr_map *map, const struct fi_rma_iov *seg, size_t count,
	uint64_t offset, uint64_t access, struct iovec *iov, size_t max,
	size_t *ret_count)
{
	const struct fi_rma_iov *end = seg + count;
	struct wf_mr *mr;
	uint64_t addr;
	int ret;

	for (; seg < end && offset >= seg->len; seg++)
		offset -= seg->len;
	wf_lock(&map->lock);
	if (seg == end) {
		*ret_count = 0;
		return 0;
	}
	addr = seg->addr + offset;
	ret = wf_mr_lookup(map, seg->key, addr, seg->len - offset, access, &mr);
	if (ret) {
		wf_unlock(&map->lock);
		return ret;
	}
	*ret_count = wf_mr_pieces(mr, addr, seg->len - offset, iov, max);
	return 0;
}

void wf_target_done(struct wf_ep *ep, const struct fi_rma_iov *seg, size_t count,
	uint64_t flags, size_t len, uint64_t data, fi_addr_t src)
{
	struct wf_mr_map *map = wf_ep_mr_map(ep);
	struct wf_mr *mr = NULL;

	wf_lock(&map->lock);
	if (count && wf_mr_lookup(map, seg->key, seg->addr, seg->len, 0, &mr))
		mr = NULL;
	if (wf_likely(!mr || !mr->no_events))
		wf_ep_remote_done(ep, mr, flags, len, data, src);
	wf_unlock(&map->lock);
}

uint64_t wf_target_atomic_access(enum wf_op_kind kind, enum fi_op op)
{
	if (kind == WF_OP_ATOMIC)
		return FI_REMOTE_WRITE;
	return op == FI_ATOMIC_READ ? FI_REMOTE_READ : FI_REMOTE_READ | FI_REMOTE_WRITE;
}

/* Apply the operation to one contiguous piece, @done bytes behind the first element. */
static int target_apply(
	const struct wf_target_atomic *atomic, const struct iovec *piece, size_t done)
{
	size_t size = wf_atomic_size(atomic->datatype);

	if (piece->iov_len % size)
		return -FI_EINVAL;
	wf_atomic_apply(atomic->datatype, atomic->op, piece->iov_base,
		atomic->src ? atomic->src + done : NULL,
		atomic->compare ? atomic->compare + done : NULL,
		atomic->result ? atomic->result + done : NULL, piece->iov_len / size);
	return 0;
}

int wf_target_atomic(struct wf_mr_map *map, const struct wf_target_atomic *atomic)
{
	uint64_t access = wf_target_atomic_access(atomic->kind, atomic->op);
	struct iovec iov[4];
	size_t done = 0, count;
	int ret = 0;

	while (done < atomic->len && !ret) {
		ret = wf_target_pieces(map, atomic->seg, atomic->count, done, access,
			iov, WF_ARRAY_SIZE(iov), &count);
		if (ret)
			break;
		if (!count)
			ret = -FI_EINVAL;
		for (size_t i = 0; i < count && !ret; i++) {
			ret = target_apply(atomic, &iov[i], done);
			done += iov[i].iov_len;
		}
		wf_unlock(&map->lock);
	}
	return ret;
}
