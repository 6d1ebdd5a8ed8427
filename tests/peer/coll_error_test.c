/* SPDX-License-Identifier: BSD-2-Clause */
#include "coll_rig.h"

#include "../log_lines.h"

/*
 * What off_coll does when members leave, lie, or call differently, and what it refuses,
 * under a main provider that this test plays: coll_error_test PROVIDER.
 */

/* A member leaves while the others are in an operation. */
static void left_behind(void **state)
{
	struct coll_rig *rig = coll_rig_open(3, NULL);
	struct coll_mc mc[NODES_MAX];
	char buf[8];
	void *got;

	coll_rig_join_all(rig, coll_rig_in_order, 3, mc);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(fi_broadcast(rig->node[i].coll_ep, buf, 8, NULL,
					 coll_rig_addr(&mc[i]), rig->node[i].addr[2],
					 FI_UINT8, 0, rig),
			0);
	assert_int_equal(fi_close(&mc[0].mc->fid), 0);
	assert_int_equal(coll_rig_wait(rig, &rig->node[0], &got), -FI_ECANCELED);
	assert_ptr_equal(got, rig);
	assert_int_not_equal(coll_rig_wait(rig, &rig->node[1], &got), 0);
	assert_ptr_equal(got, rig);
	/* The third node has got the abort, or gets it with its next call. */
	coll_rig_settle(rig);
	if (!fi_barrier(rig->node[2].coll_ep, coll_rig_addr(&mc[2]), NULL))
		assert_int_not_equal(coll_rig_wait(rig, &rig->node[2], &got), 0);
	assert_true(fi_barrier(rig->node[1].coll_ep, coll_rig_addr(&mc[1]), NULL) < 0);
	coll_rig_leave(mc + 1, 2);
	coll_rig_close(rig);
}

/* The barriers of the first two members, whose third one is missing. */
static void barriers_fail(struct coll_rig *rig, const struct coll_mc *mc)
{
	void *got;

	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(
			fi_barrier(rig->node[i].coll_ep, coll_rig_addr(&mc[i]), NULL),
			0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_not_equal(coll_rig_wait(rig, &rig->node[i], &got), 0);
}

/* The endpoint of a member is gone before the others call. */
static void gone_before(void **state)
{
	struct coll_rig *rig = coll_rig_open(3, NULL);
	struct coll_mc mc[NODES_MAX];

	coll_rig_join_all(rig, coll_rig_in_order, 3, mc);
	coll_rig_barrier(rig, mc, 3);
	coll_rig_leave(mc + 2, 1);
	coll_node_end(&rig->node[2]);
	barriers_fail(rig, mc);
	coll_rig_leave(mc, 2);
	coll_rig_close(rig);
}

/* The endpoint is there, but its member has left. */
static void left_before(void **state)
{
	struct coll_rig *rig = coll_rig_open(3, NULL);
	struct coll_mc mc[NODES_MAX];

	coll_rig_join_all(rig, coll_rig_in_order, 3, mc);
	coll_rig_barrier(rig, mc, 3);
	coll_rig_leave(mc + 2, 1);
	barriers_fail(rig, mc);
	coll_rig_leave(mc, 2);
	coll_rig_close(rig);
}

/* The members' calls differ: messages have lengths that are checked. */
static void calls_that_differ(void **state)
{
	struct coll_mc mc[NODES_MAX];
	struct coll_rig *rig;
	char buf[2][64];
	void *got;

	if (!coll_rig_is_p2p())
		skip();
	rig = coll_rig_open(2, NULL);
	coll_rig_join_all(rig, coll_rig_in_order, 2, mc);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(fi_broadcast(rig->node[i].coll_ep, buf[i], 8 + 8 * i,
					 NULL, coll_rig_addr(&mc[i]),
					 rig->node[i].addr[0], FI_UINT8, 0, rig),
			0);
	(void)coll_rig_wait(rig, &rig->node[0], &got);
	assert_int_equal(coll_rig_wait(rig, &rig->node[1], &got), -FI_EIO);
	coll_rig_leave(mc, 2);
	coll_rig_close(rig);
}

static void too_many_in_flight(void **state)
{
	struct coll_rig *rig = coll_rig_open(2, NULL);
	struct coll_mc mc[NODES_MAX];
	unsigned int started[2] = { 0, 0 };
	ssize_t ret;
	void *got;

	coll_rig_join_all(rig, coll_rig_in_order, 2, mc);
	for (unsigned int i = 0; i < 2; i++) {
		while (!(ret = fi_barrier(
				 rig->node[i].coll_ep, coll_rig_addr(&mc[i]), NULL))) {
			started[i]++;
			assert_true(started[i] < 100000);
			if (started[i] == started[0] && i)
				break;
		}
		assert_true(ret == -FI_EAGAIN || (i && !ret));
	}
	assert_int_equal(started[0], started[1]);
	for (unsigned int i = 0; i < 2; i++)
		while (started[i]--)
			assert_int_equal(coll_rig_wait(rig, &rig->node[i], &got), 0);
	coll_rig_barrier(rig, mc, 2);
	coll_rig_leave(mc, 2);
	coll_rig_close(rig);
}

/* What a hostile or broken member sends instead of its record: the join fails, and
 * nothing else happens. */
struct bad_record {
	size_t len;
	uint32_t word[3]; /* magic; error; lower half of the secret */
};

enum { RECORD_LEN = 96, MAGIC = 0x6c6f6302 };

static void send_raw(struct coll_rig *rig, struct coll_node *from, fi_addr_t to,
	uint64_t tag, const void *buf, size_t len)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = to, .tag = tag, .context = rig
	};
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	while ((ret = fi_tsendmsg(from->ep, &msg, 0)) == -FI_EAGAIN)
		coll_rig_progress(rig);
	assert_int_equal(ret, 0);
	while ((ret = fi_cq_read(from->cq, &entry, 1)) == -FI_EAGAIN) {
		assert_true(now_ms() < end);
		coll_rig_progress(rig);
	}
	assert_int_equal(ret, 1);
	assert_ptr_equal(entry.op_context, rig);
}

static void bad_records(void **state)
{
	static const struct bad_record bad[] = {
		{ 0, { 0 } },
		{ 4, { MAGIC } },
		{ RECORD_LEN - 1, { MAGIC, 0, 1 } },
		{ RECORD_LEN, { 0, 0, 1 } },
		{ RECORD_LEN, { MAGIC + 1, 0, 1 } },
		{ RECORD_LEN, { MAGIC, 0, 0 } },
		{ RECORD_LEN, { MAGIC, FI_ENOMEM, 1 } },
		{ RECORD_LEN, { MAGIC, UINT32_MAX, 1 } },
		{ RECORD_LEN + 1, { MAGIC, 0, 1 } },
		{ 4096, { MAGIC, 0, 1 } },
	};
	const uint64_t tag = UINT64_C(1) << 63 | UINT64_C(1) << 61 | UINT64_C(2) << 41 |
			     UINT64_C(1) << 21;
	struct coll_rig *rig = coll_rig_open(2, NULL);
	struct coll_mc mc[NODES_MAX];
	unsigned char buf[4096];
	uint64_t end;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(buf, 0, sizeof(buf));
		memcpy(buf, bad[i].word, sizeof(bad[i].word));
		assert_int_equal(
			coll_rig_join(&rig->node[0], coll_rig_in_order, 2, &mc[0]), 0);
		send_raw(
			rig, &rig->node[1], rig->node[1].addr[0], tag, buf, bad[i].len);
		end = now_ms() + PATIENCE_MS;
		while (!mc[0].joined) {
			assert_true(now_ms() < end);
			coll_rig_progress(rig);
		}
		assert_true(mc[0].err < 0);
		assert_int_equal(
			fi_barrier(rig->node[0].coll_ep, coll_rig_addr(&mc[0]), NULL),
			mc[0].err);
		coll_rig_leave(mc, 1);
	}
	coll_rig_close(rig);
}

/* Control messages with any content change nothing, but for an abort from a member. */
static void bad_control_messages(void **state)
{
	const uint64_t tag = UINT64_C(1) << 63 | UINT64_C(2) << 61;
	struct coll_rig *rig = coll_rig_open(3, NULL);
	struct coll_mc mc[NODES_MAX];
	unsigned char buf[256];

	coll_rig_join_all(rig, coll_rig_in_order, 2, mc);
	srand(7);
	for (int i = 0; i < 3000; i++) {
		for (size_t k = 0; k < sizeof(buf); k++)
			buf[k] = (unsigned char)(rand() >> 8);
		/* Kinds that exist, and ranks that do not or are others'; as to a group
		 * that is joining, or with any secret. */
		buf[0] = (unsigned char)(i % 4);
		buf[1] = 0;
		if (i % 5 == 0)
			memset(buf + 4, 0, 12);
		if (i % 2)
			memset(buf + 16, 0, 8);
		send_raw(rig, &rig->node[2], rig->node[2].addr[0], tag, buf,
			i % 7 ? 32 : (size_t)(rand() % (int)sizeof(buf)));
	}
	coll_rig_every_kind(rig, mc, 2);
	coll_rig_leave(mc, 2);
	coll_rig_close(rig);
}

/* FI_PEER_TRANSFER and FI_PEER are conditions. P-07, P-10, EP-005 */
static void refusals(void **state)
{
	struct coll_rig *rig = coll_rig_open(1, NULL);
	struct coll_node *node = &rig->node[0];
	struct fi_info *hints = coll_rig_hints(), *info = NULL;
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cntr_attr cntr_attr = { 0 };
	struct fi_peer_transfer_context context = { sizeof(context), node->info,
		node->ep, NULL };
	struct fid_domain *domain;
	struct fid_cntr *cntr;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;

	hints->mode = 0;
	assert_int_equal(
		fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &info), -FI_ENODATA);
	hints->mode = FI_PEER_TRANSFER;
	free(hints->fabric_attr->prov_name);
	hints->fabric_attr->prov_name = NULL;
	if (!fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &info))
		for (struct fi_info *it = info; it; it = it->next)
			assert_string_not_equal(it->fabric_attr->prov_name, "off_coll");
	fi_freeinfo(info);
	fi_freeinfo(hints);

	assert_int_equal(fi_domain(node->coll_fabric, node->coll_info, &domain, NULL),
		-FI_ENOSYS);
	assert_int_equal(
		fi_cq_open(node->coll_domain, &cq_attr, &cq, NULL), -FI_EINVAL);
	assert_int_equal(
		fi_av_open(node->coll_domain, &av_attr, &av, NULL), -FI_EINVAL);
	assert_int_equal(
		fi_cntr_open(node->coll_domain, &cntr_attr, &cntr, NULL), -FI_EINVAL);

	node->coll_info->mode = 0;
	assert_int_equal(fi_endpoint(node->coll_domain, node->coll_info, &ep, &context),
		-FI_EINVAL);
	node->coll_info->mode = FI_PEER_TRANSFER;
	context.size--;
	assert_int_equal(fi_endpoint(node->coll_domain, node->coll_info, &ep, &context),
		-FI_EINVAL);
	context.size++;
	assert_int_equal(
		fi_endpoint(node->coll_domain, node->coll_info, &ep, NULL), -FI_EINVAL);
	assert_null(context.peer_ops);
	coll_rig_close(rig);
}

/* The main provider needs what the engine does not have: a descriptor of each buffer,
 * or tags. */
static void main_providers_that_are_refused(void **state)
{
	struct coll_rig *rig = coll_rig_open(1, NULL);
	struct coll_node *node = &rig->node[0];
	struct fi_info *info = fi_dupinfo(node->info);
	struct fi_peer_transfer_context context = { sizeof(context), info, node->ep,
		NULL };
	struct fid_ep *ep;

	assert_non_null(info);
	info->domain_attr->mr_mode |= FI_MR_LOCAL;
	log_lines_start();
	assert_int_equal(fi_endpoint(node->coll_domain, node->coll_info, &ep, &context),
		-FI_EINVAL);
	assert_true(log_lines_have(
		"endpoint refused: the main endpoint needs memory descriptors"));
	info->domain_attr->mr_mode &= ~FI_MR_LOCAL;
	info->caps &= ~(uint64_t)FI_TAGGED;
	assert_int_equal(fi_endpoint(node->coll_domain, node->coll_info, &ep, &context),
		-FI_EINVAL);
	assert_true(log_lines_have(
		"endpoint refused: the main endpoint has no tagged messages"));
	assert_null(context.peer_ops);
	fi_freeinfo(info);
	coll_rig_close(rig);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(left_behind),
		cmocka_unit_test(gone_before),
		cmocka_unit_test(left_before),
		cmocka_unit_test(calls_that_differ),
		cmocka_unit_test(too_many_in_flight),
		cmocka_unit_test(bad_records),
		cmocka_unit_test(bad_control_messages),
		cmocka_unit_test(refusals),
		cmocka_unit_test(main_providers_that_are_refused),
	};

	rig_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
