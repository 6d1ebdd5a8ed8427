/* SPDX-License-Identifier: BSD-2-Clause */
#include "compare.h"
#include "median.h"
#include "pace.h"
#include "plot.h"
#include "process.h"
#include "say.h"
#include "table.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The results of all rounds of both libraries. */
struct rounds {
	uint32_t count;
	struct fb_series *ours, *theirs;
	struct fb_paces paces; /* of the processors that option -C names */
};

/* ---- measuring ---- */

static void compare_list_tests(const struct fb_config *c, char *text, size_t size)
{
	const char *comma = "";
	size_t len = (size_t)snprintf(text, size, "--test=");

	for (int test = 0; test < FB_TEST_COUNT; test++) {
		if (!fb_config_has(c, test))
			continue;
		len += (size_t)snprintf(
			text + len, size - len, "%s%s", comma, fb_tests[test].name);
		comma = ",";
	}
}

/* Run this program as a process, with the same measurement, and read its results. */
static void compare_run_again(const struct fb_options *o, char *const *env,
	struct fb_series **ret_series, size_t *ret_count)
{
	char *argv[FB_KEPT_MAX + 8];
	char self[PATH_MAX] = "", tests[512], csv[] = "--csv=-", all[] = "--test=all",
	     untouched[] = "--touch=no";
	struct fb_process process = { .argv = argv, .env = env, .core = -1 };
	const char *wrong;
	FILE *output;
	size_t n = 0;
	pid_t pid;
	int status;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		fb_die(FB_EXIT_FAILED, "/proc/self/exe: %s", strerror(errno));
	compare_list_tests(&o->config, tests, sizeof(tests));
	argv[n++] = self;
	for (uint32_t i = 0; i < o->kept_count; i++)
		argv[n++] = o->kept[i];
	argv[n++] = o->config.narrow && !o->vs_ucx ? all : tests;
	argv[n++] = csv;
	if (o->vs_ucx)
		argv[n++] = untouched;
	argv[n] = NULL;
	pid = fb_process_start(&process, &output);
	wrong = fb_csv_read(output, ret_series, ret_count);
	fclose(output);
	status = fb_process_wait(pid);
	if (status && status != FB_EXIT_STALLED)
		fb_die(status == FB_EXIT_DAMAGED ? status : FB_EXIT_FAILED,
			"a measurement failed%s%s", env ? ", with " : "",
			env ? env[0] : "");
	if (wrong || *ret_count != 1)
		fb_die(FB_EXIT_FAILED, "a measurement has no results%s%s",
			wrong ? ": " : "", wrong ? wrong : "");
}

static void compare_measure(
	const struct fb_options *o, const char *folder, struct fb_series *ret_series)
{
	char path[PATH_MAX + 32];
	char *env[] = { path, NULL };
	struct fb_series *series;
	size_t count;

	snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s", folder ? folder : "");
	compare_run_again(o, folder ? env : NULL, &series, &count);
	*ret_series = series[0];
	free(series);
}

/* Check that the library in @folder was measured, and that both are different files. */
static void compare_check_library(const char *folder, const struct fb_series *ours,
	const struct fb_series *theirs)
{
	char real[PATH_MAX];
	size_t len;

	if (!realpath(folder, real))
		fb_die(FB_EXIT_FAILED, "%s: %s", folder, strerror(errno));
	len = strlen(real);
	if (strncmp(theirs->library, real, len) != 0 && theirs->library[0])
		fb_say("%s links to another folder: %s is measured", folder,
			theirs->library);
	if (!strcmp(theirs->library, ours->library))
		fb_say("both sides are %s", ours->library);
}

static void compare_check_folder(const char *folder)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/libfabric.so.1", folder);
	if (access(name, R_OK))
		fb_die(FB_EXIT_FAILED, "%s: %s", name, strerror(errno));
}

static void compare_run_rounds(const struct fb_options *o, struct rounds *rounds)
{
	rounds->count = o->rounds;
	rounds->ours = fb_alloc(o->rounds, sizeof(*rounds->ours));
	rounds->theirs = fb_alloc(o->rounds, sizeof(*rounds->theirs));
	fb_paces_init(&rounds->paces, o->rounds, o->cores);
	for (uint32_t i = 0; i < o->rounds; i++) {
		fb_progress("round", i + 1, (double)i / o->rounds);
		fb_paces_sample(&rounds->paces, i);
		compare_measure(o, NULL, &rounds->ours[i]);
		fb_paces_sample(&rounds->paces, i);
		if (o->vs_ucx)
			fb_ucx_run(o, &rounds->ours[i], &rounds->theirs[i]);
		else
			compare_measure(o, o->vs, &rounds->theirs[i]);
		fb_paces_sample(&rounds->paces, i);
		fb_progress_erase();
		if (!i && o->vs)
			compare_check_library(
				o->vs, &rounds->ours[0], &rounds->theirs[0]);
	}
}

/* ---- one row of all rounds ---- */

/* Summarise a row of all rounds: the best of the bests, the median of the medians and
 * of other figures. False: a round lacks the row. */
static bool compare_summary(const struct fb_series *series, uint32_t rounds,
	const struct fb_record *like, struct fb_record *ret_record)
{
	double all[3][FB_ROUNDS_MAX];

	for (uint32_t i = 0; i < rounds; i++) {
		const struct fb_record *r = fb_series_find(&series[i], like);

		if (!r || !(r->median_ns > 0))
			return false;
		if (!i)
			*ret_record = *r;
		if (r->best_ns < ret_record->best_ns)
			ret_record->best_ns = r->best_ns;
		all[0][i] = r->median_ns;
		all[1][i] = r->p50_ns;
		all[2][i] = r->p99_ns;
	}
	ret_record->median_ns = fb_median(all[0], rounds);
	ret_record->p50_ns = fb_median(all[1], rounds);
	ret_record->p99_ns = fb_median(all[2], rounds);
	return true;
}

/* The median of the ratios of single rounds, or of the quiet ones (0: there is none).
 * The two libraries of a round ran one after the other, so that a change of the
 * machine's speed affects both. */
static double compare_median_ratio(
	const struct rounds *rounds, const struct fb_record *like, bool quiet)
{
	double ratio[FB_ROUNDS_MAX];
	uint32_t count = 0;

	for (uint32_t i = 0; i < rounds->count; i++) {
		if (quiet && !fb_paces_quiet(&rounds->paces, i))
			continue;
		ratio[count++] = fb_series_find(&rounds->ours[i], like)->median_ns /
				 fb_series_find(&rounds->theirs[i], like)->median_ns;
	}
	return count ? fb_median(ratio, count) : 0;
}

/* ---- the table ---- */

static void compare_heading(const struct rounds *rounds, enum fb_test test)
{
	static const char *const units[] = { "us", "MB/s", "M/s" };

	printf("\n# %s, %s\n%8s%s %11s %11s %11s %11s %8s %8s%s\n", fb_tests[test].name,
		units[fb_tests[test].unit], "bytes",
		test == FB_RAMP ? "     messages" : "", "first best", "median",
		"second best", "median", "ratio", "of best",
		rounds->paces.cores ? "    quiet" : "");
}

static void compare_quiet_ratio(const struct rounds *rounds, const struct fb_record *at)
{
	double ratio = compare_median_ratio(rounds, at, true);

	if (ratio > 0)
		printf(" %8.3f", ratio);
	else
		printf(" %8s", "-");
}

/* The best and the median of one library, or nothing. */
static void compare_side(const struct fb_record *r, bool known)
{
	if (known)
		printf(" %11.3f %11.3f", fb_shown(r, r->best_ns),
			fb_shown(r, r->median_ns));
	else
		printf(" %11s %11s", "-", "-");
}

/* Returns false if the first library has no times. */
static bool compare_row(const struct rounds *rounds, struct fb_series *ours,
	struct fb_series *theirs, const struct fb_record *at)
{
	struct fb_record a = { .bytes = 0 }, b = a;
	bool first = compare_summary(rounds->ours, rounds->count, at, &a);
	bool second = compare_summary(rounds->theirs, rounds->count, at, &b);
	char bytes[24], part[48];

	printf("%8s", fb_bytes_text(at->bytes, bytes));
	if (at->last)
		printf(" %12s", fb_part_text(at, part));
	compare_side(&a, first);
	compare_side(&b, second);
	if (first)
		fb_series_add(ours, &a);
	if (second)
		fb_series_add(theirs, &b);
	if (first && second) {
		printf(" %8.3f %8.3f", compare_median_ratio(rounds, at, false),
			a.best_ns / b.best_ns);
		if (rounds->paces.cores)
			compare_quiet_ratio(rounds, at);
	}
	printf("\n");
	return first;
}

static void compare_describe(const char *which, const struct fb_series *s)
{
	printf("# %s: %s; %s\n", which, s->label, s->library);
}

/* Returns false if the first library has no times in a row. */
static bool compare_table(const struct rounds *rounds, struct fb_series both[2])
{
	const struct fb_series *first = &rounds->ours[0];
	bool complete = true;

	compare_describe("first", first);
	compare_describe("second", &rounds->theirs[0]);
	printf("# %u interleaved rounds; the ratio is the median of those of single "
	       "rounds,\n# below 1 the first takes less time\n",
		rounds->count);
	if (rounds->paces.cores)
		fb_paces_describe(&rounds->paces);
	for (size_t i = 0; i < first->count; i++) {
		if (!i || first->record[i].test != first->record[i - 1].test)
			compare_heading(rounds, first->record[i].test);
		complete &= compare_row(rounds, &both[0], &both[1], &first->record[i]);
	}
	return complete;
}

/* ---- files ---- */

static void compare_write_csv(const char *name, const struct fb_series both[2])
{
	FILE *file;

	if (!name)
		return;
	file = !strcmp(name, "-") ? stdout : fopen(name, "we");
	if (!file)
		fb_die(FB_EXIT_FAILED, "%s: %s", name, strerror(errno));
	fb_csv_header(file);
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < both[side].count; i++)
			fb_csv_record(file, &both[side], &both[side].record[i]);
	if (fflush(file) || ferror(file) || (file != stdout && fclose(file)))
		fb_die(FB_EXIT_FAILED, "%s: %s", name, strerror(errno));
}

/* Give the two libraries different labels, because a file identifies series by
 * label. */
static void compare_name_sides(const struct rounds *rounds, struct fb_series both[2])
{
	both[0] = rounds->ours[0];
	both[1] = rounds->theirs[0];
	for (int side = 0; side < 2; side++) {
		both[side].record = NULL;
		both[side].count = 0;
	}
	if (!strcmp(both[0].label, both[1].label))
		snprintf(both[1].label, sizeof(both[1].label), "%.200s (second)",
			rounds->ours[0].label);
}

int fb_compare(const struct fb_options *options)
{
	struct fb_options o = *options;
	struct fb_series both[2];
	struct rounds rounds;
	bool complete;

	if (o.vs)
		compare_check_folder(o.vs);
	else
		fb_ucx_tests(&o.config);
	compare_run_rounds(&o, &rounds);
	compare_name_sides(&rounds, both);
	complete = compare_table(&rounds, both);
	compare_write_csv(o.csv, both);
	fb_plot(&o, both, 2);
	for (uint32_t i = 0; i < rounds.count; i++) {
		fb_series_done(&rounds.ours[i]);
		fb_series_done(&rounds.theirs[i]);
	}
	fb_paces_done(&rounds.paces);
	free(rounds.ours);
	free(rounds.theirs);
	fb_series_done(&both[0]);
	fb_series_done(&both[1]);
	return complete ? EXIT_SUCCESS : FB_EXIT_STALLED;
}
