/* SPDX-License-Identifier: BSD-2-Clause */
/* Transmit contexts that endpoints share. */
#include "endpoint_fixture.h"

#include "objects/open/open.h"
#include "objects/endpoint/scalable/stx.h"
#include "objects/info/info.h"

/* The provider's result for the attributes; for the real function see
 * objects/info/check.c. */
static int check_answer;
static struct fi_tx_attr checked;

int wf_info_check(
	const struct wf_prov *prov, uint32_t version, const struct fi_info *info)
{
	(void)prov;
	(void)version;
	checked = *info->tx_attr;
	return check_answer;
}

enum { MOST = 2 };

static struct fi_tx_attr domain_tx;
static struct fi_rx_attr domain_rx;
static struct fi_ep_attr domain_ep = { .type = FI_EP_RDM, .max_msg_size = 1000 };

static int setup(void **state)
{
	struct domain_fixture *f;

	assert_int_equal(domain_fixture_setup(state), 0);
	f = *state;
	f->domain.fid.ops = &wf_domain_ops;
	f->domain_attr.max_ep_stx_ctx = MOST;
	domain_tx = (struct fi_tx_attr){
		.caps = FI_MSG | FI_SEND,
		.msg_order = FI_ORDER_SAS,
		.inject_size = 100,
		.size = 64,
		.iov_limit = 4,
		.rma_iov_limit = 2,
	};
	f->info.tx_attr = &domain_tx;
	f->info.rx_attr = &domain_rx;
	f->info.ep_attr = &domain_ep;
	f->info.caps = FI_MSG;
	check_answer = 0;
	return 0;
}

#define STX_TEST(name)                                                                 \
	cmocka_unit_test_setup_teardown(name, setup, domain_fixture_teardown)

static struct fid_stx *open_stx(struct domain_fixture *f, struct fi_tx_attr *attr)
{
	struct fid_stx *stx = NULL;

	assert_int_equal(fi_stx_context(&f->domain.fid, attr, &stx, attr), 0);
	assert_non_null(stx);
	return stx;
}

static struct fid_ep *open_plain(struct domain_fixture *f)
{
	struct fi_info *info = new_info();

	*info->tx_attr = domain_tx;
	return &open_fake(f, info)->ep.fid;
}

/* SHC-011: opened with attributes, or with those of the domain. */
static void test_open(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_tx_attr attr = { .size = 10, .op_flags = FI_INJECT_COMPLETE };
	struct fid_stx *stx;

	stx = open_stx(f, NULL);
	assert_int_equal(stx->fid.fclass, FI_CLASS_STX_CTX);
	assert_null(stx->fid.context);
	assert_int_equal(checked.size, 64);
	assert_int_equal(fi_close(&stx->fid), 0);

	/* What is left open is the domain's. */
	stx = open_stx(f, &attr);
	assert_ptr_equal(stx->fid.context, &attr);
	assert_int_equal(checked.size, 10);
	assert_int_equal(checked.inject_size, 100);
	assert_int_equal(checked.iov_limit, 4);
	assert_int_equal(checked.rma_iov_limit, 2);
	assert_int_equal(checked.caps, FI_MSG | FI_SEND);
	assert_int_equal(checked.msg_order, FI_ORDER_SAS);
	assert_int_equal(fi_close(&stx->fid), 0);

	stx = (void *)f;
	check_answer = -FI_ENODATA;
	assert_int_equal(
		fi_stx_context(&f->domain.fid, &attr, &stx, NULL), -FI_ENODATA);
	assert_ptr_equal(stx, (void *)f);
	assert_int_equal(fi_stx_context(&f->domain.fid, &attr, NULL, NULL), -FI_EINVAL);
	f->domain_attr.max_ep_stx_ctx = 0;
	assert_int_equal(fi_stx_context(&f->domain.fid, &attr, &stx, NULL), -FI_ENOSYS);
}

/* EP-015, EP-017 */
static void test_bind(void **state)
{
	struct domain_fixture *f = *state, *other;
	struct fid_stx *stx = open_stx(f, NULL), *foreign;
	struct fid_ep *ep = open_plain(f);
	struct fi_info *info = new_info();
	struct fid_ep *deaf;

	assert_int_equal(fi_ep_bind(ep, &stx->fid, FI_SEND), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(ep, &stx->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &stx->fid, 0), -FI_EINVAL);
	close_ep(ep);

	info->caps = FI_MSG | FI_RECV;
	deaf = &open_fake(f, info)->ep.fid;
	assert_int_equal(fi_ep_bind(deaf, &stx->fid, 0), -FI_EINVAL);
	close_ep(deaf);

	assert_int_equal(setup((void **)&other), 0);
	foreign = open_stx(other, NULL);
	ep = open_plain(f);
	assert_int_equal(fi_ep_bind(ep, &foreign->fid, 0), -FI_EDOMAIN);
	close_ep(ep);
	assert_int_equal(fi_close(&foreign->fid), 0);
	domain_fixture_teardown((void **)&other);
	assert_int_equal(fi_close(&stx->fid), 0);
}

/* An object with the class of a context that another library made. */
static void test_foreign_object(void **state)
{
	struct fi_ops ops = { .size = sizeof(ops) };
	struct fid fid = { .fclass = FI_CLASS_STX_CTX, .ops = &ops };
	struct fid_ep *ep = open_plain(*state);

	assert_int_equal(fi_ep_bind(ep, &fid, 0), -FI_EINVAL);
	close_ep(ep);
}

/* SHC-012: an endpoint has no more than the context. */
static void test_subset(void **state)
{
	static const struct fi_tx_attr beyond[] = {
		{ .caps = FI_RMA },
		{ .msg_order = FI_ORDER_RAW },
		{ .inject_size = 51 },
		{ .size = 33 },
		{ .iov_limit = 4 },
		{ .rma_iov_limit = 2 },
	};
	struct fi_tx_attr attr = {
		.inject_size = 50, .size = 32, .iov_limit = 3, .rma_iov_limit = 1
	};
	struct domain_fixture *f = *state;
	struct fid_stx *stx = open_stx(f, &attr);
	struct fi_info *info;
	struct fid_ep *ep;

	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		info = new_info();
		*info->tx_attr = beyond[i];
		ep = &open_fake(f, info)->ep.fid;
		assert_int_equal(fi_ep_bind(ep, &stx->fid, 0), -FI_EINVAL);
		close_ep(ep);
	}
	info = new_info();
	*info->tx_attr = attr;
	ep = &open_fake(f, info)->ep.fid;
	assert_int_equal(fi_ep_bind(ep, &stx->fid, 0), 0);
	close_ep(ep);
	assert_int_equal(fi_close(&stx->fid), 0);
}

/* As many endpoints as the domain states, and the context may be closed before them
 * (SHC-011). */
static void test_users(void **state)
{
	struct domain_fixture *f = *state;
	struct fid_stx *stx = open_stx(f, NULL);
	struct fid_ep *ep[MOST + 1];

	for (int i = 0; i < MOST; i++) {
		ep[i] = open_plain(f);
		assert_int_equal(fi_ep_bind(ep[i], &stx->fid, 0), 0);
	}
	ep[MOST] = open_plain(f);
	assert_int_equal(fi_ep_bind(ep[MOST], &stx->fid, 0), -FI_ENOSPC);
	close_ep(ep[0]);
	assert_int_equal(fi_ep_bind(ep[MOST], &stx->fid, 0), 0);
	assert_int_equal(fi_close(&stx->fid), 0);
	for (int i = 1; i <= MOST; i++)
		close_ep(ep[i]);
}

/* Flags and options of the context are those of endpoints that have none. */
static void test_inherited(void **state)
{
	struct domain_fixture *f = *state;
	struct fid_stx *stx = open_stx(f, NULL);
	struct fid_ep *ep = open_plain(f), *own;
	struct fi_info *info = new_info();
	uint64_t flags = FI_TRANSMIT | FI_DELIVERY_COMPLETE;
	size_t inject = 40, len = sizeof(inject);

	assert_int_equal(fi_enable((struct fid_ep *)stx), 0);
	assert_int_equal(fi_control(&stx->fid, FI_SETOPSFLAG, &flags), 0);
	flags = FI_TRANSMIT;
	assert_int_equal(fi_control(&stx->fid, FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags & FI_DELIVERY_COMPLETE, FI_DELIVERY_COMPLETE);
	assert_int_equal(fi_control(&stx->fid, FI_BACKLOG, &flags), -FI_ENOSYS);
	assert_int_equal(fi_setopt(&stx->fid, FI_OPT_ENDPOINT, FI_OPT_INJECT_MSG_SIZE,
				 &inject, sizeof(inject)),
		0);
	assert_int_equal(fi_ep_bind(ep, &stx->fid, 0), 0);
	flags = FI_TRANSMIT;
	assert_int_equal(fi_control(&ep->fid, FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags & FI_DELIVERY_COMPLETE, FI_DELIVERY_COMPLETE);
	inject = 0;
	assert_int_equal(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_INJECT_MSG_SIZE,
				 &inject, &len),
		0);
	assert_int_equal(inject, 40);

	/* One that came with some keeps them. */
	*info->tx_attr = domain_tx;
	info->tx_attr->op_flags = FI_TRANSMIT_COMPLETE;
	own = &open_fake(f, info)->ep.fid;
	assert_int_equal(fi_ep_bind(own, &stx->fid, 0), 0);
	flags = FI_TRANSMIT;
	assert_int_equal(fi_control(&own->fid, FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags & (FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE),
		FI_TRANSMIT_COMPLETE);
	close_ep(own);
	close_ep(ep);
	assert_int_equal(fi_close(&stx->fid), 0);
}

/* EP-018: an endpoint that may use one does not work without. */
static void test_needed(void **state)
{
	struct domain_fixture *f = *state;
	struct fid_stx *stx = open_stx(f, NULL);
	struct around a = open_around(f);
	struct fi_info *info = new_info();
	struct fid_ep *ep;

	*info->tx_attr = domain_tx;
	info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	ep = &open_fake(f, info)->ep.fid;
	assert_int_equal(fi_ep_bind(ep, &a.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(ep, &a.av->fid, 0), 0);
	assert_true(fi_enable(ep) < 0);
	assert_int_equal(of(ep)->enables, 0);
	assert_int_equal(fi_ep_bind(ep, &stx->fid, 0), 0);
	assert_int_equal(fi_enable(ep), 0);
	close_ep(ep);
	close_around(&a);
	assert_int_equal(fi_close(&stx->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STX_TEST(test_open),
		STX_TEST(test_bind),
		STX_TEST(test_foreign_object),
		STX_TEST(test_subset),
		STX_TEST(test_users),
		STX_TEST(test_inherited),
		STX_TEST(test_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
