/* SPDX-License-Identifier: BSD-2-Clause */
#include "session.h"
#include "group.h"
#include "idle.h"
#include "json.h"
#include "library.h"
#include "meet.h"
#include "say.h"
#include "table.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* The outputs of rows. */
struct sink {
	const struct fb_options *options;
	struct fb_node *node;
	struct fb_series *series;
	FILE *csv, *json;
	bool table;
	bool failed;   /* a row has no times */
	int last_test; /* -1: none yet */
};

static FILE *session_open_file(const char *name)
{
	FILE *file;

	if (!name)
		return NULL;
	if (!strcmp(name, "-"))
		return stdout;
	file = fopen(name, "we");
	if (!file)
		fb_die(FB_EXIT_FAILED, "%s: %s", name, strerror(errno));
	return file;
}

static void session_flush(FILE *file, const char *name)
{
	if (fflush(file))
		fb_die(FB_EXIT_FAILED, "%s: %s", name, strerror(errno));
}

static void session_close_file(FILE *file, const char *name)
{
	if (!file)
		return;
	if (fflush(file) || ferror(file) || (file != stdout && fclose(file)))
		fb_die(FB_EXIT_FAILED, "%s: %s", name, strerror(errno));
}

static void session_describe(
	struct fb_series *s, const struct fb_node *node, const char *label)
{
	static const char *const types[] = {
		[FI_EP_MSG] = "msg",
		[FI_EP_DGRAM] = "dgram",
		[FI_EP_RDM] = "rdm",
	};
	uint32_t version = fi_version();

	snprintf(s->provider, sizeof(s->provider), "%s",
		node->info->fabric_attr->prov_name);
	snprintf(s->domain, sizeof(s->domain), "%s", node->info->domain_attr->name);
	snprintf(s->type, sizeof(s->type), "%s", types[node->config->type]);
	snprintf(s->version, sizeof(s->version), "%u.%u", FI_MAJOR(version),
		FI_MINOR(version));
	snprintf(s->library, sizeof(s->library), "%s", fb_library_path());
	if (label)
		snprintf(s->label, sizeof(s->label), "%s", label);
	else
		snprintf(s->label, sizeof(s->label), "%.100s %s, libfabric %s%s",
			s->provider, s->type, s->version,
			node->config->silent ? ", silent targets" : "");
}

static void session_begin(struct sink *sink)
{
	session_describe(sink->series, sink->node, sink->options->label);
	if (sink->table)
		fb_table_begin(sink->series, sink->node);
	if (sink->csv)
		fb_csv_header(sink->csv);
	if (sink->json)
		fb_json_begin(sink->json, sink->series);
}

static void session_tell(void *arg, const struct fb_row *row)
{
	struct sink *sink = arg;
	struct fb_record record = fb_record_of(row, sink->node->config->threads);

	fb_progress_erase();
	fb_series_add(sink->series, &record);
	sink->failed |= record.failed;
	if (sink->table) {
		if (sink->last_test != (int)row->test)
			fb_table_test(sink->node->config, row->test);
		fb_table_row(sink->series);
		if (sink->options->histogram)
			fb_table_histogram(row);
	}
	if (sink->csv) {
		fb_csv_record(sink->csv, sink->series, &record);
		session_flush(sink->csv, sink->options->csv);
	}
	if (sink->json)
		fb_json_row(sink->json, &record, row, sink->last_test < 0);
	sink->last_test = (int)row->test;
}

static void session_end(struct sink *sink)
{
	if (sink->json)
		fb_json_end(sink->json);
	session_close_file(sink->csv, sink->options->csv);
	session_close_file(sink->json, sink->options->json);
}

/* ---- processors ---- */

/* If no processors are named, two processes of one machine get different ones, if this
 * process may use enough of them. */
static void session_choose_cores(
	const struct fb_options *o, int rank, struct fb_cores *cores)
{
	uint32_t threads = o->config.threads, skip = (uint32_t)rank * threads;
	cpu_set_t set;

	*cores = o->cores[rank > 0];
	if (o->cores[0].count || o->cores[1].count || o->server || o->serve ||
		sched_getaffinity(0, sizeof(set), &set) ||
		(uint32_t)CPU_COUNT(&set) < threads * o->config.members)
		return;
	for (uint32_t core = 0; core < FB_CORES_MAX && cores->count < threads; core++)
		if (CPU_ISSET(core, &set) && (!skip || !skip--))
			cores->core[cores->count++] = core;
}

/* ---- starting or connecting the processes ---- */

static void session_run_node(const struct fb_options *o, const struct fb_config *asked,
	struct fb_control *control, const char *source, struct sink *sink)
{
	struct fb_config config = *asked;
	struct fb_cores *cores = fb_alloc(1, sizeof(*cores));
	struct fb_node node = {
		.config = &config,
		.control = control,
		.source = o->source ? o->source
			  : *source ? source
				    : NULL,
	};

	session_choose_cores(o, o->serve ? 0 : control->rank, cores);
	node.cores = cores->core;
	node.core_count = cores->count;
	fb_node_open(&node);
	fb_group_join(&node.worker[0]);
	sink->node = &node;
	if (!control->rank)
		session_begin(sink);
	fb_run(&node, session_tell, sink);
	/* No member closes while another may need it. */
	fb_control_barrier(control);
	fb_group_leave();
	fb_idle_remove();
	fb_node_close(&node);
	fb_control_barrier(control);
	if (!control->rank)
		session_end(sink);
	free(cores);
}

static int session_run_server(const struct fb_options *o, struct sink *sink)
{
	char source[FB_ADDRESS_MAX];
	struct fb_control control;
	struct fb_config config;

	fb_side_name = "server";
	fb_progress_off();
	fb_meet_serve(o->port, &config, &control, source);
	session_run_node(o, &config, &control, source, sink);
	fb_control_close(&control);
	return EXIT_SUCCESS;
}

static int session_run_client(const struct fb_options *o, struct sink *sink)
{
	char source[FB_ADDRESS_MAX];
	struct fb_control control;

	fb_meet_client(o->server, o->port, &o->config, &control, source);
	session_run_node(o, &o->config, &control, source, sink);
	fb_control_close(&control);
	return EXIT_SUCCESS;
}

static int session_run_here(const struct fb_options *o, struct sink *sink)
{
	pid_t *children = fb_alloc(o->config.members, sizeof(*children));
	struct fb_control control;
	int status = EXIT_SUCCESS;

	fb_meet_fork(&o->config, &control, children);
	session_run_node(o, &o->config, &control, "127.0.0.1", sink);
	fb_control_close(&control);
	if (!control.rank)
		status = fb_meet_wait(children, (int)o->config.members - 1);
	free(children);
	if (control.rank)
		exit(EXIT_SUCCESS);
	return status;
}

int fb_session_run(const struct fb_options *o, struct fb_series *ret_series)
{
	struct sink sink = { .options = o, .series = ret_series, .last_test = -1 };
	int status;

	memset(ret_series, 0, sizeof(*ret_series));
	if (!o->serve) {
		sink.csv = session_open_file(o->csv);
		sink.json = session_open_file(o->json);
	}
	sink.table = !o->quiet && sink.csv != stdout && sink.json != stdout;
	if (o->serve)
		status = session_run_server(o, &sink);
	else if (o->server)
		status = session_run_client(o, &sink);
	else
		status = session_run_here(o, &sink);
	return status ? status : sink.failed ? FB_EXIT_STALLED : EXIT_SUCCESS;
}
