/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"
#include "library.h"
#include "parse.h"
#include "say.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>

/* Options without a letter. */
enum {
	BATCH = 256,
	THREADING,
	CALL,
	INJECT,
	FLOW,
	TOUCH,
	MEMORY,
	SLEEP,
	SILENT,
	PROGRESS,
	TIMEOUT,
	PERCENTILES,
	LABEL,
	CSV,
	JSON,
	PLOT,
	WITH,
	HISTOGRAM,
	VS,
	VS_UCX,
	ROUNDS,
	VERSION,
};

static const struct option longs[] = {
	{ "provider", required_argument, NULL, 'p' },
	{ "domain", required_argument, NULL, 'd' },
	{ "fabric", required_argument, NULL, 'f' },
	{ "endpoint", required_argument, NULL, 'e' },
	{ "test", required_argument, NULL, 't' },
	{ "size", required_argument, NULL, 's' },
	{ "window", required_argument, NULL, 'w' },
	{ "count", required_argument, NULL, 'n' },
	{ "duration", required_argument, NULL, 'D' },
	{ "batch", required_argument, NULL, BATCH },
	{ "warmup", required_argument, NULL, 'W' },
	{ "threads", required_argument, NULL, 'T' },
	{ "threading", required_argument, NULL, THREADING },
	{ "members", required_argument, NULL, 'm' },
	{ "cores", required_argument, NULL, 'C' },
	{ "idle", required_argument, NULL, 'i' },
	{ "call", required_argument, NULL, CALL },
	{ "inject", no_argument, NULL, INJECT },
	{ "flow", required_argument, NULL, FLOW },
	{ "touch", required_argument, NULL, TOUCH },
	{ "memory", required_argument, NULL, MEMORY },
	{ "buffers", required_argument, NULL, 'b' },
	{ "verify", no_argument, NULL, 'c' },
	{ "sleep", no_argument, NULL, SLEEP },
	{ "silent", no_argument, NULL, SILENT },
	{ "progress", required_argument, NULL, PROGRESS },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "percentiles", required_argument, NULL, PERCENTILES },
	{ "address", required_argument, NULL, 'a' },
	{ "server", no_argument, NULL, 'S' },
	{ "port", required_argument, NULL, 'P' },
	{ "label", required_argument, NULL, LABEL },
	{ "csv", required_argument, NULL, CSV },
	{ "json", required_argument, NULL, JSON },
	{ "plot", required_argument, NULL, PLOT },
	{ "with", required_argument, NULL, WITH },
	{ "histogram", no_argument, NULL, HISTOGRAM },
	{ "quiet", no_argument, NULL, 'q' },
	{ "vs", required_argument, NULL, VS },
	{ "vs-ucx", no_argument, NULL, VS_UCX },
	{ "rounds", required_argument, NULL, ROUNDS },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, VERSION },
	{ NULL, 0, NULL, 0 },
};

static const char help_text[] =
	"usage: fi_bench [OPTIONS]           between two processes of this machine\n"
	"       fi_bench -S [OPTIONS]        wait for a client, and do what it asks\n"
	"       fi_bench [OPTIONS] SERVER    with the fi_bench -S of that machine\n"
	"       fi_bench --vs DIR [OPTIONS]  compared with the libfabric of that "
	"folder\n"
	"       fi_bench --vs-ucx [OPTIONS]  compared with ucx_perftest\n"
	"\n"
	"what over:\n"
	"  -p, --provider NAME    provider (the first that fits)\n"
	"  -d, --domain NAME      domain; -f, --fabric NAME: fabric\n"
	"  -e, --endpoint TYPE    rdm, msg or dgram (rdm)\n"
	"  -a, --address ADDR     local address of the endpoints\n"
	"what:\n"
	"  -t, --test LIST        tests (latency,bandwidth), or all; see below\n"
	"  -s, --size LIST        bytes: 8,64,4k or 8:1m, which is 8, 16, ... 1m\n"
	"      --call KIND        tagged or msg (tagged, where it is there)\n"
	"      --inject           operations without completions\n"
	"  -m, --members N        processes in collectives (2)\n"
	"  -T, --threads N        threads of each process, an endpoint for each (1)\n"
	"      --threading LEVEL  safe, domain or completion\n"
	"  -i, --idle N           peers that are connected and silent (0)\n"
	"how:\n"
	"  -w, --window N         messages in flight (64, fewer if they are large; "
	"16 in\n"
	"                         bursts)\n"
	"      --flow WHEN        next message of a stream: slide (one of the window "
	"is\n"
	"                         complete), burst (all are), answer (all are "
	"answered)\n"
	"      --touch yes|no     senders write, receivers read each buffer (yes)\n"
	"      --memory private|shared   shared: a mapping that peers may have, too\n"
	"  -b, --buffers N        buffers in turn, for each direction\n"
	"  -c, --verify           every byte is verified\n"
	"      --sleep            blocking reads instead of polling\n"
	"      --silent           targets of RMA and atomics make no calls meanwhile\n"
	"      --progress MODEL   of data: manual or auto (manual; with --sleep and\n"
	"                         --silent what the provider has)\n"
	"  -C, --cores LIST       pin threads: 0,2-4, and :LIST for the forked peer\n"
	"  -D, --duration S       seconds for each size (0.2)\n"
	"  -n, --count N          messages for each size, instead of a duration\n"
	"      --batch N          messages between two looks at the clock\n"
	"  -W, --warmup N         messages before each size\n"
	"      --percentiles no   no timing of single messages\n"
	"      --timeout S        seconds without progress that end the run (30)\n"
	"  -S, --server           wait for a client\n"
	"  -P, --port N           port of the control connection (47593)\n"
	"results:\n"
	"      --csv FILE         also as CSV; - is the standard output, instead of "
	"the\n"
	"                         table; --json FILE: as JSON\n"
	"      --plot FILE        curves as SVG, with bands from p50 to p99\n"
	"      --with FILE        CSV file of another run, for the same plot; alone "
	"with\n"
	"                         --plot nothing is measured\n"
	"      --label TEXT       name of this run\n"
	"      --histogram        how often each time occurred\n"
	"  -q, --quiet            no table\n"
	"      --vs DIR           compare with the libfabric of that folder\n"
	"      --vs-ucx           compare with ucx_perftest\n"
	"      --rounds N         interleaved rounds of --vs and --vs-ucx (5)\n"
	"  -h, --help             this text; --version: versions\n"
	"\n"
	"tests:\n";

static void options_help(void)
{
	fputs(help_text, stdout);
	for (int i = 0; i < FB_TEST_COUNT; i++)
		printf("  %-22s %s\n", fb_tests[i].name, fb_tests[i].what);
}

static bool options_parse_word(const char *text, const char *const words[],
	uint32_t count, uint32_t *ret_index)
{
	for (uint32_t i = 0; i < count; i++)
		if (words[i] && !strcmp(words[i], text)) {
			*ret_index = i;
			return true;
		}
	return false;
}

static bool options_parse_type(const char *text, uint32_t *ret_type)
{
	static const char *const types[] = {
		[FI_EP_MSG] = "msg",
		[FI_EP_DGRAM] = "dgram",
		[FI_EP_RDM] = "rdm",
	};

	return options_parse_word(text, types, FI_EP_RDM + 1, ret_type);
}

static bool options_parse_call(const char *text, uint32_t *ret_call)
{
	static const char *const calls[] = {
		[FB_CALL_TAGGED] = "tagged",
		[FB_CALL_MSG] = "msg",
	};

	return options_parse_word(text, calls, FB_CALL_COUNT, ret_call);
}

static bool options_parse_memory(const char *text, uint8_t *ret_shared)
{
	static const char *const kinds[] = { "private", "shared" };
	uint32_t kind;

	if (!options_parse_word(text, kinds, 2, &kind))
		return false;
	*ret_shared = (uint8_t)kind;
	return true;
}

static bool options_parse_flow(const char *text, uint32_t *ret_flow)
{
	static const char *const flows[] = {
		[FB_FLOW_SLIDE] = "slide",
		[FB_FLOW_BURST] = "burst",
		[FB_FLOW_ANSWER] = "answer",
	};

	return options_parse_word(text, flows, FB_FLOW_COUNT, ret_flow);
}

static bool options_parse_threading(const char *text, uint32_t *ret_threading)
{
	static const char *const levels[] = {
		[FI_THREAD_SAFE] = "safe",
		[FI_THREAD_DOMAIN] = "domain",
		[FI_THREAD_COMPLETION] = "completion",
	};

	return options_parse_word(
		text, levels, FI_THREAD_COMPLETION + 1, ret_threading);
}

static bool options_parse_progress(const char *text, uint32_t *ret_progress)
{
	static const char *const models[] = {
		[FI_PROGRESS_AUTO] = "auto",
		[FI_PROGRESS_MANUAL] = "manual",
	};

	return options_parse_word(text, models, FI_PROGRESS_MANUAL + 1, ret_progress);
}

static bool options_parse_small(const char *text, uint32_t *ret_number)
{
	uint64_t number;

	if (!fb_parse_number(text, &number) || number > UINT32_MAX)
		return false;
	*ret_number = (uint32_t)number;
	return true;
}

/* A count of 0 means that the option was not given, so 0 is refused. */
static bool options_parse_count(const char *text, uint64_t *ret_number)
{
	return fb_parse_number(text, ret_number) && *ret_number;
}

static bool options_parse_name(const char *text, char name[FB_NAME_MAX])
{
	if (!*text || strlen(text) >= FB_NAME_MAX)
		return false;
	memset(name, 0, FB_NAME_MAX);
	strcpy(name, text);
	return true;
}

static bool bench_options_parse_port(const char *text, const char **ret_port)
{
	uint64_t port;

	*ret_port = text;
	return fb_parse_number(text, &port) && port && port <= 65535;
}

static bool options_parse_with(struct fb_options *o, const char *text)
{
	if (o->with_count == FB_WITH_MAX)
		return false;
	o->with[o->with_count++] = text;
	return true;
}

/* Options that set the configuration, which is sent to a server. */
static bool options_parse_config(int option, const char *arg, struct fb_config *c)
{
	switch (option) {
	case 'p':
		return options_parse_name(arg, c->provider);
	case 'd':
		return options_parse_name(arg, c->domain);
	case 'f':
		return options_parse_name(arg, c->fabric);
	case 'e':
		return options_parse_type(arg, &c->type);
	case 's':
		return fb_parse_sizes(arg, c);
	case 'w':
		return options_parse_small(arg, &c->window) && c->window;
	case 'n':
		return options_parse_count(arg, &c->count);
	case 'D':
		return fb_parse_seconds(arg, &c->duration_ns);
	case BATCH:
		return options_parse_count(arg, &c->batch);
	case 'W':
		return options_parse_count(arg, &c->warmup);
	case 'T':
		return options_parse_small(arg, &c->threads);
	case THREADING:
		return options_parse_threading(arg, &c->threading);
	case 'm':
		return options_parse_small(arg, &c->members);
	case 'i':
		return options_parse_small(arg, &c->idle);
	case CALL:
		return options_parse_call(arg, &c->call);
	case FLOW:
		return options_parse_flow(arg, &c->flow);
	case TOUCH:
		return fb_parse_yes(arg, &c->touch);
	case MEMORY:
		return options_parse_memory(arg, &c->shared);
	case 'b':
		return options_parse_small(arg, &c->buffers) && c->buffers;
	case PROGRESS:
		return options_parse_progress(arg, &c->progress);
	case TIMEOUT:
		return options_parse_small(arg, &c->timeout_s);
	case PERCENTILES:
		return fb_parse_yes(arg, &c->percentiles);
	default:
		return false;
	}
}

static bool options_parse_flag(int option, struct fb_options *o)
{
	switch (option) {
	case INJECT:
		o->config.inject = true;
		return true;
	case 'c':
		o->config.verify = true;
		return true;
	case SLEEP:
		o->config.sleep = true;
		return true;
	case SILENT:
		o->config.silent = true;
		return true;
	case 'S':
		o->serve = true;
		return true;
	case HISTOGRAM:
		o->histogram = true;
		return true;
	case 'q':
		o->quiet = true;
		return true;
	case VS_UCX:
		o->vs_ucx = true;
		return true;
	default:
		return false;
	}
}

static bool bench_options_parse_option(
	int option, const char *arg, struct fb_options *o, const char **tests)
{
	switch (option) {
	case 't':
		*tests = arg;
		return true;
	case 'C':
		return fb_parse_cores(arg, o->cores);
	case 'a':
		o->source = arg;
		return true;
	case 'P':
		return bench_options_parse_port(arg, &o->port);
	case LABEL:
		o->label = arg;
		return true;
	case CSV:
		o->csv = arg;
		return true;
	case JSON:
		o->json = arg;
		return true;
	case PLOT:
		o->plot = arg;
		return true;
	case WITH:
		return options_parse_with(o, arg);
	case VS:
		o->vs = arg;
		return true;
	case ROUNDS:
		return options_parse_small(arg, &o->rounds) && o->rounds &&
		       o->rounds <= FB_ROUNDS_MAX;
	default:
		return options_parse_flag(option, o) ||
		       options_parse_config(option, arg, &o->config);
	}
}

static const char *options_name_of(int option)
{
	for (const struct option *at = longs; at->name; at++)
		if (at->val == option)
			return at->name;
	return "?";
}

/* Does the option concern the measurement, except its tests, and not the output? */
static bool options_is_measurement(int option)
{
	switch (option) {
	case 't':
	case CSV:
	case JSON:
	case PLOT:
	case WITH:
	case HISTOGRAM:
	case 'q':
	case VS:
	case VS_UCX:
	case ROUNDS:
	case LABEL:
		return false;
	default:
		return true;
	}
}

static bool options_keep(struct fb_options *o, int option, const char *arg)
{
	char *word;

	if (!options_is_measurement(option))
		return true;
	if (o->kept_count == FB_KEPT_MAX ||
		asprintf(&word, "--%s%s%s", options_name_of(option), arg ? "=" : "",
			arg ? arg : "") < 0)
		return false;
	o->kept[o->kept_count++] = word;
	return true;
}

void fb_options_done(struct fb_options *o)
{
	while (o->kept_count)
		free(o->kept[--o->kept_count]);
}

static const char *options_check(const struct fb_options *o)
{
	if (o->serve &&
		(o->server || o->vs || o->vs_ucx || o->csv || o->json || o->plot))
		return "a server does what its client asks, and has no results";
	if ((o->vs || o->vs_ucx) && o->server)
		return "comparisons run between processes of one machine";
	if ((o->vs || o->vs_ucx) && (o->json || o->histogram))
		return "comparisons have no histograms: --csv and --plot";
	if (o->vs_ucx && (o->config.verify || o->config.threads > 1 ||
				 o->config.inject || o->config.sleep))
		return "ucx_perftest runs one thread, and does not verify, inject or "
		       "sleep";
	if (o->vs && o->vs_ucx)
		return "one comparison at a time: --vs or --vs-ucx";
	if (o->with_count && !o->plot)
		return "--with adds to a plot: name it by --plot";
	if (o->server && o->config.members != 2)
		return "members are processes of one machine";
	if (o->csv && o->json && !strcmp(o->csv, "-") && !strcmp(o->json, "-"))
		return "only one of CSV and JSON to the standard output";
	return fb_config_check(&o->config);
}

static int options_wrong_use(void)
{
	fputs("fi_bench --help lists all options\n", stderr);
	return FB_EXIT_USAGE;
}

static int options_print_version(void)
{
	uint32_t version;

	fb_library_open();
	version = fi_version();
	printf("fi_bench: %s\nlibfabric api: %u.%u\nlibfabric: %s\n", TOOL_VERSION,
		FI_MAJOR(version), FI_MINOR(version), fb_library_path());
	return EXIT_SUCCESS;
}

int fb_options_parse(int argc, char **argv, struct fb_options *o)
{
	const char *tests = NULL, *wrong;
	bool anything = false;
	int option;

	memset(o, 0, sizeof(*o));
	fb_config_init(&o->config);
	o->port = "47593";
	o->rounds = 5;
	while ((option = getopt_long(argc, argv,
			"p:d:f:e:t:s:w:n:D:W:T:m:C:i:b:ca:SP:qh", longs, NULL)) != -1) {
		if (option == 'h') {
			options_help();
			return EXIT_SUCCESS;
		}
		if (option == VERSION)
			return options_print_version();
		if (option == '?')
			return options_wrong_use();
		if (!bench_options_parse_option(option, optarg, o, &tests) ||
			!options_keep(o, option, optarg)) {
			fb_say("--%s: '%s' is not understood", options_name_of(option),
				optarg ? optarg : "");
			return options_wrong_use();
		}
		anything |= option != PLOT && option != WITH;
	}
	if (argc - optind > 1) {
		fb_say("more than one server");
		return options_wrong_use();
	}
	o->server = argv[optind];
	o->plot_only = o->with_count && !anything && !o->server;
	if (!fb_parse_tests(tests ? tests : "latency,bandwidth", &o->config)) {
		fb_say("--test: '%s' is not understood", tests);
		return options_wrong_use();
	}
	wrong = options_check(o);
	if (wrong) {
		fb_say("%s", wrong);
		return options_wrong_use();
	}
	return -1;
}
