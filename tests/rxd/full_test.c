/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_rxd over a provider that refuses a post (datagram_module.c, in the directory that
 * the first argument names): each one of those that operations of all kinds need, in
 * turn, also those of receive buffers and acknowledgements. If its queue is full, or a
 * packet fails, everything ends as if it had not.
 *
 * With a second argument packets are not injected.
 */
#include "../all_operations.h"
#include "../refused_posts.h"

static struct posts *posts;

static void open_pair(void)
{
	open_both("testdgram;ofi_rxd", 0);
}

static void refuse(unsigned int from, unsigned int length, int err)
{
	*posts = (struct posts){ .from = from, .length = length, .err = err };
}

static void run_all(unsigned int from, unsigned int length, int err)
{
	refuse(from, length, err);
	start_all();
	run_until(all_arrived);
	refuse(0, 0, 0);
}

static void refuse_each(unsigned int length, int err)
{
	unsigned int count;

	open_pair();
	run_all(0, 0, 0);
	refuse(0, 0, 0);
	start_all();
	run_until(all_arrived);
	count = posts->count;
	assert_true(count > 2 * ROWS);
	for (unsigned int k = 1; k <= count; k++)
		run_all(k, length, err);
	close_both();
}

static void a_full_queue_delays_only(void **state)
{
	(void)state;
	refuse_each(1, -FI_EAGAIN);
	refuse_each(9, -FI_EAGAIN);
}

static void a_failed_packet_is_sent_again(void **state)
{
	(void)state;
	refuse_each(1, -FI_EIO);
}

/* The same from the first post of a peer on. */
static void a_queue_is_full_when_peers_meet(void **state)
{
	enum { FIRST = 60 };

	(void)state;
	for (unsigned int k = 1; k <= FIRST; k++) {
		open_pair();
		run_all(k, 2, -FI_EAGAIN);
		close_both();
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_queue_delays_only),
		cmocka_unit_test(a_failed_packet_is_sent_again),
		cmocka_unit_test(a_queue_is_full_when_peers_meet),
	};

	if (argc > 2)
		setenv("TESTDGRAM_NO_INJECT", "1", 1);
	posts = exported(argc > 1 ? argv[1] : ".", "testdgram", "posts");
	if (!posts)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
