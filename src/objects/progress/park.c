/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <sys/epoll.h>

#include "objects/progress/park.h"
#include "sys/calls.h"
#include "sys/clock.h"
#include "sys/fds.h"

/*
 * Parked items: a list does not run them because they have no work.
 *
 * A list's epoll set holds the descriptors of all items ever parked in the list, each
 * registered for one event: an unparked item stays in the set and causes one useless
 * event at most. The list calls epoll_wait after every RUNS_PER_POLL runs of items,
 * which bounds its share of the time however few items are awake, and when the coarse
 * clock has advanced, for applications that read their queue only now and then.
 *
 * No wake-up is lost: park() sets WF_PROGRESS_PARKED before it calls arm(), which takes
 * the item's own lock. arm() sees work that came before; a thread that adds work later
 * takes the lock after arm() released it, and so sees the bit.
 */
enum {
	RUNS_PER_POLL = 32, /* runs of items from one epoll_wait to the next */
	EVENTS_MAX = 64,
};

static void park_put(
	struct wf_progress_list *list, struct wf_progress_ref *ref, unsigned int at)
{
	list->refs[at] = ref;
	ref->at = at;
}

static void park_swap(struct wf_progress_ref *ref, unsigned int at)
{
	struct wf_progress_list *list = ref->list;
	struct wf_progress_ref *other = list->refs[at];

	park_put(list, other, ref->at);
	park_put(list, ref, at);
}

void wf_progress_unpark_item(struct wf_progress_ref *ref)
{
	struct wf_progress_list *list = ref->list;

	if (ref->at >= list->awake)
		park_swap(ref, list->awake++);
}

void wf_progress_push_woken(struct wf_progress_ref *ref)
{
	_Atomic(struct wf_progress_ref *) *head = &ref->list->woken;

	/* acquire: pairs with the release in take_woken, which is done with next. */
	if (atomic_exchange_explicit(&ref->woken, true, memory_order_acquire))
		return;
	ref->next_woken = atomic_load_explicit(head, memory_order_relaxed);
	/* release: pairs with the acquire in take_woken. */
	while (!atomic_compare_exchange_weak_explicit(head, &ref->next_woken, ref,
		memory_order_release, memory_order_relaxed))
		;
}

void wf_progress_take_woken(struct wf_progress_list *list)
{
	struct wf_progress_ref *ref, *next;

	/* relaxed: an item pushed at this moment is taken by the next run. */
	if (wf_likely(!atomic_load_explicit(&list->woken, memory_order_relaxed)))
		return;
	ref = atomic_exchange_explicit(&list->woken, NULL, memory_order_acquire);
	for (; ref; ref = next) {
		next = ref->next_woken;
		atomic_store_explicit(&ref->woken, false, memory_order_release);
		wf_progress_unpark_item(ref);
	}
}

void wf_progress_forget(struct wf_progress_ref *ref)
{
	struct wf_progress_list *list = ref->list;

	wf_progress_take_woken(list);
	if (ref->watched)
		(void)epoll_ctl(
			list->epfd, EPOLL_CTL_DEL, wf_progress_fd(ref->item), NULL);
	if (ref->at < list->awake)
		park_swap(ref, --list->awake);
	park_put(list, list->refs[--list->count], ref->at);
	/* One item always stays awake (see progress.h). */
	if (!list->awake && list->count)
		wf_progress_unpark_item(list->refs[0]);
}

/* Report one readiness event of the item, then none until it is parked again. False: the
 * kernel refused it, also because there is no descriptor. */
static bool park_watch(struct wf_progress_list *list, struct wf_progress_ref *ref)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT,
		.data.ptr = ref };

	if (list->epfd < 0)
		list->epfd = wf_epoll();
	if (epoll_ctl(list->epfd, ref->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD,
		    wf_progress_fd(ref->item), &event))
		return false;
	ref->watched = true;
	return true;
}

bool wf_progress_park(struct wf_progress_list *list, unsigned int at)
{
	struct wf_progress_ref *ref = list->refs[at];
	struct wf_progress *item = ref->item;

	/* Start counting anew: an item that cannot be parked now is not tried again
	 * before it was quiet for as long once more. */
	atomic_store_explicit(&item->quiet, 0, memory_order_relaxed);
	if (!item->arm || !(item->wait_fd || item->wait_fds))
		return false;
	atomic_fetch_or_explicit(
		&item->state, WF_PROGRESS_PARKED, memory_order_relaxed);
	if (!item->arm(item) || !park_watch(list, ref))
		return false;
	park_swap(ref, --list->awake);
	return true;
}

/* If there are more events than were read, as many items are awake now, and the next
 * run calls epoll_wait again. */
static_assert((int)EVENTS_MAX >= (int)RUNS_PER_POLL, "events could wait");

static void park_poll_parked(struct wf_progress_list *list)
{
	struct epoll_event events[EVENTS_MAX];
	int n = wf_sys_epoll_wait(list->epfd, events, EVENTS_MAX, 0);

	list->runs = 0;
	list->poll_next = false;
	for (int i = 0; i < n; i++)
		wf_progress_unpark_item(events[i].data.ptr);
}

void wf_progress_unpark(struct wf_progress_list *list)
{
	uint64_t tick = wf_coarse_ns();

	wf_progress_take_woken(list);
	list->runs += list->awake;
	if (list->runs < RUNS_PER_POLL && !list->poll_next && tick == list->tick)
		return;
	list->tick = tick;
	park_poll_parked(list);
}
