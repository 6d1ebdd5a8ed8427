/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_REFUSE_H
#define WF_CORE_REFUSE_H

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

/* Operations of the core's own fids that are not supported: -FI_ENOSYS. Inline wrappers
 * in applications call these slots without a check, so none may be NULL. */

static inline int wf_refuse_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	return -FI_ENOSYS;
}

static inline int wf_refuse_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

static inline int wf_refuse_ops_open(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return -FI_ENOSYS;
}

static inline int wf_refuse_tostr(const struct fid *fid, char *buf, size_t len)
{
	return -FI_ENOSYS;
}

static inline int wf_refuse_ops_set(
	struct fid *fid, const char *name, uint64_t flags, void *ops, void *context)
{
	return -FI_ENOSYS;
}

/* The struct fi_ops of a fid that can only be closed. */
#define WF_REFUSE_FID_OPS(close_)                                                      \
	{                                                                              \
		.size = sizeof(struct fi_ops), .close = (close_),                      \
		.bind = wf_refuse_bind, .control = wf_refuse_control,                  \
		.ops_open = wf_refuse_ops_open, .tostr = wf_refuse_tostr,              \
		.ops_set = wf_refuse_ops_set,                                          \
	}

#endif
