/* SPDX-License-Identifier: BSD-2-Clause */
#include "svg.h"
#include "table.h"

#include <math.h>

enum {
	WIDTH = 960,
	PANEL = 430, /* height of one, with its title and labels */
	LEFT = 80,
	RIGHT = 680, /* the legend is beyond */
	TOP = 45,
	BOTTOM = 380,
	LEGEND_STEP = 18,
	X_LABELS = 12,
};

/* One panel: logarithmic axes for all rows of a unit. */
struct panel {
	FILE *file;
	enum fb_unit unit;
	int top; /* y coordinate of its upper edge */
	double x_low, x_high, y_low, y_high;
	int legend; /* lines so far */
};

static const char *const titles[] = {
	[FB_UNIT_TIME] = "time of a message, us",
	[FB_UNIT_BANDWIDTH] = "bandwidth, MB/s",
	[FB_UNIT_RATE] = "rate, millions of messages in a second",
};

static const char *const colors[] = { "#1f6fb4", "#d62728", "#2a8a2a", "#8a5cb8",
	"#c77700", "#0a8f8f", "#7f4f3a", "#c2449a" };

static const char *const dashes[] = { "none", "7 3", "2 3", "9 3 2 3", "12 4", "4 4" };

static double svg_size_of(const struct fb_record *r)
{
	return r->bytes ? (double)r->bytes : 1;
}

static double svg_x_of(const struct panel *p, double bytes)
{
	return LEFT +
	       (RIGHT - LEFT) * log(bytes / p->x_low) / log(p->x_high / p->x_low);
}

static double svg_y_of(const struct panel *p, double value)
{
	if (value < p->y_low)
		value = p->y_low;
	if (value > p->y_high)
		value = p->y_high;
	return p->top + BOTTOM -
	       (BOTTOM - TOP) * log(value / p->y_low) / log(p->y_high / p->y_low);
}

static void svg_text(FILE *file, const char *words)
{
	for (; *words; words++) {
		unsigned char c = (unsigned char)*words;

		if (c == '&')
			fputs("&amp;", file);
		else if (c == '<')
			fputs("&lt;", file);
		else if (c == '>')
			fputs("&gt;", file);
		else
			fputc(c < 0x20 || c > 0x7e ? '?' : c, file);
	}
}

/* ---- axes ---- */

static void svg_include(struct panel *p, const struct fb_record *r, double ns)
{
	double value = fb_shown(r, ns);

	if (!(value > 0))
		return;
	p->y_low = fmin(p->y_low, value);
	p->y_high = fmax(p->y_high, value);
}

/* Returns false if there is no row of this unit. */
static bool svg_find_range(
	struct panel *p, const struct fb_series *series, size_t count)
{
	p->x_low = p->y_low = INFINITY;
	p->x_high = p->y_high = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < series[i].count; j++) {
			const struct fb_record *r = &series[i].record[j];

			if (fb_tests[r->test].unit != p->unit || !(r->median_ns > 0))
				continue;
			p->x_low = fmin(p->x_low, svg_size_of(r));
			p->x_high = fmax(p->x_high, svg_size_of(r));
			svg_include(p, r, r->median_ns);
			svg_include(p, r, r->p50_ns);
			svg_include(p, r, r->p99_ns);
		}
	if (!(p->x_high > 0) || !(p->y_high > 0))
		return false;
	/* One size is in the middle. */
	if (p->x_high <= p->x_low) {
		p->x_low /= 2;
		p->x_high *= 2;
	}
	p->y_low *= 0.8;
	p->y_high *= 1.25;
	return true;
}

static void svg_x_axis(const struct panel *p)
{
	int steps = (int)(log2(p->x_high / p->x_low) + 0.001), step = 1;
	char bytes[24];

	while (steps / step > X_LABELS)
		step++;
	for (int i = 0; i <= steps; i += step) {
		double x = p->x_low * exp2(i);

		fprintf(p->file,
			"<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" "
			"y2=\"%d\"/><text x=\"%.1f\" y=\"%d\" "
			"text-anchor=\"middle\">%s</text>\n",
			svg_x_of(p, x), p->top + TOP, svg_x_of(p, x), p->top + BOTTOM,
			svg_x_of(p, x), p->top + BOTTOM + 16,
			fb_bytes_text((uint64_t)(x + 0.5), bytes));
	}
	fprintf(p->file,
		"<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">bytes</text>\n",
		(LEFT + RIGHT) / 2, p->top + BOTTOM + 34);
}

static void svg_y_axis(const struct panel *p)
{
	static const double parts[] = { 1, 2, 5 };

	int low = (int)floor(log10(p->y_low)), high = (int)floor(log10(p->y_high));

	for (int exponent = low; exponent <= high; exponent++)
		for (int i = 0; i < 3; i++) {
			double value = pow(10, exponent) * parts[i];

			if (value < p->y_low || value > p->y_high)
				continue;
			fprintf(p->file,
				"<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" "
				"y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" "
				"text-anchor=\"end\">%g</text>\n",
				LEFT, svg_y_of(p, value), RIGHT, svg_y_of(p, value),
				LEFT - 6, svg_y_of(p, value) + 4, value);
		}
}

/* ---- curves ---- */

static const char *svg_color(size_t series)
{
	return colors[series % (sizeof(colors) / sizeof(colors[0]))];
}

/* The area between the curves of p50 and p99. */
static void svg_band(const struct panel *p, const struct fb_series *s,
	const struct fb_record *of, const char *fill)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		n += fb_record_alike(&s->record[i], of) && s->record[i].p99_ns > 0;
	if (n < 2)
		return;
	fprintf(p->file, "<polygon fill=\"%s\" fill-opacity=\"0.13\" points=\"", fill);
	for (size_t i = 0; i < s->count; i++) {
		const struct fb_record *r = &s->record[i];

		if (fb_record_alike(r, of) && r->p99_ns > 0)
			fprintf(p->file, "%.1f,%.1f ", svg_x_of(p, svg_size_of(r)),
				svg_y_of(p, fb_shown(r, r->p50_ns)));
	}
	for (size_t i = s->count; i--;) {
		const struct fb_record *r = &s->record[i];

		if (fb_record_alike(r, of) && r->p99_ns > 0)
			fprintf(p->file, "%.1f,%.1f ", svg_x_of(p, svg_size_of(r)),
				svg_y_of(p, fb_shown(r, r->p99_ns)));
	}
	fputs("\"/>\n", p->file);
}

static void svg_curve(const struct panel *p, const struct fb_series *s,
	const struct fb_record *of, const char *stroke, const char *dash)
{
	fprintf(p->file,
		"<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" "
		"stroke-dasharray=\"%s\" points=\"",
		stroke, dash);
	for (size_t i = 0; i < s->count; i++) {
		const struct fb_record *r = &s->record[i];

		if (fb_record_alike(r, of) && r->median_ns > 0)
			fprintf(p->file, "%.1f,%.1f ", svg_x_of(p, svg_size_of(r)),
				svg_y_of(p, fb_shown(r, r->median_ns)));
	}
	fputs("\"/>\n", p->file);
	for (size_t i = 0; i < s->count; i++) {
		const struct fb_record *r = &s->record[i];

		if (fb_record_alike(r, of) && r->median_ns > 0)
			fprintf(p->file,
				"<circle fill=\"%s\" cx=\"%.1f\" cy=\"%.1f\" "
				"r=\"2.2\"/>\n",
				stroke, svg_x_of(p, svg_size_of(r)),
				svg_y_of(p, fb_shown(r, r->median_ns)));
	}
}

static void svg_legend(struct panel *p, const struct fb_series *s,
	const struct fb_record *of, const char *stroke, const char *dash)
{
	int y = p->top + TOP + 8 + p->legend++ * 2 * LEGEND_STEP;
	char part[48];

	fprintf(p->file,
		"<line stroke=\"%s\" stroke-width=\"1.8\" stroke-dasharray=\"%s\" "
		"x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/><text x=\"%d\" y=\"%d\">",
		stroke, dash, RIGHT + 12, y, RIGHT + 40, y, RIGHT + 46, y + 4);
	svg_text(p->file, fb_tests[of->test].name);
	if (of->last)
		fprintf(p->file, " %s", fb_part_text(of, part));
	fprintf(p->file, "</text><text x=\"%d\" y=\"%d\">", RIGHT + 46,
		y + 4 + LEGEND_STEP - 4);
	svg_text(p->file, s->label);
	fputs("</text>\n", p->file);
}

/* Is record @at the first one of its curve? */
static bool svg_begins_curve(const struct fb_series *s, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (fb_record_alike(&s->record[i], &s->record[at]) &&
			s->record[i].median_ns > 0)
			return false;
	return s->record[at].median_ns > 0;
}

static void svg_draw_series(struct panel *p, const struct fb_series *s, size_t number)
{
	size_t curves = 0;

	for (size_t i = 0; i < s->count; i++) {
		const char *dash =
			dashes[curves % (sizeof(dashes) / sizeof(dashes[0]))];
		const struct fb_record *r = &s->record[i];

		if (fb_tests[r->test].unit != p->unit || !svg_begins_curve(s, i))
			continue;
		svg_band(p, s, r, svg_color(number));
		svg_curve(p, s, r, svg_color(number), dash);
		svg_legend(p, s, r, svg_color(number), dash);
		curves++;
	}
}

static void svg_draw_panel(
	struct panel *p, const struct fb_series *series, size_t count)
{
	fprintf(p->file,
		"<text class=\"title\" x=\"%d\" y=\"%d\">%s</text>\n"
		"<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
		"stroke=\"#999\"/>\n",
		LEFT, p->top + TOP - 14, titles[p->unit], LEFT, p->top + TOP,
		RIGHT - LEFT, BOTTOM - TOP);
	svg_x_axis(p);
	svg_y_axis(p);
	for (size_t i = 0; i < count; i++)
		svg_draw_series(p, &series[i], i);
}

void fb_svg_write(FILE *file, const struct fb_series *series, size_t count)
{
	struct panel panel[FB_UNIT_RATE + 1];
	int panels = 0;

	for (int unit = 0; unit <= FB_UNIT_RATE; unit++) {
		struct panel *p = &panel[panels];

		*p = (struct panel){
			.file = file, .unit = unit, .top = panels * PANEL
		};
		panels += svg_find_range(p, series, count);
	}
	fprintf(file,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\">\n"
		"<style>text { font: 12px sans-serif; } .title { font-weight: bold; } "
		".grid { stroke: #e4e4e4; }</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		WIDTH, panels * PANEL, WIDTH, panels * PANEL);
	for (int i = 0; i < panels; i++)
		svg_draw_panel(&panel[i], series, count);
	fputs("</svg>\n", file);
}
