/* SPDX-License-Identifier: BSD-2-Clause */
#include "print.h"

#include <stdio.h>
#include <string.h>
#include <rdma/fi_errno.h>

static const char *print_text_of(const void *value, enum fi_type type)
{
	const char *text = fi_tostr(value, type);

	return text ? text : "(null)";
}

void print_short(const struct fi_info *list)
{
	const struct fi_info *info;

	for (info = list; info; info = info->next) {
		const struct fi_fabric_attr *fabric = info->fabric_attr;

		printf("provider: %s\n", fabric->prov_name);
		printf("    fabric: %s\n", fabric->name);
		printf("    domain: %s\n", info->domain_attr->name);
		printf("    version: %u.%u\n", FI_MAJOR(fabric->prov_version),
			FI_MINOR(fabric->prov_version));
		/* Two calls, because fi_tostr has one buffer. */
		printf("    type: %s\n",
			print_text_of(&info->ep_attr->type, FI_TYPE_EP_TYPE));
		printf("    protocol: %s\n",
			print_text_of(&info->ep_attr->protocol, FI_TYPE_PROTOCOL));
	}
}

void print_providers(const struct fi_info *list)
{
	const struct fi_info *info;

	for (info = list; info; info = info->next) {
		uint32_t version = info->fabric_attr->prov_version;

		printf("%s:\n    version: %u.%u\n", info->fabric_attr->prov_name,
			FI_MAJOR(version), FI_MINOR(version));
	}
}

void print_long(const struct fi_info *list, const char *part)
{
	const struct fi_info *info;

	for (info = list; info; info = info->next) {
		const char *text = print_text_of(info, FI_TYPE_INFO);

		if (!part || strcasestr(text, part))
			printf("---\n%s", text);
	}
}

static const char *print_type_word(enum fi_param_type type)
{
	switch (type) {
	case FI_PARAM_STRING:
		return "String";
	case FI_PARAM_INT:
		return "Integer";
	case FI_PARAM_BOOL:
		return "Boolean (0/1, on/off, true/false, yes/no)";
	case FI_PARAM_SIZE_T:
		return "size_t";
	default:
		return "Unknown";
	}
}

static void print_variable(const struct fi_param *param)
{
	const char *quote;

	printf("# %s: %s\n", param->name, print_type_word(param->type));
	printf("# %s\n", param->help_string);
	if (param->value) {
		quote = strchr(param->value, ' ') ? "\"" : "";
		printf("%s=%s%s%s\n", param->name, quote, param->value, quote);
	}
	printf("\n");
}

int print_variables(const char *part)
{
	struct fi_param *params;
	int i, count, ret;

	ret = fi_getparams(&params, &count);
	if (ret)
		return ret;
	for (i = 0; i < count; i++) {
		if (!part || strcasestr(params[i].name, part))
			print_variable(&params[i]);
	}
	fi_freeparams(params);
	return 0;
}

int print_failure(const char *call, int error)
{
	fprintf(stderr, "%s: %d (%s)\n", call, error, fi_strerror(error));
	return -error;
}
