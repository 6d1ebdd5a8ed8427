/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of fi_collective(3). collective.c includes this and defines STUB and
 * ANSWER. */

STUB(collective, barrier, ssize_t, ANSWER, struct fid_ep *ep, fi_addr_t coll_addr,
	void *context)

STUB(collective, broadcast, ssize_t, ANSWER, struct fid_ep *ep, void *buf, size_t count,
	void *desc, fi_addr_t coll_addr, fi_addr_t root_addr, enum fi_datatype datatype,
	uint64_t flags, void *context)

STUB(collective, alltoall, ssize_t, ANSWER, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, uint64_t flags, void *context)

STUB(collective, allreduce, ssize_t, ANSWER, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context)

STUB(collective, allgather, ssize_t, ANSWER, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, uint64_t flags, void *context)

STUB(collective, reduce_scatter, ssize_t, ANSWER, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context)

STUB(collective, reduce, ssize_t, ANSWER, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, enum fi_op op, uint64_t flags,
	void *context)

STUB(collective, scatter, ssize_t, ANSWER, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags, void *context)

STUB(collective, gather, ssize_t, ANSWER, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags, void *context)

STUB(collective, msg, ssize_t, ANSWER, struct fid_ep *ep,
	const struct fi_msg_collective *msg, struct fi_ioc *resultv, void **result_desc,
	size_t result_count, uint64_t flags)

STUB(collective, barrier2, ssize_t, ANSWER, struct fid_ep *ep, fi_addr_t coll_addr,
	uint64_t flags, void *context)
