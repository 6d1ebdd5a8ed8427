/* SPDX-License-Identifier: BSD-2-Clause */
#include "testpeer.h"

/* The AV, and what is only ever opened for an owner: CQ, counter, receive context. */

static int av_insert(struct fid_av *fid, const void *addr, size_t count,
	fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct tp_av *av = container_of(fid, struct tp_av, fid);
	const uint64_t *ids = addr;
	struct tp_ep *users[EP_ROOM];
	size_t done, at = 0, user_count = 0;

	pthread_mutex_lock(&tp_lock);
	for (done = 0; done < count; done++) {
		while (at < av->count && av->ids[at])
			at++;
		if (at == AV_ROOM)
			break;
		av->known_as[at] = flags & FI_AV_USER_ID ? fi_addr[done] : at;
		if (fi_addr)
			fi_addr[done] = at;
		av->ids[at] = ids[done];
		av->count += at == av->count;
	}
	for (size_t i = 0; i < EP_ROOM; i++)
		if (tp_net[i] && tp_net[i]->av == av)
			users[user_count++] = tp_net[i];
	pthread_mutex_unlock(&tp_lock);
#if HAS_UNSPEC
	/* P-62 */
	tp_begin();
	for (size_t i = 0; i < user_count; i++)
		users[i]->srx->owner->owner_ops->foreach_unspec_addr(
			users[i]->srx->owner, tp_get_addr);
	tp_end();
#else
	(void)users;
#endif
	return (int)done;
}

static int av_remove(
	struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct tp_av *av = container_of(fid, struct tp_av, fid);

	pthread_mutex_lock(&tp_lock);
	for (size_t i = 0; i < count; i++)
		if (fi_addr[i] < av->count)
			av->ids[fi_addr[i]] = 0; /* unused */
	pthread_mutex_unlock(&tp_lock);
	return 0;
}

static struct fi_ops_av av_ops = {
	.size = sizeof(av_ops),
	.insert = av_insert,
	.remove = av_remove,
};

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
	static struct fi_ops type##_fid_ops = FID_OPS(                                 \
		type##_close, tp_enosys_bind, tp_enosys_control, tp_enosys_open)

SIMPLE_CLOSE(av);
SIMPLE_CLOSE(cq);
SIMPLE_CLOSE(cntr);
SIMPLE_CLOSE(srx);

int tp_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
	struct fid_av **ret_av, void *context)
{
	struct tp_av *av;

	if (attr->flags) /* P-07, P-22: this provider imports no AV */
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
	tp_progress(container_of(fid, struct tp_cq, fid), NULL);
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

int tp_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *arg)
{
	const struct fi_peer_cq_context *context = arg;
	struct tp_cq *cq;

	/* P-04, P-07: never alone. */
	if (attr->flags != FI_PEER || !context || context->size < sizeof(*context) ||
		!context->cq || !context->cq->owner_ops)
		return -FI_EINVAL;
	/* P-11: an application that waits has a wait object of the owner. */
	if (attr->wait_obj != FI_WAIT_NONE)
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
	tp_progress(NULL, container_of(fid, struct tp_cntr, fid));
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

int tp_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
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
	*srx->peer_ops = tp_srx_ops;
#else
	/* As it was done. */
	srx->peer_ops = &tp_srx_ops;
#endif
}

int tp_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr,
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
	srx->fid = (struct fid_ep){ { FI_CLASS_SRX_CTX, NULL, &srx_fid_ops },
		&tp_ep_ops, NULL, &tp_msg_ops, NULL, &tp_tagged_ops };
	srx->owner = (rx_ctx *)(void *)context->srx;
	give_ops(srx->owner);
	*ret_srx = &srx->fid;
	return 0;
}
