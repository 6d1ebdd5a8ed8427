/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <rdma/fi_collective.h>

#include "persona.h"

/*
 * Sandia OpenSHMEM, GASNet-EX, Charm++, ROFI (Lamellar) and NVSHMEM. What the newest
 * libfabric of ofiwg, without hardware, answers first:
 *
 *   Sandia OpenSHMEM  sockets, as only that has FI_FENCE and FI_RMA_EVENT; here tcp
 *   GASNet-EX         with FI_HMEM shm, by which no other host is reached; here
 *                     refused, then tcp, as there without FI_HMEM
 *   Charm++           tcp with FI_MR_BASIC: the same
 *   ROFI              tcp;ofi_rxm, which has FI_COLLECTIVE; here tcp
 *   NVSHMEM           nothing; shm for the hints that it has for efa
 */

#define BASIC (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

/* Sandia OpenSHMEM: it has no struct fi_rx_attr in its hints. */
static void shmem_hints(struct persona *p, int mr_mode)
{
	struct fi_info *hints = p->hints = fi_allocinfo();

	free(hints->rx_attr);
	hints->rx_attr = NULL;
	hints->caps = FI_RMA | FI_ATOMIC | FI_RMA_EVENT | FI_FENCE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->mr_mode = mr_mode;
	hints->domain_attr->mr_key_size = 1;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	hints->tx_attr->inject_size = sizeof(long double);
}

static void shmem_target(struct persona *p)
{
	struct fi_info *info = p->info;

	info->domain_attr->mr_key_size = 0;
	persona_open_domain(p);
	persona_open_av(p, FI_AV_TABLE);
	info->ep_attr->tx_ctx_cnt = 0;
	info->caps =
		FI_RMA | FI_ATOMIC | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT;
	info->tx_attr->op_flags = 0;
	info->mode = info->tx_attr->mode = info->rx_attr->mode = 0;
	info->tx_attr->caps = FI_RMA | FI_ATOMIC;
	info->rx_attr->caps = info->caps;
	persona_open_cq(p, (struct fi_cq_attr){ 0 });
	persona_open_ep(p, FI_SELECTIVE_COMPLETION | FI_TRANSMIT | FI_RECV);
	persona_enable(p);
	persona_register(p, FI_REMOTE_READ | FI_REMOTE_WRITE, 0);
}

/* Its contexts take a shared transmit context, made without attributes, where there may
 * be some. */
static void shmem_context(struct persona *p)
{
	bool shared = p->info->domain_attr->max_ep_stx_ctx > 0;
	struct fi_info *info = p->info;
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fid_cq *cq;

	if (shared)
		assert_ok(fi_stx_context(p->domain, NULL, &p->stx, NULL));
	persona_open_cntr(p, 0, FI_WAIT_UNSPEC);
	persona_open_cntr(p, 1, FI_WAIT_NONE);
	info->ep_attr->tx_ctx_cnt = shared ? FI_SHARED_CONTEXT : 0;
	info->caps = FI_RMA | FI_WRITE | FI_READ | FI_ATOMIC | FI_RECV;
	info->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	info->tx_attr->caps = info->caps;
	info->rx_attr->caps = FI_RECV;
	assert_ok(fi_cq_open(p->domain, &cq_attr, &cq, NULL));
	assert_ok(fi_endpoint(p->domain, info, &p->tx, NULL));
	if (shared)
		assert_ok(fi_ep_bind(p->tx, &p->stx->fid, 0));
	assert_ok(fi_ep_bind(p->tx, &p->cntr[0]->fid, FI_WRITE));
	assert_ok(fi_ep_bind(p->tx, &p->cntr[1]->fid, FI_READ));
	assert_ok(fi_ep_bind(
		p->tx, &cq->fid, FI_SELECTIVE_COMPLETION | FI_TRANSMIT | FI_RECV));
	assert_ok(fi_ep_bind(p->tx, &p->av->fid, 0));
	assert_ok(fi_enable(p->tx));
	assert_ok(fi_close(&p->tx->fid));
	p->tx = NULL;
	assert_ok(fi_close(&cq->fid));
}

static void sandia_openshmem(void **state)
{
	static const int modes[] = { 0, FI_MR_RMA_EVENT, BASIC | FI_MR_ENDPOINT };
	struct persona p = { 0 };

	for (int i = 0; i < 3; i++) {
		shmem_hints(&p, modes[i]);
		persona_expect(&p, FI_VERSION(1, 5), "tcp");
		assert_int_equal(p.info->domain_attr->data_progress, FI_PROGRESS_AUTO);
		assert_true(p.info->tx_attr->inject_size >= sizeof(long double));
		assert_int_equal(p.info->caps & p.hints->caps, p.hints->caps);
		shmem_target(&p);
		shmem_context(&p);
		persona_close(&p);
	}
}

/* GASNet-EX. */
static void gasnet_hints(struct persona *p)
{
	struct fi_info *hints = p->hints = fi_allocinfo();

	hints->caps = FI_RMA | FI_MSG | FI_MULTI_RECV;
	hints->mode = FI_CONTEXT;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->mr_mode = BASIC | FI_MR_ENDPOINT;
}

static void gasnet(void **state)
{
	char *provider, *domain;
	struct persona p = { 0 };

	gasnet_hints(&p);
	p.hints->caps |= FI_HMEM;
	p.hints->domain_attr->mr_mode |= FI_MR_HMEM;
	persona_refused(&p, FI_VERSION(1, 9), "caps: asked FI_HMEM");
	fi_freeinfo(p.hints);
	gasnet_hints(&p);
	persona_expect(&p, FI_VERSION(1, 9), "tcp");
	/* Again by name, without keys of the provider's if it can do without. */
	provider = strdup(p.info->fabric_attr->prov_name);
	domain = strdup(p.info->domain_attr->name);
	p.hints->fabric_attr->prov_name = provider;
	p.hints->domain_attr->name = domain;
	p.hints->domain_attr->mr_mode &= ~FI_MR_PROV_KEY;
	persona_expect(&p, FI_VERSION(1, 9), "tcp");
	assert_string_equal(p.info->domain_attr->name, domain);
	assert_true(p.info->tx_attr->inject_size > 0);
	persona_open_domain(&p);
	persona_open_av(&p, FI_AV_TABLE);
	persona_open_cq(&p, (struct fi_cq_attr){ .format = FI_CQ_FORMAT_DATA });
	p.info->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	persona_open_ep(&p, FI_TRANSMIT | FI_RECV);
	persona_enable(&p);
	persona_register(&p, FI_REMOTE_READ | FI_REMOTE_WRITE, 0);
	persona_close(&p);
}

/* Charm++ asks as 1.0 did, and knows only the two old ways of registering memory. */
static void charm(void **state)
{
	struct fi_info *hints;
	struct persona p = { 0 };
	int mode;

	hints = p.hints = fi_allocinfo();
	hints->mode = FI_CONTEXT;
	hints->domain_attr->mode = ~UINT64_C(0);
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->caps = FI_TAGGED | FI_RMA | FI_REMOTE_READ;
	persona_expect(&p, FI_VERSION(1, 0), "tcp");
	mode = p.info->domain_attr->mr_mode;
	assert_true(mode == 1 || mode == 2); /* FI_MR_BASIC, FI_MR_SCALABLE */
	assert_true(p.info->ep_attr->max_msg_size >= 65536);
	persona_open_domain(&p);
	persona_open_cq(&p, (struct fi_cq_attr){ .format = FI_CQ_FORMAT_TAGGED });
	persona_open_av(&p, FI_AV_TABLE);
	persona_open_ep(&p, FI_RECV | FI_TRANSMIT);
	persona_enable(&p);
	persona_register(&p, FI_REMOTE_READ, 1);
	persona_talk(&p);
	persona_close(&p);
}

static void rofi_hints(struct persona *p, uint64_t more_caps)
{
	struct fi_info *hints = p->hints = fi_allocinfo();

	hints->caps = FI_RMA | FI_ATOMIC | FI_MSG | more_caps;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->mr_mode = 1; /* FI_MR_BASIC */
	hints->mode = FI_CONTEXT;
	hints->ep_attr->type = FI_EP_RDM;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
}

static void rofi_opens(struct persona *p)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	static const uint64_t events[] = { FI_WRITE | FI_REMOTE_WRITE,
		FI_READ | FI_REMOTE_READ, FI_SEND, FI_RECV };
	struct fi_info *info = p->info;

	assert_ok(fi_fabric(info->fabric_attr, &p->fabric, NULL));
	assert_ok(fi_eq_open(p->fabric, &eq_attr, &p->eq, NULL));
	assert_ok(fi_domain(p->fabric, info, &p->domain, NULL));
	for (int i = 0; i < 4; i++)
		persona_open_cntr(p, i, FI_WAIT_UNSPEC);
	persona_open_cq(p, (struct fi_cq_attr){ .format = FI_CQ_FORMAT_CONTEXT,
				   .wait_obj = FI_WAIT_UNSPEC });
	persona_open_av(p, info->domain_attr->av_type);
	info->ep_attr->tx_ctx_cnt = 0;
	info->caps = FI_RMA | FI_WRITE | FI_READ | FI_REMOTE_WRITE | FI_REMOTE_READ;
	info->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	info->mode = info->tx_attr->mode = info->rx_attr->mode = 0;
	info->tx_attr->size = info->rx_attr->size = 1024;
	info->tx_attr->caps = info->caps;
	info->rx_attr->caps = FI_RECV;
	assert_ok(fi_endpoint(p->domain, info, &p->ep, NULL));
	assert_ok(fi_ep_bind(p->ep, &p->eq->fid, 0));
	assert_ok(fi_ep_bind(p->ep, &p->av->fid, 0));
	for (int i = 0; i < 4; i++)
		assert_ok(fi_ep_bind(p->ep, &p->cntr[i]->fid, events[i]));
	assert_ok(fi_ep_bind(
		p->ep, &p->cq->fid, FI_SELECTIVE_COMPLETION | FI_TRANSMIT | FI_RECV));
	persona_enable(p);
}

/* A group of all ranks, one insertion for each, with what the stack holds in the other
 * attributes. */
static struct fid_av_set *rofi_group(struct persona *p, fi_addr_t self)
{
	struct fi_av_set_attr attr;
	struct fid_av_set *set;

	memset(&attr, 0xa5, sizeof(attr));
	attr.count = 0;
	attr.start_addr = attr.end_addr = FI_ADDR_NOTAVAIL;
	attr.stride = 1;
	assert_ok(fi_av_set(p->av, &attr, &set, NULL));
	assert_ok(fi_av_set_insert(set, self));
	return set;
}

/* The event is read without a buffer. */
static void rofi_join(struct persona *p, struct fid_av_set *set, struct fid_mc **mc)
{
	fi_addr_t world;
	uint32_t event;
	ssize_t ret;

	assert_ok(fi_av_set_addr(set, &world));
	assert_ok(fi_join_collective(p->ep, world, set, 0, mc, NULL));
	do {
		ret = fi_eq_read(p->eq, &event, NULL, 0, 0);
	} while (ret == -FI_EAGAIN);
	assert_int_equal(ret, 0);
	assert_int_equal(event, FI_JOIN_COMPLETE);
}

static void rofi_barrier(struct persona *p, struct fid_mc *mc)
{
	struct fi_cq_entry entry;
	ssize_t ret;

	assert_ok(fi_barrier2(p->ep, fi_mc_addr(mc), FI_COMPLETION, p));
	do {
		ret = fi_cq_read(p->cq, &entry, 1);
	} while (ret == -FI_EAGAIN);
	assert_int_equal(ret, 1);
	assert_ptr_equal(entry.op_context, p);
}

/* Its endpoint has no FI_COLLECTIVE in its attributes, but its domain has. A group is
 * made and left for each allocation. */
static void rofi(void **state)
{
	struct fi_collective_attr attr = { .op = FI_NOOP, .datatype = FI_UINT8 };
	struct persona p = { 0 };
	struct fid_av_set *set;
	struct fid_mc *mc;
	char name[256];
	size_t len = sizeof(name);
	fi_addr_t self;

	rofi_hints(&p, FI_COLLECTIVE);
	persona_expect(&p, FI_VERSION(1, 20), "tcp");
	rofi_opens(&p);
	assert_ok(fi_query_collective(p.domain, FI_BROADCAST, &attr, 0));
	attr.op = FI_ATOMIC_READ;
	assert_ok(fi_query_collective(p.domain, FI_ALLGATHER, &attr, 0));
	assert_true(attr.max_members > 1);
	assert_ok(fi_getname(&p.ep->fid, name, &len));
	assert_int_equal(fi_av_insert(p.av, name, 1, &self, 0, NULL), 1);
	for (int i = 0; i < 3; i++) {
		set = rofi_group(&p, self);
		rofi_join(&p, set, &mc);
		rofi_barrier(&p, mc);
		assert_ok(fi_close(&mc->fid));
		assert_ok(fi_close(&set->fid));
	}
	persona_close(&p);
}

/* NVSHMEM wants device memory of every provider that it knows; none is here. */
static void nvshmem(void **state)
{
	static const struct {
		uint64_t caps;
		int mr_mode;
	} variants[] = {
		{ FI_ATOMIC, BASIC },
		{ FI_ATOMIC | FI_FENCE,
			FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY },
		{ FI_MSG | FI_SOURCE, BASIC | FI_MR_LOCAL | FI_MR_HMEM },
	};
	struct persona p = { 0 };

	for (int i = 0; i < 3; i++) {
		p.hints = fi_allocinfo();
		p.hints->caps = FI_RMA | FI_HMEM | variants[i].caps;
		p.hints->domain_attr->mr_mode = variants[i].mr_mode;
		p.hints->domain_attr->threading = FI_THREAD_SAFE;
		p.hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
		p.hints->ep_attr->type = FI_EP_RDM;
		persona_refused(&p, FI_VERSION(1, 5), "FI_HMEM");
		persona_close(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sandia_openshmem),
		cmocka_unit_test(gasnet),
		cmocka_unit_test(charm),
		cmocka_unit_test(rofi),
		cmocka_unit_test(nvshmem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
