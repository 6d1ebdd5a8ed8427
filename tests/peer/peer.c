/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>

#include "layout.h"
#include "peer.h"

/*
 * A provider as somebody else would write it: it moves messages between endpoints of
 * one process and can do so only as a peer, for an owner of CQ, counter and receive
 * context. Nothing but the public headers. An endpoint's address is a number of 8
 * bytes.
 *
 * @net_lock guards all endpoints' inboxes and the AVs; nobody else is called under it.
 */

#define EXPORTED __attribute__((visibility("default")))
#define container_of(ptr, type, member)                                                \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

enum { AV_ROOM = 64, EP_ROOM = 64 };

struct tp_cq {
	struct fid_cq fid;
	struct fid_peer_cq *owner;
	atomic_int refs;
};

struct tp_cntr {
	struct fid_cntr fid;
	struct fid_peer_cntr *owner;
	atomic_int refs;
};

struct tp_av {
	struct fid_av fid;
	uint64_t ids[AV_ROOM];
	fi_addr_t known_as[AV_ROOM]; /* to the owner */
	size_t count;
	atomic_int refs;
};

struct tp_srx {
	struct fid_ep fid;
	rx_ctx *owner;
	atomic_int refs;
};

struct tp_ep;

struct msg {
	struct msg *next;
	struct tp_ep *to;
	uint64_t from, tag, data, flags;
	size_t len;
	char buf[];
};

struct tp_ep {
	struct fid_ep fid;
	uint64_t id;
	struct tp_cq *tx_cq, *rx_cq;
	bool rx_selective, tx_selective;
	struct tp_cntr *tx_cntr, *rx_cntr;
	struct tp_av *av;
	struct tp_srx *srx;
	struct msg *head, **tail;
	atomic_int fail;
};

static pthread_mutex_t net_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tp_ep *net[EP_ROOM];
static uint64_t next_id = 1000;
static atomic_ulong refused;

static int enosys_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	return -FI_ENOSYS;
}

static int enosys_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

static int enosys_open(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return -FI_ENOSYS;
}

#define FID_OPS(close_fn, bind_fn, control_fn, open_fn)                                \
	{                                                                              \
		.size = sizeof(struct fi_ops), .close = (close_fn), .bind = (bind_fn), \
		.control = (control_fn), .ops_open = (open_fn),                        \
	}

/* ---- results ---- */

static void report(struct tp_cq *cq, ssize_t ret)
{
	if (ret < 0)
		atomic_fetch_add(&refused, 1);
}

static void succeed(struct tp_ep *ep, rx_entry *entry, const struct msg *msg,
	uint64_t flags, fi_addr_t src)
{
	struct fid_peer_cq *cq = ep->rx_cq->owner;

	if (ep->rx_cntr)
		ep->rx_cntr->owner->owner_ops->inc(ep->rx_cntr->owner);
	if (ep->rx_selective && !(entry->flags & FI_COMPLETION))
		return;
	report(ep->rx_cq, cq->owner_ops->write(cq, entry->context, flags, msg->len,
				  entry->count ? entry->iov[0].iov_base : NULL,
				  msg->data, entry->tag, src));
}

static void fail(struct tp_ep *ep, rx_entry *entry, const struct msg *msg,
	uint64_t flags, fi_addr_t src, int err, size_t done)
{
	struct fid_peer_cq *cq = ep->rx_cq->owner;
	char why[] = "test";
	struct fi_cq_err_entry whole = {
		.op_context = entry->context,
		.flags = flags,
		.len = done,
		.data = msg->data,
		.tag = entry->tag,
		.olen = msg->len - done,
		.err = err,
		.prov_errno = err,
		.err_data = why,
		.err_data_size = sizeof(why),
		.src_addr = src,
	};
	/* Providers of before 1.20 know no src_addr: nothing can be read there. */
	size_t size = LAYOUT < 120 ? offsetof(struct fi_cq_err_entry, src_addr)
				   : sizeof(whole);
	struct fi_cq_err_entry *part = malloc(size);

	if (ep->rx_cntr)
		ep->rx_cntr->owner->owner_ops->incerr(ep->rx_cntr->owner);
	if (!part)
		return;
	memcpy(part, &whole, size);
	report(ep->rx_cq, cq->owner_ops->writeerr(cq, part));
	free(part);
}

/* ---- receiving: the owner's lock is held ---- */

static fi_addr_t find(const struct tp_av *av, uint64_t id)
{
	fi_addr_t ret = FI_ADDR_UNSPEC;

	pthread_mutex_lock(&net_lock);
	for (size_t i = 0; i < av->count; i++)
		if (av->ids[i] == id)
			ret = av->known_as[i];
	pthread_mutex_unlock(&net_lock);
	return ret;
}

/* @entry has buffers: the end of both. */
static void receive(struct tp_ep *ep, rx_entry *entry, struct msg *msg)
{
	uint64_t flags = (entry->flags & (FI_MSG | FI_TAGGED | FI_RECV)) | msg->flags;
	fi_addr_t src = find(ep->av, msg->from);
	int err = atomic_exchange(&ep->fail, 0);
	rx_ctx *srx = entry->srx;
	size_t done = 0;

	if (srx != ep->srx->owner)
		abort();
	for (size_t i = 0; i < entry->count && done < msg->len; i++) {
		size_t n = entry->iov[i].iov_len;

		n = n < msg->len - done ? n : msg->len - done;
		memcpy(entry->iov[i].iov_base, msg->buf + done, n);
		done += n;
	}
	if (!err && done < msg->len)
		err = FI_ETRUNC;
	if (err)
		fail(ep, entry, msg, flags, src, err, done);
	else
		succeed(ep, entry, msg, flags, src);
	srx->owner_ops->free_entry(entry);
	free(msg);
}

static void arrive(struct tp_ep *ep, struct msg *msg, bool tagged)
{
	rx_ctx *srx = ep->srx->owner;
	rx_entry *entry = NULL;
	int ret = ask(srx, tagged, find(ep->av, msg->from), msg->len, msg->tag, &entry);

	if (!ret) {
		receive(ep, entry, msg);
		return;
	}
	if (ret != -FI_ENOENT) {
		free(msg);
		return;
	}
	entry->peer_context = msg;
	entry->msg_size = msg->len;
#if HAS_CQ_DATA
	entry->cq_data = msg->data;
	entry->flags |= msg->flags;
#endif
	ret = tagged ? srx->owner_ops->queue_tag(entry)
		     : srx->owner_ops->queue_msg(entry);
	if (ret) {
		srx->owner_ops->free_entry(entry);
		free(msg);
	}
}

static struct msg *take(struct tp_ep *ep)
{
	struct msg *msg;

	pthread_mutex_lock(&net_lock);
	msg = ep->head;
	if (msg) {
		ep->head = msg->next;
		if (!ep->head)
			ep->tail = &ep->head;
	}
	pthread_mutex_unlock(&net_lock);
	return msg;
}

static void progress(const struct tp_cq *cq, const struct tp_cntr *cntr)
{
	struct tp_ep *mine[EP_ROOM];
	size_t count = 0;
	struct msg *msg;

	pthread_mutex_lock(&net_lock);
	for (size_t i = 0; i < EP_ROOM; i++)
		if (net[i] && ((cq && net[i]->rx_cq == cq) ||
				      (cntr && net[i]->rx_cntr == cntr)))
			mine[count++] = net[i];
	pthread_mutex_unlock(&net_lock);
	for (size_t i = 0; i < count; i++) {
		while ((msg = take(mine[i]))) {
			bool tagged = msg->flags & FI_TAGGED;

			msg->flags &= ~FI_TAGGED;
			arrive(mine[i], msg, tagged);
		}
	}
}

static int start(rx_entry *entry)
{
	struct msg *msg = entry->peer_context;

	receive(msg->to, entry, msg);
	return 0;
}

static int discard(rx_entry *entry)
{
	free(entry->peer_context);
	entry->srx->owner_ops->free_entry(entry);
	return 0;
}

static rx_peer_ops our_ops = { sizeof(our_ops), start, start, discard, discard };

#if HAS_UNSPEC
static fi_addr_t get_addr(rx_entry *entry)
{
	const struct msg *msg = entry->peer_context;

	return find(msg->to->av, msg->from);
}
#endif

/* ---- endpoint ---- */

static ssize_t post(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest,
	uint64_t tag, uint64_t data, uint64_t flags, void *context)
{
	struct tp_ep *ep = container_of(fid, struct tp_ep, fid), *to = NULL;
	struct fid_peer_cq *cq = ep->tx_cq->owner;
	struct msg *msg = malloc(sizeof(*msg) + len);

	if (!msg)
		return -FI_ENOMEM;
	*msg = (struct msg){
		.from = ep->id,
		.tag = tag,
		.data = data,
		.flags = flags & (FI_TAGGED | FI_REMOTE_CQ_DATA),
		.len = len,
	};
	memcpy(msg->buf, buf, len);
	pthread_mutex_lock(&net_lock);
	for (size_t i = 0; i < EP_ROOM && dest < ep->av->count; i++)
		if (net[i] && net[i]->id == ep->av->ids[dest])
			to = net[i];
	if (to) {
		msg->to = to;
		*to->tail = msg;
		to->tail = &msg->next;
	}
	pthread_mutex_unlock(&net_lock);
	if (!to) {
		free(msg);
		return -FI_EHOSTUNREACH;
	}
	if (ep->tx_cntr)
		ep->tx_cntr->owner->owner_ops->inc(ep->tx_cntr->owner);
	if (!ep->tx_selective || flags & FI_COMPLETION)
		report(ep->tx_cq,
			cq->owner_ops->write(cq, context,
				FI_SEND | (flags & FI_TAGGED ? FI_TAGGED : FI_MSG), 0,
				NULL, 0, 0, FI_ADDR_NOTAVAIL));
	return 0;
}

static ssize_t ep_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest, void *context)
{
	return post(fid, buf, len, dest, 0, 0, 0, context);
}

static ssize_t ep_tsend(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest, uint64_t tag, void *context)
{
	return post(fid, buf, len, dest, tag, 0, FI_TAGGED, context);
}

static ssize_t ep_tsenddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	uint64_t data, fi_addr_t dest, uint64_t tag, void *context)
{
	return post(
		fid, buf, len, dest, tag, data, FI_TAGGED | FI_REMOTE_CQ_DATA, context);
}

static ssize_t ep_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	if (msg->iov_count != 1)
		return -FI_EINVAL;
	return post(fid, msg->msg_iov->iov_base, msg->msg_iov->iov_len, msg->addr, 0,
		msg->data, flags, msg->context);
}

static ssize_t ep_tsendmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	if (msg->iov_count != 1)
		return -FI_EINVAL;
	return post(fid, msg->msg_iov->iov_base, msg->msg_iov->iov_len, msg->addr,
		msg->tag, msg->data, flags | FI_TAGGED, msg->context);
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

static struct fi_ops_msg msg_ops = {
	.size = sizeof(msg_ops),
	.recv = no_recv,
	.send = ep_send,
	.sendmsg = ep_sendmsg,
};

static struct fi_ops_tagged tagged_ops = {
	.size = sizeof(tagged_ops),
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
	pthread_mutex_lock(&net_lock);
	for (size_t i = 0; i < EP_ROOM && ret; i++) {
		if (net[i])
			continue;
		net[i] = ep;
		ret = 0;
	}
	pthread_mutex_unlock(&net_lock);
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

	pthread_mutex_lock(&net_lock);
	for (size_t i = 0; i < EP_ROOM; i++)
		if (net[i] == ep)
			net[i] = NULL;
	pthread_mutex_unlock(&net_lock);
	while ((msg = take(ep)))
		free(msg);
	UNBIND(tx_cq);
	UNBIND(rx_cq);
	UNBIND(tx_cntr);
	UNBIND(rx_cntr);
	UNBIND(av);
	UNBIND(srx);
	free(ep);
	return 0;
}

static void fail_next(struct fid_ep *fid, int err)
{
	atomic_store(&container_of(fid, struct tp_ep, fid)->fail, err);
}

static unsigned long count_refused(void)
{
	return atomic_load(&refused);
}

static int ep_ops_open(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	static struct peer_test_ops test_ops = { fail_next, count_refused };

	if (strcmp(name, PEER_OPS) != 0)
		return -FI_ENOSYS;
	*ops = &test_ops;
	return 0;
}

static struct fi_ops ep_fid_ops = FID_OPS(ep_close, ep_bind, ep_control, ep_ops_open);
static struct fi_ops_ep ep_ops = { .size = sizeof(ep_ops) };

static int tp_endpoint(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, void *context)
{
	struct tp_ep *ep = calloc(1, sizeof(*ep));

	if (!ep)
		return -FI_ENOMEM;
	ep->fid = (struct fid_ep){ { FI_CLASS_EP, context, &ep_fid_ops }, &ep_ops,
		&cm_ops, &msg_ops, NULL, &tagged_ops };
	ep->tail = &ep->head;
	pthread_mutex_lock(&net_lock);
	ep->id = next_id++;
	pthread_mutex_unlock(&net_lock);
	*ret_ep = &ep->fid;
	return 0;
}

/* ---- AV ---- */

static int av_insert(struct fid_av *fid, const void *addr, size_t count,
	fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct tp_av *av = container_of(fid, struct tp_av, fid);
	const uint64_t *ids = addr;
	struct tp_ep *users[EP_ROOM];
	size_t done, user_count = 0;

	pthread_mutex_lock(&net_lock);
	for (done = 0; done < count && av->count < AV_ROOM; done++) {
		av->known_as[av->count] =
			flags & FI_AV_USER_ID ? fi_addr[done] : av->count;
		if (fi_addr)
			fi_addr[done] = av->count;
		av->ids[av->count++] = ids[done];
	}
	for (size_t i = 0; i < EP_ROOM; i++)
		if (net[i] && net[i]->av == av)
			users[user_count++] = net[i];
	pthread_mutex_unlock(&net_lock);
#if HAS_UNSPEC
	/* P-62 */
	for (size_t i = 0; i < user_count; i++)
		users[i]->srx->owner->owner_ops->foreach_unspec_addr(
			users[i]->srx->owner, get_addr);
#else
	(void)users;
#endif
	return (int)done;
}

static struct fi_ops_av av_ops = { .size = sizeof(av_ops), .insert = av_insert };

#define SIMPLE_CLOSE(type)                                                             \
	static int type##_close(struct fid *fid)                                       \
	{                                                                              \
		struct tp_##type *object =                                             \
			container_of(fid, struct tp_##type, fid.fid);                  \
                                                                                       \
		if (atomic_load(&object->refs))                                        \
			return -FI_EBUSY;                                              \
		free(object);                                                          \
		return 0;                                                              \
	}                                                                              \
	static struct fi_ops type##_fid_ops =                                          \
		FID_OPS(type##_close, enosys_bind, enosys_control, enosys_open)

SIMPLE_CLOSE(av);
SIMPLE_CLOSE(cq);
SIMPLE_CLOSE(cntr);
SIMPLE_CLOSE(srx);

static int tp_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
	struct fid_av **ret_av, void *context)
{
	struct tp_av *av;

	if (attr->flags) /* P-07: no AV is imported here */
		return -FI_EINVAL;
	av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	av->fid.fid = (struct fid){ FI_CLASS_AV, context, &av_fid_ops };
	av->fid.ops = &av_ops;
	*ret_av = &av->fid;
	return 0;
}

/* ---- CQ ---- */

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	if (buf || count)
		return -FI_ENOSYS;
	progress(container_of(fid, struct tp_cq, fid), NULL);
	return 0;
}

static ssize_t cq_readfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	return -FI_ENOSYS;
}

static ssize_t cq_readerr(
	struct fid_cq *cq, struct fi_cq_err_entry *buf, uint64_t flags)
{
	return -FI_ENOSYS;
}

static ssize_t cq_sread(
	struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
	return -FI_ENOSYS;
}

static ssize_t cq_sreadfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src,
	const void *cond, int timeout)
{
	return -FI_ENOSYS;
}

static int cq_signal(struct fid_cq *cq)
{
	return -FI_ENOSYS;
}

static struct fi_ops_cq cq_ops = {
	.size = sizeof(cq_ops),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
};

static int tp_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *arg)
{
	const struct fi_peer_cq_context *context = arg;
	struct tp_cq *cq;

	/* P-04, P-07: never alone. */
	if (attr->flags != FI_PEER || !context || context->size < sizeof(*context) ||
		!context->cq || !context->cq->owner_ops)
		return -FI_EINVAL;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->fid.fid = (struct fid){ FI_CLASS_CQ, NULL, &cq_fid_ops };
	cq->fid.ops = &cq_ops;
	cq->owner = context->cq;
	*ret_cq = &cq->fid;
	return 0;
}

/* ---- counter ---- */

static uint64_t cntr_read(struct fid_cntr *fid)
{
	progress(NULL, container_of(fid, struct tp_cntr, fid));
	return 0;
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	return -FI_ENOSYS;
}

static int cntr_wait(struct fid_cntr *fid, uint64_t value, int timeout)
{
	return -FI_ENOSYS;
}

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(cntr_ops),
	.read = cntr_read,
	.readerr = cntr_read,
	.add = cntr_set,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_set,
	.seterr = cntr_set,
};

static int tp_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
	struct fid_cntr **ret_cntr, void *arg)
{
	const struct fi_peer_cntr_context *context = arg;
	struct tp_cntr *cntr;

	if (attr->flags != FI_PEER || !context || context->size < sizeof(*context) ||
		!context->cntr || !context->cntr->owner_ops)
		return -FI_EINVAL;
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return -FI_ENOMEM;
	cntr->fid.fid = (struct fid){ FI_CLASS_CNTR, NULL, &cntr_fid_ops };
	cntr->fid.ops = &cntr_ops;
	cntr->owner = context->cntr;
	*ret_cntr = &cntr->fid;
	return 0;
}

/* ---- receive context ---- */

static void give_ops(rx_ctx *srx)
{
#if LAYOUT >= 206
	/* As the page has it: into the owner's table. */
	*srx->peer_ops = our_ops;
#else
	/* As it was done. */
	srx->peer_ops = &our_ops;
#endif
}

static int tp_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr,
	struct fid_ep **ret_srx, void *arg)
{
	const struct fi_peer_srx_context *context = arg;
	struct tp_srx *srx;

	if (!(attr->op_flags & FI_PEER) || !context ||
		context->size < sizeof(*context) || !context->srx ||
		!context->srx->owner_ops)
		return -FI_EINVAL;
	srx = calloc(1, sizeof(*srx));
	if (!srx)
		return -FI_ENOMEM;
	srx->fid = (struct fid_ep){ { FI_CLASS_SRX_CTX, NULL, &srx_fid_ops }, &ep_ops,
		NULL, &msg_ops, NULL, &tagged_ops };
	srx->owner = (rx_ctx *)(void *)context->srx;
	give_ops(srx->owner);
	*ret_srx = &srx->fid;
	return 0;
}

/* ---- domain, fabric, provider ---- */

static int plain_close(struct fid *fid)
{
	free(fid);
	return 0;
}

static struct fi_ops plain_fid_ops =
	FID_OPS(plain_close, enosys_bind, enosys_control, enosys_open);

static struct fi_ops_domain domain_ops = {
	.size = sizeof(domain_ops),
	.av_open = tp_av_open,
	.cq_open = tp_cq_open,
	.endpoint = tp_endpoint,
	.cntr_open = tp_cntr_open,
	.srx_ctx = tp_srx_ctx,
};

static int tp_domain(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, void *context)
{
	struct fid_domain *domain = calloc(1, sizeof(*domain));

	if (!domain)
		return -FI_ENOMEM;
	domain->fid = (struct fid){ FI_CLASS_DOMAIN, context, &plain_fid_ops };
	domain->ops = &domain_ops;
	*ret_domain = domain;
	return 0;
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(fabric_ops),
	.domain = tp_domain,
};

static int tp_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	struct fid_fabric *fabric = calloc(1, sizeof(*fabric));

	if (!fabric)
		return -FI_ENOMEM;
	fabric->fid = (struct fid){ FI_CLASS_FABRIC, context, &plain_fid_ops };
	fabric->ops = &fabric_ops;
	*ret_fabric = fabric;
	return 0;
}

static int tp_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return -FI_ENOMEM;
	info->caps = FI_MSG | FI_TAGGED | FI_SEND | FI_RECV | FI_DIRECTED_RECV |
		     FI_SOURCE | FI_PEER | FI_AV_USER_ID | FI_LOCAL_COMM;
	info->addr_format = FI_FORMAT_UNSPEC;
	info->tx_attr->size = info->rx_attr->size = 64;
	info->tx_attr->iov_limit = info->rx_attr->iov_limit = 1;
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->max_msg_size = 1 << 20;
	info->domain_attr->threading = FI_THREAD_DOMAIN;
	info->domain_attr->cq_data_size = 8;
	info->domain_attr->cq_cnt = info->domain_attr->cntr_cnt = 1024;
	info->domain_attr->ep_cnt = EP_ROOM;
	info->fabric_attr->name = strdup("test");
	info->domain_attr->name = strdup("test");
	*ret_info = info;
	return 0;
}

static struct fi_provider provider = {
	.version = FI_VERSION(1, 0),
	.fi_version = PEER_VERSION,
	.name = PEER_NAME,
	.getinfo = tp_getinfo,
	.fabric = tp_fabric,
};

EXPORTED struct fi_provider *fi_prov_ini(void);

EXPORTED struct fi_provider *fi_prov_ini(void)
{
	return &provider;
}
