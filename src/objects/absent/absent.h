/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ABSENT_ABSENT_H
#define WF_OBJECTS_ABSENT_ABSENT_H

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
 * Complete tables of stubs: applications call most slots without a check, so no slot
 * may be NULL. Every stub returns -FI_ENOSYS (the reads of counters return 0, string
 * functions NULL, the atomic "valid" calls -FI_EOPNOTSUPP). An object's table names the
 * stub wf_absent_<table>_<slot> for each call that it does not support.
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

/* Data path tables of an endpoint that is not enabled, or that a forked child
 * inherited: -FI_EOPBADSTATE. */
extern struct fi_ops_msg wf_disabled_msg;
extern struct fi_ops_tagged wf_disabled_tagged;
extern struct fi_ops_rma wf_disabled_rma;
extern struct fi_ops_atomic wf_disabled_atomic;
extern struct fi_ops_collective wf_disabled_collective;

/* Single stubs, for tables written with designated initialisers. */
int wf_absent_close(struct fid *fid);
int wf_absent_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int wf_absent_control(struct fid *fid, int command, void *arg);
int wf_absent_ops_open(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
int wf_absent_tostr(const struct fid *fid, char *buf, size_t len);
int wf_absent_ops_set(
	struct fid *fid, const char *name, uint64_t flags, void *ops, void *context);

/* The struct fi_ops_cm of an object without connections: of fi_cm(3) it implements
 * these three calls only. */
#define WF_CM_OPS(setname_, getname_, join_)                                           \
	{                                                                              \
		.size = sizeof(struct fi_ops_cm), .setname = (setname_),               \
		.getname = (getname_), .getpeer = wf_absent_cm_getpeer,                \
		.connect = wf_absent_cm_connect, .listen = wf_absent_cm_listen,        \
		.accept = wf_absent_cm_accept, .reject = wf_absent_cm_reject,          \
		.shutdown = wf_absent_cm_shutdown, .join = (join_),                    \
	}

/* The struct fi_ops of a fid that implements these three calls only. */
#define WF_FID_OPS(close_, bind_, control_)                                            \
	{                                                                              \
		.size = sizeof(struct fi_ops), .close = (close_), .bind = (bind_),     \
		.control = (control_), .ops_open = wf_absent_ops_open,                 \
		.tostr = wf_absent_tostr, .ops_set = wf_absent_ops_set,                \
	}

/* The others, wf_absent_<table>_<slot>; the type is that of the slot. */
#define WF_ABSENT(table, slot)                                                         \
	extern __typeof__(*((struct fi_ops_##table *)NULL)                             \
				   ->slot) wf_absent_##table##_##slot

WF_ABSENT(fabric, domain);
WF_ABSENT(fabric, passive_ep);
WF_ABSENT(fabric, eq_open);
WF_ABSENT(fabric, wait_open);
WF_ABSENT(fabric, trywait);
WF_ABSENT(fabric, domain2);

WF_ABSENT(domain, av_open);
WF_ABSENT(domain, cq_open);
WF_ABSENT(domain, endpoint);
WF_ABSENT(domain, scalable_ep);
WF_ABSENT(domain, cntr_open);
WF_ABSENT(domain, poll_open);
WF_ABSENT(domain, stx_ctx);
WF_ABSENT(domain, srx_ctx);
WF_ABSENT(domain, query_atomic);
WF_ABSENT(domain, query_collective);
WF_ABSENT(domain, endpoint2);
WF_ABSENT(domain, xpu_ctx);

WF_ABSENT(ep, cancel);
WF_ABSENT(ep, getopt);
WF_ABSENT(ep, setopt);
WF_ABSENT(ep, tx_ctx);
WF_ABSENT(ep, rx_ctx);
WF_ABSENT(ep, rx_size_left);
WF_ABSENT(ep, tx_size_left);
WF_ABSENT(ep, export_xpu);

WF_ABSENT(cm, setname);
WF_ABSENT(cm, getname);
WF_ABSENT(cm, getpeer);
WF_ABSENT(cm, connect);
WF_ABSENT(cm, listen);
WF_ABSENT(cm, accept);
WF_ABSENT(cm, reject);
WF_ABSENT(cm, shutdown);
WF_ABSENT(cm, join);

WF_ABSENT(mr, reg);
WF_ABSENT(mr, regv);
WF_ABSENT(mr, regattr);

WF_ABSENT(av, insert);
WF_ABSENT(av, insertsvc);
WF_ABSENT(av, insertsym);
WF_ABSENT(av, remove);
WF_ABSENT(av, lookup);
WF_ABSENT(av, straddr);
WF_ABSENT(av, av_set);
WF_ABSENT(av, insert_auth_key);
WF_ABSENT(av, lookup_auth_key);
WF_ABSENT(av, set_user_id);
WF_ABSENT(av, lookup2);

WF_ABSENT(cq, read);
WF_ABSENT(cq, readfrom);
WF_ABSENT(cq, readerr);
WF_ABSENT(cq, sread);
WF_ABSENT(cq, sreadfrom);
WF_ABSENT(cq, signal);
WF_ABSENT(cq, strerror);
WF_ABSENT(cq, export_xpu);

WF_ABSENT(eq, read);
WF_ABSENT(eq, readerr);
WF_ABSENT(eq, write);
WF_ABSENT(eq, sread);
WF_ABSENT(eq, strerror);

WF_ABSENT(cntr, read);
WF_ABSENT(cntr, readerr);
WF_ABSENT(cntr, add);
WF_ABSENT(cntr, set);
WF_ABSENT(cntr, wait);
WF_ABSENT(cntr, adderr);
WF_ABSENT(cntr, seterr);
WF_ABSENT(cntr, export_xpu);

WF_ABSENT(msg, recv);
WF_ABSENT(msg, recvv);
WF_ABSENT(msg, recvmsg);
WF_ABSENT(msg, send);
WF_ABSENT(msg, sendv);
WF_ABSENT(msg, sendmsg);
WF_ABSENT(msg, inject);
WF_ABSENT(msg, senddata);
WF_ABSENT(msg, injectdata);

WF_ABSENT(tagged, recv);
WF_ABSENT(tagged, recvv);
WF_ABSENT(tagged, recvmsg);
WF_ABSENT(tagged, send);
WF_ABSENT(tagged, sendv);
WF_ABSENT(tagged, sendmsg);
WF_ABSENT(tagged, inject);
WF_ABSENT(tagged, senddata);
WF_ABSENT(tagged, injectdata);

WF_ABSENT(rma, read);
WF_ABSENT(rma, readv);
WF_ABSENT(rma, readmsg);
WF_ABSENT(rma, write);
WF_ABSENT(rma, writev);
WF_ABSENT(rma, writemsg);
WF_ABSENT(rma, inject);
WF_ABSENT(rma, writedata);
WF_ABSENT(rma, injectdata);

WF_ABSENT(atomic, write);
WF_ABSENT(atomic, writev);
WF_ABSENT(atomic, writemsg);
WF_ABSENT(atomic, inject);
WF_ABSENT(atomic, readwrite);
WF_ABSENT(atomic, readwritev);
WF_ABSENT(atomic, readwritemsg);
WF_ABSENT(atomic, compwrite);
WF_ABSENT(atomic, compwritev);
WF_ABSENT(atomic, compwritemsg);
WF_ABSENT(atomic, writevalid);
WF_ABSENT(atomic, readwritevalid);
WF_ABSENT(atomic, compwritevalid);

WF_ABSENT(collective, barrier);
WF_ABSENT(collective, broadcast);
WF_ABSENT(collective, alltoall);
WF_ABSENT(collective, allreduce);
WF_ABSENT(collective, allgather);
WF_ABSENT(collective, reduce_scatter);
WF_ABSENT(collective, reduce);
WF_ABSENT(collective, scatter);
WF_ABSENT(collective, gather);
WF_ABSENT(collective, msg);
WF_ABSENT(collective, barrier2);

#endif
