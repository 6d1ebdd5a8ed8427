/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/forks.h"

#include <pthread.h>

#include "sys/calls.h"
#include "sys/fds.h"

uint32_t wf_fork_depth;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int err;
/* Guards @hooks. Held while a process forks, so that the child finds them
 * consistent. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wf_list hooks = { &hooks, &hooks };

/* Threads of the library that work, guarded by @working, which is held while a process
 * forks. */
static pthread_mutex_t working = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static unsigned int workers;

void wf_fork_defer(void)
{
	(void)pthread_mutex_lock(&working);
	workers++;
	(void)pthread_mutex_unlock(&working);
}

void wf_fork_allow(void)
{
	(void)pthread_mutex_lock(&working);
	if (!--workers)
		(void)pthread_cond_broadcast(&idle);
	(void)pthread_mutex_unlock(&working);
}

/* The order matters: a thread that works may add or remove a hook. */
static void forks_before_fork(void)
{
	(void)pthread_mutex_lock(&working);
	while (workers)
		(void)wf_sys_cond_wait(&idle, &working);
	(void)pthread_mutex_lock(&lock);
}

static void forks_in_parent(void)
{
	(void)pthread_mutex_unlock(&lock);
	(void)pthread_mutex_unlock(&working);
}

static void forks_in_child(void)
{
	wf_fork_depth++;
	wf_list_foreach(link, &hooks)
	{
		struct wf_fork_hook *hook =
			wf_list_entry(link, struct wf_fork_hook, link);

		hook->in_child(hook);
	}
	(void)pthread_mutex_unlock(&lock);
	(void)pthread_mutex_unlock(&working);
}

static void forks_watch(void)
{
	/* Handlers of later registrations run earlier before a fork: threads that work
	 * have ended that when the lock of descriptors is taken. */
	err = wf_fds_watch_forks();
	if (!err)
		err = pthread_atfork(
			forks_before_fork, forks_in_parent, forks_in_child);
}

int wf_forks_count(void)
{
	(void)pthread_once(&once, forks_watch);
	return -err;
}

int wf_fork_hook_add(
	struct wf_fork_hook *hook, void (*in_child_)(struct wf_fork_hook *hook))
{
	int ret = wf_forks_count();

	if (ret)
		return ret;
	hook->in_child = in_child_;
	(void)pthread_mutex_lock(&lock);
	wf_list_push(&hooks, &hook->link);
	(void)pthread_mutex_unlock(&lock);
	return 0;
}

void wf_fork_hook_remove(struct wf_fork_hook *hook)
{
	/* Not the link, which others that are added and removed beside it write,
	 * too. */
	if (!hook->in_child)
		return;
	(void)pthread_mutex_lock(&lock);
	wf_list_unlink(&hook->link);
	(void)pthread_mutex_unlock(&lock);
	hook->in_child = NULL;
}
