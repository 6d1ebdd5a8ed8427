/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <dlfcn.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_peer.h>

#include "../refuse.h"
#include "core/compat/old_peer.h"
#include "sys/compiler.h"

/* The objects of a provider that was built for an older fi_peer(3), which the test
 * plays: what fails on the way is undone, and what the provider sees is in its
 * layout. */

const struct wf_known_prov wf_known_provs[] = { { NULL } };
const wf_prov_ini_fn wf_builtin_providers[] = { NULL };
const struct wf_stand_in wf_stand_ins[] = { { NULL } };

/* ---- the provider ------------------------------------------------------------------ */

static struct {
	int answer; /* of the next call that opens */
	int close_answer;
	int closed;
	const void *context; /* what the last call that opens got */
	bool without_peer_ops;
	struct fid_peer_cq *cq;
	struct fid_peer_srx *srx;
} prov;

static int prov_close(struct fid *fid)
{
	if (!prov.close_answer)
		prov.closed++;
	return prov.close_answer;
}

static struct fi_ops prov_fid_ops = { .size = sizeof(prov_fid_ops),
	.close = prov_close };
static struct fid_domain prov_domain;
static struct fid_cq prov_cq;
static struct fid_ep prov_srx;

static int prov_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr,
	struct fid_cq **ret, void *context)
{
	const struct fi_peer_cq_context *given = context;

	prov.context = context;
	if (attr && attr->flags & FI_PEER && given)
		prov.cq = given->cq;
	prov_cq.fid.ops = &prov_fid_ops;
	*ret = &prov_cq;
	return prov.answer;
}

static int prov_start(struct fi_peer_rx_entry *entry)
{
	return 1;
}

static int prov_srx_ctx(struct fid_domain *fid, struct fi_rx_attr *attr,
	struct fid_ep **ret, void *context)
{
	const struct fi_peer_srx_context *given = context;

	prov.context = context;
	if (attr && attr->op_flags & FI_PEER && given) {
		prov.srx = given->srx;
		if (!prov.without_peer_ops)
			*prov.srx->peer_ops = (struct fi_ops_srx_peer){
				sizeof(struct fi_ops_srx_peer), prov_start, prov_start,
				prov_start, prov_start
			};
	}
	prov_srx.fid.ops = &prov_fid_ops;
	*ret = &prov_srx;
	return prov.answer;
}

static struct fi_ops_domain prov_domain_ops = { .size = sizeof(prov_domain_ops),
	.cq_open = prov_cq_open,
	.srx_ctx = prov_srx_ctx };

static int prov_open_domain(struct fid_fabric *fid, struct fi_info *info,
	struct fid_domain **ret, void *context)
{
	prov_domain.fid.ops = &prov_fid_ops;
	prov_domain.ops = &prov_domain_ops;
	if (!prov.answer)
		*ret = &prov_domain;
	return prov.answer;
}

static int prov_open_domain2(struct fid_fabric *fid, struct fi_info *info,
	struct fid_domain **ret, uint64_t flags, void *context)
{
	assert_int_equal(flags, FI_PEER);
	return prov_open_domain(fid, info, ret, context);
}

static struct fi_ops_fabric prov_fabric_ops = { .size = sizeof(prov_fabric_ops),
	.domain = prov_open_domain,
	.domain2 = prov_open_domain2 };
static struct fid_fabric prov_fabric;

static int prov_open_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	prov_fabric = (struct fid_fabric){ .fid.ops = &prov_fid_ops,
		.ops = &prov_fabric_ops };
	*fabric = &prov_fabric;
	return 0;
}

static int no_results(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	return -FI_ENODATA;
}

static struct fi_provider library = { .name = "old",
	.fi_version = FI_VERSION(1, 18),
	.getinfo = no_results,
	.fabric = prov_open_fabric };

/* ---- the fixture ------------------------------------------------------------------- */

static struct fid_fabric *fabric;
static struct fid_domain *domain;

static void open_fabric(uint32_t version)
{
	memset(&prov, 0, sizeof(prov));
	assert_int_equal(prov_open_fabric(NULL, &fabric, NULL), 0);
	assert_int_equal(wf_old_peer_adapt(wf_old_peer_of(version), fabric), 0);
}

static void open_domain(uint32_t version)
{
	open_fabric(version);
	assert_int_equal(fi_domain(fabric, NULL, &domain, NULL), 0);
}

static void close_fabric(void)
{
	assert_int_equal(fi_close(&fabric->fid), 0);
	assert_ptr_equal(fabric->fid.ops, &prov_fid_ops);
}

static void close_domain(void)
{
	assert_int_equal(fi_close(&domain->fid), 0);
	assert_ptr_equal(domain->fid.ops, &prov_fid_ops);
	close_fabric();
}

/* ---- tests ------------------------------------------------------------------------- */

static void rows_of_versions(void **state)
{
	static const struct {
		uint32_t version;
		int row; /* -1: nothing to adapt */
	} rows[] = {
		{ FI_VERSION(1, 16), -1 },
		{ FI_VERSION(1, 17), 0 },
		{ FI_VERSION(1, 18), 0 },
		{ FI_VERSION(1, 19), 1 },
		{ FI_VERSION(1, 20), 2 },
		{ FI_VERSION(1, 22), 2 },
		{ FI_VERSION(2, 0), 3 },
		{ FI_VERSION(2, 2), 3 },
		{ FI_VERSION(2, 3), -1 },
		{ FI_VERSION(2, 6), -1 },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++)
		assert_ptr_equal(wf_old_peer_of(rows[i].version),
			rows[i].row < 0 ? NULL : &wf_old_peers[rows[i].row]);
}

/* A fabric that cannot be adapted is closed. */
static void no_memory_for_the_fabric(void **state)
{
	struct fi_provider *const none[] = { NULL };
	struct fi_fabric_attr attr = { .name = "net", .prov_name = "old" };
	struct wf_prov_source source = { .origin = "a file" };
	struct fid_fabric *opened = NULL;

	memset(&prov, 0, sizeof(prov));
	fake_start(NULL, none);
	source.dl = dlopen(NULL, RTLD_NOW);
	assert_non_null(source.dl);
	assert_int_equal(wf_registry_add(&library, &source, false), 0);
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(fi_fabric(&attr, &opened, NULL), -FI_ENOMEM);
	assert_true(refuse_end());
	assert_null(opened);
	assert_int_equal(prov.closed, 1);
	assert_int_equal(fi_fabric(&attr, &opened, NULL), 0);
	assert_ptr_not_equal(opened->ops, &prov_fabric_ops);
	assert_int_equal(fi_close(&opened->fid), 0);
	assert_int_equal(prov.closed, 2);
	wf_registry_done();
}

static void fabric_without_domains(void **state)
{
	struct fi_ops_fabric ops = { .size = sizeof(ops) };
	struct fid_fabric bare = { .fid.ops = &prov_fid_ops };

	assert_int_equal(wf_old_peer_adapt(&wf_old_peers[0], &bare), 0);
	assert_ptr_equal(bare.fid.ops, &prov_fid_ops);
	bare.ops = &ops;
	bare.fid.ops = NULL;
	assert_int_equal(wf_old_peer_adapt(&wf_old_peers[0], &bare), 0);
	assert_ptr_equal(bare.ops, &ops);
	/* Calls that the provider has not stay away. */
	bare.fid.ops = &prov_fid_ops;
	assert_int_equal(wf_old_peer_adapt(&wf_old_peers[0], &bare), 0);
	assert_ptr_not_equal(bare.ops, &ops);
	assert_null(bare.ops->domain);
	assert_null(bare.ops->domain2);
	assert_int_equal(fi_close(&bare.fid), 0);
}

static void no_memory_for_a_domain(void **state)
{
	open_fabric(FI_VERSION(1, 17));
	domain = NULL;
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(fi_domain(fabric, NULL, &domain, NULL), -FI_ENOMEM);
	assert_true(refuse_end());
	assert_int_equal(prov.closed, 1);
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(fi_domain2(fabric, NULL, &domain, FI_PEER, NULL), -FI_ENOMEM);
	assert_true(refuse_end());
	assert_int_equal(prov.closed, 2);
	prov.answer = -FI_EACCES;
	assert_int_equal(fi_domain(fabric, NULL, &domain, NULL), -FI_EACCES);
	assert_int_equal(fi_domain2(fabric, NULL, &domain, FI_PEER, NULL), -FI_EACCES);
	assert_int_equal(prov.closed, 2);
	prov.answer = 0;
	assert_int_equal(fi_domain2(fabric, NULL, &domain, FI_PEER, NULL), 0);
	assert_ptr_not_equal(domain->ops, &prov_domain_ops);
	/* One that is in use stays adapted. */
	prov.close_answer = -FI_EBUSY;
	assert_int_equal(fi_close(&domain->fid), -FI_EBUSY);
	assert_ptr_not_equal(domain->fid.ops, &prov_fid_ops);
	prov.close_answer = 0;
	close_domain();
	assert_int_equal(prov.closed, 4);
}

static struct {
	struct fid_peer_cq *cq;
	struct fi_cq_err_entry error;
	uint64_t sum;
} owned;

static ssize_t own_write(struct fid_peer_cq *cq, void *context, uint64_t flags,
	size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	owned.cq = cq;
	owned.sum = (uintptr_t)context + 2 * flags + 3 * len + 4 * (uintptr_t)buf +
		    5 * data + 6 * tag + 7 * src;
	return -FI_EAGAIN;
}

static ssize_t own_writeerr(struct fid_peer_cq *cq, const struct fi_cq_err_entry *error)
{
	owned.cq = cq;
	owned.error = *error;
	return -FI_ENOSPC;
}

static struct fi_ops_cq_owner own_cq_ops = { sizeof(own_cq_ops), own_write,
	own_writeerr };
static struct fid_peer_cq own_cq = { .owner_ops = &own_cq_ops };

static void queues_of_peers(void **state)
{
	struct fi_cq_attr attr = { .flags = FI_PEER };
	struct fi_peer_cq_context context = { sizeof(context), &own_cq };
	struct fi_cq_err_entry error = { .olen = 5, .err = FI_EIO, .src_addr = 9 };
	struct fid_cq *cq = NULL;

	open_domain(FI_VERSION(1, 19));
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(fi_cq_open(domain, &attr, &cq, &context), -FI_ENOMEM);
	assert_true(refuse_end());
	assert_null(prov.context);
	prov.answer = -FI_EINVAL;
	assert_int_equal(fi_cq_open(domain, &attr, &cq, &context), -FI_EINVAL);
	prov.answer = 0;
	assert_int_equal(fi_cq_open(domain, &attr, &cq, &context), 0);
	assert_ptr_not_equal(prov.context, &context);
	assert_ptr_not_equal(prov.cq, &own_cq);
	assert_int_equal(
		prov.cq->owner_ops->write(prov.cq, (void *)1, 2, 3, (void *)4, 5, 6, 7),
		-FI_EAGAIN);
	assert_int_equal(owned.sum, 1 + 4 + 9 + 16 + 25 + 36 + 49);
	assert_ptr_equal(owned.cq, &own_cq);
	owned.cq = NULL;
	assert_int_equal(prov.cq->owner_ops->writeerr(prov.cq, &error), -FI_ENOSPC);
	assert_ptr_equal(owned.cq, &own_cq);
	assert_int_equal(owned.error.olen, 5);
	assert_int_equal(owned.error.err, FI_EIO);
	assert_true(owned.error.src_addr == FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_close(&cq->fid), 0);
	close_domain();
}

/* What needs no copy, or is invalid, is passed on. */
static void queues_that_are_passed_on(void **state)
{
	struct fi_cq_attr attr = { .flags = FI_PEER }, plain = { 0 };
	struct fi_peer_cq_context context = { sizeof(context), &own_cq };
	struct fid_cq *cq;

	open_domain(FI_VERSION(1, 19));
	assert_int_equal(fi_cq_open(domain, &plain, &cq, &context), 0);
	assert_ptr_equal(prov.context, &context);
	assert_int_equal(fi_cq_open(domain, NULL, &cq, &plain), 0);
	assert_ptr_equal(prov.context, &plain);
	assert_int_equal(fi_cq_open(domain, &attr, &cq, NULL), 0);
	assert_null(prov.context);
	context.size--;
	assert_int_equal(fi_cq_open(domain, &attr, &cq, &context), 0);
	assert_ptr_equal(prov.context, &context);
	context.size++;
	context.cq = NULL;
	assert_int_equal(fi_cq_open(domain, &attr, &cq, &context), 0);
	assert_ptr_equal(prov.context, &context);
	close_domain();
	/* Later versions have the error entries of this one. */
	open_domain(FI_VERSION(1, 20));
	context.cq = &own_cq;
	assert_int_equal(fi_cq_open(domain, &attr, &cq, &context), 0);
	assert_ptr_equal(prov.context, &context);
	assert_ptr_equal(prov.cq, &own_cq);
	close_domain();
}

static struct fi_peer_rx_entry own_entry;
static int get_answer;

static int own_get(struct fid_peer_srx *srx, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret)
{
	*ret = &own_entry;
	return get_answer;
}

static int own_queue(struct fi_peer_rx_entry *entry)
{
	return 3;
}

static void own_foreach(
	struct fid_peer_srx *srx, fi_addr_t (*get_addr)(struct fi_peer_rx_entry *))
{
}

static int own_freed;

static void own_free(struct fi_peer_rx_entry *entry)
{
	own_freed += entry == &own_entry;
}

static struct fi_ops_srx_owner own_srx_ops = { sizeof(own_srx_ops), own_get, own_get,
	own_queue, own_queue, own_foreach, own_free };
static struct fid_peer_srx own_srx;

static struct fi_rx_attr peer_attr = { .op_flags = FI_PEER };
static struct fi_peer_srx_context srx_context = { sizeof(srx_context), &own_srx };

static void open_srx_domain(void)
{
	own_srx = (struct fid_peer_srx){ .owner_ops = &own_srx_ops };
	open_domain(FI_VERSION(2, 0));
}

static void contexts_that_are_refused(void **state)
{
	struct fi_rx_attr plain = { 0 };
	struct fi_ops_srx_owner short_ops = own_srx_ops;
	struct fid_ep *srx = NULL;

	open_srx_domain();
	assert_int_equal(fi_srx_context(domain, &plain, &srx, &srx_context), 0);
	assert_ptr_equal(prov.context, &srx_context);
	assert_int_equal(fi_srx_context(domain, NULL, &srx, &plain), 0);
	assert_ptr_equal(prov.context, &plain);
	srx = NULL;
	prov.context = NULL;
	assert_int_equal(fi_srx_context(domain, &peer_attr, &srx, NULL), -FI_EINVAL);
	srx_context.size--;
	assert_int_equal(
		fi_srx_context(domain, &peer_attr, &srx, &srx_context), -FI_EINVAL);
	srx_context.size++;
	srx_context.srx = NULL;
	assert_int_equal(
		fi_srx_context(domain, &peer_attr, &srx, &srx_context), -FI_EINVAL);
	srx_context.srx = &own_srx;
	short_ops.size = offsetof(struct fi_ops_srx_owner, free_entry);
	own_srx.owner_ops = &short_ops;
	assert_int_equal(
		fi_srx_context(domain, &peer_attr, &srx, &srx_context), -FI_EINVAL);
	short_ops = own_srx_ops;
	short_ops.get_msg = NULL;
	assert_int_equal(
		fi_srx_context(domain, &peer_attr, &srx, &srx_context), -FI_EINVAL);
	short_ops = own_srx_ops;
	short_ops.queue_tag = NULL;
	assert_int_equal(
		fi_srx_context(domain, &peer_attr, &srx, &srx_context), -FI_EINVAL);
	own_srx.owner_ops = &own_srx_ops;
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(
		fi_srx_context(domain, &peer_attr, &srx, &srx_context), -FI_ENOMEM);
	assert_true(refuse_end());
	assert_null(prov.context);
	prov.answer = -FI_EACCES;
	assert_int_equal(
		fi_srx_context(domain, &peer_attr, &srx, &srx_context), -FI_EACCES);
	assert_int_equal(prov.closed, 0);
	/* One that sets no operations of a peer is closed. */
	prov.answer = 0;
	prov.without_peer_ops = true;
	assert_int_equal(
		fi_srx_context(domain, &peer_attr, &srx, &srx_context), -FI_EINVAL);
	assert_int_equal(prov.closed, 1);
	assert_null(own_srx.peer_ops);
	close_domain();
}

/* The owner's table is filled where it has one, else it gets one. */
static void operations_of_a_peer(void **state)
{
	struct fi_ops_srx_peer table = { .size = sizeof(table) };
	struct fid_ep *srx;

	open_srx_domain();
	own_srx.peer_ops = &table;
	assert_int_equal(fi_srx_context(domain, &peer_attr, &srx, &srx_context), 0);
	assert_ptr_equal(own_srx.peer_ops, &table);
	assert_non_null(table.discard_tag);
	assert_int_equal(fi_close(&srx->fid), 0);
	table = (struct fi_ops_srx_peer){ .size = sizeof(table) - 1 };
	assert_int_equal(fi_srx_context(domain, &peer_attr, &srx, &srx_context), 0);
	assert_ptr_not_equal(own_srx.peer_ops, &table);
	assert_null(table.start_msg);
	assert_int_equal(own_srx.peer_ops->size, sizeof(table));
	assert_int_equal(fi_close(&srx->fid), 0);
	own_srx.peer_ops = NULL;
	assert_int_equal(fi_srx_context(domain, &peer_attr, &srx, &srx_context), 0);
	assert_non_null(own_srx.peer_ops->start_tag);
	assert_int_equal(fi_close(&srx->fid), 0);
	close_domain();
}

static void entries_of_a_context(void **state)
{
	struct fi_peer_match_attr match = { .addr = 1, .msg_size = 2, .tag = 3 };
	struct fi_peer_rx_entry *seen = NULL;
	struct fi_ops_srx_owner *ops;
	struct fid_ep *srx;

	open_srx_domain();
	assert_int_equal(fi_srx_context(domain, &peer_attr, &srx, &srx_context), 0);
	ops = prov.srx->owner_ops;
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(ops->get_msg(prov.srx, &match, &seen), -FI_ENOMEM);
	assert_true(refuse_end());
	get_answer = -FI_EINVAL;
	assert_int_equal(ops->get_tag(prov.srx, &match, &seen), -FI_EINVAL);
	assert_null(seen);
	get_answer = -FI_ENOENT;
	assert_int_equal(ops->get_msg(prov.srx, &match, &seen), -FI_ENOENT);
	assert_non_null(seen);
	assert_int_equal(ops->queue_msg(seen), 3);
	assert_int_equal(own_srx.peer_ops->start_msg(&own_entry), 1);
	own_freed = 0;
	ops->free_entry(seen);
	assert_int_equal(own_freed, 1);
	/* The copy of an entry that is never freed goes with the context. */
	get_answer = 0;
	assert_int_equal(ops->get_tag(prov.srx, &match, &seen), 0);
	assert_int_equal(ops->get_tag(prov.srx, &match, &seen), 0);
	assert_int_equal(fi_close(&srx->fid), 0);
	assert_int_equal(own_freed, 1);
	close_domain();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_versions),
		cmocka_unit_test(no_memory_for_the_fabric),
		cmocka_unit_test(fabric_without_domains),
		cmocka_unit_test(no_memory_for_a_domain),
		cmocka_unit_test(queues_of_peers),
		cmocka_unit_test(queues_that_are_passed_on),
		cmocka_unit_test(contexts_that_are_refused),
		cmocka_unit_test(operations_of_a_peer),
		cmocka_unit_test(entries_of_a_context),
	};

	(void)setenv("FI_PROVIDER_PATH", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
