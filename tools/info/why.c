/* SPDX-License-Identifier: BSD-2-Clause */
#include "why.h"
#include "print.h"
#include "reasons.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <rdma/fi_errno.h>

/* The provider that answers under a layered name such as "udp;ofi_rxd" is the last. */
static const char *why_outer_name(const char *name)
{
	const char *last = strrchr(name, ';');

	return last ? last + 1 : name;
}

static size_t why_count_matching(const struct fi_info *list, const char *provider)
{
	size_t count = 0;

	for (; list; list = list->next)
		count += !strcasecmp(
			why_outer_name(list->fabric_attr->prov_name), provider);
	return count;
}

/* Returns whether there are any lines of the provider that start with @prefix. */
static bool why_print_lines(const char *provider, const char *prefix)
{
	const struct reason *r;
	char text[1024];
	bool any = false;

	for (r = reasons_first(); r; r = r->next) {
		if (!strcasecmp(why_outer_name(r->provider), provider) &&
			!strncmp(r->text, prefix, strlen(prefix))) {
			printf("    %s\n", reason_text(r, text, sizeof(text)));
			any = true;
		}
	}
	return any;
}

/* Print the library's messages about names of providers that do not exist. */
static void why_print_missing(void)
{
	const struct reason *r;

	for (r = reasons_first(); r; r = r->next)
		if (!strcasecmp(r->provider, "core"))
			printf("%s\n", r->text);
}

static bool why_is_of_kind(const char *name, const char *prefix)
{
	return !strncasecmp(name, prefix, strlen(prefix));
}

/* Why the provider @name has no results. */
static void why_print_refusal(const char *name)
{
	printf("provider: %s\n", name);
	if (why_is_of_kind(name, "ofi_hook_"))
		printf("    a hook: FI_HOOK=%s puts it in front of others\n",
			name + strlen("ofi_hook_"));
	else if (why_print_lines(name, REASON_REFUSED))
		return;
	else if (why_is_of_kind(name, "ofi_"))
		printf("    no provider below it fits\n");
	else if (!why_print_lines(name, REASON_RESULTS))
		printf("    no results\n");
}

static void why_print_verdicts(
	const struct fi_info *providers, const struct fi_info *found)
{
	const struct fi_info *p;

	for (p = providers; p; p = p->next) {
		const char *name = p->fabric_attr->prov_name;
		size_t matching = why_count_matching(found, name);

		if (matching) {
			printf("%s: %zu matching\n", name, matching);
			why_print_lines(name, REASON_TRANSPORT);
		} else {
			why_print_refusal(name);
		}
	}
}

int why_run(const struct info_options *o)
{
	struct fi_info *providers = NULL, *found = NULL;
	int ret, status = 0;

	ret = fi_getinfo(fi_version(), NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &providers);
	if (ret)
		return print_failure("fi_getinfo", ret);

	ret = reasons_follow();
	if (ret) {
		fprintf(stderr, "fi_info: this library cannot say why: "
				"its log cannot be followed\n");
		status = print_failure("fi_import_log", ret);
		goto free_providers;
	}
	ret = fi_getinfo(fi_version(), o->node, o->service,
		o->flags & ~FI_PROV_ATTR_ONLY, info_hints(o), &found);
	if (ret && ret != -FI_ENODATA) {
		status = print_failure("fi_getinfo", ret);
		goto free_reasons;
	}
	why_print_missing();
	why_print_verdicts(providers, ret ? NULL : found);
	if (!ret)
		fi_freeinfo(found);

free_reasons:
	reasons_stop();
free_providers:
	fi_freeinfo(providers);
	return status;
}
