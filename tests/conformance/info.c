/* SPDX-License-Identifier: BSD-2-Clause */
/* The lists of fi_getinfo: made, copied, freed, listed. */
#include <ctype.h>
#include <pthread.h>

#include "suites.h"

static struct fi_info *target_info(void)
{
	struct fi_info *hints = cf_hints(), *info;

	CHECK_OK(cf_getinfo(cf_target.version, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void without_hints_everything_is_listed(void)
{
	struct fi_info *list;
	bool found = false;

	CHECK_OK(fi_getinfo(cf_target.version, NULL, NULL, 0, NULL, &list));
	for (struct fi_info *cur = list; cur; cur = cur->next) {
		CHECK(cur->fabric_attr->prov_name && cur->fabric_attr->name);
		CHECK(cur->domain_attr->name);
		CHECK(cur->caps != 0);
		CHECK(cur->ep_attr->type != FI_EP_UNSPEC);
		found |= !strcmp(cur->fabric_attr->prov_name, cf_target.provider) &&
			 cur->ep_attr->type == cf_target.type;
	}
	CHECK(found);
	fi_freeinfo(list);
}

static void no_match_is_enodata(void)
{
	struct fi_info *hints = cf_hints(), *info = hints;

	free(hints->fabric_attr->prov_name);
	hints->fabric_attr->prov_name = strdup("no_such_provider");
	CHECK_EQ(fi_getinfo(cf_target.version, NULL, NULL, 0, hints, &info),
		-FI_ENODATA);
	CHECK(info == NULL);
	fi_freeinfo(hints);
}

static void alloc_gives_empty_attributes(void)
{
	struct fi_info *info = fi_allocinfo();
	static const struct fi_tx_attr tx;
	static const struct fi_rx_attr rx;

	CHECK(info && info->tx_attr && info->rx_attr && info->ep_attr);
	CHECK(info->domain_attr && info->fabric_attr);
	CHECK(!info->nic && !info->next && !info->caps && !info->mode);
	CHECK(!info->src_addr && !info->dest_addr && !info->handle);
	CHECK(!memcmp(info->tx_attr, &tx, sizeof(tx)));
	CHECK(!memcmp(info->rx_attr, &rx, sizeof(rx)));
	CHECK(!info->domain_attr->name && !info->fabric_attr->prov_name);
	CHECK(!info->ep_attr->type && !info->domain_attr->threading);
	fi_freeinfo(info);
}

static void free_of_nothing(void)
{
	fi_freeinfo(NULL);
}

static void dup_copies_one_entry(void)
{
	struct fi_info *list, *copy;

	CHECK_OK(fi_getinfo(cf_target.version, NULL, NULL, 0, NULL, &list));
	if (!list->next)
		list->next = fi_dupinfo(list);
	CHECK(list->next);
	copy = fi_dupinfo(list);
	CHECK(copy && !copy->next);
	fi_freeinfo(copy);
	fi_freeinfo(list);
}

static void dup_is_deep(void)
{
	struct fi_info *info = target_info(), *copy;
	struct fid handle = { .fclass = FI_CLASS_PEP };
	char *name = strdup(info->domain_attr->name);

	info->handle = &handle;
	copy = fi_dupinfo(info);
	CHECK(copy);
	CHECK(copy->handle == &handle);
	CHECK(copy->tx_attr != info->tx_attr && copy->rx_attr != info->rx_attr);
	CHECK(copy->ep_attr != info->ep_attr);
	CHECK(copy->domain_attr != info->domain_attr);
	CHECK(copy->fabric_attr != info->fabric_attr);
	CHECK(copy->domain_attr->name != info->domain_attr->name);
	CHECK(copy->fabric_attr->name != info->fabric_attr->name);
	CHECK(copy->fabric_attr->prov_name != info->fabric_attr->prov_name);
	CHECK_EQ(copy->src_addrlen, info->src_addrlen);
	if (info->src_addr) {
		CHECK(copy->src_addr != info->src_addr);
		CHECK(!memcmp(copy->src_addr, info->src_addr, info->src_addrlen));
	}
	CHECK(!memcmp(copy->tx_attr, info->tx_attr, sizeof(*info->tx_attr)));
	CHECK_EQ(copy->ep_attr->max_msg_size, info->ep_attr->max_msg_size);
	fi_freeinfo(info);
	CHECK_STR(copy->domain_attr->name, name);
	copy->handle = NULL;
	fi_freeinfo(copy);
	free(name);
}

static void dup_copies_keys_and_addresses(void)
{
	static const uint8_t key[] = { 1, 2, 3, 4, 5 };
	struct fi_info *info = fi_allocinfo(), *copy;

	info->dest_addr = malloc(sizeof(key));
	CHECK(info->dest_addr);
	memcpy(info->dest_addr, key, sizeof(key));
	info->dest_addrlen = sizeof(key);
	info->ep_attr->auth_key = malloc(sizeof(key));
	CHECK(info->ep_attr->auth_key);
	memcpy(info->ep_attr->auth_key, key, sizeof(key));
	info->ep_attr->auth_key_size = sizeof(key);
	copy = fi_dupinfo(info);
	CHECK(copy && copy->dest_addr != info->dest_addr);
	CHECK(copy->ep_attr->auth_key != info->ep_attr->auth_key);
	fi_freeinfo(info);
	CHECK_EQ(copy->dest_addrlen, sizeof(key));
	CHECK(!memcmp(copy->dest_addr, key, sizeof(key)));
	CHECK_EQ(copy->ep_attr->auth_key_size, sizeof(key));
	CHECK(!memcmp(copy->ep_attr->auth_key, key, sizeof(key)));
	fi_freeinfo(copy);
}

static void nic_is_copied(void)
{
	struct fi_info *hints = cf_hints(), *list, *info, *copy;
	const struct fi_link_attr *link;
	size_t mtu;

	CHECK_OK(fi_getinfo(cf_target.version, NULL, NULL, 0, hints, &list));
	for (info = list; info && !info->nic; info = info->next)
		;
	if (!info)
		SKIP("no interface has NIC attributes");
	link = info->nic->link_attr;
	CHECK(info->nic->device_attr && info->nic->bus_attr && link);
	CHECK(link->state == FI_LINK_UNKNOWN || link->state == FI_LINK_DOWN ||
		link->state == FI_LINK_UP);
	mtu = link->mtu;
	copy = fi_dupinfo(info);
	CHECK(copy && copy->nic && copy->nic != info->nic);
	CHECK_EQ(copy->nic->fid.fclass, FI_CLASS_NIC);
	CHECK(copy->nic->link_attr != link);
	CHECK(!copy->nic->device_attr->name ||
		copy->nic->device_attr->name != info->nic->device_attr->name);
	fi_freeinfo(list);
	CHECK_EQ(copy->nic->link_attr->mtu, mtu);
	fi_freeinfo(copy);
	fi_freeinfo(hints);
}

static void provider_list_has_names_only(void)
{
	/* A layered name is that of two providers, the upper one last. */
	const char *name = cf_target.provider, *layer = strrchr(name, ';');
	struct fi_info *list;
	bool found = false;

	CHECK_OK(fi_getinfo(
		cf_target.version, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &list));
	for (struct fi_info *cur = list; cur; cur = cur->next) {
		CHECK(cur->fabric_attr && cur->fabric_attr->prov_name);
		CHECK(!cur->fabric_attr->name);
		CHECK(!cur->src_addr && !cur->dest_addr);
		for (struct fi_info *other = cur->next; other; other = other->next)
			CHECK(strcmp(cur->fabric_attr->prov_name,
				other->fabric_attr->prov_name));
		found |= !strcmp(cur->fabric_attr->prov_name, layer ? layer + 1 : name);
	}
	CHECK(found);
	fi_freeinfo(list);
}

static void names_match_without_case(void)
{
	struct fi_info *info = target_info(), *hints = cf_hints(), *again;

	hints->fabric_attr->name = strdup(info->fabric_attr->name);
	hints->domain_attr->name = strdup(info->domain_attr->name);
	for (char *c = hints->domain_attr->name; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	CHECK_OK(cf_getinfo(cf_target.version, hints, &again));
	for (struct fi_info *cur = again; cur; cur = cur->next) {
		CHECK_STR(cur->domain_attr->name, info->domain_attr->name);
		CHECK_STR(cur->fabric_attr->name, info->fabric_attr->name);
	}
	fi_freeinfo(again);
	hints->domain_attr->name[0] ^= 1;
	CHECK_EQ(cf_getinfo(cf_target.version, hints, &again), -FI_ENODATA);
	fi_freeinfo(hints);
	fi_freeinfo(info);
}

static void fabric_name_is_not_a_prefix(void)
{
	struct fi_info *info = target_info(), *hints = cf_hints(), *again;
	size_t len = strlen(info->fabric_attr->name);

	CHECK(len > 1);
	hints->fabric_attr->name = strndup(info->fabric_attr->name, len - 1);
	CHECK_EQ(cf_getinfo(cf_target.version, hints, &again), -FI_ENODATA);
	fi_freeinfo(hints);
	fi_freeinfo(info);
}

static void newer_provider_version_does_not_match(void)
{
	struct fi_info *info = target_info(), *hints = cf_hints(), *again;

	hints->fabric_attr->prov_version = info->fabric_attr->prov_version;
	CHECK_OK(cf_getinfo(cf_target.version, hints, &again));
	fi_freeinfo(again);
	hints->fabric_attr->prov_version = info->fabric_attr->prov_version + 1;
	CHECK_EQ(cf_getinfo(cf_target.version, hints, &again), -FI_ENODATA);
	fi_freeinfo(hints);
	fi_freeinfo(info);
}

static void open_objects_are_referred_to(void)
{
	struct fid_domain *other;
	struct fi_info *again;
	struct cf_env env;

	cf_open_fabric(&env, NULL);
	CHECK(!env.info->fabric_attr->fabric && !env.info->domain_attr->domain);
	CHECK_OK(fi_domain(env.fabric, env.info, &env.domain, NULL));
	CHECK_OK(fi_domain(env.fabric, env.info, &other, NULL));
	CHECK_OK(cf_getinfo(cf_target.version, env.hints, &again));
	CHECK(again->fabric_attr->fabric == env.fabric);
	CHECK(again->domain_attr->domain == env.domain);
	fi_freeinfo(again);
	env.hints->fabric_attr->fabric = env.fabric;
	env.hints->domain_attr->domain = env.domain;
	CHECK_OK(cf_getinfo(cf_target.version, env.hints, &again));
	for (struct fi_info *cur = again; cur; cur = cur->next) {
		CHECK(cur->fabric_attr->fabric == env.fabric);
		CHECK(cur->domain_attr->domain == env.domain);
	}
	fi_freeinfo(again);
	env.hints->fabric_attr->fabric = NULL;
	env.hints->domain_attr->domain = NULL;
	CF_CLOSE(other);
	CF_CLOSE(env.domain);
	CF_CLOSE(env.fabric);
	CHECK_OK(cf_getinfo(cf_target.version, env.hints, &again));
	CHECK(!again->fabric_attr->fabric && !again->domain_attr->domain);
	fi_freeinfo(again);
	cf_close(&env);
}

static void a_rescan_finds_the_same(void)
{
	struct fi_info *info = target_info(), *hints = cf_hints(), *again;

	NEED_API(2, 0);
	CHECK_OK(cf_getinfo_flags(cf_target.version, FI_RESCAN, hints, &again));
	CHECK_STR(again->domain_attr->name, info->domain_attr->name);
	fi_freeinfo(again);
	fi_freeinfo(hints);
	fi_freeinfo(info);
}

enum { GETINFO_THREADS = 4, GETINFO_ROUNDS = 10 };

static void *query_often(void *arg)
{
	for (int i = 0; i < GETINFO_ROUNDS; i++) {
		struct fi_info *info = target_info();

		CHECK_STR(info->fabric_attr->prov_name, cf_target.provider);
		fi_freeinfo(info);
	}
	return arg;
}

static void threads_may_query_at_once(void)
{
	pthread_t threads[GETINFO_THREADS];

	for (int i = 0; i < GETINFO_THREADS; i++)
		CHECK_OK(pthread_create(&threads[i], NULL, query_often, NULL));
	for (int i = 0; i < GETINFO_THREADS; i++)
		CHECK_OK(pthread_join(threads[i], NULL));
}

CF_SUITE(info,
	CF_CASE(without_hints_everything_is_listed, "GI-001 GI-003 GI-004 GI-043", 0),
	CF_CASE(no_match_is_enodata, "GI-002", 0),
	CF_CASE(alloc_gives_empty_attributes, "GI-005 GI-006", 0),
	CF_CASE(free_of_nothing, "GI-004", 0),
	CF_CASE(dup_copies_one_entry, "GI-007", 0),
	CF_CASE(dup_is_deep, "GI-008 GI-009", 0),
	CF_CASE(dup_copies_keys_and_addresses, "GI-008", 0),
	CF_CASE(nic_is_copied, "GI-008 STR-017 STR-018 STR-019", 0),
	CF_CASE(provider_list_has_names_only, "GI-034 GI-035", 0),
	CF_CASE(names_match_without_case, "GI-044", 0),
	CF_CASE(fabric_name_is_not_a_prefix, "GI-044", 0),
	CF_CASE(newer_provider_version_does_not_match, "GI-049", 0),
	CF_CASE(open_objects_are_referred_to, "GI-052 GI-053 GI-054", 0),
	CF_CASE(a_rescan_finds_the_same, "GI-037", 0),
	CF_CASE(threads_may_query_at_once, "GI-056", 0));
