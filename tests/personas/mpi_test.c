/* SPDX-License-Identifier: BSD-2-Clause */
#include <strings.h>

#include "persona.h"

/*
 * Open MPI (its MTL and its BTL) and MPICH (ch4:ofi). The newest libfabric of ofiwg, of
 * this year, without hardware, answers as follows; "same" is what is asserted here.
 *
 *   Open MPI MTL     FI_HMEM refused, then tcp: same
 *   Open MPI BTL     FI_HMEM: shm, by which no other host is reached; here refused,
 * then tcp, as there where FI_HMEM is off MPICH            tcp first; udp;ofi_rxd has
 * the same score but for its preference MPICH by name    sockets, tcp;ofi_rxm, shm:
 * same
 */

/* Open MPI leaves out providers whose names begin with one of these, unless its user
 * says otherwise. */
static const char *const not_for_open_mpi[] = { "shm", "sockets", "tcp", "udp",
	"rstream", "usnic", "net" };

static bool left_out(const char *prov_name)
{
	for (size_t i = 0; i < sizeof(not_for_open_mpi) / sizeof(*not_for_open_mpi);
		i++)
		if (!strncasecmp(prov_name, not_for_open_mpi[i],
			    strlen(not_for_open_mpi[i])))
			return true;
	return false;
}

/* Everything in the answer is left out: a plain mpirun stays with what it had. */
static void check_all_left_out(const struct persona *p)
{
	for (const struct fi_info *it = p->list; it; it = it->next)
		if (!left_out(it->fabric_attr->prov_name))
			fail_msg("Open MPI would take %s unasked",
				it->fabric_attr->prov_name);
}

/* Users name providers of the answer in mtl_ofi_provider_include; those in scripts are
 * often older than tcp's own endpoints. */
static void check_can_be_included(const struct persona *p, const char *name)
{
	const struct fi_info *it = p->list;

	while (it && strncasecmp(name, it->fabric_attr->prov_name, strlen(name)) != 0)
		it = it->next;
	if (!it)
		fail_msg("Open MPI would not find %s", name);
}

static void mtl_hints(struct persona *p, enum fi_threading threading)
{
	struct fi_info *hints = p->hints = fi_allocinfo();

	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps =
		FI_MSG | FI_TAGGED | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_DIRECTED_RECV;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->tx_attr->op_flags = hints->rx_attr->op_flags = FI_COMPLETION;
	hints->domain_attr->threading = threading;
	hints->domain_attr->cq_data_size = sizeof(int);
	hints->domain_attr->av_type = FI_AV_MAP;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
}

/* With device memory first, by name of one provider before, then without. */
static void mtl_asks(struct persona *p, uint32_t version, enum fi_threading threading)
{
	mtl_hints(p, threading);
	p->hints->caps |= FI_HMEM;
	p->hints->domain_attr->mr_mode = FI_MR_HMEM | FI_MR_ALLOCATED;
	p->hints->fabric_attr->prov_name = strdup("efa");
	persona_refused(p, version, "prov_name: asked efa");
	free(p->hints->fabric_attr->prov_name);
	p->hints->fabric_attr->prov_name = NULL;
	persona_refused(p, version, "caps: asked FI_HMEM");
	fi_freeinfo(p->hints);
	mtl_hints(p, threading);
	p->hints->domain_attr->mr_mode = FI_MR_ALLOCATED;
	persona_expect(p, version, "tcp");
	check_all_left_out(p);
	check_can_be_included(p, "tcp;ofi_rxm");
}

/* The tag has room for 28 bits of communicator and 3 of protocol above 32 of tag. */
static void mtl_opens(struct persona *p)
{
	assert_true(p->info->caps & FI_DIRECTED_RECV);
	assert_true(p->info->domain_attr->cq_data_size >= sizeof(int));
	assert_true(p->info->ep_attr->mem_tag_format >> 63);
	persona_open_domain(p);
	persona_open_av(p, FI_AV_MAP);
	persona_open_cq(
		p, (struct fi_cq_attr){ .format = FI_CQ_FORMAT_TAGGED, .size = 100 });
	persona_open_ep(p, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION);
	persona_enable(p);
	persona_talk(p);
}

static void open_mpi_mtl(void **state)
{
	static const uint32_t versions[] = { FI_VERSION(1, 18), FI_VERSION(1, 9) };
	static const enum fi_threading levels[] = { FI_THREAD_DOMAIN, FI_THREAD_SAFE };
	struct persona p = { 0 };

	for (int i = 0; i < 4; i++) {
		mtl_asks(&p, versions[i & 1], levels[i >> 1]);
		mtl_opens(&p);
		persona_close(&p);
	}
}

/* It passes on the fabric and domain that its other part has open, and asks again
 * without them only when nothing is found. */
static void open_mpi_mtl_beside_btl(void **state)
{
	struct persona first = { 0 }, second = { 0 };

	mtl_asks(&first, FI_VERSION(1, 18), FI_THREAD_DOMAIN);
	mtl_opens(&first);
	mtl_hints(&second, FI_THREAD_DOMAIN);
	second.hints->fabric_attr->fabric = first.fabric;
	second.hints->domain_attr->domain = first.domain;
	persona_expect(&second, FI_VERSION(1, 18), "tcp");
	assert_ptr_equal(second.info->fabric_attr->fabric, first.fabric);
	assert_ptr_equal(second.info->domain_attr->domain, first.domain);
	persona_close(&second);
	persona_close(&first);
}

static void btl_hints(struct persona *p, uint64_t caps)
{
	struct fi_info *hints = p->hints = fi_allocinfo();

	hints->caps = caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->mr_mode =
		FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_ENDPOINT;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->tx_attr->iov_limit = hints->rx_attr->iov_limit = 1;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE | FI_COMPLETION;
	hints->rx_attr->op_flags = FI_COMPLETION;
}

/* One context each way of a scalable endpoint. */
static void open_mpi_btl(void **state)
{
	const uint64_t caps = FI_RMA | FI_ATOMIC | FI_MSG;
	struct persona p = { 0 };

	btl_hints(&p, caps | FI_HMEM);
	p.hints->domain_attr->mr_mode |= FI_MR_HMEM;
	persona_refused(&p, FI_VERSION(1, 18), "caps: asked FI_HMEM");
	fi_freeinfo(p.hints);
	btl_hints(&p, caps);
	persona_expect(&p, FI_VERSION(1, 18), "tcp");
	check_all_left_out(&p);
	assert_int_equal(p.info->caps & caps, caps);
	assert_int_equal(p.info->domain_attr->mr_mode &
				 ~(FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
					 FI_MR_ENDPOINT | FI_MR_HMEM),
		0);
	persona_open_domain(&p);
	persona_open_av(&p, FI_AV_MAP);
	persona_open_cq(&p, (struct fi_cq_attr){ .format = FI_CQ_FORMAT_CONTEXT });
	persona_open_scalable(&p, FI_TRANSMIT);
	persona_register(&p, FI_REMOTE_READ | FI_REMOTE_WRITE, 1);
	persona_close(&p);
}

/* MPICH. */

#define ATOMIC_ORDER                                                                   \
	(FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR |             \
		FI_ORDER_ATOMIC_WAW)
#define RMA_CAPS                                                                       \
	(FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_ATOMIC)

/* How far an entry is what it likes; -1 for what it cannot use. */
static int score_of(const struct fi_info *info)
{
	const uint64_t am = FI_MSG | FI_MULTI_RECV;
	int score = 0;

	if ((info->caps & am) != am)
		return -1;
	score += 1 + (info->domain_attr->cq_data_size >= 4);
	score += (info->caps & FI_TAGGED) != 0;
	score += (info->caps & FI_RMA) != 0;
	score += (info->caps & FI_ATOMIC) &&
		 (info->tx_attr->msg_order & ATOMIC_ORDER) == ATOMIC_ORDER;
	score -= strcmp(info->fabric_attr->prov_name, "shm") ? 0 : 2;
	return score - (strstr(info->fabric_attr->prov_name, ";ofi_rxd") ? 2 : 0);
}

/* It asks without hints, and takes the first of the best score that is reliable. */
static const struct fi_info *best_of(const struct persona *p)
{
	const struct fi_info *best = NULL;
	int best_score = -1;

	for (const struct fi_info *it = p->list; it; it = it->next)
		if (score_of(it) > best_score) {
			best = it;
			best_score = score_of(it);
		}
	return best;
}

static void mpich_hints(struct persona *p, const char *prov_name)
{
	struct fi_info *hints = p->hints = fi_allocinfo();

	hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_ASYNC_IOV | FI_RX_CQ_DATA;
	hints->caps = RMA_CAPS | FI_DIRECTED_RECV | FI_TAGGED | FI_MSG | FI_MULTI_RECV;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->domain_attr->mode = FI_RESTRICTED_COMP;
	hints->domain_attr->mr_mode = FI_MR_ENDPOINT;
	hints->tx_attr->op_flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
	hints->tx_attr->msg_order = FI_ORDER_SAS | ATOMIC_ORDER;
	hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->rx_attr->op_flags = FI_COMPLETION;
	hints->ep_attr->type = FI_EP_RDM;
	hints->ep_attr->mem_tag_format =
		(UINT64_C(0xf) << 60) | ((UINT64_C(1) << 31) - 1);
	hints->fabric_attr->prov_name = strdup(prov_name);
}

/* It compares the threading level exactly. */
static void mpich_opens(struct persona *p)
{
	bool scalable = p->info->domain_attr->max_ep_tx_ctx > 1 &&
			p->info->caps & FI_NAMED_RX_CTX;

	assert_int_equal(p->info->domain_attr->threading, FI_THREAD_DOMAIN);
	assert_int_equal(p->info->domain_attr->av_type, FI_AV_TABLE);
	persona_open_domain(p);
	persona_open_cq(p, (struct fi_cq_attr){ .format = FI_CQ_FORMAT_TAGGED });
	persona_open_cntr(p, 0, FI_WAIT_UNSPEC);
	persona_open_av(p, FI_AV_TABLE);
	if (scalable) {
		persona_open_scalable(p, FI_SEND | FI_SELECTIVE_COMPLETION);
		persona_talk_through(p, p->tx, p->rx);
		return;
	}
	persona_open_ep(p, FI_SEND | FI_RECV | FI_SELECTIVE_COMPLETION);
	assert_ok(fi_ep_bind(p->ep, &p->cntr[0]->fid, FI_READ | FI_WRITE));
	persona_enable(p);
	persona_talk(p);
}

/* Without hints, then with all capabilities of the one that it picked. */
static void mpich_by_score(void **state)
{
	static const uint32_t versions[] = { FI_VERSION(2, 6), FI_VERSION(1, 17),
		FI_VERSION(1, 6) };
	struct persona p = { 0 };

	for (int i = 0; i < 3; i++) {
		const struct fi_info *best;
		uint64_t caps;

		persona_expect(&p, versions[i], "tcp");
		best = best_of(&p);
		assert_non_null(best);
		assert_string_equal(best->fabric_attr->prov_name, "tcp");
		assert_int_equal(best->ep_attr->type, FI_EP_RDM);
		caps = best->caps;
		mpich_hints(&p, "tcp");
		p.hints->caps = caps;
		persona_expect(&p, versions[i], "tcp");
		assert_int_equal(p.info->caps & caps, caps);
		assert_int_equal(
			p.info->tx_attr->msg_order & ATOMIC_ORDER, ATOMIC_ORDER);
		mpich_opens(&p);
		persona_close(&p);
	}
}

/* A build for one provider names it. */
static void mpich_by_name(void **state)
{
	static const struct {
		const char *name;
		uint32_t version;
		int mr_mode;
		bool basic;
	} presets[] = {
		{ "sockets", FI_VERSION(1, 5), FI_MR_ENDPOINT, false },
		{ "tcp;ofi_rxm", FI_VERSION(1, 6),
			FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
				FI_MR_ENDPOINT,
			true },
		{ "shm", FI_VERSION(1, 18), FI_MR_ENDPOINT, false },
	};
	struct persona p = { 0 };

	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
		mpich_hints(&p, presets[i].name);
		p.hints->domain_attr->mr_mode = presets[i].mr_mode;
		if (presets[i].basic) { /* atomics are off there */
			p.hints->caps &= ~FI_ATOMIC;
			p.hints->tx_attr->msg_order = FI_ORDER_SAS;
		}
		persona_expect(&p, presets[i].version, presets[i].name);
		mpich_opens(&p);
		persona_close(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_mpi_mtl),
		cmocka_unit_test(open_mpi_mtl_beside_btl),
		cmocka_unit_test(open_mpi_btl),
		cmocka_unit_test(mpich_by_score),
		cmocka_unit_test(mpich_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
