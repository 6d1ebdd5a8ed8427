/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

/*
 * Made-up providers: two transports with a place in the order (fast, net), one that
 * carries layers only when both are named (shy), one without a place (odd), a layer
 * (ofi_up) that sits on what a fi_getinfo of its own finds, one that answers unnamed
 * over one of them alone (ofi_full), one behind another (ofi_late), one for offloading,
 * a hook, and some that do not work.
 */

const struct wf_known_prov wf_known_provs[] = {
	{ "fast" },
	{ "ofi_up" },
	{ "ofi_full", .by_name_only = true, .completes = "fast" },
	{ "ofi_late", .by_name_only = true, .behind = "net" },
	{ "net" },
	{ "net;ofi_up" },
	{ "net;ofi_late" },
	{ "shy", .named_base = true },
	{ NULL },
};
const wf_prov_ini_fn wf_builtin_providers[] = { NULL };
const struct wf_stand_in wf_stand_ins[] = { { NULL } };

static struct {
	int calls;
	uint32_t version;
	const char *node, *service;
	uint64_t flags;
	uint64_t hint_caps;
	int shy_calls;
} seen;

static int one(struct fi_info **info, const char *domain, uint32_t format)
{
	*info = fake_info(NULL, domain);
	(*info)->addr_format = format;
	return 0;
}

#define GETINFO(name)                                                                  \
	static int name(uint32_t version, const char *node, const char *service,       \
		uint64_t flags, const struct fi_info *hints, struct fi_info **info)

GETINFO(fast_getinfo)
{
	return one(info, "fast0", FI_SOCKADDR_IB);
}

GETINFO(shy_getinfo)
{
	seen.shy_calls++;
	return one(info, "shy0", FI_ADDR_STR);
}

GETINFO(odd_getinfo)
{
	return one(info, "odd0", FI_ADDR_STR);
}

/* Two results, and a note of what it was asked. */
GETINFO(net_getinfo)
{
	seen.calls++;
	seen.version = version;
	seen.node = node;
	seen.service = service;
	seen.flags = flags;
	seen.hint_caps = hints ? hints->caps : 0;
	(void)one(info, "net0", FI_SOCKADDR_IN);
	return one(&(*info)->next, "net1", FI_SOCKADDR_IN6);
}

GETINFO(off_getinfo)
{
	return one(info, "help0", FI_ADDR_STR);
}

GETINFO(sick_getinfo)
{
	return -FI_EIO;
}

GETINFO(empty_getinfo)
{
	return 0;
}

GETINFO(torn_getinfo)
{
	(void)one(info, "torn0", FI_ADDR_STR);
	free((*info)->ep_attr);
	(*info)->ep_attr = NULL;
	return one(&(*info)->next, "torn1", FI_ADDR_STR);
}

/* Layers over every transport that it finds, with addresses of its own over one. */
GETINFO(up_getinfo)
{
	int err = fi_getinfo(version, node, service, flags, NULL, info);

	for (struct fi_info *it = *info; it; it = it->next) {
		if (it->addr_format == FI_SOCKADDR_IB)
			it->addr_format = FI_SOCKADDR_IN;
	}
	return err;
}

#define PROVIDER(var, label, call)                                                     \
	static struct fi_provider var = { .name = (label),                             \
		.version = FI_VERSION(1, 7),                                           \
		.fi_version = FAKE_VERSION,                                            \
		.getinfo = (call),                                                     \
		.fabric = fake_fabric }

PROVIDER(fast, "fast", fast_getinfo);
PROVIDER(net, "net", net_getinfo);
PROVIDER(shy, "shy", shy_getinfo);
PROVIDER(odd, "odd", odd_getinfo);
PROVIDER(up, "ofi_up", up_getinfo);
PROVIDER(full, "ofi_full", up_getinfo);
PROVIDER(late, "ofi_late", up_getinfo);
PROVIDER(off, "off_help", off_getinfo);
PROVIDER(hook, "ofi_hook_eye", NULL);
PROVIDER(sick, "sick", sick_getinfo);
PROVIDER(empty, "empty", empty_getinfo);
PROVIDER(torn, "torn", torn_getinfo);
static struct fi_provider old = { .name = "old",
	.version = FI_VERSION(1, 7),
	.fi_version = FI_VERSION(1, 9),
	.getinfo = odd_getinfo,
	.fabric = fake_fabric };

static struct fi_provider *const all[] = { &odd, &shy, &net, &up, &fast, &off, &hook,
	NULL };

static void start_with(const char *var, const char *value)
{
	const char *const env[] = { var, value, NULL };

	fake_start(var ? env : NULL, all);
}

/* "fast:fast0 net:net0 ..." of what fi_getinfo returns, or "error N". */
static const char *list_of(
	uint32_t version, uint64_t flags, const struct fi_info *hints)
{
	static char text[1024];
	struct fi_info *list = (struct fi_info *)text, *it;
	int err = fi_getinfo(version, NULL, NULL, flags, hints, &list);

	text[0] = '\0';
	if (err) {
		assert_null(list);
		(void)snprintf(text, sizeof(text), "error %d", err);
	}
	for (it = list; it; it = it->next)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
			"%s%s:%s", it == list ? "" : " ", it->fabric_attr->prov_name,
			it->domain_attr->name);
	fi_freeinfo(list);
	return text;
}

static const char *list_for(const char *prov_name)
{
	struct fi_info *hints = fi_allocinfo();
	const char *text;

	assert_non_null(hints);
	hints->fabric_attr->prov_name = strdup(prov_name);
	text = list_of(FAKE_VERSION, 0, hints);
	fi_freeinfo(hints);
	return text;
}

/* GI-001, GI-003, GI-047, GI-050, GI-051. The layer sits on fast, net and odd: it is
 * not asked again by its own question; shy carries none unnamed. */
static void everything_in_order(void **state)
{
	start_with(NULL, NULL);
	assert_string_equal(list_of(FAKE_VERSION, 0, NULL),
		"fast:fast0 fast;ofi_up:fast0 odd;ofi_up:odd0 net:net0 net:net1 "
		"net;ofi_up:net0 net;ofi_up:net1 shy:shy0 odd:odd0");
}

/* GI-042, GI-043, GI-048 */
static void results_are_completed(void **state)
{
	struct fi_info *list, *it;
	uint32_t version = FI_VERSION(1, 4);

	start_with(NULL, NULL);
	up.version = FI_VERSION(3, 1);
	assert_int_equal(fi_getinfo(version, NULL, NULL, 0, NULL, &list), 0);
	for (it = list; it; it = it->next) {
		const char *name = it->fabric_attr->prov_name;

		assert_int_equal(it->fabric_attr->api_version, version);
		assert_int_equal(it->fabric_attr->prov_version,
			strstr(name, "ofi_up") ? FI_VERSION(3, 1) : FI_VERSION(1, 7));
	}
	fi_freeinfo(list);
	up.version = FI_VERSION(1, 7);
}

/* VER-004 */
static void too_new(void **state)
{
	start_with(NULL, NULL);
	seen.calls = 0;
	assert_string_equal(list_of(fi_version() + 1, 0, NULL), "error -38");
	assert_int_equal(seen.calls, 0);
	assert_logged("refused: version: asked 2.7, possible up to 2.6");
	assert_int_equal(
		fi_getinfo(FAKE_VERSION, NULL, NULL, 0, NULL, NULL), -FI_EINVAL);
}

/* GI-040 */
static void older_provider_is_left_out(void **state)
{
	struct fi_provider *const provs[] = { &old, NULL };

	fake_start(NULL, provs);
	assert_string_equal(list_of(FI_VERSION(1, 9), 0, NULL), "old:odd0");
	assert_string_equal(list_of(FI_VERSION(1, 10), 0, NULL), "error -61");
	assert_logged("old: refused: version: asked 1.10, possible 1.9");
}

/* GI-034, GI-035, GI-036 */
static void who_is_there(void **state)
{
	static const char *const names[] = { "fast", "ofi_up", "net", "shy", "odd",
		"off_help", "ofi_hook_eye" };
	struct fi_info *list, *it;
	size_t i = 0;

	start_with("FI_PROVIDER", "net");
	seen.calls = 0;
	assert_int_equal(
		fi_getinfo(FAKE_VERSION, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &list),
		0);
	for (it = list; it; it = it->next) {
		assert_true(i < sizeof(names) / sizeof(names[0]));
		assert_string_equal(it->fabric_attr->prov_name, names[i++]);
		assert_int_equal(it->fabric_attr->prov_version, FI_VERSION(1, 7));
		assert_null(it->fabric_attr->name);
		assert_null(it->domain_attr->name);
		assert_int_equal(it->caps, 0);
	}
	assert_int_equal(i, sizeof(names) / sizeof(names[0]));
	assert_int_equal(seen.calls, 0);
	fi_freeinfo(list);
	/* With any other flag it is the providers' to understand. */
	(void)list_of(FAKE_VERSION, FI_PROV_ATTR_ONLY | FI_SOURCE, NULL);
	assert_true(seen.calls > 0);
	assert_int_equal(seen.flags, FI_PROV_ATTR_ONLY | FI_SOURCE);
}

/* GI-037: flags, names and hints reach the provider as they are. */
static void question_is_passed_on(void **state)
{
	struct fi_info *hints = fi_allocinfo(), *list;

	hints->caps = FI_MSG | FI_RECV;
	start_with("FI_PROVIDER", "^ofi_up");
	assert_int_equal(fi_getinfo(FI_VERSION(1, 5), "node", "service",
				 FI_RESCAN | FI_SOURCE, hints, &list),
		0);
	assert_int_equal(seen.version, FI_VERSION(1, 5));
	assert_string_equal(seen.node, "node");
	assert_string_equal(seen.service, "service");
	assert_int_equal(seen.flags, FI_RESCAN | FI_SOURCE);
	assert_int_equal(seen.hint_caps, FI_MSG | FI_RECV);
	fi_freeinfo(list);
	fi_freeinfo(hints);
}

/* GI-038. The upper bits belong to layers of other libraries, which ask while they open
 * objects as well. */
static void stray_flags(void **state)
{
	struct fi_info *list = NULL;

	start_with(NULL, NULL);
	assert_int_equal(
		fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 8 | FI_SOURCE, NULL, &list),
		-FI_EBADFLAGS);
	assert_null(list);
	assert_logged("refused: flags: asked 0x8, possible FI_SOURCE, FI_NUMERICHOST, "
		      "FI_RESCAN, FI_PROV_ATTR_ONLY");
	(void)list_of(FI_VERSION(1, 9), 8, NULL);
	assert_int_equal(seen.flags, 8);
	(void)list_of(FAKE_VERSION, 1ULL << 59, NULL);
	assert_true(seen.flags == 1ULL << 59);
}

/* GI-045, GI-046, GI-047 */
static void names_lead_to_layers(void **state)
{
	start_with(NULL, NULL);
	assert_string_equal(
		list_for("NET"), "net:net0 net:net1 net;ofi_up:net0 net;ofi_up:net1");
	assert_string_equal(list_for("net;ofi_up"), "net;ofi_up:net0 net;ofi_up:net1");
	assert_string_equal(list_for("ofi_up;net"), "net;ofi_up:net0 net;ofi_up:net1");
	assert_string_equal(list_for("ofi_up"),
		"fast;ofi_up:fast0 odd;ofi_up:odd0 net;ofi_up:net0 net;ofi_up:net1");
	assert_string_equal(list_for("shy"), "shy:shy0");
	assert_string_equal(list_for("net;^ofi_up"), "net:net0 net:net1");
	assert_string_equal(list_for("^net;^fast;^shy"), "odd;ofi_up:odd0 odd:odd0");
	/* Not asked where nothing can come of it. */
	seen.shy_calls = 0;
	(void)list_for("ofi_up");
	assert_int_equal(seen.shy_calls, 0);
	assert_string_equal(list_for("shy;ofi_up"), "shy;ofi_up:shy0");
	assert_string_equal(list_for("off_help"), "off_help:help0");
	assert_string_equal(list_for("ofi_hook_eye"), "error -61");
	assert_string_equal(list_for("net;fast"), "error -61");
}

/* GI-002 */
static void no_such_name(void **state)
{
	start_with(NULL, NULL);
	assert_string_equal(list_for("nobody"), "error -61");
	assert_logged("net: refused: prov_name: asked nobody, possible net");
	assert_string_equal(list_for("a;;b"), "error -61");
	assert_logged("refused: prov_name: asked a;;b");
	assert_string_equal(list_for("1;2;3;4;5;6;7;8;9"), "error -61");
}

/* GI-049 */
static void provider_version(void **state)
{
	struct fi_info *hints = fi_allocinfo();

	start_with("FI_PROVIDER", "fast");
	hints->fabric_attr->prov_version = FI_VERSION(1, 7);
	assert_string_equal(
		list_of(FAKE_VERSION, 0, hints), "fast:fast0 fast;ofi_up:fast0");
	hints->fabric_attr->prov_version = FI_VERSION(1, 8);
	assert_string_equal(list_of(FAKE_VERSION, 0, hints), "error -61");
	assert_logged("fast: refused: prov_version: asked 1.8, possible 1.7");
	fi_freeinfo(hints);
}

/* GI-041 */
static void broken_providers_do_not_matter(void **state)
{
	struct fi_provider *const provs[] = { &sick, &empty, &torn, &net, NULL };

	fake_start(NULL, provs);
	assert_string_equal(
		list_of(FAKE_VERSION, 0, NULL), "net:net0 net:net1 torn:torn1");
	assert_logged("warning sick: no results");
	assert_logged("warning torn: a result without all attribute structs");
}

static const char *list_named(const char *fabric, const char *domain)
{
	struct fi_info *hints = fi_allocinfo();
	const char *list;

	assert_non_null(hints);
	hints->fabric_attr->name = fabric ? strdup(fabric) : NULL;
	hints->domain_attr->name = domain ? strdup(domain) : NULL;
	list = list_of(FAKE_VERSION, 0, hints);
	fi_freeinfo(hints);
	return list;
}

/* GI-044: whether the provider heeds the names or, as those here, does not. */
static void names_of_fabric_and_domain(void **state)
{
	start_with(NULL, NULL);
	assert_string_equal(list_named(NULL, "NET1"), "net:net1 net;ofi_up:net1");
	assert_logged("net: refused: domain_attr.name: asked NET1, possible net0");
	assert_string_equal(
		list_named("Net0", "fast0"), "fast:fast0 fast;ofi_up:fast0");
	assert_string_equal(list_named("net", NULL), "error -61");
	assert_logged("refused: fabric_attr.name: asked net, possible net0");
	assert_string_equal(list_named(NULL, "net"), "error -61");
}

/* PRV-002, PRV-004, PRV-005, PRV-006 */
static void provider_variable(void **state)
{
	start_with("FI_PROVIDER", "net");
	assert_string_equal(list_of(FAKE_VERSION, 0, NULL),
		"net:net0 net:net1 net;ofi_up:net0 net;ofi_up:net1");
	assert_logged("fast: refused: FI_PROVIDER: asked net, possible fast");
	start_with("FI_PROVIDER", "net;ofi_up");
	assert_string_equal(
		list_of(FAKE_VERSION, 0, NULL), "net;ofi_up:net0 net;ofi_up:net1");
	start_with("FI_PROVIDER", "^net;ofi_up,fast,odd");
	assert_string_equal(
		list_of(FAKE_VERSION, 0, NULL), "net:net0 net:net1 shy:shy0");
	start_with("FI_PROVIDER", "nobody");
	assert_string_equal(list_of(FAKE_VERSION, 0, NULL), "error -61");
}

/* A layer that answers by name does so unnamed over the transport that it completes. */
static void layer_that_completes(void **state)
{
	static struct fi_provider *const list[] = { &net, &full, &fast, NULL };
	static struct fi_provider *const alone[] = { &net, &full, NULL };
	static const char *const env[] = { "FI_PROVIDER", "net", NULL };

	fake_start(NULL, list);
	assert_string_equal(list_of(FAKE_VERSION, 0, NULL),
		"fast:fast0 fast;ofi_full:fast0 net:net0 net:net1");
	assert_string_equal(list_for("fast"), "fast:fast0 fast;ofi_full:fast0");
	assert_string_equal(list_for("net"), "net:net0 net:net1");
	assert_string_equal(
		list_for("net;ofi_full"), "net;ofi_full:net0 net;ofi_full:net1");
	assert_string_equal(list_for("ofi_full"),
		"fast;ofi_full:fast0 net;ofi_full:net0 net;ofi_full:net1");
	fake_start(env, list);
	assert_string_equal(list_of(FAKE_VERSION, 0, NULL), "net:net0 net:net1");
	fake_start(NULL, alone);
	assert_string_equal(list_of(FAKE_VERSION, 0, NULL), "net:net0 net:net1");
}

/* A layer that answers behind a transport does so where no provider is named, and
 * leaves that transport alone where it is. */
static void layer_behind_a_transport(void **state)
{
	static struct fi_provider *const list[] = { &late, &net, &fast, NULL };
	static struct fi_provider *const alone[] = { &late, &fast, NULL };
	static const char *const env[] = { "FI_PROVIDER", "net", NULL };

	fake_start(NULL, list);
	assert_string_equal(list_of(FAKE_VERSION, 0, NULL),
		"fast:fast0 net:net0 net:net1 net;ofi_late:net0 net;ofi_late:net1");
	assert_string_equal(list_for("net"), "net:net0 net:net1");
	assert_string_equal(list_for("fast"), "fast:fast0");
	assert_string_equal(
		list_for("net;ofi_late"), "net;ofi_late:net0 net;ofi_late:net1");
	assert_string_equal(list_for("fast;ofi_late"), "fast;ofi_late:fast0");
	fake_start(env, list);
	assert_string_equal(list_of(FAKE_VERSION, 0, NULL), "net:net0 net:net1");
	fake_start(NULL, alone);
	assert_string_equal(list_of(FAKE_VERSION, 0, NULL), "fast:fast0");
}

/* GI-057 */
static void address_format_variable(void **state)
{
	start_with("FI_ADDR_FORMAT", "fi_sockaddr_in");
	/* The filter comes after the layers have done their work. */
	assert_string_equal(list_of(FAKE_VERSION, 0, NULL),
		"fast;ofi_up:fast0 net:net0 net;ofi_up:net0");
	assert_logged("net: refused: FI_ADDR_FORMAT: asked FI_SOCKADDR_IN, possible "
		      "FI_SOCKADDR_IN6");
	start_with("FI_ADDR_FORMAT", "FI_SOCKADDR_IP");
	assert_string_equal(list_of(FAKE_VERSION, 0, NULL), "error -61");
	start_with("FI_ADDR_FORMAT", "nonsense");
	assert_logged("warning core: FI_ADDR_FORMAT: \"nonsense\" is ignored");
	assert_string_equal(list_for("fast"), "fast:fast0 fast;ofi_up:fast0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_in_order),
		cmocka_unit_test(results_are_completed),
		cmocka_unit_test(too_new),
		cmocka_unit_test(older_provider_is_left_out),
		cmocka_unit_test(who_is_there),
		cmocka_unit_test(question_is_passed_on),
		cmocka_unit_test(stray_flags),
		cmocka_unit_test(names_lead_to_layers),
		cmocka_unit_test(no_such_name),
		cmocka_unit_test(provider_version),
		cmocka_unit_test(broken_providers_do_not_matter),
		cmocka_unit_test(names_of_fabric_and_domain),
		cmocka_unit_test(provider_variable),
		cmocka_unit_test(layer_that_completes),
		cmocka_unit_test(layer_behind_a_transport),
		cmocka_unit_test(address_format_variable),
	};

	(void)setenv("FI_PROVIDER_PATH", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
