/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transfers issued by an accelerator, device side, fi_xpu(3).
 *
 * fid.prov_id of an object tells which provider handles a call. None is built in, so
 * calls fail with -FI_ENOSYS, counters read 0, and waiting returns at once. @scope says
 * which threads call together, FI_XPU_WORK_ITEM and its kin.
 */
#ifndef FI_XPU_DEVICE_H
#define FI_XPU_DEVICE_H

#include <rdma/fi_xpu.h>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define FI_XPU_FUNC static inline __device__
#else
#define FI_XPU_FUNC static inline
#endif

/* The arguments are for providers to come. */
#if defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

/* Remote memory access. */
FI_XPU_FUNC int fi_xpu_write(struct fid_xpu_ep *ep, const void *buf, size_t len,
	void *desc, uint64_t data, void *dest_addr, uint64_t addr, uint64_t key,
	void *context, uint64_t flags, int scope)
{
	return -FI_ENOSYS;
}

FI_XPU_FUNC int fi_xpu_read(struct fid_xpu_ep *ep, void *buf, size_t len, void *desc,
	void *src_addr, uint64_t addr, uint64_t key, void *context, uint64_t flags,
	int scope)
{
	return -FI_ENOSYS;
}

/* Messages. */
FI_XPU_FUNC int fi_xpu_send(struct fid_xpu_ep *ep, const void *buf, size_t len,
	void *desc, uint64_t data, void *dest_addr, void *context, uint64_t flags,
	int scope)
{
	return -FI_ENOSYS;
}

FI_XPU_FUNC int fi_xpu_recv(struct fid_xpu_ep *ep, void *buf, size_t len, void *desc,
	void *src_addr, void *context, uint64_t flags, int scope)
{
	return -FI_ENOSYS;
}

FI_XPU_FUNC int fi_xpu_tsend(struct fid_xpu_ep *ep, const void *buf, size_t len,
	void *desc, uint64_t data, void *dest_addr, uint64_t tag, void *context,
	uint64_t flags, int scope)
{
	return -FI_ENOSYS;
}

FI_XPU_FUNC int fi_xpu_trecv(struct fid_xpu_ep *ep, void *buf, size_t len, void *desc,
	void *src_addr, uint64_t tag, uint64_t ignore, void *context, uint64_t flags,
	int scope)
{
	return -FI_ENOSYS;
}

/* Atomics. */
FI_XPU_FUNC int fi_xpu_atomic(struct fid_xpu_ep *ep, const void *buf, size_t count,
	void *desc, void *dest_addr, uint64_t addr, uint64_t key, int datatype, int op,
	void *context, uint64_t flags, int scope)
{
	return -FI_ENOSYS;
}

FI_XPU_FUNC int fi_xpu_fetch_atomic(struct fid_xpu_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, void *dest_addr,
	uint64_t addr, uint64_t key, int datatype, int op, void *context,
	uint64_t flags, int scope)
{
	return -FI_ENOSYS;
}

FI_XPU_FUNC int fi_xpu_compare_atomic(struct fid_xpu_ep *ep, const void *buf,
	size_t count, void *desc, const void *compare, void *compare_desc, void *result,
	void *result_desc, void *dest_addr, uint64_t addr, uint64_t key, int datatype,
	int op, void *context, uint64_t flags, int scope)
{
	return -FI_ENOSYS;
}

/* Counters. */
FI_XPU_FUNC uint64_t fi_xpu_cntr_read(struct fid_xpu_cntr *cntr, int scope)
{
	return 0;
}

FI_XPU_FUNC uint64_t fi_xpu_cntr_readerr(struct fid_xpu_cntr *cntr, int scope)
{
	return 0;
}

FI_XPU_FUNC void fi_xpu_cntr_wait(
	struct fid_xpu_cntr *cntr, uint64_t threshold, int timeout, int scope)
{
}

FI_XPU_FUNC int fi_xpu_cntr_add(struct fid_xpu_cntr *cntr, uint64_t value, int scope)
{
	return -FI_ENOSYS;
}

FI_XPU_FUNC int fi_xpu_cntr_set(struct fid_xpu_cntr *cntr, uint64_t value, int scope)
{
	return -FI_ENOSYS;
}

FI_XPU_FUNC int fi_xpu_cntr_adderr(struct fid_xpu_cntr *cntr, uint64_t value, int scope)
{
	return -FI_ENOSYS;
}

FI_XPU_FUNC int fi_xpu_cntr_seterr(struct fid_xpu_cntr *cntr, uint64_t value, int scope)
{
	return -FI_ENOSYS;
}

/* Completion queues. */
FI_XPU_FUNC int64_t fi_xpu_cq_read(
	struct fid_xpu_cq *cq, void *buf, size_t count, int scope)
{
	return -FI_ENOSYS;
}

FI_XPU_FUNC int64_t fi_xpu_cq_readfrom(
	struct fid_xpu_cq *cq, void *buf, size_t count, void *src_addr, int scope)
{
	return -FI_ENOSYS;
}

FI_XPU_FUNC int64_t fi_xpu_cq_readerr(
	struct fid_xpu_cq *cq, void *buf, uint64_t flags, int scope)
{
	return -FI_ENOSYS;
}

FI_XPU_FUNC int64_t fi_xpu_cq_sread(
	struct fid_xpu_cq *cq, void *buf, size_t count, uint64_t threshold, int scope)
{
	return -FI_ENOSYS;
}

FI_XPU_FUNC int64_t fi_xpu_cq_sreadfrom(struct fid_xpu_cq *cq, void *buf, size_t count,
	void *src_addr, uint64_t threshold, int scope)
{
	return -FI_ENOSYS;
}

#if defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC diagnostic pop
#endif

#endif /* FI_XPU_DEVICE_H */
