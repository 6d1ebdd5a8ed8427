/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>

#include "rig.h"
#include "srx_fixture.h"

#include "objects/peer/open.h"

/*
 * Our objects as the owner of two peers that know nothing of us: objects_test PROVIDER.
 * The endpoint that owns the receives has no transport: all messages come by the peers.
 */

#define M (FI_MSG | FI_RECV)
#define T (FI_TAGGED | FI_RECV)

struct ours {
	struct domain_fixture *f;
	struct fk_around around;
	struct fk *ep;
	struct wf_srx *srx;
	struct wf_srx_port port[2];
	struct fid_peer_cq cq[2];
	struct fid_peer_cntr cntr[2];
	struct side r[2], s;
	struct owner b; /* of the sender */
	fi_addr_t to[2], from;
	struct fid_cntr *tx_cntr;
	struct fid_peer_cntr tx[2];
};

static struct ours *ours_open(bool unknown)
{
	const struct rig_options options = { 0 };
	struct fi_cntr_attr cntr_attr = { 0 };
	struct ours *o = calloc(1, sizeof(*o));

	assert_non_null(o);
	assert_int_equal(domain_fixture_setup((void **)&o->f), 0);
	o->around = fk_open_around(o->f);
	o->ep = fk_open_enabled(&o->around, FI_DIRECTED_RECV | FI_MULTI_RECV);
	o->srx = wf_ep_srx(&o->ep->ep);
	assert_non_null(o->srx);
	assert_int_equal(
		wf_cntr_open(&o->f->domain.fid, &cntr_attr, &o->tx_cntr, NULL), 0);
	owner_init(&o->b);
	side_open(&o->s, rig_provider, &o->b, &options);
	for (int i = 0; i < 2; i++) {
		wf_ep_srx_export(o->srx, &o->port[i], &o->ep->ep, NULL);
		wf_cq_export(wf_cq_of(o->around.cq), &o->cq[i]);
		wf_cntr_export(wf_cntr_of(o->around.cntr), &o->cntr[i]);
		/* P-10 */
		assert_int_equal(o->port[i].fid.ep_fid.fid.fclass, FI_CLASS_PEER_SRX);
		assert_int_equal(o->cq[i].fid.fclass, FI_CLASS_PEER_CQ);
		assert_int_equal(o->cntr[i].fid.fclass, FI_CLASS_PEER_CNTR);
		wf_cntr_export(wf_cntr_of(o->tx_cntr), &o->tx[i]);
		o->r[i].srx_owner = &o->port[i].fid;
		o->r[i].cq_owner = &o->cq[i];
		o->r[i].rx_owner = &o->cntr[i];
		o->r[i].tx_owner = &o->tx[i];
		/* Not the ordinary one of the rig, which would need an owner. */
		side_open(&o->r[i], rig_provider, NULL, &options);
		o->to[i] = side_insert(&o->s, &o->r[i]);
		if (!unknown)
			o->from = side_insert(&o->r[i], &o->s);
	}
	return o;
}

static void close_peer(struct ours *o, int i)
{
	struct fid_ep *ep = o->r[i].ep;

	wf_srx_drain(&o->port[i]);
	wf_srx_lock(o->srx);
	assert_int_equal(fi_close(&ep->fid), 0);
	wf_srx_unlock(o->srx);
	o->r[i].ep = NULL;
	o->r[i].owner = NULL;
	side_close(&o->r[i]);
	wf_cq_unexport(&o->cq[i]);
	wf_cntr_unexport(&o->cntr[i]);
	wf_cntr_unexport(&o->tx[i]);
}

static void ours_close(struct ours *o)
{
	for (int i = 0; i < 2; i++)
		if (o->r[i].ep)
			close_peer(o, i);
	side_close(&o->s);
	owner_done(&o->b);
	fk_close(o->ep);
	fk_close_around(&o->around);
	assert_int_equal(fi_close(&o->tx_cntr->fid), 0);
	assert_int_equal(domain_fixture_teardown((void **)&o->f), 0);
	free(o);
}

/* What a provider that links others does in its progress. */
static void let_progress(struct ours *o)
{
	wf_srx_lock(o->srx);
	for (int i = 0; i < 2; i++)
		if (o->r[i].cq)
			(void)fi_cq_read(o->r[i].cq, NULL, 0);
	wf_srx_unlock(o->srx);
}

static void send_to(struct ours *o, int i, bool tagged, uint64_t tag,
	unsigned char first, size_t len)
{
	unsigned char buf[256];
	struct owner_result result;
	ssize_t ret;

	for (size_t n = 0; n < len; n++)
		buf[n] = (unsigned char)(first + n);
	ret = tagged ? fi_tsend(o->s.ep, buf, len, NULL, o->to[i], tag, buf)
		     : fi_send(o->s.ep, buf, len, NULL, o->to[i], buf);
	assert_int_equal(ret, 0);
	assert_true(owner_read(&o->b, &result));
	let_progress(o);
}

/* 4: both flows, with both peers */
static void flows(void **state)
{
	struct ours *o = ours_open(false);
	struct fid_ep *ep = &o->ep->ep.fid;
	unsigned char buf[4][16];

	assert_int_equal(fi_trecv(ep, buf[0], 16, NULL, 0, 1, 0, buf[0]), 0);
	assert_int_equal(fi_recv(ep, buf[1], 16, NULL, FI_ADDR_UNSPEC, buf[1]), 0);
	send_to(o, 0, true, 1, 10, 8);
	fk_expect(&o->around, buf[0], T, 8, 1);
	send_to(o, 1, false, 0, 20, 16);
	fk_expect(&o->around, buf[1], M, 16, 0);
	assert_true(fk_holds(buf[0], 10, 8) && fk_holds(buf[1], 20, 16));

	send_to(o, 1, true, 2, 30, 8);
	send_to(o, 0, false, 0, 40, 9);
	fk_expect_none(&o->around);
	assert_int_equal(
		fi_trecv(ep, buf[2], 16, NULL, FI_ADDR_UNSPEC, 2, 0, buf[2]), 0);
	fk_expect(&o->around, buf[2], T, 8, 2);
	assert_int_equal(fi_recv(ep, buf[3], 16, NULL, FI_ADDR_UNSPEC, buf[3]), 0);
	fk_expect(&o->around, buf[3], M, 9, 0);
	assert_true(fk_holds(buf[2], 30, 8) && fk_holds(buf[3], 40, 9));
	/* P-40: the owner's own counters. */
	assert_int_equal(fi_cntr_read(o->around.cntr), 4);
	assert_int_equal(fi_cntr_read(o->tx_cntr), 0);
	ours_close(o);
}

/* P-62, P-63 */
static void unknown_source(void **state)
{
	struct ours *o = ours_open(true);
	bool told = strcmp(rig_provider, "testpeer117") != 0;
	unsigned char buf[8];

	send_to(o, 0, true, 1, 10, 8);
	assert_int_equal(fi_trecv(&o->ep->ep.fid, buf, 8, NULL, 0, 1, 0, buf), 0);
	let_progress(o);
	fk_expect_none(&o->around);
	assert_int_equal(side_insert(&o->r[0], &o->s), 0);
	if (told)
		fk_expect(&o->around, buf, T, 8, 1);
	else
		fk_expect_none(&o->around);
	ours_close(o);
}

/* P-59 */
static void peek_claim_discard(void **state)
{
	struct ours *o = ours_open(false);
	struct fid_ep *ep = &o->ep->ep.fid;
	unsigned char buf[8];

	for (int i = 0; i < 3; i++)
		send_to(o, i % 2, true, 1, (unsigned char)i, 8);
	/* The size, also of messages whose size is passed only when they are queued. */
	assert_int_equal(fk_trecvmsg(ep, NULL, 0, FI_ADDR_UNSPEC, 1, 0, &buf[0],
				 FI_PEEK | FI_DISCARD),
		0);
	fk_expect(&o->around, &buf[0], T, 8, 1);
	assert_int_equal(fk_trecvmsg(ep, NULL, 0, FI_ADDR_UNSPEC, 1, 0, &buf[1],
				 FI_PEEK | FI_CLAIM),
		0);
	fk_expect(&o->around, &buf[1], T, 8, 1);
	assert_int_equal(fk_trecvmsg(ep, NULL, 0, FI_ADDR_UNSPEC, 1, 0, &buf[2],
				 FI_PEEK | FI_CLAIM),
		0);
	fk_expect(&o->around, &buf[2], T, 8, 1);
	assert_int_equal(fk_trecvmsg(ep, buf, 8, FI_ADDR_UNSPEC, 1, 0, &buf[2],
				 FI_CLAIM | FI_COMPLETION),
		0);
	fk_expect(&o->around, &buf[2], T, 8, 1);
	assert_true(fk_holds(buf, 2, 8));
	/* The second stays reserved, and goes with its peer. */
	ours_close(o);
}

/* P-31, P-55 */
static void errors(void **state)
{
	struct ours *o = ours_open(false);
	struct fid_ep *ep = &o->ep->ep.fid;
	struct peer_test_ops *ops;
	struct fi_cq_err_entry err;
	unsigned char buf[8];

	for (int unexpected = 0; unexpected < 2; unexpected++) {
		if (unexpected)
			send_to(o, 1, true, 1, 10, 20);
		assert_int_equal(
			fi_trecv(ep, buf, 8, NULL, FI_ADDR_UNSPEC, 1, 0, buf), 0);
		if (!unexpected)
			send_to(o, 1, true, 1, 10, 20);
		err = fk_expect_err(&o->around, buf, T, FI_ETRUNC);
		assert_int_equal(err.olen, 12);
	}
	assert_int_equal(
		fi_open_ops(&o->r[0].ep->fid, PEER_OPS, 0, (void **)&ops, NULL), 0);
	ops->fail_next(o->r[0].ep, FI_EIO);
	assert_int_equal(fi_recv(ep, buf, 8, NULL, FI_ADDR_UNSPEC, buf), 0);
	send_to(o, 0, false, 0, 0, 8);
	err = fk_expect_err(&o->around, buf, M, FI_EIO);
	assert_string_equal(err.err_data, "test");
	assert_int_equal(fi_cntr_readerr(o->around.cntr), 3);
	assert_int_equal(fi_cntr_read(o->around.cntr), 0);
	ours_close(o);
}

/* P-64 */
static void multi_receive(void **state)
{
	struct ours *o = ours_open(false);
	struct fid_ep *ep = &o->ep->ep.fid;
	size_t min = 40;
	unsigned char buf[100];

	assert_int_equal(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
				 &min, sizeof(min)),
		0);
	send_to(o, 1, false, 0, 1, 20);
	assert_int_equal(fk_recvmsg(ep, buf, 100, buf, FI_MULTI_RECV), 0);
	send_to(o, 0, false, 0, 21, 30);
	send_to(o, 1, false, 0, 51, 30);
	fk_expect(&o->around, buf, M, 20, 0);
	fk_expect(&o->around, buf, M, 30, 0);
	fk_expect(&o->around, buf, M, 30, 0);
	fk_expect(&o->around, buf, FI_MULTI_RECV, 0, 0);
	assert_true(fk_holds(buf, 1, 80));
	ours_close(o);
}

/* P-32: our queue takes everything, however small it was asked to be. */
static void queue_overflows(void **state)
{
	enum { MANY = 5000 };
	struct ours *o = ours_open(false);
	struct peer_test_ops *ops;
	struct fi_cq_attr attr = { .size = 4, .format = FI_CQ_FORMAT_TAGGED };
	struct fid_cq *cq;
	struct fid_peer_cq handle;
	struct fi_cq_tagged_entry entry;
	unsigned long before;

	assert_int_equal(
		fi_open_ops(&o->r[0].ep->fid, PEER_OPS, 0, (void **)&ops, NULL), 0);
	before = ops->refused();
	assert_int_equal(wf_cq_open(&o->f->domain.fid, &attr, &cq, NULL), 0);
	wf_cq_export(wf_cq_of(cq), &handle);
	for (uintptr_t i = 0; i < MANY; i++)
		assert_int_equal(handle.owner_ops->write(&handle, (void *)i, T, 8, NULL,
					 0, i, FI_ADDR_NOTAVAIL),
			0);
	for (uintptr_t i = 0; i < MANY; i++) {
		assert_int_equal(fi_cq_read(cq, &entry, 1), 1);
		assert_ptr_equal(entry.op_context, i);
	}
	assert_int_equal(ops->refused(), before);
	assert_int_equal(fi_close(&cq->fid), -FI_EBUSY);
	wf_cq_unexport(&handle);
	assert_int_equal(fi_close(&cq->fid), 0);
	ours_close(o);
}

/* P-08, P-35 */
static void closing(void **state)
{
	struct ours *o = ours_open(false);
	struct fid_ep *ep = &o->ep->ep.fid;
	unsigned char buf[8];

	send_to(o, 0, true, 1, 10, 8);
	send_to(o, 1, true, 1, 20, 8);
	assert_int_equal(fi_recv(ep, buf, 8, NULL, FI_ADDR_UNSPEC, buf), 0);
	assert_int_equal(fi_close(&o->around.cq->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&o->around.cntr->fid), -FI_EBUSY);
	close_peer(o, 0);
	/* The other's message is the only one left. */
	send_to(o, 1, false, 0, 30, 8);
	fk_expect(&o->around, buf, M, 8, 0);
	assert_int_equal(fi_trecv(ep, buf, 8, NULL, FI_ADDR_UNSPEC, 1, 0, buf), 0);
	fk_expect(&o->around, buf, T, 8, 1);
	assert_true(fk_holds(buf, 20, 8));
	ours_close(o);
}

/* ---- threads ---- */

enum { MESSAGES = 3000 };

struct run {
	struct ours *o;
	unsigned char in[MESSAGES][8];
	atomic_bool stop;
};

static void *send_many(void *arg)
{
	struct run *run = arg;
	struct owner_result result;
	uint64_t out;

	for (uint64_t i = 0; i < MESSAGES; i++) {
		out = i * 3 + 1;
		(void)fi_tsend(run->o->s.ep, &out, 8, NULL, run->o->to[i % 2], i, NULL);
		(void)owner_read(&run->o->b, &result);
	}
	return NULL;
}

static void *progress_all(void *arg)
{
	struct run *run = arg;

	while (!atomic_load(&run->stop)) {
		let_progress(run->o);
		(void)sched_yield();
	}
	return NULL;
}

static void *post_all(void *arg)
{
	struct run *run = arg;
	ssize_t ret;

	for (uint64_t i = 0; i < MESSAGES; i++) {
		/* The fixture's context takes few. */
		do
			ret = fi_trecv(&run->o->ep->ep.fid, run->in[i], 8, NULL,
				FI_ADDR_UNSPEC, i, 0, run->in[i]);
		while (ret == -FI_EAGAIN && !atomic_load(&run->stop));
	}
	return NULL;
}

static void threads(void **state)
{
	static void *(*const work[])(
		void *) = { send_many, progress_all, progress_all, post_all };
	enum { THREADS = sizeof(work) / sizeof(work[0]) };
	struct run *run = calloc(1, sizeof(*run));
	uint64_t end = now_ms() + 6 * PATIENCE_MS;
	struct fi_cq_tagged_entry entry;
	pthread_t thread[THREADS];
	uint64_t value;

	assert_non_null(run);
	run->o = ours_open(false);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, work[i], run), 0);
	for (unsigned int got = 0; got < MESSAGES && now_ms() < end;) {
		if (fi_cq_read(run->o->around.cq, &entry, 1) != 1)
			continue;
		assert_ptr_equal(entry.op_context, run->in[entry.tag]);
		memcpy(&value, entry.op_context, 8);
		assert_int_equal(value, entry.tag * 3 + 1);
		memset(entry.op_context, 0, 8);
		got++;
	}
	assert_true(now_ms() < end);
	atomic_store(&run->stop, true);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(thread[i], NULL);
	assert_int_equal(fi_cntr_read(run->o->around.cntr), MESSAGES);
	ours_close(run->o);
	free(run);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows),
		cmocka_unit_test(unknown_source),
		cmocka_unit_test(peek_claim_discard),
		cmocka_unit_test(errors),
		cmocka_unit_test(multi_receive),
		cmocka_unit_test(queue_overflows),
		cmocka_unit_test(closing),
		cmocka_unit_test(threads),
	};

	rig_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
