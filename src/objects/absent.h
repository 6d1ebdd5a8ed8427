/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ABSENT_H
#define WF_OBJECTS_ABSENT_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

/*
 * Complete tables of "not offered": applications call most slots without looking,
 * so none may be NULL. Every slot answers -FI_ENOSYS (counters' reads answer 0,
 * strings NULL, the atomic "valid" calls -FI_EOPNOTSUPP). A table of ours names, for
 * what it does not offer, the single stub wf_absent_<table>_<slot>.
 */
extern struct fi_ops wf_absent_fid;
extern struct fi_ops_fabric wf_absent_fabric;
extern struct fi_ops_domain wf_absent_domain;
extern struct fi_ops_ep wf_absent_ep;
extern struct fi_ops_cm wf_absent_cm;
extern struct fi_ops_msg wf_absent_msg;
extern struct fi_ops_tagged wf_absent_tagged;
extern struct fi_ops_rma wf_absent_rma;
extern struct fi_ops_atomic wf_absent_atomic;
extern struct fi_ops_collective wf_absent_collective;
extern struct fi_ops_mr wf_absent_mr;
extern struct fi_ops_av wf_absent_av;
extern struct fi_ops_cq wf_absent_cq;
extern struct fi_ops_eq wf_absent_eq;
extern struct fi_ops_cntr wf_absent_cntr;

/* Data path tables of an endpoint that is not enabled: -FI_EOPBADSTATE. */
extern struct fi_ops_msg wf_disabled_msg;
extern struct fi_ops_tagged wf_disabled_tagged;
extern struct fi_ops_rma wf_disabled_rma;
extern struct fi_ops_atomic wf_disabled_atomic;
extern struct fi_ops_collective wf_disabled_collective;

/* Single stubs, for tables written with designated initialisers. */
int wf_absent_close(struct fid *fid);
int wf_absent_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int wf_absent_control(struct fid *fid, int command, void *arg);
int wf_absent_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
	void *context);
int wf_absent_tostr(const struct fid *fid, char *buf, size_t len);
int wf_absent_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops,
	void *context);

#endif
