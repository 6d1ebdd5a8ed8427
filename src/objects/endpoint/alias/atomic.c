/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_atomic.h>

#include "objects/endpoint/alias/alias.h"
#include "objects/endpoint/calls/plain_atomic.inl"

/* Atomic calls through an alias. */

static ssize_t alias_atomic_writemsg(
	struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return fi_atomicmsg(wf_alias_target(fid), msg, flags);
}

static ssize_t alias_atomic_inject(struct fid_ep *fid, const void *buf, size_t count,
	fi_addr_t dest_addr, uint64_t addr, uint64_t key, enum fi_datatype datatype,
	enum fi_op op)
{
	return fi_inject_atomic(
		wf_alias_target(fid), buf, count, dest_addr, addr, key, datatype, op);
}

static ssize_t alias_atomic_readwritemsg(struct fid_ep *fid,
	const struct fi_msg_atomic *msg, struct fi_ioc *resultv, void **result_desc,
	size_t result_count, uint64_t flags)
{
	return fi_fetch_atomicmsg(
		wf_alias_target(fid), msg, resultv, result_desc, result_count, flags);
}

static ssize_t alias_atomic_compwritemsg(struct fid_ep *fid,
	const struct fi_msg_atomic *msg, const struct fi_ioc *comparev,
	void **compare_desc, size_t compare_count, struct fi_ioc *resultv,
	void **result_desc, size_t result_count, uint64_t flags)
{
	return fi_compare_atomicmsg(wf_alias_target(fid), msg, comparev, compare_desc,
		compare_count, resultv, result_desc, result_count, flags);
}

static ssize_t start_plain(struct fid_ep *fid, enum wf_op_kind kind,
	const struct fi_msg_atomic *msg, const struct fi_msg_fetch *fetch,
	const struct fi_msg_compare *compare)
{
	uint64_t flags = wf_alias_tx(fid);

	if (compare)
		return alias_atomic_compwritemsg(fid, msg, compare->msg_iov,
			compare->desc, compare->iov_count, fetch->msg_iov, fetch->desc,
			fetch->iov_count, flags);
	if (fetch)
		return alias_atomic_readwritemsg(
			fid, msg, fetch->msg_iov, fetch->desc, fetch->iov_count, flags);
	return alias_atomic_writemsg(fid, msg, flags);
}

static int alias_atomic_writevalid(
	struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return fi_atomicvalid(wf_alias_target(fid), datatype, op, count);
}

static int alias_atomic_readwritevalid(
	struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return fi_fetch_atomicvalid(wf_alias_target(fid), datatype, op, count);
}

static int alias_atomic_compwritevalid(
	struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return fi_compare_atomicvalid(wf_alias_target(fid), datatype, op, count);
}

struct fi_ops_atomic wf_alias_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.write = plain_write,
	.writev = plain_writev,
	.writemsg = alias_atomic_writemsg,
	.inject = alias_atomic_inject,
	.readwrite = plain_readwrite,
	.readwritev = plain_readwritev,
	.readwritemsg = alias_atomic_readwritemsg,
	.compwrite = plain_compwrite,
	.compwritev = plain_compwritev,
	.compwritemsg = alias_atomic_compwritemsg,
	.writevalid = alias_atomic_writevalid,
	.readwritevalid = alias_atomic_readwritevalid,
	.compwritevalid = alias_atomic_compwritevalid,
};
