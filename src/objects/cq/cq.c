/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/cq/internal.h"

/*
 * Opening, closing and exporting completion queues (fi_cq(3), fi_peer(3)). A queue that
 * the application opened may be exported: peers write to it by owner_ops, into the same
 * ring as the transports of this library. An imported queue has no entries: it passes
 * completions to its owner, and reading it only makes progress.
 */

enum { DEFAULT_SIZE = 1024 };

static ssize_t cq_owner_write(struct fid_peer_cq *peer, void *context, uint64_t flags,
	size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	return wf_cq_write(peer->fid.context, context, flags, len, buf, data, tag, src);
}

static ssize_t cq_owner_writeerr(
	struct fid_peer_cq *peer, const struct fi_cq_err_entry *entry)
{
	return wf_cq_write_err(peer->fid.context, entry);
}

static struct fi_ops_cq_owner owner_ops = {
	.size = sizeof(owner_ops),
	.write = cq_owner_write,
	.writeerr = cq_owner_writeerr,
};

static void cq_fill_handle(struct wf_cq *cq, struct fid_peer_cq *ret_peer)
{
	*ret_peer = (struct fid_peer_cq){
		.fid.fclass = FI_CLASS_PEER_CQ,
		.fid.context = cq,
		.fid.ops = &wf_absent_fid,
		.owner_ops = &owner_ops,
	};
}

void wf_cq_export(struct wf_cq *cq, struct fid_peer_cq *ret_peer)
{
	cq_fill_handle(cq, ret_peer);
	atomic_fetch_add_explicit(&cq->refs, 1, memory_order_relaxed);
}

void wf_cq_unexport(struct fid_peer_cq *peer)
{
	struct wf_cq *cq = peer->fid.context;

	/* release: pairs with the acquire in cq_close; the peer's accesses come
	 * before. */
	atomic_fetch_sub_explicit(&cq->refs, 1, memory_order_release);
}

/* Last step of opening a CQ: the provider opens its queue, and the progress thread runs
 * cq->source. */
static int cq_open_source(struct wf_cq *cq)
{
	const struct wf_prov *prov = cq->domain->prov;
	int ret = prov->cq_opened ? prov->cq_opened(cq) : 0;

	if (ret || !cq->source)
		return ret;
	ret = wf_progress_list_add(&cq->progress, cq->source);
	if (ret)
		goto err_closing;
	ret = wf_domain_progress_add(cq->domain, cq->source);
	if (ret)
		goto err_list;
	return 0;

err_list:
	/* The provider may free the source as the queue closes. */
	wf_progress_list_del(&cq->progress, cq->source);
err_closing:
	if (prov->cq_closing)
		prov->cq_closing(cq);
	return ret;
}

static void cq_close_source(struct wf_cq *cq)
{
	if (cq->source) {
		wf_domain_progress_del(cq->domain, cq->source);
		wf_progress_list_del(&cq->progress, cq->source);
	}
	if (cq->domain->prov->cq_closing)
		cq->domain->prov->cq_closing(cq);
}

static int cq_close(struct fid *fid)
{
	struct wf_cq *cq = wf_container_of(fid, struct wf_cq, fid.fid);
	int refs = atomic_load_explicit(&cq->refs, memory_order_acquire);

	if (refs) {
		FI_WARN(cq->domain->prov->fi, FI_LOG_CQ,
			"cannot close the CQ: %d objects are bound to it or peers "
			"write to it\n",
			refs);
		return -FI_EBUSY;
	}
	wf_fork_hook_remove(&cq->fork_hook);
	cq_close_source(cq);
	wf_progress_list_done(&cq->progress);
	wf_wait_done(&cq->wait);
	wf_cq_errors_done(cq);
	wf_cq_ring_done(&cq->ring);
	wf_lock_done(&cq->lock);
	wf_domain_unref(cq->domain);
	free(cq);
	return 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct wf_cq *cq = wf_container_of(fid, struct wf_cq, fid.fid);

	return wf_wait_control(&cq->wait, command, arg);
}

static struct fi_ops cq_fid_ops = WF_FID_OPS(cq_close, wf_absent_bind, cq_control);

bool wf_cq_is_ours(const struct fid_cq *fid)
{
	/* A hook may have replaced the table, not this call. */
	return fid->fid.ops->control == cq_control;
}

/* The operations of a queue with a wait object of its own. */
static struct fi_ops_cq cq_wait_ops = {
	.size = sizeof(cq_wait_ops),
	.read = wf_cq_read,
	.readfrom = wf_cq_readfrom,
	.readerr = wf_cq_readerr,
	.sread = wf_cq_sread,
	.sreadfrom = wf_cq_sreadfrom,
	.signal = wf_cq_signal,
	.strerror = wf_cq_strerror,
	.export_xpu = wf_absent_cq_export_xpu,
};

/* The operations with FI_WAIT_NONE and FI_WAIT_SET: without blocking reads. */
static struct fi_ops_cq cq_poll_ops = {
	.size = sizeof(cq_poll_ops),
	.read = wf_cq_read,
	.readfrom = wf_cq_readfrom,
	.readerr = wf_cq_readerr,
	.sread = wf_absent_cq_sread,
	.sreadfrom = wf_absent_cq_sreadfrom,
	.signal = wf_absent_cq_signal,
	.strerror = wf_cq_strerror,
	.export_xpu = wf_absent_cq_export_xpu,
};

/* The operations of an imported CQ: a read of no entries makes progress for the owner,
 * and errors have texts. The entries are read from the owner. */
static ssize_t cq_peer_read(struct fid_cq *fid, void *buf, size_t count)
{
	return count ? -FI_ENOSYS : wf_cq_read(fid, buf, 0);
}

static struct fi_ops_cq cq_peer_ops = {
	.size = sizeof(cq_peer_ops),
	.read = cq_peer_read,
	.readfrom = wf_absent_cq_readfrom,
	.readerr = wf_absent_cq_readerr,
	.sread = wf_absent_cq_sread,
	.sreadfrom = wf_absent_cq_sreadfrom,
	.signal = wf_absent_cq_signal,
	.strerror = wf_cq_strerror,
	.export_xpu = wf_absent_cq_export_xpu,
};

static int cq_refuse(const struct wf_domain *domain, const char *what, uint64_t value)
{
	FI_WARN(domain->prov->fi, FI_LOG_CQ, "fi_cq_open: %s (got %#llx)\n", what,
		(unsigned long long)value);
	return -FI_EINVAL;
}

static int cq_check_attr(const struct wf_domain *domain, const struct fi_cq_attr *attr)
{
	if (!attr)
		return cq_refuse(domain, "attributes are missing", 0);
	if (attr->flags & ~(FI_AFFINITY | FI_PEER))
		return cq_refuse(
			domain, "flags may be FI_AFFINITY and FI_PEER", attr->flags);
	if (attr->format > FI_CQ_FORMAT_TAGGED)
		return cq_refuse(domain, "unknown entry format", attr->format);
	if (attr->wait_obj != FI_WAIT_NONE && attr->wait_cond > FI_CQ_COND_THRESHOLD)
		return cq_refuse(domain, "unknown wait condition", attr->wait_cond);
	return 0;
}

static int cq_check_peer(
	const struct wf_domain *domain, const struct fi_peer_cq_context *context)
{
	const struct fi_ops_cq_owner *ops;

	if (!context || context->size < sizeof(*context))
		return cq_refuse(domain, "FI_PEER needs a struct fi_peer_cq_context",
			context ? context->size : 0);
	ops = context->cq ? context->cq->owner_ops : NULL;
	if (!FI_CHECK_OP(ops, struct fi_ops_cq_owner, write) ||
		!FI_CHECK_OP(ops, struct fi_ops_cq_owner, writeerr))
		return cq_refuse(domain,
			"the owner of the peer CQ lacks write or writeerr",
			ops ? ops->size : 0);
	return 0;
}

/* Initialise the wait object. Network data wakes threads that sleep on descriptors, but
 * not those on a mutex: FI_WAIT_MUTEX_COND starts the progress thread. */
static int cq_open_wait(struct wf_cq *cq, const struct fi_cq_attr *attr)
{
	int ret = wf_wait_init(&cq->wait, attr->wait_obj, attr->wait_set);

	if (ret) {
		(void)cq_refuse(cq->domain, "unknown wait object, or no wait set",
			attr->wait_obj);
		return ret;
	}
	if (wf_wait_needs_thread(&cq->wait)) {
		ret = wf_domain_need_thread(cq->domain);
		if (ret)
			wf_wait_done(&cq->wait);
	}
	return ret;
}

static bool cq_base_is_imported(const struct fid_cq *fid)
{
	return fid && fid->ops == &cq_peer_ops;
}

void wf_cq_link(struct fid_cq *peer, struct wf_cq *owner)
{
	if (cq_base_is_imported(peer) && (!owner || owner->owner == &owner->self))
		atomic_store_explicit(
			&wf_cq_of(peer)->direct, owner, memory_order_relaxed);
}

void wf_cq_link_sources(struct fid_cq *peer, struct wf_av *av)
{
	if (cq_base_is_imported(peer))
		wf_cq_of(peer)->direct_av = av;
}

int wf_cq_write_slow(struct wf_cq *cq, void *context, uint64_t flags, size_t len,
	void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	int ret;

	wf_lock(&cq->lock);
	ret = wf_cq_ring_put(&cq->ring, context, flags, len, buf, data, tag, src);
	wf_unlock(&cq->lock);
	if (wf_likely(!ret))
		wf_wait_signal(&cq->wait);
	return ret;
}

ssize_t wf_cq_write_away(struct wf_cq *cq, void *context, uint64_t flags, size_t len,
	void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	return cq->owner->owner_ops->write(
		cq->owner, context, flags, len, buf, data, tag, src);
}

static void cq_choose_ops(struct wf_cq *cq, struct fid_peer_cq *owner)
{
	cq->owner = owner ? owner : &cq->self;
	atomic_init(&cq->direct, owner ? NULL : cq);
	if (owner)
		cq->fid.ops = &cq_peer_ops;
	else if (cq->wait.obj == FI_WAIT_NONE || cq->wait.obj == FI_WAIT_SET)
		cq->fid.ops = &cq_poll_ops;
	else
		cq->fid.ops = &cq_wait_ops;
}

int wf_cq_open(struct fid_domain *domain_fid, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *context)
{
	struct wf_domain *domain = wf_domain_of(domain_fid);
	struct fid_peer_cq *owner = NULL;
	struct wf_cq *cq;
	int ret;

	ret = cq_check_attr(domain, attr);
	if (ret)
		return ret;
	if (attr->flags & FI_PEER) {
		ret = cq_check_peer(domain, context);
		if (ret)
			return ret;
		/* The context is valid during the call only. */
		owner = ((struct fi_peer_cq_context *)context)->cq;
		context = owner;
	}

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fid_ops;
	cq->domain = domain;
	cq->wait_cond = attr->wait_cond;

	ret = wf_cq_errors_init(cq);
	if (ret)
		goto err_free;
	wf_lock_init(&cq->lock, WF_LOCK_SPIN);
	wf_lock_set_gate(&cq->lock, domain->gate);
	ret = wf_cq_ring_init(&cq->ring,
		attr->format ? attr->format : FI_CQ_FORMAT_CONTEXT,
		attr->size ? attr->size : DEFAULT_SIZE);
	if (ret)
		goto err_lock;
	ret = cq_open_wait(cq, attr);
	if (ret)
		goto err_ring;
	wf_progress_list_init(&cq->progress, WF_LOCK_SPIN, &cq->wait);
	wf_lock_set_gate(&cq->progress.lock, domain->gate);

	cq_fill_handle(cq, &cq->self);
	cq_choose_ops(cq, owner);
	ret = wf_fork_hook_add(&cq->fork_hook, wf_cq_in_child);
	if (ret)
		goto err_progress;
	ret = cq_open_source(cq);
	if (ret)
		goto err_hook;
	wf_domain_ref(domain);
	wf_wait_attach(&cq->wait, &cq->fid.fid);
	*ret_cq = &cq->fid;
	return 0;

err_hook:
	wf_fork_hook_remove(&cq->fork_hook);
err_progress:
	wf_progress_list_done(&cq->progress);
	wf_wait_done(&cq->wait);
err_ring:
	wf_cq_ring_done(&cq->ring);
err_lock:
	wf_lock_done(&cq->lock);
	wf_cq_errors_done(cq);
err_free:
	free(cq);
	return ret;
}
