/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

#include <rdma/fi_ext.h>

/* How a peer's objects begin and end, and what they refuse: life_test PROVIDER. */

/* Each open call with FI_PEER, given a context. */

static int try_cq(struct side *side, void *context)
{
	struct fi_cq_attr attr = { .flags = FI_PEER };
	struct fid_cq *cq;

	return fi_cq_open(side->domain, &attr, &cq, context);
}

static int try_cntr(struct side *side, void *context)
{
	struct fi_cntr_attr attr = { .flags = FI_PEER };
	struct fid_cntr *cntr;

	return fi_cntr_open(side->domain, &attr, &cntr, context);
}

static int try_srx(struct side *side, void *context)
{
	struct fi_rx_attr attr = { .op_flags = FI_PEER };
	struct fid_ep *srx;

	return fi_srx_context(side->domain, &attr, &srx, context);
}

static int try_av(struct side *side, void *context)
{
	struct fi_av_attr attr = { .flags = FI_PEER };
	struct fid_av *av;

	return fi_av_open(side->domain, &attr, &av, context);
}

static int try_eq(struct side *side, void *context)
{
	struct fi_eq_attr attr = { .flags = FI_PEER };
	struct fid_eq *eq;

	return fi_eq_open(side->fabric, &attr, &eq, context);
}

static int try_domain(struct side *side, void *context)
{
	struct fid_domain *domain;

	return fi_domain2(side->fabric, side->info, &domain, FI_PEER, context);
}

/* All contexts are a size and a pointer. */
struct any_context {
	size_t size;
	void *object;
};

static const struct {
	int (*try)(struct side *side, void *context);
	size_t size;
	bool full_only;
} opens[] = {
	{ try_cq, sizeof(struct fi_peer_cq_context), false },
	{ try_cntr, sizeof(struct fi_peer_cntr_context), false },
	{ try_srx, sizeof(struct fi_peer_srx_context), false },
	{ try_av, sizeof(struct fi_peer_av_context), true },
	{ try_eq, sizeof(struct fi_peer_eq_context), true },
	{ try_domain, sizeof(struct fi_peer_domain_context), true },
};

/* P-04, P-07, 2 */
static void contexts_are_checked(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	/* An owner without operations, of any kind. */
	struct fid_peer_srx nothing = { .owner_ops = NULL };

	for (size_t i = 0; i < sizeof(opens) / sizeof(opens[0]); i++) {
		struct any_context context = { opens[i].size - 1, &nothing };

		if (opens[i].full_only && !rig_is_full)
			continue;
		assert_int_equal(opens[i].size, sizeof(context));
		assert_int_equal(opens[i].try(&rig->s, NULL), -FI_EINVAL);
		assert_int_equal(opens[i].try(&rig->s, &context), -FI_EINVAL);
		context.size = 0;
		assert_int_equal(opens[i].try(&rig->s, &context), -FI_EINVAL);
		context = (struct any_context){ sizeof(context), NULL };
		assert_int_equal(opens[i].try(&rig->s, &context), -FI_EINVAL);
	}
	rig_close(rig);
}

/* P-04: what a later owner has more is none of our business. */
static void longer_contexts(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	struct {
		struct fi_peer_cq_context known;
		uint64_t more[4];
	} context = { { sizeof(context), &rig->s.port.cq }, { 0 } };
	struct fi_cq_attr attr = { .flags = FI_PEER };
	struct fid_cq *cq;

	assert_int_equal(fi_cq_open(rig->s.domain, &attr, &cq, &context), 0);
	assert_int_equal(fi_close(&cq->fid), 0);
	rig_close(rig);
}

/* P-09, P-34, P-41, 8 */
static void peers_objects_cannot_be_read(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	struct side *side = &rig->r[0];
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	fi_addr_t src;
	char buf[8];
	int ret;

	ret = (int)fi_cq_read(side->cq, NULL, 0);
	assert_true(!ret || ret == -FI_EAGAIN);
	assert_int_equal(fi_cq_readfrom(side->cq, &entry, 1, &src), -FI_ENOSYS);
	assert_int_equal(fi_cq_readerr(side->cq, &err, 0), -FI_ENOSYS);
	assert_int_equal(fi_cq_sread(side->cq, &entry, 1, NULL, 0), -FI_ENOSYS);
	assert_int_equal(
		fi_cq_sreadfrom(side->cq, &entry, 1, &src, NULL, 0), -FI_ENOSYS);
	assert_int_equal(fi_cq_signal(side->cq), -FI_ENOSYS);
	(void)fi_cntr_read(side->rx_cntr);
	assert_int_equal(fi_cntr_add(side->rx_cntr, 1), -FI_ENOSYS);
	assert_int_equal(fi_cntr_set(side->rx_cntr, 1), -FI_ENOSYS);
	assert_int_equal(fi_cntr_adderr(side->rx_cntr, 1), -FI_ENOSYS);
	assert_int_equal(fi_cntr_seterr(side->rx_cntr, 1), -FI_ENOSYS);
	assert_int_equal(fi_cntr_wait(side->rx_cntr, 1, 0), -FI_ENOSYS);
	assert_int_equal(fi_recv(side->srx, buf, 8, NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_trecv(side->srx, buf, 8, NULL, 0, 0, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_recv(side->ep, buf, 8, NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_trecv(side->ep, buf, 8, NULL, 0, 0, 0, NULL), -FI_ENOSYS);
	rig_close(rig);
}

/* 5: reserved, and there is nothing to import into these. */
static void nothing_is_exported_by_call(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	struct side *side = &rig->r[0];
	struct fid *fids[] = { &side->fabric->fid, &side->domain->fid, &side->cq->fid,
		&side->rx_cntr->fid, &side->av->fid, &side->srx->fid, &side->ep->fid };
	struct fid *out = NULL;

	for (size_t i = 0; i < sizeof(fids) / sizeof(fids[0]); i++)
		assert_int_equal(fi_export_fid(fids[i], 0, &out, NULL), -FI_ENOSYS);
	assert_null(out);
	assert_true(fi_import_fid(&side->cq->fid, &side->av->fid, 0) < 0);
	rig_close(rig);
}

/* An EQ that keeps the last event, and answers for its length. */
static struct {
	struct fid_eq fid;
	uint32_t event;
	size_t len;
	unsigned int count;
	struct fi_eq_entry last;
} own_eq;

static ssize_t own_eq_write(
	struct fid_eq *fid, uint32_t event, const void *buf, size_t len, uint64_t flags)
{
	assert_ptr_equal(fid, &own_eq.fid);
	own_eq.event = event;
	own_eq.len = len;
	own_eq.count++;
	memcpy(&own_eq.last, buf,
		len < sizeof(own_eq.last) ? len : sizeof(own_eq.last));
	return (ssize_t)len;
}

static struct fi_ops_eq own_eq_ops = { .size = sizeof(own_eq_ops),
	.write = own_eq_write };

/* P-46, with an AV that reports insertions */
static void event_queue(void **state)
{
	struct fi_peer_eq_context context = { sizeof(context), &own_eq.fid };
	struct fi_eq_attr attr = { .flags = FI_PEER };
	struct fi_av_attr av_attr = { .flags = FI_EVENT };
	struct fi_eq_err_entry err;
	struct side *side;
	struct fid_eq *eq;
	struct fid_av *av;
	struct rig *rig;
	fi_addr_t addr;
	uint32_t event;

	rig = rig_open((struct rig_options){ 0 });
	side = &rig->r[0];
	own_eq.fid.ops = &own_eq_ops;
	assert_int_equal(fi_eq_open(side->fabric, &attr, &eq, &context), 0);
	memset(&context, 0xee, sizeof(context));
	assert_int_equal(fi_eq_read(eq, &event, &err, sizeof(err), 0), -FI_ENOSYS);
	assert_int_equal(fi_eq_readerr(eq, &err, 0), -FI_ENOSYS);
	assert_int_equal(fi_eq_sread(eq, &event, &err, sizeof(err), 0, 0), -FI_ENOSYS);

	assert_int_equal(fi_av_open(side->domain, &av_attr, &av, NULL), 0);
	assert_int_equal(av->fid.ops->bind(&av->fid, &eq->fid, 0), 0);
	assert_int_equal(fi_av_insert(av, rig->s.name, 1, &addr, 0, &addr), 0);
	assert_int_equal(own_eq.count, 1);
	assert_int_equal(own_eq.event, FI_AV_COMPLETE);
	assert_ptr_equal(own_eq.last.fid, &av->fid);
	assert_ptr_equal(own_eq.last.context, &addr);
	assert_int_equal(fi_close(&eq->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&av->fid), 0);
	assert_int_equal(fi_close(&eq->fid), 0);
	rig_close(rig);
}

/* P-20, P-21: an AV that returns addresses of another AV */
static int own_av_query(struct fid_peer_av *av, struct fi_av_attr *attr)
{
	attr->type = FI_AV_TABLE;
	attr->count = 5;
	return 0;
}

static fi_addr_t own_av_ep_addr(struct fid_peer_av *av, struct fid_ep *ep)
{
	return 3;
}

static void address_vector(void **state)
{
	struct fi_ops_av_owner ops = { sizeof(ops), own_av_query, own_av_ep_addr };
	struct fid_peer_av owner = { .owner_ops = &ops };
	struct fi_peer_av_context context = { sizeof(context), &owner };
	struct fi_av_attr attr = { .flags = FI_PEER };
	struct fid_av *av;
	struct rig *rig;
	fi_addr_t addr = 0;
	size_t len = 64;
	char buf[64];

	rig = rig_open((struct rig_options){ 0 });
	ops.size = offsetof(struct fi_ops_av_owner, ep_addr);
	assert_int_equal(fi_av_open(rig->s.domain, &attr, &av, &context), -FI_EINVAL);
	ops.size = sizeof(ops);
	assert_int_equal(fi_av_open(rig->s.domain, &attr, &av, &context), 0);
	memset(&context, 0xee, sizeof(context));
	assert_int_equal(fi_av_insert(av, rig->s.name, 1, &addr, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_av_remove(av, &addr, 1, 0), -FI_ENOSYS);
	assert_int_equal(fi_av_lookup(av, 0, buf, &len), -FI_ENOSYS);
	assert_null(fi_av_straddr(av, rig->s.name, buf, &len));
	assert_int_equal(fi_close(&av->fid), 0);
	rig_close(rig);
}

/* P-45, and its end does not end the owner's */
static void domain(void **state)
{
	struct fi_peer_domain_context context = { .size = sizeof(context) };
	struct fid_domain *peer;
	struct side *side;
	struct rig *rig;

	rig = rig_open((struct rig_options){ 0 });
	side = &rig->r[0];
	context.domain = rig->s.domain;
	assert_int_equal(
		fi_domain2(side->fabric, side->info, &peer, FI_PEER, &context), 0);
	assert_ptr_not_equal(peer, rig->s.domain);
	memset(&context, 0xee, sizeof(context));
	assert_int_equal(fi_close(&peer->fid), 0);
	rig_send(rig, 0, 1, 8);
	rig_until_queued(rig, 1);
	rig_close(rig);
}

/* Closing in every order. */

enum { OBJECTS = 6 };

static struct fid **object(struct side *side, int which)
{
	struct fid **all[OBJECTS] = {
		(struct fid **)(void *)&side->ep,
		(struct fid **)(void *)&side->srx,
		(struct fid **)(void *)&side->cq,
		(struct fid **)(void *)&side->rx_cntr,
		(struct fid **)(void *)&side->tx_cntr,
		(struct fid **)(void *)&side->av,
	};

	return all[which];
}

/* The fid is the first member of each. */
static void close_in_order(const int order[OBJECTS])
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	struct side *side = &rig->r[0];
	unsigned char buf[2][8];
	struct fid **fid;

	/* Something waits on either side. */
	assert_int_equal(
		owner_recv(&rig->a, buf[0], 8, FI_ADDR_UNSPEC, buf[0], FI_COMPLETION),
		0);
	rig_tsend(rig, 0, 7, 1, 8);
	rig_until_queued(rig, 1);
	rig_tsend(rig, 1, 8, 2, 8);
	rig_until_queued(rig, 2);

	for (int i = 0; i < OBJECTS; i++) {
		fid = object(side, order[i]);
		if (order[i] == 0) {
			assert_int_equal(side_close_ep(side), 0);
			assert_int_equal(rig->a.discards, 1);
			*fid = NULL;
		} else if (side->ep) {
			/* It is in use, and stays whole. */
			assert_int_equal(fi_close(*fid), -FI_EBUSY);
		} else {
			assert_int_equal(fi_close(*fid), 0);
			*fid = NULL;
		}
		rig_progress(rig);
	}
	/* P-08: the owner and its other peer go on. */
	assert_int_equal(owner_trecv(&rig->a, buf[1], 8, FI_ADDR_UNSPEC, 8, 0, buf[1],
				 FI_COMPLETION),
		0);
	(void)rig_expect(rig, buf[1], FI_TAGGED | FI_RECV, 8, 8);
	rig_send(rig, 1, 3, 8);
	(void)rig_expect(rig, buf[0], FI_MSG | FI_RECV, 8, 0);
	rig_close(rig);
}

static void permute(int order[OBJECTS], int from)
{
	if (from == OBJECTS)
		close_in_order(order);
	for (int i = from; i < OBJECTS; i++) {
		int swap = order[from];

		order[from] = order[i];
		order[i] = swap;
		permute(order, from + 1);
		order[i] = order[from];
		order[from] = swap;
	}
}

/* P-08, P-35. The counters and the AV take turns, or there would be 720 orders. */
static void closing_in_every_order(void **state)
{
	int order[OBJECTS] = { 0, 1, 2, 3, 4, 5 };

	if (rig_is_full) {
		for (int first = 0; first < OBJECTS; first++) {
			for (int i = 0; i < OBJECTS; i++)
				order[i] = (first + i) % OBJECTS;
			close_in_order(order);
			for (int i = 0; i < OBJECTS; i++)
				order[i] = (first + OBJECTS - i) % OBJECTS;
			close_in_order(order);
		}
		return;
	}
	permute(order, 0);
}

/* The sender is closed while its message waits: a complete message is delivered, and
 * one that was never received is dropped with its endpoint. */
static void sender_goes_first(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	unsigned char buf[8];

	rig_tsend(rig, 0, 1, 10, 8);
	rig_until_queued(rig, 1);
	assert_int_equal(side_close_ep(&rig->s), 0);
	rig->s.ep = NULL;
	rig_progress(rig);
	assert_int_equal(
		owner_trecv(&rig->a, buf, 8, FI_ADDR_UNSPEC, 1, 0, buf, FI_COMPLETION),
		0);
	(void)rig_expect(rig, buf, FI_TAGGED | FI_RECV, 8, 1);
	assert_true(rig_holds(buf, 10, 8));
	rig_close(rig);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contexts_are_checked),
		cmocka_unit_test(longer_contexts),
		cmocka_unit_test(peers_objects_cannot_be_read),
		cmocka_unit_test(nothing_is_exported_by_call),
		cmocka_unit_test(closing_in_every_order),
		cmocka_unit_test(sender_goes_first),
		cmocka_unit_test(event_queue),
		cmocka_unit_test(address_vector),
		cmocka_unit_test(domain),
	};

	rig_choose(argc, argv);
	return rig_run(tests, sizeof(tests) / sizeof(tests[0]), 0, 3);
}
