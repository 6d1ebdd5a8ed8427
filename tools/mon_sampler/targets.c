/* SPDX-License-Identifier: BSD-2-Clause */
#include "targets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "print.h"
#include "source.h"

struct target {
	struct target *next;
	char *name;
	struct source source;
	FILE *out; /* NULL: not opened yet */
	char *out_name;
	bool open;    /* False: it has ended, or is not a file of a process. */
	bool waiting; /* A sample was asked for. */
};

struct targets {
	const struct sampler_options *options;
	DIR *dir; /* NULL: the target is a file */
	struct target *first;
	bool failed;
};

static void targets_complain(struct targets *targets, const char *name, const char *why)
{
	fprintf(stderr, "%s: %s\n", name, why);
	targets->failed = true;
}

static bool targets_open_file(struct targets *targets, struct target *target)
{
	const char *suffix =
		targets->options->format == FORMAT_CSV ? "csv" : "peers.csv";
	const char *slash = strrchr(target->name, '/');
	struct stat st;

	if (asprintf(&target->out_name, "%s/%s.%s", targets->options->outdir,
		    slash ? slash + 1 : target->name, suffix) < 0) {
		target->out_name = NULL;
		targets_complain(targets, target->name, "out of memory");
		return false;
	}
	target->out = fopen(target->out_name, "ae");
	if (!target->out || fstat(fileno(target->out), &st)) {
		targets_complain(targets, target->out_name, strerror(errno));
		return false;
	}
	if (!st.st_size)
		print_header(target->out, targets->options->format);
	fprintf(stderr, "Writing sampled data to %s\n", target->out_name);
	return true;
}

static bool targets_open_output(struct targets *targets, struct target *target)
{
	if (targets->options->outdir)
		return targets_open_file(targets, target);
	target->out = stdout;
	print_header(stdout, targets->options->format);
	return true;
}

static void targets_close_output(struct targets *targets, struct target *target)
{
	if (target->out && target->out != stdout) {
		if (fclose(target->out))
			targets_complain(targets, target->out_name, strerror(errno));
		fprintf(stderr, "Closed %s\n", target->out_name);
	}
	target->out = NULL;
	free(target->out_name);
	target->out_name = NULL;
}

static void targets_end(struct targets *targets, struct target *target)
{
	if (target->open)
		source_close(&target->source);
	target->open = target->waiting = false;
	targets_close_output(targets, target);
}

static void targets_print(
	struct targets *targets, struct target *target, const struct mon_sample *sample)
{
	print_sample(target->out, targets->options->format, sample);
	if (fflush(target->out)) {
		targets_complain(targets, target->name, strerror(errno));
		targets_end(targets, target);
	}
}

/* @state is the result of source_ask or source_poll. */
static void targets_handle(struct targets *targets, struct target *target,
	enum source_state state, const struct mon_sample *sample, const char *why)
{
	target->waiting = state == SOURCE_WAITS;
	switch (state) {
	case SOURCE_WAITS:
		break;
	case SOURCE_SAMPLE:
		targets_print(targets, target, sample);
		break;
	case SOURCE_LAST:
		targets_print(targets, target, sample);
		targets_end(targets, target);
		break;
	case SOURCE_ENDED:
	case SOURCE_DIED:
		why = state == SOURCE_ENDED ? "the process has ended"
					    : "the process has died";
		if (targets->options->repeat)
			fprintf(stderr, "%s: %s\n", target->name, why);
		else
			targets_complain(targets, target->name, why);
		targets_end(targets, target);
		break;
	case SOURCE_BAD:
		targets_complain(targets, target->name, why);
		targets_end(targets, target);
		break;
	}
}

/* The target stays in the list if it cannot be opened, so that this is told once. */
static struct target *targets_add(struct targets *targets, int dir, const char *name)
{
	struct target *target = calloc(1, sizeof(*target));
	const char *why = "out of memory";

	if (target)
		target->name = strdup(name);
	if (!target || !target->name) {
		free(target);
		targets_complain(targets, name, why);
		return NULL;
	}
	target->next = targets->first;
	targets->first = target;
	why = source_open(&target->source, dir, name);
	if (why) {
		targets_complain(targets, name, why);
		return target;
	}
	target->open = true;
	if (!targets_open_output(targets, target))
		targets_end(targets, target);
	return target;
}

static bool targets_is_known(const struct targets *targets, const char *name)
{
	for (const struct target *target = targets->first; target;
		target = target->next)
		if (!strcmp(target->name, name))
			return true;
	return false;
}

static void targets_scan(struct targets *targets)
{
	const struct dirent *entry;

	rewinddir(targets->dir);
	while ((entry = readdir(targets->dir)))
		if (entry->d_name[0] != '.' &&
			!targets_is_known(targets, entry->d_name))
			(void)targets_add(targets, dirfd(targets->dir), entry->d_name);
}

static bool targets_open_dir(struct targets *targets, const char *name)
{
	if (!targets->options->outdir) {
		targets_complain(targets, name,
			"the files of a directory need an output directory, -o");
		return false;
	}
	targets->dir = opendir(name);
	if (!targets->dir) {
		targets_complain(targets, name, strerror(errno));
		return false;
	}
	targets_scan(targets);
	if (!targets->first)
		targets_complain(targets, name, "no files of monitored processes");
	return targets->first != NULL;
}

static bool targets_open_all(struct targets *targets)
{
	const char *name = targets->options->target;
	struct stat st;

	if (stat(name, &st)) {
		targets_complain(targets, name, strerror(errno));
		return false;
	}
	if (S_ISDIR(st.st_mode))
		return targets_open_dir(targets, name);
	(void)targets_add(targets, AT_FDCWD, name);
	return targets->first && targets->first->open;
}

struct targets *targets_open(const struct sampler_options *options)
{
	struct targets *targets = calloc(1, sizeof(*targets));

	if (!targets) {
		fprintf(stderr, "out of memory\n");
		return NULL;
	}
	targets->options = options;
	if (targets_open_all(targets))
		return targets;
	(void)targets_close(targets);
	return NULL;
}

bool targets_ask(struct targets *targets)
{
	bool any = false;

	if (targets->dir && targets->options->repeat)
		targets_scan(targets);
	for (struct target *target = targets->first; target; target = target->next) {
		const struct mon_sample *sample = NULL;
		const char *why = NULL;

		if (target->open && !target->waiting) {
			enum source_state state =
				source_ask(&target->source, &sample, &why);

			targets_handle(targets, target, state, sample, why);
		}
		any = any || target->open;
	}
	return any;
}

bool targets_poll(struct targets *targets)
{
	bool waiting = false;

	for (struct target *target = targets->first; target; target = target->next) {
		const struct mon_sample *sample = NULL;
		const char *why = NULL;

		if (target->waiting) {
			enum source_state state =
				source_poll(&target->source, &sample, &why);

			targets_handle(targets, target, state, sample, why);
		}
		waiting = waiting || target->waiting;
	}
	return waiting;
}

void targets_note_waiting(const struct targets *targets)
{
	for (const struct target *target = targets->first; target;
		target = target->next)
		if (target->waiting)
			fprintf(stderr, "Waiting for %s: the process makes few calls\n",
				target->name);
}

bool targets_close(struct targets *targets)
{
	bool good;

	while (targets->first) {
		struct target *target = targets->first;

		targets->first = target->next;
		targets_end(targets, target);
		free(target->name);
		free(target);
	}
	if (targets->dir)
		(void)closedir(targets->dir);
	good = !targets->failed;
	free(targets);
	return good;
}
