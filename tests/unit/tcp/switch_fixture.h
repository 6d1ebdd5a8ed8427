/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_TCP_SWITCH_FIXTURE_H
#define TESTS_UNIT_TCP_SWITCH_FIXTURE_H

/*
 * For tests of when operations change over from the connection to memory, each
 * direction by itself, with a peer and an endpoint below that are both played by the
 * test.
 */
#include "far_fixture.h"

#include "objects/local/local.h"
#include "providers/tcp/local/below.h"
#include "providers/tcp/local/switch.h"

#define OWN_NAME "own below"

/* ---- shared memory ---- */

/* State and calls of the endpoint below: the switch calls these functions instead of
 * those of below.h (meson.build). */
static struct {
	struct wf_local ep;
	const char *name; /* NULL: there is no endpoint below */
	int insert_ret;
	ssize_t start_ret;
	int reach_ret;
	unsigned int inserted, removed, started, asked, sent;
	bool open;           /* the peer has its end open */
	unsigned int unread; /* messages that it leaves unread, each with its number */
	union wf_sockaddr addr; /* of the peer that was inserted last */
	struct wf_op op;        /* the last operation */
	char peer[WF_PROOF_NAME];
} below;

enum { BELOW_ADDR = 77 };

void __wrap_wf_local_poll(struct wf_local *ep);
bool __wrap_wf_local_moved(struct wf_local *ep);
bool __wrap_wf_local_arm(struct wf_local *ep);
bool __wrap_wf_local_flushed(struct wf_local *ep);
void __wrap_wf_local_close(struct wf_local **at);
const char *__wrap_wf_local_name(const struct wf_local *ep);
int __wrap_wf_local_insert(struct wf_local *ep, const union wf_sockaddr *addr,
	const void *name, size_t len, fi_addr_t *ret);
int __wrap_wf_local_reach(struct wf_local *ep, fi_addr_t addr);
bool __wrap_wf_local_is_reached(struct wf_local *ep, fi_addr_t addr);
void __wrap_wf_local_remove(
	struct wf_local *ep, fi_addr_t addr, int err, struct wf_unread *unread);
ssize_t __wrap_wf_local_start(struct wf_local *ep, fi_addr_t addr, struct wf_op *op);
ssize_t __wrap_wf_local_send(struct wf_local *ep, fi_addr_t addr, enum wf_op_kind kind,
	const void *buf, size_t len, uint64_t tag);

void __wrap_wf_local_poll(struct wf_local *ep)
{
	(void)ep;
}

bool __wrap_wf_local_moved(struct wf_local *ep)
{
	(void)ep;
	return false;
}

bool __wrap_wf_local_arm(struct wf_local *ep)
{
	(void)ep;
	return true;
}

bool __wrap_wf_local_flushed(struct wf_local *ep)
{
	(void)ep;
	return true;
}

void __wrap_wf_local_close(struct wf_local **at)
{
	*at = NULL;
}

const char *__wrap_wf_local_name(const struct wf_local *ep)
{
	(void)ep;
	return below.name;
}

int __wrap_wf_local_insert(struct wf_local *ep, const union wf_sockaddr *addr,
	const void *name, size_t len, fi_addr_t *ret)
{
	(void)ep;
	if (below.insert_ret)
		return below.insert_ret;
	assert_true(len <= sizeof(below.peer));
	memcpy(below.peer, name, len);
	below.addr = *addr;
	below.inserted++;
	*ret = BELOW_ADDR;
	return 0;
}

int __wrap_wf_local_reach(struct wf_local *ep, fi_addr_t addr)
{
	(void)ep;
	assert_int_equal(addr, BELOW_ADDR);
	below.asked++;
	return below.reach_ret;
}

bool __wrap_wf_local_is_reached(struct wf_local *ep, fi_addr_t addr)
{
	(void)ep;
	assert_int_equal(addr, BELOW_ADDR);
	return below.open;
}

void __wrap_wf_local_remove(
	struct wf_local *ep, fi_addr_t addr, int err, struct wf_unread *unread)
{
	(void)ep;
	assert_int_equal(addr, BELOW_ADDR);
	assert_int_equal(err == 0, unread == NULL);
	for (unsigned int i = 0; err && i < below.unread; i++) {
		struct wf_op op = {
			.kind = WF_OP_TSEND,
			.flags = FI_INJECT | FI_REMOTE_CQ_DATA,
			.iov = &op.one,
			.iov_count = 1,
			.len = sizeof(i),
			.addr = FI_ADDR_NOTAVAIL,
			.data = i,
			.tag = i,
			.one = { &i, sizeof(i) },
		};

		unread->take(unread, &op);
	}
	below.removed++;
}

ssize_t __wrap_wf_local_start(struct wf_local *ep, fi_addr_t addr, struct wf_op *op)
{
	(void)ep;
	assert_int_equal(addr, BELOW_ADDR);
	if (below.start_ret)
		return below.start_ret;
	below.started++;
	below.op = *op;
	return 0;
}

ssize_t __wrap_wf_local_send(struct wf_local *ep, fi_addr_t addr, enum wf_op_kind kind,
	const void *buf, size_t len, uint64_t tag)
{
	(void)ep;
	assert_int_equal(addr, BELOW_ADDR);
	if (below.start_ret)
		return below.start_ret;
	assert_int_equal(kind, WF_OP_TSEND);
	assert_memory_equal(buf, "small", len);
	assert_int_equal(tag, 9);
	below.sent++;
	return 0;
}

/* ---- the endpoint ---- */

/* Neither end has proven that it shares memory. */
static inline int setup_below(void **state)
{
	int ret;

	memset(&below, 0, sizeof(below));
	below.name = OWN_NAME;
	ret = setup(state);
	assert_int_equal(wf_forks_count(), 0);
	below.ep.fork_depth = wf_fork_depth;
	below.ep.above = &((struct far *)*state)->pair.tcp->ep;
	((struct far *)*state)->pair.tcp->below = &below.ep;
	return ret;
}

static inline void prove(struct far *far)
{
	uint64_t number = read_card(far);

	send_card(far);
	tell_number(far, number);
	assert_true(tcp_local_proven(local_of(far)));
}

/* The endpoint and the test have proven to each other that they share memory. */
static inline int setup_proven(void **state)
{
	(void)setup_below(state);
	prove(*state);
	return 0;
}

static inline int teardown_proven(void **state)
{
	int ret = teardown(state);

	/* Every peer that was inserted below was removed. */
	assert_int_equal(below.inserted, below.removed);
	return ret;
}

/* The endpoint has sent one marker since the last one that the test read, behind
 * @behind bytes. */
static inline void marker_came(struct far *far, uint64_t behind)
{
	uint64_t at;

	assert_int_equal(wf_page_marker(far->proof.peer, &at), ++far->markers);
	assert_int_equal(at, behind);
}

/* The marker is behind all bytes that were sent. */
static inline void expect_marker(struct far *far)
{
	peer_expect_nothing(&far->pair);
	marker_came(far, far->pair.got);
}

/* The endpoint has sent no marker since then. */
static inline void expect_no_marker(struct far *far)
{
	uint64_t at, marker = wf_page_marker(far->proof.peer, &at);

	peer_expect_nothing(&far->pair);
	assert_true(marker == far->markers || marker == WF_PAGE_OVER);
}

/* Write the test's answer to the last marker. */
static inline void put_answer(struct far *far, bool yes)
{
	wf_page_answer(far->proof.own, far->markers, yes);
	pair_progress(&far->pair);
}

static inline void send_answer(struct far *far, bool yes)
{
	put_answer(far, yes);
	pair_progress(&far->pair);
}

/* Write a marker of the test, behind @more bytes that it has not sent yet. */
static inline void put_marker(struct far *far, uint64_t more)
{
	wf_page_mark(far->proof.own, ++far->own_markers, far->pair.put + more);
	pair_progress(&far->pair);
}

static inline void acknowledge(struct far *far)
{
	const struct tcp_record rec = { .kind = TCP_REC_ACK };

	peer_record(&far->pair, &rec, NULL);
	pair_progress(&far->pair);
	pair_progress(&far->pair);
}

/* Was the last marker of the test answered, and how? */
static inline bool answered(const struct far *far, bool *ret_yes)
{
	return wf_page_answers(far->proof.peer, far->own_markers, ret_yes);
}

static inline bool said_yes(const struct far *far)
{
	bool yes;

	assert_true(answered(far, &yes));
	return yes;
}

static inline bool said_nothing(const struct far *far)
{
	bool yes;

	return !answered(far, &yes);
}

/* Make as many progress calls as the next marker needs after @tries attempts. */
static inline void let_pass(struct far *far, unsigned int tries)
{
	/* A marker that is not behind a message needs more calls after the first
	 * one. */
	unsigned int alone = tries ? 64 : 0;

	for (unsigned int i = 0; i <= (1u << tries) + alone; i++)
		pair_progress(&far->pair);
}

static inline void inject(struct far *far)
{
	assert_int_equal(fi_inject(far->pair.ep, "abcd", 4, far->addr), 0);
}

static inline void expect_message(struct far *far)
{
	uint8_t in[4];

	(void)peer_expect(&far->pair, TCP_REC_MSG, in);
	assert_memory_equal(in, "abcd", 4);
}

static inline void a_message_comes(struct far *far)
{
	const struct tcp_record rec = { .kind = TCP_REC_MSG, .payload_len = 4 };
	uint8_t in[4] = { 0 };

	assert_int_equal(
		fi_recv(far->pair.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, in), 0);
	peer_record(&far->pair, &rec, "efgh");
	/* Enough calls for a read of a socket that is polled seldom. */
	let_pass(far, 8);
	assert_memory_equal(in, "efgh", 4);
}

static inline void switch_out(struct far *far)
{
	expect_marker(far);
	send_answer(far, true);
	assert_int_equal(local_of(far)->out, TCP_OUT_MEMORY);
}

#define BELOW_TEST(name)                                                               \
	cmocka_unit_test_setup_teardown(name, setup_below, teardown_proven)
/* Is the peer that was inserted last the one with the address of @far->addr? */
static inline bool is_far(const struct far *far)
{
	struct wf_av *av = wf_av_of(far->av);

	return wf_av_index(av, &below.addr, wf_sockaddr_len(&below.addr)) == far->addr;
}

#define PROVEN_TEST(name)                                                              \
	cmocka_unit_test_setup_teardown(name, setup_proven, teardown_proven)

#endif
