/* SPDX-License-Identifier: BSD-2-Clause */
#include "testpeer.h"

/* Endpoints, which send and are bound; they post no receives. */

static uint64_t next_id = 1000;

static ssize_t ep_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest, void *context)
{
	return tp_post(fid, buf, len, dest, 0, 0, 0, context);
}

static ssize_t ep_tsend(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest, uint64_t tag, void *context)
{
	return tp_post(fid, buf, len, dest, tag, 0, FI_TAGGED, context);
}

static ssize_t ep_tsenddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	uint64_t data, fi_addr_t dest, uint64_t tag, void *context)
{
	return tp_post(
		fid, buf, len, dest, tag, data, FI_TAGGED | FI_REMOTE_CQ_DATA, context);
}

/* The one buffer, or none. */
static struct iovec one_of(const struct iovec *iov, size_t count)
{
	return count ? *iov : (struct iovec){ NULL, 0 };
}

static ssize_t ep_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct iovec iov = one_of(msg->msg_iov, msg->iov_count);

	if (msg->iov_count > 1)
		return -FI_EINVAL;
	return tp_post(fid, iov.iov_base, iov.iov_len, msg->addr, 0, msg->data, flags,
		msg->context);
}

static ssize_t ep_tsendmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct iovec iov = one_of(msg->msg_iov, msg->iov_count);

	if (msg->iov_count > 1)
		return -FI_EINVAL;
	return tp_post(fid, iov.iov_base, iov.iov_len, msg->addr, msg->tag, msg->data,
		flags | FI_TAGGED, msg->context);
}

/* P-09: receives are posted to the owner. */
static ssize_t no_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_trecv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src, uint64_t tag, uint64_t ignore, void *context)
{
	return -FI_ENOSYS;
}

struct fi_ops_msg tp_msg_ops = {
	.size = sizeof(tp_msg_ops),
	.recv = no_recv,
	.send = ep_send,
	.sendmsg = ep_sendmsg,
};

struct fi_ops_tagged tp_tagged_ops = {
	.size = sizeof(tp_tagged_ops),
	.recv = no_trecv,
	.send = ep_tsend,
	.sendmsg = ep_tsendmsg,
	.senddata = ep_tsenddata,
};

static int ep_getname(fid_t fid, void *addr, size_t *len)
{
	size_t room = *len;

	*len = sizeof(uint64_t);
	if (room < *len)
		return -FI_ETOOSMALL;
	memcpy(addr, &container_of(fid, struct tp_ep, fid.fid)->id, *len);
	return 0;
}

static struct fi_ops_cm cm_ops = { .size = sizeof(cm_ops), .getname = ep_getname };

#define BIND(member, object)                                                           \
	do {                                                                           \
		if (ep->member)                                                        \
			return -FI_EINVAL;                                             \
		ep->member = (object);                                                 \
		atomic_fetch_add(&ep->member->refs, 1);                                \
	} while (0)

static int ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct tp_ep *ep = container_of(fid, struct tp_ep, fid.fid);

	switch (bfid->fclass) {
	case FI_CLASS_CQ:
		if (flags & FI_TRANSMIT)
			BIND(tx_cq, container_of(bfid, struct tp_cq, fid.fid));
		if (flags & FI_RECV)
			BIND(rx_cq, container_of(bfid, struct tp_cq, fid.fid));
		ep->rx_selective |=
			(flags & FI_RECV) && (flags & FI_SELECTIVE_COMPLETION);
		ep->tx_selective |=
			(flags & FI_TRANSMIT) && (flags & FI_SELECTIVE_COMPLETION);
		return 0;
	case FI_CLASS_CNTR:
		if (flags & FI_SEND)
			BIND(tx_cntr, container_of(bfid, struct tp_cntr, fid.fid));
		if (flags & FI_RECV)
			BIND(rx_cntr, container_of(bfid, struct tp_cntr, fid.fid));
		return 0;
	case FI_CLASS_AV:
		BIND(av, container_of(bfid, struct tp_av, fid.fid));
		return 0;
	case FI_CLASS_SRX_CTX:
		BIND(srx, container_of(bfid, struct tp_srx, fid.fid));
		return 0;
	default:
		return -FI_EINVAL;
	}
}

static int enable(struct tp_ep *ep)
{
	int ret = -FI_ENOMEM;

	if (!ep->tx_cq || !ep->rx_cq || !ep->av || !ep->srx)
		return -FI_EOPBADSTATE;
	pthread_mutex_lock(&tp_lock);
	for (size_t i = 0; i < EP_ROOM && ret; i++) {
		if (tp_net[i])
			continue;
		tp_net[i] = ep;
		ret = 0;
	}
	pthread_mutex_unlock(&tp_lock);
	return ret;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	return command == FI_ENABLE ? enable(container_of(fid, struct tp_ep, fid.fid))
				    : -FI_ENOSYS;
}

#define UNBIND(member)                                                                 \
	do {                                                                           \
		if (ep->member)                                                        \
			atomic_fetch_sub(&ep->member->refs, 1);                        \
	} while (0)

static int ep_close(struct fid *fid)
{
	struct tp_ep *ep = container_of(fid, struct tp_ep, fid.fid);
	struct msg *msg;

	pthread_mutex_lock(&tp_lock);
	for (size_t i = 0; i < EP_ROOM; i++)
		if (tp_net[i] == ep)
			tp_net[i] = NULL;
	pthread_mutex_unlock(&tp_lock);
	while ((msg = tp_take(ep)))
		free(msg);
	UNBIND(tx_cq);
	UNBIND(rx_cq);
	UNBIND(tx_cntr);
	UNBIND(rx_cntr);
	UNBIND(av);
	UNBIND(srx);
	free(ep->late);
	free(ep);
	return 0;
}

static void fail_next(struct fid_ep *fid, int err)
{
	atomic_store(&container_of(fid, struct tp_ep, fid)->fail, err);
}

static int ep_ops_open(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	static struct peer_test_ops test_ops = { fail_next, tp_refused };

	if (strcmp(name, PEER_OPS) != 0)
		return -FI_ENOSYS;
	*ops = &test_ops;
	return 0;
}

static struct fi_ops ep_fid_ops = FID_OPS(ep_close, ep_bind, ep_control, ep_ops_open);
struct fi_ops_ep tp_ep_ops = { .size = sizeof(tp_ep_ops) };

int tp_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	void *context)
{
	struct tp_ep *ep = calloc(1, sizeof(*ep));

	if (!ep)
		return -FI_ENOMEM;
	ep->fid = (struct fid_ep){ { FI_CLASS_EP, context, &ep_fid_ops }, &tp_ep_ops,
		&cm_ops, &tp_msg_ops, NULL, &tp_tagged_ops };
	ep->tail = &ep->head;
	pthread_mutex_lock(&tp_lock);
	ep->id = next_id++;
	pthread_mutex_unlock(&tp_lock);
	*ret_ep = &ep->fid;
	return 0;
}
