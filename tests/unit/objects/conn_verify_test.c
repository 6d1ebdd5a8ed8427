/* SPDX-License-Identifier: BSD-2-Clause */
/* Verification of peers that ask for connections: which answer of the listener at their
 * address verifies them, and which one refutes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <rdma/fi_errno.h>

#include "objects/conn/verify.h"

/* A peer of a transport. */
struct claimant {
	struct wf_remote base;
	bool unverified, firewalled, attempt, answered;
	int uses, refusals, dials, drops, failures;
};

static struct claimant *claimant_of(const struct wf_remote *remote)
{
	return wf_container_of(remote, struct claimant, base);
}

static bool is(const struct wf_remote *remote, const void *key)
{
	return remote == key;
}

static enum wf_remote_state state_of(const struct wf_remote *remote)
{
	return claimant_of(remote)->attempt ? WF_REMOTE_CHANGING : WF_REMOTE_DOWN;
}

static void dial(struct wf_remotes *remotes, struct wf_remote *remote)
{
	claimant_of(remote)->dials++;
	claimant_of(remote)->attempt = true;
}

static void end(struct wf_remotes *remotes, struct wf_remote *remote,
	struct wf_list *link, int err)
{
	claimant_of(remote)->failures += err != 0;
}

static const char *name(const struct wf_remote *remote, char *buf, size_t len)
{
	return "a peer";
}

static void free_claimant(struct wf_remotes *remotes, struct wf_remote *remote)
{
}

static bool is_unverified(const struct wf_remote *remote)
{
	return claimant_of(remote)->unverified;
}

static void use(struct wf_remotes *remotes, struct wf_remote *remote, bool answered)
{
	claimant_of(remote)->answered = answered;
	claimant_of(remote)->unverified = false;
	claimant_of(remote)->uses++;
}

static void refuse(struct wf_remotes *remotes, struct wf_remote *remote)
{
	claimant_of(remote)->unverified = false;
	claimant_of(remote)->refusals++;
}

static bool is_firewalled(struct wf_remotes *remotes, struct wf_remote *remote)
{
	return claimant_of(remote)->firewalled;
}

static void drop_attempt(struct wf_remotes *remotes, struct wf_remote *remote)
{
	claimant_of(remote)->drops++;
	claimant_of(remote)->attempt = false;
}

static const struct wf_verify_ops verify_ops = {
	.is_unverified = is_unverified,
	.use = use,
	.refuse = refuse,
	.is_firewalled = is_firewalled,
	.drop_attempt = drop_attempt,
};

static struct fi_provider test_fi = { .name = "test" };

static const struct wf_remote_ops remote_ops = {
	.is = is,
	.state = state_of,
	.connect = dial,
	.end = end,
	.free = free_claimant,
	.verify = &verify_ops,
	.prov = &test_fi,
	.name = name,
	.backoff_min_us = 100,
	.backoff_max_us = 1000,
};

static struct wf_remotes remotes;
static struct wf_progress item;
static struct wf_watches watches;
static struct claimant peer;

static int open_remotes(void **state)
{
	int ret = wf_remotes_init(&remotes, &remote_ops, 1, &item, &watches);

	memset(&peer, 0, sizeof(peer));
	wf_remotes_add(&remotes, &peer.base, 1);
	wf_remote_ref(&peer.base);
	return ret;
}

static int close_remotes(void **state)
{
	wf_remotes_done(&remotes);
	return 0;
}

/* A connection of the peer was accepted. */
static void begin(void)
{
	peer.unverified = true;
	wf_verify_begin(&remotes, &peer.base);
}

static bool answered(enum wf_verify_answer answer)
{
	peer.attempt = false;
	return wf_verify_answered(&remotes, &peer.base, answer);
}

static void the_listener_is_asked_at_once(void **state)
{
	begin();
	assert_int_equal(peer.dials, 1);
	assert_int_equal(peer.uses, 0);
	assert_true(wf_verify_pending(&remotes, &peer.base));
}

static void its_owner_is_used(void **state)
{
	begin();
	assert_true(answered(WF_VERIFY_ITS_OWN));
	assert_int_equal(peer.uses, 1);
	assert_true(peer.answered);
	assert_false(answered(WF_VERIFY_ACCEPTED));
	assert_int_equal(peer.refusals, 0);
}

static void strangers_are_refused(void **state)
{
	begin();
	assert_false(answered(WF_VERIFY_ACCEPTED));
	begin();
	assert_false(answered(WF_VERIFY_NOT_ITS_OWN));
	assert_int_equal(peer.refusals, 2);
	assert_int_equal(peer.uses, 0);
}

/* A reject that does not tell which connection is meant proves something as long as one
 * request alone named the address. */
static void a_contested_address_needs_more(void **state)
{
	begin();
	wf_verify_contest(&remotes, &peer.base);
	assert_false(answered(WF_VERIFY_SOME));
	assert_int_equal(peer.uses + peer.refusals, 0);
	assert_true(answered(WF_VERIFY_ITS_OWN));
	begin();
	assert_true(answered(WF_VERIFY_SOME));
}

static void it_is_asked_until_it_answers(void **state)
{
	uint64_t now = 1000000000;

	begin();
	for (int i = 0; i < 5; i++) {
		assert_false(answered(WF_VERIFY_UNSETTLED));
		wf_remote_failed(&remotes, &peer.base, FI_EBUSY, now);
		now += 1000000000;
		wf_remotes_tick(&remotes, now, 10, 10);
		assert_int_equal(peer.dials, 2 + i);
	}
	assert_int_equal(peer.uses + peer.refusals, 0);
	assert_true(answered(WF_VERIFY_ITS_OWN));
	now += 1000000000;
	wf_remotes_tick(&remotes, now, 10, 10);
	assert_true(wf_list_empty(&remotes.busy));
}

/* Operations wait for the verification, however long it takes. */
static void operations_wait_on(void **state)
{
	struct wf_list op;
	uint64_t now = 1000000000;

	begin();
	wf_list_push(&peer.base.pending, &op);
	for (int i = 0; i < 5; i++) {
		now += 1000000000;
		wf_remotes_tick(&remotes, now, 10, 10);
	}
	assert_int_equal(peer.failures, 0);
	wf_list_remove(&op);
}

static void where_no_one_listens_no_one_is_robbed(void **state)
{
	static const int reasons[] = { FI_ECONNREFUSED, FI_EHOSTUNREACH, FI_ENETUNREACH,
		FI_ETIMEDOUT };

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		begin();
		assert_true(wf_verify_unreachable(&remotes, &peer.base, reasons[i]));
		assert_int_equal(peer.uses, i + 1);
		assert_false(peer.answered);
	}
	begin();
	assert_false(wf_verify_unreachable(&remotes, &peer.base, FI_ECONNRESET));
	assert_true(wf_verify_pending(&remotes, &peer.base));
}

static void firewalls_are_not_asked(void **state)
{
	peer.firewalled = true;
	begin();
	assert_int_equal(peer.dials, 0);
	assert_int_equal(peer.uses, 1);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, open_remotes, close_remotes)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(the_listener_is_asked_at_once),
		EACH(its_owner_is_used),
		EACH(strangers_are_refused),
		EACH(a_contested_address_needs_more),
		EACH(it_is_asked_until_it_answers),
		EACH(operations_wait_on),
		EACH(where_no_one_listens_no_one_is_robbed),
		EACH(firewalls_are_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
