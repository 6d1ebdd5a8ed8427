/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <strings.h>

#include "providers/lnx/spec.h"

/* The error in the text, and the part of the text that it is in; @why NULL: none. */
struct parser {
	const char *why;
	struct lnx_text where;
};

static bool spec_bad(struct parser *p, const char *why, struct lnx_text where)
{
	p->why = why;
	p->where = where;
	return false;
}

static struct lnx_text spec_trimmed(struct lnx_text text)
{
	while (text.len && strchr(" \t\r\n", *text.at)) {
		text.at++;
		text.len--;
	}
	while (text.len && strchr(" \t\r\n", text.at[text.len - 1]))
		text.len--;
	return text;
}

/* Split the text before the first @sep, and @sep, off @rest. False: @rest was empty. */
static bool spec_next(struct lnx_text *rest, char sep, struct lnx_text *ret)
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
	*ret = spec_trimmed(*ret);
	return true;
}

bool lnx_text_is(const struct lnx_text *text, const char *name)
{
	return text->len == strlen(name) && !strncasecmp(text->at, name, text->len);
}

/* Is one layer of the name lnx, which cannot be its own member? */
static bool spec_is_lnx(struct lnx_text name)
{
	struct lnx_text layer;

	while (spec_next(&name, ';', &layer))
		if (lnx_text_is(&layer, "lnx"))
			return true;
	return false;
}

static bool spec_parse_domains(
	struct parser *p, struct lnx_text list, struct lnx_spec_provider *provider)
{
	struct lnx_text name;

	while (spec_next(&list, ',', &name)) {
		if (!name.len)
			return spec_bad(p, "a domain has no name", provider->name);
		if (provider->domain_count == LNX_SPEC_DOMAINS)
			return spec_bad(p, "more than 8 domains", name);
		provider->domain[provider->domain_count++] = name;
	}
	return true;
}

static bool spec_parse_provider(
	struct parser *p, struct lnx_text text, struct lnx_spec_provider *provider)
{
	(void)spec_next(&text, ':', &provider->name);
	if (!provider->name.len)
		return spec_bad(p, "a provider has no name", provider->name);
	if (spec_is_lnx(provider->name))
		return spec_bad(p, "lnx cannot link itself", provider->name);
	return spec_parse_domains(p, text, provider);
}

static bool spec_parse_link(
	struct parser *p, struct lnx_text text, struct lnx_spec_link *link)
{
	struct lnx_text provider;

	while (spec_next(&text, '+', &provider)) {
		if (link->provider_count == LNX_SPEC_PROVIDERS)
			return spec_bad(p, "more than 8 providers in a link", provider);
		if (!spec_parse_provider(
			    p, provider, &link->provider[link->provider_count++]))
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

	while (ok && spec_next(&rest, '|', &link)) {
		if (spec.link_count == LNX_SPEC_LINKS)
			ok = spec_bad(&p, "more than 8 links", link);
		else
			ok = spec_parse_link(&p, link, &spec.link[spec.link_count++]);
	}
	if (ok) {
		*ret_spec = spec;
		return true;
	}
	*ret_why = p.why;
	*ret_where = p.where;
	return false;
}
