/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shortage PROVIDER rdm|msg|dgram in|any [OFFSET CALL]: each call of the library for
 * memory, a descriptor, a mapping or a thread fails once. What was asked of the library
 * then fails or succeeds, but it does not crash, hang, or lose an operation; what was
 * opened can be closed; nothing stays allocated or open; and the next try succeeds.
 *
 * Each failure has a process of its own, for which all calls are the first ones. With
 * OFFSET CALL, as a line of the output has them, that one only, without a fork: for
 * gdb.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../left.h"
#include "../sanitizer.h"
#include "../time_limits.h"
#include "refuse.h"
#include "scene.h"

enum { NTH_MAX = 2 }; /* calls of a place that are tried */

/* What a process tells its parent. */
struct report {
	struct refuse_places places;
	bool failed;
	char text[512]; /* what is wrong; empty: nothing */
	char step[64];  /* at which the failure was met */
};

static struct report *shared;
static struct scene_asked asked;

/* The places that have more blocks live than in @before, as text. */
static void find_leaks(const struct refuse_places *before,
	const struct refuse_places *now, char *text, size_t len)
{
	for (size_t i = 0; i < now->count; i++) {
		const struct refuse_place *place = &now->place[i];
		int was = 0;

		for (size_t k = 0; k < before->count; k++)
			if (before->place[k].offset == place->offset)
				was = before->place[k].live;
		if (place->live > was)
			(void)snprintf(text, len, "%d blocks stay of %s at 0x%" PRIxPTR,
				place->live - was, place->called, place->offset);
	}
}

/* In a process of its own: play once with the failure, and once without. */
static void play_both(
	const struct refuse_places *clean, uintptr_t offset, unsigned int nth)
{
	struct left none = { 0 }, before;
	const char *step = "";
	int ret;

	(void)alarm(limit_s(20));
	before = left_count();
	refuse_begin(offset, nth);
	ret = scene_play(&asked, &step);
	shared->failed = refuse_end();
	(void)snprintf(shared->step, sizeof(shared->step), "%s", step);
	if (ret == SCENE_LOST)
		(void)snprintf(
			shared->text, sizeof(shared->text), "an operation is lost");
	else if (ret == SCENE_UNCLOSED)
		(void)snprintf(shared->text, sizeof(shared->text), "cannot be closed");
	if (shared->text[0])
		return;
	if (left_more(before, none, shared->text, sizeof(shared->text)) && nth)
		return;
	shared->text[0] = '\0';
	ret = scene_play(&asked, &step);
	if (ret)
		(void)snprintf(shared->text, sizeof(shared->text),
			"the next try fails with %d at: %s", ret, step);
	else if (clean)
		find_leaks(clean, refuse_seen(), shared->text, sizeof(shared->text));
	shared->places = *refuse_seen();
}

/* Returns whether the process ended well. */
static bool play_in_child(
	const struct refuse_places *clean, uintptr_t offset, unsigned int nth)
{
	int status;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	(void)fflush(stdout);
	pid = fork();
	if (!pid) {
		play_both(clean, offset, nth);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	if (WIFSIGNALED(status))
		(void)snprintf(shared->text, sizeof(shared->text), "%s",
			WTERMSIG(status) == SIGALRM ? "hangs"
						    : strsignal(WTERMSIG(status)));
	else if (status && !shared->text[0])
		(void)snprintf(shared->text, sizeof(shared->text), "exit status %d",
			WEXITSTATUS(status));
	return !shared->text[0];
}

/* One failure. Returns whether all is well. */
static bool try_place(const struct refuse_places *clean,
	const struct refuse_place *place, unsigned int nth)
{
	if (play_in_child(clean, place->offset, nth))
		return true;
	(void)printf("# %s at 0x%" PRIxPTR ", call %u, step \"%s\": %s\n",
		place->called, place->offset, nth, shared->step, shared->text);
	return false;
}

static bool parse(int argc, char **argv)
{
	static const struct {
		const char *name;
		enum fi_ep_type type;
	} types[] = { { "rdm", FI_EP_RDM }, { "msg", FI_EP_MSG },
		{ "dgram", FI_EP_DGRAM } };

	if (argc < 4)
		return false;
	asked.provider = argv[1];
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(argv[2], types[i].name))
			asked.type = types[i].type;
	asked.addr_format = !strcmp(argv[3], "in") ? FI_SOCKADDR_IN : FI_FORMAT_UNSPEC;
	return asked.type != FI_EP_UNSPEC;
}

int main(int argc, char **argv)
{
	static struct refuse_places clean;
	unsigned int tried = 0, bad = 0;

	if (!parse(argc, argv)) {
		(void)fprintf(stderr,
			"usage: %s PROVIDER rdm|msg|dgram in|any [OFFSET CALL]\n",
			argv[0]);
		return 2;
	}
	(void)setenv("FI_BACKGROUND_PROGRESS", "no", 0);
	refuse_init();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	if (!play_in_child(NULL, 0, 0)) {
		(void)printf("not ok 1 - without a failure: %s\n1..1\n", shared->text);
		return 1;
	}
	if (argc > 5) {
		play_both(NULL, strtoul(argv[4], NULL, 0), (unsigned int)atoi(argv[5]));
		(void)printf("%s %s\n", shared->step, shared->text);
		return shared->text[0] != '\0';
	}
	clean = shared->places;
	for (size_t i = 0; i < clean.count; i++) {
		for (unsigned int nth = 1; nth <= NTH_MAX; nth++) {
			bool well = try_place(&clean, &clean.place[i], nth);

			if (!shared->failed && well)
				break; /* fewer calls */
			tried++;
			bad += !well;
		}
	}
	if (bad)
		(void)printf("# addr2line -f -i -e %s 0x...\n", refuse_library());
	(void)printf("%s 1 - %u failed calls of %zu places, %u with bad "
		     "consequences\n1..1\n",
		bad ? "not ok" : "ok", tried, clean.count, bad);
	return bad ? 1 : 0;
}
