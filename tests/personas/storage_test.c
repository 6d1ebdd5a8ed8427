/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "persona.h"

/*
 * Mercury, and DAOS, which runs on it. The newest libfabric of ofiwg answers each of
 * the names with the provider of that name, interface and protocol: the same as
 * asserted here.
 */

enum { CQ_SIZE = 131072, VERSION_MINOR = 20 };

struct transport {
	const char *name;
	uint32_t addr_format, protocol;
	enum fi_progress progress;
	uint64_t more_caps;
	bool by_fd; /* it sleeps on a descriptor */
	size_t tx_size, rx_size;
};

/* Name, format and protocol are compared exactly. */
static const struct transport transports[] = {
	{ "shm", FI_ADDR_STR, FI_PROTO_SHM, FI_PROGRESS_MANUAL, 0, false, 0, 0 },
	{ "sockets", FI_SOCKADDR_IN, FI_PROTO_SOCK_TCP, FI_PROGRESS_AUTO, FI_MULTI_RECV,
		true, 0, 0 },
	{ "tcp", FI_SOCKADDR_IN, FI_PROTO_XNET, FI_PROGRESS_MANUAL, FI_MULTI_RECV, true,
		1024, 1024 },
	{ "tcp;ofi_rxm", FI_SOCKADDR_IN, FI_PROTO_RXM, FI_PROGRESS_MANUAL,
		FI_MULTI_RECV, true, 0, 0 },
};

static void hints_for(
	struct persona *p, const struct transport *t, enum fi_threading threading)
{
	struct fi_info *hints = p->hints = fi_allocinfo();

	hints->mode = FI_ASYNC_IOV | FI_CONTEXT;
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_DIRECTED_RECV | t->more_caps;
	hints->tx_attr->op_flags = FI_INJECT_COMPLETE;
	hints->tx_attr->size = t->tx_size;
	hints->rx_attr->size = t->rx_size;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY | FI_MR_LOCAL | FI_MR_ENDPOINT;
	hints->domain_attr->control_progress = t->progress;
	hints->domain_attr->data_progress = t->progress;
	hints->domain_attr->threading = threading;
	hints->fabric_attr->prov_name = strdup(t->name);
	hints->ep_attr->protocol = t->protocol;
	hints->addr_format = t->addr_format;
}

static void check_match(const struct persona *p, const struct transport *t)
{
	assert_string_equal(p->info->fabric_attr->prov_name, t->name);
	assert_int_equal(p->info->addr_format, t->addr_format);
	assert_int_equal(p->info->ep_attr->protocol, t->protocol);
	assert_int_equal(p->info->caps & p->hints->caps, p->hints->caps);
	assert_true(p->info->tx_attr->size >= t->tx_size);
}

static void opens(struct persona *p, const struct transport *t)
{
	size_t min_multi_recv = 4096, len = sizeof(min_multi_recv);
	int fd = -1;

	persona_open_domain(p);
	persona_open_av(p, FI_AV_UNSPEC);
	persona_open_cq(p, (struct fi_cq_attr){ .format = FI_CQ_FORMAT_TAGGED,
				   .size = CQ_SIZE,
				   .wait_obj = t->by_fd ? FI_WAIT_FD : FI_WAIT_NONE,
				   .wait_cond = FI_CQ_COND_NONE });
	persona_open_ep(p, FI_TRANSMIT | FI_RECV);
	if (t->more_caps & FI_MULTI_RECV) {
		assert_ok(fi_getopt(&p->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
			&min_multi_recv, &len));
		min_multi_recv = 4096;
		assert_ok(fi_setopt(&p->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
			&min_multi_recv, sizeof(min_multi_recv)));
	}
	persona_enable(p);
	if (t->by_fd) {
		assert_ok(fi_control(&p->cq->fid, FI_GETWAIT, &fd));
		assert_true(fd >= 0);
	}
	persona_register(p, FI_REMOTE_READ | FI_REMOTE_WRITE, 11);
	persona_talk(p);
}

static void mercury(void **state)
{
	static const enum fi_threading levels[] = { FI_THREAD_SAFE, FI_THREAD_DOMAIN };
	struct persona p = { 0 };

	for (size_t i = 0; i < sizeof(transports) / sizeof(transports[0]); i++) {
		for (int j = 0; j < 2; j++) {
			hints_for(&p, &transports[i], levels[j]);
			persona_expect(
				&p, FI_VERSION(1, VERSION_MINOR), transports[i].name);
			check_match(&p, &transports[i]);
			opens(&p, &transports[i]);
			persona_close(&p);
		}
	}
}

/* A user gives an interface: it is the name of the domain, and its address the
 * source. */
static void mercury_on_an_interface(void **state)
{
	const struct transport *t = &transports[2];
	struct sockaddr_in lo = { .sin_family = AF_INET };
	struct persona p = { 0 };

	lo.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	hints_for(&p, t, FI_THREAD_SAFE);
	p.hints->src_addr = malloc(sizeof(lo));
	memcpy(p.hints->src_addr, &lo, sizeof(lo));
	p.hints->src_addrlen = sizeof(lo);
	persona_expect(&p, FI_VERSION(1, VERSION_MINOR), "tcp");
	check_match(&p, t);
	assert_string_equal(p.info->domain_attr->name, "lo");
	assert_memory_equal(p.info->src_addr, &lo, sizeof(lo));
	opens(&p, t);
	persona_close(&p);
}

/* Or a numeric address and a port of this side. */
static void mercury_on_an_address(void **state)
{
	const struct transport *t = &transports[3];
	struct persona p = { 0 };

	hints_for(&p, t, FI_THREAD_SAFE);
	assert_ok(fi_getinfo(FI_VERSION(1, VERSION_MINOR), "127.0.0.1", "0",
		FI_SOURCE | FI_NUMERICHOST, p.hints, &p.list));
	p.info = p.list;
	check_match(&p, t);
	assert_string_equal(p.info->domain_attr->name, "lo");
	opens(&p, t);
	persona_close(&p);
}

/* Another protocol than that of the name is refused. */
static void mercury_protocol_must_match(void **state)
{
	struct persona p = { 0 };

	for (size_t i = 0; i < sizeof(transports) / sizeof(transports[0]); i++) {
		hints_for(&p, &transports[i], FI_THREAD_SAFE);
		p.hints->ep_attr->protocol = FI_PROTO_PSMX2;
		persona_refused(&p, FI_VERSION(1, VERSION_MINOR), "ep_attr.protocol");
		persona_close(&p);
	}
}

/* DAOS names tcp;ofi_rxm unless told otherwise, and sets these before. Its hardware
 * names are told to be absent. */
static void daos(void **state)
{
	static const struct transport verbs = { "verbs;ofi_rxm", FI_SOCKADDR_IB,
		FI_PROTO_RXM, FI_PROGRESS_MANUAL, FI_MULTI_RECV, true, 0, 0 };
	struct persona p = { 0 };

	(void)setenv("FI_UNIVERSE_SIZE", "2048", 1);
	(void)setenv("FI_OFI_RXM_USE_SRX", "1", 0);
	(void)setenv("FI_OFI_RXM_DEF_TCP_WAIT_OBJ", "pollfd", 0);
	for (size_t i = 2; i < 4; i++) {
		hints_for(&p, &transports[i], FI_THREAD_DOMAIN);
		persona_expect(&p, FI_VERSION(1, VERSION_MINOR), transports[i].name);
		check_match(&p, &transports[i]);
		opens(&p, &transports[i]);
		persona_close(&p);
	}
	hints_for(&p, &verbs, FI_THREAD_DOMAIN);
	persona_refused(&p, FI_VERSION(1, VERSION_MINOR), " verbs here");
	persona_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mercury),
		cmocka_unit_test(mercury_on_an_interface),
		cmocka_unit_test(mercury_on_an_address),
		cmocka_unit_test(mercury_protocol_must_match),
		cmocka_unit_test(daos),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
