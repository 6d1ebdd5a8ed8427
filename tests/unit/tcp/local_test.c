/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The exchange in which two FI_EP_RDM endpoints find out whether they share memory:
 * with a peer that the test plays, which is true, refuses or lies; and between two
 * endpoints.
 */
#include "far_fixture.h"

#include <dirent.h>

#include "objects/local/local.h"
#include "objects/local/mode.h"
#include "providers/tcp/local/below.h"
#include "sys/clock.h"
#include "../../time_limits.h"

/* ---- tests ---- */

static void both_are_near(void **state)
{
	struct far *far = *state;
	uint64_t number = read_card(far);

	assert_false(tcp_local_proven(local_of(far)));
	messages_pass(far);
	send_card(far);
	assert_int_equal(told_number(far), far->proof.number);
	assert_false(tcp_local_proven(local_of(far)));
	messages_pass(far);
	tell_number(far, number);
	assert_true(tcp_local_proven(local_of(far)));
	/* No other process can map the page. */
	assert_int_equal(local_of(far)->proof.fd, -1);
	messages_pass(far);
}

static void the_number_may_come_before_the_card(void **state)
{
	struct far *far = *state;

	tell_number(far, read_card(far));
	assert_false(tcp_local_proven(local_of(far)));
	send_card(far);
	assert_int_equal(told_number(far), far->proof.number);
	assert_true(tcp_local_proven(local_of(far)));
}

static void a_card_comes_in_pieces(void **state)
{
	const struct tcp_record rec = { .kind = TCP_REC_CARD,
		.payload_len = TCP_WIRE_CARD };
	struct far *far = *state;
	struct bytes bytes = { 0 };
	uint64_t number = read_card(far);

	add_record(&bytes, &far->pair, &rec, far->card);
	for (size_t i = 0; i < bytes.len; i++) {
		peer_expect_nothing(&far->pair);
		peer_send(&far->pair, bytes.at + i, 1);
		pair_progress(&far->pair);
	}
	settle(far);
	assert_int_equal(told_number(far), far->proof.number);
	tell_number(far, number);
	assert_true(tcp_local_proven(local_of(far)));
}

static void the_peer_refuses(void **state)
{
	struct far *far = *state;

	(void)read_card(far);
	send_card(far);
	tell_number(far, WF_PAGE_REFUSED);
	assert_false(tcp_local_proven(local_of(far)));
	assert_int_equal(local_of(far)->unreached, WF_UNREACHED_REFUSED);
	assert_null(local_of(far)->proof.own);
	messages_pass(far);
}

static void the_peer_tells_another_number(void **state)
{
	struct far *far = *state;
	uint64_t number = read_card(far);

	send_card(far);
	tell_number(far, number + 1);
	assert_false(tcp_local_proven(local_of(far)));
	/* It was told already. */
	tell_number(far, number);
	assert_false(tcp_local_proven(local_of(far)));
	messages_pass(far);
}

/* The card is of another endpoint than the one that was connected to. */
static void the_card_is_another_endpoints(void **state)
{
	struct wf_proof stranger;
	struct far *far = *state;

	tell_number(far, read_card(far));
	assert_int_equal(wf_proof_make(&stranger, INSTANCE + 1, NULL, far->card), 0);
	send_card(far);
	assert_int_equal(told_number(far), WF_PAGE_REFUSED);
	assert_false(tcp_local_proven(local_of(far)));
	assert_int_equal(local_of(far)->unreached, WF_UNREACHED_STRANGER);
	wf_proof_done(&stranger);
	messages_pass(far);
}

static void a_second_card_ends_the_connection(void **state)
{
	struct far *far = *state;

	send_card(far);
	assert_false(has_failed(far));
	send_card(far);
	assert_true(has_failed(far));
}

/* The connection was agreed on without the feature. */
static void cards_need_agreement(void **state)
{
	struct far *far = *state;
	uint8_t hdr[TCP_WIRE_HDR_MAX];
	const struct tcp_record rec = { .kind = TCP_REC_CARD,
		.payload_len = TCP_WIRE_CARD };
	size_t len = tcp_record_encode(hdr, &far->pair.conn->wire, &rec);

	(void)read_card(far);
	far->pair.conn->wire.have &= ~(uint32_t)TCP_HAVE_LOCAL;
	peer_send(&far->pair, hdr, len);
	assert_true(has_failed(far));
}

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* A connection that ends in the middle leaves no descriptor. */
static void the_peer_goes_away(void **state)
{
	struct far *far = *state;
	unsigned int before = count_fds();

	(void)read_card(far);
	close(far->pair.peer);
	far->pair.peer = -1;
	assert_true(has_failed(far));
	/* The two ends of the connection, and the page. */
	assert_int_equal(count_fds(), before - 3);
}

/* ---- two endpoints ---- */

static union wf_sockaddr name_of(struct far *far)
{
	union wf_sockaddr name;
	size_t len = sizeof(name);

	assert_int_equal(fi_getname(&far->pair.ep->fid, &name, &len), 0);
	return name;
}

/* One message from @a to @b; then both progress until their exchange has ended, if
 * there is one. */
static void talk(struct far *a, struct far *b)
{
	uint64_t deadline = wf_deadline_ns(limit_ms(10000));
	struct far *both[] = { a, b };
	bool open = true;
	char in[4] = "";

	assert_int_equal(
		fi_recv(b->pair.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, in), 0);
	assert_int_equal(fi_inject(a->pair.ep, "ping", 4, a->addr), 0);
	while (memcmp(in, "ping", 4) != 0 || open) {
		assert_false(wf_expired(deadline));
		open = false;
		for (int i = 0; i < 2; i++) {
			struct tcp_ep *ep = both[i]->pair.tcp;

			pair_progress(&both[i]->pair);
			wf_list_foreach(link, &ep->conns)
			{
				const struct tcp_local *local =
					wf_list_entry(link, struct tcp_conn, link)
						->local;

				open |= local && !local->unreached &&
					!local->has_verdict;
			}
		}
	}
}

static const struct tcp_local *only_local(const struct far *far)
{
	assert_false(wf_list_empty(&far->pair.tcp->conns));
	return wf_list_entry(far->pair.tcp->conns.next, struct tcp_conn, link)->local;
}

/* @a_local, @b_local: the endpoint offers the feature. */
static void two_endpoints(bool a_local, bool b_local, bool proven)
{
	struct far a, b;
	union wf_sockaddr name;

	open_rdm(&a);
	open_rdm(&b);
	name = name_of(&b);
	know(&a, &name);
	/* It is offered when the connection is made. */
	if (a_local)
		assert_int_equal(tcp_below_open(a.pair.tcp), 0);
	if (b_local)
		assert_int_equal(tcp_below_open(b.pair.tcp), 0);
	talk(&a, &b);
	assert_int_equal(tcp_local_proven(only_local(&a)), proven);
	assert_int_equal(tcp_local_proven(only_local(&b)), proven);
	assert_int_equal(only_local(&a) != NULL, a_local && b_local);
	close_rdm(&a);
	close_rdm(&b);
}

static void two_that_offer(void **state)
{
	two_endpoints(true, true, true);
}

static void one_that_offers(void **state)
{
	two_endpoints(true, false, false);
	two_endpoints(false, true, false);
}

/* As it is without FI_TCP_LOCAL. */
static void none_that_offers(void **state)
{
	struct far a;

	open_rdm(&a);
	assert_int_equal(tcp_local_offer(a.pair.tcp), 0);
	close_rdm(&a);
	two_endpoints(false, false, false);
}

/* FI_TCP_LOCAL=shm: peers of this machine have memory, or no connection. */

static int setup_strict(void **state)
{
	wf_local_mode = WF_LOCAL_ONLY;
	return setup(state);
}

static int teardown_strict(void **state)
{
	wf_local_mode = WF_LOCAL_OFF;
	return teardown(state);
}

/* The peer's card has another byte at @at, and it answers the endpoint's, or refuses
 * it. */
static void answer(struct far *far, size_t at, bool refuse)
{
	uint64_t number = read_card(far);

	tell_number(far, refuse ? WF_PAGE_REFUSED : number);
	far->card[at] ^= 1;
	send_card(far);
	assert_int_equal(told_number(far), WF_PAGE_REFUSED);
}

/* Offsets in a card (struct card of proof.c). */
enum { CARD_UID = 4, CARD_BOOT_ID = 8, CARD_FD = 36 };

static void another_user_is_refused(void **state)
{
	answer(*state, CARD_UID, false);
	assert_true(has_failed(*state));
}

static void unreadable_memory_is_refused(void **state)
{
	answer(*state, CARD_FD + 3, false);
	assert_true(has_failed(*state));
}

static void another_machine_is_served(void **state)
{
	answer(*state, CARD_BOOT_ID, true);
	messages_pass(*state);
}

/* Neither card nor socket says that the peer is here. */
static void a_refusal_from_elsewhere_is_served(void **state)
{
	answer(*state, 0, true);
	messages_pass(*state);
}

static void a_refusal_from_here_is_refused(void **state)
{
	struct far *far = *state;

	far->pair.conn->same_host = true;
	answer(far, 0, true);
	assert_true(has_failed(far));
}

#define STRICT_TEST(f) cmocka_unit_test_setup_teardown(f, setup_strict, teardown_strict)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAR_TEST(both_are_near),
		FAR_TEST(the_number_may_come_before_the_card),
		FAR_TEST(a_card_comes_in_pieces),
		FAR_TEST(the_peer_refuses),
		FAR_TEST(the_peer_tells_another_number),
		FAR_TEST(the_card_is_another_endpoints),
		FAR_TEST(a_second_card_ends_the_connection),
		FAR_TEST(cards_need_agreement),
		FAR_TEST(the_peer_goes_away),
		cmocka_unit_test(two_that_offer),
		cmocka_unit_test(one_that_offers),
		cmocka_unit_test(none_that_offers),
		STRICT_TEST(another_user_is_refused),
		STRICT_TEST(unreadable_memory_is_refused),
		STRICT_TEST(another_machine_is_served),
		STRICT_TEST(a_refusal_from_elsewhere_is_served),
		STRICT_TEST(a_refusal_from_here_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
