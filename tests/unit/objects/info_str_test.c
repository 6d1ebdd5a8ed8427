/* SPDX-License-Identifier: BSD-2-Clause */
#include "info_fake.h"

#include <unistd.h>

/* Discovery where addresses are names. */

static struct fi_info str_info;
static const struct fi_info *const str_templates[] = { &str_info, NULL };

/* Any word is a name in this test; names that are not known are tested by
 * shm/node_test.c. */
static bool any(const char *node)
{
	return true;
}

static const struct wf_prov str_prov = {
	.fi = &fake_fi,
	.templates = str_templates,
	.default_fabric = "fab",
	.default_domain = "dom",
	.node_known = any,
};

#define LATEST FI_VERSION(2, 6)

static int setup(void **state)
{
	str_info = rdm;
	str_info.addr_format = FI_ADDR_STR;
	return 0;
}

static const char *addr_text(const void *addr, size_t len)
{
	if (!addr)
		return "-";
	assert_int_equal(len, strlen(addr) + 1);
	return addr;
}

/* "<source> <destination>", or the log. */
static const char *ask(const char *node, const char *service, uint64_t flags,
	struct fi_info *hints, int want)
{
	struct fi_info *const marker = (struct fi_info *)(uintptr_t)1;
	struct fi_info *list = marker;
	static char text[600];

	fake_log[0] = '\0';
	assert_int_equal(
		wf_str_getinfo(&str_prov, LATEST, node, service, flags, hints, &list),
		want);
	if (want) {
		assert_ptr_equal(list, marker);
		return fake_log;
	}
	assert_null(list->next);
	assert_int_equal(list->addr_format, FI_ADDR_STR);
	assert_string_equal(list->fabric_attr->name, "fab");
	assert_string_equal(list->domain_attr->name, "dom");
	assert_null(list->fabric_attr->prov_name);
	(void)snprintf(text, sizeof(text), "%s %s",
		addr_text(list->src_addr, list->src_addrlen),
		addr_text(list->dest_addr, list->dest_addrlen));
	fi_freeinfo(list);
	return text;
}

/* The same, the process's own name written SELF. */
static const char *ask_self(
	const char *node, const char *service, uint64_t flags, struct fi_info *hints)
{
	const char *text = ask(node, service, flags, hints, 0);
	static char masked[600];
	char self[40];

	(void)snprintf(self, sizeof(self), "fi_shm://%ld ", (long)getpid());
	assert_int_equal(strncmp(text, self, strlen(self)), 0);
	(void)snprintf(masked, sizeof(masked), "SELF %s", text + strlen(self));
	return masked;
}

static void set_addrs(struct fi_info *hints, const char *src, const char *dest)
{
	free(hints->src_addr);
	free(hints->dest_addr);
	hints->src_addr = src ? strdup(src) : NULL;
	hints->src_addrlen = src ? strlen(src) + 1 : 0;
	hints->dest_addr = dest ? strdup(dest) : NULL;
	hints->dest_addrlen = dest ? strlen(dest) + 1 : 0;
}

/* GI-025, GI-026 */
static void peer_by_name(void **state)
{
	struct fi_info *hints = fake_hints();

	assert_string_equal(ask_self(NULL, NULL, 0, NULL), "SELF -");
	assert_string_equal(ask_self(NULL, NULL, 0, hints), "SELF -");
	assert_string_equal(ask_self("node", NULL, 0, hints), "SELF fi_shm://node");
	assert_string_equal(ask_self(NULL, "svc", 0, hints), "SELF fi_ns://svc");
	assert_string_equal(ask_self("node", "svc", 0, hints), "SELF fi_ns://node:svc");
	assert_string_equal(
		ask_self("::1", "5", FI_NUMERICHOST, hints), "SELF fi_ns://::1:5");
	fi_freeinfo(hints);
}

/* GI-027 */
static void source_by_name(void **state)
{
	struct fi_info *hints = fake_hints();

	assert_string_equal(ask("node", NULL, FI_SOURCE, hints, 0), "fi_shm://node -");
	assert_string_equal(ask(NULL, "svc", FI_SOURCE, hints, 0), "fi_ns://svc -");
	assert_string_equal(
		ask("node", "svc", FI_SOURCE, hints, 0), "fi_ns://node:svc -");
	set_addrs(hints, "fi_shm://me", "fi_shm://you");
	assert_string_equal(
		ask("node", NULL, FI_SOURCE, hints, 0), "fi_shm://node fi_shm://you");
	fi_freeinfo(hints);
}

/* GI-028 */
static void source_of_nothing(void **state)
{
	assert_string_equal(ask(NULL, NULL, FI_SOURCE, NULL, -FI_EINVAL),
		"refused: flags: asked FI_SOURCE alone, possible with a node or a "
		"service (FI_EP_RDM)\n");
}

/* GI-032, GI-061 */
static void whole_name(void **state)
{
	assert_string_equal(ask_self("fi_ns://a:b", NULL, 0, NULL), "SELF fi_ns://a:b");
	assert_string_equal(ask("mine://a", NULL, FI_SOURCE, NULL, 0), "mine://a -");
	assert_string_equal(ask("fi_shm://a", "svc", 0, NULL, -FI_EINVAL),
		"refused: service: asked svc, possible none, as node is an address "
		"with a service of its own (FI_EP_RDM)\n");
	assert_string_equal(ask_self(NULL, "x://y", 0, NULL), "SELF fi_ns://x://y");
}

/* GI-025, GI-029, GI-030 */
static void hinted_addrs(void **state)
{
	struct fi_info *hints = fake_hints();

	set_addrs(hints, "me", NULL);
	assert_string_equal(ask(NULL, NULL, 0, hints, 0), "me -");
	set_addrs(hints, NULL, "x://you");
	assert_string_equal(ask_self(NULL, NULL, 0, hints), "SELF x://you");
	set_addrs(hints, "fi_shm://me", "fi_shm://you");
	assert_string_equal(ask(NULL, NULL, 0, hints, 0), "fi_shm://me fi_shm://you");
	assert_string_equal(
		ask("node", NULL, 0, hints, 0), "fi_shm://me fi_shm://node");
	hints->src_addrlen = 11;
	assert_string_equal(ask(NULL, NULL, 0, hints, -FI_EINVAL),
		"refused: src_addr: asked another address, possible a name of 1 to 246 "
		"characters, none of them a control character, and a NUL "
		"(FI_EP_RDM)\n");
	hints->src_addrlen = 0;
	(void)ask(NULL, NULL, 0, hints, -FI_EINVAL);
	set_addrs(hints, "", NULL);
	(void)ask(NULL, NULL, 0, hints, -FI_EINVAL);
	set_addrs(hints, NULL, "a\tb");
	(void)ask(NULL, NULL, 0, hints, -FI_EINVAL);
	fi_freeinfo(hints);
}

static void not_a_name(void **state)
{
	char node[300];

	assert_string_equal(ask("", NULL, 0, NULL, -FI_ENODATA),
		"refused: node: asked , possible a name of 1 to 246 characters, none "
		"of them a control character (FI_EP_RDM)\n");
	(void)ask(NULL, "", 0, NULL, -FI_ENODATA);
	(void)ask("fi_shm://", NULL, 0, NULL, -FI_ENODATA);
	(void)ask(NULL, "a\nb", FI_SOURCE, NULL, -FI_ENODATA);
	memset(node, 'n', sizeof(node));
	for (size_t len = 246; len < sizeof(node); len++) {
		node[len] = '\0';
		(void)ask(node, NULL, 0, NULL, len == 246 ? 0 : -FI_ENODATA);
		(void)ask(NULL, node, 0, NULL, -FI_ENODATA + (len == 246) * FI_ENODATA);
		node[len] = 'n';
	}
}

/* GI-044, GI-058, GI-059, CAP-015 */
static void hints_choose(void **state)
{
	struct fi_info *hints = fake_hints();

	hints->addr_format = FI_ADDR_STR;
	hints->domain_attr->name = strdup("DOM");
	(void)ask(NULL, NULL, 0, hints, 0);
	hints->addr_format = FI_SOCKADDR;
	assert_string_equal(ask(NULL, NULL, 0, hints, -FI_ENODATA),
		"refused: addr_format: asked FI_SOCKADDR, possible FI_ADDR_STR "
		"(FI_EP_RDM)\n");
	hints->addr_format = FI_FORMAT_UNSPEC;
	hints->fabric_attr->name = strdup("other");
	assert_string_equal(ask(NULL, NULL, 0, hints, -FI_ENODATA),
		"refused: fabric_attr.name: asked other, possible fab (FI_EP_RDM)\n");
	fi_freeinfo(hints);
}

/* Layers of other libraries ask with flags of their own, and their core appends the
 * provider's name to a name that is there already. */
static void answers_to_other_libraries(void **state)
{
	assert_string_equal(ask_self(NULL, NULL, 1ULL << 59, NULL), "SELF -");
}

/* Every answer can be opened; names that are none cannot. */
static void checked_when_opened(void **state)
{
	struct fi_info *list = NULL;
	char bad[16] = "no end";

	assert_int_equal(
		wf_str_getinfo(&str_prov, LATEST, NULL, "svc", FI_SOURCE, NULL, &list),
		0);
	assert_int_equal(wf_info_check(&str_prov, LATEST, list), 0);
	free(list->src_addr);
	list->src_addr = memcpy(malloc(6), bad, 6);
	list->src_addrlen = 6;
	assert_int_equal(wf_info_check(&str_prov, LATEST, list), -FI_EINVAL);
	fi_freeinfo(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(peer_by_name, setup),
		cmocka_unit_test_setup(source_by_name, setup),
		cmocka_unit_test_setup(source_of_nothing, setup),
		cmocka_unit_test_setup(whole_name, setup),
		cmocka_unit_test_setup(hinted_addrs, setup),
		cmocka_unit_test_setup(not_a_name, setup),
		cmocka_unit_test_setup(hints_choose, setup),
		cmocka_unit_test_setup(answers_to_other_libraries, setup),
		cmocka_unit_test_setup(checked_when_opened, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
