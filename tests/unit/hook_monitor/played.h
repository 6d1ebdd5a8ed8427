/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_HOOK_MONITOR_PLAYED_H
#define TESTS_UNIT_HOOK_MONITOR_PLAYED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "sys/compiler.h"
#include "sys/peer_counts.h"

/*
 * A provider that the test plays, for each thread. Its transfer calls return
 * @played.answer, and note which call it was and with which arguments. Endpoints get
 * their tables at fi_enable.
 */
static _Thread_local struct {
	ssize_t answer;
	const char *call; /* of the last call */
	uint64_t args;    /* sum of its arguments */
	int closed;       /* number of objects that were closed */
	int close_answer;
	const void *entries;     /* what the next read of a queue returns */
	void (*in_domain)(void); /* called by fi_domain */
	struct wf_peer_counts counts;
} played;

#define ARG(x) ((uint64_t)(uintptr_t)(x))

static inline ssize_t note(const char *call, uint64_t args)
{
	played.call = call;
	played.args = args;
	return played.answer;
}

static inline int close_played(struct fid *fid)
{
	if (played.close_answer)
		return played.close_answer;
	played.closed++;
	free(fid); /* the first member of each object */
	return 0;
}

/* Calls. Tags and keys count, too, so that a lost or swapped argument shows. */

static ssize_t p_recv(
	struct fid_ep *f, void *buf, size_t len, void *desc, fi_addr_t a, void *c)
{
	return note("recv", ARG(buf) + 2 * len + 3 * ARG(desc) + 4 * a + 5 * ARG(c));
}

static ssize_t p_recvv(struct fid_ep *f, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t a, void *c)
{
	return note("recvv", ARG(iov) + 2 * count + 3 * ARG(desc) + 4 * a + 5 * ARG(c));
}

static ssize_t p_recvmsg(struct fid_ep *f, const struct fi_msg *msg, uint64_t flags)
{
	return note("recvmsg", ARG(msg) + 2 * flags);
}

static ssize_t p_send(
	struct fid_ep *f, const void *buf, size_t len, void *desc, fi_addr_t a, void *c)
{
	return note("send", ARG(buf) + 2 * len + 3 * ARG(desc) + 4 * a + 5 * ARG(c));
}

static ssize_t p_sendv(struct fid_ep *f, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t a, void *c)
{
	return note("sendv", ARG(iov) + 2 * count + 3 * ARG(desc) + 4 * a + 5 * ARG(c));
}

static ssize_t p_sendmsg(struct fid_ep *f, const struct fi_msg *msg, uint64_t flags)
{
	return note("sendmsg", ARG(msg) + 2 * flags);
}

static ssize_t p_inject(struct fid_ep *f, const void *buf, size_t len, fi_addr_t a)
{
	return note("inject", ARG(buf) + 2 * len + 4 * a);
}

static ssize_t p_senddata(struct fid_ep *f, const void *buf, size_t len, void *desc,
	uint64_t data, fi_addr_t a, void *c)
{
	return note("senddata",
		ARG(buf) + 2 * len + 3 * ARG(desc) + 4 * a + 5 * ARG(c) + 6 * data);
}

static ssize_t p_injectdata(
	struct fid_ep *f, const void *buf, size_t len, uint64_t data, fi_addr_t a)
{
	return note("injectdata", ARG(buf) + 2 * len + 4 * a + 6 * data);
}

static struct fi_ops_msg played_msg = {
	.size = sizeof(played_msg),
	.recv = p_recv,
	.recvv = p_recvv,
	.recvmsg = p_recvmsg,
	.send = p_send,
	.sendv = p_sendv,
	.sendmsg = p_sendmsg,
	.inject = p_inject,
	.senddata = p_senddata,
	.injectdata = p_injectdata,
};

static ssize_t t_recv(struct fid_ep *f, void *buf, size_t len, void *desc, fi_addr_t a,
	uint64_t tag, uint64_t ignore, void *c)
{
	return note("trecv", ARG(buf) + 2 * len + 3 * ARG(desc) + 4 * a + 5 * ARG(c) +
				     7 * tag + 8 * ignore);
}

static ssize_t t_recvv(struct fid_ep *f, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t a, uint64_t tag, uint64_t ignore, void *c)
{
	return note("trecvv", ARG(iov) + 2 * count + 3 * ARG(desc) + 4 * a +
				      5 * ARG(c) + 7 * tag + 8 * ignore);
}

static ssize_t t_recvmsg(
	struct fid_ep *f, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return note("trecvmsg", ARG(msg) + 2 * flags);
}

static ssize_t t_send(struct fid_ep *f, const void *buf, size_t len, void *desc,
	fi_addr_t a, uint64_t tag, void *c)
{
	return note("tsend",
		ARG(buf) + 2 * len + 3 * ARG(desc) + 4 * a + 5 * ARG(c) + 7 * tag);
}

static ssize_t t_sendv(struct fid_ep *f, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t a, uint64_t tag, void *c)
{
	return note("tsendv",
		ARG(iov) + 2 * count + 3 * ARG(desc) + 4 * a + 5 * ARG(c) + 7 * tag);
}

static ssize_t t_sendmsg(
	struct fid_ep *f, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return note("tsendmsg", ARG(msg) + 2 * flags);
}

static ssize_t t_inject(
	struct fid_ep *f, const void *buf, size_t len, fi_addr_t a, uint64_t tag)
{
	return note("tinject", ARG(buf) + 2 * len + 4 * a + 7 * tag);
}

static ssize_t t_senddata(struct fid_ep *f, const void *buf, size_t len, void *desc,
	uint64_t data, fi_addr_t a, uint64_t tag, void *c)
{
	return note("tsenddata", ARG(buf) + 2 * len + 3 * ARG(desc) + 4 * a +
					 5 * ARG(c) + 6 * data + 7 * tag);
}

static ssize_t t_injectdata(struct fid_ep *f, const void *buf, size_t len,
	uint64_t data, fi_addr_t a, uint64_t tag)
{
	return note("tinjectdata", ARG(buf) + 2 * len + 4 * a + 6 * data + 7 * tag);
}

static struct fi_ops_tagged played_tagged = {
	.size = sizeof(played_tagged),
	.recv = t_recv,
	.recvv = t_recvv,
	.recvmsg = t_recvmsg,
	.send = t_send,
	.sendv = t_sendv,
	.sendmsg = t_sendmsg,
	.inject = t_inject,
	.senddata = t_senddata,
	.injectdata = t_injectdata,
};

static ssize_t r_read(struct fid_ep *f, void *buf, size_t len, void *desc, fi_addr_t a,
	uint64_t addr, uint64_t key, void *c)
{
	return note("read", ARG(buf) + 2 * len + 3 * ARG(desc) + 4 * a + 5 * ARG(c) +
				    9 * addr + 10 * key);
}

static ssize_t r_readv(struct fid_ep *f, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t a, uint64_t addr, uint64_t key, void *c)
{
	return note("readv", ARG(iov) + 2 * count + 3 * ARG(desc) + 4 * a + 5 * ARG(c) +
				     9 * addr + 10 * key);
}

static ssize_t r_readmsg(struct fid_ep *f, const struct fi_msg_rma *msg, uint64_t flags)
{
	return note("readmsg", ARG(msg) + 2 * flags);
}

static ssize_t r_write(struct fid_ep *f, const void *buf, size_t len, void *desc,
	fi_addr_t a, uint64_t addr, uint64_t key, void *c)
{
	return note("write", ARG(buf) + 2 * len + 3 * ARG(desc) + 4 * a + 5 * ARG(c) +
				     9 * addr + 10 * key);
}

static ssize_t r_writev(struct fid_ep *f, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t a, uint64_t addr, uint64_t key, void *c)
{
	return note("writev", ARG(iov) + 2 * count + 3 * ARG(desc) + 4 * a +
				      5 * ARG(c) + 9 * addr + 10 * key);
}

static ssize_t r_writemsg(
	struct fid_ep *f, const struct fi_msg_rma *msg, uint64_t flags)
{
	return note("writemsg", ARG(msg) + 2 * flags);
}

static ssize_t r_inject(struct fid_ep *f, const void *buf, size_t len, fi_addr_t a,
	uint64_t addr, uint64_t key)
{
	return note("inject_write", ARG(buf) + 2 * len + 4 * a + 9 * addr + 10 * key);
}

static ssize_t r_writedata(struct fid_ep *f, const void *buf, size_t len, void *desc,
	uint64_t data, fi_addr_t a, uint64_t addr, uint64_t key, void *c)
{
	return note("writedata", ARG(buf) + 2 * len + 3 * ARG(desc) + 4 * a +
					 5 * ARG(c) + 6 * data + 9 * addr + 10 * key);
}

static ssize_t r_injectdata(struct fid_ep *f, const void *buf, size_t len,
	uint64_t data, fi_addr_t a, uint64_t addr, uint64_t key)
{
	return note("inject_writedata",
		ARG(buf) + 2 * len + 4 * a + 6 * data + 9 * addr + 10 * key);
}

static struct fi_ops_rma played_rma = {
	.size = sizeof(played_rma),
	.read = r_read,
	.readv = r_readv,
	.readmsg = r_readmsg,
	.write = r_write,
	.writev = r_writev,
	.writemsg = r_writemsg,
	.inject = r_inject,
	.writedata = r_writedata,
	.injectdata = r_injectdata,
};

/* Endpoints. An alias is a copy, with all tables, as some providers make it. */

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct fid_ep *ep = wf_container_of(fid, struct fid_ep, fid), *copy;
	struct fi_alias *alias = arg;

	if (command == FI_ENABLE) {
		ep->msg = &played_msg;
		ep->tagged = &played_tagged;
		ep->rma = &played_rma;
		return 0;
	}
	if (command != FI_ALIAS)
		return -FI_ENOSYS;
	copy = malloc(sizeof(*copy));
	assert_non_null(copy);
	*copy = *ep;
	*alias->fid = &copy->fid;
	return 0;
}

static void get_counts(struct fid *fid, struct wf_peer_counts *ret)
{
	*ret = played.counts;
}

static int ep_ops_open(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	static struct wf_peer_counts_ops counts = { sizeof(counts), get_counts };

	if (strcmp(name, WF_PEER_COUNTS) != 0)
		return -FI_ENOSYS;
	*ops = &counts;
	return 0;
}

static struct fi_ops played_ep_fid = {
	.size = sizeof(played_ep_fid),
	.close = close_played,
	.control = ep_control,
	.ops_open = ep_ops_open,
};

static int sep_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr,
	struct fid_ep **ret_ctx, void *context);

static struct fi_ops_ep played_ep_ops = {
	.size = sizeof(played_ep_ops),
	.tx_ctx = sep_ctx,
};

static struct fi_ops_msg disabled_msg = { .size = sizeof(disabled_msg) };

static struct fid_ep *new_ep(size_t fclass)
{
	struct fid_ep *ep = calloc(1, sizeof(*ep));

	assert_non_null(ep);
	ep->fid.fclass = fclass;
	ep->fid.ops = &played_ep_fid;
	ep->ops = &played_ep_ops;
	ep->msg = &disabled_msg;
	return ep;
}

static int sep_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr,
	struct fid_ep **ret_ctx, void *context)
{
	*ret_ctx = new_ep(FI_CLASS_TX_CTX);
	return 0;
}

static int d_endpoint(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, void *context)
{
	*ret_ep = new_ep(FI_CLASS_EP);
	return 0;
}

static int d_scalable_ep(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, void *context)
{
	*ret_ep = new_ep(FI_CLASS_SEP);
	return 0;
}

static int d_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr,
	struct fid_ep **ret_ep, void *context)
{
	*ret_ep = new_ep(FI_CLASS_SRX_CTX);
	(*ret_ep)->msg = &played_msg;
	(*ret_ep)->tagged = &played_tagged;
	return 0;
}

/* Queues. */

static size_t entry_size;

static ssize_t read_entries(void *buf)
{
	if (played.answer > 0 && entry_size)
		memcpy(buf, played.entries, (size_t)played.answer * entry_size);
	return played.answer;
}

static ssize_t q_read(struct fid_cq *cq, void *buf, size_t count)
{
	played.call = "cq_read";
	return read_entries(buf);
}

static ssize_t q_readfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	played.call = "cq_readfrom";
	return read_entries(buf);
}

static ssize_t q_readerr(
	struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
	played.call = "cq_readerr";
	entry->len = 700;
	return played.answer;
}

static ssize_t q_sread(
	struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
	played.call = "cq_sread";
	return read_entries(buf);
}

static ssize_t q_sreadfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src,
	const void *cond, int timeout)
{
	played.call = "cq_sreadfrom";
	return read_entries(buf);
}

static struct fi_ops_cq played_cq = {
	.size = sizeof(played_cq),
	.read = q_read,
	.readfrom = q_readfrom,
	.readerr = q_readerr,
	.sread = q_sread,
	.sreadfrom = q_sreadfrom,
};

static struct fi_ops played_fid = {
	.size = sizeof(played_fid),
	.close = close_played,
};

static int d_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *context)
{
	struct fid_cq *cq = calloc(1, sizeof(*cq));

	assert_non_null(cq);
	cq->fid.fclass = FI_CLASS_CQ;
	cq->fid.ops = &played_fid;
	cq->ops = &played_cq;
	*ret_cq = cq;
	return 0;
}

/* Domains and fabrics. */

static int m_reg(struct fid *fid, const void *buf, size_t len, uint64_t access,
	uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr,
	void *context)
{
	return (int)note("mr_reg", ARG(buf) + 2 * len + 3 * access + 4 * offset +
					   5 * key + 6 * flags + 7 * ARG(context));
}

static int m_regv(struct fid *fid, const struct iovec *iov, size_t count,
	uint64_t access, uint64_t offset, uint64_t key, uint64_t flags,
	struct fid_mr **mr, void *context)
{
	return (int)note("mr_regv", ARG(iov) + 2 * count + 3 * access + 4 * offset +
					    5 * key + 6 * flags + 7 * ARG(context));
}

static int m_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
	struct fid_mr **mr)
{
	return (int)note("mr_regattr", ARG(attr) + 2 * flags);
}

static struct fi_ops_mr played_mr = { sizeof(played_mr), m_reg, m_regv, m_regattr };

static struct fi_ops_domain played_domain = {
	.size = sizeof(played_domain),
	.cq_open = d_cq_open,
	.endpoint = d_endpoint,
	.scalable_ep = d_scalable_ep,
	.srx_ctx = d_srx_ctx,
};

static int f_domain(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, void *context)
{
	struct fid_domain *domain = calloc(1, sizeof(*domain));

	assert_non_null(domain);
	domain->fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.ops = &played_fid;
	domain->ops = &played_domain;
	domain->mr = &played_mr;
	*ret_domain = domain;
	if (played.in_domain)
		played.in_domain();
	return 0;
}

static struct fi_ops_fabric played_fabric = {
	.size = sizeof(played_fabric),
	.domain = f_domain,
};

static struct fid_fabric *new_fabric(void)
{
	struct fid_fabric *fabric = calloc(1, sizeof(*fabric));

	assert_non_null(fabric);
	fabric->fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.ops = &played_fid;
	fabric->ops = &played_fabric;
	return fabric;
}

#endif
