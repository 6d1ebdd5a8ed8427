/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters, and the variables that select providers. A case is a process of its
 * own, so that it can set its environment before the library looks at it. */
#include <rdma/providers/fi_prov.h>

#include "suites.h"

static struct fi_provider prov = { .name = "conf" };

static void set(const char *name, const char *value)
{
	CHECK_OK(setenv(name, value, 1));
}

static void defining_needs_name_and_help(void)
{
	CHECK_EQ(fi_param_define(&prov, NULL, FI_PARAM_INT, "help"), -FI_EINVAL);
	CHECK_EQ(fi_param_define(&prov, "a", FI_PARAM_INT, NULL), -FI_EINVAL);
	CHECK_OK(fi_param_define(&prov, "a", FI_PARAM_INT, "%d helps", 1));
}

static void getting_tells_why_not(void)
{
	int value = 77;

	set("FI_CONF_BAD", "perhaps");
	CHECK_OK(fi_param_define(&prov, "unset", FI_PARAM_INT, "never set"));
	CHECK_OK(fi_param_define(&prov, "bad", FI_PARAM_BOOL, "not a truth value"));
	CHECK_EQ(fi_param_get_int(&prov, "undefined", &value), -FI_ENOENT);
	CHECK_EQ(fi_param_get_int(&prov, "unset", &value), -FI_ENODATA);
	CHECK_EQ(fi_param_get_bool(&prov, "bad", &value), -FI_EINVAL);
	CHECK_EQ(value, 77);
	CHECK_EQ(fi_param_get_int(&prov, NULL, &value), -FI_EINVAL);
	CHECK_EQ(fi_param_get_int(&prov, "unset", NULL), -FI_EINVAL);
}

static void truth_values(void)
{
	static const struct {
		const char *word;
		int value;
	} rows[] = { { "0", 0 }, { "1", 1 }, { "no", 0 }, { "yes", 1 }, { "off", 0 },
		{ "on", 1 }, { "false", 0 }, { "TRUE", 1 }, { "Yes", 1 } };

	for (size_t i = 0; i < CF_COUNT(rows); i++) {
		char name[8];
		char env[32];
		int value = 77;

		snprintf(name, sizeof(name), "b%zu", i);
		snprintf(env, sizeof(env), "FI_CONF_B%zu", i);
		set(env, rows[i].word);
		CHECK_OK(fi_param_define(&prov, name, FI_PARAM_BOOL, "a switch"));
		CHECK_OK(fi_param_get_bool(&prov, name, &value));
		CHECK_EQ(value, rows[i].value);
	}
}

static void numbers_and_texts(void)
{
	size_t size = 0;
	char *text = NULL;
	int value = 0;

	set("FI_CONF_HEX", "0x10");
	set("FI_CONF_OCT", "010");
	set("FI_CONF_SIZE", "5000000000");
	set("FI_CONF_TEXT", "some words");
	CHECK_OK(fi_param_define(&prov, "hex", FI_PARAM_INT, "a number"));
	CHECK_OK(fi_param_define(&prov, "oct", FI_PARAM_INT, "a number"));
	CHECK_OK(fi_param_define(&prov, "size", FI_PARAM_SIZE_T, "a size"));
	CHECK_OK(fi_param_define(&prov, "text", FI_PARAM_STRING, "a text"));
	CHECK_OK(fi_param_get_int(&prov, "hex", &value));
	CHECK_EQ(value, 16);
	CHECK_OK(fi_param_get_int(&prov, "oct", &value));
	CHECK_EQ(value, 8);
	CHECK_OK(fi_param_get_size_t(&prov, "size", &size));
	CHECK_EQ(size, 5000000000);
	CHECK_OK(fi_param_get_str(&prov, "text", &text));
	CHECK_STR(text, "some words");
}

static const struct fi_param *find(
	const struct fi_param *params, int count, const char *name)
{
	for (int i = 0; i < count; i++) {
		if (!strcmp(params[i].name, name))
			return &params[i];
	}
	cf_fail(__FILE__, __LINE__, "%s is not listed", name);
}

static void parameters_are_listed(void)
{
	const struct fi_param *param;
	struct fi_param *params;
	int count;

	set("FI_CONF_LISTED", "42");
	CHECK_OK(fi_param_define(&prov, "listed", FI_PARAM_INT, "number %d", 7));
	CHECK_OK(fi_param_define(&prov, "quiet", FI_PARAM_STRING, "not set"));
	CHECK_OK(fi_getparams(&params, &count));
	param = find(params, count, "FI_CONF_LISTED");
	CHECK_EQ(param->type, FI_PARAM_INT);
	CHECK_STR(param->help_string, "conf: number 7");
	CHECK_STR(param->value, "42");
	param = find(params, count, "FI_CONF_QUIET");
	CHECK(param->value == NULL);
	/* The library's own are there without fi_getinfo. */
	(void)find(params, count, "FI_PROVIDER");
	(void)find(params, count, "FI_LOG_LEVEL");
	fi_freeparams(params);
}

/* ---- selecting providers ---- */

/* With FI_PROVIDER set to @list: does the target answer? */
static int with_list(const char *list)
{
	struct fi_info *hints = cf_hints(), *info = NULL;
	int ret;

	set("FI_PROVIDER", list);
	ret = cf_getinfo(cf_target.version, hints, &info);
	if (ret)
		CHECK(!info);
	fi_freeinfo(info);
	fi_freeinfo(hints);
	return ret;
}

static const char *list_of_target(const char *format)
{
	static char list[128];

	if (strchr(cf_target.provider, ';'))
		SKIP("is about single providers");
	snprintf(list, sizeof(list), format, cf_target.provider);
	return list;
}

static void a_positive_list_keeps_the_target(void)
{
	CHECK_OK(with_list(list_of_target("no_such_one,%s")));
}

static void a_negative_list_removes_it(void)
{
	CHECK_EQ(with_list(list_of_target("^%s")), -FI_ENODATA);
}

static void names_in_lists_ignore_case(void)
{
	char upper[128];

	strcpy(upper, list_of_target("%s"));
	for (char *c = upper; *c; c++) {
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
	}
	CHECK_OK(with_list(upper));
}

static void only_unknown_names_leave_nothing(void)
{
	CHECK_EQ(with_list("no_such_one"), -FI_ENODATA);
}

static void an_address_format_filters(void)
{
	uint32_t format =
		cf_target.addr_format ? cf_target.addr_format : FI_SOCKADDR_IN6;
	struct fi_info *info;

	NEED_API(2, 0);
	set("FI_ADDR_FORMAT", fi_tostr(&format, FI_TYPE_ADDR_FORMAT));
	CHECK_OK(fi_getinfo(cf_target.version, NULL, NULL, 0, NULL, &info));
	for (struct fi_info *cur = info; cur; cur = cur->next)
		CHECK_EQ(cur->addr_format, format);
	fi_freeinfo(info);
}

static void an_unknown_address_format_filters_nothing(void)
{
	struct fi_info *hints = cf_hints(), *info;

	set("FI_ADDR_FORMAT", "FI_NO_SUCH_FORMAT");
	CHECK_OK(cf_getinfo(cf_target.version, hints, &info));
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

CF_SUITE(param, CF_CASE(defining_needs_name_and_help, "PRV-025", 0),
	CF_CASE(getting_tells_why_not, "PRV-026 PRV-028 PRV-029", 0),
	CF_CASE(truth_values, "PRV-026 PRV-030", 0),
	CF_CASE(numbers_and_texts, "PRV-026 PRV-031 PRV-032", 0),
	CF_CASE(parameters_are_listed, "PRV-027 PRV-034 PRV-035", 0),
	CF_CASE(a_positive_list_keeps_the_target, "PRV-001 PRV-002", 0),
	CF_CASE(a_negative_list_removes_it, "PRV-001 PRV-003", 0),
	CF_CASE(names_in_lists_ignore_case, "PRV-001", 0),
	CF_CASE(only_unknown_names_leave_nothing, "PRV-006", 0),
	CF_CASE(an_address_format_filters, "GI-057", 0),
	CF_CASE(an_unknown_address_format_filters_nothing, "GI-057", 0));
