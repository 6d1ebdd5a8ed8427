/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_OBJECTS_LOWER_FAKE_H
#define TESTS_UNIT_OBJECTS_LOWER_FAKE_H

/*
 * A simulated provider below, of another library: it uses the public interface only. It
 * writes each call into a trace, lets the call fail that the test selects, and counts
 * its open objects. fi_fabric and the log replace those of the library.
 */

#include "srx_fixture.h"

#include <stdio.h>

/* An object of the provider below. */
struct lower_object {
	union {
		struct fid fid;
		struct fid_fabric fabric;
		struct fid_domain domain;
		struct fid_ep ep;
		struct fid_cq cq;
		struct fid_cntr cntr;
		struct fid_mr mr;
	};
	const char *name;
};

static struct {
	char trace[1024];   /* each call, and "-name" for each close */
	unsigned int calls; /* number of calls, without those that close */
	/* Number of the call that fails, counted from 1; 0: none. */
	unsigned int failed;
	unsigned int opened; /* number of open objects */
	unsigned int bound;  /* number of objects that were bound */
	unsigned int lines;  /* number of lines in the log */
	char line[256];      /* the last line */
	struct fi_info info; /* info of the last fi_domain or fi_endpoint */
	struct fi_cq_attr cq_attr;
	struct fi_mr_attr mr_attr;
	size_t atomic_count; /* result of fi_query_atomic */
	unsigned int reads;  /* number of reads of a queue */
	struct fid_ep *ep;   /* result of fi_endpoint; NULL: an endpoint of its own */
	bool no_fd;          /* Its queues have no descriptor. */
} lower;

int fi_log_enabled(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys)
{
	(void)prov;
	(void)level;
	(void)subsys;
	return level == FI_LOG_WARN;
}

void fi_log(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *fmt, ...)
{
	va_list args;

	(void)prov;
	(void)level;
	(void)subsys;
	(void)func;
	(void)line;
	va_start(args, fmt);
	(void)vsnprintf(lower.line, sizeof(lower.line), fmt, args);
	va_end(args);
	lower.lines++;
}

static void lower_trace(const char *sign, const char *name)
{
	size_t len = strlen(lower.trace);

	(void)snprintf(lower.trace + len, sizeof(lower.trace) - len, "%s%s%s",
		len ? " " : "", sign, name);
}

/* One call of the provider below. */
static int lower_step(const char *name)
{
	lower_trace("", name);
	return ++lower.calls == lower.failed ? -FI_EIO : 0;
}

static int lower_close(struct fid *fid)
{
	struct lower_object *object = wf_container_of(fid, struct lower_object, fid);

	lower_trace("-", object->name);
	lower.opened--;
	free(object);
	return 0;
}

static int lower_bind(struct fid *fid, struct fid *object, uint64_t flags)
{
	int ret = lower_step(object->fclass == FI_CLASS_AV   ? "bind:av"
			     : object->fclass == FI_CLASS_EQ ? "bind:eq"
							     : "bind");

	(void)fid;
	(void)flags;
	lower.bound += !ret;
	return ret;
}

static int lower_control(struct fid *fid, int command, void *arg)
{
	if (command == FI_GETWAIT) {
		*(int *)arg = -1;
		return 0;
	}
	assert_int_equal(command, FI_ENABLE);
	(void)fid;
	return lower_step("enable");
}

static struct fi_ops lower_fid_ops = {
	.size = sizeof(lower_fid_ops),
	.close = lower_close,
	.bind = lower_bind,
	.control = lower_control,
};

static struct lower_object *lower_new(const char *name, size_t fclass, void *context)
{
	struct lower_object *object = calloc(1, sizeof(*object));

	assert_non_null(object);
	object->fid.fclass = fclass;
	object->fid.context = context;
	object->fid.ops = &lower_fid_ops;
	object->name = name;
	lower.opened++;
	return object;
}

static int lower_setopt(
	struct fid *fid, int level, int name, const void *value, size_t len)
{
	(void)fid;
	(void)value;
	assert_int_equal(level, FI_OPT_ENDPOINT);
	assert_int_equal(len, sizeof(size_t));
	return lower_step(name == FI_OPT_INJECT_MSG_SIZE ? "inject_size" : "msg_size");
}

static struct fi_ops_ep lower_ep_ops = {
	.size = sizeof(lower_ep_ops),
	.setopt = lower_setopt,
};

static ssize_t lower_cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	(void)cq;
	(void)buf;
	assert_int_equal(count, 0);
	lower.reads++;
	return -FI_EAGAIN;
}

static struct fi_ops_cq lower_cq_ops = {
	.size = sizeof(lower_cq_ops),
	.read = lower_cq_read,
};

static int lower_endpoint(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, void *context)
{
	int ret = lower_step("ep");

	(void)domain;
	if (ret)
		return ret;
	*ret_ep = lower.ep;
	if (lower.ep)
		return 0;
	lower.info = *info;
	*ret_ep = &lower_new("ep", FI_CLASS_EP, context)->ep;
	(*ret_ep)->ops = &lower_ep_ops;
	return 0;
}

static int lower_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *context)
{
	int ret = lower_step("cq");

	(void)domain;
	assert_true(attr->flags & FI_PEER);
	lower.cq_attr = *attr;
	if (!ret && lower.no_fd && attr->wait_obj == FI_WAIT_FD)
		ret = -FI_ENOSYS;
	if (ret)
		return ret;
	*ret_cq = &lower_new("cq", FI_CLASS_CQ, context)->cq;
	(*ret_cq)->ops = &lower_cq_ops;
	return 0;
}

static int lower_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
	struct fid_cntr **ret_cntr, void *context)
{
	int ret = lower_step("cntr");

	(void)domain;
	assert_true(attr->flags & FI_PEER);
	if (ret)
		return ret;
	*ret_cntr = &lower_new("cntr", FI_CLASS_CNTR, context)->cntr;
	return 0;
}

static int lower_no_message(struct fi_peer_rx_entry *entry)
{
	(void)entry;
	return -FI_ENOSYS;
}

static struct fi_ops_srx_peer lower_srx_ops = {
	.size = sizeof(lower_srx_ops),
	.start_msg = lower_no_message,
	.start_tag = lower_no_message,
	.discard_msg = lower_no_message,
	.discard_tag = lower_no_message,
};

static int lower_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr,
	struct fid_ep **ret_srx, void *context)
{
	struct fi_peer_srx_context *peer = context;
	int ret = lower_step("srx");

	(void)domain;
	assert_true(attr->op_flags & FI_PEER);
	if (ret)
		return ret;
	peer->srx->peer_ops = &lower_srx_ops;
	*ret_srx = &lower_new("srx", FI_CLASS_SRX_CTX, NULL)->ep;
	return 0;
}

static int lower_query_atomic(struct fid_domain *domain, enum fi_datatype datatype,
	enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags)
{
	(void)domain;
	(void)datatype;
	(void)op;
	(void)flags;
	attr->count = lower.atomic_count--;
	attr->size = 8;
	return lower_step("query");
}

static struct fi_ops_domain lower_domain_ops = {
	.size = sizeof(lower_domain_ops),
	.endpoint = lower_endpoint,
	.cq_open = lower_cq_open,
	.cntr_open = lower_cntr_open,
	.srx_ctx = lower_srx_ctx,
	.query_atomic = lower_query_atomic,
};

static int lower_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
	struct fid_mr **ret_mr)
{
	int ret = lower_step("mr");

	(void)fid;
	(void)flags;
	lower.mr_attr = *attr;
	if (ret)
		return ret;
	*ret_mr = &lower_new("mr", FI_CLASS_MR, NULL)->mr;
	(*ret_mr)->key = attr->requested_key;
	return 0;
}

static struct fi_ops_mr lower_mr_ops = {
	.size = sizeof(lower_mr_ops),
	.regattr = lower_regattr,
};

static int lower_domain(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, void *context)
{
	int ret = lower_step("domain");

	(void)fabric;
	if (ret)
		return ret;
	lower.info = *info;
	*ret_domain = &lower_new("domain", FI_CLASS_DOMAIN, context)->domain;
	(*ret_domain)->ops = &lower_domain_ops;
	(*ret_domain)->mr = &lower_mr_ops;
	return 0;
}

static int lower_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	(void)fabric;
	(void)fids;
	assert_int_equal(count, 1);
	return lower_step("trywait") ? -FI_EAGAIN : 0;
}

static struct fi_ops_fabric lower_fabric_ops = {
	.size = sizeof(lower_fabric_ops),
	.domain = lower_domain,
	.trywait = lower_trywait,
};

int fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	int ret = lower_step("fabric");

	(void)attr;
	if (ret)
		return ret;
	*ret_fabric = &lower_new("fabric", FI_CLASS_FABRIC, context)->fabric;
	(*ret_fabric)->ops = &lower_fabric_ops;
	return 0;
}

#endif
