/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "objects/progress/later.h"
#include "sys/calls.h"

void wf_later_wake(struct wf_later *later)
{
	const uint64_t one = 1;
	int fd = atomic_load(&later->fd);

	if (atomic_exchange(&later->armed, false) && fd >= 0)
		(void)!wf_sys_write(fd, &one, sizeof(one));
}

void wf_later_add(struct wf_later *later, struct wf_list *item)
{
	wf_lock(&later->lock);
	wf_list_push(&later->list, item);
	atomic_store(&later->is_ready, true);
	wf_unlock(&later->lock);
	wf_later_wake(later);
}

static struct wf_list *later_pop(struct wf_later *later)
{
	struct wf_list *item;

	wf_lock(&later->lock);
	item = wf_list_pop(&later->list);
	if (!item)
		atomic_store(&later->is_ready, false);
	wf_unlock(&later->lock);
	return item;
}

static bool later_run_all(struct wf_later *later)
{
	struct wf_list *item;

	while ((item = later_pop(later))) {
		if (later->run(later, item))
			continue;
		wf_lock(&later->lock);
		wf_list_insert_after(&later->list, item);
		wf_unlock(&later->lock);
		return false;
	}
	return true;
}

void wf_later_run_slow(struct wf_later *later)
{
	bool done;

	do {
		/* The thread that holds @run_lock reads @is_ready again after it
		 * releases the lock: below. */
		if (!wf_trylock(&later->run_lock))
			return;
		done = later_run_all(later);
		wf_unlock(&later->run_lock);
		/* Full fence: a thread whose trylock failed stored @is_ready before
		 * that, so the load below sees it. */
		atomic_thread_fence(memory_order_seq_cst);
	} while (done && atomic_load(&later->is_ready));
}

static struct wf_later *later_of(struct wf_progress *item)
{
	return wf_container_of(item, struct wf_later, progress);
}

static void later_item_run(struct wf_progress *item)
{
	wf_later_run(later_of(item));
}

static int later_item_wait_fd(struct wf_progress *item)
{
	struct wf_later *later = later_of(item);
	int none = -1, fd = atomic_load(&later->fd);

	if (fd >= 0)
		return fd;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (atomic_compare_exchange_strong(&later->fd, &none, fd))
		return fd;
	(void)wf_sys_close(fd); /* another list asked at the same time */
	return none;
}

/* An entry that cannot run yet keeps all sleepers awake: no event is known that says
 * when it can. */
static bool later_item_arm(struct wf_progress *item)
{
	struct wf_later *later = later_of(item);
	uint64_t count;
	int fd = atomic_load(&later->fd);

	if (fd >= 0)
		(void)!wf_sys_read(fd, &count, sizeof(count));
	atomic_store(&later->armed, true);
	return !atomic_load(&later->is_ready);
}

void wf_later_init(
	struct wf_later *later, bool (*run)(struct wf_later *, struct wf_list *))
{
	wf_lock_init(&later->lock, WF_LOCK_SPIN);
	/* Never a gate: the lock also prevents recursion in one thread. */
	wf_lock_init(&later->run_lock, WF_LOCK_MUTEX);
	wf_list_init(&later->list);
	atomic_init(&later->is_ready, false);
	atomic_init(&later->armed, false);
	atomic_init(&later->fd, -1);
	later->run = run;
	later->progress = (struct wf_progress){
		.run = later_item_run,
		.wait_fd = later_item_wait_fd,
		.arm = later_item_arm,
	};
}

void wf_later_done(struct wf_later *later)
{
	int fd = atomic_load(&later->fd);

	if (fd >= 0)
		(void)wf_sys_close(fd);
	wf_lock_done(&later->run_lock);
	wf_lock_done(&later->lock);
}
