/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The endpoint below: its connections begin and end, what a peer leaves unread, forked
 * children, and progress calls that poll nothing else.
 */
#include "below_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

/* Messages that the peer left unread. */
struct heir {
	struct wf_unread unread;
	unsigned int count;
	char text[4][16];
	uint64_t tag[4];
};

static void take(struct wf_unread *unread, const struct wf_op *op)
{
	struct heir *heir = wf_container_of(unread, struct heir, unread);

	assert_true(heir->count < WF_ARRAY_SIZE(heir->text));
	assert_int_equal(op->kind, WF_OP_TSEND);
	assert_true(op->flags & FI_INJECT);
	assert_true(op->len <= sizeof(heir->text[0]));
	assert_int_equal(wf_iov_gather(heir->text[heir->count], op->iov, op->iov_count),
		op->len);
	heir->tag[heir->count++] = op->tag;
}

/* Once the peer is reached, a message is with it whether it makes progress or not, and
 * its end receives the message before it ends the connection. */
static void a_connection_begins_and_ends(void **state)
{
	uint64_t deadline = wf_deadline_ns(limit_ms(10000));
	struct fi_cq_tagged_entry entry;
	struct end a, b;
	char in[16] = "";
	fi_addr_t src = 0;

	(void)state;
	open_two(&a, &b);
	assert_int_equal(start_as(&a, "below", 6, &a, WF_OP_REACHED), -FI_ENOTCONN);
	reach_each_other(&a, &b);
	assert_int_equal(
		fi_trecv(b.pair.ep, in, sizeof(in), NULL, b.other, 7, 0, in), 0);
	assert_int_equal(start_as(&a, "below", 6, &a, WF_OP_REACHED), 0);
	part(&b);
	entry = wait_for(&b, &a, &src);
	assert_ptr_equal(entry.op_context, in);
	assert_string_equal(in, "below");
	assert_int_equal(src, b.other);
	/* The other end notices; nothing waits for a new connection. */
	while (start_as(&a, "below", 6, &a, WF_OP_REACHED) != -FI_ENOTCONN) {
		assert_false(wf_expired(deadline));
		(void)fi_cq_read(a.pair.cq, NULL, 0);
	}
	part(&a);
	close_end(&a);
	close_end(&b);
}

static void expect_unread(struct heir *heir)
{
	assert_int_equal(heir->count, 2);
	assert_string_equal(heir->text[0], "first");
	assert_string_equal(heir->text[1], "second");
	assert_int_equal(heir->tag[0], 7);
	memset(heir, 0, sizeof(*heir));
	heir->unread.take = take;
}

/* What the peer has not begun to receive when it closes is handed over, whether the
 * endpoint below knows of the end or not; and nothing while the peer may receive it. */
static void what_a_peer_leaves_unread(void **state)
{
	struct heir heir = { .unread = { take } };
	struct end a, b;

	(void)state;
	for (int knows = 0; knows < 2; knows++) {
		open_two(&a, &b);
		reach_each_other(&a, &b);
		assert_true(is_reached(&a));
		assert_int_equal(start_as(&a, "first", 6, &a, WF_OP_REACHED), 0);
		assert_int_equal(start_as(&a, "second", 7, &a, WF_OP_REACHED), 0);
		close_end(&b);
		assert_false(is_reached(&a));
		for (int i = 0; knows && i < 10000; i++)
			(void)fi_cq_read(a.pair.cq, NULL, 0);
		part_with(&a, &heir.unread);
		expect_unread(&heir);
		close_end(&a);
	}
	open_two(&a, &b);
	reach_each_other(&a, &b);
	assert_int_equal(start_as(&a, "first", 6, &a, WF_OP_REACHED), 0);
	part_with(&a, &heir.unread);
	assert_int_equal(heir.count, 0);
	close_end(&a);
	close_end(&b);
}

/* As if so many connections had switched to memory. */
static void set_memory_conns(struct end *end, unsigned int memory_conns)
{
	wf_lock(&end->pair.tcp->ep.lock);
	end->pair.tcp->memory_conns = memory_conns;
	wf_unlock(&end->pair.tcp->ep.lock);
}

/* The peer accepts, sends, and leaves before this end has read the acceptance: the
 * message is received when this end ends the connection. */
static void a_message_with_the_acceptance(void **state)
{
	uint64_t deadline = wf_deadline_ns(limit_ms(10000));
	struct fi_cq_tagged_entry entry;
	struct end a, b;
	char in[16] = "";

	(void)state;
	open_two(&a, &b);
	assert_int_equal(
		fi_trecv(a.pair.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, 7, 0, in), 0);
	assert_int_equal(reach(&a), -FI_EAGAIN);
	while (!is_reached(&b)) {
		assert_false(wf_expired(deadline));
		(void)fi_cq_read(b.pair.cq, NULL, 0);
	}
	assert_int_equal(start(&b, "below", 6, &b), 0);
	part(&b);
	part(&a);
	assert_string_equal(in, "below");
	assert_int_equal(fi_cq_read(a.pair.cq, &entry, 1), 1);
	close_end(&a);
	close_end(&b);
}

/* A child has no part in the memory of its parent, at whatever time it is forked. */
static void a_forked_child_uses_nothing(void **state)
{
	struct end a, b;
	pid_t child;
	int status;

	(void)state;
	open_two(&a, &b);
	reach_each_other(&a, &b);
	set_memory_conns(&a, 1);
	while (!wf_progress_is_partial(&a.pair.tcp->ep.progress))
		(void)fi_cq_read(a.pair.cq, NULL, 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		for (int i = 0; i < 1000; i++)
			if (fi_cq_read(a.pair.cq, NULL, 0) != -FI_EOPBADSTATE)
				_exit(2);
		_exit(fi_tinject(a.pair.ep, "small", 5, a.below, 7) !=
				-FI_EOPBADSTATE ||
			fi_close(&a.pair.ep->fid));
	}
	set_memory_conns(&a, 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(is_reached(&a));
	assert_int_equal(start_as(&a, "first", 6, &a, WF_OP_REACHED), 0);
	part(&a);
	close_end(&a);
	close_end(&b);
}

/* The process that opens the endpoint is in its name, not the one that was forked and
 * asked for the provider below. */
static void a_child_has_its_own_name(void **state)
{
	char pid[32];
	struct end a;
	pid_t child;
	int status;

	(void)state;
	open_end(&a, FI_TAGGED);
	assert_int_equal(tcp_below_open(a.pair.tcp), 0);
	close_end(&a);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		(void)snprintf(pid, sizeof(pid), "//weft-%d-", (int)getpid());
		open_end(&a, FI_TAGGED);
		_exit(tcp_below_open(a.pair.tcp) ||
			!strstr(wf_local_name(a.pair.tcp->below), pid));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static uint32_t epoch_after(struct end *end, unsigned int reads)
{
	for (unsigned int i = 0; i < reads; i++)
		(void)fi_cq_read(end->pair.cq, NULL, 0);
	return end->pair.tcp->epoch;
}

static void wake(struct end *end)
{
	wf_lock(&end->pair.tcp->ep.lock);
	wf_progress_wake(&end->pair.tcp->ep.progress);
	wf_unlock(&end->pair.tcp->ep.lock);
}

/* While all peers are reached by memory, few progress calls look at the sockets; all do
 * as soon as there is something to do, or a thread may sleep. */
static void most_calls_are_partial(void **state)
{
	/* The coarse clock is read in each eighth call, and a sequence has at most
	 * 2048 calls. */
	enum { READS = 16384, MOST = READS / 8 + 1, FEWEST = READS / 2049 };
	struct wf_progress *item;
	struct end a, b;
	uint32_t epoch;
	char in[16] = "";
	fi_addr_t src;

	(void)state;
	open_two(&a, &b);
	item = &b.pair.tcp->ep.progress;
	epoch = epoch_after(&b, 1);
	assert_int_equal(epoch_after(&b, 100), epoch + 100);
	assert_false(wf_progress_is_partial(item));
	set_memory_conns(&b, 1);
	epoch = epoch_after(&b, 1);
	assert_in_range(epoch_after(&b, READS) - epoch, FEWEST, MOST);
	/* The endpoint below is polled all the same. */
	assert_int_equal(
		fi_trecv(b.pair.ep, in, sizeof(in), NULL, b.other, 7, 0, in), 0);
	assert_int_equal(start(&a, "below", 6, &a), 0);
	(void)wait_for(&b, &a, &src);
	assert_string_equal(in, "below");
	for (int i = 0; i < 3; i++) {
		epoch = epoch_after(&b, 300);
		wake(&b);
		assert_false(wf_progress_is_partial(item));
		assert_int_equal(epoch_after(&b, 1), epoch + 1);
		assert_true(wf_progress_is_partial(item));
	}
	wf_lock(&b.pair.tcp->ep.lock);
	(void)tcp_arm(&b.pair.tcp->ep);
	wf_unlock(&b.pair.tcp->ep.lock);
	epoch = b.pair.tcp->epoch;
	assert_int_equal(epoch_after(&b, 100), epoch + 100);
	set_memory_conns(&b, 0);
	close_end(&a);
	close_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_begins_and_ends),
		cmocka_unit_test(what_a_peer_leaves_unread),
		cmocka_unit_test(a_message_with_the_acceptance),
		cmocka_unit_test(a_forked_child_uses_nothing),
		cmocka_unit_test(a_child_has_its_own_name),
		cmocka_unit_test(most_calls_are_partial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
