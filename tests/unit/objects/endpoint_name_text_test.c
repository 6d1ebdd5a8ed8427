/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>

#include "objects/endpoint/life/name.h"
#include "sys/addrstr.h"

/* Names that endpoints on this machine are given, or make up. */

static struct fi_provider fi = { .name = "names" };

static int make(const char *text, char *ret_name)
{
	struct fi_info info = {
		.src_addr = (void *)(uintptr_t)text,
		.src_addrlen = text ? strlen(text) + 1 : 0,
	};

	return wf_name_text_first(&fi, &info, ret_name);
}

static void assert_padded(const char *name)
{
	for (size_t i = strlen(name); i < WF_ADDRSTR_MAX; i++)
		assert_int_equal(name[i], '\0');
}

/* Those of fi_getinfo: a process may open many of them. */
static void numbered(void **state)
{
	char name[2][WF_ADDRSTR_MAX], want[WF_ADDRSTR_MAX];
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
	char name[WF_ADDRSTR_MAX];

	assert_int_equal(make("fi_ns://host:svc", name), 0);
	assert_string_equal(name, "fi_shm://host:svc");
	assert_padded(name);
	assert_int_equal(make("mine://x", name), 0);
	assert_string_equal(name, "fi_shm://x");
	assert_int_equal(make("x", name), 0);
	assert_string_equal(name, "fi_shm://x");
	assert_int_equal(wf_name_text_read(&fi, "fi_shm://x", 11, name), 0);
	assert_string_equal(name, "fi_shm://x");
	assert_int_equal(wf_name_text_read(&fi, "fi_shm://x", 10, name), -FI_EINVAL);
	assert_int_equal(wf_name_text_read(&fi, NULL, 0, name), -FI_EINVAL);
	assert_int_equal(make("", name), -FI_EINVAL);
	assert_int_equal(make("fi_shm://", name), -FI_EINVAL);
	assert_int_equal(make("a\nb", name), -FI_EINVAL);
}

static void too_long_with_number(void **state)
{
	char text[WF_ADDRSTR_MAX] = "fi_shm://", name[WF_ADDRSTR_MAX];

	memset(text + 9, 'n', WF_ADDRSTR_MAX - 10);
	assert_int_equal(make(text, name), -FI_EINVAL);
	text[0] = 'g';
	assert_int_equal(make(text, name), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbered),
		cmocka_unit_test(as_given),
		cmocka_unit_test(too_long_with_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
