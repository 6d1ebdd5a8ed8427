/* SPDX-License-Identifier: BSD-2-Clause */
/* Items of a progress list that are not run while nothing happens to them. */
#include "fake.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "objects/progress/progress.h"
#include "objects/wait/wait.h"

/* The time of the coarse clock, which the test sets; 0: the real one. */
static struct timespec coarse;

__attribute__((visibility("default"))) int __wrap_clock_gettime(
	clockid_t id, struct timespec *ret);
int __real_clock_gettime(clockid_t id, struct timespec *ret);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	if (!coarse.tv_sec)
		return __real_clock_gettime(id, ret);
	*ret = coarse;
	return 0;
}

enum { LONG = 2 * WF_PROGRESS_PATIENCE, ITEMS = 50 };

/* Finds something as often as its descriptor was written. */
struct item {
	struct wf_progress base;
	int fd;
	atomic_int runs, works;
	int arms;
	bool busy;
	pthread_mutex_t lock; /* the item's own */
};

static struct item *item_of(struct wf_progress *base)
{
	return wf_container_of(base, struct item, base);
}

static void item_run(struct wf_progress *base)
{
	struct item *item = item_of(base);
	eventfd_t value;
	bool found;

	pthread_mutex_lock(&item->lock);
	found = !eventfd_read(item->fd, &value);
	atomic_fetch_add(&item->runs, 1);
	if (found)
		atomic_fetch_add(&item->works, 1);
	wf_progress_found(base, found);
	pthread_mutex_unlock(&item->lock);
}

static int item_fd(struct wf_progress *base)
{
	return item_of(base)->fd;
}

static bool item_arm(struct wf_progress *base)
{
	struct item *item = item_of(base);
	bool idle;

	pthread_mutex_lock(&item->lock);
	item->arms++;
	idle = !item->busy;
	pthread_mutex_unlock(&item->lock);
	return idle;
}

static struct item items[ITEMS];

static int open_items(void **state)
{
	memset(items, 0, sizeof(items));
	for (int i = 0; i < ITEMS; i++) {
		items[i].base = (struct wf_progress){
			.run = item_run, .wait_fd = item_fd, .arm = item_arm
		};
		items[i].fd = eventfd(0, EFD_NONBLOCK);
		pthread_mutex_init(&items[i].lock, NULL);
	}
	return 0;
}

static int close_items(void **state)
{
	for (int i = 0; i < ITEMS; i++) {
		(void)close(items[i].fd);
		pthread_mutex_destroy(&items[i].lock);
	}
	return 0;
}

static void open_list(struct wf_progress_list *list, struct wf_wait *wait)
{
	wf_progress_list_init(list, WF_LOCK_SPIN, wait);
	for (int i = 0; i < ITEMS; i++)
		assert_int_equal(wf_progress_list_add(list, &items[i].base), 0);
}

static void close_list(struct wf_progress_list *list)
{
	for (int i = 0; i < ITEMS; i++)
		wf_progress_list_del(list, &items[i].base);
	assert_int_equal(list->count, 0);
	wf_progress_list_done(list);
}

/* Until one is left that runs. */
static void let_rest(struct wf_progress_list *list)
{
	for (int i = 0; i < LONG && list->awake > 1; i++)
		wf_progress_list_run(list);
	assert_int_equal(list->awake, 1);
	for (int i = 0; i < ITEMS; i++)
		items[i].runs = items[i].works = 0;
}

static int runs_of_all(void)
{
	int runs = 0;

	for (int i = 0; i < ITEMS; i++)
		runs += items[i].runs;
	return runs;
}

/* Return an item that is parked. */
static struct item *a_parked_one(struct wf_progress_list *list)
{
	return list->refs[0]->item == &items[0].base ? &items[1] : &items[0];
}

static void who_is_alone_runs_always(void **state)
{
	struct wf_progress_list list;

	wf_progress_list_init(&list, WF_LOCK_SPIN, NULL);
	assert_int_equal(wf_progress_list_add(&list, &items[0].base), 0);
	for (int i = 0; i < LONG; i++)
		wf_progress_list_run(&list);
	assert_int_equal(items[0].runs, LONG);
	assert_int_equal(items[0].arms, 0);
	wf_progress_list_del(&list, &items[0].base);
	wf_progress_list_done(&list);
}

static void the_idle_are_not_run(void **state)
{
	struct wf_progress_list list;

	open_list(&list, NULL);
	let_rest(&list);
	for (int i = 0; i < 1000; i++)
		wf_progress_list_run(&list);
	assert_int_equal(runs_of_all(), 1000);
	close_list(&list);
}

static void an_event_is_noticed(void **state)
{
	struct wf_progress_list list;
	struct item *item;

	open_list(&list, NULL);
	for (int round = 0; round < 3; round++) {
		let_rest(&list);
		item = a_parked_one(&list);
		assert_int_equal(eventfd_write(item->fd, 1), 0);
		for (int i = 0; i < 100; i++)
			wf_progress_list_run(&list);
		assert_int_equal(item->works, 1);
		/* It alone was waked. */
		assert_true(list.awake <= 2);
	}
	close_list(&list);
}

/* The list asks for events after RUNS runs of items, when the clock has advanced, and
 * when so many events came that there may be more. */
static void when_the_list_asks(void **state)
{
	enum { RUNS = 32, EVENTS = 64 };
	struct wf_progress_list list;
	struct item *item;

	(void)state;
	open_list(&list, NULL);
	let_rest(&list);
	item = a_parked_one(&list);
	coarse.tv_sec = 1;
	wf_progress_list_run(&list); /* asks, as the time is another one */
	assert_int_equal(eventfd_write(item->fd, 1), 0);
	for (int i = 1; i < RUNS; i++)
		wf_progress_list_run(&list);
	assert_int_equal(item->works, 0);
	wf_progress_list_run(&list);
	assert_int_equal(item->works, 1);

	let_rest(&list);
	item = a_parked_one(&list);
	coarse.tv_sec++;
	wf_progress_list_run(&list);
	assert_int_equal(eventfd_write(item->fd, 1), 0);
	wf_progress_list_run(&list);
	assert_int_equal(item->works, 0);
	coarse.tv_sec++;
	wf_progress_list_run(&list);
	assert_int_equal(item->works, 1);

	let_rest(&list);
	item = a_parked_one(&list);
	coarse.tv_sec++;
	wf_progress_list_run(&list);
	assert_int_equal(eventfd_write(item->fd, 1), 0);
	assert_false(list.poll_next);
	assert_true(wf_progress_list_arm(&list));
	wf_progress_list_run(&list); /* a sleeper may have been woken by it */
	assert_int_equal(item->works, 1);
	coarse.tv_sec = 0;
	close_list(&list);
}

static int no_fd(struct wf_progress *base)
{
	(void)base;
	return -FI_ENOMEM;
}

/* Items that cannot be watched go on running: without a descriptor, without memory for
 * the list's, or with one that epoll does not take. */
static void who_cannot_be_watched_runs(void **state)
{
	struct wf_progress_list list;
	int fd = items[2].fd;

	(void)state;
	wf_progress_list_init(&list, WF_LOCK_SPIN, NULL);
	for (int i = 0; i < 4; i++)
		assert_int_equal(wf_progress_list_add(&list, &items[i].base), 0);
	items[0].base.arm = NULL;
	items[1].base.wait_fd = no_fd;
	items[2].fd = -1;
	items[3].base.wait_fd = NULL;
	for (int i = 0; i < LONG; i++)
		wf_progress_list_run(&list);
	assert_int_equal(list.awake, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(items[i].runs, LONG);
	assert_int_equal(items[0].arms, 0);
	assert_true(items[1].arms > 0);
	assert_int_equal(items[2].arms, items[1].arms);
	assert_int_equal(items[3].arms, 0);
	items[2].fd = fd;
	for (int i = 0; i < 4; i++)
		wf_progress_list_del(&list, &items[i].base);
	wf_progress_list_done(&list);
}

static void wake(struct item *item)
{
	pthread_mutex_lock(&item->lock);
	wf_progress_wake(&item->base);
	pthread_mutex_unlock(&item->lock);
}

static void who_is_waked_runs_at_once(void **state)
{
	struct wf_progress_list lists[2];
	struct item *item = &items[7];

	open_list(&lists[0], NULL);
	open_list(&lists[1], NULL);
	let_rest(&lists[0]);
	let_rest(&lists[1]);
	wake(item);
	wake(item);
	for (int i = 0; i < 2; i++) {
		item->runs = 0;
		wf_progress_list_run(&lists[i]);
		assert_int_equal(item->runs, 1);
	}
	/* Taken out with a wake-up that was not looked at yet. */
	let_rest(&lists[0]);
	wake(item);
	wf_progress_list_del(&lists[0], &item->base);
	wf_progress_list_run(&lists[0]);
	close_list(&lists[0]);
	close_list(&lists[1]);
}

static void the_busy_are_not_parked(void **state)
{
	struct wf_progress_list list;

	for (int i = 0; i < ITEMS; i++)
		items[i].busy = true;
	open_list(&list, NULL);
	for (int i = 0; i < LONG; i++)
		wf_progress_list_run(&list);
	assert_int_equal(list.awake, ITEMS);
	assert_true(items[0].arms > 0);
	close_list(&list);
}

static void any_may_leave(void **state)
{
	struct wf_progress_list list;
	struct item *item;

	open_list(&list, NULL);
	let_rest(&list);
	/* The last item that is awake: another one replaces it. */
	item = item_of(list.refs[0]->item);
	wf_progress_list_del(&list, &item->base);
	assert_int_equal(list.awake, 1);
	for (int i = 0; i < ITEMS; i += 2)
		wf_progress_list_del(&list, &items[i].base);
	(void)wf_progress_list_add(&list, &item->base);
	for (int i = 0; i < ITEMS; i++)
		assert_int_equal(eventfd_write(items[i].fd, 1), 0);
	for (int i = 0; i < 100; i++)
		wf_progress_list_run(&list);
	for (int i = 1; i < ITEMS; i += 2)
		assert_int_equal(items[i].works, 1);
	close_list(&list);
}

/* A sleeping thread is woken by a parked item, and its next poll finds the work. */
static void sleepers_are_woken(void **state)
{
	struct wf_progress_list list;
	struct wf_wait wait;
	struct item *item;
	int arms;

	assert_int_equal(wf_wait_init(&wait, FI_WAIT_FD, NULL), 0);
	open_list(&list, &wait);
	let_rest(&list);
	item = a_parked_one(&list);
	arms = item->arms;
	for (int i = 0; i < 10; i++) {
		struct pollfd fd = { .events = POLLIN };

		wf_progress_list_run(&list);
		(void)wf_wait_arm(&wait);
		assert_true(wf_progress_list_arm(&list));
		assert_int_equal(wf_wait_control(&wait, FI_GETWAIT, &fd.fd), 0);
		assert_int_equal(poll(&fd, 1, 0), 0);
		/* Not linear: it was armed when it was parked. */
		if (!i)
			assert_int_equal(item->arms, arms);
		assert_int_equal(eventfd_write(item->fd, 1), 0);
		assert_int_equal(poll(&fd, 1, -1), 1);
		item->works = 0;
		wf_progress_list_run(&list);
		assert_int_equal(item->works, 1);
	}
	close_list(&list);
	wf_wait_done(&wait);
}

static void *wake_often(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		wake(&items[i % ITEMS]);
		if (i % 7 == 0)
			(void)eventfd_write(items[i % ITEMS].fd, 1);
	}
	return NULL;
}

static void *come_and_go(void *arg)
{
	struct wf_progress_list *list = arg;

	for (int i = 0; i < 2000; i++) {
		struct wf_progress *item = &items[i % ITEMS].base;

		wf_progress_list_del(list, item);
		(void)wf_progress_list_add(list, item);
	}
	return NULL;
}

static void many_threads(void **state)
{
	struct wf_progress_list list;
	pthread_t threads[3];
	eventfd_t value;

	open_list(&list, NULL);
	let_rest(&list);
	assert_int_equal(pthread_create(&threads[0], NULL, wake_often, NULL), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, wake_often, NULL), 0);
	assert_int_equal(pthread_create(&threads[2], NULL, come_and_go, &list), 0);
	for (int i = 0; i < 5000; i++)
		wf_progress_list_run(&list);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	/* What was written last is found. */
	for (int i = 0; i < 200; i++)
		wf_progress_list_run(&list);
	for (int i = 0; i < ITEMS; i++)
		assert_int_not_equal(eventfd_read(items[i].fd, &value), 0);
	close_list(&list);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_items, close_items)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_is_alone_runs_always),
		TEST(the_idle_are_not_run),
		TEST(an_event_is_noticed),
		TEST(when_the_list_asks),
		TEST(who_cannot_be_watched_runs),
		TEST(who_is_waked_runs_at_once),
		TEST(the_busy_are_not_parked),
		TEST(any_may_leave),
		TEST(sleepers_are_woken),
		TEST(many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
