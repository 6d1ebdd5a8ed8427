/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A provider that has nothing to offer logs, at FI_LOG_INFO, one line for each refusal:
 *
 *	refused: <field>: asked <x>, possible <y>
 *
 * A provider whose endpoints use another one for some peers logs which:
 *
 *	transport: <peers>: <how they are reached>
 *
 * The program imports a logging object into the library, runs the query, and collects
 * these lines by provider. The log callbacks carry no context, therefore the file-wide
 * list; fi_getinfo may log from several threads, therefore the mutex.
 */
#include "why.h"
#include "print.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>

#define REFUSED   "refused: "
#define TRANSPORT "transport: "

struct reason {
	struct reason *next;
	char *provider;
	char *text;
};

static struct {
	pthread_mutex_t lock;
	struct reason *first;
	struct reason **end;
} reasons = { PTHREAD_MUTEX_INITIALIZER, NULL, &reasons.first };

static bool starts(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Length without the newline that a caller of fi_log may have left. */
static size_t line_length(const char *text)
{
	size_t len = strlen(text);

	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	return len;
}

static void reason_free(struct reason *r)
{
	if (!r)
		return;
	free(r->provider);
	free(r->text);
	free(r);
}

static struct reason *reason_new(const char *provider, const char *text)
{
	struct reason *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->provider = strdup(provider);
	r->text = strndup(text, line_length(text));
	if (!r->provider || !r->text) {
		reason_free(r);
		return NULL;
	}
	return r;
}

/* Several interfaces of one provider refuse for the same reason: once is enough. */
static bool reason_known(const struct reason *new)
{
	const struct reason *r;

	for (r = reasons.first; r; r = r->next) {
		if (!strcasecmp(r->provider, new->provider) &&
			!strcmp(r->text, new->text))
			return true;
	}
	return false;
}

static void reason_add(const char *provider, const char *text)
{
	struct reason *r = reason_new(provider, text);

	if (!r)
		return;
	pthread_mutex_lock(&reasons.lock);
	if (reason_known(r)) {
		reason_free(r);
	} else {
		*reasons.end = r;
		reasons.end = &r->next;
	}
	pthread_mutex_unlock(&reasons.lock);
}

static void reasons_free(void)
{
	while (reasons.first) {
		struct reason *r = reasons.first;

		reasons.first = r->next;
		reason_free(r);
	}
	reasons.end = &reasons.first;
}

static int log_enabled(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags)
{
	(void)prov;
	(void)subsys;
	(void)flags;
	return level <= FI_LOG_INFO;
}

static int log_ready(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags, uint64_t *showtime)
{
	(void)showtime;
	return log_enabled(prov, level, subsys, flags);
}

static void log_line(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	(void)level;
	(void)subsys;
	(void)func;
	(void)line;
	if (starts(msg, REFUSED) || starts(msg, TRANSPORT))
		reason_add(prov && prov->name ? prov->name : "core", msg);
}

static struct fi_ops_log log_ops = {
	.size = sizeof(struct fi_ops_log),
	.enabled = log_enabled,
	.ready = log_ready,
	.log = log_line,
};

static int log_close(struct fid *fid)
{
	(void)fid;
	return 0;
}

static struct fi_ops log_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = log_close,
};

/* Static: the library keeps using it until the process ends. */
static struct fid_logging log_object = {
	.fid = { .fclass = FI_CLASS_LOG, .ops = &log_fid_ops },
	.ops = &log_ops,
};

/* The provider that answers under a layered name such as "udp;ofi_rxd" is the last. */
static const char *outer_name(const char *name)
{
	const char *last = strrchr(name, ';');

	return last ? last + 1 : name;
}

static size_t count_matching(const struct fi_info *list, const char *provider)
{
	size_t count = 0;

	for (; list; list = list->next)
		count +=
			!strcasecmp(outer_name(list->fabric_attr->prov_name), provider);
	return count;
}

/* Returns whether there are any lines of the provider that start with @prefix. */
static bool print_lines(const char *provider, const char *prefix)
{
	const struct reason *r;
	bool any = false;

	for (r = reasons.first; r; r = r->next) {
		if (!strcasecmp(outer_name(r->provider), provider) &&
			starts(r->text, prefix)) {
			printf("    %s\n", r->text);
			any = true;
		}
	}
	return any;
}

/* Print the library's messages about names of providers that do not exist. */
static void print_missing(void)
{
	const struct reason *r;

	for (r = reasons.first; r; r = r->next)
		if (!strcasecmp(r->provider, "core"))
			printf("%s\n", r->text);
}

static void print_verdicts(const struct fi_info *providers, const struct fi_info *found)
{
	const struct fi_info *p;

	for (p = providers; p; p = p->next) {
		const char *name = p->fabric_attr->prov_name;
		size_t matching = count_matching(found, name);

		if (matching) {
			printf("%s: %zu matching\n", name, matching);
			print_lines(name, TRANSPORT);
			continue;
		}
		printf("provider: %s\n", name);
		if (!print_lines(name, REFUSED))
			printf("    offers nothing here and gave no reason\n");
	}
}

int why_run(const struct info_options *o)
{
	struct fi_info *providers = NULL, *found = NULL;
	int ret, status = 0;

	ret = fi_getinfo(fi_version(), NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &providers);
	if (ret)
		return print_failure("fi_getinfo", ret);

	ret = fi_import_log(fi_version(), 0, &log_object);
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
	print_missing();
	print_verdicts(providers, ret ? NULL : found);
	if (!ret)
		fi_freeinfo(found);

free_reasons:
	reasons_free();
free_providers:
	fi_freeinfo(providers);
	return status;
}
