/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/calls.h"
#include "sys/compiler.h"
#include "sys/machine.h"

static int machine_read_file(const char *name, char *text, size_t size)
{
	CLEANUP(wf_close) int fd = wf_sys_open(name, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	text[0] = '\0';
	if (fd < 0)
		return -errno;
	len = wf_sys_read(fd, text, size - 1);
	if (len < 0)
		return -errno;
	text[len] = '\0';
	return 0;
}

/* The hexadecimal digits of @text, without the dashes between them. */
static int machine_parse_boot_id(const char *text, uint8_t id[16])
{
	size_t digits = 0;

	memset(id, 0, 16);
	for (; *text && *text != '\n'; text++) {
		char digit[] = { *text, '\0' }, *end;
		unsigned long value = strtoul(digit, &end, 16);

		if (*text == '-')
			continue;
		if (end == digit || digits == 32)
			return -EINVAL;
		id[digits / 2] |= (uint8_t)(value << (digits % 2 ? 0 : 4));
		digits++;
	}
	return digits == 32 ? 0 : -EINVAL;
}

int wf_machine_boot_id(uint8_t ret_id[16])
{
	char text[64];
	int ret = machine_read_file(
		"/proc/sys/kernel/random/boot_id", text, sizeof(text));

	return ret ? ret : machine_parse_boot_id(text, ret_id);
}

int wf_machine_pid_ns(uint64_t *ret_ns)
{
	struct stat ns;

	if (stat("/proc/self/ns/pid", &ns))
		return -errno;
	*ret_ns = (uint64_t)ns.st_ino;
	return 0;
}

/* The second field is the name of the program in parentheses, and may contain
 * parentheses. */
int wf_process_stat(uint32_t pid, char *ret_state, uint64_t *ret_started)
{
	char name[32], text[1024];
	const char *at;
	int ret;

	(void)snprintf(name, sizeof(name), "/proc/%u/stat", pid);
	ret = machine_read_file(name, text, sizeof(text));
	if (ret)
		return ret;
	at = strrchr(text, ')');
	if (!at || at[1] != ' ')
		return -EINVAL;
	at += 2;
	*ret_state = *at;
	/* The state is field 3, the start field 22. */
	for (int field = 3; field < 22; field++) {
		at = strchr(at, ' ');
		if (!at)
			return -EINVAL;
		at++;
	}
	errno = 0;
	*ret_started = strtoull(at, NULL, 10);
	return errno ? -EINVAL : 0;
}
