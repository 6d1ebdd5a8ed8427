/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data path slots of endpoints. data.c includes this and defines STUB, ANSWER (the
 * result of a transfer) and INVALID (the result of the atomic "valid" calls).
 */

STUB(msg, recv, ssize_t, ANSWER, struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t src_addr, void *context)

STUB(msg, recvv, ssize_t, ANSWER, struct fid_ep *ep, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t src_addr, void *context)

STUB(msg, recvmsg, ssize_t, ANSWER, struct fid_ep *ep, const struct fi_msg *msg,
	uint64_t flags)

STUB(msg, send, ssize_t, ANSWER, struct fid_ep *ep, const void *buf, size_t len,
	void *desc, fi_addr_t dest_addr, void *context)

STUB(msg, sendv, ssize_t, ANSWER, struct fid_ep *ep, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t dest_addr, void *context)

STUB(msg, sendmsg, ssize_t, ANSWER, struct fid_ep *ep, const struct fi_msg *msg,
	uint64_t flags)

STUB(msg, inject, ssize_t, ANSWER, struct fid_ep *ep, const void *buf, size_t len,
	fi_addr_t dest_addr)

STUB(msg, senddata, ssize_t, ANSWER, struct fid_ep *ep, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest_addr, void *context)

STUB(msg, injectdata, ssize_t, ANSWER, struct fid_ep *ep, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest_addr)

STUB(tagged, recv, ssize_t, ANSWER, struct fid_ep *ep, void *buf, size_t len,
	void *desc, fi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)

STUB(tagged, recvv, ssize_t, ANSWER, struct fid_ep *ep, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t src_addr, uint64_t tag, uint64_t ignore,
	void *context)

STUB(tagged, recvmsg, ssize_t, ANSWER, struct fid_ep *ep,
	const struct fi_msg_tagged *msg, uint64_t flags)

STUB(tagged, send, ssize_t, ANSWER, struct fid_ep *ep, const void *buf, size_t len,
	void *desc, fi_addr_t dest_addr, uint64_t tag, void *context)

STUB(tagged, sendv, ssize_t, ANSWER, struct fid_ep *ep, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t dest_addr, uint64_t tag, void *context)

STUB(tagged, sendmsg, ssize_t, ANSWER, struct fid_ep *ep,
	const struct fi_msg_tagged *msg, uint64_t flags)

STUB(tagged, inject, ssize_t, ANSWER, struct fid_ep *ep, const void *buf, size_t len,
	fi_addr_t dest_addr, uint64_t tag)

STUB(tagged, senddata, ssize_t, ANSWER, struct fid_ep *ep, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest_addr, uint64_t tag, void *context)

STUB(tagged, injectdata, ssize_t, ANSWER, struct fid_ep *ep, const void *buf,
	size_t len, uint64_t data, fi_addr_t dest_addr, uint64_t tag)

STUB(rma, read, ssize_t, ANSWER, struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)

STUB(rma, readv, ssize_t, ANSWER, struct fid_ep *ep, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t src_addr, uint64_t addr, uint64_t key,
	void *context)

STUB(rma, readmsg, ssize_t, ANSWER, struct fid_ep *ep, const struct fi_msg_rma *msg,
	uint64_t flags)

STUB(rma, write, ssize_t, ANSWER, struct fid_ep *ep, const void *buf, size_t len,
	void *desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)

STUB(rma, writev, ssize_t, ANSWER, struct fid_ep *ep, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	void *context)

STUB(rma, writemsg, ssize_t, ANSWER, struct fid_ep *ep, const struct fi_msg_rma *msg,
	uint64_t flags)

STUB(rma, inject, ssize_t, ANSWER, struct fid_ep *ep, const void *buf, size_t len,
	fi_addr_t dest_addr, uint64_t addr, uint64_t key)

STUB(rma, writedata, ssize_t, ANSWER, struct fid_ep *ep, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	void *context)

STUB(rma, injectdata, ssize_t, ANSWER, struct fid_ep *ep, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key)

STUB(atomic, write, ssize_t, ANSWER, struct fid_ep *ep, const void *buf, size_t count,
	void *desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)

STUB(atomic, writev, ssize_t, ANSWER, struct fid_ep *ep, const struct fi_ioc *iov,
	void **desc, size_t count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)

STUB(atomic, writemsg, ssize_t, ANSWER, struct fid_ep *ep,
	const struct fi_msg_atomic *msg, uint64_t flags)

STUB(atomic, inject, ssize_t, ANSWER, struct fid_ep *ep, const void *buf, size_t count,
	fi_addr_t dest_addr, uint64_t addr, uint64_t key, enum fi_datatype datatype,
	enum fi_op op)

STUB(atomic, readwrite, ssize_t, ANSWER, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t dest_addr,
	uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op,
	void *context)

STUB(atomic, readwritev, ssize_t, ANSWER, struct fid_ep *ep, const struct fi_ioc *iov,
	void **desc, size_t count, struct fi_ioc *resultv, void **result_desc,
	size_t result_count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)

STUB(atomic, readwritemsg, ssize_t, ANSWER, struct fid_ep *ep,
	const struct fi_msg_atomic *msg, struct fi_ioc *resultv, void **result_desc,
	size_t result_count, uint64_t flags)

STUB(atomic, compwrite, ssize_t, ANSWER, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, const void *compare, void *compare_desc, void *result,
	void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)

STUB(atomic, compwritev, ssize_t, ANSWER, struct fid_ep *ep, const struct fi_ioc *iov,
	void **desc, size_t count, const struct fi_ioc *comparev, void **compare_desc,
	size_t compare_count, struct fi_ioc *resultv, void **result_desc,
	size_t result_count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)

STUB(atomic, compwritemsg, ssize_t, ANSWER, struct fid_ep *ep,
	const struct fi_msg_atomic *msg, const struct fi_ioc *comparev,
	void **compare_desc, size_t compare_count, struct fi_ioc *resultv,
	void **result_desc, size_t result_count, uint64_t flags)

STUB(atomic, writevalid, int, INVALID, struct fid_ep *ep, enum fi_datatype datatype,
	enum fi_op op, size_t *count)

STUB(atomic, readwritevalid, int, INVALID, struct fid_ep *ep, enum fi_datatype datatype,
	enum fi_op op, size_t *count)

STUB(atomic, compwritevalid, int, INVALID, struct fid_ep *ep, enum fi_datatype datatype,
	enum fi_op op, size_t *count)
