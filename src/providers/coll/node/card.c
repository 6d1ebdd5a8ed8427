/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "providers/coll/node/card.h"
#include "sys/compiler.h"

static int read_file(const char *name, char *text, size_t size)
{
	CLEANUP(wf_close) int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	text[0] = '\0';
	if (fd < 0)
		return -errno;
	len = read(fd, text, size - 1);
	if (len < 0)
		return -errno;
	text[len] = '\0';
	return 0;
}

/* The hexadecimal digits of @text, without the dashes between them. */
static int parse_boot_id(const char *text, uint8_t id[16])
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

/* From /proc/PID/stat: the state, and the time when the process started. The second
 * field is the name of the program in parentheses, and may contain parentheses. */
static int read_stat(uint32_t pid, char *state, uint64_t *started)
{
	char name[32], text[1024];
	const char *at;
	int ret;

	(void)snprintf(name, sizeof(name), "/proc/%u/stat", pid);
	ret = read_file(name, text, sizeof(text));
	if (ret)
		return ret;
	at = strrchr(text, ')');
	if (!at || at[1] != ' ')
		return -EINVAL;
	at += 2;
	*state = *at;
	/* The state is field 3, the start field 22. */
	for (int field = 3; field < 22; field++) {
		at = strchr(at, ' ');
		if (!at)
			return -EINVAL;
		at++;
	}
	errno = 0;
	*started = strtoull(at, NULL, 10);
	return errno ? -EINVAL : 0;
}

static void fill_cpus(struct coll_card *card)
{
	const uint64_t prime = 0x100000001b3; /* of FNV-1a */
	uint64_t hash = 0xcbf29ce484222325;
	cpu_set_t set;

	/* Fails where the machine has more processors than the set has bits. Then
	 * nothing is known, which is the same as more processors than members. */
	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	for (size_t i = 0; i < sizeof(set); i++)
		hash = (hash ^ ((const uint8_t *)&set)[i]) * prime;
	card->cpu_hash = (uint32_t)(hash ^ hash >> 32);
	card->cpus = (uint16_t)CPU_COUNT(&set);
}

int coll_card_fill(struct coll_card *card)
{
	struct stat ns;
	char text[64], state;
	int ret;

	*card = (struct coll_card){
		.layout = COLL_CARD_LAYOUT,
		.uid = (uint32_t)geteuid(),
		.pid = (uint32_t)getpid(),
	};
	ret = read_file("/proc/sys/kernel/random/boot_id", text, sizeof(text));
	if (!ret)
		ret = parse_boot_id(text, card->boot_id);
	if (!ret)
		ret = read_stat(card->pid, &state, &card->started);
	if (ret)
		return ret;
	if (stat("/proc/self/ns/pid", &ns))
		return -errno;
	card->pid_ns = (uint64_t)ns.st_ino;
	fill_cpus(card);
	return 0;
}

bool coll_node_is_local(
	const struct coll_node_card *card_a, const struct coll_node_card *card_b)
{
	struct coll_card a = coll_card_get(card_a), b = coll_card_get(card_b);

	return a.layout == COLL_CARD_LAYOUT && b.layout == a.layout && a.uid == b.uid &&
	       a.pid_ns == b.pid_ns && !memcmp(a.boot_id, b.boot_id, sizeof(a.boot_id));
}

enum coll_alive coll_card_alive(const struct coll_card *card)
{
	uint64_t started;
	char state;
	int ret = read_stat(card->pid, &state, &started);

	if (ret == -ENOENT || ret == -ESRCH)
		return COLL_DEAD;
	if (ret)
		return COLL_ALIVE;
	return started != card->started || state == 'Z' || state == 'X' ? COLL_DEAD
									: COLL_ALIVE;
}
