/* SPDX-License-Identifier: BSD-2-Clause */
/* Node, service and addresses given to fi_getinfo where addresses are names. */
#include <netdb.h>
#include <unistd.h>

#include "suites.h"

static struct fi_info *str_hints(void)
{
	if (cf_target.addr_format != FI_ADDR_STR)
		SKIP("is about names");
	return cf_hints();
}

static int lookup(const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info)
{
	*ret_info = NULL;
	return fi_getinfo(cf_target.version, node, service, flags, hints, ret_info);
}

static void check_name(const void *addr, size_t len, const char *wanted)
{
	if (!wanted) {
		CHECK(!addr && !len);
		return;
	}
	CHECK(addr);
	CHECK_STR(addr, wanted);
	CHECK_EQ(len, strlen(wanted) + 1);
}

/* NULL: the name of this process, or none of a peer. */
static void check_lookup(const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, const char *src, const char *dest)
{
	struct fi_info *info;
	char self[32];

	snprintf(self, sizeof(self), "fi_shm://%ld", (long)getpid());
	CHECK_OK(lookup(node, service, flags, hints, &info));
	for (struct fi_info *cur = info; cur; cur = cur->next) {
		CHECK_EQ(cur->addr_format, FI_ADDR_STR);
		check_name(cur->src_addr, cur->src_addrlen, src ? src : self);
		check_name(cur->dest_addr, cur->dest_addrlen, dest);
	}
	fi_freeinfo(info);
}

/* Without a file of hosts the machine may not know its own name. */
static void need_localhost(void)
{
	struct addrinfo *list;

	if (getaddrinfo("localhost", NULL, NULL, &list))
		SKIP("this machine does not know localhost");
	freeaddrinfo(list);
}

static void names_of_the_peer(void)
{
	struct fi_info *hints = str_hints();

	need_localhost();
	check_lookup("localhost", NULL, 0, hints, NULL, "fi_shm://localhost");
	check_lookup(NULL, "svc", 0, hints, NULL, "fi_ns://svc");
	check_lookup("127.0.0.1", "svc", 0, hints, NULL, "fi_ns://127.0.0.1:svc");
	check_lookup("4711", NULL, 0, hints, NULL, "fi_shm://4711");
	check_lookup("mine://x", NULL, 0, hints, NULL, "mine://x");
	check_lookup(NULL, NULL, 0, hints, NULL, NULL);
	fi_freeinfo(hints);
}

/* A name that no endpoint on this host has, and that is no host, is a peer only if it
 * has the provider's prefix. */
static void nodes_that_are_not_here(void)
{
	static const struct cf_options options;
	struct fi_info *hints = str_hints(), *info;
	char node[64], name[80];
	struct cf_env env;

	cf_open_domain(&env, NULL);
	snprintf(node, sizeof(node), "n0-such-n0de-%ld.invalid", (long)getpid());
	CHECK_EQ(lookup(node, NULL, 0, hints, &info), -FI_ENODATA);
	CHECK_EQ(lookup(node, "svc", 0, hints, &info), -FI_ENODATA);
	CHECK_EQ(lookup(node, "svc", FI_NUMERICHOST, hints, &info), -FI_ENODATA);
	snprintf(name, sizeof(name), "fi_ns://%s:svc", node);
	check_lookup(name, NULL, 0, hints, NULL, name);

	CHECK_OK(lookup(node, "svc", FI_SOURCE, hints, &info));
	cf_open_side(&env, &env.side[0], info, &options);
	fi_freeinfo(info);
	check_lookup(node, "svc", 0, hints, NULL, name);
	check_lookup(node, "svc", FI_NUMERICHOST, hints, NULL, name);
	cf_close(&env);
	CHECK_EQ(lookup(node, "svc", FI_NUMERICHOST, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

static void names_of_the_source(void)
{
	struct fi_info *hints = str_hints(), *info;

	check_lookup("host", NULL, FI_SOURCE, hints, "fi_shm://host", NULL);
	check_lookup(NULL, "svc", FI_SOURCE, hints, "fi_ns://svc", NULL);
	check_lookup("host", "svc", FI_SOURCE, hints, "fi_ns://host:svc", NULL);
	check_lookup("mine://x", NULL, FI_SOURCE, hints, "mine://x", NULL);
	CHECK_EQ(lookup(NULL, NULL, FI_SOURCE, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

static void set_addr(void **addr, size_t *len, const char *name)
{
	free(*addr);
	*addr = strdup(name);
	CHECK(*addr);
	*len = strlen(name) + 1;
}

static void names_in_hints(void)
{
	struct fi_info *hints = str_hints(), *info;

	set_addr(&hints->src_addr, &hints->src_addrlen, "fi_shm://me");
	set_addr(&hints->dest_addr, &hints->dest_addrlen, "you");
	check_lookup(NULL, NULL, 0, hints, "fi_shm://me", "you");
	check_lookup("1", NULL, 0, hints, "fi_shm://me", "fi_shm://1");
	check_lookup("host", NULL, FI_SOURCE, hints, "fi_shm://host", "you");
	hints->dest_addrlen = 3; /* without its end */
	CHECK_EQ(lookup(NULL, NULL, 0, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

static void what_is_no_name(void)
{
	struct fi_info *hints = str_hints(), *info;
	char node[300];

	memset(node, 'n', sizeof(node));
	node[sizeof(node) - 1] = '\0';
	CHECK_EQ(lookup(node, NULL, 0, hints, &info), -FI_ENODATA);
	CHECK_EQ(lookup("", NULL, 0, hints, &info), -FI_ENODATA);
	CHECK_EQ(lookup("fi_shm://", NULL, 0, hints, &info), -FI_ENODATA);
	CHECK_EQ(lookup("a\nb", NULL, 0, hints, &info), -FI_ENODATA);
	/* A name that is whole has no room for a service. */
	CHECK_EQ(lookup("fi_shm://host", "svc", 0, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

CF_SUITE(info_resolve_str, CF_CASE(names_of_the_peer, "GI-026 GI-032 GI-061", 0),
	CF_CASE(nodes_that_are_not_here, "GI-026", 0),
	CF_CASE(names_of_the_source, "GI-025 GI-027 GI-028 GI-032", 0),
	CF_CASE(names_in_hints, "GI-025 GI-027 GI-029 GI-030", 0),
	CF_CASE(what_is_no_name, "GI-002 GI-032", 0));
