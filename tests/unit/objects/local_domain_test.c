/* SPDX-License-Identifier: BSD-2-Clause */
/* The domain of shm below another one: when it is opened, and why it is not used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "objects/endpoint/endpoint.h"
#include "objects/local/domain.h"
#include "objects/lower/find.h"
#include "../refuse.h"

REFUSE_CALL(struct fi_info *, "memory", fi_dupinfo, NULL, (const struct fi_info *info),
	(info))

#define VISIBLE __attribute__((visibility("default")))

static struct fi_provider layer_fi = { .name = "layer" };
static const struct wf_prov layer_prov = { .fi = &layer_fi };

/* ---- what is below ---- */

static struct fi_tx_attr below_tx;
static struct fi_rx_attr below_rx;
static struct fi_ep_attr below_ep;
static struct fi_domain_attr below_attr;
static struct fi_info below_info;
static struct wf_domain below_domain;
static struct {
	int find_err, open_err;
	bool is_foreign;
	unsigned int finds, opens, closes, gates, loans;
} sim;

VISIBLE int __wrap_wf_lower_find(
	uint32_t oldest, const struct fi_info *hints, struct fi_info **ret_list);
VISIBLE int __wrap_wf_lower_domain_open(struct wf_lower_domain *lower,
	const struct fi_provider *above, const char *net, struct fi_info *info);
VISIBLE void __wrap_wf_lower_domain_close(struct wf_lower_domain *lower);
VISIBLE bool __wrap_wf_domain_is_own(const struct fid_domain *fid);
VISIBLE void __wrap_wf_domain_share_gate(
	struct wf_domain *above, struct wf_domain *below);
VISIBLE void __wrap_wf_domain_lend_regions(
	struct wf_domain *above, struct wf_domain *below);

int __wrap_wf_lower_find(
	uint32_t oldest, const struct fi_info *hints, struct fi_info **ret_list)
{
	sim.finds++;
	assert_int_equal(oldest, FI_VERSION(1, 17));
	assert_string_equal(hints->fabric_attr->prov_name, "shm");
	assert_int_equal(hints->ep_attr->type, FI_EP_RDM);
	assert_int_equal(hints->domain_attr->caps, WF_LOCAL_LINKING);
	if (!sim.find_err)
		*ret_list = __real_fi_dupinfo(&below_info);
	return sim.find_err;
}

int __wrap_wf_lower_domain_open(struct wf_lower_domain *lower,
	const struct fi_provider *above, const char *net, struct fi_info *info)
{
	sim.opens++;
	assert_ptr_equal(above, &layer_fi);
	assert_string_equal(net, "shm");
	if (sim.open_err) {
		fi_freeinfo(info);
		return sim.open_err;
	}
	lower->info = info;
	lower->domain = &below_domain.fid;
	return 0;
}

void __wrap_wf_lower_domain_close(struct wf_lower_domain *lower)
{
	sim.closes += lower->info != NULL;
	fi_freeinfo(lower->info);
	lower->info = NULL;
}

bool __wrap_wf_domain_is_own(const struct fid_domain *fid)
{
	assert_ptr_equal(fid, &below_domain.fid);
	return !sim.is_foreign;
}

static struct fi_domain_attr above_attr;
static struct fi_info above_domain_info = { .domain_attr = &above_attr };
static struct wf_domain above_domain = { .prov = &layer_prov,
	.info = &above_domain_info };

void __wrap_wf_domain_share_gate(struct wf_domain *above, struct wf_domain *below)
{
	sim.gates += above == &above_domain && below == &below_domain;
}

void __wrap_wf_domain_lend_regions(struct wf_domain *above, struct wf_domain *below)
{
	sim.loans += above == &above_domain && below == &below_domain;
}

/* ---- what is above: an endpoint with the same attributes ---- */

static struct fi_tx_attr tx;
static struct fi_rx_attr rx;
static struct fi_ep_attr ep_attr;
static struct fi_domain_attr attr;
static struct fi_info info;
static struct wf_ep ep = { .info = &info };

static void alike(void)
{
	tx = (struct fi_tx_attr){ .inject_size = 64,
		.iov_limit = 4,
		.rma_iov_limit = 3,
		.msg_order = FI_ORDER_SAS };
	rx = (struct fi_rx_attr){ .iov_limit = 4 };
	ep_attr = (struct fi_ep_attr){ .type = FI_EP_RDM, .max_msg_size = 1000 };
	attr = (struct fi_domain_attr){ .cq_data_size = 8 };
	info = (struct fi_info){ .caps = FI_MSG | FI_TAGGED | FI_RMA,
		.tx_attr = &tx,
		.rx_attr = &rx,
		.ep_attr = &ep_attr,
		.domain_attr = &attr };
}

static int setup(void **state)
{
	static struct fi_fabric_attr fabric;

	alike();
	below_tx = tx;
	below_rx = rx;
	below_ep = ep_attr;
	below_attr = attr;
	below_info = info;
	below_info.tx_attr = &below_tx;
	below_info.rx_attr = &below_rx;
	below_info.ep_attr = &below_ep;
	below_info.domain_attr = &below_attr;
	below_info.fabric_attr = &fabric;
	memset(&sim, 0, sizeof(sim));
	return 0;
}

static int teardown(void **state)
{
	wf_local_forget();
	return 0;
}

static const char *why_not(struct wf_local_domain *domain)
{
	const char *why = "not asked";
	int ret = wf_local_domain_open(domain, &ep, &why);

	assert_int_equal(ret, why ? -FI_ENOSYS : 0);
	return why;
}

/* Each limit by one, with all others alike. */
static void an_endpoint_needs_all(void **state)
{
	struct wf_local_domain domain;

	wf_local_domain_init(&domain, &above_domain, 16);
	assert_int_equal(domain.max_atomic, 16);
	assert_null(why_not(&domain));
	assert_int_equal(sim.finds, 1);
	assert_int_equal(sim.opens, 1);
	assert_int_equal(sim.gates, 1);
	assert_int_equal(sim.loans, 1);
	info.caps |= FI_ATOMIC;
	assert_string_equal(why_not(&domain), "it lacks capabilities");
	alike();
	info.caps |= FI_COLLECTIVE; /* that is not asked of it */
	assert_null(why_not(&domain));
	domain.below.info->domain_attr->mr_mode |= FI_MR_LOCAL;
	assert_string_equal(why_not(&domain), "it needs more of the application");
	domain.below.info->domain_attr->mr_mode = 0;
	domain.below.info->mode = FI_CONTEXT;
	assert_string_equal(why_not(&domain), "it needs more of the application");
	domain.below.info->mode = 0;
	tx.inject_size++;
	assert_string_equal(why_not(&domain), "it injects less");
	alike();
	tx.iov_limit++;
	assert_string_equal(why_not(&domain), "it takes fewer buffers");
	alike();
	rx.iov_limit++;
	assert_string_equal(why_not(&domain), "it takes fewer buffers");
	alike();
	tx.rma_iov_limit++;
	assert_string_equal(why_not(&domain), "it takes fewer segments");
	alike();
	ep_attr.max_msg_size++;
	assert_string_equal(why_not(&domain), "its messages are shorter");
	alike();
	attr.cq_data_size++;
	assert_string_equal(why_not(&domain), "its remote CQ data is shorter");
	alike();
	tx.msg_order |= FI_ORDER_RAW;
	assert_string_equal(why_not(&domain), "it has another order");
	alike();
	assert_null(why_not(&domain));
	/* It was opened once. */
	assert_int_equal(sim.opens, 1);
	wf_local_domain_done(&domain);
	assert_int_equal(sim.closes, 1);
}

static void what_cannot_be_opened_is_tried_again(void **state)
{
	struct wf_local_domain domain;
	const char *why;

	wf_local_domain_init(&domain, &above_domain, 0);
	sim.find_err = -FI_ENODATA;
	assert_int_equal(wf_local_domain_open(&domain, &ep, &why), -FI_ENODATA);
	assert_string_equal(why, "its domain");
	assert_int_equal(wf_local_query(), -FI_ENODATA);
	assert_int_equal(sim.opens, 0);
	sim.find_err = 0;
	sim.open_err = -FI_ENOSPC;
	assert_int_equal(wf_local_domain_open(&domain, &ep, &why), -FI_ENOSPC);
	sim.open_err = 0;
	sim.is_foreign = true;
	assert_int_equal(wf_local_domain_open(&domain, &ep, &why), -FI_ENOSYS);
	assert_string_equal(why, "its domain");
	assert_int_equal(sim.closes, 1);
	assert_int_equal(sim.gates + sim.loans, 0);
	sim.is_foreign = false;
	/* A copy of the answer, and one for the domain. */
	for (unsigned int i = 1; i <= 2; i++) {
		refuse_one("memory", i, ENOMEM);
		assert_int_equal(wf_local_domain_open(&domain, &ep, &why), -FI_ENOMEM);
		assert_true(refuse_end());
	}
	assert_int_equal(wf_local_domain_open(&domain, &ep, &why), 0);
	assert_null(why);
	/* shm was asked until it had an answer. */
	assert_int_equal(sim.finds, 3);
	assert_int_equal(wf_local_query(), 0);
	assert_int_equal(sim.finds, 3);
	wf_local_domain_done(&domain);
	wf_local_forget();
	/* The hints need memory, too. */
	for (unsigned int i = 1; i <= 2; i++) {
		refuse_one("memory", i, ENOMEM);
		assert_int_equal(wf_local_query(), -FI_ENOMEM);
		assert_true(refuse_end());
	}
	assert_int_equal(sim.finds, 3);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(an_endpoint_needs_all),
		EACH(what_cannot_be_opened_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
