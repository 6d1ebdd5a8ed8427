/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "providers/verbs/data/data.h"
#include "providers/verbs/device/device.h"
#include "providers/verbs/param.h"
#include "providers/verbs/ud/ud.h"
#include "sys/fds.h"

/*
 * The hardware queue behind a CQ. Its size grows with the queues of the endpoints that
 * are bound to the CQ, because a hardware queue that overflows is unusable afterwards.
 *
 * Sleeping. cq_arm() reads the events of the completion channel, requests the next one,
 * and then polls once more: that poll finds a completion that came before the request,
 * and a later completion makes the channel readable.
 */

enum { SMALLEST = 64 };

static struct verbs_cq *cq_of_item(struct wf_progress *item)
{
	return wf_container_of(item, struct verbs_cq, item);
}

/* Poll once. Returns the number of completions; 0 also if the device failed. */
static int cq_poll_once(struct verbs_cq *cq, int max)
{
	struct ibv_wc wc[VERBS_POLL_MAX];
	int count = ibv_poll_cq(cq->cq, max, wc);

	if (wf_unlikely(count < 0)) {
		if (!cq->failed)
			(void)verbs_failed(FI_LOG_CQ, "ibv_poll_cq", EIO);
		cq->failed = true;
		return 0;
	}
	for (int i = 0; i < count; i++)
		verbs_complete(cq, &wc[i]);
	return count;
}

static bool cq_has_stopped(const struct verbs_cq *cq)
{
	return atomic_load_explicit(&cq->stopped, memory_order_relaxed);
}

static void cq_run(struct wf_progress *item)
{
	struct verbs_cq *cq = cq_of_item(item);

	/* The lock is not waited for: the thread that holds it polls, and cq_arm() does
	 * wait. */
	if (!wf_trylock(&cq->lock))
		return;
	wf_progress_found(item, cq_poll_once(cq, cq->bunch) > 0);
	if (wf_unlikely(cq_has_stopped(cq)))
		verbs_ud_restart(cq);
	wf_unlock(&cq->lock);
}

static int cq_wait_fd(struct wf_progress *item)
{
	return cq_of_item(item)->channel->fd;
}

/* Read the events of the channel, so that it becomes unreadable. */
static void cq_take_events(struct verbs_cq *cq)
{
	unsigned int count = 0;
	struct ibv_cq *from;
	void *context;

	while (!VERBS_IBV(get_cq_event(cq->channel, &from, &context)))
		count++;
	if (count)
		VERBS_IBV(ack_cq_events(cq->cq, count));
}

static bool cq_arm(struct wf_progress *item)
{
	struct verbs_cq *cq = cq_of_item(item);
	int err, count;

	wf_lock(&cq->lock);
	cq_take_events(cq);
	err = ibv_req_notify_cq(cq->cq, 0);
	if (wf_unlikely(err))
		(void)verbs_failed(FI_LOG_CQ, "ibv_req_notify_cq", err);
	count = cq_poll_once(cq, cq->bunch);
	wf_progress_found(item, count > 0);
	wf_unlock(&cq->lock);
	/* The locks for restarting an endpoint are not waited for: cq_run() tries
	 * again. */
	return !count && !cq_has_stopped(cq);
}

static const struct wf_progress verbs_cq_item = {
	.run = cq_run,
	.wait_fd = cq_wait_fd,
	.arm = cq_arm,
};

static int cq_open_channel(struct verbs_cq *cq, struct verbs_domain *domain)
{
	int flags;

	cq->channel = VERBS_IBV(create_comp_channel(domain->context));
	if (!cq->channel && errno == EMFILE && wf_fds_more())
		cq->channel = VERBS_IBV(create_comp_channel(domain->context));
	if (!cq->channel)
		return verbs_failed(FI_LOG_CQ, "ibv_create_comp_channel", errno);
	flags = fcntl(cq->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(cq->channel->fd, F_SETFL, flags | O_NONBLOCK))
		return verbs_failed(FI_LOG_CQ, "fcntl", errno);
	return 0;
}

static int verbs_cq_open(struct verbs_cq *cq, struct verbs_domain *domain)
{
	int err = cq_open_channel(cq, domain);

	if (err)
		return err;
	cq->cq = VERBS_IBV(create_cq(domain->context, SMALLEST, NULL, cq->channel, 0));
	if (!cq->cq)
		return verbs_failed(FI_LOG_CQ, "ibv_create_cq", errno);
	cq->size = (uint32_t)cq->cq->cqe;
	return 0;
}

static void cq_free(struct verbs_cq *cq)
{
	if (cq->cq)
		(void)VERBS_IBV(destroy_cq(cq->cq));
	if (cq->channel)
		(void)VERBS_IBV(destroy_comp_channel(cq->channel));
	verbs_finder_done(&cq->finders[0]);
	verbs_finder_done(&cq->finders[1]);
	wf_lock_done(&cq->lock);
	free(cq);
}

int verbs_cq_opened(struct wf_cq *wf)
{
	struct verbs_cq *cq = calloc(1, sizeof(*cq));
	int err;

	if (!cq)
		return -FI_ENOMEM;
	cq->wf = wf;
	cq->item = verbs_cq_item;
	cq->bunch = (int)verbs_params.cq_bunch;
	/* Sleepers and the destruction of a queue pair make system calls with the lock
	 * held. It is a spin lock all the same: polls are frequent, and never wait for
	 * it. */
	wf_lock_init(&cq->lock, WF_LOCK_SPIN);
	wf_lock_set_gate(&cq->lock, wf->domain->gate);
	err = verbs_cq_open(cq, verbs_domain_of(wf->domain));
	if (err) {
		cq_free(cq);
		return err;
	}
	wf->prov_data = cq;
	wf->source = &cq->item;
	return 0;
}

void verbs_cq_closing(struct wf_cq *wf)
{
	cq_free(verbs_cq_of(wf));
}

/* Make the hardware queue large enough for @size completions. */
static int cq_grow(struct verbs_cq *cq, uint32_t size)
{
	uint32_t most = (uint32_t)verbs_domain_of(cq->wf->domain)->device->attr.max_cqe;
	int err;

	if (size > most) {
		verbs_log(FI_LOG_WARN, FI_LOG_CQ,
			"the queues of endpoints bound to one CQ may have %u requests, "
			"possible are %u: use smaller ones, or more CQs\n",
			size, most);
		return -FI_ENOMEM;
	}
	/* The size is doubled if possible, for further endpoints. */
	err = VERBS_IBV(
		resize_cq(cq->cq, (int)WF_MIN(most, WF_MAX(size, 2 * cq->size))));
	if (err)
		return verbs_failed(FI_LOG_CQ, "ibv_resize_cq", err);
	cq->size = (uint32_t)cq->cq->cqe;
	return 0;
}

int verbs_cq_reserve(struct verbs_cq *cq, uint32_t entries)
{
	int err = 0;

	wf_lock(&cq->lock);
	if (cq->reserved + entries > cq->size)
		err = cq_grow(cq, cq->reserved + entries);
	if (!err)
		cq->reserved += entries;
	wf_unlock(&cq->lock);
	return err;
}

void verbs_cq_release(struct verbs_cq *cq, uint32_t entries)
{
	wf_lock(&cq->lock);
	cq->reserved -= entries;
	wf_unlock(&cq->lock);
}

void verbs_cq_drain(struct verbs_cq *cq)
{
	/* The loop is limited by the size of the queue, because other endpoints may
	 * keep it busy. */
	for (uint32_t polled = 0; polled < cq->size;) {
		int count = cq_poll_once(cq, cq->bunch);

		if (count <= 0)
			return;
		polled += (uint32_t)count;
	}
}
