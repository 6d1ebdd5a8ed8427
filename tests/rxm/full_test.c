/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A provider below that refuses a post (stream_module.c, in the directory that the
 * first argument names): each one of those that operations of all kinds need, in turn,
 * also the posts of receive buffers, credits and answers. If its queue is full,
 * everything ends as if it had not been; with another error all operations end, and
 * later ones succeed.
 *
 * With a second argument "write" the sender writes long messages; with "local" the
 * buffers of operations below have to be registered, and with "given" the application
 * does that; with "shared" connections share receive buffers; with "joined" messages
 * below have one buffer.
 */
#include "../all_operations.h"
#include "../refused_posts.h"

static struct posts *posts;

static struct region_counts *registered;
static int mr_mode;

static void open_pair(void)
{
	assert_int_equal(registered->open, 0);
	open_both("testmsg;ofi_rxm", mr_mode);
}

static void close_pair(void)
{
	close_both();
	assert_int_equal(registered->open, 0);
}

/* All arrive, and no end sends more than the other one has buffers for. */
static void await_all(void)
{
	run_until(all_arrived);
	if (!getenv("FI_OFI_RXM_USE_SRX"))
		assert_int_equal(posts->overruns, 0);
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
	await_all();
	return posts->count;
}

/* Buffers and registrations are given back: the same operations need the same. */
static void nothing_piles_up(void **state)
{
	unsigned int made, open;

	(void)state;
	open_pair();
	(void)count_posts();
	open = registered->open;
	made = registered->made;
	(void)count_posts();
	made = registered->made - made;
	for (int i = 0; i < 40; i++) {
		unsigned int before = registered->made;

		(void)count_posts();
		assert_int_equal(registered->made - before, made);
		assert_int_equal(registered->open, open);
	}
	close_pair();
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
		assert_true(kind == POST_RECV || posts->of_kind[kind]);
	for (size_t n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++)
		for (unsigned int k = 1; k <= count; k++) {
			refuse(k, lengths[n], -FI_EAGAIN);
			start_all();
			await_all();
		}
	close_pair();
}

/* The same from the first post of a connection on: its buffers, and the first
 * credits. */
static void a_queue_is_full_when_a_connection_begins(void **state)
{
	enum { FIRST = 40 };

	(void)state;
	for (unsigned int k = 1; k <= FIRST; k++) {
		refuse(k, 1, -FI_EAGAIN);
		open_pair();
		start_all();
		await_all();
		close_pair();
	}
}

/* A post fails with @err: all operations end nevertheless, some with an error, and the
 * next ones succeed. */
static void fail_each(int err)
{
	unsigned int count;

	open_pair();
	(void)count_posts();
	count = count_posts();
	for (unsigned int k = 1; k <= count; k++) {
		refuse(k, 1, err);
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
	close_pair();
	open_pair();
	(void)count_posts();
	close_pair();
}

static void a_failed_post_ends_operations(void **state)
{
	(void)state;
	fail_each(-FI_EIO);
}

static void a_post_finds_the_connection_lost(void **state)
{
	(void)state;
	fail_each(-FI_ENOTCONN);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_piles_up),
		cmocka_unit_test(a_full_queue_delays_only),
		cmocka_unit_test(a_queue_is_full_when_a_connection_begins),
		cmocka_unit_test(a_failed_post_ends_operations),
		cmocka_unit_test(a_post_finds_the_connection_lost),
	};
	const char *dir = argc > 1 ? argv[1] : ".", *how = argc > 2 ? argv[2] : "";

	setenv("FI_OFI_RXM_BUFFER_SIZE", "512", 1);
	setenv("FI_OFI_RXM_SAR_LIMIT", "2048", 1);
	setenv("FI_OFI_RXM_MSG_RX_SIZE", "4", 1);
	if (!strcmp(how, "write"))
		setenv("FI_OFI_RXM_USE_RNDV_WRITE", "1", 1);
	if (!strcmp(how, "shared"))
		setenv("FI_OFI_RXM_USE_SRX", "1", 1);
	if (!strcmp(how, "joined"))
		setenv("TESTMSG_ONE_BUFFER", "1", 1);
	if (!strcmp(how, "local") || !strcmp(how, "given"))
		setenv("TESTMSG_MR_LOCAL", "1", 1);
	if (!strcmp(how, "given"))
		mr_mode = FI_MR_LOCAL;
	posts = exported(dir, "testmsg", "posts");
	registered = exported(dir, "testmsg", "regions");
	if (!posts || !registered)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
