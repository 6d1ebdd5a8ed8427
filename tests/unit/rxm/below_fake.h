/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_RXM_BELOW_FAKE_H
#define TESTS_UNIT_RXM_BELOW_FAKE_H

/*
 * A provider of connections that the test plays. It keeps what is posted (fake.posts),
 * and a post ends, a packet arrives and a connection comes up when the test says so. It
 * is none of this library's. One thread.
 */
#include "below_state.h"

static int fake_close(struct fid *fid)
{
	(void)fid;
	fake.open--;
	return 0;
}

static int fake_bind(struct fid *fid, struct fid *object, uint64_t flags)
{
	(void)fid;
	(void)object;
	(void)flags;
	return 0;
}

static int fake_control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)command;
	(void)arg;
	return -FI_ENOSYS;
}

static struct fi_ops fake_ops = { sizeof(struct fi_ops), fake_close, fake_bind,
	fake_control, NULL };

/* ---- regions ---- */

static int fake_mr_close(struct fid *fid)
{
	fake.open--;
	free(wf_container_of(fid, struct fake_mr, fid.fid));
	return 0;
}

static struct fi_ops fake_mr_fid_ops = { sizeof(struct fi_ops), fake_mr_close,
	fake_bind, fake_control, NULL };

static int fake_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
	struct fid_mr **ret_mr)
{
	struct fake_mr *mr;

	(void)fid;
	(void)flags;
	if (fake.mr_errs) {
		fake.mr_errs--;
		fake.last_key = attr->requested_key;
		return fake.mr_err;
	}
	mr = calloc(1, sizeof(*mr));
	assert_non_null(mr);
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.ops = &fake_mr_fid_ops;
	mr->fid.mem_desc = mr;
	mr->fid.key = fake.says.mr_mode & FI_MR_PROV_KEY ? 9000 + fake.regions
							 : attr->requested_key;
	mr->iov = attr->mr_iov[0];
	mr->access = attr->access;
	fake.access = attr->access;
	fake.last_key = attr->requested_key;
	fake.regions++;
	fake.open++;
	*ret_mr = &mr->fid;
	return 0;
}

static struct fi_ops_mr fake_mr_ops = { .size = sizeof(struct fi_ops_mr),
	.regattr = fake_regattr };

/* Each buffer is in a region for @access, if that is needed. */
static inline void fake_check(
	const struct iovec *iov, void *const *desc, size_t count, uint64_t access)
{
	for (size_t i = 0; fake.says.mr_mode & FI_MR_LOCAL && i < count; i++) {
		const struct fake_mr *mr;
		const uint8_t *at = iov[i].iov_base, *base;

		if (!iov[i].iov_len)
			continue;
		assert_non_null(desc);
		mr = desc[i];
		assert_non_null(mr);
		base = mr->iov.iov_base;
		assert_true(
			at >= base && at + iov[i].iov_len <= base + mr->iov.iov_len);
		assert_true(mr->access & access);
	}
}

/* ---- endpoints ---- */

static inline struct fake_ep *fake_ep_of(struct fid_ep *ep)
{
	return wf_container_of(ep, struct fake_ep, fid);
}

/* 0, or what the post of this @kind returns. */
static ssize_t fake_refuses(enum fake_kind kind)
{
	fake.refused[kind] += fake.refuse[kind] != 0;
	if (fake.refuse[kind])
		return fake.refuse[kind];
	if (fake.refuse_later[kind] && !fake.refuse_from[kind])
		return fake.refuse_later[kind];
	fake.refuse_from[kind] -= fake.refuse_from[kind] != 0;
	return 0;
}

static struct fake_post *fake_post(enum fake_kind kind, struct fid_ep *ep,
	const struct iovec *iov, size_t count, uint64_t flags, void *context)
{
	struct fake_post *post = &fake.posts[fake.post_count];

	assert_true(fake.post_count < FAKE_POSTS && count <= WF_ARRAY_SIZE(post->iov));
	fake.post_count++;
	memset(post, 0, sizeof(*post));
	post->kind = kind;
	post->ep = ep;
	post->len = wf_iov_len(iov, count);
	post->count = count;
	memcpy(post->iov, iov, count * sizeof(*iov));
	if (kind != FAKE_READ && post->len <= FAKE_BYTES)
		(void)wf_iov_gather(post->bytes, iov, count);
	post->flags = flags;
	post->context = context;
	return post;
}

static ssize_t fake_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t from, void *context)
{
	struct fake_ep *ep = fake_ep_of(fid);
	const struct iovec iov = { buf, len };
	unsigned int at = ep->posted % FAKE_QUEUE;
	ssize_t ret;

	(void)from;
	fake_check(&iov, &desc, 1, FI_RECV);
	ret = fake_refuses(FAKE_RECV);
	if (ret)
		return ret;
	assert_true(ep->posted - ep->used < FAKE_QUEUE);
	ep->recv[at] = iov;
	ep->recv_context[at] = context;
	ep->posted++;
	return 0;
}

/* The last one gets the next tagged message. */
static ssize_t fake_trecv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
	struct fake_ep *ep = fake_ep_of(fid);

	(void)len;
	(void)desc;
	(void)from;
	(void)tag;
	assert_int_equal(ignore, UINT64_MAX);
	ep->tagged++;
	ep->tagged_context = context;
	ep->tagged_buf = buf;
	return 0;
}

static ssize_t fake_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	ssize_t ret;

	assert_true(msg->iov_count <= fake.says.iov_limit);
	fake_check(msg->msg_iov, msg->desc, msg->iov_count, FI_SEND);
	ret = fake_refuses(FAKE_SEND);
	if (ret)
		return ret;
	fake_post(FAKE_SEND, ep, msg->msg_iov, msg->iov_count, flags, msg->context);
	return 0;
}

static ssize_t fake_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };
	ssize_t ret;

	(void)to;
	assert_true(len <= fake.says.inject_size);
	ret = fake_refuses(FAKE_INJECT);
	if (ret)
		return ret;
	fake_post(FAKE_INJECT, ep, &iov, 1, 0, NULL)->ended = true;
	return 0;
}

static ssize_t fake_rma(enum fake_kind kind, struct fid_ep *ep,
	const struct fi_msg_rma *msg, uint64_t flags)
{
	struct fake_post *post;
	ssize_t ret;

	fake_check(msg->msg_iov, msg->desc, msg->iov_count,
		kind == FAKE_READ ? FI_READ : FI_WRITE);
	ret = fake_refuses(kind);
	if (ret)
		return ret;
	post = fake_post(kind, ep, msg->msg_iov, msg->iov_count, flags, msg->context);
	assert_true(msg->rma_iov_count <= WF_ARRAY_SIZE(post->rma));
	memcpy(post->rma, msg->rma_iov, msg->rma_iov_count * sizeof(post->rma[0]));
	post->rma_count = msg->rma_iov_count;
	post->data = msg->data;
	return 0;
}

static ssize_t fake_readmsg(
	struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return fake_rma(FAKE_READ, ep, msg, flags);
}

static ssize_t fake_writemsg(
	struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return fake_rma(FAKE_WRITE, ep, msg, flags);
}

/* Calls that the tables lack end in a crash, which is noticed. */
static struct fi_ops_msg fake_msg_ops = { .size = sizeof(struct fi_ops_msg),
	.recv = fake_recv,
	.sendmsg = fake_sendmsg,
	.inject = fake_inject };
static struct fi_ops_tagged fake_tagged_ops = { .size = sizeof(struct fi_ops_tagged),
	.recv = fake_trecv };
static struct fi_ops_rma fake_rma_ops = { .size = sizeof(struct fi_ops_rma),
	.readmsg = fake_readmsg,
	.writemsg = fake_writemsg };

static inline void fake_keep_hello(const void *data, size_t len)
{
	assert_true(len <= sizeof(fake.hello));
	if (len)
		memcpy(fake.hello, data, len);
	fake.hello_len = len;
}

static int fake_connect(
	struct fid_ep *ep, const void *addr, const void *data, size_t len)
{
	memcpy(&fake_ep_of(ep)->dest, addr, sizeof(struct sockaddr_in));
	fake_keep_hello(data, len);
	fake.connects++;
	return fake.connect_err;
}

static int fake_accept(struct fid_ep *ep, const void *data, size_t len)
{
	assert_non_null(fake_ep_of(ep)->handle);
	fake_keep_hello(data, len);
	fake.accepts++;
	return 0;
}

static int fake_getname(struct fid *fid, void *addr, size_t *len)
{
	struct sockaddr_in name = fake_name(FAKE_PORT);

	(void)fid;
	memcpy(addr, &name, WF_MIN(*len, sizeof(name)));
	*len = sizeof(name);
	return 0;
}

static struct fi_ops_cm fake_cm_ops = { .size = sizeof(struct fi_ops_cm),
	.getname = fake_getname,
	.connect = fake_connect,
	.accept = fake_accept };

/* What was posted to it does not end any more. */
static int fake_ep_close(struct fid *fid)
{
	struct fake_ep *ep = wf_container_of(fid, struct fake_ep, fid.fid);

	for (unsigned int i = 0; i < fake.post_count; i++)
		if (fake.posts[i].ep == &ep->fid)
			fake.posts[i].ended = true;
	ep->open = false;
	fake.open--;
	return 0;
}

static int fake_ep_control(struct fid *fid, int command, void *arg)
{
	(void)arg;
	assert_int_equal(command, FI_ENABLE);
	wf_container_of(fid, struct fake_ep, fid.fid)->enabled = true;
	return 0;
}

/* Everything that ends comes to the queue. */
static int fake_ep_bind(struct fid *fid, struct fid *object, uint64_t flags)
{
	assert_false(wf_container_of(fid, struct fake_ep, fid.fid)->enabled);
	assert_int_equal(
		flags, object->fclass == FI_CLASS_CQ ? FI_TRANSMIT | FI_RECV : 0);
	return 0;
}

static struct fi_ops fake_ep_fid_ops = { sizeof(struct fi_ops), fake_ep_close,
	fake_ep_bind, fake_ep_control, NULL };
static struct fi_ops_ep fake_ep_ops = { .size = sizeof(struct fi_ops_ep) };

static int fake_make_ep(struct fid_ep **ret_ep, struct fid *handle)
{
	struct fake_ep *ep = fake.eps;

	while (ep->open)
		ep++;
	assert_true(ep < fake.eps + FAKE_EPS);
	memset(ep, 0, sizeof(*ep));
	ep->open = true;
	ep->handle = handle;
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.ops = &fake_ep_fid_ops;
	ep->fid.ops = &fake_ep_ops;
	ep->fid.cm = &fake_cm_ops;
	ep->fid.msg = &fake_msg_ops;
	ep->fid.rma = &fake_rma_ops;
	ep->fid.tagged = &fake_tagged_ops;
	fake.open++;
	*ret_ep = &ep->fid;
	return 0;
}

static int fake_endpoint(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, void *context)
{
	(void)domain;
	(void)context;
	fake_make_ep(&fake.last, info->handle);
	*ret_ep = fake.last;
	fake.dest_len = info->dest_addrlen;
	fake.tx_size = info->tx_attr->size;
	fake.rx_size = info->rx_attr->size;
	return 0;
}

static int fake_srx(struct fid_domain *domain, struct fi_rx_attr *attr,
	struct fid_ep **ret_ep, void *context)
{
	(void)domain;
	(void)attr;
	(void)context;
	return fake.says.srx ? fake_make_ep(ret_ep, NULL) : -FI_ENOSYS;
}

/* ---- queues ---- */

static ssize_t fake_cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	struct fi_cq_tagged_entry *to = buf;
	size_t n = 0;

	(void)cq;
	while (n < count && fake.done_got != fake.done_put) {
		const struct fake_done *done = &fake.done[fake.done_got % FAKE_QUEUE];

		if (done->err)
			return n ? (ssize_t)n : -FI_EAVAIL;
		to[n++] = done->entry;
		fake.done_got++;
	}
	return n ? (ssize_t)n : -FI_EAGAIN;
}

static ssize_t fake_cq_readerr(
	struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
	const struct fake_done *done = &fake.done[fake.done_got % FAKE_QUEUE];

	(void)cq;
	(void)flags;
	if (fake.done_got == fake.done_put || !done->err)
		return -FI_EAGAIN;
	fake.done_got++;
	*entry = (struct fi_cq_err_entry){ .op_context = done->entry.op_context,
		.flags = done->entry.flags,
		.len = done->entry.len,
		/* A provider may name no error. */
		.err = done->err < 0 ? 0 : done->err };
	return 1;
}

static struct fi_ops_cq fake_cq_ops = { .size = sizeof(struct fi_ops_cq),
	.read = fake_cq_read,
	.readerr = fake_cq_readerr };
static struct fid_cq fake_cq = { .fid = { FI_CLASS_CQ, NULL, &fake_ops },
	.ops = &fake_cq_ops };

static int fake_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *context)
{
	(void)domain;
	(void)context;
	if (attr->wait_obj != FI_WAIT_NONE)
		return -FI_ENOSYS;
	fake.open++;
	*ret_cq = &fake_cq;
	return 0;
}

static ssize_t fake_eq_read(
	struct fid_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	const struct fake_event *at = &fake.events[fake.event_got % 32];
	const struct fi_eq_cm_entry entry = { .fid = at->fid, .info = at->info };

	(void)eq;
	(void)flags;
	if (fake.event_got == fake.event_put)
		return -FI_EAGAIN;
	if (at->err)
		return -FI_EAVAIL;
	fake.event_got++;
	assert_true(len >= sizeof(entry) + at->len);
	*event = at->event;
	memcpy(buf, &entry, sizeof(entry));
	memcpy((uint8_t *)buf + sizeof(entry), at->data, at->len);
	return (ssize_t)(sizeof(entry) + at->len);
}

static ssize_t fake_eq_readerr(
	struct fid_eq *eq, struct fi_eq_err_entry *entry, uint64_t flags)
{
	const struct fake_event *at = &fake.events[fake.event_got % 32];

	(void)eq;
	(void)flags;
	if (fake.event_got == fake.event_put || !at->err)
		return -FI_EAGAIN;
	fake.event_got++;
	assert_true(entry->err_data_size >= at->len);
	memcpy(entry->err_data, at->data, at->len);
	entry->err_data_size = at->len;
	entry->fid = at->fid;
	entry->err = at->err;
	return sizeof(*entry);
}

static struct fi_ops_eq fake_eq_ops = { .size = sizeof(struct fi_ops_eq),
	.read = fake_eq_read,
	.readerr = fake_eq_readerr };
static struct fid_eq fake_eq = { .fid = { FI_CLASS_EQ, NULL, &fake_ops },
	.ops = &fake_eq_ops };

static int fake_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
	struct fid_eq **ret_eq, void *context)
{
	(void)fabric;
	(void)context;
	if (attr->wait_obj != FI_WAIT_NONE)
		return -FI_ENOSYS;
	fake.open++;
	*ret_eq = &fake_eq;
	return 0;
}

/* ---- the listener, the domain and the fabric ---- */

static int fake_listen(struct fid_pep *pep)
{
	(void)pep;
	fake.listens++;
	return 0;
}

static int fake_reject(
	struct fid_pep *pep, struct fid *handle, const void *data, size_t len)
{
	(void)pep;
	(void)handle;
	fake_keep_hello(data, len);
	fake.rejects++;
	return 0;
}

static struct fi_ops_cm fake_pep_cm_ops = { .size = sizeof(struct fi_ops_cm),
	.getname = fake_getname,
	.listen = fake_listen,
	.reject = fake_reject };
static struct fid_pep fake_pep = { .fid = { FI_CLASS_PEP, NULL, &fake_ops },
	.cm = &fake_pep_cm_ops };

static int fake_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_pep **ret_pep, void *context)
{
	(void)fabric;
	(void)info;
	(void)context;
	fake.open++;
	*ret_pep = &fake_pep;
	return 0;
}

static struct fi_ops_domain fake_domain_ops = { .size = sizeof(struct fi_ops_domain),
	.cq_open = fake_cq_open,
	.endpoint = fake_endpoint,
	.srx_ctx = fake_srx };
static struct fid_domain fake_domain = { .fid = { FI_CLASS_DOMAIN, NULL, &fake_ops },
	.ops = &fake_domain_ops,
	.mr = &fake_mr_ops };

static int fake_domain_open(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, void *context)
{
	(void)fabric;
	(void)context;
	fake.open++;
	fake.domain_caps = info->caps;
	fake.tx_caps = info->tx_attr->caps;
	fake.rx_caps = info->rx_attr->caps;
	fake.domain_mr_mode = info->domain_attr->mr_mode;
	*ret_domain = &fake_domain;
	return 0;
}

static int fake_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	(void)fabric;
	(void)fids;
	(void)count;
	return 0;
}

static struct fi_ops_fabric fake_fabric_ops = { .size = sizeof(struct fi_ops_fabric),
	.domain = fake_domain_open,
	.passive_ep = fake_passive_ep,
	.eq_open = fake_eq_open,
	.trywait = fake_trywait };
static struct fid_fabric fake_fabric = { .fid = { FI_CLASS_FABRIC, NULL, &fake_ops },
	.ops = &fake_fabric_ops };

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info);
int __wrap_fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context);

int __wrap_fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	(void)attr;
	(void)context;
	fake.open++;
	*ret_fabric = &fake_fabric;
	return 0;
}

static inline struct fi_info *fake_info(void)
{
	struct sockaddr_in name = fake_name(0);
	struct fi_info *info = fi_allocinfo();

	assert_non_null(info);
	info->caps = fake.says.caps;
	info->mode = fake.says.mode;
	info->tx_attr->caps = info->rx_attr->caps = fake.says.caps;
	info->addr_format = fake.says.addr_format;
	info->ep_attr->type = FI_EP_MSG;
	info->ep_attr->protocol = FI_PROTO_RDMA_CM_IB_RC;
	info->ep_attr->max_msg_size = fake.says.max_msg_size;
	info->tx_attr->inject_size = fake.says.inject_size;
	info->tx_attr->iov_limit = fake.says.iov_limit;
	info->tx_attr->rma_iov_limit = fake.says.rma_iov_limit;
	info->tx_attr->size = info->rx_attr->size = 64;
	info->domain_attr->mr_mode = fake.says.mr_mode;
	info->domain_attr->mr_key_size = fake.says.key_size;
	info->domain_attr->cq_data_size = 8;
	info->domain_attr->mr_iov_limit = 1;
	info->domain_attr->name = fake.says.domain ? strdup(fake.says.domain) : NULL;
	info->fabric_attr->name = strdup("played");
	info->fabric_attr->prov_name = strdup("played");
	info->src_addr = calloc(1, sizeof(name));
	assert_non_null(info->src_addr);
	memcpy(info->src_addr, &name, sizeof(name));
	info->src_addrlen = sizeof(name);
	return info;
}

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	const char *name = hints->fabric_attr->prov_name;

	(void)node;
	(void)service;
	(void)flags;
	if ((name && strcmp(name, "played") != 0) ||
		(hints->caps & FI_TAGGED && !fake.says.tagged) ||
		(hints->tx_attr->op_flags & FI_DELIVERY_COMPLETE &&
			!fake.says.delivery))
		return -FI_ENODATA;
	*ret_info = fake_info();
	(*ret_info)->fabric_attr->api_version = version;
	return 0;
}

/* ---- what happens ---- */

/* A connection event. The fid of a request is the listener's. */
static inline void fake_event(
	uint32_t event, struct fid_ep *ep, const void *data, size_t len)
{
	struct fake_event *at = &fake.events[fake.event_put++ % 32];

	memset(at, 0, sizeof(*at));
	at->event = event;
	at->fid = ep ? &ep->fid : NULL;
	at->len = len;
	if (len)
		memcpy(at->data, data, len);
}

/* An error of the connection of @ep. */
static inline void fake_event_error(
	struct fid_ep *ep, int err, const void *data, size_t len)
{
	fake_event(0, ep, data, len);
	fake.events[(fake.event_put - 1) % 32].err = err;
}

static inline void fake_put_done(void *context, uint64_t flags, size_t len, int err)
{
	fake.done[fake.done_put++ % FAKE_QUEUE] = (struct fake_done){
		{ .op_context = context, .flags = flags, .len = len }, err
	};
}

/* The post number @i ends, with 0 or a positive fi_errno. */
static inline void fake_end(unsigned int i, int err)
{
	assert_true(i < fake.post_count && !fake.posts[i].ended);
	fake.posts[i].ended = true;
	fake_put_done(fake.posts[i].context, 0, 0, err);
}

static inline void fake_complete_all(void)
{
	for (unsigned int i = 0; i < fake.post_count; i++)
		if (!fake.posts[i].ended)
			fake_end(i, 0);
}

/* A packet arrives in the next buffer of @ep. */
static inline void fake_arrives(struct fid_ep *fid, const void *bytes, size_t len)
{
	struct fake_ep *ep = fake_ep_of(fid);
	unsigned int at = ep->used++ % FAKE_QUEUE;

	assert_true(ep->used <= ep->posted);
	assert_true(len <= ep->recv[at].iov_len);
	memcpy(ep->recv[at].iov_base, bytes, len);
	fake_put_done(ep->recv_context[at], FI_MSG | FI_RECV, len, 0);
}

#endif
