/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/absent/stub.h"

int wf_absent_close(struct fid *fid)
{
	return -FI_ENOSYS;
}

int wf_absent_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	return -FI_ENOSYS;
}

int wf_absent_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

int wf_absent_ops_open(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return -FI_ENOSYS;
}

int wf_absent_tostr(const struct fid *fid, char *buf, size_t len)
{
	return -FI_ENOSYS;
}

int wf_absent_ops_set(
	struct fid *fid, const char *name, uint64_t flags, void *ops, void *context)
{
	return -FI_ENOSYS;
}

struct fi_ops wf_absent_fid =
	WF_FID_OPS(wf_absent_close, wf_absent_bind, wf_absent_control);

STUB(fabric, domain, int, -FI_ENOSYS, struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **domain, void *context)

STUB(fabric, passive_ep, int, -FI_ENOSYS, struct fid_fabric *fabric,
	struct fi_info *info, struct fid_pep **pep, void *context)

STUB(fabric, eq_open, int, -FI_ENOSYS, struct fid_fabric *fabric,
	struct fi_eq_attr *attr, struct fid_eq **eq, void *context)

STUB(fabric, wait_open, int, -FI_ENOSYS, struct fid_fabric *fabric,
	struct fi_wait_attr *attr, struct fid_wait **waitset)

STUB(fabric, trywait, int, -FI_ENOSYS, struct fid_fabric *fabric, struct fid **fids,
	int count)

STUB(fabric, domain2, int, -FI_ENOSYS, struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **domain, uint64_t flags, void *context)

struct fi_ops_fabric wf_absent_fabric = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = wf_absent_fabric_domain,
	.passive_ep = wf_absent_fabric_passive_ep,
	.eq_open = wf_absent_fabric_eq_open,
	.wait_open = wf_absent_fabric_wait_open,
	.trywait = wf_absent_fabric_trywait,
	.domain2 = wf_absent_fabric_domain2,
};

STUB(domain, av_open, int, -FI_ENOSYS, struct fid_domain *domain,
	struct fi_av_attr *attr, struct fid_av **av, void *context)

STUB(domain, cq_open, int, -FI_ENOSYS, struct fid_domain *domain,
	struct fi_cq_attr *attr, struct fid_cq **cq, void *context)

STUB(domain, endpoint, int, -FI_ENOSYS, struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ep, void *context)

STUB(domain, scalable_ep, int, -FI_ENOSYS, struct fid_domain *domain,
	struct fi_info *info, struct fid_ep **sep, void *context)

STUB(domain, cntr_open, int, -FI_ENOSYS, struct fid_domain *domain,
	struct fi_cntr_attr *attr, struct fid_cntr **cntr, void *context)

STUB(domain, poll_open, int, -FI_ENOSYS, struct fid_domain *domain,
	struct fi_poll_attr *attr, struct fid_poll **pollset)

STUB(domain, stx_ctx, int, -FI_ENOSYS, struct fid_domain *domain,
	struct fi_tx_attr *attr, struct fid_stx **stx, void *context)

STUB(domain, srx_ctx, int, -FI_ENOSYS, struct fid_domain *domain,
	struct fi_rx_attr *attr, struct fid_ep **rx_ep, void *context)

STUB(domain, query_atomic, int, -FI_ENOSYS, struct fid_domain *domain,
	enum fi_datatype datatype, enum fi_op op, struct fi_atomic_attr *attr,
	uint64_t flags)

STUB(domain, query_collective, int, -FI_ENOSYS, struct fid_domain *domain,
	enum fi_collective_op coll, struct fi_collective_attr *attr, uint64_t flags)

STUB(domain, endpoint2, int, -FI_ENOSYS, struct fid_domain *domain,
	struct fi_info *info, struct fid_ep **ep, uint64_t flags, void *context)

STUB(domain, xpu_ctx, int, -FI_ENOSYS, struct fid_domain *domain,
	struct fi_xpu_attr *attr, struct fid_xpu_ctx **ctx, void *context)

struct fi_ops_domain wf_absent_domain = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = wf_absent_domain_av_open,
	.cq_open = wf_absent_domain_cq_open,
	.endpoint = wf_absent_domain_endpoint,
	.scalable_ep = wf_absent_domain_scalable_ep,
	.cntr_open = wf_absent_domain_cntr_open,
	.poll_open = wf_absent_domain_poll_open,
	.stx_ctx = wf_absent_domain_stx_ctx,
	.srx_ctx = wf_absent_domain_srx_ctx,
	.query_atomic = wf_absent_domain_query_atomic,
	.query_collective = wf_absent_domain_query_collective,
	.endpoint2 = wf_absent_domain_endpoint2,
	.xpu_ctx = wf_absent_domain_xpu_ctx,
};

STUB(ep, cancel, ssize_t, -FI_ENOSYS, fid_t fid, void *context)

STUB(ep, getopt, int, -FI_ENOSYS, fid_t fid, int level, int optname, void *optval,
	size_t *optlen)

STUB(ep, setopt, int, -FI_ENOSYS, fid_t fid, int level, int optname, const void *optval,
	size_t optlen)

STUB(ep, tx_ctx, int, -FI_ENOSYS, struct fid_ep *ep, int idx, struct fi_tx_attr *attr,
	struct fid_ep **tx_ep, void *context)

STUB(ep, rx_ctx, int, -FI_ENOSYS, struct fid_ep *ep, int idx, struct fi_rx_attr *attr,
	struct fid_ep **rx_ep, void *context)

STUB(ep, rx_size_left, ssize_t, -FI_ENOSYS, struct fid_ep *ep)

STUB(ep, tx_size_left, ssize_t, -FI_ENOSYS, struct fid_ep *ep)

STUB(ep, export_xpu, int, -FI_ENOSYS, struct fid_ep *ep, uint64_t flags,
	struct fid_xpu_ep *xpu_ep)

struct fi_ops_ep wf_absent_ep = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = wf_absent_ep_cancel,
	.getopt = wf_absent_ep_getopt,
	.setopt = wf_absent_ep_setopt,
	.tx_ctx = wf_absent_ep_tx_ctx,
	.rx_ctx = wf_absent_ep_rx_ctx,
	.rx_size_left = wf_absent_ep_rx_size_left,
	.tx_size_left = wf_absent_ep_tx_size_left,
	.export_xpu = wf_absent_ep_export_xpu,
};

STUB(cm, setname, int, -FI_ENOSYS, fid_t fid, void *addr, size_t addrlen)

STUB(cm, getname, int, -FI_ENOSYS, fid_t fid, void *addr, size_t *addrlen)

STUB(cm, getpeer, int, -FI_ENOSYS, struct fid_ep *ep, void *addr, size_t *addrlen)

STUB(cm, connect, int, -FI_ENOSYS, struct fid_ep *ep, const void *addr,
	const void *param, size_t paramlen)

STUB(cm, listen, int, -FI_ENOSYS, struct fid_pep *pep)

STUB(cm, accept, int, -FI_ENOSYS, struct fid_ep *ep, const void *param, size_t paramlen)

STUB(cm, reject, int, -FI_ENOSYS, struct fid_pep *pep, fid_t handle, const void *param,
	size_t paramlen)

STUB(cm, shutdown, int, -FI_ENOSYS, struct fid_ep *ep, uint64_t flags)

STUB(cm, join, int, -FI_ENOSYS, struct fid_ep *ep, const void *addr, uint64_t flags,
	struct fid_mc **mc, void *context)

struct fi_ops_cm wf_absent_cm =
	WF_CM_OPS(wf_absent_cm_setname, wf_absent_cm_getname, wf_absent_cm_join);

STUB(mr, reg, int, -FI_ENOSYS, struct fid *fid, const void *buf, size_t len,
	uint64_t acs, uint64_t offset, uint64_t requested_key, uint64_t flags,
	struct fid_mr **mr, void *context)

STUB(mr, regv, int, -FI_ENOSYS, struct fid *fid, const struct iovec *iov, size_t count,
	uint64_t acs, uint64_t offset, uint64_t requested_key, uint64_t flags,
	struct fid_mr **mr, void *context)

STUB(mr, regattr, int, -FI_ENOSYS, struct fid *fid, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **mr)

struct fi_ops_mr wf_absent_mr = {
	.size = sizeof(struct fi_ops_mr),
	.reg = wf_absent_mr_reg,
	.regv = wf_absent_mr_regv,
	.regattr = wf_absent_mr_regattr,
};

STUB(av, insert, int, -FI_ENOSYS, struct fid_av *av, const void *addr, size_t count,
	fi_addr_t *fi_addr, uint64_t flags, void *context)

STUB(av, insertsvc, int, -FI_ENOSYS, struct fid_av *av, const char *node,
	const char *service, fi_addr_t *fi_addr, uint64_t flags, void *context)

STUB(av, insertsym, int, -FI_ENOSYS, struct fid_av *av, const char *node,
	size_t nodecnt, const char *service, size_t svccnt, fi_addr_t *fi_addr,
	uint64_t flags, void *context)

STUB(av, remove, int, -FI_ENOSYS, struct fid_av *av, fi_addr_t *fi_addr, size_t count,
	uint64_t flags)

STUB(av, lookup, int, -FI_ENOSYS, struct fid_av *av, fi_addr_t fi_addr, void *addr,
	size_t *addrlen)

STUB(av, straddr, const char *, NULL, struct fid_av *av, const void *addr, char *buf,
	size_t *len)

STUB(av, av_set, int, -FI_ENOSYS, struct fid_av *av, struct fi_av_set_attr *attr,
	struct fid_av_set **set, void *context)

STUB(av, insert_auth_key, int, -FI_ENOSYS, struct fid_av *av, const void *auth_key,
	size_t auth_key_size, fi_addr_t *fi_addr, uint64_t flags)

STUB(av, lookup_auth_key, int, -FI_ENOSYS, struct fid_av *av, fi_addr_t addr,
	void *auth_key, size_t *auth_key_size)

STUB(av, set_user_id, int, -FI_ENOSYS, struct fid_av *av, fi_addr_t fi_addr,
	fi_addr_t user_id, uint64_t flags)

STUB(av, lookup2, int, -FI_ENOSYS, struct fid_av *av, fi_addr_t fi_addr, void *buf,
	size_t *len, uint64_t flags, struct fid_xpu_ctx *ctx)

struct fi_ops_av wf_absent_av = {
	.size = sizeof(struct fi_ops_av),
	.insert = wf_absent_av_insert,
	.insertsvc = wf_absent_av_insertsvc,
	.insertsym = wf_absent_av_insertsym,
	.remove = wf_absent_av_remove,
	.lookup = wf_absent_av_lookup,
	.straddr = wf_absent_av_straddr,
	.av_set = wf_absent_av_av_set,
	.insert_auth_key = wf_absent_av_insert_auth_key,
	.lookup_auth_key = wf_absent_av_lookup_auth_key,
	.set_user_id = wf_absent_av_set_user_id,
	.lookup2 = wf_absent_av_lookup2,
};

STUB(cq, read, ssize_t, -FI_ENOSYS, struct fid_cq *cq, void *buf, size_t count)

STUB(cq, readfrom, ssize_t, -FI_ENOSYS, struct fid_cq *cq, void *buf, size_t count,
	fi_addr_t *src_addr)

STUB(cq, readerr, ssize_t, -FI_ENOSYS, struct fid_cq *cq, struct fi_cq_err_entry *buf,
	uint64_t flags)

STUB(cq, sread, ssize_t, -FI_ENOSYS, struct fid_cq *cq, void *buf, size_t count,
	const void *cond, int timeout)

STUB(cq, sreadfrom, ssize_t, -FI_ENOSYS, struct fid_cq *cq, void *buf, size_t count,
	fi_addr_t *src_addr, const void *cond, int timeout)

STUB(cq, signal, int, -FI_ENOSYS, struct fid_cq *cq)

STUB(cq, strerror, const char *, NULL, struct fid_cq *cq, int prov_errno,
	const void *err_data, char *buf, size_t len)

STUB(cq, export_xpu, int, -FI_ENOSYS, struct fid_cq *cq, uint64_t flags,
	struct fid_xpu_cq *xpu_cq)

struct fi_ops_cq wf_absent_cq = {
	.size = sizeof(struct fi_ops_cq),
	.read = wf_absent_cq_read,
	.readfrom = wf_absent_cq_readfrom,
	.readerr = wf_absent_cq_readerr,
	.sread = wf_absent_cq_sread,
	.sreadfrom = wf_absent_cq_sreadfrom,
	.signal = wf_absent_cq_signal,
	.strerror = wf_absent_cq_strerror,
	.export_xpu = wf_absent_cq_export_xpu,
};

STUB(eq, read, ssize_t, -FI_ENOSYS, struct fid_eq *eq, uint32_t *event, void *buf,
	size_t len, uint64_t flags)

STUB(eq, readerr, ssize_t, -FI_ENOSYS, struct fid_eq *eq, struct fi_eq_err_entry *buf,
	uint64_t flags)

STUB(eq, write, ssize_t, -FI_ENOSYS, struct fid_eq *eq, uint32_t event, const void *buf,
	size_t len, uint64_t flags)

STUB(eq, sread, ssize_t, -FI_ENOSYS, struct fid_eq *eq, uint32_t *event, void *buf,
	size_t len, int timeout, uint64_t flags)

STUB(eq, strerror, const char *, NULL, struct fid_eq *eq, int prov_errno,
	const void *err_data, char *buf, size_t len)

struct fi_ops_eq wf_absent_eq = {
	.size = sizeof(struct fi_ops_eq),
	.read = wf_absent_eq_read,
	.readerr = wf_absent_eq_readerr,
	.write = wf_absent_eq_write,
	.sread = wf_absent_eq_sread,
	.strerror = wf_absent_eq_strerror,
};

STUB(cntr, read, uint64_t, 0, struct fid_cntr *cntr)

STUB(cntr, readerr, uint64_t, 0, struct fid_cntr *cntr)

STUB(cntr, add, int, -FI_ENOSYS, struct fid_cntr *cntr, uint64_t value)

STUB(cntr, set, int, -FI_ENOSYS, struct fid_cntr *cntr, uint64_t value)

STUB(cntr, wait, int, -FI_ENOSYS, struct fid_cntr *cntr, uint64_t threshold,
	int timeout)

STUB(cntr, adderr, int, -FI_ENOSYS, struct fid_cntr *cntr, uint64_t value)

STUB(cntr, seterr, int, -FI_ENOSYS, struct fid_cntr *cntr, uint64_t value)

STUB(cntr, export_xpu, int, -FI_ENOSYS, struct fid_cntr *cntr, uint64_t flags,
	struct fid_xpu_cntr *xpu_cntr)

struct fi_ops_cntr wf_absent_cntr = {
	.size = sizeof(struct fi_ops_cntr),
	.read = wf_absent_cntr_read,
	.readerr = wf_absent_cntr_readerr,
	.add = wf_absent_cntr_add,
	.set = wf_absent_cntr_set,
	.wait = wf_absent_cntr_wait,
	.adderr = wf_absent_cntr_adderr,
	.seterr = wf_absent_cntr_seterr,
	.export_xpu = wf_absent_cntr_export_xpu,
};
