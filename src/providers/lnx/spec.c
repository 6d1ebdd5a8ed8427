/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <strings.h>

#include "providers/lnx/spec.h"

struct parser {
	const char *why;
	struct lnx_text where;
};

static bool bad(struct parser *p, const char *why, struct lnx_text where)
{
	p->why = why;
	p->where = where;
	return false;
}

static struct lnx_text trimmed(struct lnx_text text)
{
	while (text.len && strchr(" \t\r\n", *text.at)) {
		text.at++;
		text.len--;
	}
	while (text.len && strchr(" \t\r\n", text.at[text.len - 1]))
		text.len--;
	return text;
}

/* Take the text before the first @sep from @rest, and @sep with it. False: @rest was
 * empty. */
static bool next(struct lnx_text *rest, char sep, struct lnx_text *ret)
{
	const char *end;

	if (!rest->at)
		return false;
	end = memchr(rest->at, sep, rest->len);
	*ret = *rest;
	if (end) {
		ret->len = (size_t)(end - rest->at);
		rest->at = end + 1;
		rest->len -= ret->len + 1;
	} else {
		rest->at = NULL;
	}
	*ret = trimmed(*ret);
	return true;
}

bool lnx_text_is(const struct lnx_text *text, const char *name)
{
	return text->len == strlen(name) && !strncasecmp(text->at, name, text->len);
}

/* No layer of a name may be lnx. */
static bool names_lnx(struct lnx_text name)
{
	struct lnx_text layer;

	while (next(&name, ';', &layer))
		if (lnx_text_is(&layer, "lnx"))
			return true;
	return false;
}

static bool parse_domains(
	struct parser *p, struct lnx_text list, struct lnx_spec_part *part)
{
	struct lnx_text name;

	while (next(&list, ',', &name)) {
		if (!name.len)
			return bad(p, "a domain has no name", part->provider);
		if (part->domain_count == LNX_SPEC_DOMAINS)
			return bad(p, "more than 8 domains", name);
		part->domain[part->domain_count++] = name;
	}
	return true;
}

static bool parse_part(
	struct parser *p, struct lnx_text text, struct lnx_spec_part *part)
{
	(void)next(&text, ':', &part->provider);
	if (!part->provider.len)
		return bad(p, "a provider has no name", part->provider);
	if (names_lnx(part->provider))
		return bad(p, "lnx cannot link itself", part->provider);
	return parse_domains(p, text, part);
}

static bool parse_link(
	struct parser *p, struct lnx_text text, struct lnx_spec_link *link)
{
	struct lnx_text part;

	while (next(&text, '+', &part)) {
		if (link->part_count == LNX_SPEC_PARTS)
			return bad(p, "more than 8 providers in a link", part);
		if (!parse_part(p, part, &link->part[link->part_count++]))
			return false;
	}
	return true;
}

bool lnx_spec_parse(const char *text, struct lnx_spec *ret_spec, const char **ret_why,
	struct lnx_text *ret_where)
{
	struct lnx_text rest = { text, strlen(text) }, link;
	struct lnx_spec spec = { .link_count = 0 };
	struct parser p = { NULL, rest };
	bool ok = true;

	while (ok && next(&rest, '|', &link)) {
		if (spec.link_count == LNX_SPEC_LINKS)
			ok = bad(&p, "more than 8 links", link);
		else
			ok = parse_link(&p, link, &spec.link[spec.link_count++]);
	}
	if (ok) {
		*ret_spec = spec;
		return true;
	}
	*ret_why = p.why;
	*ret_where = p.where;
	return false;
}
