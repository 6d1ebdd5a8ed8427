/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log callbacks carry no context, therefore the file-wide list; fi_getinfo may log
 * from several threads, therefore the mutex.
 */
#include "reasons.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>

static struct {
	pthread_mutex_t lock;
	struct reason *first;
	struct reason **end;
} reasons = { PTHREAD_MUTEX_INITIALIZER, NULL, &reasons.first };

static bool reasons_starts(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Length without the newline that a caller of fi_log may have left. */
static size_t reasons_line_length(const char *text)
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
	r->text = strndup(text, reasons_line_length(text));
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

static void reasons_free_all(void)
{
	while (reasons.first) {
		struct reason *r = reasons.first;

		reasons.first = r->next;
		reason_free(r);
	}
	reasons.end = &reasons.first;
}

static int reasons_log_enabled(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags)
{
	(void)prov;
	(void)subsys;
	(void)flags;
	return level <= FI_LOG_INFO;
}

static int reasons_log_ready(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags, uint64_t *showtime)
{
	(void)showtime;
	return reasons_log_enabled(prov, level, subsys, flags);
}

static void reasons_log_line(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	(void)level;
	(void)subsys;
	(void)func;
	(void)line;
	if (reasons_starts(msg, REASON_REFUSED) ||
		reasons_starts(msg, REASON_TRANSPORT) ||
		reasons_starts(msg, REASON_RESULTS))
		reason_add(prov && prov->name ? prov->name : "core", msg);
}

static struct fi_ops_log log_ops = {
	.size = sizeof(struct fi_ops_log),
	.enabled = reasons_log_enabled,
	.ready = reasons_log_ready,
	.log = reasons_log_line,
};

static int reasons_log_close(struct fid *fid)
{
	(void)fid;
	return 0;
}

static struct fi_ops log_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = reasons_log_close,
};

/* Static: the library keeps using it until the process ends. */
static struct fid_logging log_object = {
	.fid = { .fclass = FI_CLASS_LOG, .ops = &log_fid_ops },
	.ops = &log_ops,
};

int reasons_follow(void)
{
	log_object.fid.ops = &log_fid_ops;
	return fi_import_log(fi_version(), 0, &log_object);
}

const struct reason *reasons_first(void)
{
	return reasons.first;
}

void reasons_stop(void)
{
	(void)fi_close(&log_object.fid);
	reasons_free_all();
}

/* Is the word at @word of @len letters in @list, up to @end? */
static bool reasons_list_has(
	const char *list, const char *end, const char *word, size_t len)
{
	while (list < end) {
		size_t width = strcspn(list, ", (\n");

		if (width == len && !memcmp(list, word, len))
			return true;
		list += width;
		list += strspn(list, ", ");
	}
	return false;
}

/* Write the flags of @asked, up to @possible, that are not among the possible ones. */
static size_t reasons_write_missing(const char *asked, const char *possible,
	const char *end, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	while (asked < possible) {
		size_t len = strcspn(asked, ", ");

		if (!reasons_list_has(possible, end, asked, len) &&
			used + len + 3 < size)
			used += (size_t)snprintf(buf + used, size - used, "%s%.*s",
				used ? ", " : "", (int)len, asked);
		asked += len;
		asked += strspn(asked, ", ");
		if (!strncmp(asked, "possible ", 9))
			break;
	}
	return used;
}

const char *reason_text(const struct reason *reason, char *buf, size_t size)
{
	static const char before_asked[] = ": asked FI_", before[] = ", possible FI_";
	const char *text = reason->text, *asked = strstr(text, before_asked);
	const char *possible = asked ? strstr(asked, before) : NULL, *end;
	char missing[256];

	(void)snprintf(buf, size, "%s", text);
	if (!possible)
		return buf;
	possible += strlen(before) - 3;
	end = strchr(possible, '(');
	end = end ? end : possible + strlen(possible);
	/* One value of an enumeration is possible: it says more than what is
	 * missing. */
	if (!memchr(possible, ',', (size_t)(end - possible)) ||
		!reasons_write_missing(asked + strlen(before_asked) - 3, possible, end,
			missing, sizeof(missing)))
		return buf;
	(void)snprintf(buf, size, "%.*s: missing: %s%s%s", (int)(asked - text), text,
		missing, *end ? " " : "", end);
	return buf;
}

static bool reasons_is_about(const char *text, const char *field)
{
	return reasons_starts(text + strlen(REASON_REFUSED), field);
}

/* How much the reason tells: most, if only a name or an address was wrong; least, if
 * another provider was asked for. */
static int reasons_weight_of(const struct reason *reason, const char *asked)
{
	static const char *const names[] = { "node:", "service:", "src_addr:",
		"dest_addr:", "domain_attr.name:", "fabric_attr.name:", "interface:",
		"flags:", "version:" };
	const char *text = reason->text;
	int weight = asked && !strcasecmp(reason->provider, asked) ? 10 : 0;

	if (!reasons_starts(text, REASON_REFUSED))
		return -1;
	if (strstr(text, "possible none: "))
		return weight + 5;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (reasons_is_about(text, names[i]))
			return weight + 4;
	if (reasons_is_about(text, "prov_name:") ||
		reasons_is_about(text, "FI_PROVIDER:"))
		return weight;
	return weight + (reasons_is_about(text, "there is no device") ? 1 : 3);
}

/* Do both say the same, for another type of endpoint or another provider? */
static bool reasons_same_reason(const struct reason *a, const struct reason *b)
{
	char one[512], other[512];

	(void)reason_text(a, one, sizeof(one));
	(void)reason_text(b, other, sizeof(other));
	one[strcspn(one, "(")] = other[strcspn(other, "(")] = '\0';
	return !strcmp(one, other);
}

/* The reason of most weight that says something else than @but (or NULL); the first of
 * several. */
static const struct reason *reasons_best_but(
	const struct reason *but, const char *asked)
{
	const struct reason *best = NULL;

	for (const struct reason *r = reasons.first; r; r = r->next)
		if (reasons_weight_of(r, asked) >
				(best ? reasons_weight_of(best, asked) : -1) &&
			!(but && reasons_same_reason(but, r)))
			best = r;
	return best;
}

static void reasons_print_reason(FILE *out, const struct reason *reason)
{
	char text[512];
	const char *line = reason_text(reason, text, sizeof(text));

	fprintf(out, "    %s: %s\n", reason->provider, line + strlen(REASON_REFUSED));
}

void reasons_tell(FILE *out, const char *asked, int (*ask)(void *arg), void *arg)
{
	const struct reason *first, *second;

	if (reasons_follow())
		return;
	(void)ask(arg);
	first = reasons_best_but(NULL, asked);
	second = first ? reasons_best_but(first, asked) : NULL;
	if (first)
		reasons_print_reason(out, first);
	if (second && reasons_weight_of(second, asked) > 0)
		reasons_print_reason(out, second);
	reasons_stop();
}
