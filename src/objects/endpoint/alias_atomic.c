/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_atomic.h>

#include "objects/endpoint/alias.h"

/* Atomic calls through an alias. */

static size_t total(const struct fi_ioc *iov, size_t count)
{
	size_t sum = 0;

	/* An overflow is the endpoint's to refuse: the vectors differ. */
	for (size_t i = 0; i < count; i++)
		sum += iov[i].count;
	return sum;
}

static struct fi_ioc one_ioc(const void *buf, size_t count)
{
	return (struct fi_ioc){ (void *)(uintptr_t)buf, count };
}

static ssize_t alias_writemsg(
	struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return fi_atomicmsg(wf_alias_target(fid), msg, flags);
}

static ssize_t alias_writev(struct fid_ep *fid, const struct fi_ioc *iov, void **desc,
	size_t count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_rma_ioc rma = { addr, total(iov, count), key };
	struct fi_msg_atomic msg = { iov, desc, count, dest_addr, &rma, 1, datatype, op,
		context, 0 };

	return alias_writemsg(fid, &msg, wf_alias_tx(fid));
}

static ssize_t alias_write(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_ioc iov = one_ioc(buf, count);

	return alias_writev(
		fid, &iov, &desc, 1, dest_addr, addr, key, datatype, op, context);
}

static ssize_t alias_inject(struct fid_ep *fid, const void *buf, size_t count,
	fi_addr_t dest_addr, uint64_t addr, uint64_t key, enum fi_datatype datatype,
	enum fi_op op)
{
	return fi_inject_atomic(
		wf_alias_target(fid), buf, count, dest_addr, addr, key, datatype, op);
}

static ssize_t alias_readwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
	struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags)
{
	return fi_fetch_atomicmsg(
		wf_alias_target(fid), msg, resultv, result_desc, result_count, flags);
}

static ssize_t alias_readwritev(struct fid_ep *fid, const struct fi_ioc *iov,
	void **desc, size_t count, struct fi_ioc *resultv, void **result_desc,
	size_t result_count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_rma_ioc rma = { addr, total(resultv, result_count), key };
	struct fi_msg_atomic msg = { iov, desc, count, dest_addr, &rma, 1, datatype, op,
		context, 0 };

	return alias_readwritemsg(
		fid, &msg, resultv, result_desc, result_count, wf_alias_tx(fid));
}

static ssize_t alias_readwrite(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t dest_addr, uint64_t addr,
	uint64_t key, enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_ioc iov = one_ioc(buf, count), results = one_ioc(result, count);

	return alias_readwritev(fid, &iov, &desc, 1, &results, &result_desc, 1,
		dest_addr, addr, key, datatype, op, context);
}

static ssize_t alias_compwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
	const struct fi_ioc *comparev, void **compare_desc, size_t compare_count,
	struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags)
{
	return fi_compare_atomicmsg(wf_alias_target(fid), msg, comparev, compare_desc,
		compare_count, resultv, result_desc, result_count, flags);
}

static ssize_t alias_compwritev(struct fid_ep *fid, const struct fi_ioc *iov,
	void **desc, size_t count, const struct fi_ioc *comparev, void **compare_desc,
	size_t compare_count, struct fi_ioc *resultv, void **result_desc,
	size_t result_count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_rma_ioc rma = { addr, total(iov, count), key };
	struct fi_msg_atomic msg = { iov, desc, count, dest_addr, &rma, 1, datatype, op,
		context, 0 };

	return alias_compwritemsg(fid, &msg, comparev, compare_desc, compare_count,
		resultv, result_desc, result_count, wf_alias_tx(fid));
}

static ssize_t alias_compwrite(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, const void *compare, void *compare_desc, void *result,
	void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_ioc iov = one_ioc(buf, count), compares = one_ioc(compare, count),
		      results = one_ioc(result, count);

	return alias_compwritev(fid, &iov, &desc, 1, &compares, &compare_desc, 1,
		&results, &result_desc, 1, dest_addr, addr, key, datatype, op, context);
}

static int alias_writevalid(
	struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return fi_atomicvalid(wf_alias_target(fid), datatype, op, count);
}

static int alias_readwritevalid(
	struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return fi_fetch_atomicvalid(wf_alias_target(fid), datatype, op, count);
}

static int alias_compwritevalid(
	struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return fi_compare_atomicvalid(wf_alias_target(fid), datatype, op, count);
}

struct fi_ops_atomic wf_alias_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.write = alias_write,
	.writev = alias_writev,
	.writemsg = alias_writemsg,
	.inject = alias_inject,
	.readwrite = alias_readwrite,
	.readwritev = alias_readwritev,
	.readwritemsg = alias_readwritemsg,
	.compwrite = alias_compwrite,
	.compwritev = alias_compwritev,
	.compwritemsg = alias_compwritemsg,
	.writevalid = alias_writevalid,
	.readwritevalid = alias_readwritevalid,
	.compwritevalid = alias_compwritevalid,
};
