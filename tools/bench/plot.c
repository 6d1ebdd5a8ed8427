/* SPDX-License-Identifier: BSD-2-Clause */
#include "plot.h"
#include "say.h"
#include "svg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct list {
	struct fb_series *series;
	size_t count, borrowed; /* the first ones belong to the caller */
};

static void plot_append(struct list *list, const struct fb_series *more, size_t count)
{
	struct fb_series *grown;

	if (!count)
		return;
	grown = realloc(list->series, (list->count + count) * sizeof(*grown));
	if (!grown)
		fb_die(FB_EXIT_FAILED, "no memory for another series");
	memcpy(grown + list->count, more, count * sizeof(*grown));
	list->series = grown;
	list->count += count;
}

static void plot_read_file(struct list *list, const char *name)
{
	FILE *file = fopen(name, "re");
	struct fb_series *series;
	const char *wrong;
	size_t count;

	if (!file)
		fb_die(FB_EXIT_FAILED, "%s: %s", name, strerror(errno));
	wrong = fb_csv_read(file, &series, &count);
	fclose(file);
	if (wrong)
		fb_die(FB_EXIT_FAILED, "%s: %s", name, wrong);
	plot_append(list, series, count);
	free(series);
}

void fb_plot(const struct fb_options *o, const struct fb_series *measured, size_t count)
{
	struct list list = { .borrowed = count };
	FILE *file;

	if (!o->plot)
		return;
	plot_append(&list, measured, count);
	for (uint32_t i = 0; i < o->with_count; i++)
		plot_read_file(&list, o->with[i]);
	file = fopen(o->plot, "we");
	if (!file)
		fb_die(FB_EXIT_FAILED, "%s: %s", o->plot, strerror(errno));
	fb_svg_write(file, list.series, list.count);
	if (ferror(file) || fclose(file))
		fb_die(FB_EXIT_FAILED, "%s: %s", o->plot, strerror(errno));
	for (size_t i = list.borrowed; i < list.count; i++)
		fb_series_done(&list.series[i]);
	free(list.series);
}
