/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <sys/un.h>
#include <unistd.h>

#include "providers/shm/name.h"

#define DIR "/dev/shm/weft-1234567"

struct fi_provider shm_fi = { .name = "shm" };

static int make(const char *text, char *ret_name)
{
	struct fi_info info = {
		.src_addr = (void *)(uintptr_t)text,
		.src_addrlen = text ? strlen(text) + 1 : 0,
	};

	return shm_name_make(&info, ret_name);
}

static void assert_padded(const char *name)
{
	for (size_t i = strlen(name); i < SHM_NAME_MAX; i++)
		assert_int_equal(name[i], '\0');
}

/* Those of fi_getinfo: a process may open many of them. */
static void numbered(void **state)
{
	char name[2][SHM_NAME_MAX], want[SHM_NAME_MAX];
	unsigned int number;

	memset(name, '#', sizeof(name));
	assert_int_equal(make("fi_shm://17", name[0]), 0);
	assert_padded(name[0]);
	(void)snprintf(
		want, sizeof(want), "fi_shm://17:%u:%%u", (unsigned int)geteuid());
	assert_int_equal(sscanf(name[0], want, &number), 1);
	assert_int_equal(make("fi_shm://17", name[1]), 0);
	(void)snprintf(want, sizeof(want), "fi_shm://17:%u:%u", (unsigned int)geteuid(),
		number + 1);
	assert_string_equal(name[1], want);

	assert_int_equal(make(NULL, name[0]), 0);
	(void)snprintf(want, sizeof(want), "fi_shm://%ld:%u:%u", (long)getpid(),
		(unsigned int)geteuid(), number + 2);
	assert_string_equal(name[0], want);
}

static void as_given(void **state)
{
	char name[SHM_NAME_MAX];

	assert_int_equal(make("fi_ns://host:svc", name), 0);
	assert_string_equal(name, "fi_shm://host:svc");
	assert_padded(name);
	assert_int_equal(make("mine://x", name), 0);
	assert_string_equal(name, "fi_shm://x");
	assert_int_equal(make("x", name), 0);
	assert_string_equal(name, "fi_shm://x");
	assert_int_equal(shm_name_read("fi_shm://x", 11, name), 0);
	assert_string_equal(name, "fi_shm://x");
	assert_int_equal(shm_name_read("fi_shm://x", 10, name), -FI_EINVAL);
	assert_int_equal(shm_name_read(NULL, 0, name), -FI_EINVAL);
	assert_int_equal(make("", name), -FI_EINVAL);
	assert_int_equal(make("fi_shm://", name), -FI_EINVAL);
	assert_int_equal(make("a\nb", name), -FI_EINVAL);
}

static void too_long_with_number(void **state)
{
	char text[SHM_NAME_MAX] = "fi_shm://", name[SHM_NAME_MAX];

	memset(text + 9, 'n', SHM_NAME_MAX - 10);
	assert_int_equal(make(text, name), -FI_EINVAL);
	text[0] = 'g';
	assert_int_equal(make(text, name), 0);
}

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
		cmocka_unit_test(numbered),
		cmocka_unit_test(as_given),
		cmocka_unit_test(too_long_with_number),
		cmocka_unit_test(paths),
		cmocka_unit_test(every_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
