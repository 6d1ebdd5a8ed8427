/* SPDX-License-Identifier: BSD-2-Clause */
/* Work that is put off until no lock is held: its order, and what wakes sleepers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../readable.h"
#include "objects/progress/later.h"
#include "shortage.h"

enum { ITEMS = 3 };

static struct wf_list items[ITEMS];
static int done[ITEMS], done_count;
static int refused; /* so many calls are */

static bool run(struct wf_later *later, struct wf_list *item)
{
	(void)later;
	if (refused) {
		refused--;
		return false;
	}
	done[done_count++] = (int)(item - items);
	return true;
}

static void open_with_items(struct wf_later *later)
{
	done_count = refused = 0;
	wf_later_init(later, run);
	for (int i = 0; i < ITEMS; i++) {
		wf_list_init(&items[i]);
		wf_later_add(later, &items[i]);
	}
}

static void expect_all_in_order(void)
{
	assert_int_equal(done_count, ITEMS);
	for (int i = 0; i < ITEMS; i++)
		assert_int_equal(done[i], i);
}

static void the_others_wait_for_one_that_is_refused(void **state)
{
	struct wf_later later;

	open_with_items(&later);
	refused = 2;
	wf_later_run(&later);
	assert_int_equal(done_count, 0);
	wf_later_run(&later);
	assert_int_equal(done_count, 0);
	wf_later_run(&later);
	expect_all_in_order();
	wf_later_run(&later);
	assert_int_equal(done_count, ITEMS);
	wf_later_done(&later);
}

static void sleepers_are_woken(void **state)
{
	struct wf_later later;
	struct wf_progress *item = &later.progress;
	int fd;

	open_with_items(&later);
	fd = item->wait_fd(item);
	assert_true(fd >= 0);
	assert_int_equal(item->wait_fd(item), fd);
	/* There is something to do: no sleep. */
	refused = 1;
	item->run(item);
	assert_false(item->arm(item));
	item->run(item);
	expect_all_in_order();
	assert_true(item->arm(item));
	assert_false(is_readable(fd, 0));
	done_count = 0;
	wf_later_add(&later, &items[0]);
	assert_true(is_readable(fd, 0));
	assert_false(item->arm(item));
	assert_false(is_readable(fd, 0));
	item->run(item);
	assert_int_equal(done_count, 1);
	assert_true(item->arm(item));
	wf_later_done(&later);
}

static ssize_t ask_for_descriptor(void *arg)
{
	struct wf_later *later = arg;
	int fd = later->progress.wait_fd(&later->progress);

	assert_int_equal(atomic_load(&later->fd), fd < 0 ? -1 : fd);
	return fd < 0 ? fd : 0;
}

static void without_a_descriptor(void **state)
{
	struct wf_later later;

	(void)state;
	wf_later_init(&later, run);
	assert_int_equal(shortage_each(ask_for_descriptor, &later), 1);
	wf_later_done(&later);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_others_wait_for_one_that_is_refused),
		cmocka_unit_test(sleepers_are_woken),
		cmocka_unit_test(without_a_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
