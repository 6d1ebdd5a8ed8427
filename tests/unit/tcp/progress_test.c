/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a progress call does: when it polls the epoll set, and what it does with the
 * sockets of connections before and after a thread sleeps.
 */
#include "exchange_fixture.h"

#include <sys/eventfd.h>

enum { INTERVAL = 32, AGAIN = 16, AWAKE_CALLS = 256 };

static unsigned int polls, timers, woken;
static uint64_t timer_ns; /* the last one that was set */

int __wrap_wf_watches_poll(struct wf_watches *watches);
int __real_wf_watches_poll(struct wf_watches *watches);
void __wrap_wf_watches_set_timer(struct wf_watches *watches, uint64_t deadline_ns);
void __real_wf_watches_set_timer(struct wf_watches *watches, uint64_t deadline_ns);

int __wrap_wf_watches_poll(struct wf_watches *watches)
{
	polls++;
	return __real_wf_watches_poll(watches);
}

void __wrap_wf_watches_set_timer(struct wf_watches *watches, uint64_t deadline_ns)
{
	timers++;
	woken += !deadline_ns;
	timer_ns = deadline_ns;
	__real_wf_watches_set_timer(watches, deadline_ns);
}

static struct pair *the_pair;

static void step(void)
{
	struct tcp_ep *ep = the_pair->tcp;

	wf_lock(&ep->ep.lock);
	tcp_progress(&ep->ep);
	wf_unlock(&ep->ep.lock);
}

/* Number of polls in @calls progress calls. */
static unsigned int polls_in(unsigned int calls)
{
	unsigned int before = polls;

	while (calls--)
		step();
	return polls - before;
}

static bool arm(void)
{
	struct tcp_ep *ep = the_pair->tcp;
	bool ret;

	wf_lock(&ep->ep.lock);
	ret = tcp_arm(&ep->ep);
	wf_unlock(&ep->ep.lock);
	return ret;
}

/* A descriptor in the set beside the connection. */
static unsigned int events;

static void event_came(struct wf_watch *watch, uint32_t what)
{
	uint64_t value;

	assert_int_equal(what, EPOLLIN);
	assert_int_equal(read(watch->fd, &value, sizeof(value)), sizeof(value));
	events++;
}

static struct wf_watch beside = { .ready = event_came };

static void watch_beside(void)
{
	beside.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(beside.fd >= 0);
	assert_int_equal(tcp_watch_set(the_pair->tcp, &beside, EPOLLIN), 0);
	events = 0;
}

static void happen(void)
{
	uint64_t one = 1;

	assert_int_equal(write(beside.fd, &one, sizeof(one)), sizeof(one));
}

static void unwatch_beside(void)
{
	assert_int_equal(tcp_watch_set(the_pair->tcp, &beside, 0), 0);
	close(beside.fd);
}

/* Each read of a hot connection counts, until there were thirty-two; more often while
 * polls find something, when time has passed, and when a thread may have slept. */
static void polls_of_the_set(void **state)
{
	struct pair *p = the_pair = *state;

	assert_true(p->conn->hot);
	assert_int_equal(polls_in(2 * INTERVAL), 0);
	watch_beside();
	while (!polls_in(1))
		;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(polls_in(INTERVAL - 1), 0);
		assert_int_equal(polls_in(1), 1);
	}
	happen();
	assert_int_equal(polls_in(INTERVAL - 1), 0);
	assert_int_equal(events, 0);
	assert_int_equal(polls_in(1), 1);
	assert_int_equal(events, 1);
	assert_int_equal(polls_in(AGAIN), AGAIN);
	assert_int_equal(polls_in(INTERVAL - 1), 0);
	assert_int_equal(polls_in(1), 1);
	seconds_pass(1);
	assert_int_equal(polls_in(1), 1);
	assert_int_equal(polls_in(INTERVAL - 1), 0);
	assert_int_equal(polls_in(1), 1);
	(void)arm();
	assert_int_equal(polls_in(1), 1);
	assert_int_equal(polls_in(1), 0);
	wf_lock(&p->tcp->ep.lock);
	tcp_conn_make_cold(p->conn);
	wf_unlock(&p->tcp->ep.lock);
	assert_int_equal(polls_in(10), 10);
	unwatch_beside();
}

/* While a thread may sleep, the socket of a hot connection is in the set, and the timer
 * is set; some progress calls later no thread is expected to sleep. */
static void before_and_after_a_sleep(void **state)
{
	struct pair *p = the_pair = *state;

	step();
	assert_false(p->tcp->watches.sleepers);
	assert_int_equal(p->conn->watch.events, 0);
	timers = 0;
	assert_true(arm());
	assert_true(p->tcp->watches.sleepers);
	assert_int_equal(p->conn->watch.events, EPOLLIN);
	assert_int_equal(timers, 1);
	assert_true(timer_ns == UINT64_MAX);
	for (int i = 0; i < AWAKE_CALLS; i++)
		step();
	assert_true(p->tcp->watches.sleepers);
	assert_int_equal(p->conn->watch.events, EPOLLIN);
	step();
	assert_false(p->tcp->watches.sleepers);
	assert_int_equal(p->conn->watch.events, 0);
	/* With automatic progress a thread of the library sleeps. */
	p->tcp->manual = false;
	assert_true(arm());
	for (int i = 0; i < 2 * AWAKE_CALLS; i++)
		step();
	assert_true(p->tcp->watches.sleepers);
	assert_int_equal(p->conn->watch.events, EPOLLIN);
}

/* What a progress call has to send itself wakes nobody. */
static void answers_wake_nobody(void **state)
{
	const struct tcp_record write = { .kind = TCP_REC_WRITE,
		.flags = TCP_FLAG_ACK,
		.seg_count = 1,
		.payload_len = 1,
		.seg = { { 0, 1, KEY } } };
	struct pair *p = the_pair = *state;

	assert_true(arm());
	woken = 0;
	peer_record(p, &write, "w");
	step();
	(void)peer_expect(p, TCP_REC_ACK, NULL);
	assert_int_equal(woken, 0);
	assert_false(p->tcp->running);
}

/* A message that the kernel does not take: sleepers wake when it does, and are woken
 * when it is posted while they sleep. */
static void blocked_before_a_sleep(void **state)
{
	struct pair *p = the_pair = *state;
	uint8_t out[4] = "abcd";

	assert_true(arm());
	timers = 0;
	kernel.takes = 0;
	assert_int_equal(fi_send(p->ep, out, sizeof(out), NULL, 0, out), 0);
	assert_int_equal(p->conn->watch.events, EPOLLIN | EPOLLOUT);
	assert_false(wf_list_empty(&p->tcp->dirty));
	assert_true(arm());
	assert_int_equal(p->conn->watch.events, EPOLLIN | EPOLLOUT);
	kernel.takes = SIZE_MAX;
	step();
	assert_true(wf_list_empty(&p->tcp->dirty));
	assert_int_equal(p->conn->watch.events, EPOLLIN);
	/* The timer is moved to now. */
	timers = 0;
	wf_lock(&p->tcp->ep.lock);
	tcp_wake_sleepers(p->tcp);
	assert_int_equal(timers, 1);
	assert_int_equal(timer_ns, 0);
	p->tcp->watches.timer_expired = true;
	tcp_rearm_timer(p->tcp);
	assert_false(p->tcp->watches.timer_expired);
	assert_int_equal(timers, 2);
	assert_true(timer_ns != 0);
	p->tcp->watches.sleepers = false;
	tcp_wake_sleepers(p->tcp);
	tcp_rearm_timer(p->tcp);
	assert_int_equal(timers, 2);
	wf_unlock(&p->tcp->ep.lock);
}

/* A thread does not sleep where something is left to do. */
static void no_sleep(void **state)
{
	struct pair *p = the_pair = *state;

	p->tcp->memory_given = true;
	assert_false(arm());
	p->tcp->memory_given = false;
	assert_true(arm());
	/* Sending fails when the thread is about to sleep. */
	p->tcp->watches.sleepers = false;
	kernel.takes = 0;
	assert_int_equal(fi_inject(p->ep, "abcd", 4, 0), 0);
	kernel.takes = SIZE_MAX;
	kernel.err = EPIPE;
	assert_false(arm());
	assert_int_equal(p->conn->err, EPIPE);
	assert_false(arm());
	step();
	assert_null(p->tcp->cm->conn);
	assert_true(arm());
}

/* Reads without bytes are counted, and forgotten when some come. */
static void quiet_reads(void **state)
{
	const struct tcp_record rec = { .kind = TCP_REC_MSG, .payload_len = 4 };
	struct pair *p = the_pair = *state;
	uint32_t before;

	step();
	before = p->conn->quiet;
	step();
	step();
	assert_int_equal(p->conn->quiet, before + 2);
	peer_record(p, &rec, "abcd");
	step();
	assert_int_equal(p->conn->quiet, 0);
	step();
	assert_int_equal(p->conn->quiet, 1);
	assert_true(p->conn->hot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(polls_of_the_set),
		PAIR_TEST(before_and_after_a_sleep),
		PAIR_TEST(answers_wake_nobody),
		PAIR_TEST(blocked_before_a_sleep),
		PAIR_TEST(no_sleep),
		PAIR_TEST(quiet_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
