/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/coll/internal.h"

/*
 * If there is an offload engine, the first engine also runs allgathers for its
 * bootstrap, whose results are for bootstrap.c and not for the application's CQ and
 * counter. So the first engine gets the functions here as operations of both, instead
 * of a link with the application's objects.
 *
 * An engine counts a success right before it writes the completion, in the same thread,
 * and a failure right after it. So a success is not counted until the thread writes the
 * next completion, which tells whether it is the application's, or leaves the engine.
 */

/* The port for which the calling thread still has to count one success; NULL: none. */
static _Thread_local struct wf_coll_port *held;
/* The next failure that the calling thread counts is that of a bootstrap exchange. */
static _Thread_local bool failure_is_ours;

void wf_coll_intercept_end(void)
{
	struct wf_coll_port *port = held;

	if (wf_likely(!port))
		return;
	held = NULL;
	wf_cntr_add_n(port->peer_cntr.fid.context, 1);
}

static struct wf_coll_port *intercept_port_of_cq(struct fid_peer_cq *fid)
{
	return wf_container_of(fid, struct wf_coll_port, peer_cq);
}

static struct wf_coll_port *intercept_port_of_cntr(struct fid_peer_cntr *fid)
{
	return wf_container_of(fid, struct wf_coll_port, peer_cntr);
}

static ssize_t intercept_cq_write(struct fid_peer_cq *fid, void *context,
	uint64_t flags, size_t len, void *buf, uint64_t data, uint64_t tag,
	fi_addr_t src)
{
	if (wf_coll_boot_ended(intercept_port_of_cq(fid)->coll, context, 0)) {
		held = NULL;
		return 0;
	}
	wf_coll_intercept_end();
	return wf_cq_write(fid->fid.context, context, flags, len, buf, data, tag, src);
}

static ssize_t intercept_cq_writeerr(
	struct fid_peer_cq *fid, const struct fi_cq_err_entry *entry)
{
	wf_coll_intercept_end();
	if (wf_coll_boot_ended(
		    intercept_port_of_cq(fid)->coll, entry->op_context, -entry->err)) {
		failure_is_ours = true;
		return 0;
	}
	failure_is_ours = false;
	return wf_cq_write_err(fid->fid.context, entry);
}

static struct fi_ops_cq_owner cq_ops = {
	.size = sizeof(cq_ops),
	.write = intercept_cq_write,
	.writeerr = intercept_cq_writeerr,
};

static void intercept_cntr_inc(struct fid_peer_cntr *fid)
{
	struct wf_coll_port *port = intercept_port_of_cntr(fid);

	wf_coll_intercept_end();
	held = port;
	if (!atomic_load_explicit(&port->coll->boot_count, memory_order_relaxed))
		wf_coll_intercept_end();
}

static void intercept_cntr_incerr(struct fid_peer_cntr *fid)
{
	if (!failure_is_ours)
		wf_cntr_add_err(fid->fid.context);
	failure_is_ours = false;
}

static struct fi_ops_cntr_owner cntr_ops = {
	.size = sizeof(cntr_ops),
	.inc = intercept_cntr_inc,
	.incerr = intercept_cntr_incerr,
};

void wf_coll_intercept_cq(struct wf_coll_port *port)
{
	port->peer_cq.owner_ops = &cq_ops;
}

void wf_coll_intercept_cntr(struct wf_coll_port *port)
{
	port->peer_cntr.owner_ops = &cntr_ops;
}
