/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The atomic calls without a flags argument: each builds a message structure and calls
 * start_plain. Included by atomic.c, whose start_plain uses the endpoint's default
 * flags, and by alias/atomic.c, whose start_plain uses the alias's flags.
 */
static ssize_t start_plain(struct fid_ep *fid, enum wf_op_kind kind,
	const struct fi_msg_atomic *msg, const struct fi_msg_fetch *fetch,
	const struct fi_msg_compare *compare);

static struct fi_ioc one_ioc(const void *buf, size_t count)
{
	return (struct fi_ioc){ (void *)(uintptr_t)buf, count };
}

static size_t total(const struct fi_ioc *iov, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (__builtin_add_overflow(sum, iov[i].count, &sum))
			return SIZE_MAX;
	return sum;
}

static ssize_t plain_writev(struct fid_ep *fid, const struct fi_ioc *iov, void **desc,
	size_t count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_rma_ioc remote = { addr, total(iov, count), key };
	struct fi_msg_atomic msg = { iov, desc, count, dest_addr, &remote, 1, datatype,
		op, context, 0 };

	return start_plain(fid, WF_OP_ATOMIC, &msg, NULL, NULL);
}

static ssize_t plain_write(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_ioc iov = one_ioc(buf, count);

	return plain_writev(
		fid, &iov, &desc, 1, dest_addr, addr, key, datatype, op, context);
}

static ssize_t plain_readwritev(struct fid_ep *fid, const struct fi_ioc *iov,
	void **desc, size_t count, struct fi_ioc *resultv, void **result_desc,
	size_t result_count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_rma_ioc remote = { addr, total(resultv, result_count), key };
	struct fi_msg_atomic msg = { iov, desc, count, dest_addr, &remote, 1, datatype,
		op, context, 0 };
	struct fi_msg_fetch fetch = { resultv, result_desc, result_count };

	return start_plain(fid, WF_OP_FETCH, &msg, &fetch, NULL);
}

static ssize_t plain_readwrite(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t dest_addr, uint64_t addr,
	uint64_t key, enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_ioc iov = one_ioc(buf, count), results = one_ioc(result, count);

	return plain_readwritev(fid, &iov, &desc, 1, &results, &result_desc, 1,
		dest_addr, addr, key, datatype, op, context);
}

static ssize_t plain_compwritev(struct fid_ep *fid, const struct fi_ioc *iov,
	void **desc, size_t count, const struct fi_ioc *comparev, void **compare_desc,
	size_t compare_count, struct fi_ioc *resultv, void **result_desc,
	size_t result_count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_rma_ioc remote = { addr, total(iov, count), key };
	struct fi_msg_atomic msg = { iov, desc, count, dest_addr, &remote, 1, datatype,
		op, context, 0 };
	struct fi_msg_fetch fetch = { resultv, result_desc, result_count };
	struct fi_msg_compare compare = { comparev, compare_desc, compare_count };

	return start_plain(fid, WF_OP_COMPARE, &msg, &fetch, &compare);
}

static ssize_t plain_compwrite(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, const void *compare, void *compare_desc, void *result,
	void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_ioc iov = one_ioc(buf, count), compares = one_ioc(compare, count),
		      results = one_ioc(result, count);

	return plain_compwritev(fid, &iov, &desc, 1, &compares, &compare_desc, 1,
		&results, &result_desc, 1, dest_addr, addr, key, datatype, op, context);
}
