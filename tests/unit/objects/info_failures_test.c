/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of discovery when memory or the resolver fails. */
#include "info_fake.h"

#include <netdb.h>
#include <netinet/in.h>

#include "objects/info/addr.h"
#include "objects/info/engine.h"
#include "objects/info/nic.h"
#include "objects/info/rule.h"
#include "../refuse.h"

REFUSE_CALL(struct fi_info *, "memory", fi_dupinfo, NULL, (const struct fi_info *info),
	(info))

/* ---- the resolver ---- */

enum { ANSWERS = WF_INFO_ADDRS_MAX + 3 };

static struct {
	int err;
	size_t count; /* of the answers; each address comes twice */
	struct addrinfo asked;
	struct addrinfo list[2 * ANSWERS];
	struct sockaddr_in addr[2 * ANSWERS];
} names;

#define VISIBLE __attribute__((visibility("default")))

VISIBLE int __wrap_wf_sys_getaddrinfo(const char *node, const char *service,
	const struct addrinfo *hints, struct addrinfo **ret_list);
VISIBLE void __wrap_freeaddrinfo(struct addrinfo *list);

int __wrap_wf_sys_getaddrinfo(const char *node, const char *service,
	const struct addrinfo *hints, struct addrinfo **ret_list)
{
	names.asked = *hints;
	if (names.err)
		return names.err;
	for (size_t i = 0; i < 2 * names.count; i++) {
		names.addr[i] = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = htons(5),
			.sin_addr.s_addr = htonl(0x0a000001 + (uint32_t)i / 2),
		};
		names.list[i] = (struct addrinfo){
			.ai_addr = (struct sockaddr *)&names.addr[i],
			.ai_addrlen = sizeof(names.addr[i]),
			.ai_next = i + 1 < 2 * names.count ? &names.list[i + 1] : NULL,
		};
	}
	*ret_list = names.list;
	return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
	assert_ptr_equal(list, names.list);
}

static int look_up(const char *node, uint64_t flags, struct wf_info_addrs *ret,
	struct wf_info_reason *why)
{
	struct fi_info *hints = fake_hints();
	struct wf_info_ctx ctx = { 0 };
	int err;

	wf_info_ctx_init(&ctx, &fake_prov, FI_VERSION(2, 0), &dgram_in, hints);
	*why = (struct wf_info_reason){ .field = "none" };
	err = wf_info_lookup(&ctx, node, "5", flags, ret, why);
	fi_freeinfo(hints);
	return err;
}

static void the_resolver_fails(void **state)
{
	struct wf_info_addrs addrs;
	struct wf_info_reason why;

	names.err = EAI_MEMORY;
	assert_int_equal(look_up("host", 0, &addrs, &why), -FI_ENOMEM);
	assert_string_equal(why.field, "none");
	names.err = EAI_NONAME;
	assert_int_equal(look_up("host", 0, &addrs, &why), -FI_ENODATA);
	assert_string_equal(why.field, "node");
	assert_string_equal(why.asked, "host:5");
	assert_non_null(strstr(why.possible, "what resolves: "));
	assert_int_equal(look_up("host", FI_NUMERICHOST, &addrs, &why), -FI_ENODATA);
	assert_non_null(strstr(why.possible, "what resolves without a look-up: "));
	assert_int_equal(names.asked.ai_flags, AI_NUMERICHOST);
	assert_int_equal(look_up("host", FI_SOURCE, &addrs, &why), -FI_ENODATA);
	assert_int_equal(names.asked.ai_flags, AI_PASSIVE);
	assert_int_equal(names.asked.ai_socktype, SOCK_DGRAM);
	assert_int_equal(names.asked.ai_family, AF_UNSPEC);
	assert_int_equal(addrs.count, 0);
	names.err = 0;
}

/* Each address once, and not more than there is room for. */
static void many_addresses(void **state)
{
	struct wf_info_addrs addrs;
	struct wf_info_reason why;

	names.count = 3;
	assert_int_equal(look_up("host", 0, &addrs, &why), 0);
	assert_int_equal(addrs.count, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(
			ntohl(addrs.addr[i].in.sin_addr.s_addr), 0x0a000001 + i);
	names.count = ANSWERS;
	assert_int_equal(look_up("host", 0, &addrs, &why), 0);
	assert_int_equal(addrs.count, WF_INFO_ADDRS_MAX);
	assert_int_equal(ntohl(addrs.addr[WF_INFO_ADDRS_MAX - 1].in.sin_addr.s_addr),
		0x0a000000 + WF_INFO_ADDRS_MAX);
}

/* ---- memory ---- */

static void cards(void **state)
{
	const struct wf_nic_facts facts = { .name = "card" };
	struct fid_nic *nic = NULL, *copy = NULL;

	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(wf_nic_make(&facts, &nic), -FI_ENOMEM);
	assert_true(refuse_end());
	assert_null(nic);
	assert_int_equal(wf_nic_make(&facts, &nic), 0);
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(fi_control(&nic->fid, FI_DUP, &copy), -FI_ENOMEM);
	assert_true(refuse_end());
	assert_null(copy);
	assert_int_equal(fi_close(&nic->fid), 0);
}

static void engine_hints(void **state)
{
	struct fi_info *hints;

	for (unsigned int i = 1; i <= 2; i++) {
		refuse_one("memory", i, ENOMEM);
		assert_null(wf_info_engine_hints("off_x", FI_PEER_TRANSFER, 12));
		assert_true(refuse_end());
	}
	hints = wf_info_engine_hints("off_x", FI_PEER_TRANSFER, 12);
	assert_non_null(hints);
	assert_int_equal(hints->mode, FI_PEER_TRANSFER);
	assert_int_equal(hints->caps, FI_COLLECTIVE);
	assert_int_equal(hints->domain_attr->mr_mode, 12);
	assert_string_equal(hints->fabric_attr->prov_name, "off_x");
	fi_freeinfo(hints);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_resolver_fails),
		cmocka_unit_test(many_addresses),
		cmocka_unit_test(cards),
		cmocka_unit_test(engine_hints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
