/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "objects/lower/find.h"
#include "providers/lnx/links.h"
#include "providers/lnx/lnx.h"
#include "providers/lnx/param.h"
#include "providers/lnx/locality.h"
#include "providers/lnx/spec.h"
#include "sys/compiler.h"

/*
 * Which providers and domains are linked: what FI_LNX_PROV_LINKS says, or else shm and
 * tcp, once for each domain of tcp. Members are found as any application would find
 * them, by fi_getinfo.
 */

static const char default_links[] = "shm+tcp";

static struct lnx_link *links[LNX_LINKS_MAX];
static unsigned int link_count;
const struct fi_info *lnx_templates[LNX_LINKS_MAX + 1];

/* Guards all that lnx_links_init writes, until @ready. */
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static bool ready;
static int init_result;

/* Modes that lnx can live with at a member: what needs nothing of the application, and
 * nothing that differs between members. */
static const int possible_mr_mode =
	FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_ENDPOINT | FI_MR_RMA_EVENT;

static const uint64_t linking_caps = FI_PEER | FI_AV_USER_ID;

static struct fi_info *new_hints(
	const struct lnx_text *provider, const struct lnx_text *domain)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode =
		possible_mr_mode | FI_MR_LOCAL | FI_MR_RAW | FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strndup(provider->at, provider->len);
	if (domain)
		hints->domain_attr->name = strndup(domain->at, domain->len);
	if (hints->fabric_attr->prov_name && (!domain || hints->domain_attr->name))
		return hints;
	fi_freeinfo(hints);
	return NULL;
}

static void refused(const struct lnx_text *provider, const char *why)
{
	lnx_log(FI_LOG_INFO, FI_LOG_CORE, "%.*s is not linked: %s\n",
		(int)provider->len, provider->at, why);
}

/* Peers came with that version. */
static const uint32_t oldest_version = FI_VERSION(1, 17);

/* Infos of @provider, best first; NULL when there are none. */
static struct fi_info *ask(
	const struct lnx_text *provider, const struct lnx_text *domain)
{
	struct fi_info *hints = new_hints(provider, domain), *list = NULL;

	if (!hints)
		return NULL;
	if (wf_lower_find(oldest_version, hints, &list)) {
		refused(provider, "it offers no FI_EP_RDM endpoint here");
		list = NULL;
	}
	fi_freeinfo(hints);
	return list;
}

/* Would the member take @flags as defaults? Answers do not tell what is possible. */
static bool takes_flags(const struct fi_info *info, uint64_t flags)
{
	struct fi_info *hints = fi_dupinfo(info), *list = NULL;
	int ret = -FI_ENOMEM;

	if (hints) {
		hints->tx_attr->op_flags = flags;
		ret = wf_lower_find_again(hints, &list);
	}
	fi_freeinfo(list);
	fi_freeinfo(hints);
	return !ret;
}

static uint64_t find_op_flags(const struct fi_info *info)
{
	const uint64_t wanted = FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE |
				FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE |
				FI_MATCH_COMPLETE | FI_MORE | FI_FENCE;
	uint64_t found = 0;

	if (takes_flags(info, wanted))
		return wanted;
	for (uint64_t left = wanted; left; left &= left - 1)
		if (takes_flags(info, left & -left))
			found |= left & -left;
	return found;
}

/* @info with @caps as well, or NULL. */
static struct fi_info *with_caps(const struct fi_info *info, uint64_t caps)
{
	struct fi_info *hints = fi_dupinfo(info), *list = NULL;

	if (!hints)
		return NULL;
	hints->caps |= caps;
	hints->domain_attr->caps |= caps & linking_caps;
	/* Those of the contexts follow. */
	hints->tx_attr->caps = hints->rx_attr->caps = 0;
	if (wf_lower_find_again(hints, &list))
		list = NULL;
	fi_freeinfo(hints);
	return list;
}

/* Whom it reaches does not depend on what else was asked, whatever it says now. Takes
 * @info, which may be NULL. */
static struct fi_info *with_reach_of(const struct fi_info *offer, struct fi_info *info)
{
	const uint64_t reach = FI_LOCAL_COMM | FI_REMOTE_COMM;

	if (info)
		info->caps = (info->caps & ~reach) | (offer->caps & reach);
	return info;
}

/* What linking needs has to be asked for where it is not given unasked. */
static struct fi_info *as_peer(const struct fi_info *info)
{
	return linking_caps & ~info->caps ? with_caps(info, linking_caps)
					  : fi_dupinfo(info);
}

/* So have capabilities that cost something. Takes @info, which may be NULL. */
static struct fi_info *with_most_caps(struct fi_info *info)
{
	/* The exact kind of directed receive asks something of the application. */
	uint64_t left =
		info ? LNX_MEMBER_CAPS & ~(info->caps | FI_EXACT_DIRECTED_RECV) : 0;
	struct fi_info *answer;

	for (; left; left &= left - 1) {
		answer = with_caps(info, left & -left);
		if (!answer)
			continue;
		fi_freeinfo(info);
		info = answer;
	}
	return info;
}

/* Some providers say that they need what they were allowed to. Takes @info, which may
 * be NULL. */
static struct fi_info *with_fewest_modes(struct fi_info *info)
{
	struct fi_info *answer;
	unsigned int left = info ? (unsigned int)info->domain_attr->mr_mode : 0;

	for (; left; left &= left - 1) {
		int bit = (int)(left & -left);

		info->domain_attr->mr_mode &= ~bit;
		if (!wf_lower_find_again(info, &answer)) {
			fi_freeinfo(info);
			info = answer;
		} else {
			info->domain_attr->mr_mode |= bit;
		}
	}
	return info;
}

static const char *unfit(const struct fi_info *info)
{
	if (!info)
		return "it does not offer FI_PEER and FI_AV_USER_ID";
	if (info->domain_attr->mr_mode & ~possible_mr_mode)
		return "it needs registration of local buffers, or chooses keys";
	if (info->mode & ~(FI_CONTEXT | FI_CONTEXT2))
		return "it needs modes beyond FI_CONTEXT and FI_CONTEXT2";
	return NULL;
}

static void fill_member(struct lnx_member *member, struct fi_info *info)
{
	const char *name = info->fabric_attr->prov_name;
	uint64_t hash = 0;
	char c;

	*member = (struct lnx_member){ .info = info };
	for (; *name; name++) {
		c = (char)(*name | 0x20);
		hash = lnx_hash(hash, &c, 1);
	}
	member->provider = (uint16_t)(hash ^ hash >> 32);
	member->locality = lnx_locality_of(info) >> 16;
	member->local = lnx_locality_is_local(info);
	member->memory = lnx_locality_is_memory(info);
	member->op_flags = find_op_flags(info);
	(void)snprintf(member->name, sizeof(member->name), "%s:%s",
		info->fabric_attr->prov_name, info->domain_attr->name);
}

struct members {
	struct lnx_member *list;
	unsigned int count, room;
};

static bool has_domain(const struct members *found, const struct fi_info *info)
{
	for (unsigned int i = 0; i < found->count; i++)
		if (!strcasecmp(found->list[i].info->domain_attr->name,
			    info->domain_attr->name))
			return true;
	return false;
}

static int add_member(struct members *found, const struct lnx_text *provider,
	const struct fi_info *offer)
{
	struct lnx_member *list;
	struct fi_info *info;
	const char *why;

	/* A domain has one address for each version of IP, say; the first is best. */
	if (has_domain(found, offer))
		return 0;
	info = with_reach_of(offer, with_fewest_modes(with_most_caps(as_peer(offer))));
	why = unfit(info);
	if (why) {
		refused(provider, why);
		fi_freeinfo(info);
		return 0;
	}
	if (found->count == found->room) {
		found->room = found->room ? 2 * found->room : 4;
		list = realloc(found->list, found->room * sizeof(*list));
		if (!list) {
			fi_freeinfo(info);
			return -FI_ENOMEM;
		}
		found->list = list;
	}
	fill_member(&found->list[found->count++], info);
	return 0;
}

static void free_members(struct members *found)
{
	for (unsigned int i = 0; i < found->count; i++)
		fi_freeinfo(found->list[i].info);
	free(found->list);
}

static int add_offers(struct members *found, const struct lnx_text *provider,
	const struct lnx_text *domain)
{
	struct fi_info *offers = ask(provider, domain);
	int ret = 0;

	/* Not every provider heeds the name of a domain. */
	for (struct fi_info *it = offers; it && !ret; it = it->next)
		if (!domain || lnx_text_is(domain, it->domain_attr->name))
			ret = add_member(found, provider, it);
	fi_freeinfo(offers);
	return ret;
}

/* The loopback interface is a rail only by name, or when there is no other. */
static void drop_loopback(struct members *found)
{
	unsigned int kept = 0, outside = 0;

	for (unsigned int i = 0; i < found->count; i++)
		outside += !found->list[i].local;
	if (!outside)
		return;
	for (unsigned int i = 0; i < found->count; i++) {
		if (found->list[i].local)
			fi_freeinfo(found->list[i].info);
		else
			found->list[kept++] = found->list[i];
	}
	found->count = kept;
}

/* What one part of a link names. */
static int find_members(const struct lnx_spec_part *part, struct members *ret_found)
{
	struct members found = { .list = NULL };
	int ret = 0;

	for (unsigned int i = 0; i < part->domain_count && !ret; i++)
		ret = add_offers(&found, &part->provider, &part->domain[i]);
	if (!part->domain_count)
		ret = add_offers(&found, &part->provider, NULL);
	if (ret) {
		free_members(&found);
		return ret;
	}
	*ret_found = found;
	return 0;
}

/* ---- links ---- */

static void free_link(struct lnx_link *link)
{
	for (unsigned int i = 0; i < link->count; i++)
		fi_freeinfo(link->member[i].info);
	fi_freeinfo(link->tmpl);
	free(link);
}

/* Takes the members' infos over, as many as the list holds. */
static void append(struct lnx_link *link, const struct lnx_member *member)
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

/* The name of the lnx domain: those of its members' domains. */
static int name_link(struct lnx_link *link)
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

static int publish(struct lnx_link *link)
{
	if (link_count == LNX_LINKS_MAX) {
		lnx_log(FI_LOG_INFO, FI_LOG_CORE, "only the first %d links are used\n",
			LNX_LINKS_MAX);
		free_link(link);
		return 0;
	}
	link->tmpl = lnx_template(link);
	if (!link->tmpl || name_link(link)) {
		free_link(link);
		return -FI_ENOMEM;
	}
	lnx_log(FI_LOG_INFO, FI_LOG_CORE, "link %s: %u members\n",
		link->tmpl->domain_attr->name, link->count);
	lnx_templates[link_count] = link->tmpl;
	links[link_count++] = link;
	return 0;
}

static bool is_left_out(const struct lnx_spec_part *part)
{
	return lnx_params.no_shm && lnx_text_is(&part->provider, "shm");
}

/* A link that was asked for has every part that it names, or is none. */
static int make_link(const struct lnx_spec_link *spec)
{
	struct lnx_link *link = calloc(1, sizeof(*link));
	struct members found;
	int ret = 0;

	if (!link)
		return -FI_ENOMEM;
	for (unsigned int i = 0; i < spec->part_count && !ret; i++) {
		const struct lnx_spec_part *part = &spec->part[i];

		if (is_left_out(part))
			continue;
		ret = find_members(part, &found);
		if (ret)
			break;
		if (!part->domain_count)
			drop_loopback(&found);
		if (!found.count) {
			lnx_log(FI_LOG_WARN, FI_LOG_CORE,
				"a link of FI_LNX_PROV_LINKS is left out: nothing to "
				"link of %.*s\n",
				(int)part->provider.len, part->provider.at);
			ret = -FI_ENODATA;
		}
		for (unsigned int k = 0; k < found.count; k++)
			append(link, &found.list[k]);
		free(found.list);
	}
	if (!ret && link->count)
		return publish(link);
	free_link(link);
	return ret == -FI_ENODATA ? 0 : ret;
}

/* The first member of the one, and each of the other in a link of its own. */
static int make_pairs(const struct members *near, const struct members *far)
{
	struct lnx_member first;
	struct lnx_link *link;
	struct fi_info *info;
	int ret = 0;

	for (unsigned int i = 0; i < far->count && !ret; i++) {
		link = calloc(1, sizeof(*link));
		if (!link)
			return -FI_ENOMEM;
		for (unsigned int k = 0; k < 2 && !ret; k++) {
			first = k ? far->list[i] : near->list[0];
			info = fi_dupinfo(first.info);
			if (!info)
				ret = -FI_ENOMEM;
			first.info = info;
			if (info)
				append(link, &first);
		}
		if (ret)
			free_link(link);
		else
			ret = publish(link);
	}
	return ret;
}

static int make_default(const struct lnx_spec_link *spec)
{
	struct members near, far;
	int ret;

	/* One transport alone needs no lnx. */
	if (lnx_params.no_shm)
		return 0;
	ret = find_members(&spec->part[0], &near);
	if (ret)
		return ret;
	ret = find_members(&spec->part[1], &far);
	if (!ret && near.count && far.count)
		ret = make_pairs(&near, &far);
	if (!ret)
		free_members(&far);
	free_members(&near);
	return ret;
}

static int find_links(void)
{
	const char *text = lnx_params.links ? lnx_params.links : default_links, *why;
	struct lnx_text where;
	struct lnx_spec spec;
	int ret = 0;

	if (!lnx_spec_parse(text, &spec, &why, &where)) {
		lnx_log(FI_LOG_WARN, FI_LOG_CORE,
			"FI_LNX_PROV_LINKS: \"%.*s\" in \"%s\": %s; possible is "
			"provider[:domain,...]+...|...\n",
			(int)where.len, where.at, text, why);
		return -FI_EINVAL;
	}
	if (!lnx_params.links)
		return make_default(&spec.link[0]);
	for (unsigned int i = 0; i < spec.link_count && !ret; i++)
		ret = make_link(&spec.link[i]);
	return ret;
}

int lnx_links_init(void)
{
	int ret;

	(void)pthread_mutex_lock(&init_lock);
	if (!ready) {
		init_result = find_links();
		ready = true;
	}
	ret = init_result;
	(void)pthread_mutex_unlock(&init_lock);
	return ret;
}

void lnx_links_done(void)
{
	while (link_count) {
		free_link(links[--link_count]);
		lnx_templates[link_count] = NULL;
	}
	ready = false;
}

const struct lnx_link *lnx_link_find(const char *domain_name)
{
	for (unsigned int i = 0; domain_name && i < link_count; i++)
		if (!strcasecmp(links[i]->tmpl->domain_attr->name, domain_name))
			return links[i];
	return NULL;
}
