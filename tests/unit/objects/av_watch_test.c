/* SPDX-License-Identifier: BSD-2-Clause */
/* Watches of an AV: which of them are called, in which order, and how often. */
#include "av_fixture.h"

#include "objects/av/internal.h"

enum { WATCHES = 3 };

static struct watch {
	struct wf_av_watch watch;
	struct wf_av *av;
	unsigned int nested; /* calls from within the callback that are still to do */
	bool leaves;         /* removes itself from the list in the callback */
} watches[WATCHES];

/* The numbers of the watches in the order of their calls, and the last removal. */
static char calls[32];
static uint64_t last_index;
static size_t last_count;

static void note(struct wf_av_watch *watch)
{
	struct watch *w = wf_container_of(watch, struct watch, watch);
	size_t len = strlen(calls);

	assert_true(len + 1 < sizeof(calls));
	calls[len] = (char)('0' + (w - watches));
	calls[len + 1] = '\0';
	assert_true(wf_av_watch_is_called(watch));
	if (w->leaves)
		wf_av_watch_del(w->av, watch);
}

static void on_inserted(struct wf_av_watch *watch)
{
	struct watch *w = wf_container_of(watch, struct watch, watch);

	note(watch);
	if (!w->nested)
		return;
	w->nested--;
	wf_av_tell_watches(w->av);
}

static void on_removed(struct wf_av_watch *watch, const uint64_t *index, size_t count)
{
	note(watch);
	last_index = *index;
	last_count = count;
}

static struct fid_av *open_watched(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });

	memset(watches, 0, sizeof(watches));
	for (int i = 0; i < WATCHES; i++) {
		watches[i].av = wf_av_of(av);
		watches[i].watch.inserted = on_inserted;
		watches[i].watch.removed = on_removed;
	}
	wf_av_watch_add(wf_av_of(av), &watches[1].watch);
	wf_av_watch_add(wf_av_of(av), &watches[2].watch);
	wf_av_watch_add_first(wf_av_of(av), &watches[0].watch);
	calls[0] = '\0';
	return av;
}

static void close_watched(struct fid_av *av)
{
	for (int i = 0; i < WATCHES; i++) {
		assert_false(wf_av_watch_is_called(&watches[i].watch));
		wf_av_watch_wait(&watches[i].watch);
		if (!watches[i].leaves)
			wf_av_watch_del(wf_av_of(av), &watches[i].watch);
	}
	assert_true(wf_list_empty(&wf_av_of(av)->watches));
	assert_int_equal(fi_close(&av->fid), 0);
}

static void all_are_called_in_order(void **state)
{
	struct fid_av *av = open_watched(state);
	struct sockaddr_in sa[2] = { in_addr_of(1, 1), in_addr_of(0, 0) };
	fi_addr_t addr;

	assert_int_equal(fi_av_insert(av, sa, 1, &addr, 0, NULL), 1);
	assert_string_equal(calls, "012");
	/* Nothing is inserted: nobody has to know. */
	assert_int_equal(fi_av_insert(av, sa + 1, 1, NULL, 0, NULL), 0);
	assert_string_equal(calls, "012");
	assert_int_equal(fi_av_set_user_id(av, addr, 77, 0), 0);
	assert_string_equal(calls, "012012");
	assert_int_equal(fi_av_set_user_id(av, 5, 77, 0), -FI_EINVAL);
	assert_string_equal(calls, "012012");
	assert_int_equal(fi_av_remove(av, &addr, 1, 0), 0);
	assert_string_equal(calls, "012012012");
	assert_int_equal(last_index, addr);
	assert_int_equal(last_count, 1);
	wf_av_tell_removed(wf_av_of(av), &last_index, 0);
	assert_string_equal(calls, "012012012");
	close_watched(av);
}

/* A second call runs while the first one is in a callback: it passes the first one's
 * place in the list, and both call all watches. */
static void two_calls_at_a_time(void **state)
{
	struct fid_av *av = open_watched(state);

	watches[0].nested = 1;
	wf_av_tell_watches(wf_av_of(av));
	assert_string_equal(calls, "001212");
	calls[0] = '\0';
	watches[1].nested = 2;
	wf_av_tell_watches(wf_av_of(av));
	assert_string_equal(calls, "010101222");
	close_watched(av);
}

/* A watch that is removed within its callback does not stop the others. */
static void one_leaves(void **state)
{
	struct fid_av *av = open_watched(state);

	watches[1].leaves = true;
	wf_av_tell_watches(wf_av_of(av));
	assert_string_equal(calls, "012");
	wf_av_tell_watches(wf_av_of(av));
	assert_string_equal(calls, "01202");
	close_watched(av);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AV_TEST(all_are_called_in_order),
		AV_TEST(two_calls_at_a_time),
		AV_TEST(one_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
