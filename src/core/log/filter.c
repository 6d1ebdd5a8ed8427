/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/log/filter.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/strings/strings.h"
#include "sys/compiler.h"

/* Debug messages exist only in builds with ENABLE_DEBUG; in others FI_LOG_LEVEL=debug
 * means info. */
#if defined(ENABLE_DEBUG) && ENABLE_DEBUG
#define MOST_LEVELS (FI_LOG_DEBUG + 1)
#else
#define MOST_LEVELS FI_LOG_DEBUG
#endif

static const char separators[] = ", \t";

/* Levels below warn, of which there are no messages. */
static bool filter_is_quiet(const char *level)
{
	static const char *const words[] = { "silent", "none", "off", "error", "0" };

	for (size_t i = 0; i < WF_ARRAY_SIZE(words); i++)
		if (!strcasecmp(level, words[i]))
			return true;
	return false;
}

static void filter_set_level(struct wf_log_filter *filter, const char *level)
{
	unsigned int i;

	if (!level || !*level)
		return;
	filter->quiet = filter_is_quiet(level);
	if (filter->quiet)
		return;
	for (i = 0; i < wf_names_log_level.count; i++) {
		if (strcasecmp(level, wf_names_log_level.rows[i].name) == 0)
			break;
	}
	filter->bad_level = i == wf_names_log_level.count;
	filter->level_count = filter->bad_level ? 1 : i + 1;
	if (filter->level_count > MOST_LEVELS) {
		filter->debug_absent = true;
		filter->level_count = MOST_LEVELS;
	}
}

static uint32_t filter_subsys_bit(const char *word, size_t len)
{
	const struct wf_names *names = &wf_names_log_subsys;
	size_t i;

	for (i = 0; i < names->count; i++) {
		if (strncasecmp(word, names->rows[i].name, len) == 0 &&
			names->rows[i].name[len] == '\0')
			return UINT32_C(1) << names->rows[i].value;
	}
	return 0;
}

static void filter_set_subsys(struct wf_log_filter *filter, const char *text)
{
	uint32_t mask = 0, bit;
	bool negated;
	size_t len;

	filter->subsys_mask = UINT32_MAX;
	if (!text)
		return;
	negated = *text == '^';
	text += negated;
	for (text += strspn(text, separators); *text;
		text += strspn(text, separators)) {
		len = strcspn(text, separators);
		bit = filter_subsys_bit(text, len);
		if (!bit && !filter->bad_subsys)
			filter->bad_subsys = text;
		mask |= bit;
		text += len;
	}
	filter->subsys_mask = negated ? ~mask : mask;
}

static void filter_set_provs(struct wf_log_filter *filter, const char *text)
{
	char *out;
	size_t len;

	if (!text)
		return;
	filter->prov_negated = *text == '^';
	text += filter->prov_negated;
	/* The list is no longer than @text; it ends with two NULs. */
	out = filter->provs = calloc(1, strlen(text) + 2);
	if (!out)
		return;
	for (text += strspn(text, separators); *text;
		text += strspn(text, separators)) {
		len = strcspn(text, separators);
		memcpy(out, text, len);
		out += len + 1;
		text += len;
	}
}

void wf_log_filter_init(struct wf_log_filter *filter, const char *level,
	const char *provs, const char *subsys)
{
	memset(filter, 0, sizeof(*filter));
	filter_set_level(filter, level);
	filter_set_provs(filter, provs);
	filter_set_subsys(filter, subsys);
}

void wf_log_filter_done(struct wf_log_filter *filter)
{
	free(filter->provs);
	memset(filter, 0, sizeof(*filter));
}

bool wf_log_filter_prov(const struct wf_log_filter *filter, const char *name)
{
	const char *word;

	if (!filter->provs)
		return true;
	for (word = filter->provs; *word; word += strlen(word) + 1) {
		if (strcasecmp(word, name) == 0)
			return !filter->prov_negated;
	}
	/* The core logs why a provider was not chosen, so a list of providers includes
	 * it; "^core" excludes it. */
	return filter->prov_negated || strcmp(name, "core") == 0;
}

bool wf_log_filter_pass(const struct wf_log_filter *filter, const char *prov_name,
	enum fi_log_level level, enum fi_log_subsys subsys)
{
	uint32_t bit =
		(unsigned int)subsys < 31 ? UINT32_C(1) << subsys : UINT32_C(1) << 31;

	return (unsigned int)level < filter->level_count &&
	       (filter->subsys_mask & bit) && wf_log_filter_prov(filter, prov_name);
}
