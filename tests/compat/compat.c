/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/fabric.h>

/*
 * compat LIBRARY: the versioned symbols of LIBRARY as older programs call them.
 *
 * Every struct that such a program hands in has its old size here and ends where a
 * page ends that no page follows, so that one byte read too many kills the test. The
 * provider "echo" gives back the hints that reached it: they must hold what the old
 * struct held and nothing behind that.
 */

enum part { INFO, TX, RX, EP, DOMAIN, FABRIC, PARTS };

struct node {
	const char *version;
	size_t sizes[PARTS];
};

/* VER-007, VER-011, VER-012, VER-013, VER-014 */
static const struct node nodes[] = {
	{ "FABRIC_1.0", { 112, 72, 64, 80, 120, 32 } },
	{ "FABRIC_1.1", { 112, 72, 64, 96, 184, 32 } },
	{ "FABRIC_1.2", { 120, 72, 64, 96, 184, 32 } },
	{ "FABRIC_1.3", { 120, 80, 64, 96, 192, 32 } },
	{ "FABRIC_1.7", { 120, 80, 64, 96, 200, 32 } },
	{ "FABRIC_1.8", { 120, 80, 64, 96, 208, 32 } },
	{ "FABRIC_1.9", { 120, 80, 64, 96, 224, 32 } },
	{ "FABRIC_1.10", { 120, 80, 64, 104, 232, 32 } },
};

static const size_t newest[PARTS] = { sizeof(struct fi_info), sizeof(struct fi_tx_attr),
	sizeof(struct fi_rx_attr), sizeof(struct fi_ep_attr),
	sizeof(struct fi_domain_attr), sizeof(struct fi_fabric_attr) };

typedef int (*getinfo_fn)(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info);
typedef struct fi_info *(*dupinfo_fn)(const struct fi_info *info);
typedef void (*freeinfo_fn)(struct fi_info *info);
typedef int (*fabric_fn)(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

struct calls {
	getinfo_fn getinfo;
	dupinfo_fn dupinfo;
	freeinfo_fn freeinfo;
};

static void *library;

#define CHECK(condition)                                                               \
	do {                                                                           \
		if (!(condition)) {                                                    \
			printf("# line %d: %s\n", __LINE__, #condition);               \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

static void lookup(void *ret_fn, const char *name, const char *version)
{
	*(void **)ret_fn = dlvsym(library, name, version);
	CHECK(*(void **)ret_fn);
}

static struct calls calls_at(const struct node *node)
{
	struct calls calls;

	lookup(&calls.getinfo, "fi_getinfo", node->version);
	lookup(&calls.dupinfo, "fi_dupinfo", node->version);
	lookup(&calls.freeinfo, "fi_freeinfo", node->version);
	return calls;
}

/* A copy of the first @size bytes of @src, with nothing readable behind them. */
static void *at_the_edge(const void *src, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(area != MAP_FAILED);
	CHECK(!mprotect(area + page, page, PROT_NONE));
	return memcpy(area + page - size, src, size);
}

/* ---- a current info with something in every byte that is not a pointer ---------- */

static int nic_dups;
static struct fid_nic the_nic;

static int nic_close(struct fid *fid)
{
	return 0;
}

static int nic_control(struct fid *fid, int command, void *arg)
{
	if (command != FI_DUP)
		return -FI_ENOSYS;
	nic_dups++;
	*(struct fid_nic **)arg = &the_nic;
	return 0;
}

static struct fi_ops nic_ops = {
	.size = sizeof(nic_ops),
	.close = nic_close,
	.control = nic_control,
};
static struct fid_nic the_nic = { .fid = { .fclass = FI_CLASS_NIC, .ops = &nic_ops } };

struct full {
	struct fi_info info;
	struct fi_tx_attr tx;
	struct fi_rx_attr rx;
	struct fi_ep_attr ep;
	struct fi_domain_attr domain;
	struct fi_fabric_attr fabric;
};

static uint8_t ep_key[] = "ep", domain_key[] = "domain";

/* Pointers in the tail that an older caller does not have lead nowhere. */
#define WILD ((void *)(uintptr_t)0xdead0000dead0000)

static void fill(struct full *full)
{
	memset(full, 0xa5, sizeof(*full));
	full->info.next = WILD;
	full->info.src_addrlen = 4;
	full->info.src_addr = at_the_edge("src", 4);
	full->info.dest_addrlen = 5;
	full->info.dest_addr = at_the_edge("dest", 5);
	full->info.nic = &the_nic;
	full->ep.auth_key = at_the_edge(ep_key, sizeof(ep_key));
	full->ep.auth_key_size = sizeof(ep_key);
	full->ep.xpu_ctx = WILD;
	full->domain.domain = WILD;
	full->domain.name = at_the_edge("domain", 7);
	full->domain.auth_key = at_the_edge(domain_key, sizeof(domain_key));
	full->domain.auth_key_size = sizeof(domain_key);
	full->fabric.fabric = WILD;
	full->fabric.name = at_the_edge("fabric", 7);
	full->fabric.prov_name = at_the_edge("echo", 5);
	full->fabric.prov_version = 1;
}

static struct fi_info *old_info(const struct node *node, const struct full *full)
{
	struct fi_info info = full->info;

	info.tx_attr = at_the_edge(&full->tx, node->sizes[TX]);
	info.rx_attr = at_the_edge(&full->rx, node->sizes[RX]);
	info.ep_attr = at_the_edge(&full->ep, node->sizes[EP]);
	info.domain_attr = at_the_edge(&full->domain, node->sizes[DOMAIN]);
	info.fabric_attr = at_the_edge(&full->fabric, node->sizes[FABRIC]);
	return at_the_edge(&info, node->sizes[INFO]);
}

/* ---- what came back -------------------------------------------------------------- */

static bool zero(const void *mem, size_t from, size_t to)
{
	const uint8_t *bytes = mem;

	for (size_t i = from; i < to; i++) {
		if (bytes[i])
			return false;
	}
	return true;
}

/* @got is @sent up to the old size, apart from the pointers in [@skip, @skip_end),
 * and zero behind it. */
static bool widened(const void *got, const void *sent, const struct node *node,
	enum part part, size_t skip, size_t skip_end)
{
	const char *a = got, *b = sent;
	size_t size = node->sizes[part];

	if (skip > size)
		skip = skip_end = size;
	return !memcmp(a, b, skip) &&
	       !memcmp(a + skip_end, b + skip_end, size - skip_end) &&
	       zero(got, size, newest[part]);
}

#define RANGE(type, first, last)                                                       \
	offsetof(type, first), offsetof(type, last) + sizeof(((type *)NULL)->last)

static void check_copy(
	const struct node *node, const struct fi_info *got, const struct full *sent)
{
	bool keys = node->sizes[EP] > 80, nic = node->sizes[INFO] > 112;
	struct fi_domain_attr domain = *got->domain_attr;

	CHECK(!got->next);
	CHECK(got->caps == sent->info.caps && got->mode == sent->info.mode);
	CHECK(got->handle == sent->info.handle);
	CHECK(got->src_addrlen == 4 && !strcmp(got->src_addr, "src"));
	CHECK(got->dest_addrlen == 5 && !strcmp(got->dest_addr, "dest"));
	CHECK(got->nic == (nic ? &the_nic : NULL));
	CHECK(widened(got->tx_attr, &sent->tx, node, TX, 0, 0));
	CHECK(widened(got->rx_attr, &sent->rx, node, RX, 0, 0));
	CHECK(widened(got->ep_attr, &sent->ep, node, EP,
		RANGE(struct fi_ep_attr, auth_key, auth_key)));
	CHECK(!strcmp(got->domain_attr->name, "domain"));
	CHECK(!strcmp(got->fabric_attr->name, "fabric"));
	CHECK(!strcmp(got->fabric_attr->prov_name, "echo"));
	if (keys) {
		CHECK(!memcmp(got->ep_attr->auth_key, ep_key, sizeof(ep_key)));
		CHECK(!memcmp(
			got->domain_attr->auth_key, domain_key, sizeof(domain_key)));
	} else {
		CHECK(!got->ep_attr->auth_key && !got->domain_attr->auth_key);
	}
	/* The rest, with the pointers that were copied deeply out of the way. */
	domain.name = sent->domain.name;
	CHECK(widened(&domain, &sent->domain, node, DOMAIN,
		RANGE(struct fi_domain_attr, auth_key, auth_key)));
}

/* ---- cases ----------------------------------------------------------------------- */

static void dupinfo_case(const struct node *node)
{
	struct calls calls = calls_at(node);
	struct fi_info *copy;
	struct full full;

	fill(&full);
	copy = calls.dupinfo(old_info(node, &full));
	CHECK(copy);
	CHECK(copy->addr_format == full.info.addr_format);
	check_copy(node, copy, &full);
	/* At 1.0 the place of api_version was padding. */
	CHECK(copy->fabric_attr->api_version ==
		(node == nodes ? 0 : full.fabric.api_version));
	calls.freeinfo(copy);
}

/* VER-005 */
static void getinfo_case(const struct node *node)
{
	struct calls calls = calls_at(node);
	struct fi_info *list = NULL;
	struct full full;

	fill(&full);
	CHECK(!calls.getinfo(
		FI_VERSION(1, 4), NULL, NULL, 0, old_info(node, &full), &list));
	CHECK(list);
	/* The provider put the api_version of its hints there. */
	CHECK(list->addr_format == (node == nodes ? 0 : full.fabric.api_version));
	check_copy(node, list, &full);
	CHECK(list->fabric_attr->api_version == FI_VERSION(1, 4));
	CHECK(list->fabric_attr->prov_version == FI_VERSION(1, 0));
	calls.freeinfo(list);
}

/* GI-005: what an older program gets to fill in has the current size. */
static void allocinfo_case(const struct node *node)
{
	struct calls calls = calls_at(node);
	struct fi_info *info = calls.dupinfo(NULL);

	CHECK(info);
	CHECK(zero(info->tx_attr, 0, newest[TX]));
	CHECK(zero(info->rx_attr, 0, newest[RX]));
	CHECK(zero(info->ep_attr, 0, newest[EP]));
	CHECK(zero(info->domain_attr, 0, newest[DOMAIN]));
	CHECK(zero(info->fabric_attr, 0, newest[FABRIC]));
	CHECK(!info->nic);
	calls.freeinfo(info);
	calls.freeinfo(NULL);
}

/* Hints without attributes, no hints, and a request that is refused. */
static void bare_case(const struct node *node)
{
	struct calls calls = calls_at(node);
	struct fi_info bare = { .caps = FI_MSG }, *copy, *list = WILD;

	copy = calls.dupinfo(at_the_edge(&bare, node->sizes[INFO]));
	CHECK(copy && copy->caps == FI_MSG && !copy->tx_attr && !copy->domain_attr);
	calls.freeinfo(copy);
	CHECK(calls.getinfo(FI_VERSION(1, 4), NULL, NULL, 0, NULL, &list) ==
		-FI_ENODATA);
	CHECK(!list);
	CHECK(calls.getinfo(FI_VERSION(99, 0), NULL, NULL, 0,
		      at_the_edge(&bare, node->sizes[INFO]), &list) == -FI_ENOSYS);
}

static struct fi_fabric_attr *old_fabric_attr(void)
{
	struct fi_fabric_attr attr;

	memset(&attr, 0xa5, sizeof(attr));
	attr.fabric = NULL;
	attr.name = at_the_edge("fabric", 7);
	attr.prov_name = at_the_edge("echo", 5);
	return at_the_edge(&attr, sizeof(attr));
}

/* FAB-001, FAB-004 */
static void fabric_case(const struct node *node)
{
	struct fid_fabric *fabric;
	fabric_fn open;

	lookup(&open, "fi_fabric", node->version);
	CHECK(open(NULL, &fabric, NULL) == -FI_EINVAL);
	CHECK(!open(old_fabric_attr(), &fabric, &fabric));
	CHECK(fabric->fid.context == &fabric);
	CHECK(fabric->api_version == (node == nodes ? FI_VERSION(1, 0) : 0xa5a5a5a5));
	CHECK(!fi_close(&fabric->fid));
}

static int count, failed;

static void run(
	void (*test)(const struct node *), const char *name, const struct node *node)
{
	pid_t pid;
	int status;

	(void)fflush(stdout);
	pid = fork();
	if (!pid) {
		test(node);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		exit(2);
	if (WIFSIGNALED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));
	failed += status != 0;
	printf("%sok %d - %s at %s\n", status ? "not " : "", ++count, name,
		node->version);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*test)(const struct node *node);
	} cases[] = {
		{ "fi_dupinfo", dupinfo_case },
		{ "fi_getinfo", getinfo_case },
		{ "fi_allocinfo", allocinfo_case },
		{ "hints without attributes", bare_case },
	};

	library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library) {
		printf("Bail out! %s\n", argc > 1 ? dlerror() : "no library named");
		return 2;
	}
	for (size_t n = 0; n < sizeof(nodes) / sizeof(nodes[0]); n++) {
		for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
			run(cases[c].test, cases[c].name, &nodes[n]);
	}
	run(fabric_case, "fi_fabric", &nodes[0]);
	run(fabric_case, "fi_fabric", &nodes[1]);
	printf("1..%d\n", count);
	return failed != 0;
}
