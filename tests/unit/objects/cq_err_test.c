/* SPDX-License-Identifier: BSD-2-Clause */
#include "domain_fixture.h"

#include "../../log_lines.h"
#include "shortage.h"

#include "objects/cq/cq.h"

/* Reading errors by API version: how much of the structure is written, and where the
 * provider's data goes. */

static const char data[] = "raw source address";

static struct wf_cq *open_cq(struct domain_fixture *f, uint32_t api_version)
{
	struct fi_cq_attr attr = { 0 };
	struct fid_cq *fid = NULL;

	f->domain.api_version = api_version;
	assert_int_equal(wf_cq_open(&f->domain.fid, &attr, &fid, NULL), 0);
	return wf_cq_of(fid);
}

static void put(struct wf_cq *cq, bool with_data)
{
	struct fi_cq_err_entry entry = {
		.op_context = cq,
		.flags = FI_RECV | FI_MSG,
		.len = 10,
		.buf = &entry,
		.data = 11,
		.tag = 12,
		.olen = 13,
		.err = FI_EADDRNOTAVAIL,
		.prov_errno = 14,
		.src_addr = 15,
	};
	char local[sizeof(data)];

	if (with_data) {
		memcpy(local, data, sizeof(data));
		entry.err_data = local;
		entry.err_data_size = sizeof(local);
	}
	assert_int_equal(wf_cq_write_err(cq, &entry), 0);
	memset(local, 0, sizeof(local)); /* only valid during the call */
}

/* CQ-049: not a byte behind the caller's structure. Bytes, because the structure of
 * an old program is shorter than ours. */
static void test_entry_size(void **state)
{
	static const struct {
		uint32_t api;
		size_t size;
	} rows[] = {
		{ FI_VERSION(1, 0), 72 },
		{ FI_VERSION(1, 4), 72 },
		{ FI_VERSION(1, 5), 80 },
		{ FI_VERSION(1, 19), 80 },
		{ FI_VERSION(1, 20), 88 },
		{ FI_VERSION(2, 6), 88 },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct wf_cq *cq = open_cq(*state, rows[i].api);
		_Alignas(8) uint8_t bytes[96];
		struct fi_cq_err_entry got = { 0 };

		memset(bytes, 0xee, sizeof(bytes));
		if (rows[i].size >= 80)
			memset(bytes + 64, 0, 16); /* no buffer */
		put(cq, true);
		assert_int_equal(cq->fid.ops->readerr(&cq->fid, (void *)bytes, 0), 1);
		for (size_t j = rows[i].size; j < sizeof(bytes); j++)
			assert_int_equal(bytes[j], 0xee);
		memcpy(&got, bytes, rows[i].size);
		assert_ptr_equal(got.op_context, cq);
		assert_int_equal(got.flags, FI_RECV | FI_MSG);
		assert_int_equal(got.len, 10);
		assert_int_equal(got.data, 11);
		assert_int_equal(got.tag, 12);
		assert_int_equal(got.olen, 13);
		assert_int_equal(got.err, FI_EADDRNOTAVAIL); /* CQ-046 */
		assert_int_equal(got.prov_errno, 14);
		assert_memory_equal(got.err_data, data, sizeof(data)); /* CQ-048 */
		if (rows[i].size >= 80)
			assert_int_equal(got.err_data_size, sizeof(data));
		if (rows[i].size >= 88)
			assert_int_equal(got.src_addr, 15);
		assert_int_equal(fi_close(&cq->fid.fid), 0);
	}
}

/* CQ-047: into the caller's buffer, as much as fits. */
static void test_user_buffer(void **state)
{
	struct wf_cq *cq = open_cq(*state, FI_VERSION(1, 5));
	char buf[64];
	struct fi_cq_err_entry got = { .err_data = buf, .err_data_size = 4 };

	memset(buf, 0xee, sizeof(buf));
	put(cq, true);
	assert_int_equal(fi_cq_readerr(&cq->fid, &got, 0), 1);
	assert_ptr_equal(got.err_data, buf);
	assert_int_equal(got.err_data_size, 4);
	assert_memory_equal(buf, data, 4);
	assert_int_equal(buf[4], (char)0xee);

	got.err_data_size = sizeof(buf);
	put(cq, true);
	assert_int_equal(fi_cq_readerr(&cq->fid, &got, 0), 1);
	assert_int_equal(got.err_data_size, sizeof(data));
	assert_memory_equal(buf, data, sizeof(data));

	got.err_data_size = sizeof(buf);
	put(cq, false);
	assert_int_equal(fi_cq_readerr(&cq->fid, &got, 0), 1);
	assert_int_equal(got.err_data_size, 0);
	assert_int_equal(fi_close(&cq->fid.fid), 0);
}

/* CQ-048: without a buffer, a pointer that stays good until the next error is read. */
static void test_library_pointer(void **state)
{
	struct wf_cq *cq = open_cq(*state, FI_VERSION(2, 0));
	struct fi_cq_err_entry got = { 0 };
	struct fi_cq_entry entry;

	put(cq, true);
	put(cq, false);
	assert_int_equal(fi_cq_readerr(&cq->fid, &got, 0), 1);
	assert_int_equal(got.err_data_size, sizeof(data));
	assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), -FI_EAVAIL);
	assert_memory_equal(got.err_data, data, sizeof(data));
	got = (struct fi_cq_err_entry){ .err_data_size =
						9 }; /* size alone: no buffer */
	assert_int_equal(fi_cq_readerr(&cq->fid, &got, 0), 1);
	assert_null(got.err_data);
	assert_int_equal(got.err_data_size, 0);
	put(cq, true);
	assert_int_equal(fi_close(&cq->fid.fid), 0);
}

/* An entry that is read into again, as the call left it, has no buffer of the caller's:
 * the data that it points to go with the call. */
static void test_entry_read_into_again(void **state)
{
	struct wf_cq *cq = open_cq(*state, FI_VERSION(2, 0));
	struct fi_cq_err_entry got = { 0 }, few = { .err = 1, .err_data_size = 2 };

	few.err_data = (void *)data;
	assert_int_equal(wf_cq_write_err(cq, &few), 0);
	put(cq, true);
	assert_int_equal(fi_cq_readerr(&cq->fid, &got, 0), 1);
	assert_int_equal(got.err_data_size, 2);
	assert_int_equal(fi_cq_readerr(&cq->fid, &got, 0), 1);
	assert_int_equal(got.err_data_size, sizeof(data));
	assert_memory_equal(got.err_data, data, sizeof(data));
	assert_int_equal(fi_close(&cq->fid.fid), 0);
}

/* Without memory the spare error serves once, without data; the next is lost. An error
 * that was read is the spare one again. */
static void test_without_memory(void **state)
{
	struct wf_cq *cq = open_cq(*state, FI_VERSION(2, 0));
	struct fi_cq_err_entry got = { 0 }, lost = { .err = FI_EIO };

	for (int round = 0; round < 2; round++) {
		shortage_begin();
		put(cq, true);
		log_lines_start();
		assert_int_equal(wf_cq_write_err(cq, &lost), -FI_ENOMEM);
		assert_true(
			log_lines_have("out of memory: an error completion is lost"));
		(void)refuse_end();
		got = (struct fi_cq_err_entry){ 0 };
		assert_int_equal(fi_cq_readerr(&cq->fid, &got, 0), 1);
		assert_int_equal(got.err, FI_EADDRNOTAVAIL);
		assert_int_equal(got.prov_errno, 14);
		assert_null(got.err_data);
		assert_int_equal(got.err_data_size, 0);
		assert_int_equal(fi_cq_readerr(&cq->fid, &got, 0), -FI_EAGAIN);
		/* The next one that is read gives the spare one back. */
		put(cq, true);
		assert_int_equal(fi_cq_readerr(&cq->fid, &got, 0), 1);
		assert_int_equal(got.err_data_size, sizeof(data));
	}
	assert_int_equal(fi_close(&cq->fid.fid), 0);
}

/* CQ-050 */
static void test_max_err_data(void **state)
{
	struct domain_fixture *f = *state;
	struct wf_cq *cq = open_cq(f, FI_VERSION(2, 0));
	struct fi_cq_err_entry got = { 0 };

	f->domain_attr.max_err_data = 7;
	put(cq, true);
	assert_int_equal(fi_cq_readerr(&cq->fid, &got, 0), 1);
	assert_int_equal(got.err_data_size, 7);
	assert_memory_equal(got.err_data, data, 7);
	assert_int_equal(fi_close(&cq->fid.fid), 0);
}

/* CQ-027 */
static void test_strerror(void **state)
{
	struct wf_cq *cq = open_cq(*state, FI_VERSION(2, 0));
	const char *text = fi_strerror(FI_ETRUNC);
	char buf[64], small[5];

	assert_string_equal(fi_cq_strerror(&cq->fid, FI_ETRUNC, NULL, NULL, 0), text);
	assert_ptr_equal(
		fi_cq_strerror(&cq->fid, FI_ETRUNC, NULL, buf, sizeof(buf)), buf);
	assert_string_equal(buf, text);
	assert_ptr_equal(
		fi_cq_strerror(&cq->fid, FI_ETRUNC, NULL, small, sizeof(small)), small);
	assert_int_equal(strlen(small), 4);
	assert_int_equal(fi_close(&cq->fid.fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_entry_size),
		DOMAIN_TEST(test_user_buffer),
		DOMAIN_TEST(test_library_pointer),
		DOMAIN_TEST(test_entry_read_into_again),
		DOMAIN_TEST(test_without_memory),
		DOMAIN_TEST(test_max_err_data),
		DOMAIN_TEST(test_strerror),
	};

	return cmocka_run_group_tests_name("cq_err", tests, NULL, NULL);
}
