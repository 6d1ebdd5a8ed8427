/* SPDX-License-Identifier: BSD-2-Clause */
#include "persona.h"

/*
 * aws-ofi-nccl, NIXL and oneCCL. The newest libfabric of ofiwg, without hardware,
 * refuses FI_HMEM with FI_TAGGED or with FI_REMOTE_COMM as is asserted here, and then
 * answers tcp.
 */

#define NCCL_MR                                                                        \
	(FI_MR_LOCAL | FI_MR_ENDPOINT | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |            \
		FI_MR_PROV_KEY)

static void nccl_hints(struct persona *p, bool devices)
{
	struct fi_info *hints = p->hints = fi_allocinfo();

	hints->caps = FI_LOCAL_COMM | FI_REMOTE_COMM | FI_TAGGED | FI_MSG;
	hints->domain_attr->mr_mode = NCCL_MR;
	hints->domain_attr->mr_key_size = 2;
	if (devices) {
		hints->caps |= FI_HMEM | FI_RMA | FI_READ;
		hints->domain_attr->mr_mode |= FI_MR_HMEM;
	}
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
}

/* Of a provider called tcp..., not these interfaces and not IPv6. */
static bool nccl_takes(const struct fi_info *info)
{
	if (strncmp(info->fabric_attr->prov_name, "tcp", 3))
		return true;
	return strcmp(info->domain_attr->name, "lo") &&
	       strcmp(info->domain_attr->name, "docker0") &&
	       info->addr_format == FI_SOCKADDR_IN;
}

/* Shared memory off: these answers count as done. No CUDA calls: the plugin only asks
 * where it got FI_HMEM, and fi_endpoint(3) has this answer where there is no CUDA. */
static void options_off(struct persona *p)
{
	bool off = false;
	int ret = fi_setopt(&p->ep->fid, FI_OPT_ENDPOINT,
		FI_OPT_SHARED_MEMORY_PERMITTED, &off, sizeof(off));

	assert_true(ret == 0 || ret == -FI_ENOPROTOOPT || ret == -FI_EOPNOTSUPP);
	assert_int_equal(fi_setopt(&p->ep->fid, FI_OPT_ENDPOINT,
				 FI_OPT_CUDA_API_PERMITTED, &off, sizeof(off)),
		-FI_EINVAL);
}

static void nccl_send_receive(void **state)
{
	static const uint32_t versions[] = { FI_VERSION(1, 20), FI_VERSION(1, 18),
		FI_VERSION(1, 6) };
	struct persona p = { 0 };

	for (int i = 0; i < 3; i++) {
		nccl_hints(&p, true);
		persona_refused(&p, versions[i], "caps: asked FI_HMEM");
		persona_close(&p);
	}
	nccl_hints(&p, false);
	persona_expect(&p, FI_VERSION(1, 6), "tcp");
	if (!persona_has_network())
		skip();
	assert_true(persona_pick(&p, nccl_takes));
	assert_string_equal(p.info->fabric_attr->prov_name, "tcp");
	persona_open_domain(&p);
	persona_open_av(&p, FI_AV_UNSPEC);
	persona_open_cq(&p,
		(struct fi_cq_attr){ .format = FI_CQ_FORMAT_TAGGED, .size = 12288 });
	persona_open_ep(&p, FI_TRANSMIT | FI_RECV);
	options_off(&p);
	persona_enable(&p);
	persona_register(&p, FI_SEND | FI_RECV, 0);
	persona_talk(&p);
	persona_close(&p);
}

/* Its other protocol cannot do without device memory. */
static void nccl_rdma(void **state)
{
	struct fi_info *hints;
	struct persona p = { 0 };

	hints = p.hints = fi_allocinfo();
	hints->caps = FI_MSG | FI_RMA | FI_HMEM | FI_LOCAL_COMM | FI_REMOTE_COMM;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = NCCL_MR | FI_MR_HMEM;
	hints->domain_attr->mr_key_size = 2;
	hints->domain_attr->threading = FI_THREAD_COMPLETION;
	hints->domain_attr->cq_data_size = 4;
	persona_refused(&p, FI_VERSION(1, 18), "caps: asked FI_HMEM");
	persona_close(&p);
}

static void nixl_hints(struct persona *p, uint64_t more_caps, int mr_mode)
{
	struct fi_info *hints = p->hints = fi_allocinfo();

	hints->caps = FI_MSG | FI_RMA | FI_LOCAL_COMM | FI_REMOTE_COMM | more_caps;
	hints->mode = FI_CONTEXT;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = mr_mode;
}

static bool is_tcp(const struct fi_info *info)
{
	return !strcmp(info->fabric_attr->prov_name, "tcp");
}

/* It looks for devices first, and opens each by the name of its domain alone: what is
 * first there must be what it found. Keys are addresses. */
static void nixl(void **state)
{
	struct fi_context2 context;
	struct persona p = { 0 };
	struct iovec iov = { p.memory + 64, 64 };
	struct fi_rma_iov rma_iov;
	struct fi_msg_rma msg = { .msg_iov = &iov,
		.iov_count = 1,
		.rma_iov = &rma_iov,
		.rma_iov_count = 1,
		.context = &context };
	struct fi_cq_data_entry entry;
	char *device, name[512];
	size_t len = sizeof(name);
	ssize_t ret;

	nixl_hints(&p, 0, ~3);
	persona_expect(&p, FI_VERSION(1, 18), "tcp");
	assert_true(persona_pick(&p, is_tcp));
	device = strdup(p.info->domain_attr->name);
	fi_freeinfo(p.hints);

	nixl_hints(&p, FI_HMEM, FI_MR_LOCAL | FI_MR_ALLOCATED);
	p.hints->domain_attr->name = strdup(device);
	p.hints->domain_attr->threading = FI_THREAD_COMPLETION;
	persona_refused(&p, FI_VERSION(1, 18), "caps: asked FI_HMEM");
	p.hints->caps &= ~FI_HMEM;
	persona_expect(&p, FI_VERSION(1, 18), "tcp");
	assert_string_equal(p.info->domain_attr->name, device);
	free(device);
	persona_open_domain(&p);
	persona_open_cq(&p, (struct fi_cq_attr){ .format = FI_CQ_FORMAT_DATA,
				    .wait_obj = FI_WAIT_NONE,
				    .size = 12288 });
	persona_open_av(&p, FI_AV_UNSPEC);
	persona_open_ep(&p, FI_TRANSMIT | FI_RECV);
	persona_enable(&p);
	persona_register(&p, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
		(uint64_t)(uintptr_t)p.memory);

	assert_ok(fi_getname(&p.ep->fid, name, &len));
	assert_int_equal(fi_av_insert(p.av, name, 1, &msg.addr, 0, NULL), 1);
	rma_iov.addr = p.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR
			       ? (uint64_t)(uintptr_t)p.memory
			       : 0;
	rma_iov.len = 64;
	rma_iov.key = fi_mr_key(p.mr);
	memset(p.memory + 64, 'x', 64);
	for (int i = 0; i < 2; i++) {
		do
			ret = fi_writemsg(p.ep, &msg, i ? FI_COMPLETION : FI_MORE);
		while (ret == -FI_EAGAIN && (fi_cq_read(p.cq, NULL, 0), true));
		assert_int_equal(ret, 0);
	}
	for (int left = 2; left; left--) {
		while ((ret = fi_cq_read(p.cq, &entry, 1)) == -FI_EAGAIN)
			;
		assert_int_equal(ret, 1);
	}
	assert_memory_equal(p.memory, p.memory + 64, 64);
	persona_close(&p);
}

/* oneCCL: progress by hand, nothing about memory; scalable endpoints where there are
 * any; shm by name for the processes of a node. */
static void one_ccl(void **state)
{
	static const char *const names[] = { NULL, "tcp", "shm" };
	struct fi_info *hints;
	struct persona p = { 0 };

	for (int i = 0; i < 3; i++) {
		bool scalable;

		hints = p.hints = fi_allocinfo();
		hints->mode = FI_CONTEXT;
		hints->ep_attr->type = FI_EP_RDM;
		hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
		hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
		hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
		hints->caps = FI_TAGGED;
		hints->fabric_attr->prov_name = names[i] ? strdup(names[i]) : NULL;
		persona_expect(&p, FI_VERSION(1, 10), names[i] ? names[i] : "tcp");
		scalable = p.info->domain_attr->max_ep_tx_ctx > 1;
		hints->ep_attr->tx_ctx_cnt = hints->ep_attr->rx_ctx_cnt = 1;
		persona_expect(&p, FI_VERSION(1, 10), names[i] ? names[i] : "tcp");
		persona_open_domain(&p);
		persona_open_av(&p, FI_AV_TABLE);
		persona_open_cq(
			&p, (struct fi_cq_attr){ .format = FI_CQ_FORMAT_TAGGED });
		if (scalable) {
			persona_open_scalable(&p, FI_SEND);
			persona_talk_through(&p, p.tx, p.rx);
		} else {
			persona_open_ep(&p, FI_SEND | FI_RECV);
			persona_enable(&p);
			persona_talk(&p);
		}
		persona_close(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nccl_send_receive),
		cmocka_unit_test(nccl_rdma),
		cmocka_unit_test(nixl),
		cmocka_unit_test(one_ccl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
