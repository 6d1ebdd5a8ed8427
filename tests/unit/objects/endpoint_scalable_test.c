/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scalable endpoints over a transport that the test plays: what contexts start is
 * written down by the core, and messages to a receive context come from the test.
 */
#include "endpoint_fixture.h"

#include "objects/endpoint/scalable/scalable.h"

/* ---- the transport of contexts ---- */

static struct fake *core_of(struct wf_ep *ctx)
{
	return fake_of(ctx->sep->core);
}

static ssize_t ctx_start(struct wf_ep *ctx, struct wf_op *op)
{
	struct fake *core = core_of(ctx);

	assert_true(op->kind != WF_OP_RECV && op->kind != WF_OP_TRECV);
	core->op = *op;
	core->starts++;
	return 0;
}

static int ctx_enable(struct wf_ep *ctx)
{
	assert_true(ctx->sep->core->enabled);
	assert_ptr_equal(ctx->av, ctx->sep->core->av);
	return 0;
}

static bool ctx_cancel(struct wf_ep *ctx, void *context)
{
	(void)ctx;
	(void)context;
	return false;
}

/* An unexpected message is one byte, in entry->peer_context. */
static void receive(struct fi_peer_rx_entry *entry, unsigned char byte)
{
	struct wf_ep *ctx = wf_ep_of_sink(
		wf_container_of(entry->srx, struct wf_srx_port, fid)->sink);

	*(unsigned char *)entry->iov[0].iov_base = byte;
	wf_srx_done(ctx, entry, 0, 1, 0, FI_ADDR_NOTAVAIL);
}

static unsigned int discarded;

static int start_kept(struct fi_peer_rx_entry *entry)
{
	unsigned char *kept = entry->peer_context;

	receive(entry, *kept);
	free(kept);
	return 0;
}

static int discard_kept(struct fi_peer_rx_entry *entry)
{
	discarded++;
	free(entry->peer_context);
	wf_srx_free_entry(entry);
	return 0;
}

static struct fi_ops_srx_peer srx_ops = {
	.size = sizeof(srx_ops),
	.start_msg = start_kept,
	.start_tag = start_kept,
	.discard_msg = discard_kept,
	.discard_tag = discard_kept,
};

static const struct wf_xfer_ops ctx_ops = {
	.lock_kind = WF_LOCK_SPIN,
	.start = ctx_start,
	.progress = fake_progress,
	.enable = ctx_enable,
	.cancel = ctx_cancel,
	.destroy = wf_sep_free_context,
	.srx_ops = &srx_ops,
};

/* As a transport does with a message to context @index; false: it was dropped. */
static bool arrive(struct fid_ep *sep, size_t index, uint64_t tag, unsigned char byte)
{
	struct wf_ep *core = wf_ep_of(sep);
	struct wf_sep_rx *place = &core->sep->rx[index];
	struct fi_peer_match_attr attr = {
		.addr = FI_ADDR_UNSPEC, .msg_size = 1, .tag = tag
	};
	struct fi_peer_rx_entry *entry = NULL;
	unsigned char *kept;
	bool gone;
	int ret;

	wf_lock(&core->sep->rx_lock);
	wf_lock(&core->lock);
	gone = place->gone;
	if (gone)
		goto out;
	ret = wf_srx_get_tag(&place->port.fid, &attr, &entry);
	if (!ret) {
		receive(entry, byte);
		goto out;
	}
	assert_int_equal(ret, -FI_ENOENT);
	kept = malloc(1);
	assert_non_null(kept);
	*kept = byte;
	entry->peer_context = kept;
	assert_int_equal(place->port.fid.owner_ops->queue_tag(entry), 0);
out:
	wf_unlock(&core->lock);
	wf_unlock(&core->sep->rx_lock);
	return !gone;
}

/* ---- */

enum { TX = 2, RX = 3 };

static struct fi_info *several(void)
{
	struct fi_info *info = new_info();

	info->caps = FI_MSG | FI_TAGGED;
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->tx_ctx_cnt = TX;
	info->ep_attr->rx_ctx_cnt = RX;
	info->tx_attr->size = 100;
	info->tx_attr->rma_iov_limit = 2;
	info->tx_attr->msg_order = FI_ORDER_SAS;
	info->rx_attr->size = 50;
	info->rx_attr->msg_order = FI_ORDER_SAS;
	return info;
}

static struct fid_ep *open_sep(struct domain_fixture *f, struct fi_info *info)
{
	struct fake *core = open_fake(f, info);

	assert_int_equal(wf_sep_init(&core->ep, &ctx_ops), 0);
	assert_int_equal(core->ep.fid.fid.fclass, FI_CLASS_SEP);
	return &core->ep.fid;
}

static struct fid_ep *open_tx(struct fid_ep *sep, int index)
{
	struct fid_ep *ep;

	assert_int_equal(fi_tx_context(sep, index, NULL, &ep, NULL), 0);
	assert_int_equal(ep->fid.fclass, FI_CLASS_TX_CTX);
	return ep;
}

static struct fid_ep *open_rx(struct fid_ep *sep, int index)
{
	struct fid_ep *ep;

	assert_int_equal(fi_rx_context(sep, index, NULL, &ep, NULL), 0);
	assert_int_equal(ep->fid.fclass, FI_CLASS_RX_CTX);
	return ep;
}

static void enable_with(struct fid_ep *ep, struct fid_cq *cq, uint64_t direction)
{
	assert_int_equal(fi_ep_bind(ep, &cq->fid, direction), 0);
	assert_int_equal(fi_enable(ep), 0);
}

/* SHC-001, SHC-002, SHC-005 */
static void test_contexts(void **state)
{
	struct fid_ep *sep = open_sep(*state, several()), *ep;
	struct fid_ep *tx = open_tx(sep, 1), *rx = open_rx(sep, 2);

	assert_int_equal(fi_tx_context(sep, TX, NULL, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_tx_context(sep, -1, NULL, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_rx_context(sep, RX, NULL, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_rx_context(sep, -1, NULL, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_tx_context(sep, 0, NULL, NULL, NULL), -FI_EINVAL);
	assert_int_equal(fi_rx_context(sep, 0, NULL, NULL, NULL), -FI_EINVAL);
	assert_int_equal(fi_tx_context(sep, 1, NULL, &ep, NULL), -FI_EBUSY);
	assert_int_equal(fi_rx_context(sep, 2, NULL, &ep, NULL), -FI_EBUSY);
	assert_int_equal(fi_close(&sep->fid), -FI_EBUSY);
	close_ep(tx);
	assert_int_equal(fi_close(&sep->fid), -FI_EBUSY);
	tx = open_tx(sep, 1);
	close_ep(rx);
	close_ep(tx);
	/* A context has none itself. */
	tx = open_tx(sep, 0);
	assert_int_equal(fi_tx_context(tx, 0, NULL, &ep, NULL), -FI_ENOSYS);
	assert_int_equal(fi_rx_context(tx, 0, NULL, &ep, NULL), -FI_ENOSYS);
	close_ep(tx);
	destroyed = 0;
	close_ep(sep);
	assert_int_equal(destroyed, 1);
}

/* EPA-005: as many contexts as the info has, one if it states none, none without the
 * direction. */
static void test_counts(void **state)
{
	struct fi_info *info = several();
	struct fid_ep *sep, *ep;

	info->caps = FI_MSG | FI_SEND;
	info->ep_attr->tx_ctx_cnt = 0;
	sep = open_sep(*state, info);
	assert_int_equal(fi_rx_context(sep, 0, NULL, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_tx_context(sep, 1, NULL, &ep, NULL), -FI_EINVAL);
	close_ep(open_tx(sep, 0));
	close_ep(sep);
}

/* SHC-003: what a context gets is written back, and never more than there is. */
static void test_attributes(void **state)
{
	struct fid_ep *sep = open_sep(*state, several()), *ep;
	struct fi_tx_attr tx = { .size = 10, .inject_size = 20 };
	struct fi_rx_attr rx = { .size = 7 };

	assert_int_equal(fi_tx_context(sep, 0, &tx, &ep, NULL), 0);
	assert_int_equal(tx.size, 10);
	assert_int_equal(tx.inject_size, 20);
	assert_int_equal(tx.iov_limit, 4);
	assert_int_equal(tx.rma_iov_limit, 2);
	assert_int_equal(tx.msg_order, FI_ORDER_SAS);
	assert_int_equal(tx.caps, FI_MSG | FI_TAGGED | FI_SEND);
	close_ep(ep);
	assert_int_equal(fi_rx_context(sep, 0, &rx, &ep, NULL), 0);
	assert_int_equal(rx.size, 7);
	assert_int_equal(rx.iov_limit, 3);
	assert_int_equal(rx.caps, FI_MSG | FI_TAGGED | FI_RECV);
	close_ep(ep);

	tx = (struct fi_tx_attr){ .size = 101 };
	assert_int_equal(fi_tx_context(sep, 0, &tx, &ep, NULL), -FI_EINVAL);
	tx = (struct fi_tx_attr){ .inject_size = 101 };
	assert_int_equal(fi_tx_context(sep, 0, &tx, &ep, NULL), -FI_EINVAL);
	tx = (struct fi_tx_attr){ .caps = FI_MSG | FI_RMA };
	assert_int_equal(fi_tx_context(sep, 0, &tx, &ep, NULL), -FI_EINVAL);
	tx = (struct fi_tx_attr){ .caps = FI_MSG | FI_RECV };
	assert_int_equal(fi_tx_context(sep, 0, &tx, &ep, NULL), -FI_EINVAL);
	tx = (struct fi_tx_attr){ .msg_order = FI_ORDER_SAS | FI_ORDER_RAW };
	assert_int_equal(fi_tx_context(sep, 0, &tx, &ep, NULL), -FI_EINVAL);
	rx = (struct fi_rx_attr){ .size = 51 };
	assert_int_equal(fi_rx_context(sep, 0, &rx, &ep, NULL), -FI_EINVAL);
	rx = (struct fi_rx_attr){ .caps = FI_MULTI_RECV };
	assert_int_equal(fi_rx_context(sep, 0, &rx, &ep, NULL), -FI_EINVAL);
	close_ep(sep);
}

static size_t option_of(struct fid_ep *ep, int name)
{
	size_t value = 0, len = sizeof(value);

	assert_int_equal(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, name, &value, &len), 0);
	return value;
}

/* OPT-006: what was set for the endpoint holds for contexts that are opened later. */
static void test_options(void **state)
{
	struct fid_ep *sep = open_sep(*state, several()), *tx, *rx;
	size_t least = 4711, injected = 12, longest = 90;

	assert_int_equal(fi_setopt(&sep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
				 &least, sizeof(least)),
		0);
	assert_int_equal(fi_setopt(&sep->fid, FI_OPT_ENDPOINT, FI_OPT_INJECT_MSG_SIZE,
				 &injected, sizeof(injected)),
		0);
	assert_int_equal(fi_setopt(&sep->fid, FI_OPT_ENDPOINT, FI_OPT_MAX_MSG_SIZE,
				 &longest, sizeof(longest)),
		0);
	tx = open_tx(sep, 0);
	rx = open_rx(sep, 0);
	assert_int_equal(option_of(rx, FI_OPT_MIN_MULTI_RECV), least);
	assert_int_equal(option_of(tx, FI_OPT_INJECT_MSG_SIZE), injected);
	assert_int_equal(option_of(tx, FI_OPT_MAX_MSG_SIZE), longest);
	close_ep(tx);
	close_ep(rx);
	close_ep(sep);
}

/* SHC-004, EP-006, EP-025 */
static void test_bindings(void **state)
{
	struct around a = open_around(*state);
	struct fid_ep *sep = open_sep(*state, several());
	struct fid_ep *tx = open_tx(sep, 0), *rx = open_rx(sep, 0);
	struct fake *core = of(sep);

	assert_int_equal(fi_scalable_ep_bind(sep, &a.cq->fid, FI_TRANSMIT | FI_RECV),
		-FI_EINVAL);
	assert_int_equal(fi_scalable_ep_bind(sep, &a.cntr->fid, FI_SEND), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(tx, &a.av->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(tx, &a.cq->fid, FI_RECV), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(tx, &a.cntr->fid, FI_RECV), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(rx, &a.cq->fid, FI_TRANSMIT), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(rx, &a.cntr->fid, FI_SEND), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(tx, &a.cq->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_ep_bind(tx, &a.cntr->fid, FI_SEND), 0);
	assert_int_equal(fi_enable(tx), -FI_ENOAV);
	assert_int_equal(fi_enable(sep), -FI_ENOAV);
	assert_int_equal(core->enables, 0);
	assert_int_equal(fi_scalable_ep_bind(sep, &a.av->fid, 0), 0);
	assert_int_equal(fi_scalable_ep_bind(sep, &a.av->fid, 0), -FI_EINVAL);

	/* The first context that is enabled has the endpoint enabled, too. */
	core->enable_result = -FI_EADDRINUSE;
	assert_int_equal(fi_enable(tx), -FI_EADDRINUSE);
	core->enable_result = 0;
	assert_int_equal(fi_enable(tx), 0);
	assert_int_equal(fi_enable(tx), -FI_EBUSY);
	enable_with(rx, a.cq, FI_RECV);
	assert_int_equal(core->enables, 2);
	assert_int_equal(fi_enable(sep), 0);
	assert_int_equal(fi_enable(sep), -FI_EBUSY);
	assert_int_equal(core->enables, 2);

	assert_int_equal(fi_close(&a.av->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&a.cq->fid), -FI_EBUSY);
	close_ep(tx);
	close_ep(rx);
	close_ep(sep);
	close_around(&a);
}

/* One way each, and the scalable endpoint none. */
static void test_calls(void **state)
{
	struct around a = open_around(*state);
	struct fid_ep *sep = open_sep(*state, several());
	struct fid_ep *tx = open_tx(sep, 1), *rx = open_rx(sep, 1);
	struct fake *core = of(sep);
	char buf[8];

	assert_int_equal(fi_send(tx, buf, 8, NULL, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_scalable_ep_bind(sep, &a.av->fid, 0), 0);
	enable_with(tx, a.cq, FI_TRANSMIT);
	enable_with(rx, a.cq, FI_RECV);
	assert_int_equal(fi_send(sep, buf, 8, NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_trecv(sep, buf, 8, NULL, 0, 0, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_recv(tx, buf, 8, NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_tsend(rx, buf, 8, NULL, 0, 0, NULL), -FI_ENOSYS);
	assert_int_equal(core->starts, 0);
	assert_int_equal(fi_tsend(tx, buf, 8, NULL, 5, 9, buf), 0);
	assert_int_equal(core->starts, 1);
	assert_int_equal(core->op.kind, WF_OP_TSEND);
	assert_int_equal(core->op.addr, 5);
	assert_int_equal(core->op.tag, 9);
	assert_ptr_equal(core->op.context, buf);
	assert_int_equal(fi_control(&sep->fid, FI_GETOPSFLAG, buf), -FI_ENOSYS);
	close_ep(tx);
	close_ep(rx);
	close_ep(sep);
	close_around(&a);
}

static void expect_entry(struct fid_cq *cq, void *context)
{
	struct fi_cq_tagged_entry entry;

	assert_int_equal(fi_cq_read(cq, &entry, 1), 1);
	assert_ptr_equal(entry.op_context, context);
}

/* SHC-006: each has a matching of its own, from the opening of the endpoint on. */
static void test_matching(void **state)
{
	struct around a = open_around(*state);
	struct fid_ep *sep = open_sep(*state, several()), *rx[RX];
	unsigned char buf[RX] = { 0 };

	/* The contexts have not been opened yet. */
	for (size_t i = 0; i < RX; i++)
		assert_true(arrive(sep, i, 7, (unsigned char)(10 + i)));
	assert_int_equal(fi_scalable_ep_bind(sep, &a.av->fid, 0), 0);
	for (int i = 0; i < RX; i++) {
		rx[i] = open_rx(sep, i);
		enable_with(rx[i], a.cq, FI_RECV);
	}
	for (int i = RX - 1; i >= 0; i--) {
		assert_int_equal(fi_trecv(rx[i], &buf[i], 1, NULL, FI_ADDR_UNSPEC, 7, 0,
					 &buf[i]),
			0);
		expect_entry(a.cq, &buf[i]);
		assert_int_equal(buf[i], 10 + i);
	}
	/* Posted to one, and not taken by what is for another. */
	assert_int_equal(
		fi_trecv(rx[1], &buf[1], 1, NULL, FI_ADDR_UNSPEC, 7, 0, &buf[1]), 0);
	assert_true(arrive(sep, 0, 7, 20));
	assert_true(arrive(sep, 2, 7, 22));
	assert_int_equal(fi_cq_read(a.cq, NULL, 0), -FI_EAGAIN);
	assert_true(arrive(sep, 1, 7, 21));
	expect_entry(a.cq, &buf[1]);
	assert_int_equal(buf[1], 21);
	for (int i = 0; i < RX; i++)
		close_ep(rx[i]);
	close_ep(sep);
	close_around(&a);
}

/* One that is closed takes what waits with it, and what comes is dropped until it is
 * opened and enabled again. */
static void test_closing(void **state)
{
	struct around a = open_around(*state);
	struct fid_ep *sep = open_sep(*state, several());
	struct fid_ep *rx = open_rx(sep, 1), *other = open_rx(sep, 0);
	unsigned char buf = 0;

	assert_int_equal(fi_scalable_ep_bind(sep, &a.av->fid, 0), 0);
	enable_with(rx, a.cq, FI_RECV);
	enable_with(other, a.cq, FI_RECV);
	assert_int_equal(fi_trecv(rx, &buf, 1, NULL, FI_ADDR_UNSPEC, 9, 0, &buf), 0);
	assert_true(arrive(sep, 1, 7, 1));
	assert_true(arrive(sep, 0, 7, 2));
	discarded = 0;
	close_ep(rx);
	assert_int_equal(discarded, 1);
	assert_false(arrive(sep, 1, 7, 3));
	assert_false(arrive(sep, 1, 9, 4));
	rx = open_rx(sep, 1);
	assert_false(arrive(sep, 1, 7, 5));
	enable_with(rx, a.cq, FI_RECV);
	assert_true(arrive(sep, 1, 7, 6));
	assert_int_equal(fi_trecv(rx, &buf, 1, NULL, FI_ADDR_UNSPEC, 7, 0, &buf), 0);
	expect_entry(a.cq, &buf);
	assert_int_equal(buf, 6);
	/* That of its neighbour is still there. */
	assert_int_equal(fi_trecv(other, &buf, 1, NULL, FI_ADDR_UNSPEC, 7, 0, &buf), 0);
	expect_entry(a.cq, &buf);
	assert_int_equal(buf, 2);
	close_ep(rx);
	close_ep(other);
	/* Messages for a context that was never opened are dropped with the
	 * endpoint. */
	assert_true(arrive(sep, 2, 7, 7));
	close_ep(sep);
	assert_int_equal(discarded, 2);
	close_around(&a);
}

/* EPA-006: what cannot be. */
static void test_refusals(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_info *info = several();
	struct fake *core;

	info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	core = open_fake(f, info);
	assert_int_equal(wf_sep_init(&core->ep, &ctx_ops), -FI_EINVAL);
	close_ep(&core->ep.fid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_contexts),
		DOMAIN_TEST(test_counts),
		DOMAIN_TEST(test_attributes),
		DOMAIN_TEST(test_options),
		DOMAIN_TEST(test_bindings),
		DOMAIN_TEST(test_calls),
		DOMAIN_TEST(test_matching),
		DOMAIN_TEST(test_closing),
		DOMAIN_TEST(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
