/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"
#include "words.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_VERSION = 256, OPT_WHY };

/* The old memory registration modes exclude all others. By value, because using the
 * names draws deprecation warnings. */
#define OLD_MR_MODES ((1 << 0) | (1 << 1))

static const char short_options[] = "s:n:P:c:m:t:d:f:a:p:eg:i:lvh";

static const struct option long_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "src_addr", required_argument, NULL, 's' },
	{ "node", required_argument, NULL, 'n' },
	{ "port", required_argument, NULL, 'P' },
	{ "caps", required_argument, NULL, 'c' },
	{ "mode", required_argument, NULL, 'm' },
	{ "ep_type", required_argument, NULL, 't' },
	{ "domain", required_argument, NULL, 'd' },
	{ "fabric", required_argument, NULL, 'f' },
	{ "addr_format", required_argument, NULL, 'a' },
	{ "provider", required_argument, NULL, 'p' },
	{ "env", no_argument, NULL, 'e' },
	{ "getenv", required_argument, NULL, 'g' },
	{ "info", required_argument, NULL, 'i' },
	{ "list", no_argument, NULL, 'l' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "why", no_argument, NULL, OPT_WHY },
	{ NULL, 0, NULL, 0 },
};

static const struct {
	const char *option;
	const char *help;
} help_rows[] = {
	{ "-h, --help", "show this text and exit" },
	{ "-s, --src_addr=ADDR", "local name or address" },
	{ "-n, --node=NAME", "destination name or address" },
	{ "-P, --port=PORT", "port or service" },
	{ "-c, --caps=CAP|CAP...", "capabilities: FI_MSG|FI_RMA..." },
	{ "-m, --mode=MODE|MODE...", "modes to accept, default all" },
	{ "-t, --ep_type=TYPE", "endpoint type: FI_EP_MSG, FI_EP_DGRAM, FI_EP_RDM" },
	{ "-d, --domain=NAME", "only this domain" },
	{ "-f, --fabric=NAME", "only this fabric" },
	{ "-a, --addr_format=FMT", "address format: FI_SOCKADDR_IN, FI_ADDR_STR..." },
	{ "-p, --provider=PROV", "only this provider" },
	{ "-e, --env", "list the environment variables" },
	{ "-g, --getenv=SUBSTR", "list the variables whose name contains SUBSTR" },
	{ "-i, --info=SUBSTR", "show in full what contains SUBSTR" },
	{ "-l, --list", "list the providers" },
	{ "-v, --verbose", "show everything about each interface" },
	{ "    --why", "say for each provider why it was ruled out" },
	{ "    --version", "show the versions and exit" },
};

static void info_options_usage(const char *program)
{
	size_t i;

	printf("Usage: %s [OPTIONS]\n\n", program);
	for (i = 0; i < sizeof(help_rows) / sizeof(help_rows[0]); i++)
		printf("  %-26s%s\n", help_rows[i].option, help_rows[i].help);
}

static void options_show_versions(const char *program)
{
	const char *base = strrchr(program, '/');
	uint32_t api = fi_version();

	printf("%s: %s\n", base ? base + 1 : program, TOOL_VERSION);
	printf("libfabric: %s\n", TOOL_VERSION);
	printf("libfabric api: %u.%u\n", FI_MAJOR(api), FI_MINOR(api));
}

/* Replaces *@field, so that an option given twice does not leak. */
static int options_set_string(char **field, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

static int options_parse_mode(struct info_options *o, const char *text)
{
	/* The first -m replaces "all modes", later ones add. */
	if (o->hints->mode == ~0ULL)
		o->hints->mode = 0;
	return word_flags(&word_modes, text, &o->hints->mode);
}

static int options_parse_hint(struct info_options *o, int option, const char *text)
{
	uint64_t value = 0;
	int ret;

	o->use_hints = true;
	switch (option) {
	case 'c':
		return word_flags(&word_caps, text, &o->hints->caps);
	case 'm':
		ret = options_parse_mode(o, text);
		o->hints->domain_attr->mode = o->hints->mode;
		return ret;
	case 't':
		ret = word_value(&word_ep_types, text, &value);
		o->hints->ep_attr->type = (enum fi_ep_type)value;
		return ret;
	case 'a':
		ret = word_value(&word_addr_formats, text, &value);
		o->hints->addr_format = (uint32_t)value;
		return ret;
	case 'd':
		return options_set_string(&o->hints->domain_attr->name, text);
	case 'f':
		return options_set_string(&o->hints->fabric_attr->name, text);
	default:
		return options_set_string(&o->hints->fabric_attr->prov_name, text);
	}
}

static int options_hints_init(struct info_options *o)
{
	o->hints = fi_allocinfo();
	if (!o->hints)
		return -ENOMEM;
	o->hints->mode = ~0ULL;
	o->hints->domain_attr->mode = ~0ULL;
	o->hints->domain_attr->mr_mode = ~OLD_MR_MODES;
	return 0;
}

static enum parse_result options_done(int status, int *ret_status)
{
	*ret_status = status;
	return PARSE_DONE;
}

enum parse_result info_options_parse(
	int argc, char **argv, struct info_options *o, int *ret_status)
{
	const char *source = NULL;
	int option, ret;

	memset(o, 0, sizeof(*o));
	ret = options_hints_init(o);
	if (ret)
		return options_done(-ret, ret_status);

	while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) >=
		0) {
		switch (option) {
		case 's':
			source = optarg;
			break;
		case 'n':
			o->node = optarg;
			break;
		case 'P':
			o->service = optarg;
			break;
		case 'c':
		case 'm':
		case 't':
		case 'd':
		case 'f':
		case 'a':
		case 'p':
			ret = options_parse_hint(o, option, optarg);
			if (ret)
				return options_done(-ret, ret_status);
			break;
		case 'g':
			o->env_text = optarg;
			o->env = true;
			break;
		case 'e':
			o->env = true;
			break;
		case 'i':
			o->info_text = optarg;
			o->verbose = true;
			break;
		case 'l':
			o->list = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case OPT_WHY:
			o->why = true;
			break;
		case OPT_VERSION:
			options_show_versions(argv[0]);
			return options_done(EXIT_SUCCESS, ret_status);
		default:
			info_options_usage(argv[0]);
			return options_done(EXIT_FAILURE, ret_status);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "error: not an option: '%s'\n", argv[optind]);
		info_options_usage(argv[0]);
		return options_done(EXIT_FAILURE, ret_status);
	}
	/* A query has one address. */
	if (source && o->node) {
		fprintf(stderr, "error: -s and -n exclude each other\n");
		info_options_usage(argv[0]);
		return options_done(EXIT_FAILURE, ret_status);
	}
	if (source) {
		o->node = source;
		o->flags |= FI_SOURCE;
	}
	/* The library honours this flag only when it stands alone. */
	if (o->list)
		o->flags = FI_PROV_ATTR_ONLY;
	return PARSE_RUN;
}

void info_options_done(struct info_options *o)
{
	fi_freeinfo(o->hints);
	o->hints = NULL;
}
