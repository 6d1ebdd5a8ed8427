/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_TOOLS_FAKE_H
#define TESTS_UNIT_TOOLS_FAKE_H

/*
 * A library for the tools: each call writes its arguments into fake.told, and succeeds
 * unless it is the one that a test refuses. Queues give what a test put into them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

enum { FAKE_READS = 16 };

/* What a read of a queue gives; after the last one a queue is empty. */
struct fake_read {
	ssize_t ret;
	uint32_t event;
	void *context;
	uint64_t flags;
	size_t len;
};

static struct {
	char told[8192];
	const char *refused; /* the name of the call that fails */
	int passed;          /* so many such calls pass before */
	int failures;        /* so many fail then */
	int error;           /* what they return */
	int open;            /* objects that were not closed */
	int err;             /* of error entries */
	struct fake_read eq[FAKE_READS], cq[FAKE_READS];
	unsigned int eq_at, cq_at;
	struct fi_info *info; /* what fi_getinfo gives copies of */
	/* Called with the hints of fi_getinfo; or NULL. */
	void (*look)(const struct fi_info *hints);
} fake;

static __attribute__((format(printf, 2, 3))) int fake_call(
	const char *name, const char *format, ...)
{
	size_t at = strlen(fake.told);
	va_list args;

	at += (size_t)snprintf(
		fake.told + at, sizeof(fake.told) - at, "%s%s", at ? " " : "", name);
	va_start(args, format);
	(void)vsnprintf(fake.told + at, sizeof(fake.told) - at, format, args);
	va_end(args);
	if (!fake.refused || strcmp(name, fake.refused) != 0)
		return 0;
	if (fake.passed > 0) {
		fake.passed--;
		return 0;
	}
	return fake.failures-- > 0 ? fake.error : 0;
}

/* Call number @passed of this name fails. */
static __attribute__((unused)) void fake_refuse(const char *name, int passed, int error)
{
	fake.refused = name;
	fake.passed = passed;
	fake.failures = 1;
	fake.error = error;
}

/* What was told since the last call. */
static __attribute__((unused)) const char *fake_told(void)
{
	static char told[sizeof(fake.told)];

	memcpy(told, fake.told, sizeof(told));
	fake.told[0] = 0;
	return told;
}

static const char *const fake_classes[] = {
	[FI_CLASS_FABRIC] = "fabric",
	[FI_CLASS_DOMAIN] = "domain",
	[FI_CLASS_EP] = "ep",
	[FI_CLASS_PEP] = "pep",
	[FI_CLASS_AV] = "av",
	[FI_CLASS_MR] = "mr",
	[FI_CLASS_EQ] = "eq",
	[FI_CLASS_CQ] = "cq",
};

static int fake_close(struct fid *fid)
{
	fake.open--;
	return fake_call("close", ":%s", fake_classes[fid->fclass]);
}

static int fake_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
	(void)fid;
	return fake_call("bind", ":%s:%llx", fake_classes[to->fclass],
		(unsigned long long)flags);
}

static int fake_control(struct fid *fid, int command, void *arg)
{
	(void)arg;
	assert_int_equal(command, FI_ENABLE);
	return fake_call(fid->fclass == FI_CLASS_MR ? "mr_enable" : "enable", "%s", "");
}

static struct fi_ops fake_ops = { .size = sizeof(fake_ops),
	.close = fake_close,
	.bind = fake_bind,
	.control = fake_control };

#define FAKE_FID(class)                                                                \
	{                                                                              \
		.fclass = (class), .ops = &fake_ops                                    \
	}

/* Opens @object unless @ret is an error. */
#define FAKE_OPEN(ret, object, to)                                                     \
	do {                                                                           \
		int ret_ = (ret);                                                      \
                                                                                       \
		if (ret_)                                                              \
			return ret_;                                                   \
		fake.open++;                                                           \
		*(to) = (object);                                                      \
		return 0;                                                              \
	} while (0)

/* ---- queues ---- */

static ssize_t fake_cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	struct fi_cq_msg_entry *entry = buf;
	struct fake_read *read;

	(void)cq;
	assert_true(count > 0);
	if (fake.cq_at == FAKE_READS || !fake.cq[fake.cq_at].ret)
		return -FI_EAGAIN;
	read = &fake.cq[fake.cq_at++];
	if (read->ret > 0)
		*entry = (struct fi_cq_msg_entry){ read->context, read->flags,
			read->len };
	return read->ret;
}

static ssize_t fake_cq_sread(
	struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
	(void)cond;
	(void)fake_call("cq_sread", ":%d", timeout);
	return fake_cq_read(cq, buf, count);
}

static ssize_t fake_cq_readerr(
	struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
	int ret = fake_call("cq_readerr", ":%llx", (unsigned long long)flags);

	(void)cq;
	if (ret)
		return ret;
	entry->err = fake.err;
	entry->prov_errno = 77;
	return 1;
}

static const char *fake_cq_strerror(
	struct fid_cq *cq, int prov_errno, const void *data, char *buf, size_t len)
{
	(void)cq;
	(void)data;
	(void)snprintf(buf, len, "reason %d", prov_errno);
	return buf;
}

static struct fi_ops_cq fake_cq_ops = { .size = sizeof(fake_cq_ops),
	.read = fake_cq_read,
	.sread = fake_cq_sread,
	.readerr = fake_cq_readerr,
	.strerror = fake_cq_strerror };
static struct fid_cq fake_cq = { FAKE_FID(FI_CLASS_CQ), &fake_cq_ops };

static ssize_t fake_eq_sread(struct fid_eq *eq, uint32_t *event, void *buf, size_t len,
	int timeout, uint64_t flags)
{
	struct fi_eq_cm_entry *entry = buf;
	struct fake_read *read;

	(void)eq;
	(void)fake_call("eq_sread", ":%d:%llx", timeout, (unsigned long long)flags);
	assert_true(len >= sizeof(*entry));
	if (fake.eq_at == FAKE_READS || !fake.eq[fake.eq_at].ret)
		return -FI_EAGAIN;
	read = &fake.eq[fake.eq_at++];
	*event = read->event;
	if (read->ret > 0)
		entry->info = read->context;
	return read->ret;
}

static ssize_t fake_eq_readerr(
	struct fid_eq *eq, struct fi_eq_err_entry *entry, uint64_t flags)
{
	int ret = fake_call("eq_readerr", ":%llx", (unsigned long long)flags);

	(void)eq;
	if (ret)
		return ret;
	entry->err = fake.err;
	return sizeof(*entry);
}

static struct fi_ops_eq fake_eq_ops = {
	.size = sizeof(fake_eq_ops), .sread = fake_eq_sread, .readerr = fake_eq_readerr
};
static struct fid_eq fake_eq = { FAKE_FID(FI_CLASS_EQ), &fake_eq_ops };

/* ---- endpoints ---- */

enum { FAKE_NAME_LEN = 4 };

static int fake_getname(fid_t fid, void *addr, size_t *len)
{
	int ret =
		fake_call("getname", ":%s", fid->fclass == FI_CLASS_PEP ? "pep" : "ep");
	size_t room = *len;

	if (ret)
		return ret;
	*len = FAKE_NAME_LEN;
	if (room < FAKE_NAME_LEN)
		return -FI_ETOOSMALL;
	memcpy(addr, "name", FAKE_NAME_LEN);
	return 0;
}

static int fake_connect(
	struct fid_ep *ep, const void *addr, const void *param, size_t len)
{
	(void)ep;
	(void)param;
	return fake_call("connect", ":%.4s:%zu", (const char *)addr, len);
}

static int fake_listen(struct fid_pep *pep)
{
	(void)pep;
	return fake_call("listen", "%s", "");
}

static int fake_accept(struct fid_ep *ep, const void *param, size_t len)
{
	(void)ep;
	(void)param;
	return fake_call("accept", ":%zu", len);
}

static struct fi_ops_cm fake_cm_ops = { .size = sizeof(fake_cm_ops),
	.getname = fake_getname,
	.connect = fake_connect,
	.listen = fake_listen,
	.accept = fake_accept };

static ssize_t fake_trecv(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
	(void)ep;
	(void)buf;
	(void)desc;
	(void)from;
	(void)context;
	return fake_call("trecv", ":%zu:%d:%d", len, (int)tag, (int)ignore);
}

static ssize_t fake_recv(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t from, void *context)
{
	(void)ep;
	(void)buf;
	(void)desc;
	(void)from;
	(void)context;
	return fake_call("recv", ":%zu", len);
}

static ssize_t fake_tsend(struct fid_ep *ep, const void *buf, size_t len, void *desc,
	fi_addr_t to, uint64_t tag, void *context)
{
	(void)ep;
	(void)buf;
	(void)desc;
	(void)context;
	return fake_call("tsend", ":%zu:%d:%d", len, (int)to, (int)tag);
}

static ssize_t fake_send(struct fid_ep *ep, const void *buf, size_t len, void *desc,
	fi_addr_t to, void *context)
{
	(void)ep;
	(void)buf;
	(void)desc;
	(void)context;
	return fake_call("send", ":%zu:%d", len, (int)to);
}

static ssize_t fake_tinject(
	struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to, uint64_t tag)
{
	(void)ep;
	(void)buf;
	return fake_call("tinject", ":%zu:%d:%d", len, (int)to, (int)tag);
}

static ssize_t fake_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
	(void)ep;
	(void)buf;
	return fake_call("inject", ":%zu:%d", len, (int)to);
}

static ssize_t fake_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	(void)ep;
	return fake_call("sendmsg", ":%zu:%d:%llx", msg->msg_iov->iov_len,
		(int)msg->addr, (unsigned long long)flags);
}

static ssize_t fake_tsendmsg(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	(void)ep;
	return fake_call("tsendmsg", ":%zu:%d:%d:%llx", msg->msg_iov->iov_len,
		(int)msg->addr, (int)msg->tag, (unsigned long long)flags);
}

static struct fi_ops_msg fake_msg_ops = { .size = sizeof(fake_msg_ops),
	.recv = fake_recv,
	.send = fake_send,
	.inject = fake_inject,
	.sendmsg = fake_sendmsg };
static struct fi_ops_tagged fake_tagged_ops = { .size = sizeof(fake_tagged_ops),
	.recv = fake_trecv,
	.send = fake_tsend,
	.inject = fake_tinject,
	.sendmsg = fake_tsendmsg };
static struct fid_ep fake_ep = { .fid = FAKE_FID(FI_CLASS_EP),
	.cm = &fake_cm_ops,
	.msg = &fake_msg_ops,
	.tagged = &fake_tagged_ops };
static struct fid_pep fake_pep = { .fid = FAKE_FID(FI_CLASS_PEP), .cm = &fake_cm_ops };

/* ---- a domain ---- */

static int fake_av_insert(struct fid_av *av, const void *addr, size_t count,
	fi_addr_t *ret_addr, uint64_t flags, void *context)
{
	int ret = fake_call("av_insert", ":%.4s:%zu", (const char *)addr, count);

	(void)av;
	(void)context;
	assert_int_equal(flags, 0);
	*ret_addr = 5;
	return ret ? (ret == 1 ? 0 : ret) : 1;
}

static struct fi_ops_av fake_av_ops = { .size = sizeof(fake_av_ops),
	.insert = fake_av_insert };
static struct fid_av fake_av = { FAKE_FID(FI_CLASS_AV), &fake_av_ops };
static struct fid_mr fake_mr = { FAKE_FID(FI_CLASS_MR), (void *)&fake, 99 };

static int fake_mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access,
	uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **ret_mr,
	void *context)
{
	(void)fid;
	(void)buf;
	(void)context;
	assert_int_equal(offset | flags, 0);
	FAKE_OPEN(fake_call("mr_reg", ":%zu:%llx:%llu", len, (unsigned long long)access,
			  (unsigned long long)key),
		&fake_mr, ret_mr);
}

static int fake_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
	struct fid_av **ret_av, void *context)
{
	(void)domain;
	(void)context;
	FAKE_OPEN(fake_call("av_open", ":%d", (int)attr->type), &fake_av, ret_av);
}

static int fake_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *context)
{
	(void)domain;
	(void)context;
	assert_int_equal(attr->format, FI_CQ_FORMAT_MSG);
	FAKE_OPEN(fake_call("cq_open", ":%zu:%d", attr->size, (int)attr->wait_obj),
		&fake_cq, ret_cq);
}

static int fake_endpoint(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, void *context)
{
	(void)domain;
	(void)info;
	(void)context;
	FAKE_OPEN(fake_call("endpoint", "%s", ""), &fake_ep, ret_ep);
}

static struct fi_ops_mr fake_mr_ops = { .size = sizeof(fake_mr_ops),
	.reg = fake_mr_reg };
static struct fi_ops_domain fake_domain_ops = { .size = sizeof(fake_domain_ops),
	.av_open = fake_av_open,
	.cq_open = fake_cq_open,
	.endpoint = fake_endpoint };
static struct fid_domain fake_domain = {
	.fid = FAKE_FID(FI_CLASS_DOMAIN), .ops = &fake_domain_ops, .mr = &fake_mr_ops
};

/* ---- a fabric ---- */

static int fake_domain_open(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, void *context)
{
	(void)fabric;
	(void)info;
	(void)context;
	FAKE_OPEN(fake_call("domain", "%s", ""), &fake_domain, ret_domain);
}

static int fake_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_pep **ret_pep, void *context)
{
	(void)fabric;
	(void)info;
	(void)context;
	FAKE_OPEN(fake_call("passive_ep", "%s", ""), &fake_pep, ret_pep);
}

static int fake_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
	struct fid_eq **ret_eq, void *context)
{
	(void)fabric;
	(void)context;
	FAKE_OPEN(fake_call("eq_open", ":%d", (int)attr->wait_obj), &fake_eq, ret_eq);
}

static struct fi_ops_fabric fake_fabric_ops = { .size = sizeof(fake_fabric_ops),
	.domain = fake_domain_open,
	.passive_ep = fake_passive_ep,
	.eq_open = fake_eq_open };
static struct fid_fabric fake_fabric = { .fid = FAKE_FID(FI_CLASS_FABRIC),
	.ops = &fake_fabric_ops };

/* In place of those of the library. */
int fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	(void)attr;
	(void)context;
	FAKE_OPEN(fake_call("fabric", "%s", ""), &fake_fabric, ret_fabric);
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info)
{
	int ret = fake_call("getinfo", ":%s:%llx:%llx", node ? node : "",
		(unsigned long long)flags, (unsigned long long)hints->caps);

	(void)version;
	(void)service;
	if (fake.look)
		fake.look(hints);
	*ret_info = NULL;
	if (ret)
		return ret;
	*ret_info = fi_dupinfo(fake.info);
	assert_non_null(*ret_info);
	return 0;
}

#endif
