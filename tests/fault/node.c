/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints of the provider FAULT_PROVIDER, tcp by default, that are known by a number:
 * the port of those that have one, else a part of their name.
 */
#include "fault.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

struct addressing {
	const char *provider;
	struct fi_info *(*resolve)(struct fi_info *hints, uint16_t number);
	uint16_t (*number)(struct fid_ep *ep);
	fi_addr_t (*insert)(struct node *node, const char *host, uint16_t number);
	uint16_t (*unused)(void);
};

static const struct addressing *addressing(void);

static const char *own_host(void)
{
	const char *host = getenv("FAULT_HOST");

	return host ? host : "127.0.0.1";
}

static uint32_t api_version(void)
{
	const char *old = getenv("FAULT_API_1_17");

	return old ? FI_VERSION(1, 17) : FI_VERSION(2, 6);
}

/* ---- numbers of this run ---- */

/* Ports, none of those that the system gives to sockets without a port of their own:
 * these are from 32768 on. Each run of a program has EACH of them; the largest takes
 * some 400. */
enum { FIRST_PORT = 10000, EACH = 512, RANGES = 40 };

/* Of this run of the program, so that several may run at once. */
static struct {
	pid_t session;
	unsigned int range; /* of ports */
	atomic_uint next;
} * numbers;

/* Take a range of ports for as long as this program or a child of it is there: its
 * socket has the range's name in this network. */
static unsigned int range_taken(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), len;
	unsigned int i = 0, range;

	CHECK(fd >= 0);
	do {
		CHECK(i < RANGES);
		range = ((unsigned int)getpid() + i++) % RANGES;
		len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
			"weft-fault-ports-%u", range);
	} while (bind(fd, (struct sockaddr *)&name,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)));
	return range;
}

void node_numbers_init(void)
{
	numbers = mmap(NULL, sizeof(*numbers), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(numbers != MAP_FAILED);
	numbers->session = getpid();
	numbers->range = range_taken();
}

/* ---- ports ---- */

static struct fi_info *port_resolve(struct fi_info *hints, uint16_t port)
{
	struct fi_info *info;
	char service[16];

	hints->addr_format = FI_SOCKADDR_IN;
	snprintf(service, sizeof(service), "%u", port);
	CHECK_OK(fi_getinfo(api_version(), own_host(), port ? service : NULL, FI_SOURCE,
		hints, &info));
	return info;
}

uint16_t node_port_of(struct fid_ep *ep)
{
	struct sockaddr_in addr;
	size_t len = sizeof(addr);

	CHECK_OK(fi_getname(&ep->fid, &addr, &len));
	return ntohs(addr.sin_port);
}

static fi_addr_t port_insert(struct node *node, const char *host, uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	fi_addr_t out;

	CHECK(inet_pton(AF_INET, host, &addr.sin_addr) == 1);
	CHECK(fi_av_insert(node->av, &addr, 1, &out, 0, NULL) == 1);
	return out;
}

static bool is_free(uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	bool ret;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(fd >= 0);
	CHECK(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	ret = !bind(fd, (struct sockaddr *)&addr, sizeof(addr));
	close(fd);
	return ret;
}

static uint16_t port_unused(void)
{
	uint16_t port;

	do {
		unsigned int next = atomic_fetch_add(&numbers->next, 1);

		port = (uint16_t)(FIRST_PORT + numbers->range * EACH + next % EACH);
	} while (!is_free(port));
	return port;
}

/* ---- names ---- */

void node_name(char name[NODE_NAME_MAX], uint16_t number)
{
	snprintf(name, NODE_NAME_MAX, "fi_ns://fault-%d:%u", (int)numbers->session,
		number);
}

static uint16_t name_unused(void)
{
	return (uint16_t)(atomic_fetch_add(&numbers->next, 1) % 65535 + 1);
}

static struct fi_info *name_resolve(struct fi_info *hints, uint16_t number)
{
	struct fi_info *info;
	int ret;

	hints->addr_format = FI_ADDR_STR;
	hints->src_addr = malloc(NODE_NAME_MAX);
	CHECK(hints->src_addr);
	node_name(hints->src_addr, number ? number : name_unused());
	hints->src_addrlen = strlen(hints->src_addr) + 1;
	ret = fi_getinfo(api_version(), NULL, NULL, 0, hints, &info);
	errno = -ret;
	return ret ? NULL : info;
}

static uint16_t name_number(struct fid_ep *ep)
{
	char name[NODE_NAME_MAX];
	size_t len = sizeof(name);

	CHECK_OK(fi_getname(&ep->fid, name, &len));
	return (uint16_t)atoi(strrchr(name, ':') + 1);
}

static fi_addr_t name_insert(struct node *node, const char *host, uint16_t number)
{
	char name[NODE_NAME_MAX];
	fi_addr_t out;

	(void)host;
	node_name(name, number);
	CHECK(fi_av_insert(node->av, name, 1, &out, 0, NULL) == 1);
	return out;
}

/* ---- addresses that the provider makes up ---- */

static struct fi_info *any_resolve(struct fi_info *hints, uint16_t number)
{
	struct fi_info *info;

	CHECK(!number);
	CHECK_OK(fi_getinfo(api_version(), NULL, NULL, 0, hints, &info));
	return info;
}

/* ---- all ---- */

static const struct addressing kinds[] = {
	{ "tcp", port_resolve, node_port_of, port_insert, port_unused },
	{ "tcp;ofi_rxm", port_resolve, node_port_of, port_insert, port_unused },
	{ "udp;ofi_rxd", port_resolve, node_port_of, port_insert, port_unused },
	{ "shm", name_resolve, name_number, name_insert, name_unused },
	{ "lnx", any_resolve, NULL, NULL, NULL }, /* known by fi_getname alone */
};

static const struct addressing *addressing(void)
{
	const char *provider = getenv("FAULT_PROVIDER");

	for (size_t i = 0; provider && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].provider, provider))
			return &kinds[i];
	CHECK(!provider);
	return &kinds[0];
}

bool node_over(const char *provider)
{
	return !strcmp(addressing()->provider, provider);
}

static struct fi_info *info_for(const struct node *node, uint16_t number)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	CHECK(hints);
	hints->fabric_attr->prov_name = strdup(addressing()->provider);
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_TAGGED | FI_MSG | node->caps;
	hints->domain_attr->data_progress = node->progress;
	hints->domain_attr->control_progress = node->progress;
	hints->domain_attr->threading = node->threading;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	info = addressing()->resolve(hints, number);
	fi_freeinfo(hints);
	return info;
}

/* Open the endpoint with the properties in @node. */
static int open_as(struct node *node, uint16_t number)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = node->sleeps ? FI_WAIT_UNSPEC : FI_WAIT_NONE };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_NONE };
	int ret;

	node->info = info_for(node, number);
	if (!node->info)
		return -errno;
	ret = fi_fabric(node->info->fabric_attr, &node->fabric, NULL);
	if (!ret)
		ret = fi_domain(node->fabric, node->info, &node->domain, NULL);
	if (!ret)
		ret = fi_av_open(node->domain, &av_attr, &node->av, NULL);
	if (!ret)
		ret = fi_cq_open(node->domain, &cq_attr, &node->cq, NULL);
	if (!ret)
		ret = fi_endpoint(node->domain, node->info, &node->ep, NULL);
	if (!ret)
		ret = fi_ep_bind(node->ep, &node->av->fid, 0);
	if (!ret)
		ret = fi_ep_bind(node->ep, &node->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!ret && node->events)
		ret = fi_eq_open(node->fabric, &eq_attr, &node->eq, NULL);
	if (!ret && node->eq)
		ret = fi_ep_bind(node->ep, &node->eq->fid, 0);
	/* The address of one that was just killed is free at once. */
	if (!ret)
		ret = fi_enable(node->ep);
	if (ret)
		node_close(node);
	return ret;
}

void node_open(struct node *node, uint16_t number)
{
	memset(node, 0, sizeof(*node));
	node_open_as(node, number);
}

void node_open_as(struct node *node, uint16_t number)
{
	CHECK_OK(open_as(node, number));
}

int node_try(struct node *node, uint16_t number, uint64_t caps)
{
	memset(node, 0, sizeof(*node));
	node->caps = caps;
	return open_as(node, number);
}

static void close_one(struct fid *fid)
{
	CHECK_OK(fi_close(fid));
}

void node_close(struct node *node)
{
	if (node->ep)
		close_one(&node->ep->fid);
	if (node->cq)
		close_one(&node->cq->fid);
	if (node->eq)
		close_one(&node->eq->fid);
	if (node->av)
		close_one(&node->av->fid);
	if (node->domain)
		close_one(&node->domain->fid);
	if (node->fabric)
		close_one(&node->fabric->fid);
	fi_freeinfo(node->info);
}

uint16_t node_port(struct node *node)
{
	return addressing()->number(node->ep);
}

fi_addr_t node_peer_at(struct node *node, const char *host, uint16_t number)
{
	return addressing()->insert(node, host, number);
}

fi_addr_t node_peer(struct node *node, uint16_t number)
{
	return node_peer_at(node, own_host(), number);
}

uint16_t free_port(void)
{
	return addressing()->unused();
}

void different_ports(uint16_t *ports, int count)
{
	for (int i = 0; i < count; i++) {
		int same = 0;

		ports[i] = free_port();
		while (same < i && ports[same] != ports[i])
			same++;
		if (same < i)
			i--;
	}
}
