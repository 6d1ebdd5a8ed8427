/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

static const char help_text[] =
	"\n"
	"Bounce messages between two processes, and print how long they take.\n"
	"Both sides need the same -e, -I, -S, -m and -p.\n"
	"\n"
	"  -B <port>      source port of the control connection\n"
	"                 (server: 47592, client: any)\n"
	"  -P <port>      destination port of the control connection (client: 47592)\n"
	"  -d <domain>    domain name\n"
	"  -f <fabric>    fabric name\n"
	"  -p <provider>  provider name\n"
	"  -s <address>   local address of the endpoint\n"
	"  -e <type>      endpoint type: dgram, rdm or msg (dgram,\n"
	"                 or the first that the provider has)\n"
	"  -I <number>    round trips for each size (10)\n"
	"  -S <size>      message size, or 'all'; default is a short list of sizes\n"
	"  -c             verify the data\n"
	"  -m <mode>      msg or tagged (msg)\n"
	"  -6             control connection over IPv6\n"
	"  -v             say what is being done\n"
	"  -h             this text\n";

static void pp_options_usage(const char *program)
{
	fprintf(stderr,
		"Usage:\n"
		"  %s [OPTIONS]                   be the server\n"
		"  %s [OPTIONS] <server address>  connect to a server\n",
		program, program);
	fputs(help_text, stderr);
}

static bool options_parse_number(
	const char *what, const char *text, long low, long high, int *ret_number)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < low || value > high) {
		pp_say("%s: '%s' is not a number from %ld to %ld", what, text, low,
			high);
		return false;
	}
	*ret_number = (int)value;
	return true;
}

static bool pp_options_parse_port(
	const char *what, const char *text, const char **ret_port)
{
	int port;

	if (!options_parse_number(what, text, 1, 65535, &port))
		return false;
	*ret_port = text;
	return true;
}

static bool options_parse_ep_type(const char *text, enum fi_ep_type *ret_type)
{
	if (!strcasecmp(text, "dgram"))
		*ret_type = FI_EP_DGRAM;
	else if (!strcasecmp(text, "rdm"))
		*ret_type = FI_EP_RDM;
	else if (!strcasecmp(text, "msg"))
		*ret_type = FI_EP_MSG;
	else {
		pp_say("unknown endpoint type '%s'", text);
		return false;
	}
	return true;
}

static bool options_parse_size(const char *text, struct pp_size_option *ret_size)
{
	if (!pp_size_parse(text, ret_size))
		return true;
	pp_say("size: '%s' is neither a number nor 'all'", text);
	return false;
}

static bool pp_options_parse_option(int option, const char *arg, struct pp_options *o)
{
	switch (option) {
	case 'B':
		return pp_options_parse_port("source port", arg, &o->src_port);
	case 'P':
		return pp_options_parse_port("destination port", arg, &o->dst_port);
	case 'd':
		o->domain = arg;
		return true;
	case 'f':
		o->fabric = arg;
		return true;
	case 'p':
		o->provider = arg;
		return true;
	case 's':
		o->src_addr = arg;
		return true;
	case 'e':
		return options_parse_ep_type(arg, &o->ep_type);
	case 'I':
		return options_parse_number(
			"iterations", arg, 1, PP_ITERATIONS_MAX, &o->iterations);
	case 'S':
		return options_parse_size(arg, &o->size);
	case 'm':
		o->tagged = strcasecmp(arg, "msg") != 0;
		return true;
	case 'c':
		o->verify = true;
		return true;
	case '6':
		o->ipv6 = true;
		return true;
	case 'v':
		o->debug = true;
		return true;
	default:
		return false;
	}
}

bool pp_options_parse(int argc, char **argv, struct pp_options *o)
{
	int option;

	*o = (struct pp_options){ .iterations = 10 };
	while ((option = getopt(argc, argv, "B:P:d:f:p:s:e:I:S:m:c6vh")) >= 0) {
		if (!pp_options_parse_option(option, optarg, o)) {
			pp_options_usage(argv[0]);
			return false;
		}
	}
	if (argc - optind > 1) {
		pp_say("more than one server address");
		pp_options_usage(argv[0]);
		return false;
	}
	o->server = argv[optind];
	return true;
}
