/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "providers/lnx/lnx.h"

/*
 * Progress is the members': reading their CQs is what moves data (fi_peer(3)), with the
 * lock of the receive context that they ask.
 *
 * A look at a member that goes through sockets may cost a system call, which messages
 * that take nanoseconds would feel. So such a one that was quiet for a while is looked
 * at in turns only, as long as another one moves, and seldom when that one needs no
 * system calls.
 */
enum {
	QUIET = 1024, /* looks after which a member counts as quiet */
	TURNS = 16,   /* of such a member one in so many is looked at */
	SELDOM = 512,
};

static struct lnx_ep *ep_of_item(struct wf_progress *item)
{
	return wf_container_of(item, struct lnx_ep, wf.progress);
}

static inline void look(struct lnx_rail *rail)
{
	(void)rail->cq->ops->read(rail->cq, NULL, 0);
}

static uint32_t quiet_of(struct lnx_rail *rail)
{
	return atomic_load_explicit(&rail->quiet, memory_order_relaxed);
}

/* Of a quiet member that goes through sockets, one look in how many? */
static uint32_t turns_of(struct lnx_ep *ep)
{
	uint32_t turns = 1;

	for (unsigned int i = 0; i < ep->count; i++) {
		bool fast = ep->domain->link->member[i].fast;

		if (quiet_of(&ep->rail[i]) > QUIET)
			turns = WF_MAX(turns, fast ? (uint32_t)TURNS : 1u);
		else
			turns = WF_MAX(
				turns, fast ? (uint32_t)SELDOM : (uint32_t)TURNS);
	}
	return turns;
}

static void look_at_all(struct lnx_ep *ep)
{
	uint32_t turn = atomic_load_explicit(&ep->turns, memory_order_relaxed), quiet;
	uint32_t turns = turns_of(ep);

	atomic_store_explicit(&ep->turns, turn + 1, memory_order_relaxed);
	for (unsigned int i = 0; i < ep->count; i++) {
		struct lnx_rail *rail = &ep->rail[i];

		quiet = quiet_of(rail);
		if (quiet <= QUIET)
			atomic_store_explicit(
				&rail->quiet, quiet + 1, memory_order_relaxed);
		else if (turn % turns && !ep->domain->link->member[i].fast)
			continue;
		look(rail);
	}
}

static inline void move(struct lnx_ep *ep)
{
	if (ep->count == 1)
		look(&ep->rail[0]);
	else
		look_at_all(ep);
	if (wf_unlikely(ep->counts))
		lnx_count_held();
}

/* For whoever holds the locks already. */
void lnx_progress(struct wf_ep *wf)
{
	move(lnx_ep_of(wf));
}

static void run(struct wf_progress *item)
{
	struct lnx_ep *ep = ep_of_item(item);
	struct wf_lock *lock = ep->wf.srx_lock;

	if (lock && !wf_trylock(lock))
		return;
	move(ep);
	if (lock)
		wf_unlock(lock);
}

static int watch(int epfd, struct lnx_rail *rail)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd, ret;

	if (!rail->sleeps)
		return 0;
	ret = fi_control(&rail->cq->fid, FI_GETWAIT, &fd);
	if (ret)
		return ret;
	return epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int wait_fd(struct wf_progress *item)
{
	struct lnx_ep *ep = ep_of_item(item);
	int ret = 0, epfd;

	wf_ep_srx_lock(&ep->wf);
	epfd = ep->epfd;
	if (epfd < 0) {
		epfd = epoll_create1(EPOLL_CLOEXEC);
		if (epfd < 0)
			ret = -errno;
		for (unsigned int i = 0; i < ep->count && !ret; i++)
			ret = watch(epfd, &ep->rail[i]);
		if (!ret)
			ep->epfd = epfd;
		else if (epfd >= 0)
			(void)close(epfd);
	}
	wf_ep_srx_unlock(&ep->wf);
	return ret ? ret : epfd;
}

/* A member without a descriptor keeps everybody awake. */
static bool arm(struct wf_progress *item)
{
	struct lnx_ep *ep = ep_of_item(item);
	bool quiet = true;

	wf_ep_srx_lock(&ep->wf);
	for (unsigned int i = 0; i < ep->count && quiet; i++) {
		struct lnx_rail *rail = &ep->rail[i];
		struct fid *fid = &rail->cq->fid;

		quiet = rail->sleeps && !fi_trywait(rail->fabric, &fid, 1);
	}
	wf_ep_srx_unlock(&ep->wf);
	return quiet;
}

void lnx_progress_init(struct lnx_ep *ep)
{
	ep->wf.progress = (struct wf_progress){
		.run = run,
		.wait_fd = wait_fd,
		.arm = arm,
	};
}
