/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <unistd.h>

#include "../../time_limits.h"
#include "providers/shm/conn/listen.h"
#include "providers/shm/conn/listing.h"
#include "providers/shm/name.h"
#include "sys/clock.h"

struct fi_provider shm_fi = { .name = "shm" };

enum { NAMES = 100 };

/* Names of this test alone. */
static const char *own(int number)
{
	static char name[SHM_NAME_MAX];

	(void)snprintf(name, sizeof(name), "fi_shm://weft-listing-test-%ld-%d",
		(long)getpid(), number);
	return name;
}

static bool comes_to(struct shm_listing *listing, int number, bool wanted)
{
	uint64_t deadline = wf_deadline_ns((unsigned int)limit_ms(10000));

	while (shm_listing_may_have(listing, own(number)) != wanted) {
		if (wf_now_ns() > deadline)
			return false;
		(void)usleep(1000);
	}
	return true;
}

static void names_come_and_go(void **state)
{
	struct shm_listing listing = { 0 };
	int fd[NAMES];

	(void)state;
	assert_false(shm_listing_is_young(&listing));
	assert_false(shm_listing_may_have(&listing, own(0)));
	/* More than the first space for names. */
	for (int i = 0; i < NAMES; i++)
		assert_int_equal(shm_socket_listen(own(i), &fd[i]), 0);
	for (int i = 0; i < NAMES; i++)
		assert_true(comes_to(&listing, i, true));
	assert_false(shm_listing_may_have(&listing, own(NAMES)));
	for (int i = 0; i < NAMES; i++)
		shm_socket_unlisten(fd[i], own(i));
	for (int i = 0; i < NAMES; i++)
		assert_true(comes_to(&listing, i, false));
	shm_listing_done(&listing);
}

/* It is read again when the directory has changed, or after a second. */
static void read_when_it_has_changed(void **state)
{
	struct shm_listing listing = { 0 };
	uint64_t first;
	int fd;

	(void)state;
	assert_int_equal(shm_socket_listen(own(0), &fd), 0);
	assert_true(shm_listing_may_have(&listing, own(0)));
	first = listing.read_ns;
	shm_socket_unlisten(fd, own(0));
	assert_true(comes_to(&listing, 0, false));
	assert_true(listing.read_ns > first);
	/* As if the clock had been set back. */
	listing.read_ns += 3600000000000;
	assert_false(shm_listing_is_young(&listing));
	assert_int_equal(shm_socket_listen(own(0), &fd), 0);
	assert_true(shm_listing_may_have(&listing, own(0)));
	shm_socket_unlisten(fd, own(0));
	shm_listing_done(&listing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_come_and_go),
		cmocka_unit_test(read_when_it_has_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
