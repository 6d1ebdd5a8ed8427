/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/links.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "objects/notice.h"
#include "providers/lnx/lnx.h"
#include "providers/lnx/members.h"
#include "providers/lnx/param.h"
#include "providers/lnx/spec.h"
#include "sys/compiler.h"

/*
 * The links: those that FI_LNX_PROV_LINKS names, or else one of shm and tcp for each
 * domain of tcp.
 */

static const char default_links[] = "shm+tcp";

static struct lnx_link *links[LNX_LINKS_MAX];
static unsigned int link_count;
const struct fi_info *lnx_templates[LNX_LINKS_MAX + 1];

/* Guards all that lnx_links_init writes, until @ready is set. */
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static bool ready;
static int init_result;

static void links_free_link(struct lnx_link *link)
{
	for (unsigned int i = 0; i < link->count; i++)
		fi_freeinfo(link->member[i].info);
	fi_freeinfo(link->tmpl);
	free(link);
}

/* Add the member to the link, or free its info if the link is full. */
static void links_append(struct lnx_link *link, const struct lnx_member *member)
{
	if (link->count == LNX_MAX_LINKS) {
		lnx_log(FI_LOG_WARN, FI_LOG_CORE,
			"%s is not linked: %d in one link are possible\n", member->name,
			LNX_MAX_LINKS);
		fi_freeinfo(member->info);
		return;
	}
	link->local[link->count] = member->local;
	link->rails += !member->local;
	link->member[link->count++] = *member;
}

/* Name the domain of lnx after its members' domains. */
static int links_name_link(struct lnx_link *link)
{
	char name[LNX_MAX_LINKS * (FI_NAME_MAX + 1)] = "";

	for (unsigned int i = 0; i < link->count; i++) {
		size_t at = strlen(name);

		(void)snprintf(name + at, sizeof(name) - at, "%s%s", i ? "+" : "",
			link->member[i].info->domain_attr->name);
	}
	link->tmpl->domain_attr->name = strdup(name);
	return link->tmpl->domain_attr->name ? 0 : -FI_ENOMEM;
}

static int links_publish(struct lnx_link *link)
{
	if (link_count == LNX_LINKS_MAX) {
		lnx_log(FI_LOG_INFO, FI_LOG_CORE, "only the first %d links are used\n",
			LNX_LINKS_MAX);
		links_free_link(link);
		return 0;
	}
	link->tmpl = lnx_template(link);
	if (!link->tmpl || links_name_link(link)) {
		links_free_link(link);
		return -FI_ENOMEM;
	}
	lnx_log(FI_LOG_INFO, FI_LOG_CORE, "link %s: %u members\n",
		link->tmpl->domain_attr->name, link->count);
	lnx_templates[link_count] = link->tmpl;
	links[link_count++] = link;
	return 0;
}

static bool links_is_excluded(const struct lnx_spec_provider *provider)
{
	return lnx_params.no_shm && lnx_text_is(&provider->name, "shm");
}

/* Make a link that FI_LNX_PROV_LINKS names, unless one of its providers has no
 * member. */
static int links_make_link(const struct lnx_spec_link *spec)
{
	struct lnx_link *link = calloc(1, sizeof(*link));
	struct lnx_members found;
	int ret = 0;

	if (!link)
		return -FI_ENOMEM;
	for (unsigned int i = 0; i < spec->provider_count && !ret; i++) {
		const struct lnx_spec_provider *provider = &spec->provider[i];

		if (links_is_excluded(provider))
			continue;
		ret = lnx_members_find(provider, &found);
		if (ret)
			break;
		if (!provider->domain_count)
			lnx_members_drop_loopback(&found);
		if (!found.count) {
			lnx_members_tell_none(provider);
			ret = -FI_ENODATA;
		}
		for (unsigned int k = 0; k < found.count; k++)
			links_append(link, &found.list[k]);
		free(found.list);
	}
	if (!ret && link->count)
		return links_publish(link);
	links_free_link(link);
	return ret == -FI_ENODATA ? 0 : ret;
}

/* Make links of two members each: the first one of @local and one of @remote. */
static int links_make_pairs(
	const struct lnx_members *local, const struct lnx_members *remote)
{
	struct lnx_member first;
	struct lnx_link *link;
	struct fi_info *info;
	int ret = 0;

	for (unsigned int i = 0; i < remote->count && !ret; i++) {
		link = calloc(1, sizeof(*link));
		if (!link)
			return -FI_ENOMEM;
		for (unsigned int k = 0; k < 2 && !ret; k++) {
			first = k ? remote->list[i] : local->list[0];
			info = fi_dupinfo(first.info);
			if (!info)
				ret = -FI_ENOMEM;
			first.info = info;
			if (info)
				links_append(link, &first);
		}
		if (ret)
			links_free_link(link);
		else
			ret = links_publish(link);
	}
	return ret;
}

static int links_make_default(const struct lnx_spec_link *spec)
{
	struct lnx_members local, remote = { .list = NULL };
	int ret;

	/* A single transport needs no lnx. */
	if (lnx_params.no_shm)
		return 0;
	ret = lnx_members_find(&spec->provider[0], &local);
	if (ret)
		return ret;
	ret = lnx_members_find(&spec->provider[1], &remote);
	if (!ret && local.count && remote.count)
		ret = links_make_pairs(&local, &remote);
	lnx_members_free(&remote);
	lnx_members_free(&local);
	return ret;
}

static int links_find(void)
{
	const char *text = lnx_params.links ? lnx_params.links : default_links, *why;
	struct lnx_text where;
	struct lnx_spec spec;
	int ret = 0;

	if (!lnx_spec_parse(text, &spec, &why, &where)) {
		wf_notice(&lnx_fi,
			"FI_LNX_PROV_LINKS: \"%.*s\" in \"%s\": %s; possible is "
			"provider[:domain,...]+...|...",
			(int)where.len, where.at, text, why);
		return -FI_EINVAL;
	}
	if (!lnx_params.links)
		return links_make_default(&spec.link[0]);
	for (unsigned int i = 0; i < spec.link_count && !ret; i++)
		ret = links_make_link(&spec.link[i]);
	return ret;
}

static void links_forget(void)
{
	while (link_count) {
		links_free_link(links[--link_count]);
		lnx_templates[link_count] = NULL;
	}
}

int lnx_links_init(void)
{
	int ret;

	(void)pthread_mutex_lock(&init_lock);
	if (!ready) {
		init_result = links_find();
		/* What lacks today, memory above all, is looked for again. */
		ready = init_result != -FI_ENOMEM && (link_count || lnx_params.links);
		if (init_result == -FI_ENOMEM)
			links_forget();
	}
	ret = init_result;
	(void)pthread_mutex_unlock(&init_lock);
	return ret;
}

void lnx_links_done(void)
{
	links_forget();
	ready = false;
}

const struct lnx_link *lnx_link_find(const char *domain_name)
{
	for (unsigned int i = 0; domain_name && i < link_count; i++)
		if (!strcasecmp(links[i]->tmpl->domain_attr->name, domain_name))
			return links[i];
	return NULL;
}
