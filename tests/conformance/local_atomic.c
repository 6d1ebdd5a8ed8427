/* SPDX-License-Identifier: BSD-2-Clause */
/* Atomics whose local buffers are registered. */
#include "../model/atomic_model.h"
#include "local.h"

static size_t type_size(enum fi_datatype datatype)
{
	for (size_t i = 0; i < am_type_count; i++) {
		if (am_types[i].datatype == datatype)
			return am_types[i].size;
	}
	return 0;
}

static void *elements(struct local_ep *l, const void *buf, size_t count, void *desc,
	enum fi_datatype datatype, bool written)
{
	return cf_local_one(l, buf, count * type_size(datatype), desc, written);
}

void **cf_local_elements(struct local_ep *l, const struct fi_ioc *ioc, void **descs,
	size_t count, enum fi_datatype datatype, bool written, void **room)
{
	if (!ioc || count > VECTOR_MAX)
		return descs;
	for (size_t i = 0; i < count; i++)
		room[i] = elements(l, ioc[i].addr, ioc[i].count,
			descs ? descs[i] : NULL, datatype, written);
	return room;
}

static ssize_t local_atomic(struct fid_ep *ep, const void *buf, size_t count,
	void *desc, fi_addr_t dest, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct local_ep *l = OWNER(ep->atomic, local_ep, atomic);

	desc = elements(l, buf, count, desc, datatype, false);
	return l->atomic_under->write(
		ep, buf, count, desc, dest, addr, key, datatype, op, context);
}

static ssize_t local_atomicv(struct fid_ep *ep, const struct fi_ioc *iov, void **desc,
	size_t count, fi_addr_t dest, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct local_ep *l = OWNER(ep->atomic, local_ep, atomic);
	void *room[VECTOR_MAX];

	desc = cf_local_elements(l, iov, desc, count, datatype, false, room);
	return l->atomic_under->writev(
		ep, iov, desc, count, dest, addr, key, datatype, op, context);
}

static ssize_t local_atomicmsg(
	struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	struct local_ep *l = OWNER(ep->atomic, local_ep, atomic);
	struct fi_msg_atomic m = *msg;
	void *room[VECTOR_MAX];

	m.desc = cf_local_elements(
		l, m.msg_iov, m.desc, m.iov_count, m.datatype, false, room);
	return l->atomic_under->writemsg(ep, &m, flags);
}

static ssize_t local_fetch(struct fid_ep *ep, const void *buf, size_t count, void *desc,
	void *result, void *result_desc, fi_addr_t dest, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct local_ep *l = OWNER(ep->atomic, local_ep, atomic);

	desc = elements(l, buf, count, desc, datatype, false);
	result_desc = elements(l, result, count, result_desc, datatype, true);
	return l->atomic_under->readwrite(ep, buf, count, desc, result, result_desc,
		dest, addr, key, datatype, op, context);
}

static ssize_t local_fetchv(struct fid_ep *ep, const struct fi_ioc *iov, void **desc,
	size_t count, struct fi_ioc *resultv, void **result_desc, size_t result_count,
	fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype datatype,
	enum fi_op op, void *context)
{
	struct local_ep *l = OWNER(ep->atomic, local_ep, atomic);
	void *room[2][VECTOR_MAX];

	desc = cf_local_elements(l, iov, desc, count, datatype, false, room[0]);
	result_desc = cf_local_elements(
		l, resultv, result_desc, result_count, datatype, true, room[1]);
	return l->atomic_under->readwritev(ep, iov, desc, count, resultv, result_desc,
		result_count, dest, addr, key, datatype, op, context);
}

static ssize_t local_fetchmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
	struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags)
{
	struct local_ep *l = OWNER(ep->atomic, local_ep, atomic);
	struct fi_msg_atomic m = *msg;
	void *room[2][VECTOR_MAX];

	m.desc = cf_local_elements(
		l, m.msg_iov, m.desc, m.iov_count, m.datatype, false, room[0]);
	result_desc = cf_local_elements(
		l, resultv, result_desc, result_count, m.datatype, true, room[1]);
	return l->atomic_under->readwritemsg(
		ep, &m, resultv, result_desc, result_count, flags);
}

static ssize_t local_compare(struct fid_ep *ep, const void *buf, size_t count,
	void *desc, const void *compare, void *compare_desc, void *result,
	void *result_desc, fi_addr_t dest, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct local_ep *l = OWNER(ep->atomic, local_ep, atomic);

	desc = elements(l, buf, count, desc, datatype, false);
	compare_desc = elements(l, compare, count, compare_desc, datatype, false);
	result_desc = elements(l, result, count, result_desc, datatype, true);
	return l->atomic_under->compwrite(ep, buf, count, desc, compare, compare_desc,
		result, result_desc, dest, addr, key, datatype, op, context);
}

static ssize_t local_comparev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc,
	size_t count, const struct fi_ioc *comparev, void **compare_desc,
	size_t compare_count, struct fi_ioc *resultv, void **result_desc,
	size_t result_count, fi_addr_t dest, uint64_t addr, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct local_ep *l = OWNER(ep->atomic, local_ep, atomic);
	void *room[3][VECTOR_MAX];

	desc = cf_local_elements(l, iov, desc, count, datatype, false, room[0]);
	compare_desc = cf_local_elements(
		l, comparev, compare_desc, compare_count, datatype, false, room[1]);
	result_desc = cf_local_elements(
		l, resultv, result_desc, result_count, datatype, true, room[2]);
	return l->atomic_under->compwritev(ep, iov, desc, count, comparev, compare_desc,
		compare_count, resultv, result_desc, result_count, dest, addr, key,
		datatype, op, context);
}

static ssize_t local_comparemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
	const struct fi_ioc *comparev, void **compare_desc, size_t compare_count,
	struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags)
{
	struct local_ep *l = OWNER(ep->atomic, local_ep, atomic);
	struct fi_msg_atomic m = *msg;
	void *room[3][VECTOR_MAX];

	m.desc = cf_local_elements(
		l, m.msg_iov, m.desc, m.iov_count, m.datatype, false, room[0]);
	compare_desc = cf_local_elements(
		l, comparev, compare_desc, compare_count, m.datatype, false, room[1]);
	result_desc = cf_local_elements(
		l, resultv, result_desc, result_count, m.datatype, true, room[2]);
	return l->atomic_under->compwritemsg(ep, &m, comparev, compare_desc,
		compare_count, resultv, result_desc, result_count, flags);
}

void cf_local_atomic(struct local_ep *l, struct fid_ep *ep)
{
	if (!ep->atomic || ep->atomic == &l->atomic)
		return;
	l->atomic_under = ep->atomic;
	COPY_TABLE(l->atomic, ep->atomic);
	l->atomic.write = local_atomic;
	l->atomic.writev = local_atomicv;
	l->atomic.writemsg = local_atomicmsg;
	l->atomic.readwrite = local_fetch;
	l->atomic.readwritev = local_fetchv;
	l->atomic.readwritemsg = local_fetchmsg;
	l->atomic.compwrite = local_compare;
	l->atomic.compwritev = local_comparev;
	l->atomic.compwritemsg = local_comparemsg;
	ep->atomic = &l->atomic;
}
