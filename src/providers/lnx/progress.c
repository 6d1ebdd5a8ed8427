/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "providers/lnx/lnx.h"
#include "sys/compiler.h"

/*
 * Progress is the members': moving their endpoints, or reading their CQs, is what moves
 * data (fi_peer(3)), with the lock of the receive context that they ask.
 *
 * A look at a member that goes through sockets may cost a system call, which messages
 * that take nanoseconds would feel. So such a one, a far one, that was quiet for a
 * while is looked at now and then only, as long as another one moves or may do so
 * without system calls. What moves shows in the application's queue and counters.
 */
enum {
	PATIENCE = 1000,  /* attempts to sleep that are refused after something moved */
	NAP_NS = 1000000, /* see may_nap */
	QUIET = 1024,     /* looks after which a far member counts as quiet */
	TURNS = 16,       /* progress calls from one look at it to the next */
	SELDOM = 512,     /* the same while those in memory move */
};

static struct lnx_ep *ep_of_item(struct wf_progress *item)
{
	return wf_container_of(item, struct lnx_ep, wf.progress);
}

static inline void look(struct lnx_rail *rail)
{
	if (wf_likely(rail->here != NULL))
		wf_ep_progress(rail->here);
	else
		(void)rail->cq->ops->read(rail->cq, NULL, 0);
}

/* Changes when something is completed or counted. */
static uint64_t completed(const struct lnx_ep *ep)
{
	const struct wf_cq *cq = ep->wf.rx_cq ? ep->wf.rx_cq : ep->wf.tx_cq;
	uint64_t sum = cq ? wf_cq_ring_head(&cq->ring) : 0;

	for (int i = 0; i < WF_CNTR_COUNT; i++)
		if (ep->wf.cntr[i])
			sum += atomic_load_explicit(
				&ep->wf.cntr[i]->value, memory_order_relaxed);
	return sum;
}

static bool is_quiet(const struct lnx_rail *rail)
{
	return atomic_load_explicit(&rail->quiet, memory_order_relaxed) > QUIET;
}

static bool any_far_moves(const struct lnx_ep *ep)
{
	for (unsigned int i = 0; i < ep->count; i++)
		if (ep->rail[i].far && !is_quiet(&ep->rail[i]))
			return true;
	return false;
}

static void look_at_far(struct lnx_ep *ep, struct lnx_rail *rail)
{
	uint64_t before = completed(ep);
	uint32_t quiet;

	look(rail);
	quiet = atomic_load_explicit(&rail->quiet, memory_order_relaxed);
	quiet = completed(ep) != before ? 0 : WF_MIN(quiet, (uint32_t)QUIET) + 1;
	atomic_store_explicit(&rail->quiet, quiet, memory_order_relaxed);
}

/* Quiet ones take turns beside others that are not. */
static __attribute__((noinline)) void look_at_all_far(struct lnx_ep *ep)
{
	uint32_t turn = atomic_load_explicit(&ep->turn, memory_order_relaxed), wait = 1;
	bool moved = completed(ep) !=
		     atomic_load_explicit(&ep->completed, memory_order_relaxed);
	bool all = !any_far_moves(ep) || !(turn % TURNS);

	atomic_store_explicit(&ep->turn, turn + 1, memory_order_relaxed);
	for (unsigned int i = 0; i < ep->count; i++)
		if (ep->rail[i].far && (all || !is_quiet(&ep->rail[i])))
			look_at_far(ep, &ep->rail[i]);
	if (ep->has_near && !any_far_moves(ep))
		wait = moved ? SELDOM : TURNS;
	atomic_store_explicit(&ep->wait, wait, memory_order_relaxed);
	atomic_store_explicit(&ep->completed, completed(ep), memory_order_relaxed);
}

/* What is not as usual: members in memory that are of another library, or many. */
static __attribute__((noinline)) void look_at_more(struct lnx_ep *ep)
{
	for (unsigned int i = 0; i < ep->more_count; i++)
		look(&ep->rail[ep->more[i]]);
	if (ep->counts)
		lnx_count_held();
}

static inline void move(struct lnx_ep *ep)
{
	uint32_t wait;

	if (wf_likely(ep->first != NULL))
		wf_ep_progress(ep->first);
	wait = atomic_load_explicit(&ep->wait, memory_order_relaxed);
	if (wf_likely(wait > 1))
		atomic_store_explicit(&ep->wait, wait - 1, memory_order_relaxed);
	else
		look_at_all_far(ep);
	if (wf_unlikely(ep->has_more))
		look_at_more(ep);
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

/* One member, of this library, and nothing to be counted. */
static void run_first(struct wf_progress *item)
{
	struct lnx_ep *ep = ep_of_item(item);
	struct wf_lock *lock = ep->wf.srx_lock;

	if (lock && !wf_trylock(lock))
		return;
	wf_ep_progress(ep->first);
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

static int watch_naps(struct lnx_ep *ep, int epfd)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (!ep->naps)
		return 0;
	ep->nap_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (ep->nap_fd < 0)
		return -errno;
	return epoll_ctl(epfd, EPOLL_CTL_ADD, ep->nap_fd, &event) ? -errno : 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static int open_fds(struct lnx_ep *ep)
{
	int ret = 0, epfd = epoll_create1(EPOLL_CLOEXEC);

	if (epfd < 0)
		return -errno;
	for (unsigned int i = 0; i < ep->count && !ret; i++)
		ret = watch(epfd, &ep->rail[i]);
	if (!ret)
		ret = watch_naps(ep, epfd);
	if (ret) {
		close_fd(&ep->nap_fd);
		close_fd(&epfd);
		return ret;
	}
	ep->epfd = epfd;
	return 0;
}

static int wait_fd(struct wf_progress *item)
{
	struct lnx_ep *ep = ep_of_item(item);
	int ret;

	wf_ep_srx_lock(&ep->wf);
	ret = ep->epfd < 0 ? open_fds(ep) : 0;
	if (!ret)
		ret = ep->epfd;
	wf_ep_srx_unlock(&ep->wf);
	return ret;
}

/*
 * A member without a descriptor cannot end a sleep: it ends by itself, soon. Only when
 * nothing has moved for a while, so that who waits for an answer does not wait for the
 * end of a nap. Whoever slept comes here before he sleeps again, and setting the timer
 * takes back that it expired.
 */
static bool may_nap(struct lnx_ep *ep)
{
	const struct itimerspec soon = { .it_value.tv_nsec = NAP_NS };
	uint64_t now = completed(ep);

	if (now != ep->nap_completed)
		ep->nap_refused = 0;
	ep->nap_completed = now;
	if (ep->nap_fd < 0 || ep->nap_refused < PATIENCE) {
		ep->nap_refused++;
		return false;
	}
	return !timerfd_settime(ep->nap_fd, 0, &soon, NULL);
}

/* Unless what sleeps does so for other endpoints than this. */
static bool arm(struct wf_progress *item)
{
	struct lnx_ep *ep = ep_of_item(item);
	bool quiet = true;

	if (!ep->sleeps)
		return true;
	wf_ep_srx_lock(&ep->wf);
	for (unsigned int i = 0; i < ep->count && quiet; i++) {
		struct lnx_rail *rail = &ep->rail[i];
		struct fid *fid = &rail->cq->fid;

		quiet = !rail->sleeps || !fi_trywait(rail->fabric, &fid, 1);
	}
	if (quiet && ep->naps)
		quiet = may_nap(ep);
	wf_ep_srx_unlock(&ep->wf);
	return quiet;
}

void lnx_progress_enabled(struct lnx_ep *ep)
{
	ep->first = NULL;
	ep->has_near = ep->naps = false;
	ep->more_count = 0;
	for (unsigned int i = 0; i < ep->count; i++) {
		struct lnx_rail *rail = &ep->rail[i];

		ep->naps |= ep->sleeps && !rail->sleeps;
		rail->far = ep->count > 1 && !ep->domain->link->member[i].fast;
		if (rail->far)
			continue;
		ep->has_near = true;
		if (rail->here && !ep->first)
			ep->first = rail->here;
		else
			ep->more[ep->more_count++] = (uint8_t)i;
	}
	ep->has_more = ep->more_count || ep->counts;
	ep->wf.progress.run = ep->count == 1 && !ep->has_more ? run_first : run;
}

void lnx_progress_done(struct lnx_ep *ep)
{
	close_fd(&ep->nap_fd);
	close_fd(&ep->epfd);
}

static bool moved(struct wf_progress *item)
{
	struct lnx_ep *ep = wf_container_of(item, struct lnx_ep, wf.progress);
	bool any = false;

	for (unsigned int i = 0; i < ep->count; i++)
		if (ep->rail[i].here)
			any |= wf_progress_moved(&ep->rail[i].here->progress);
	return any;
}

void lnx_progress_init(struct lnx_ep *ep)
{
	ep->epfd = ep->nap_fd = -1;
	ep->wf.progress = (struct wf_progress){
		.run = run,
		.wait_fd = wait_fd,
		.arm = arm,
		.moved = moved,
	};
}
