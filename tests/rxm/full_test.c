/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A provider below that refuses a post (stream_module.c, in the directory that the
 * first argument names): each one of those that operations of all kinds need, in turn,
 * also the posts of receive buffers, credits and answers. If its queue is full,
 * everything ends as if it had not been; with another error all operations end, and
 * later ones succeed.
 *
 * With a second argument "write" the sender writes long messages; with "local" the
 * buffers of operations below have to be registered.
 */
#include "../all_operations.h"
#include "../refused_posts.h"

static struct posts *posts;

static void open_pair(void)
{
	open_both("testmsg;ofi_rxm");
}

/* Refuse @length posts from number @from on. */
static void refuse(unsigned int from, unsigned int length, int err)
{
	*posts = (struct posts){ .from = from, .length = length, .err = err };
}

/* ---- cases ---- */

/* Posts of all operations over a connection that is up. */
static unsigned int count_posts(void)
{
	refuse(0, 0, 0);
	start_all();
	run_until(all_arrived);
	return posts->count;
}

static void a_full_queue_delays_only(void **state)
{
	static const unsigned int lengths[] = { 1, 6 };
	unsigned int count;

	(void)state;
	open_pair();
	(void)count_posts();
	count = count_posts();
	for (int kind = 0; kind < POST_KINDS; kind++)
		assert_true(posts->of_kind[kind]);
	for (size_t n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++)
		for (unsigned int k = 1; k <= count; k++) {
			refuse(k, lengths[n], -FI_EAGAIN);
			start_all();
			run_until(all_arrived);
		}
	close_both();
}

/* The same from the first post of a connection on: its buffers, and the first credits.
 */
static void a_queue_is_full_when_a_connection_begins(void **state)
{
	enum { FIRST = 40 };

	(void)state;
	for (unsigned int k = 1; k <= FIRST; k++) {
		refuse(k, 1, -FI_EAGAIN);
		open_pair();
		start_all();
		run_until(all_arrived);
		close_both();
	}
}

/* A post fails: all operations end nevertheless, some with an error, and the next ones
 * succeed. */
static void a_failed_post_ends_operations(void **state)
{
	unsigned int count;

	(void)state;
	open_pair();
	(void)count_posts();
	count = count_posts();
	for (unsigned int k = 1; k <= count; k++) {
		refuse(k, 1, -FI_EIO);
		start_all();
		run_until(all_sent);
		for (size_t i = 0; i < ROWS; i++)
			if (!states[i].received)
				(void)fi_cancel(
					rows[i].back ? &left.ep->fid : &right.ep->fid,
					&states[i].rx);
		run_until(all_received);
		refuse(0, 0, 0);
	}
	/* What was sent to cancelled receives goes with the endpoints. */
	close_both();
	open_pair();
	(void)count_posts();
	close_both();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_queue_delays_only),
		cmocka_unit_test(a_queue_is_full_when_a_connection_begins),
		cmocka_unit_test(a_failed_post_ends_operations),
	};
	const char *dir = argc > 1 ? argv[1] : ".";

	setenv("FI_OFI_RXM_BUFFER_SIZE", "512", 1);
	setenv("FI_OFI_RXM_SAR_LIMIT", "2048", 1);
	setenv("FI_OFI_RXM_MSG_RX_SIZE", "4", 1);
	if (argc > 2 && !strcmp(argv[2], "write"))
		setenv("FI_OFI_RXM_USE_RNDV_WRITE", "1", 1);
	if (argc > 2 && !strcmp(argv[2], "local"))
		setenv("TESTMSG_MR_LOCAL", "1", 1);
	posts = posts_of(dir, "testmsg");
	if (!posts)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
