/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../time_limits.h"
#include "objects/progress/progress.h"
#include "objects/wait/wait.h"
#include "sys/give_way.h"

enum { WATCHDOG_SECONDS = 100 };

/* An item with work as often as its event descriptor was written. */
struct item {
	struct wf_progress base;
	int fd;
	atomic_int runs;
	atomic_int works;
	atomic_int arms;
	bool ready;           /* what arm answers the other way round */
	pthread_mutex_t lock; /* with @cond: works changed */
	pthread_cond_t cond;
};

static void item_run(struct wf_progress *base)
{
	struct item *item = wf_container_of(base, struct item, base);
	eventfd_t value;

	(void)atomic_fetch_add(&item->runs, 1);
	if (item->fd < 0 || eventfd_read(item->fd, &value))
		return;
	(void)pthread_mutex_lock(&item->lock);
	(void)atomic_fetch_add(&item->works, (int)value);
	(void)pthread_cond_broadcast(&item->cond);
	(void)pthread_mutex_unlock(&item->lock);
}

static int item_fd(struct wf_progress *base)
{
	struct item *item = wf_container_of(base, struct item, base);

	if (item->fd < 0)
		item->fd = eventfd(0, EFD_NONBLOCK);
	return item->fd;
}

static bool item_arm(struct wf_progress *base)
{
	struct item *item = wf_container_of(base, struct item, base);

	(void)atomic_fetch_add(&item->arms, 1);
	return !item->ready;
}

static void item_init(struct item *item)
{
	memset(item, 0, sizeof(*item));
	item->base = (struct wf_progress){
		.run = item_run, .wait_fd = item_fd, .arm = item_arm
	};
	item->fd = -1;
	(void)pthread_mutex_init(&item->lock, NULL);
	(void)pthread_cond_init(&item->cond, NULL);
}

static void item_done(struct item *item)
{
	if (item->fd >= 0)
		(void)close(item->fd);
	(void)pthread_mutex_destroy(&item->lock);
	(void)pthread_cond_destroy(&item->cond);
}

static void item_await(struct item *item, int works)
{
	(void)pthread_mutex_lock(&item->lock);
	while (atomic_load(&item->works) < works)
		(void)pthread_cond_wait(&item->cond, &item->lock);
	(void)pthread_mutex_unlock(&item->lock);
}

static void an_item_added_twice_runs_once(void **state)
{
	struct wf_progress_list list;
	struct item a, b;

	item_init(&a);
	item_init(&b);
	wf_progress_list_init(&list, WF_LOCK_SPIN, NULL);
	assert_int_equal(wf_progress_list_add(&list, &a.base), 0);
	assert_int_equal(wf_progress_list_add(&list, &a.base), 0);
	assert_int_equal(wf_progress_list_add(&list, &b.base), 0);
	wf_progress_list_run(&list);
	assert_int_equal(a.runs, 1);
	assert_int_equal(b.runs, 1);
	wf_progress_list_del(&list, &a.base);
	wf_progress_list_run(&list);
	assert_int_equal(a.runs, 2);
	wf_progress_list_del(&list, &a.base);
	wf_progress_list_run(&list);
	assert_int_equal(a.runs, 2);
	assert_int_equal(b.runs, 3);
	/* No thread sleeps, so no descriptor was made. */
	assert_int_equal(a.fd, -1);
	wf_progress_list_del(&list, &b.base);
	wf_progress_list_done(&list);
	item_done(&a);
	item_done(&b);
}

static void many_items(void **state)
{
	enum { COUNT = 37 };
	struct wf_progress_list list;
	struct item items[COUNT];

	wf_progress_list_init(&list, WF_LOCK_SPIN, NULL);
	for (int i = 0; i < COUNT; i++) {
		item_init(&items[i]);
		assert_int_equal(wf_progress_list_add(&list, &items[i].base), 0);
	}
	for (int i = 0; i < COUNT; i += 2)
		wf_progress_list_del(&list, &items[i].base);
	wf_progress_list_run(&list);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(items[i].runs, i % 2);
	wf_progress_list_done(&list);
	for (int i = 0; i < COUNT; i++)
		item_done(&items[i]);
}

/* Movement is reported once; items that count their runs report it for a while. */
static void what_moved_is_told(void **state)
{
	struct wf_progress_list list;
	struct item bulk, counting;

	(void)state;
	item_init(&bulk);
	item_init(&counting);
	wf_progress_list_init(&list, WF_LOCK_SPIN, NULL);
	assert_int_equal(wf_progress_list_add(&list, &bulk.base), 0);
	assert_int_equal(wf_progress_list_add(&list, &counting.base), 0);
	assert_false(wf_progress_list_moved(&list));
	wf_progress_found_some(&bulk.base);
	assert_true(wf_progress_list_moved(&list));
	assert_false(wf_progress_list_moved(&list));
	wf_progress_found(&counting.base, true);
	for (int i = 0; i < 3; i++) {
		wf_progress_found(&counting.base, false);
		assert_true(wf_progress_list_moved(&list));
	}
	for (int i = 0; i < WF_PATIENCE_MISSES; i++)
		wf_progress_found(&counting.base, false);
	assert_false(wf_progress_list_moved(&list));
	wf_progress_list_done(&list);
	item_done(&bulk);
	item_done(&counting);
}

static void arm_tells_of_work(void **state)
{
	struct wf_progress_list list;
	struct item a, b;

	item_init(&a);
	item_init(&b);
	wf_progress_list_init(&list, WF_LOCK_SPIN, NULL);
	assert_true(wf_progress_list_arm(&list));
	assert_int_equal(wf_progress_list_add(&list, &a.base), 0);
	assert_int_equal(wf_progress_list_add(&list, &b.base), 0);
	assert_true(wf_progress_list_arm(&list));
	assert_int_equal(a.arms, 1);
	assert_int_equal(b.arms, 1);
	b.ready = true;
	assert_false(wf_progress_list_arm(&list));
	b.base.arm = NULL;
	assert_true(wf_progress_list_arm(&list));
	wf_progress_list_done(&list);
	item_done(&a);
	item_done(&b);
}

static bool fd_readable(struct wf_wait *wait)
{
	struct pollfd fd = { .events = POLLIN };

	assert_int_equal(wf_wait_control(wait, FI_GETWAIT, &fd.fd), 0);
	return poll(&fd, 1, 0) == 1;
}

static void descriptors_follow_the_items(void **state)
{
	struct wf_progress_list list;
	struct wf_wait wait, other;
	struct item a;

	item_init(&a);
	assert_int_equal(wf_wait_init(&wait, FI_WAIT_FD, NULL), 0);
	assert_int_equal(wf_wait_init(&other, FI_WAIT_FD, NULL), 0);
	wf_progress_list_init(&list, WF_LOCK_SPIN, &wait);
	assert_int_equal(wf_progress_list_add(&list, &a.base), 0);
	assert_int_equal(wf_progress_list_add(&list, &a.base), 0);
	/* What is new wakes once; arming reads it away. */
	(void)wf_wait_arm(&wait);
	assert_false(fd_readable(&wait));
	assert_int_equal(eventfd_write(a.fd, 1), 0);
	assert_true(fd_readable(&wait));
	assert_int_equal(wf_progress_list_set_wait(&list, &other), 0);
	assert_false(fd_readable(&wait));
	assert_true(fd_readable(&other));
	wf_progress_list_del(&list, &a.base);
	assert_true(fd_readable(&other));
	wf_progress_list_del(&list, &a.base);
	assert_false(fd_readable(&other));
	wf_progress_list_done(&list);
	wf_wait_done(&wait);
	wf_wait_done(&other);
	item_done(&a);
}

static int no_fd(struct wf_progress *base)
{
	return -FI_EMFILE;
}

static void an_item_without_its_descriptor_is_refused(void **state)
{
	struct wf_progress_list list;
	struct wf_wait wait;
	struct item a;

	item_init(&a);
	a.base.wait_fd = no_fd;
	assert_int_equal(wf_wait_init(&wait, FI_WAIT_FD, NULL), 0);
	wf_progress_list_init(&list, WF_LOCK_SPIN, &wait);
	assert_int_equal(wf_progress_list_add(&list, &a.base), -FI_EMFILE);
	wf_progress_list_run(&list);
	assert_int_equal(a.runs, 0);
	wf_progress_list_done(&list);
	wf_wait_done(&wait);
	item_done(&a);
}

static struct fid_domain *auto_domain(struct fid_fabric *fabric)
{
	return fake_domain_of(fabric, fake_info(FI_THREAD_SAFE, FI_PROGRESS_AUTO));
}

/* THR-006 */
static void the_thread_does_the_work(void **state)
{
	enum { ROUNDS = 200 };
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fid_domain *domain = auto_domain(fabric);
	struct item a;

	item_init(&a);
	(void)alarm(limit_s(WATCHDOG_SECONDS));
	assert_int_equal(wf_domain_progress_add(wf_domain_of(domain), &a.base), 0);
	for (int i = 1; i <= ROUNDS; i++) {
		assert_int_equal(eventfd_write(a.fd, 1), 0);
		item_await(&a, i);
	}
	wf_domain_progress_del(wf_domain_of(domain), &a.base);
	(void)alarm(0);
	assert_closed(domain);
	assert_closed(fabric);
	item_done(&a);
}

static void note_run(struct wf_progress *base)
{
	struct item *item = wf_container_of(base, struct item, base);

	(void)pthread_mutex_lock(&item->lock);
	(void)atomic_fetch_add(&item->works, 1);
	(void)pthread_cond_broadcast(&item->cond);
	(void)pthread_mutex_unlock(&item->lock);
}

/* No descriptor reports the new item, which may have work nevertheless. */
static void a_new_item_wakes_the_thread(void **state)
{
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fid_domain *domain = auto_domain(fabric);
	struct item item, beat;

	item_init(&item);
	item_init(&beat);
	item.base = (struct wf_progress){ .run = note_run };
	(void)alarm(limit_s(WATCHDOG_SECONDS));
	assert_int_equal(wf_domain_progress_add(wf_domain_of(domain), &beat.base), 0);
	assert_int_equal(eventfd_write(beat.fd, 1), 0);
	item_await(&beat, 1);
	/* Most likely it is asleep then. */
	(void)usleep(20000);
	assert_int_equal(wf_domain_progress_add(wf_domain_of(domain), &item.base), 0);
	item_await(&item, 1);
	wf_domain_progress_del(wf_domain_of(domain), &item.base);
	wf_domain_progress_del(wf_domain_of(domain), &beat.base);
	(void)alarm(0);
	assert_closed(domain);
	assert_closed(fabric);
	item_done(&item);
	item_done(&beat);
}

static void items_from_before_the_thread(void **state)
{
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fid_domain *domain = fake_domain(fabric);
	struct item a;

	item_init(&a);
	(void)alarm(limit_s(WATCHDOG_SECONDS));
	assert_int_equal(wf_domain_progress_add(wf_domain_of(domain), &a.base), 0);
	assert_int_equal(a.fd, -1);
	assert_int_equal(wf_domain_need_thread(wf_domain_of(domain)), 0);
	assert_int_equal(wf_domain_need_thread(wf_domain_of(domain)), 0);
	assert_true(a.fd >= 0);
	assert_int_equal(eventfd_write(a.fd, 1), 0);
	item_await(&a, 1);
	wf_domain_progress_del(wf_domain_of(domain), &a.base);
	(void)alarm(0);
	assert_closed(domain);
	assert_closed(fabric);
	item_done(&a);
}

struct quiet {
	struct item item;
	int useless;
};

/* Its descriptor is an epoll one, which arm() empties: what is readable below it is
 * nothing that run() could use. */
static bool quiet_arm(struct wf_progress *base)
{
	struct quiet *quiet = wf_container_of(base, struct quiet, item.base);
	struct epoll_event event = { 0 };

	(void)epoll_ctl(quiet->item.fd, EPOLL_CTL_MOD, quiet->useless, &event);
	return true;
}

static void quiet_run(struct wf_progress *base)
{
	(void)atomic_fetch_add(&wf_container_of(base, struct item, base)->runs, 1);
}

static int quiet_fd(struct wf_progress *base)
{
	return wf_container_of(base, struct item, base)->fd;
}

static void the_thread_never_spins(void **state)
{
	enum { ROUNDS = 50 };
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fid_domain *domain = auto_domain(fabric);
	struct epoll_event event = { .events = EPOLLIN };
	struct quiet quiet;
	struct item beat;

	item_init(&quiet.item);
	item_init(&beat);
	quiet.item.base = (struct wf_progress){
		.run = quiet_run, .wait_fd = quiet_fd, .arm = quiet_arm
	};
	quiet.useless = eventfd(1, 0);
	quiet.item.fd = epoll_create1(0);
	assert_int_equal(
		epoll_ctl(quiet.item.fd, EPOLL_CTL_ADD, quiet.useless, &event), 0);
	(void)alarm(limit_s(WATCHDOG_SECONDS));
	assert_int_equal(
		wf_domain_progress_add(wf_domain_of(domain), &quiet.item.base), 0);
	assert_int_equal(wf_domain_progress_add(wf_domain_of(domain), &beat.base), 0);
	for (int i = 1; i <= ROUNDS; i++) {
		(void)usleep(1000);
		assert_int_equal(eventfd_write(beat.fd, 1), 0);
		item_await(&beat, i);
	}
	/* Each beat costs a round, each change of the list two at most. */
	assert_true(atomic_load(&quiet.item.runs) <= ROUNDS + 8);
	wf_domain_progress_del(wf_domain_of(domain), &quiet.item.base);
	wf_domain_progress_del(wf_domain_of(domain), &beat.base);
	(void)alarm(0);
	assert_closed(domain);
	assert_closed(fabric);
	item_done(&beat);
	(void)close(quiet.useless);
	item_done(&quiet.item);
}

static void *come_and_go(void *arg)
{
	enum { ROUNDS = 300 };
	struct item item;

	for (int i = 0; i < ROUNDS; i++) {
		item_init(&item);
		assert_int_equal(wf_domain_progress_add(arg, &item.base), 0);
		assert_int_equal(eventfd_write(item.fd, 1), 0);
		if (i % 3 == 0)
			item_await(&item, 1);
		wf_domain_progress_del(arg, &item.base);
		item_done(&item);
	}
	return NULL;
}

static void items_come_and_go_while_it_runs(void **state)
{
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fid_domain *domain = auto_domain(fabric);
	pthread_t threads[3];

	(void)alarm(limit_s(WATCHDOG_SECONDS));
	for (size_t i = 0; i < WF_ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, come_and_go,
					 wf_domain_of(domain)),
			0);
	for (size_t i = 0; i < WF_ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	(void)alarm(0);
	assert_closed(domain);
	assert_closed(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_item_added_twice_runs_once),
		cmocka_unit_test(many_items),
		cmocka_unit_test(what_moved_is_told),
		cmocka_unit_test(arm_tells_of_work),
		cmocka_unit_test(descriptors_follow_the_items),
		cmocka_unit_test(an_item_without_its_descriptor_is_refused),
		cmocka_unit_test(the_thread_does_the_work),
		cmocka_unit_test(a_new_item_wakes_the_thread),
		cmocka_unit_test(items_from_before_the_thread),
		cmocka_unit_test(the_thread_never_spins),
		cmocka_unit_test(items_come_and_go_while_it_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
