/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "objects/wait/wait.h"

/* Sets of descriptors that follow each other. */

/* More than epoll descriptors may be nested (EP_MAX_NESTS of Linux). */
enum { LAYERS = 8 };

struct layers {
	struct wf_fds fds[LAYERS];       /* the lowest layer first */
	struct wf_fds_link link[LAYERS]; /* link[0] is not used */
};

/* Each set follows the one below, and has an epoll descriptor. */
static void open_layers(struct layers *layers)
{
	*layers = (struct layers){ 0 };
	for (int i = 0; i < LAYERS; i++) {
		wf_fds_init(&layers->fds[i]);
		assert_true(wf_fds_open(&layers->fds[i]) >= 0);
		if (i)
			assert_int_equal(wf_fds_follow(&layers->link[i],
						 &layers->fds[i - 1], &layers->fds[i]),
				0);
	}
}

static void close_layers(struct layers *layers)
{
	for (int i = LAYERS - 1; i >= 0; i--) {
		wf_fds_unfollow(&layers->link[i]);
		assert_true(wf_list_empty(&layers->fds[i].followed));
		wf_fds_done(&layers->fds[i]);
	}
}

static bool is_readable(struct wf_fds *fds)
{
	struct epoll_event event;

	return epoll_wait(wf_fds_open(fds), &event, 1, 0) == 1;
}

static void sets_are_flat(void **state)
{
	struct layers layers;
	/* What a transport has: an epoll set with descriptors of its own. */
	int event = eventfd(1, EFD_NONBLOCK), transport = epoll_create1(0);
	/* And the application. */
	int app = epoll_create1(0);
	struct epoll_event in = { .events = EPOLLIN };
	struct wf_fds *top = &layers.fds[LAYERS - 1];

	open_layers(&layers);
	assert_int_equal(epoll_ctl(transport, EPOLL_CTL_ADD, event, &in), 0);
	assert_int_equal(wf_fds_add(&layers.fds[0], transport), 0);
	assert_int_equal(epoll_ctl(app, EPOLL_CTL_ADD, wf_fds_open(top), &in), 0);
	assert_int_equal(epoll_wait(app, &in, 1, 0), 1);
	wf_fds_del(&layers.fds[0], transport);
	assert_int_equal(epoll_wait(app, &in, 1, 0), 0);
	close_layers(&layers);
	(void)close(app);
	(void)close(transport);
	(void)close(event);
}

static void what_comes_later_is_passed_on(void **state)
{
	int first = eventfd(0, EFD_NONBLOCK), second = eventfd(1, EFD_NONBLOCK);
	struct layers layers;

	open_layers(&layers);
	assert_int_equal(wf_fds_add(&layers.fds[0], first), 0);
	assert_int_equal(wf_fds_add(&layers.fds[LAYERS / 2], second), 0);
	for (int i = 0; i < LAYERS; i++) {
		assert_int_equal(layers.fds[i].count, i < LAYERS / 2 ? 1 : 2);
		assert_int_equal(is_readable(&layers.fds[i]), i >= LAYERS / 2);
	}
	wf_fds_unfollow(&layers.link[LAYERS / 2]);
	for (int i = 0; i < LAYERS; i++)
		assert_int_equal(layers.fds[i].count, 1);
	/* A link may be used again. */
	assert_int_equal(wf_fds_follow(&layers.link[LAYERS / 2],
				 &layers.fds[LAYERS / 2 - 1], &layers.fds[LAYERS / 2]),
		0);
	assert_int_equal(layers.fds[LAYERS - 1].count, 2);
	close_layers(&layers);
	(void)close(first);
	(void)close(second);
}

/* A queue and an event queue below may have the descriptor of one endpoint. */
static void a_descriptor_leaves_with_its_last_use(void **state)
{
	struct wf_fds cq, eq, above;
	struct wf_fds_link links[2] = { 0 };
	int fd = eventfd(0, EFD_NONBLOCK);
	uint64_t index;

	wf_fds_init(&cq);
	wf_fds_init(&eq);
	wf_fds_init(&above);
	assert_int_equal(wf_fds_follow(&links[0], &cq, &above), 0);
	assert_int_equal(wf_fds_follow(&links[1], &eq, &above), 0);
	/* Following twice is following once. */
	assert_int_equal(wf_fds_follow(&links[1], &eq, &above), 0);
	assert_int_equal(wf_fds_add(&cq, fd), 0);
	assert_int_equal(wf_fds_add(&cq, fd), 0);
	assert_int_equal(wf_fds_add(&eq, fd), 0);
	assert_int_equal(above.count, 1);
	index = above.change_index;
	wf_fds_del(&cq, fd);
	wf_fds_unfollow(&links[1]);
	assert_int_equal(above.count, 1);
	assert_int_equal(above.change_index, index);
	wf_fds_del(&cq, fd);
	assert_int_equal(above.count, 0);
	assert_true(above.change_index > index);
	wf_fds_unfollow(&links[0]);
	wf_fds_done(&cq);
	wf_fds_done(&eq);
	wf_fds_done(&above);
	(void)close(fd);
}

/* One set that follows refuses a descriptor: no set has it. */
static void all_take_it_or_none(void **state)
{
	struct wf_fds below, taker, refuser;
	struct wf_fds_link links[2] = { 0 };
	int good = eventfd(0, EFD_NONBLOCK), bad = 1 << 20;

	wf_fds_init(&below);
	wf_fds_init(&taker);
	wf_fds_init(&refuser);
	/* A set without an epoll descriptor takes all numbers. */
	assert_int_equal(wf_fds_follow(&links[0], &below, &taker), 0);
	assert_int_equal(wf_fds_follow(&links[1], &below, &refuser), 0);
	assert_true(wf_fds_open(&refuser) >= 0);
	assert_int_equal(wf_fds_add(&below, bad), -EBADF);
	assert_int_equal(below.count + taker.count + refuser.count, 0);

	wf_fds_unfollow(&links[1]);
	assert_int_equal(wf_fds_add(&below, good), 0);
	assert_int_equal(wf_fds_add(&below, bad), 0);
	assert_int_equal(wf_fds_follow(&links[1], &below, &refuser), -EBADF);
	assert_int_equal(refuser.count, 0);
	assert_int_equal(taker.count, 2);
	/* The link is not in use. */
	wf_fds_unfollow(&links[1]);
	wf_fds_unfollow(&links[0]);
	assert_int_equal(taker.count, 0);
	wf_fds_done(&below);
	wf_fds_done(&taker);
	wf_fds_done(&refuser);
	(void)close(good);
}

/* An epoll descriptor that is opened late has what came before. */
static void opening_late_is_as_good(void **state)
{
	int fd = eventfd(1, EFD_NONBLOCK);
	struct wf_fds fds;

	wf_fds_init(&fds);
	assert_int_equal(wf_fds_add(&fds, fd), 0);
	assert_true(is_readable(&fds));
	assert_int_equal(wf_fds_open(&fds), fds.epfd);
	wf_fds_done(&fds);

	wf_fds_init(&fds);
	assert_int_equal(wf_fds_add(&fds, 1 << 20), 0);
	assert_int_equal(wf_fds_open(&fds), -EBADF);
	assert_int_equal(fds.epfd, -1);
	wf_fds_done(&fds);
	(void)close(fd);
}

/* What an item has of its own changes while it is in a list. */
static struct wf_fds *set_of_item;

static struct wf_fds *item_fds(struct wf_progress *item)
{
	return set_of_item;
}

static void run_nothing(struct wf_progress *item)
{
}

static void lists_follow_their_items(void **state)
{
	struct wf_progress item = { .run = run_nothing, .wait_fds = item_fds };
	int fd = eventfd(0, EFD_NONBLOCK);
	struct wf_progress_list list;
	struct wf_wait first, second;
	struct wf_fds fds;

	set_of_item = &fds;
	wf_fds_init(&fds);
	assert_int_equal(wf_wait_init(&first, FI_WAIT_FD, NULL), 0);
	assert_int_equal(wf_wait_init(&second, FI_WAIT_POLLFD, NULL), 0);
	wf_progress_list_init(&list, WF_LOCK_MUTEX, &first);
	assert_int_equal(wf_progress_list_add(&list, &item), 0);
	assert_int_equal(wf_fds_add(&fds, fd), 0);
	assert_int_equal(wf_wait_fds(&first)->count, 2);
	/* The list never needed the set's epoll descriptor. */
	assert_int_equal(fds.epfd, -1);
	assert_int_equal(wf_progress_list_set_wait(&list, &second), 0);
	assert_int_equal(wf_wait_fds(&first)->count, 1);
	assert_int_equal(wf_wait_fds(&second)->count, 2);
	wf_progress_list_del(&list, &item);
	assert_int_equal(wf_wait_fds(&second)->count, 1);
	/* An item that stays until the list is gone. */
	assert_int_equal(wf_progress_list_add(&list, &item), 0);
	wf_progress_list_done(&list);
	assert_int_equal(wf_wait_fds(&second)->count, 1);
	assert_true(wf_list_empty(&fds.followed));
	wf_wait_done(&first);
	wf_wait_done(&second);
	wf_fds_done(&fds);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_are_flat),
		cmocka_unit_test(what_comes_later_is_passed_on),
		cmocka_unit_test(a_descriptor_leaves_with_its_last_use),
		cmocka_unit_test(all_take_it_or_none),
		cmocka_unit_test(opening_late_is_as_good),
		cmocka_unit_test(lists_follow_their_items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
