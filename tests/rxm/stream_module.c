/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A loadable provider of connections: those of tcp, in front of whose posts it stands.
 * It refuses the posts that the test names (refused_posts.h). To a layer above it is a
 * provider of another library, whose protocol is none of streams: so each connection
 * has buffers of its own, and peers count credits. With TESTMSG_MR_LOCAL in the
 * environment the buffers of operations have to be registered; with TESTMSG_ONE_BUFFER
 * messages have one buffer.
 *
 * Objects are those of tcp, with other tables of functions. One thread at a time.
 */
#include "../refused_posts.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/providers/fi_prov.h>

__attribute__((visibility("default"))) struct posts testmsg_posts;
__attribute__((visibility("default"))) struct region_counts testmsg_regions;

/* The tables of tcp. */
static const struct fi_ops_fabric *tcp_fabric;
static const struct fi_ops_domain *tcp_domain;
static const struct fi_ops_mr *tcp_mr;
static const struct fi_ops *tcp_end, *tcp_region;

/* An endpoint that is enabled, and its tables; NULL: none. */
struct end {
	struct fid_ep *ep;
	const struct fi_ops_msg *msg;
	const struct fi_ops_rma *rma;
	unsigned int posted, sent; /* receives, and messages */
};

enum { ENDS = 64 };

static struct end ends[ENDS];

/* The entry of @ep, or a free one for NULL. */
static struct end *end_of(const struct fid_ep *ep)
{
	for (int i = 0; i < ENDS; i++)
		if (ends[i].ep == ep)
			return &ends[i];
	abort();
}

/* The other end of the connection of @end, in this process; NULL: not known. */
static struct end *other_of(const struct end *end)
{
	struct sockaddr_in peer = { 0 }, name;
	size_t len = sizeof(peer);

	if (fi_getpeer(end->ep, &peer, &len))
		return NULL;
	for (int i = 0; i < ENDS; i++) {
		len = sizeof(name);
		if (ends[i].ep && !fi_getname(&ends[i].ep->fid, &name, &len) &&
			name.sin_port == peer.sin_port)
			return &ends[i];
	}
	return NULL;
}

/* A message is sent. Has the other end a receive for it? */
static void count_sent(const struct fid_ep *ep)
{
	struct end *end = end_of(ep), *other = other_of(end);

	end->sent++;
	if (other)
		testmsg_posts.overruns += other->posted < end->sent;
}

static bool needs_descs(void)
{
	return getenv("TESTMSG_MR_LOCAL");
}

static bool takes_one_buffer(void)
{
	return getenv("TESTMSG_ONE_BUFFER");
}

/* Descriptors: what the regions cover, the last ones of them. */
static struct iovec covered[1 << 16];

static bool covers(const struct iovec *region, const struct iovec *iov)
{
	const uint8_t *at = iov->iov_base, *base = region ? region->iov_base : NULL;

	return base && at >= base && at + iov->iov_len <= base + region->iov_len;
}

/* Has each buffer the descriptor of a region with it, if that is needed? */
static bool described(const struct iovec *iov, void *const *desc, size_t count)
{
	for (size_t i = 0; needs_descs() && i < count; i++)
		if (iov[i].iov_len && (!desc || !covers(desc[i], &iov[i])))
			return false;
	return true;
}

static int region_close(struct fid *fid)
{
	testmsg_regions.open--;
	return tcp_region->close(fid);
}

/* Counts the region that tcp made, and gives it a descriptor. */
static int describe(int ret, const void *buf, size_t len, struct fid_mr *mr)
{
	struct iovec *region = &covered[testmsg_regions.made % (1 << 16)];
	static struct fi_ops ops;

	if (ret)
		return ret;
	testmsg_regions.made++;
	testmsg_regions.open++;
	tcp_region = mr->fid.ops;
	ops = *tcp_region;
	ops.close = region_close;
	mr->fid.ops = &ops;
	if (!needs_descs())
		return 0;
	*region = (struct iovec){ (void *)(uintptr_t)buf, len };
	mr->mem_desc = region;
	return 0;
}

static int region_reg(struct fid *fid, const void *buf, size_t len, uint64_t access,
	uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **ret_mr,
	void *context)
{
	int ret =
		tcp_mr->reg(fid, buf, len, access, offset, key, flags, ret_mr, context);

	return describe(ret, buf, len, *ret_mr);
}

static int region_regattr(struct fid *fid, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **ret_mr)
{
	int ret = tcp_mr->regattr(fid, attr, flags, ret_mr);

	return describe(ret, attr->mr_iov->iov_base, attr->mr_iov->iov_len, *ret_mr);
}

static struct fi_ops_mr region_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = region_reg,
	.regattr = region_regattr,
};

static ssize_t end_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	int err = posts_refused(&testmsg_posts, POST_SEND);

	if (!described(msg->msg_iov, msg->desc, msg->iov_count) ||
		(takes_one_buffer() && msg->iov_count > 1))
		return -FI_EINVAL;
	if (!err)
		err = (int)end_of(ep)->msg->sendmsg(ep, msg, flags);
	if (!err)
		count_sent(ep);
	return err;
}

static ssize_t end_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
	int err = posts_refused(&testmsg_posts, POST_INJECT);

	if (!err)
		err = (int)end_of(ep)->msg->inject(ep, buf, len, to);
	if (!err)
		count_sent(ep);
	return err;
}

static ssize_t end_recv(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t from, void *context)
{
	const struct iovec iov = { buf, len };
	int err = posts_refused(&testmsg_posts, POST_RECV);

	if (!described(&iov, &desc, 1))
		return -FI_EINVAL;
	if (!err)
		err = (int)end_of(ep)->msg->recv(ep, buf, len, desc, from, context);
	end_of(ep)->posted += !err;
	return err;
}

static ssize_t end_readmsg(
	struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	int err = posts_refused(&testmsg_posts, POST_READ);

	if (!described(msg->msg_iov, msg->desc, msg->iov_count))
		return -FI_EINVAL;
	return err ? err : end_of(ep)->rma->readmsg(ep, msg, flags);
}

static ssize_t end_writemsg(
	struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	int err = posts_refused(&testmsg_posts, POST_WRITE);

	if (!described(msg->msg_iov, msg->desc, msg->iov_count))
		return -FI_EINVAL;
	return err ? err : end_of(ep)->rma->writemsg(ep, msg, flags);
}

/* Calls that the tables lack end in a crash, which is noticed. */
static struct fi_ops_msg end_msg = {
	.size = sizeof(struct fi_ops_msg),
	.sendmsg = end_sendmsg,
	.inject = end_inject,
	.recv = end_recv,
};
static struct fi_ops_rma end_rma = {
	.size = sizeof(struct fi_ops_rma),
	.readmsg = end_readmsg,
	.writemsg = end_writemsg,
};

/* The endpoint gets its tables when it is enabled. */
static int end_control(struct fid *fid, int command, void *arg)
{
	struct fid_ep *ep = (struct fid_ep *)(void *)fid;
	int ret = tcp_end->control(fid, command, arg);

	if (ret || command != FI_ENABLE)
		return ret;
	*end_of(NULL) = (struct end){ .ep = ep, .msg = ep->msg, .rma = ep->rma };
	ep->msg = &end_msg;
	ep->rma = &end_rma;
	return 0;
}

static int end_close(struct fid *fid)
{
	for (int i = 0; i < ENDS; i++)
		if (ends[i].ep && &ends[i].ep->fid == fid)
			ends[i].ep = NULL;
	return tcp_end->close(fid);
}

static struct fi_info *for_tcp(const struct fi_info *from)
{
	struct fi_info *info = fi_dupinfo(from);

	if (!info)
		return NULL;
	info->ep_attr->type = FI_EP_MSG;
	info->ep_attr->protocol = FI_PROTO_UNSPEC;
	/* RMA operations may have more. */
	if (takes_one_buffer())
		info->tx_attr->iov_limit = 4;
	free(info->fabric_attr->prov_name);
	info->fabric_attr->prov_name = strdup("tcp");
	return info;
}

static int open_end(struct fid_domain *domain, struct fi_info *from,
	struct fid_ep **ret_ep, void *context)
{
	/* Another table of functions makes it foreign to the layer above. */
	static struct fi_ops_ep ops;
	static struct fi_ops fid_ops;
	struct fi_info *info = for_tcp(from);
	int ret =
		info ? tcp_domain->endpoint(domain, info, ret_ep, context) : -FI_ENOMEM;

	fi_freeinfo(info);
	if (ret)
		return ret;
	ops = *(*ret_ep)->ops;
	(*ret_ep)->ops = &ops;
	tcp_end = (*ret_ep)->fid.ops;
	fid_ops = *tcp_end;
	fid_ops.control = end_control;
	fid_ops.close = end_close;
	(*ret_ep)->fid.ops = &fid_ops;
	return 0;
}

static int no_av(struct fid_domain *domain, struct fi_av_attr *attr,
	struct fid_av **ret_av, void *context)
{
	return -FI_ENOSYS;
}

static int open_events(struct fid_fabric *fabric, struct fi_eq_attr *attr,
	struct fid_eq **ret_eq, void *context)
{
	return tcp_fabric->eq_open(fabric, attr, ret_eq, context);
}

static int open_domain(struct fid_fabric *fabric, struct fi_info *from,
	struct fid_domain **ret_domain, void *context)
{
	static struct fi_ops_domain ops;
	struct fi_info *info = for_tcp(from);
	int ret = info ? tcp_fabric->domain(fabric, info, ret_domain, context)
		       : -FI_ENOMEM;

	fi_freeinfo(info);
	if (ret)
		return ret;
	tcp_domain = (*ret_domain)->ops;
	ops = *tcp_domain;
	ops.endpoint = open_end;
	ops.av_open = no_av;
	(*ret_domain)->ops = &ops;
	tcp_mr = (*ret_domain)->mr;
	(*ret_domain)->mr = &region_ops;
	return 0;
}

static int open_listener(struct fid_fabric *fabric, struct fi_info *from,
	struct fid_pep **ret_pep, void *context)
{
	struct fi_info *info = for_tcp(from);
	int ret = info ? tcp_fabric->passive_ep(fabric, info, ret_pep, context)
		       : -FI_ENOMEM;

	fi_freeinfo(info);
	return ret;
}

static int open_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	static struct fi_ops_fabric ops;
	struct fi_fabric_attr copy = *attr;
	int ret;

	copy.prov_name = strdup("tcp");
	ret = fi_fabric(&copy, ret_fabric, context);
	free(copy.prov_name);
	if (ret)
		return ret;
	tcp_fabric = (*ret_fabric)->ops;
	ops = *tcp_fabric;
	ops.domain = open_domain;
	ops.passive_ep = open_listener;
	ops.eq_open = open_events;
	(*ret_fabric)->ops = &ops;
	return 0;
}

static int module_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	struct fi_info *asked;
	int ret;

	/* A layer above asks with all hints. */
	if (!hints || hints->ep_attr->type != FI_EP_MSG || hints->caps & FI_TAGGED)
		return -FI_ENODATA;
	asked = for_tcp(hints);
	if (!asked)
		return -FI_ENOMEM;
	ret = fi_getinfo(version, node, service, flags, asked, ret_info);
	fi_freeinfo(asked);
	for (struct fi_info *info = ret ? NULL : *ret_info; info; info = info->next) {
		free(info->fabric_attr->prov_name);
		info->fabric_attr->prov_name = NULL;
		info->ep_attr->protocol = FI_PROTO_RDMA_CM_IB_RC;
		if (takes_one_buffer())
			info->tx_attr->iov_limit = 1;
		if (needs_descs())
			info->domain_attr->mr_mode |= FI_MR_LOCAL;
	}
	return ret;
}

static struct fi_provider module = {
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(2, 0),
	.name = "testmsg",
	.getinfo = module_getinfo,
	.fabric = open_fabric,
};

struct fi_provider *fi_prov_ini(void);

FI_EXT_INI
{
	return &module;
}
