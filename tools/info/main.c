/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_info: what the library offers on this machine, which variables configure it, and
 * why a provider is not offered.
 */
#include "options.h"
#include "print.h"
#include "reasons.h"
#include "why.h"

static int main_ask(const struct info_options *o, struct fi_info **ret_list)
{
	return fi_getinfo(
		fi_version(), o->node, o->service, o->flags, info_hints(o), ret_list);
}

static int main_ask_again(void *arg)
{
	struct fi_info *list = NULL;
	int ret = main_ask(arg, &list);

	if (!ret)
		fi_freeinfo(list);
	return ret;
}

/* Print what has failed, and why. */
static int main_fail(struct info_options *o, int error)
{
	int status = print_failure("fi_getinfo", error);

	reasons_tell(stderr, o->hints->fabric_attr->prov_name, main_ask_again, o);
	return status;
}

static int main_query(struct info_options *o)
{
	struct fi_info *list;
	int ret;

	ret = main_ask(o, &list);
	if (ret)
		return main_fail(o, ret);

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
		status = options.why ? why_run(&options) : main_query(&options);
	info_options_done(&options);
	return status;
}
