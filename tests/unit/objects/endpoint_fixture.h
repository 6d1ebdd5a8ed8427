/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_OBJECTS_ENDPOINT_FIXTURE_H
#define TESTS_UNIT_OBJECTS_ENDPOINT_FIXTURE_H

#include "domain_fixture.h"

#include "objects/endpoint/endpoint.h"

/* The endpoint skeleton over a transport that only records its calls. */

struct fake {
	struct wf_ep ep;
	struct wf_op op; /* the last operation that was started */
	struct wf_op_atomic atomic;
	struct iovec iov[4], result[4], compare[4];
	struct fi_rma_iov rma[4];
	unsigned int starts, cancels, enables;
	int enable_result;
};

static unsigned int destroyed;

static struct fake *fake_of(struct wf_ep *ep)
{
	return wf_container_of(ep, struct fake, ep);
}

static void record_atomic(struct fake *fake, const struct wf_op_atomic *atomic)
{
	fake->atomic = *atomic;
	for (size_t i = 0; i < atomic->result_count; i++)
		fake->result[i] = atomic->result[i];
	for (size_t i = 0; i < atomic->compare_count; i++)
		fake->compare[i] = atomic->compare[i];
}

static ssize_t fake_start(struct wf_ep *ep, struct wf_op *op)
{
	struct fake *fake = fake_of(ep);

	fake->op = *op;
	for (size_t i = 0; i < op->iov_count; i++)
		fake->iov[i] = op->iov[i];
	for (size_t i = 0; i < op->rma_count; i++)
		fake->rma[i] = op->rma[i];
	if (op->atomic)
		record_atomic(fake, op->atomic);
	fake->starts++;
	return 0;
}

static void fake_progress(struct wf_ep *ep)
{
	(void)ep;
}

static int fake_enable(struct wf_ep *ep)
{
	fake_of(ep)->enables++;
	return fake_of(ep)->enable_result;
}

static bool fake_cancel(struct wf_ep *ep, void *context)
{
	(void)context;
	fake_of(ep)->cancels++;
	return false;
}

static void fake_destroy(struct wf_ep *ep)
{
	destroyed++;
	wf_ep_done(ep);
	free(fake_of(ep));
}

static const struct wf_xfer_ops fake_ops = {
	.lock_kind = WF_LOCK_SPIN,
	.start = fake_start,
	.progress = fake_progress,
	.enable = fake_enable,
	.cancel = fake_cancel,
	.destroy = fake_destroy,
};

/* The info with which an endpoint is opened; tests change it. */
static inline struct fi_info *new_info(void)
{
	struct fi_info *info = fi_allocinfo();

	assert_non_null(info);
	info->caps = FI_MSG | FI_MULTI_RECV;
	info->addr_format = FI_SOCKADDR_IN;
	info->ep_attr->type = FI_EP_DGRAM;
	info->ep_attr->max_msg_size = 1000;
	info->tx_attr->inject_size = 100;
	info->tx_attr->iov_limit = 4;
	info->rx_attr->iov_limit = 3;
	info->domain_attr->cq_data_size = 8;
	return info;
}

static inline struct fake *open_fake(struct domain_fixture *f, struct fi_info *info)
{
	struct fake *fake = calloc(1, sizeof(*fake));

	assert_non_null(fake);
	assert_int_equal(wf_ep_init(&fake->ep, &f->domain, info, &fake_ops, fake), 0);
	fi_freeinfo(info);
	return fake;
}

/* The transport was given an operation for address 5, which tests of calls name. */
static inline void assert_any_op(
	const struct fake *fake, enum wf_op_kind kind, uint64_t flags, size_t len)
{
	assert_int_equal(fake->op.kind, kind);
	assert_int_equal(fake->op.flags, flags);
	assert_int_equal(fake->op.len, len);
	assert_int_equal(fake->op.addr, 5);
}

struct around {
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_cntr *cntr;
};

static inline struct around open_around(struct domain_fixture *f)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cntr_attr cntr_attr = { .events = FI_CNTR_EVENTS_COMP };
	struct around a;

	assert_int_equal(wf_cq_open(&f->domain.fid, &cq_attr, &a.cq, NULL), 0);
	assert_int_equal(wf_av_open(&f->domain.fid, &av_attr, &a.av, NULL), 0);
	assert_int_equal(wf_cntr_open(&f->domain.fid, &cntr_attr, &a.cntr, NULL), 0);
	return a;
}

static inline void close_around(struct around *a)
{
	assert_int_equal(fi_close(&a->cq->fid), 0);
	assert_int_equal(fi_close(&a->av->fid), 0);
	assert_int_equal(fi_close(&a->cntr->fid), 0);
}

static inline struct fid_ep *open_enabled(struct domain_fixture *f, struct around *a,
	struct fi_info *info, uint64_t cq_flags)
{
	struct fid_ep *ep = &open_fake(f, info)->ep.fid;

	*a = open_around(f);
	assert_int_equal(
		fi_ep_bind(ep, &a->cq->fid, FI_TRANSMIT | FI_RECV | cq_flags), 0);
	assert_int_equal(fi_ep_bind(ep, &a->av->fid, 0), 0);
	assert_int_equal(fi_enable(ep), 0);
	return ep;
}

static inline struct fake *of(struct fid_ep *ep)
{
	return fake_of(wf_ep_of(ep));
}

static inline void close_ep(struct fid_ep *ep)
{
	assert_int_equal(fi_close(&ep->fid), 0);
}

#endif
