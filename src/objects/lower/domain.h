/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_DOMAIN_H
#define WF_OBJECTS_LOWER_DOMAIN_H

#include <rdma/fi_domain.h>
#include <rdma/providers/fi_log.h>

#include "objects/domain/domain.h"

/*
 * The fabric and the domain of a provider below, which a layered provider opens through
 * the public interface. That provider may be of this library or of any other.
 * All functions are control calls: they may block, and take no lock of their own.
 */
struct wf_lower_domain {
	const struct fi_provider *above; /* the layered provider, for log lines */
	const char *name;                /* name of the provider below, for log lines */
	struct fi_info *info;            /* what both were opened with; NULL: closed */
	struct fid_fabric *fabric; /* fabric of the provider below; NULL: closed */
	struct fid_domain *domain; /* domain of the provider below; NULL: closed */
};

/* A copy of @below, a result of fi_getinfo, with the attributes that the domain below
 * @domain needs: the layered provider makes its progress, from calls of the application
 * or of the progress thread, which is one more thread; addresses are in a table; and
 * the application's fabric and domain are not named in it. NULL: no memory. */
struct fi_info *wf_lower_domain_info(
	const struct fi_info *below, const struct wf_domain *domain);

/* The mr_mode bits (fi_mr(3)) that @mr_mode stands for, in which FI_MR_BASIC or
 * FI_MR_SCALABLE may be set. */
int wf_lower_mr_mode(int mr_mode);

/*
 * Open the fabric and the domain of @info, which belongs to @ret from then on, also on
 * failure. @above and @name must stay until wf_lower_domain_close. 0 or a negative FI_E
 * code with one log line; then @ret is closed.
 */
int wf_lower_domain_open(struct wf_lower_domain *ret, const struct fi_provider *above,
	const char *name, struct fi_info *info);

/* Close the domain, then the fabric, on which no object is open any more. No-op for one
 * that is closed or all zero. */
void wf_lower_domain_close(struct wf_lower_domain *below);

/* fi_query_atomic(3) for an operation on any of the @count domains: the smallest number
 * of elements. -FI_ENOSYS: @count is 0. Another code: a domain lacks the operation. */
int wf_lower_query_atomic(const struct wf_lower_domain *below, unsigned int count,
	enum fi_datatype datatype, enum fi_op op, struct fi_atomic_attr *ret_attr,
	uint64_t flags);

/* Return @ret; if it is a negative FI_E code, log first that the provider below failed
 * in @call. */
int wf_lower_result(const struct wf_lower_domain *below, enum fi_log_subsys subsys,
	const char *call, int ret);

/* Close @fid, which was opened on @below; a failure is logged. NULL: nothing to do. */
void wf_lower_close(const struct wf_lower_domain *below, struct fid *fid);

#endif
