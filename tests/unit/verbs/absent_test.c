/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <rdma/fabric.h>

/* A machine without devices: fi_getinfo loads nothing for them. */

static bool has_device(void)
{
	DIR *dir = opendir("/sys/class/infiniband");
	const struct dirent *entry = NULL;

	while (dir && (entry = readdir(dir)) && entry->d_name[0] == '.')
		;
	if (dir)
		(void)closedir(dir);
	return entry;
}

/* Is a file whose path contains @name mapped? */
static bool is_mapped(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	bool found = false;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, name) != NULL;
	(void)fclose(maps);
	return found;
}

static void no_library_is_loaded(void **state)
{
	struct fi_info *info = NULL;

	(void)state;
	if (has_device())
		skip();
	assert_true(is_mapped("libc.so"));
	assert_int_equal(fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, NULL, &info), 0);
	fi_freeinfo(info);
	assert_false(is_mapped("libibverbs"));
	assert_false(is_mapped("librdmacm"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_library_is_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
