/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <stdio.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

#include "providers/lnx/links.h"
#include "providers/lnx/lnx.h"
#include "providers/lnx/param.h"
#include "sys/compiler.h"

/* Which domains of providers become members of which links. The test is the providers:
 * it answers fi_getinfo by this table. */

#define NEEDED (FI_PEER | FI_AV_USER_ID)
#define BASE   (FI_MSG | FI_SEND | FI_RECV | FI_REMOTE_COMM)
#define MEMORY                                                                         \
	(FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

static const struct domain {
	const char *provider, *name;
	uint64_t offers; /* capabilities without being asked */
	uint64_t on_ask; /* those that are given if they are asked for */
	int mr_mode;     /* bits that the hints must permit; they are in the answer */
	int rma_mr_mode; /* the same if the answer has FI_RMA */
	bool echoes;     /* it answers with all bits that the hints permit */
	uint64_t mode;
	uint64_t op_flags; /* default flags that it accepts */
} domains[] = {
	{ "plain", "one", BASE | NEEDED, FI_TAGGED },
	{ "plain", "two", BASE | NEEDED, 0 },
	/* Twice, as for two families of addresses. */
	{ "plain", "ONE", BASE | NEEDED, 0 },
	{ "asked", "a", BASE, NEEDED | FI_TAGGED | FI_SOURCE | FI_EXACT_DIRECTED_RECV },
	{ "peerless", "a", BASE | FI_AV_USER_ID, FI_TAGGED },
	{ "nameless", "a", BASE | FI_PEER, FI_TAGGED },
	{ "echo", "a", BASE | NEEDED, 0, FI_MR_VIRT_ADDR, 0, true },
	{ "local_mr", "a", BASE | NEEDED, 0, FI_MR_LOCAL },
	{ "raw", "a", BASE | NEEDED, 0, FI_MR_RAW },
	{ "keys", "a", BASE | NEEDED | MEMORY, 0, FI_MR_PROV_KEY },
	{ "rma_keys", "a", BASE | NEEDED | MEMORY, FI_TAGGED, 0, FI_MR_PROV_KEY },
	{ "prefix", "a", BASE | NEEDED, 0, 0, 0, false, FI_MSG_PREFIX },
	{ "context", "a", BASE | NEEDED, 0, 0, 0, false, FI_CONTEXT | FI_CONTEXT2 },
	{ "loop", "lo", FI_MSG | FI_LOCAL_COMM | NEEDED, 0 },
	{ "loop", "eth", BASE | NEEDED, 0 },
	{ "lo_only", "lo", FI_MSG | FI_LOCAL_COMM | NEEDED, 0 },
	{ "flags", "none", BASE | NEEDED, 0 },
	{ "flags", "some", BASE | NEEDED, 0, 0, 0, false, 0,
		FI_INJECT | FI_FENCE | FI_MORE },
	{ "flags", "all", BASE | NEEDED, 0, 0, 0, false, 0, ~UINT64_C(0) },
	{ "many", "0", BASE | NEEDED },
	{ "many", "1", BASE | NEEDED },
	{ "many", "2", BASE | NEEDED },
	{ "many", "3", BASE | NEEDED },
	{ "many", "4", BASE | NEEDED },
	{ "many", "5", BASE | NEEDED },
	{ "many", "6", BASE | NEEDED },
	{ "many", "7", BASE | NEEDED },
	{ "many", "8", BASE | NEEDED },
};

static struct fi_info *answer_of(const struct domain *at, const struct fi_info *hints)
{
	uint64_t caps = at->offers | (hints->caps & at->on_ask);
	struct fi_info *info;
	int mr_mode;

	/* Hints with capabilities get these, and those that come along. */
	if (hints->caps)
		caps = (hints->caps & caps) | (at->offers & ~(uint64_t)MEMORY);
	if (hints->caps & MEMORY)
		caps |= at->offers & MEMORY;
	mr_mode = at->mr_mode | (caps & FI_RMA ? at->rma_mr_mode : 0);
	if (hints->caps & ~(at->offers | at->on_ask) ||
		mr_mode & ~hints->domain_attr->mr_mode || at->mode & ~hints->mode ||
		hints->tx_attr->op_flags & ~at->op_flags)
		return NULL;
	info = fi_allocinfo();
	assert_non_null(info);
	info->caps = caps;
	info->mode = at->mode;
	info->domain_attr->mr_mode = at->echoes ? hints->domain_attr->mr_mode : mr_mode;
	info->ep_attr->type = FI_EP_RDM;
	info->addr_format = FI_SOCKADDR_IN;
	info->fabric_attr->prov_name = strdup(at->provider);
	info->fabric_attr->name = strdup("fabric");
	info->domain_attr->name = strdup(at->name);
	return info;
}

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info);
int __wrap_fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context);

/* Domains of the default links: of shm, one, and of tcp, t0, t1 and so on. */
static unsigned int shm_domains, tcp_domains;

static struct fi_info *default_answers(const struct fi_info *hints)
{
	bool is_shm = !strcmp(hints->fabric_attr->prov_name, "shm");
	bool is_tcp = !strcmp(hints->fabric_attr->prov_name, "tcp");
	unsigned int count = is_shm ? shm_domains : is_tcp ? tcp_domains : 0;
	struct fi_info *list = NULL;

	while (count--) {
		char name[16];
		struct domain at = { .provider = is_shm ? "shm" : "tcp", .name = name };
		struct fi_info *info;

		at.offers = NEEDED | FI_MSG | FI_SEND | FI_RECV |
			    (is_shm ? FI_LOCAL_COMM : FI_REMOTE_COMM);
		(void)snprintf(name, sizeof(name), is_shm ? "memory" : "t%u", count);
		if (hints->domain_attr->name && strcmp(hints->domain_attr->name, name))
			continue;
		info = answer_of(&at, hints);
		if (!info)
			continue;
		if (is_shm)
			info->addr_format = FI_ADDR_STR;
		info->next = list;
		list = info;
	}
	return list;
}

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	struct fi_info **last = ret_info;

	*last = default_answers(hints);
	for (struct fi_info *it = *last; it; it = it->next)
		it->fabric_attr->api_version = version;
	for (size_t i = 0; i < WF_ARRAY_SIZE(domains); i++) {
		const char *name = hints->domain_attr->name;

		if (strcmp(domains[i].provider, hints->fabric_attr->prov_name) ||
			(name && strcasecmp(name, domains[i].name)))
			continue;
		*last = answer_of(&domains[i], hints);
		if (!*last)
			continue;
		(*last)->fabric_attr->api_version = version;
		last = &(*last)->next;
	}
	return *ret_info ? 0 : -FI_ENODATA;
}

int __wrap_fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	return -FI_ENODATA;
}

static int forget(void **state)
{
	lnx_links_done();
	return 0;
}

static unsigned int count_links(void)
{
	unsigned int count = 0;

	while (lnx_templates[count])
		count++;
	return count;
}

static int find_links(const char *links)
{
	lnx_links_done();
	lnx_params.links = links;
	return lnx_links_init();
}

/* The only link that @links makes, NULL: none. */
static const struct lnx_link *the_link(const char *links)
{
	assert_int_equal(find_links(links), 0);
	assert_true(count_links() <= 1);
	return count_links() ? lnx_link_find(lnx_templates[0]->domain_attr->name)
			     : NULL;
}

/* Links by the names of their domains. */
static void links_have_members(void **state)
{
	static const struct {
		const char *links;
		const char *name[3]; /* of the links' domains */
	} rows[] = {
		{ "plain", { "one+two" } },
		{ "plain:two", { "two" } },
		{ "plain:two,one", { "two+one" } },
		{ "plain:ONE", { "ONE" } },
		{ "plain:three", { NULL } },
		{ "plain:one+asked", { "one+a" } },
		{ "plain:one|plain:two", { "one", "two" } },
		/* A link without a member of one of its providers is none. */
		{ "plain:one+nobody", { NULL } },
		{ "plain:one+nobody|asked", { "a" } },
		{ "plain:three+asked|plain:two", { "two" } },
		/* Domains for this machine alone, unless there are others or they are
		 * named. */
		{ "loop", { "eth" } },
		{ "loop:lo", { "lo" } },
		{ "loop:lo,eth", { "lo+eth" } },
		{ "lo_only", { "lo" } },
		/* What a link cannot do without, or with. */
		{ "peerless", { NULL } },
		{ "nameless", { NULL } },
		{ "local_mr", { NULL } },
		{ "raw", { NULL } },
		{ "keys", { NULL } },
		{ "prefix", { NULL } },
		{ "context", { "a" } },
		{ "rma_keys", { "a" } },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		unsigned int count = 0;

		assert_int_equal(find_links(rows[i].links), 0);
		for (; rows[i].name[count]; count++)
			assert_non_null(lnx_link_find(rows[i].name[count]));
		if (count_links() != count)
			fail_msg("%s: %u links", rows[i].links, count_links());
	}
	assert_null(lnx_link_find("one"));
	assert_null(lnx_link_find(NULL));
}

/* Capabilities are asked for one by one, but not the one that would restrict the
 * application. */
static void capabilities_are_asked_for(void **state)
{
	const struct lnx_link *link = the_link("asked");

	assert_non_null(link);
	assert_true(
		link->member[0].info->caps == (BASE | NEEDED | FI_TAGGED | FI_SOURCE));
	link = the_link("plain:one");
	assert_true(link->member[0].info->caps == (BASE | NEEDED | FI_TAGGED));
}

/* Only the bits that the member needs. */
static void modes_are_the_fewest(void **state)
{
	const struct lnx_link *link = the_link("echo");

	assert_non_null(link);
	assert_int_equal(link->member[0].info->domain_attr->mr_mode, FI_MR_VIRT_ADDR);
}

/* A member that chooses keys has messages alone. */
static void keys_are_not_chosen_below(void **state)
{
	const struct lnx_link *link = the_link("rma_keys");

	assert_non_null(link);
	assert_true(link->member[0].info->caps == (BASE | NEEDED | FI_TAGGED));
	assert_int_equal(link->member[0].info->domain_attr->mr_mode, 0);
}

static void default_flags_are_tried(void **state)
{
	const uint64_t all = FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE |
			     FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE |
			     FI_MATCH_COMPLETE | FI_MORE | FI_FENCE;
	const struct lnx_link *link = the_link("flags");

	assert_int_equal(link->count, 3);
	assert_true(link->member[0].op_flags == 0);
	assert_true(link->member[1].op_flags == (FI_INJECT | FI_FENCE | FI_MORE));
	assert_true(link->member[2].op_flags == all);
}

/* What is known of a member. */
static void members_are_described(void **state)
{
	const struct lnx_link *link = the_link("loop:lo,eth+plain:one");
	const struct lnx_member *member;

	assert_int_equal(link->count, 3);
	assert_int_equal(link->rails, 2);
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "loop:lo", "loop:eth",
			"plain:one" };

		member = &link->member[i];
		assert_string_equal(member->name, names[i]);
		assert_int_equal(member->local, i == 0);
		assert_int_equal(link->local[i], i == 0);
		assert_false(member->memory);
		assert_int_equal(member->locality >> 48, 0);
	}
	assert_int_equal(link->member[0].provider, link->member[1].provider);
	assert_int_not_equal(link->member[1].provider, link->member[2].provider);
	assert_true(link->member[0].locality != link->member[1].locality);
	assert_true(link->member[1].locality == link->member[2].locality);
}

/* More members than a link has. */
static void there_are_too_many(void **state)
{
	const struct lnx_link *link = the_link("many");

	assert_int_equal(link->count, LNX_MAX_LINKS);
	assert_int_equal(link->rails, LNX_MAX_LINKS);
	assert_non_null(lnx_link_find("0+1+2+3+4+5+6+7"));
	link = the_link("many:1,2,3,4,5,6,7+plain");
	assert_int_equal(link->count, LNX_MAX_LINKS);
	assert_non_null(lnx_link_find("1+2+3+4+5+6+7+one"));
}

/* A text that is no list of links is told each time. */
static void wrong_texts_are_refused(void **state)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			i ? lnx_links_init() : find_links("plain:"), -FI_EINVAL);
	assert_int_equal(count_links(), 0);
	assert_int_equal(find_links("plain"), 0);
}

/* Without a list, shm is linked with each domain of tcp, if there are both, and up to
 * as many as there may be. */
static void default_links_are_pairs(void **state)
{
	static const struct {
		unsigned int shm, tcp, links;
		bool no_shm;
	} rows[] = {
		{ 0, 0, 0, false },
		{ 1, 0, 0, false },
		{ 0, 2, 0, false },
		{ 1, 1, 1, false },
		{ 1, 3, 3, false },
		{ 1, 3, 0, true },
		{ 1, LNX_LINKS_MAX, LNX_LINKS_MAX, false },
		{ 1, LNX_LINKS_MAX + 1, LNX_LINKS_MAX, false },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		shm_domains = rows[i].shm;
		tcp_domains = rows[i].tcp;
		lnx_params.no_shm = rows[i].no_shm;
		assert_int_equal(find_links(NULL), 0);
		assert_int_equal(count_links(), rows[i].links);
		for (unsigned int k = 0; k < rows[i].links; k++) {
			const struct lnx_link *link;
			char name[24];

			(void)snprintf(name, sizeof(name), "memory+t%u", k);
			link = lnx_link_find(name);
			assert_non_null(link);
			assert_int_equal(link->count, 2);
			assert_int_equal(link->rails, 1);
			assert_true(link->member[0].memory);
			assert_false(link->member[1].memory);
		}
	}
	/* A list that names shm does without it, too. */
	lnx_params.no_shm = true;
	shm_domains = tcp_domains = 1;
	assert_non_null(the_link("shm+tcp"));
	assert_non_null(lnx_link_find("t0"));
	assert_null(the_link("shm"));
	lnx_params.no_shm = false;
	shm_domains = tcp_domains = 0;
}

#define CASE(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(links_have_members),
		CASE(capabilities_are_asked_for),
		CASE(modes_are_the_fewest),
		CASE(keys_are_not_chosen_below),
		CASE(default_flags_are_tried),
		CASE(members_are_described),
		CASE(there_are_too_many),
		CASE(wrong_texts_are_refused),
		CASE(default_links_are_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
