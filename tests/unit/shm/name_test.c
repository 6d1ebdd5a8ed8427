/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <sys/un.h>
#include <unistd.h>

#include "providers/shm/name.h"

#define DIR "/dev/shm/weft-1234567"

struct fi_provider shm_fi = { .name = "shm" };

static const char *path_of(const char *name)
{
	static char path[sizeof(((struct sockaddr_un *)0)->sun_path)];

	memset(path, '#', sizeof(path));
	assert_int_equal(shm_name_path(DIR, name, path, sizeof(path)), 0);
	return path;
}

/* The file of @name, its directory checked. */
static const char *file_of(const char *name)
{
	const char *path = path_of(name);

	assert_int_equal(strncmp(path, DIR "/", sizeof(DIR)), 0);
	return path + sizeof(DIR);
}

static void paths(void **state)
{
	char longest[SHM_NAME_MAX] = "fi_shm://", last[64];

	assert_string_equal(file_of("fi_shm://17:0:1"), "17:0:1");
	assert_string_equal(file_of("fi_ns://host:svc"), "host:svc");
	assert_string_equal(file_of("fi_shm://a/../b"), "a%2F..%2Fb");
	assert_string_equal(file_of("fi_shm://.."), "%2E.");
	assert_string_equal(file_of("fi_shm://.x"), "%2Ex");
	assert_string_equal(file_of("fi_shm://%2F"), "%252F");
	assert_string_equal(file_of("fi_shm://\xc3\xa4 b"), "%C3%A4%20b");

	/* FNV-1a of 128 bits, computed elsewhere. */
	memset(longest + 9, 'a', SHM_NAME_MAX - 10);
	(void)snprintf(last, sizeof(last), "%s", file_of(longest));
	assert_string_equal(last, "%%f8fc1ecb5b8a26d630fe00f0e8faa09b");
	longest[SHM_NAME_MAX - 2] = 'b';
	assert_string_not_equal(file_of(longest), last);
	assert_null(strchr(file_of(longest), '/'));
}

static void every_length(void **state)
{
	char name[SHM_NAME_MAX] = "fi_shm://", path[SHM_NAME_MAX];
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path);
	bool hashed = false;

	for (size_t len = 1; len < SHM_NAME_MAX - 9; len++) {
		const char *file;

		name[9 + len - 1] = '/';
		file = file_of(name);
		assert_true(strlen(path_of(name)) < room);
		if (!strncmp(file, "%%", 2))
			hashed = true;
		else
			assert_true(!hashed && strlen(file) == 3 * len);
	}
	assert_true(hashed);
	assert_int_equal(shm_name_path(DIR, name, path, 20), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(every_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
