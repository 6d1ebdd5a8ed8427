/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include "providers/lnx/deferred.h"
#include "providers/lnx/rail.h"

/*
 * Counting of receives by a member of another library. The test is the member, and the
 * owner of the counter that its counts end at.
 */

static struct lnx_rail rail;
static struct wf_cntr cntr;
static struct fid_peer_cntr owner;
static unsigned int counted, failed;

static void owner_inc(struct fid_peer_cntr *fid)
{
	assert_ptr_equal(fid, &owner);
	counted++;
}

static void owner_incerr(struct fid_peer_cntr *fid)
{
	assert_ptr_equal(fid, &owner);
	failed++;
}

static struct fi_ops_cntr_owner owner_ops = {
	.size = sizeof(owner_ops), .inc = owner_inc, .incerr = owner_incerr
};

static int fresh(void **state)
{
	memset(&rail, 0, sizeof(rail));
	memset(&cntr, 0, sizeof(cntr));
	owner = (struct fid_peer_cntr){ .owner_ops = &owner_ops };
	cntr.owner = &owner;
	rail.below.cntr[WF_CNTR_RECV].port.fid.context = &cntr;
	rail.below.cntr[WF_CNTR_RECV].port.owner_ops = &lnx_deferred_cntr_ops;
	counted = failed = 0;
	return 0;
}

/*
 * What happens at the rail: the member counts a success (s) or a failure (f), a
 * deferred receive begins (b) or ends (e) there, lnx finds that the success held back
 * is none (n), that the failure to come is counted (c), or that the progress call is
 * over (p).
 */
static void happens(char event)
{
	struct fid_peer_cntr *port = &rail.below.cntr[WF_CNTR_RECV].port;

	switch (event) {
	case 's':
		port->owner_ops->inc(port);
		break;
	case 'f':
		port->owner_ops->incerr(port);
		break;
	case 'b':
		rail.deferred++;
		break;
	case 'e':
		rail.deferred--;
		break;
	case 'n':
		rail.held = false;
		break;
	case 'c':
		rail.failure_counted = true;
		break;
	default:
		lnx_count_held(&rail);
	}
}

/* After each event, how many successes and failures were counted. */
static const struct {
	const char *events, *successes, *failures;
} rows[] = {
	/* Nothing is held back while the member has no deferred receive. */
	{ "s", "1", "0" },
	{ "ssps", "1223", "0000" },
	{ "f", "0", "1" },
	{ "fsf", "011", "112" },
	/* While it has one, a success is held back until the next event. */
	{ "bs", "00", "00" },
	{ "bsp", "001", "000" },
	{ "bspp", "0011", "0000" },
	{ "bss", "001", "000" },
	{ "bsssp", "00123", "00000" },
	{ "bsf", "001", "001" },
	{ "bsfp", "0011", "0011" },
	/* Also when the receive has ended meanwhile. */
	{ "bses", "0002", "0000" },
	{ "bsep", "0001", "0000" },
	/* One that was none is not counted, and those behind it are. */
	{ "bsnp", "0000", "0000" },
	{ "bsns", "0000", "0000" },
	{ "bsnsp", "00001", "00000" },
	{ "bsnes", "00001", "00000" },
	/* One failure is left out where it was counted before. */
	{ "cf", "00", "00" },
	{ "cff", "000", "001" },
	{ "csf", "011", "000" },
	{ "bscf", "0001", "0000" },
	{ "cfcff", "00000", "00001" },
};

static void successes_are_held_back_while_receives_are_deferred(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)fresh(state);
		for (size_t k = 0; rows[i].events[k]; k++) {
			happens(rows[i].events[k]);
			if (counted + '0' == (unsigned char)rows[i].successes[k] &&
				failed + '0' == (unsigned char)rows[i].failures[k])
				continue;
			fail_msg("%s, after %zu: %u successes, %u failures",
				rows[i].events, k + 1, counted, failed);
		}
	}
}

/* Each rail holds back for itself. */
static void rails_do_not_meet(void **state)
{
	struct lnx_rail *other = calloc(1, sizeof(*other));
	struct fid_peer_cntr *port;

	assert_non_null(other);
	port = &other->below.cntr[WF_CNTR_RECV].port;
	port->fid.context = &cntr;
	happens('b');
	happens('s');
	lnx_deferred_cntr_ops.inc(port);
	assert_int_equal(counted, 1);
	lnx_count_held(other);
	assert_int_equal(counted, 1);
	happens('p');
	assert_int_equal(counted, 2);
	happens('c');
	lnx_deferred_cntr_ops.incerr(port);
	assert_int_equal(failed, 1);
	free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(successes_are_held_back_while_receives_are_deferred),
		cmocka_unit_test_setup(rails_do_not_meet, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
