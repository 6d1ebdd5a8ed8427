/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_peer.h>

#include "objects/absent/absent.h"
#include "objects/eq/queue.h"
#include "sys/cancel.h"
#include "sys/clock.h"

enum {
	/* The least capacity for fi_eq_write, in events. */
	MIN_CAPACITY = 1024,
	/* No event wakes a sleeper with FI_WAIT_MUTEX_COND when an endpoint needs
	 * progress, so the sleeper wakes itself after this time. */
	SLICE_NS = 10 * 1000 * 1000,
};

static struct wf_eq *eq_of_fid(struct fid *fid)
{
	return wf_container_of(fid, struct wf_eq, fid.fid);
}

static bool eq_bad_read(struct wf_eq *eq, const void *buf, size_t len, uint64_t flags)
{
	if ((buf || !len) && !(flags & ~FI_PEEK))
		return false;
	FI_WARN(eq->fabric->prov->fi, FI_LOG_EQ,
		"read refused: buffer %p, flags 0x%llx, only FI_PEEK possible\n", buf,
		(unsigned long long)flags);
	return true;
}

static ssize_t eq_read_event(
	struct wf_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	wf_progress_list_run(&eq->progress);
	return wf_eq_take(eq, event, buf, len, flags);
}

static ssize_t eq_read(
	struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct wf_eq *eq = wf_eq_of(fid);

	if (eq_bad_read(eq, buf, len, flags))
		return -FI_EINVAL;
	return eq_read_event(eq, event, buf, len, flags);
}

static ssize_t eq_readerr(
	struct fid_eq *fid, struct fi_eq_err_entry *buf, uint64_t flags)
{
	struct wf_eq *eq = wf_eq_of(fid);

	if (!buf || eq_bad_read(eq, buf, sizeof(*buf), flags))
		return -FI_EINVAL;
	wf_progress_list_run(&eq->progress);
	return wf_eq_take_err(eq, buf, flags);
}

static ssize_t eq_write(
	struct fid_eq *fid, uint32_t event, const void *buf, size_t len, uint64_t flags)
{
	struct wf_eq *eq = wf_eq_of(fid);

	if ((!buf && len) || flags) {
		FI_WARN(eq->fabric->prov->fi, FI_LOG_EQ,
			"write refused: buffer %p, flags 0x%llx, none possible\n", buf,
			(unsigned long long)flags);
		return -FI_EINVAL;
	}
	return wf_eq_insert(eq, event, buf, len);
}

/* False: a signal handler interrupted the sleep, or the time is over. The thread is
 * cancelled, if its @cancel_state allows it, in the sleep alone. */
static bool eq_sleep_until(struct wf_eq *eq, uint64_t deadline_ns, int cancel_state)
{
	uint64_t ticket = wf_wait_arm(&eq->wait), slice_ns = deadline_ns;
	int err;

	if (!wf_progress_list_arm(&eq->progress) || wf_eq_readable(eq))
		return !wf_expired(deadline_ns);
	if (wf_wait_needs_thread(&eq->wait))
		slice_ns = WF_MIN(deadline_ns, wf_now_ns() + SLICE_NS);
	wf_cancel_set(cancel_state);
	err = wf_wait_sleep(&eq->wait, ticket, slice_ns);
	(void)wf_cancel_off();
	return !err || slice_ns != deadline_ns;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buf, size_t len,
	int timeout_ms, uint64_t flags)
{
	struct wf_eq *eq = wf_eq_of(fid);
	uint64_t deadline_ns = wf_deadline_ns(timeout_ms);
	int cancel_state;
	ssize_t ret;

	if (eq->wait.obj == FI_WAIT_NONE || eq->wait.obj == FI_WAIT_SET) {
		FI_WARN(eq->fabric->prov->fi, FI_LOG_EQ,
			"blocking read refused: the queue has no wait object of its "
			"own\n");
		return -FI_ENOSYS;
	}
	if (eq_bad_read(eq, buf, len, flags))
		return -FI_EINVAL;
	cancel_state = wf_cancel_off();
	do {
		ret = eq_read_event(eq, event, buf, len, flags);
	} while (ret == -FI_EAGAIN && eq_sleep_until(eq, deadline_ns, cancel_state));
	if (ret == -FI_EAGAIN)
		ret = eq_read_event(eq, event, buf, len, flags);
	wf_cancel_set(cancel_state);
	return ret;
}

static const char *eq_strerror(
	struct fid_eq *fid, int prov_errno, const void *err_data, char *buf, size_t len)
{
	const char *text = fi_strerror(abs(prov_errno));

	if (!buf || !len)
		return text;
	(void)snprintf(buf, len, "%s", text);
	return buf;
}

static int eq_close(struct fid *fid)
{
	struct wf_eq *eq = eq_of_fid(fid);
	struct wf_fabric *fabric = eq->fabric;
	/* acquire: pairs with the release of the last object that was bound. */
	int refs = atomic_load_explicit(&eq->refs, memory_order_acquire);

	if (refs) {
		FI_INFO(fabric->prov->fi, FI_LOG_EQ,
			"event queue not closed: %d objects are bound to it\n", refs);
		return -FI_EBUSY;
	}
	wf_fork_hook_remove(&eq->fork_hook);
	wf_wait_done(&eq->wait);
	wf_progress_list_done(&eq->progress);
	wf_eq_drop_all(eq);
	wf_lock_done(&eq->lock);
	free(eq);
	atomic_fetch_sub_explicit(&fabric->refs, 1, memory_order_release);
	return 0;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	return wf_wait_control(&eq_of_fid(fid)->wait, command, arg);
}

static struct fi_ops eq_fid_ops = WF_FID_OPS(eq_close, wf_absent_bind, eq_control);

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

/* The operations of an imported queue, which passes every event on to its owner. */
static struct fi_ops eq_peer_fid_ops =
	WF_FID_OPS(eq_close, wf_absent_bind, wf_absent_control);

static struct fi_ops_eq eq_peer_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = wf_absent_eq_read,
	.readerr = wf_absent_eq_readerr,
	.write = eq_write,
	.sread = wf_absent_eq_sread,
	.strerror = eq_strerror,
};

/* ---- in a forked child ---- */

static ssize_t eq_forked_read(
	struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	(void)fid;
	(void)event;
	(void)buf;
	(void)len;
	(void)flags;
	return -FI_EOPBADSTATE;
}

static ssize_t eq_forked_readerr(
	struct fid_eq *fid, struct fi_eq_err_entry *buf, uint64_t flags)
{
	return eq_forked_read(fid, NULL, buf, 0, flags);
}

static ssize_t eq_forked_write(
	struct fid_eq *fid, uint32_t event, const void *buf, size_t len, uint64_t flags)
{
	(void)event;
	(void)buf;
	return eq_forked_read(fid, NULL, NULL, len, flags);
}

static ssize_t eq_forked_sread(struct fid_eq *fid, uint32_t *event, void *buf,
	size_t len, int timeout, uint64_t flags)
{
	(void)timeout;
	return eq_forked_read(fid, event, buf, len, flags);
}

static struct fi_ops_eq forked_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_forked_read,
	.readerr = eq_forked_readerr,
	.write = eq_forked_write,
	.sread = eq_forked_sread,
	.strerror = eq_strerror,
};

static void eq_in_child(struct wf_fork_hook *hook)
{
	struct wf_eq *eq = wf_container_of(hook, struct wf_eq, fork_hook);

	eq->fid.ops = &forked_ops;
	wf_lock_init(&eq->lock, eq->lock.kind);
	wf_lock_init(&eq->progress.lock, eq->progress.lock.kind);
}

bool wf_eq_is_ours(const struct fid_eq *fid)
{
	return fid->fid.ops == &eq_fid_ops || fid->fid.ops == &eq_peer_fid_ops;
}

static int eq_check_attr(const struct wf_fabric *fabric, const struct fi_eq_attr *attr,
	const struct fi_peer_eq_context *peer)
{
	const uint64_t possible = FI_WRITE | FI_AFFINITY | FI_PEER;

	if (!attr)
		return -FI_EINVAL;
	if (attr->flags & ~possible) {
		FI_WARN(fabric->prov->fi, FI_LOG_EQ,
			"event queue refused: flags 0x%llx asked for, 0x%llx "
			"possible\n",
			(unsigned long long)attr->flags, (unsigned long long)possible);
		return -FI_EINVAL;
	}
	if (attr->flags & FI_PEER &&
		(!peer || peer->size < sizeof(*peer) || !peer->eq)) {
		FI_WARN(fabric->prov->fi, FI_LOG_EQ,
			"event queue refused: FI_PEER needs a peer context with a "
			"queue\n");
		return -FI_EINVAL;
	}
	return 0;
}

static int eq_init(struct wf_eq *eq, const struct fi_eq_attr *attr)
{
	int err;

	err = wf_eq_spare_init(eq);
	if (err)
		return err;
	wf_lock_init(&eq->lock, WF_LOCK_SPIN);
	/* Not a spin lock: connection management calls the kernel. */
	wf_progress_list_init(&eq->progress, WF_LOCK_MUTEX, &eq->wait);
	err = wf_wait_init(
		&eq->wait, eq->owner ? FI_WAIT_NONE : attr->wait_obj, attr->wait_set);
	if (err) {
		FI_WARN(eq->fabric->prov->fi, FI_LOG_EQ,
			"event queue refused: wait object %d: %s\n", attr->wait_obj,
			fi_strerror(-err));
		wf_progress_list_done(&eq->progress);
		wf_lock_done(&eq->lock);
	}
	return err;
}

int wf_eq_open(struct fid_fabric *fid, struct fi_eq_attr *attr, struct fid_eq **ret_eq,
	void *context)
{
	struct wf_fabric *fabric = wf_fabric_of(fid);
	const struct fi_peer_eq_context *peer = context;
	struct wf_eq *eq;
	int err;

	if (!ret_eq)
		return -FI_EINVAL;
	err = eq_check_attr(fabric, attr, peer);
	if (err)
		return err;
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return -FI_ENOMEM;
	eq->fabric = fabric;
	eq->owner = attr->flags & FI_PEER ? peer->eq : NULL;
	eq->flags = attr->flags;
	eq->capacity = WF_MAX(attr->size, (size_t)MIN_CAPACITY);
	eq->fid.fid.fclass = FI_CLASS_EQ;
	/* The context of an import is gone after this call. */
	eq->fid.fid.context = eq->owner ? eq->owner : context;
	eq->fid.fid.ops = eq->owner ? &eq_peer_fid_ops : &eq_fid_ops;
	eq->fid.ops = eq->owner ? &eq_peer_ops : &eq_ops;
	atomic_init(&eq->refs, 0);
	wf_list_init(&eq->events);
	err = wf_fork_hook_add(&eq->fork_hook, eq_in_child);
	if (!err)
		err = eq_init(eq, attr);
	if (err) {
		wf_fork_hook_remove(&eq->fork_hook);
		wf_eq_drop_all(eq);
		free(eq);
		return err;
	}
	atomic_fetch_add_explicit(&fabric->refs, 1, memory_order_relaxed);
	wf_wait_attach(&eq->wait, &eq->fid.fid);
	*ret_eq = &eq->fid;
	return 0;
}
