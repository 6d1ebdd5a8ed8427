/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_info: what the library offers on this machine, which variables configure it, and
 * why a provider is not offered.
 */
#include "options.h"
#include "print.h"
#include "why.h"

static int query(const struct info_options *o)
{
	struct fi_info *list;
	int ret;

	ret = fi_getinfo(
		fi_version(), o->node, o->service, o->flags, info_hints(o), &list);
	if (ret)
		return print_failure("fi_getinfo", ret);

	if (o->env) {
		ret = print_variables(o->env_text);
		if (ret)
			ret = print_failure("fi_getparams", ret);
	} else if (o->verbose) {
		print_long(list, o->info_text);
	} else if (o->list) {
		print_providers(list);
	} else {
		print_short(list);
	}
	fi_freeinfo(list);
	return ret;
}

int main(int argc, char **argv)
{
	struct info_options options;
	int status;

	if (info_options_parse(argc, argv, &options, &status) == PARSE_RUN)
		status = options.why ? why_run(&options) : query(&options);
	info_options_done(&options);
	return status;
}
