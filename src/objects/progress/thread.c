/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <rdma/fi_errno.h>

#include "objects/progress/thread.h"
#include "objects/wait/wait.h"
#include "sys/forks.h"
#include "sys/calls.h"

struct wf_progress_thread {
	struct wf_progress_list *list; /* the items that the thread runs */
	struct wf_wait wait;           /* wait object that the thread sleeps on */
	pthread_t id;
	atomic_bool stop; /* The thread has to end. */
};

/*
 * The thread draws its ticket before it runs the items, so a change that its run misses
 * ends the sleep that follows. An item whose descriptor stays readable although run()
 * can do nothing would keep the thread awake: its arm(), which is called before every
 * sleep, has to drain the descriptor.
 */
static void *thread_main(void *arg)
{
	struct wf_progress_thread *thread = arg;
	uint64_t ticket;
	bool quiet;

	for (;;) {
		ticket = wf_wait_arm(&thread->wait);
		if (atomic_load_explicit(&thread->stop, memory_order_acquire))
			return NULL;
		wf_fork_defer();
		wf_progress_list_run(thread->list);
		quiet = wf_progress_list_arm(thread->list);
		wf_fork_allow();
		if (quiet)
			(void)wf_wait_sleep(&thread->wait, ticket, UINT64_MAX);
	}
}

/* Block all signals in the thread: the application's handlers run in its own. */
static int thread_spawn(struct wf_progress_thread *thread)
{
	sigset_t all, before;
	int err;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread->id, NULL, thread_main, thread);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		(void)pthread_setname_np(thread->id, "fi-progress");
	return -err;
}

int wf_progress_thread_start(
	struct wf_progress_list *list, struct wf_progress_thread **ret_thread)
{
	struct wf_progress_thread *thread;
	int err;

	assert(!list->lock.gate);
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return -FI_ENOMEM;
	thread->list = list;
	atomic_init(&thread->stop, false);
	err = wf_wait_init(&thread->wait, FI_WAIT_FD, NULL);
	if (err)
		goto err_free;
	err = wf_progress_list_set_wait(list, &thread->wait);
	if (err)
		goto err_wait;
	err = thread_spawn(thread);
	if (err)
		goto err_list;
	*ret_thread = thread;
	return 0;

err_list:
	(void)wf_progress_list_set_wait(list, NULL);
err_wait:
	wf_wait_done(&thread->wait);
err_free:
	free(thread);
	return err;
}

void wf_progress_thread_stop(struct wf_progress_thread *thread)
{
	if (!thread)
		return;
	/* release: pairs with the acquire in thread_main. */
	atomic_store_explicit(&thread->stop, true, memory_order_release);
	wf_wait_signal(&thread->wait);
	(void)wf_sys_join(thread->id);
	(void)wf_progress_list_set_wait(thread->list, NULL);
	wf_wait_done(&thread->wait);
	free(thread);
}
