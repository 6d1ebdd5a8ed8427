/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source of a receive that ends in an error, over members of this library:
 * sources_test LINKS (CQ-014).
 */
#include "lnx_pair.h"

/* A tagged message of @from that is longer than its receive at @to. */
static fi_addr_t source_of_truncated(
	struct rdm_end *from, fi_addr_t addr, struct rdm_end *to)
{
	time_t deadline = now_s() + PATIENCE_S;
	struct fi_cq_err_entry err = { .src_addr = 12345 };
	struct fi_cq_tagged_entry entry;
	struct fi_context2 tx, rx;
	uint8_t out[64] = { 0 }, in[16];
	ssize_t ret;

	assert_int_equal(
		fi_trecv(to->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, 5, 0, &rx), 0);
	assert_int_equal(fi_tsend(from->ep, out, sizeof(out), NULL, addr, 5, &tx), 0);
	do {
		(void)fi_cq_read(from->cq, &entry, 1);
		ret = fi_cq_read(to->cq, &entry, 1);
		assert_true(now_s() < deadline);
	} while (ret == -FI_EAGAIN);
	assert_int_equal(ret, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(to->cq, &err, 0), 1);
	assert_ptr_equal(err.op_context, &rx);
	assert_int_equal(err.err, FI_ETRUNC);
	return err.src_addr;
}

static struct fi_info *info_with(uint64_t caps)
{
	struct fi_info *hints = lnx_hints(FI_FORMAT_UNSPEC), *info;

	hints->caps = FI_MSG | FI_TAGGED | caps;
	hints->domain_attr->caps = caps & FI_AV_USER_ID;
	assert_int_equal(fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info), 0);
	fi_freeinfo(hints);
	/* The least that was asked for. */
	info->caps &= ~FI_SOURCE | caps;
	info->rx_attr->caps &= ~FI_SOURCE | caps;
	return info;
}

static void by_index(void **state)
{
	struct rdm_end from, to;
	fi_addr_t addr, index;

	(void)state;
	rdm_end_open(&from, info_with(FI_SOURCE), 0, FI_WAIT_NONE);
	rdm_end_open(&to, info_with(FI_SOURCE), 0, FI_WAIT_NONE);
	/* Not index 0 */
	(void)end_insert(&to, to.name);
	index = end_insert(&to, from.name);
	addr = end_insert(&from, to.name);
	assert_int_equal(source_of_truncated(&from, addr, &to), index);
	rdm_end_close(&from);
	rdm_end_close(&to);
}

static void by_id(void **state)
{
	struct rdm_end from, to;
	fi_addr_t addr, id = 77;

	(void)state;
	rdm_end_open(&from, info_with(FI_SOURCE), 0, FI_WAIT_NONE);
	rdm_end_open(
		&to, info_with(FI_SOURCE | FI_AV_USER_ID), FI_AV_USER_ID, FI_WAIT_NONE);
	assert_int_equal(fi_av_insert(to.av, from.name, 1, &id, 0, NULL), 1);
	assert_int_equal(fi_av_set_user_id(to.av, id, 99, 0), 0);
	addr = end_insert(&from, to.name);
	assert_int_equal(source_of_truncated(&from, addr, &to), 99);
	rdm_end_close(&from);
	rdm_end_close(&to);
}

static void not_asked_for(void **state)
{
	struct rdm_end from, to;
	fi_addr_t addr;

	(void)state;
	rdm_end_open(&from, info_with(0), 0, FI_WAIT_NONE);
	rdm_end_open(&to, info_with(0), 0, FI_WAIT_NONE);
	(void)end_insert(&to, from.name);
	addr = end_insert(&from, to.name);
	assert_int_equal(source_of_truncated(&from, addr, &to), FI_ADDR_NOTAVAIL);
	rdm_end_close(&from);
	rdm_end_close(&to);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_index),
		cmocka_unit_test(by_id),
		cmocka_unit_test(not_asked_for),
	};

	(void)setenv("FI_LNX_PROV_LINKS", argc > 1 ? argv[1] : "shm+tcp:lo", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
