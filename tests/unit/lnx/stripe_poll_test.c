/* SPDX-License-Identifier: BSD-2-Clause */
#include "stripe_fixture.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Progress of the private endpoints, and sleeping (stripe/progress.c). */

/* ---- what is asked of objects ---- */

static bool is_flushed[RAILS], is_moved[RAILS];
static struct wf_ep builtin[RAILS];
static unsigned int watched[RAILS];
static int watch_ret, add_ret, timer_errno;

bool __wrap_wf_ep_flushed(struct wf_ep *at);
bool __wrap_wf_progress_moved(struct wf_progress *item);
int __wrap_wf_lower_wait_add(
	struct wf_lower_wait *wait, struct fid *queue, struct wf_fds *fds);
int __wrap_wf_fds_add(struct wf_fds *fds, int fd);
VISIBLE int __wrap_timerfd_create(int clock, int flags);
int __real_timerfd_create(int clock, int flags);

bool __wrap_wf_ep_flushed(struct wf_ep *at)
{
	return is_flushed[rail_of(at, builtin, sizeof(*at))];
}

bool __wrap_wf_progress_moved(struct wf_progress *item)
{
	struct wf_ep *at = wf_container_of(item, struct wf_ep, progress);
	unsigned int rail = rail_of(at, builtin, sizeof(*at));
	bool moved = is_moved[rail];

	/* It is asked once: what moved before does not count again. */
	is_moved[rail] = false;
	return moved;
}

int __wrap_wf_lower_wait_add(
	struct wf_lower_wait *wait, struct fid *queue, struct wf_fds *fds)
{
	unsigned int rail = rail_of(queue, below.cq, sizeof(below.cq[0]));

	assert_ptr_equal(wait, &s->rail[rail].wait);
	assert_ptr_equal(fds, &ep->fds);
	watched[rail]++;
	return rail == RAILS - 1 ? watch_ret : 0;
}

int __wrap_wf_fds_add(struct wf_fds *fds, int fd)
{
	assert_ptr_equal(fds, &ep->fds);
	assert_true(fd >= 0);
	return add_ret;
}

int __wrap_timerfd_create(int clock, int flags)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	assert_int_equal(flags, TFD_CLOEXEC | TFD_NONBLOCK);
	errno = timer_errno;
	return timer_errno ? -1 : __real_timerfd_create(clock, flags);
}

/* What is written to the standard error. */
static char written[512];

ssize_t __wrap_wf_sys_write(int fd, const void *buf, size_t len);

ssize_t __wrap_wf_sys_write(int fd, const void *buf, size_t len)
{
	size_t had = strlen(written);

	assert_int_equal(fd, STDERR_FILENO);
	assert_true(had + len < sizeof(written));
	memcpy(written + had, buf, len);
	return (ssize_t)len;
}

static int open_poll(void **state)
{
	memset(watched, 0, sizeof(watched));
	watch_ret = add_ret = timer_errno = 0;
	(void)open_stripe(state);
	for (unsigned int i = 0; i < RAILS; i++)
		s->rail[i].below.builtin = &builtin[i];
	return 0;
}

static int close_poll(void **state)
{
	if (s->timer_fd >= 0)
		(void)close(s->timer_fd);
	return close_stripe(state);
}

static void poll_times(unsigned int times)
{
	for (unsigned int i = 0; i < times; i++)
		lnx_stripe_poll(ep);
}

/* How often each queue is read in so many polls; all are read as often. */
static unsigned int reads_in(unsigned int times)
{
	memset(below.polls, 0, sizeof(below.polls));
	poll_times(times);
	for (unsigned int i = 1; i < RAILS; i++)
		assert_int_equal(below.polls[i], below.polls[0]);
	return below.polls[0];
}

/* ---- completions ---- */

struct done_call {
	struct lnx_call call;
	unsigned int count;
	int err;
	size_t len;
};

static void call_done(struct lnx_stripe *at, struct lnx_call *call, int err, size_t len)
{
	struct done_call *done = wf_container_of(call, struct done_call, call);

	assert_ptr_equal(at, s);
	done->count++;
	done->err = err;
	done->len = len;
}

static struct done_call done_call(void)
{
	return (struct done_call){ .call.done = call_done };
}

static void complete(unsigned int rail, struct done_call *call, size_t len)
{
	below.entry[rail][below.entries[rail]++] =
		(struct fi_cq_msg_entry){ .op_context = call ? &call->call : NULL,
			.len = len };
}

static void idle_queues_are_read_now_and_then(void **state)
{
	enum { QUIET = 8192 };

	/* In the polls 8, 16, ... while work came lately. */
	assert_int_equal(reads_in(7), 0);
	assert_int_equal(reads_in(1), 1);
	assert_int_equal(reads_in(7), 0);
	assert_int_equal(reads_in(1), 1);
	/* The last of these polls has QUIET behind it, and is one of the others. */
	assert_int_equal(reads_in(QUIET - 16 - 1), (QUIET - 16) / 8 - 1);
	assert_int_equal(reads_in(1), 1);
	assert_int_equal(reads_in(255), 0);
	assert_int_equal(reads_in(1), 1);
	assert_int_equal(reads_in(1024), 4);
}

static void queues_that_had_work_are_read_often_again(void **state)
{
	struct done_call call = done_call();

	poll_times(8192 + 255);
	complete(1, &call, 5);
	poll_times(1);
	assert_int_equal(call.count, 1);
	assert_int_equal(call.len, 5);
	assert_int_equal(call.err, 0);
	assert_int_equal(reads_in(7), 0);
	assert_int_equal(reads_in(1), 1);
}

static void queues_are_read_while_messages_are_under_way(void **state)
{
	lnx_stripe_add_busy(s, 1);
	assert_int_equal(reads_in(5), 5);
	lnx_stripe_add_busy(s, -1);
	assert_int_equal(reads_in(3), 1);
	assert_int_equal(reads_in(7), 0);
	assert_int_equal(reads_in(1), 1);
}

static void queues_are_read_after_a_sleep(void **state)
{
	s->slept = true;
	assert_int_equal(reads_in(1), 1);
	assert_false(s->slept);
	assert_int_equal(reads_in(6), 0);
}

static void another_thread_polls(void **state)
{
	lnx_stripe_add_busy(s, 1);
	wf_lock(&s->lock);
	assert_int_equal(reads_in(10), 0);
	assert_int_equal(s->polls, 0);
	wf_unlock(&s->lock);
	assert_int_equal(reads_in(10), 10);
	lnx_stripe_add_busy(s, -1);
}

/* A poll ends some time, also if a peer floods: what is left waits for the next one. */
static void a_poll_has_a_limit(void **state)
{
	enum { LIMIT = 8 * 16 };
	struct done_call call = done_call();

	lnx_stripe_add_busy(s, 1);
	for (unsigned int i = 0; i < LIMIT + 5; i++)
		complete(2, &call, 1);
	poll_times(1);
	assert_int_equal(call.count, LIMIT);
	poll_times(1);
	assert_int_equal(call.count, LIMIT + 5);
	lnx_stripe_add_busy(s, -1);
}

static void entries_of_no_operation_are_skipped(void **state)
{
	struct done_call call = done_call();

	lnx_stripe_add_busy(s, 1);
	complete(0, NULL, 1);
	complete(0, &call, 3);
	complete(0, NULL, 1);
	complete(0, &call, 4);
	poll_times(1);
	assert_int_equal(call.count, 2);
	assert_int_equal(call.len, 4);
	lnx_stripe_add_busy(s, -1);
}

static void errors_end_operations(void **state)
{
	static const struct {
		int err, told;
	} rows[] = { { FI_ETRUNC, FI_ETRUNC }, { FI_ECONNRESET, FI_ECONNRESET },
		{ 0, FI_EIO } };
	struct done_call call = done_call();

	lnx_stripe_add_busy(s, 1);
	for (unsigned int i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		complete(1, &call, 9);
		below.has_error[1] = true;
		below.error[1] = (struct fi_cq_err_entry){
			.op_context = &call.call, .err = rows[i].err, .len = 7
		};
		poll_times(1);
		assert_int_equal(call.count, 2 * (i + 1));
		assert_int_equal(call.err, rows[i].told);
		assert_int_equal(call.len, 7);
	}
	below.has_error[1] = true;
	below.error[1] = (struct fi_cq_err_entry){ .err = FI_EIO };
	poll_times(1);
	assert_int_equal(call.count, 2 * WF_ARRAY_SIZE(rows));
	lnx_stripe_add_busy(s, -1);
}

/* ---- peers that are lost ---- */

/* Only what was lost fails, and it does so once. */
static void lost_receivers_fail(void **state)
{
	struct lnx_receiver *receiver[3];

	for (uint32_t i = 0; i < 3; i++)
		receiver[i] = add_receiver();
	receiver[0]->contact.lost_err = FI_EHOSTUNREACH;
	poll_times(1);
	assert_int_equal(receiver[0]->state, LNX_RECEIVER_READY);
	s->any_lost = true;
	poll_times(1);
	assert_int_equal(receiver[0]->state, LNX_RECEIVER_NEW);
	assert_int_equal(receiver[1]->state, LNX_RECEIVER_READY);
	assert_int_equal(receiver[2]->state, LNX_RECEIVER_READY);
	assert_false(s->any_lost);
	receiver[0]->state = LNX_RECEIVER_READY;
	s->any_lost = true;
	poll_times(1);
	assert_int_equal(receiver[0]->state, LNX_RECEIVER_READY);
}

/* A message of each sender is under way. Those of the lost ones fail; a lost sender
 * that was not proven is forgotten. */
static void lost_senders_fail(void **state)
{
	static struct iovec iov;
	static struct fi_peer_rx_entry entry[4];
	struct lnx_sender *sender[4];

	for (unsigned int i = 0; i < 4; i++) {
		sender[i] = add_sender();
		entry[i] = receive_into(&iov, 1);
		assert_true(s->heads.ops->matched(
			&s->heads, &ep->wf, &entry[i], sender[i]->token, 0));
		assert_true(sender[i]->proven);
	}
	sender[1]->proven = false;
	s->greeted = 1;
	sender[1]->contact.lost_err = FI_ECONNRESET;
	sender[2]->contact.lost_err = FI_ETIMEDOUT;
	s->any_lost = true;
	poll_times(1);
	assert_int_equal(ended_count, 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_ptr_equal(ended[i].entry, &entry[i + 1]);
		assert_int_equal(ended[i].err, i ? FI_ETIMEDOUT : FI_ECONNRESET);
	}
	assert_null(s->sender[1]);
	assert_int_equal(s->greeted, 0);
	assert_ptr_equal(s->sender[2], sender[2]);
	assert_int_equal(sender[2]->contact.lost_err, 0);
	sender[0]->contact.lost_err = FI_EIO;
	s->any_lost = true;
	poll_times(1);
	assert_int_equal(ended_count, 3);
	assert_ptr_equal(ended[2].entry, &entry[0]);
	/* Also beside a sender that was forgotten. */
	sender[3]->contact.lost_err = FI_ENOTCONN;
	s->any_lost = true;
	poll_times(1);
	assert_int_equal(ended_count, 4);
	assert_ptr_equal(ended[3].entry, &entry[3]);
}

/* ---- questions ---- */

/* A head without an offer: its sender is asked for it. */
static struct lnx_sender *await_offer(void)
{
	static struct fi_peer_rx_entry entry;
	static struct iovec iov;
	struct lnx_sender *sender = add_sender();

	sender->contact.rails = 1;
	entry = receive_into(&iov, 1);
	assert_true(
		s->heads.ops->matched(&s->heads, &ep->wf, &entry, sender->token, 0));
	return sender;
}

/* The clock is read in every 64th poll, and after a sleep; the other ends are asked
 * when a quarter of the time has passed since they were asked last. */
static void peers_are_asked_by_the_clock(void **state)
{
	s->asked_ns = now_ns;
	(void)await_offer();
	now_ns += LNX_STRIPE_ASK_NS - 1;
	poll_times(64);
	assert_int_equal(posted_controls(), 0);
	assert_true(s->asked_ns == now_ns);
	now_ns += 1;
	poll_times(64);
	/* Too soon after the last look. */
	assert_int_equal(posted_controls(), 0);
	now_ns += LNX_STRIPE_ASK_NS / 4 - 2;
	poll_times(64);
	assert_int_equal(posted_controls(), 0);
	now_ns += 1;
	poll_times(63);
	assert_int_equal(posted_controls(), 0);
	poll_times(1);
	assert_true(heard(LNX_STRIPE_ASK_SENDER).id == s->sender[0]->token);
	now_ns += LNX_STRIPE_ASK_NS;
	poll_times(1);
	assert_int_equal(posted_controls(), 0);
	s->slept = true;
	poll_times(1);
	(void)heard(LNX_STRIPE_ASK_SENDER);
}

/* A read that was not taken is tried again in the next poll. */
static void what_stalls_is_tried_again(void **state)
{
	s->stalled = true;
	poll_times(1);
	assert_false(s->stalled);
}

/* A message that is being sent: its receiver is asked, too. */
static void receivers_are_asked_by_the_clock(void **state)
{
	struct lnx_outbound *message = calloc(1, sizeof(*message));

	assert_non_null(message);
	message->receiver = add_receiver();
	message->receiver->out_count = 1;
	message->id = 5;
	message->ask_ns = LNX_STRIPE_ASK_NS;
	message->asked_ns = s->asked_ns = now_ns;
	lnx_stripe_add_busy(s, 1);
	wf_list_push(&s->out[5], &message->link);
	now_ns += LNX_STRIPE_ASK_NS;
	poll_times(64);
	assert_int_equal(heard(LNX_STRIPE_ASK_RECEIVER).id, 5);
}

/* A control message that was not taken is tried again in the next poll. */
static void what_waits_is_tried_again(void **state)
{
	struct lnx_sender *sender = await_offer();
	const struct lnx_stripe_msg msg = { .kind = LNX_STRIPE_PROBE };

	below.refuses[0] = -FI_EAGAIN;
	lnx_control_post(s, &sender->contact, &msg);
	poll_times(2);
	assert_int_equal(below.refused[0], 3);
	below.refuses[0] = 0;
	assert_int_equal(posted_controls(), 0);
	poll_times(1);
	(void)heard(LNX_STRIPE_PROBE);
	assert_true(wf_list_empty(&s->waiting));
}

/* ---- flushing, moving ---- */

static void all_rails_are_flushed(void **state)
{
	struct lnx_sender *sender = add_sender();
	const struct lnx_stripe_msg msg = { .kind = LNX_STRIPE_PROBE };

	for (unsigned int i = 0; i < RAILS; i++)
		is_flushed[i] = true;
	assert_true(lnx_stripe_flushed(ep));
	for (unsigned int i = 0; i < RAILS; i++) {
		is_flushed[i] = false;
		assert_false(lnx_stripe_flushed(ep));
		is_flushed[i] = true;
	}
	s->injected = 1;
	assert_false(lnx_stripe_flushed(ep));
	s->injected = 0;
	sender->contact.rails = 1;
	below.refuses[0] = -FI_EAGAIN;
	lnx_control_post(s, &sender->contact, &msg);
	assert_false(lnx_stripe_flushed(ep));
	below.refuses[0] = 0;
	poll_times(1);
	assert_true(lnx_stripe_flushed(ep));
	(void)heard(LNX_STRIPE_PROBE);
}

static void any_rail_has_moved(void **state)
{
	assert_false(lnx_stripe_moved(ep));
	for (unsigned int i = 0; i < RAILS; i++) {
		is_moved[i] = true;
		assert_true(lnx_stripe_moved(ep));
		assert_false(lnx_stripe_moved(ep));
	}
	for (unsigned int i = 0; i < RAILS; i++)
		is_moved[i] = true;
	assert_true(lnx_stripe_moved(ep));
	/* All were asked. */
	assert_false(lnx_stripe_moved(ep));
}

/* ---- sleeping ---- */

/* Nanoseconds until the timer; 0: it is not set. */
static uint64_t timer_ns(void)
{
	struct itimerspec left;

	assert_int_equal(timerfd_gettime(s->timer_fd, &left), 0);
	assert_int_equal(left.it_interval.tv_sec + left.it_interval.tv_nsec, 0);
	return (uint64_t)left.it_value.tv_sec * 1000000000u +
	       (uint64_t)left.it_value.tv_nsec;
}

static void the_queues_are_watched_once(void **state)
{
	assert_int_equal(lnx_stripe_watch(ep), 0);
	assert_int_equal(s->timer_fd, -1);
	ep->may_sleep = true;
	ep->stripe = NULL;
	assert_int_equal(lnx_stripe_watch(ep), 0);
	ep->stripe = s;
	assert_int_equal(lnx_stripe_watch(ep), 0);
	assert_true(s->timer_fd >= 0);
	assert_int_equal(lnx_stripe_watch(ep), 0);
	for (unsigned int i = 0; i < RAILS; i++)
		assert_int_equal(watched[i], 1);
	assert_int_equal(timer_ns(), 0);
}

/* Each failure is told, leaves no descriptor, and may be followed by another try. */
static void watching_fails(void **state)
{
	ep->may_sleep = true;
	watch_ret = -FI_ENOSYS;
	assert_int_equal(lnx_stripe_watch(ep), -FI_ENOSYS);
	assert_int_equal(s->timer_fd, -1);
	watch_ret = 0;
	timer_errno = EMFILE;
	assert_int_equal(lnx_stripe_watch(ep), -EMFILE);
	assert_int_equal(s->timer_fd, -1);
	timer_errno = 0;
	add_ret = -FI_ENOMEM;
	/* The descriptor that is free afterwards is the one that was free before. */
	int fd = dup(STDERR_FILENO);
	assert_int_equal(close(fd), 0);
	assert_int_equal(lnx_stripe_watch(ep), -FI_ENOMEM);
	assert_int_equal(s->timer_fd, -1);
	assert_int_equal(dup(STDERR_FILENO), fd);
	assert_int_equal(close(fd), 0);
	add_ret = 0;
	assert_int_equal(lnx_stripe_watch(ep), 0);
	assert_true(s->timer_fd >= 0);
}

static void the_timer_is_set(void **state)
{
	static const uint64_t times[] = { 999999999999, 1500000000000, 3600000000000 };

	/* Where nobody sleeps there is none. */
	lnx_stripe_set_timer(s, 1);
	ep->may_sleep = true;
	assert_int_equal(lnx_stripe_watch(ep), 0);
	for (unsigned int i = 0; i < WF_ARRAY_SIZE(times); i++) {
		lnx_stripe_set_timer(s, times[i]);
		assert_true(timer_ns() <= times[i]);
		/* A day is more than a test takes, and less than a wrong unit. */
		assert_true(timer_ns() > times[i] - times[i] / 4);
	}
	lnx_stripe_set_timer(s, 0);
	assert_int_equal(timer_ns(), 0);
}

/* Nobody sleeps while something is to be done; the next poll is a full one then,
 * too. */
static void a_thread_may_sleep(void **state)
{
	struct lnx_control waiting = { .len = 0 };

	ep->may_sleep = true;
	assert_int_equal(lnx_stripe_watch(ep), 0);
	for (int what = 0; what < 4 + RAILS; what++) {
		lnx_stripe_set_timer(s, UINT64_C(3600000000000));
		s->slept = false;
		s->any_lost = what == 1;
		s->stalled = what == 2;
		if (what == 3)
			wf_list_push(&s->waiting, &waiting.link);
		if (what >= 4)
			below.trywait[what - 4] = -FI_EAGAIN;
		memset(below.trywaits, 0, sizeof(below.trywaits));
		assert_int_equal(lnx_stripe_may_sleep(ep), what == 0);
		assert_true(s->slept);
		/* Where the thread does not sleep, the timer is not touched. */
		assert_int_equal(timer_ns() != 0, what != 0);
		for (int i = 0; i < RAILS; i++)
			assert_int_equal(below.trywaits[i],
				what == 0 || (what >= 4 && i <= what - 4));
		if (what == 3)
			wf_list_remove(&waiting.link);
		if (what >= 4)
			below.trywait[what - 4] = 0;
		assert_true(wf_trylock(&s->lock));
		wf_unlock(&s->lock);
	}
	s->any_lost = s->stalled = false;
	lnx_stripe_add_busy(s, 1);
	assert_true(lnx_stripe_is_busy(ep));
	assert_true(lnx_stripe_may_sleep(ep));
	assert_true(timer_ns() > 0 && timer_ns() <= LNX_STRIPE_ASK_NS);
	lnx_stripe_add_busy(s, -1);
	assert_false(lnx_stripe_is_busy(ep));
	ep->stripe = NULL;
	assert_false(lnx_stripe_is_busy(ep));
	ep->stripe = s;
}

/* FI_LNX_DUMP_STATS: a line for each rail, which is one of some members. */
static void each_rail_has_a_line(void **state)
{
	lnx_stripe_dump_stats(ep);
	assert_string_equal(written, "");
	lnx_params.stats = true;
	ep->stripe = NULL;
	lnx_stripe_dump_stats(ep);
	assert_string_equal(written, "");
	ep->stripe = s;
	s->rail[0].fetched = 5;
	s->rail[2].fetched = UINT64_MAX;
	lnx_stripe_dump_stats(ep);
	lnx_params.stats = false;
	assert_string_equal(written,
		"lnx links: tcp:a: 5 bytes fetched in chunks\n"
		"lnx links: tcp:b: 0 bytes fetched in chunks\n"
		"lnx links: tcp:c: 18446744073709551615 bytes fetched in chunks\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_poll, close_poll)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(idle_queues_are_read_now_and_then),
		CASE(queues_that_had_work_are_read_often_again),
		CASE(queues_are_read_while_messages_are_under_way),
		CASE(queues_are_read_after_a_sleep),
		CASE(another_thread_polls),
		CASE(a_poll_has_a_limit),
		CASE(entries_of_no_operation_are_skipped),
		CASE(errors_end_operations),
		CASE(lost_receivers_fail),
		CASE(lost_senders_fail),
		CASE(peers_are_asked_by_the_clock),
		CASE(what_stalls_is_tried_again),
		CASE(receivers_are_asked_by_the_clock),
		CASE(what_waits_is_tried_again),
		CASE(all_rails_are_flushed),
		CASE(any_rail_has_moved),
		CASE(the_queues_are_watched_once),
		CASE(watching_fails),
		CASE(the_timer_is_set),
		CASE(a_thread_may_sleep),
		CASE(each_rail_has_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
