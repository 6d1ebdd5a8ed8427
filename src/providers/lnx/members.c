/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "objects/lower/find.h"
#include "objects/notice.h"
#include "providers/lnx/lnx.h"
#include "providers/lnx/locality.h"
#include "sys/nearest.h"

/*
 * Finds the provider domains that can be members of a link, by fi_getinfo, as any
 * application would. Capabilities that a provider offers only when asked are asked for.
 */

/* mr_mode bits that a member may have: their consequences for the application are the
 * same with every member. */
static const int possible_mr_mode =
	FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_ENDPOINT | FI_MR_RMA_EVENT;

static const uint64_t linking_caps = FI_PEER | FI_AV_USER_ID;

static struct fi_info *members_new_hints(
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

static void members_refused(const struct lnx_text *provider, const char *why)
{
	lnx_log(FI_LOG_INFO, FI_LOG_CORE, "%.*s is not linked: %s\n",
		(int)provider->len, provider->at, why);
}

/* The version of the interface that introduced fi_peer(3). */
static const uint32_t oldest_version = FI_VERSION(1, 17);

/* Infos of @provider, the best first; NULL: there are none. Returns 0 or -FI_ENOMEM. */
static int members_find_infos(const struct lnx_text *provider,
	const struct lnx_text *domain, struct fi_info **ret_list)
{
	struct fi_info *hints = members_new_hints(provider, domain);
	int ret;

	*ret_list = NULL;
	if (!hints)
		return -FI_ENOMEM;
	ret = wf_lower_find(oldest_version, hints, ret_list);
	if (ret) {
		members_refused(provider, "it offers no FI_EP_RDM endpoint here");
		*ret_list = NULL;
	}
	fi_freeinfo(hints);
	return ret == -FI_ENOMEM ? ret : 0;
}

/* Does the member accept @flags as default flags? It has to be asked with them, because
 * an answer names the flags that the hints asked for, not all possible ones. */
static bool members_takes_flags(const struct fi_info *info, uint64_t flags)
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

static uint64_t members_find_op_flags(const struct fi_info *info)
{
	const uint64_t wanted = FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE |
				FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE |
				FI_MATCH_COMPLETE | FI_MORE | FI_FENCE;
	uint64_t found = 0;

	if (members_takes_flags(info, wanted))
		return wanted;
	for (uint64_t left = wanted; left; left &= left - 1)
		if (members_takes_flags(info, left & -left))
			found |= left & -left;
	return found;
}

/* The member's answer to @info with @caps added; NULL: it refuses. */
static struct fi_info *members_with_caps(const struct fi_info *info, uint64_t caps)
{
	struct fi_info *hints = fi_dupinfo(info), *list = NULL;

	if (!hints)
		return NULL;
	hints->caps |= caps;
	hints->domain_attr->caps |= caps & linking_caps;
	/* The provider derives the contexts' capabilities from the endpoint's. */
	hints->tx_attr->caps = hints->rx_attr->caps = 0;
	if (wf_lower_find_again(hints, &list))
		list = NULL;
	fi_freeinfo(hints);
	return list;
}

/* Give @info the FI_LOCAL_COMM and FI_REMOTE_COMM of @offer, because which peers the
 * member reaches does not depend on the other hints. @info may be NULL. */
static struct fi_info *members_with_reach_of(
	const struct fi_info *offer, struct fi_info *info)
{
	const uint64_t reach = FI_LOCAL_COMM | FI_REMOTE_COMM;

	if (info)
		info->caps = (info->caps & ~reach) | (offer->caps & reach);
	return info;
}

/* @info with the capabilities that linking needs: some providers give these only when
 * asked. */
static struct fi_info *members_as_peer(const struct fi_info *info)
{
	return linking_caps & ~info->caps ? members_with_caps(info, linking_caps)
					  : fi_dupinfo(info);
}

/* @info with all other capabilities, but @without, that the member gives only when
 * asked. Consumes @info, which may be NULL. */
static struct fi_info *members_with_most_caps(struct fi_info *info, uint64_t without)
{
	uint64_t left = info ? LNX_MEMBER_CAPS & ~(info->caps | without) : 0;
	struct fi_info *answer;

	for (; left; left &= left - 1) {
		answer = members_with_caps(info, left & -left);
		if (!answer)
			continue;
		fi_freeinfo(info);
		info = answer;
	}
	return info;
}

/* @info with the fewest mr_mode bits: some providers answer with all bits that the
 * hints permitted. Consumes @info, which may be NULL. */
static struct fi_info *members_with_fewest_modes(struct fi_info *info)
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

/* The member's info for a link, with as many capabilities as possible, but not
 * @without. NULL: it cannot be linked. */
static struct fi_info *members_as_member(const struct fi_info *offer, uint64_t without)
{
	/* FI_EXACT_DIRECTED_RECV would restrict the application. */
	struct fi_info *info = members_with_most_caps(
		members_as_peer(offer), without | FI_EXACT_DIRECTED_RECV);

	return members_with_reach_of(offer, members_with_fewest_modes(info));
}

/* The info, for messages only, of a member that has to choose its own keys. */
static struct fi_info *members_of_messages(const struct fi_info *offer)
{
	const uint64_t memory = FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE |
				FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT |
				FI_RMA_PMEM;
	struct fi_info *hints = fi_dupinfo(offer), *list = NULL, *info = NULL;

	if (!hints)
		return NULL;
	hints->caps &= ~memory;
	hints->tx_attr->caps = hints->rx_attr->caps = 0;
	if (!wf_lower_find_again(hints, &list))
		info = members_as_member(list, memory);
	fi_freeinfo(list);
	fi_freeinfo(hints);
	return info;
}

static const char *members_unfit(const struct fi_info *info)
{
	if (!info)
		return "it does not offer FI_PEER and FI_AV_USER_ID";
	if (info->domain_attr->mr_mode & ~possible_mr_mode)
		return "it needs registration of local buffers, or chooses keys";
	if (info->mode & ~(FI_CONTEXT | FI_CONTEXT2))
		return "it needs modes beyond FI_CONTEXT and FI_CONTEXT2";
	return NULL;
}

static void members_fill_member(struct lnx_member *member, struct fi_info *info)
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
	member->op_flags = members_find_op_flags(info);
	(void)snprintf(member->name, sizeof(member->name), "%s:%s",
		info->fabric_attr->prov_name, info->domain_attr->name);
}

static bool members_has_domain(
	const struct lnx_members *found, const struct fi_info *info)
{
	for (unsigned int i = 0; i < found->count; i++)
		if (!strcasecmp(found->list[i].info->domain_attr->name,
			    info->domain_attr->name))
			return true;
	return false;
}

static int members_add_member(struct lnx_members *found,
	const struct lnx_text *provider, const struct fi_info *offer)
{
	struct lnx_member *list;
	struct fi_info *info;
	const char *why;

	/* A domain may have several answers, one for each IP version: the first one is
	 * the best. */
	if (members_has_domain(found, offer))
		return 0;
	info = members_as_member(offer, 0);
	if (info && info->domain_attr->mr_mode & FI_MR_PROV_KEY) {
		fi_freeinfo(info);
		info = members_of_messages(offer);
	}
	why = members_unfit(info);
	if (why) {
		members_refused(provider, why);
		fi_freeinfo(info);
		return 0;
	}
	if (found->count == found->capacity) {
		found->capacity = found->capacity ? 2 * found->capacity : 4;
		list = realloc(found->list, found->capacity * sizeof(*list));
		if (!list) {
			fi_freeinfo(info);
			return -FI_ENOMEM;
		}
		found->list = list;
	}
	members_fill_member(&found->list[found->count++], info);
	return 0;
}

void lnx_members_free(struct lnx_members *found)
{
	for (unsigned int i = 0; i < found->count; i++)
		fi_freeinfo(found->list[i].info);
	free(found->list);
}

static int members_add_offers(struct lnx_members *found,
	const struct lnx_text *provider, const struct lnx_text *domain)
{
	struct fi_info *offers;
	int ret = members_find_infos(provider, domain, &offers);

	/* Some providers ignore the domain's name in the hints. */
	for (struct fi_info *it = offers; it && !ret; it = it->next)
		if (!domain || lnx_text_is(domain, it->domain_attr->name))
			ret = members_add_member(found, provider, it);
	fi_freeinfo(offers);
	return ret;
}

void lnx_members_drop_loopback(struct lnx_members *found)
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

int lnx_members_find(
	const struct lnx_spec_provider *provider, struct lnx_members *ret_found)
{
	struct lnx_members found = { .list = NULL };
	int ret = 0;

	for (unsigned int i = 0; i < provider->domain_count && !ret; i++)
		ret = members_add_offers(&found, &provider->name, &provider->domain[i]);
	if (!provider->domain_count)
		ret = members_add_offers(&found, &provider->name, NULL);
	if (ret) {
		lnx_members_free(&found);
		return ret;
	}
	*ret_found = found;
	return 0;
}

void lnx_members_tell_none(const struct lnx_spec_provider *provider)
{
	const struct lnx_text *name = &provider->name, *domain = provider->domain;
	struct fi_info *offers;
	char word[FI_NAME_MAX] = "", hint[FI_NAME_MAX + 32];
	struct wf_nearest nearest;

	(void)members_find_infos(name, NULL, &offers);
	if (offers && provider->domain_count)
		(void)snprintf(
			word, sizeof(word), "%.*s", (int)domain->len, domain->at);
	nearest = wf_nearest_to(word);
	for (struct fi_info *it = offers; it && *word; it = it->next)
		wf_nearest_offer(&nearest, it->domain_attr->name);
	wf_notice(&lnx_fi,
		"FI_LNX_PROV_LINKS: a link is left out: nothing to link of %.*s%s%s%s",
		(int)name->len, name->at, *word ? ":" : "", word,
		wf_nearest_hint(&nearest, hint, sizeof(hint)));
	fi_freeinfo(offers);
}
