/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_tostr of values and flags, fi_strerror, fi_version. */
#include "core/strings/strbuf.h"
#include "unit.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_trigger.h>
#include <rdma/providers/fi_log.h>

#include "core/strings/strings.h"
#include "sys/compiler.h"

#define EXPECT(data, type, text) assert_string_equal(fi_tostr(data, type), text)

static void expect_u32(uint32_t value, enum fi_type type, const char *text)
{
	EXPECT(&value, type, text);
}

static void expect_u64(uint64_t value, enum fi_type type, const char *text)
{
	EXPECT(&value, type, text);
}

/* STR-001 */
static void buffer_is_bounded_and_terminated(void **state)
{
	uint64_t caps = FI_MSG | FI_RMA;
	char buf[16];
	size_t len;

	for (len = 1; len < sizeof(buf); len++) {
		memset(buf, 'x', sizeof(buf));
		assert_ptr_equal(fi_tostr_r(buf, len, &caps, FI_TYPE_CAPS), buf);
		assert_int_equal(strlen(buf), len - 1 < 14 ? len - 1 : 14);
		assert_int_equal(buf[len], 'x');
	}
	assert_null(fi_tostr_r(buf, 0, &caps, FI_TYPE_CAPS));
	assert_null(fi_tostr_r(NULL, 4, &caps, FI_TYPE_CAPS));
	assert_ptr_equal(fi_tostr(&caps, FI_TYPE_CAPS), fi_tostr(&caps, FI_TYPE_MODE));
}

static void *tostr_worker(void *arg)
{
	uint64_t bit = *(uint64_t *)arg;
	int i;

	for (i = 0; i < 2000; i++) {
		if (strcmp(fi_tostr(&bit, FI_TYPE_CAPS),
			    bit == FI_MSG ? "FI_MSG" : "FI_RMA") != 0)
			return arg;
	}
	return NULL;
}

/* STR-001: ours is per thread. */
static void threads_do_not_share_the_buffer(void **state)
{
	uint64_t bits[] = { FI_MSG, FI_RMA };
	pthread_t threads[2];
	void *failed;
	int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, tostr_worker, &bits[i]), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
}

/* STR-002 */
static void null_data_is_null(void **state)
{
	char buf[4] = "abc";
	int type;

	for (type = FI_TYPE_INFO; type <= FI_TYPE_WAIT_OBJ; type++)
		assert_null(fi_tostr(NULL, (enum fi_type)type));
	assert_null(fi_tostr_r(buf, sizeof(buf), NULL, FI_TYPE_CAPS));
	assert_string_equal(buf, "");
	EXPECT("", FI_TYPE_VERSION, "2.6.0");
}

/* STR-003 */
static void unknown_type_and_value(void **state)
{
	int type;

	expect_u32(0, (enum fi_type)(FI_TYPE_WAIT_OBJ + 1), "Unknown type");
	expect_u32(0, (enum fi_type)1000, "Unknown type");
	expect_u32(0, (enum fi_type) - 1, "Unknown type");
	for (type = FI_TYPE_INFO; type <= FI_TYPE_WAIT_OBJ; type++) {
		static const uint64_t zero[64];
		static struct fi_ops ops = { .size = sizeof(ops) };
		struct fid fid = { .ops = &ops };

		assert_string_not_equal(
			fi_tostr(type == FI_TYPE_FID ? (const void *)&fid : zero,
				(enum fi_type)type),
			"Unknown type");
	}
}

/* Every value of a dense enum from 0 to @last has the name of its constant, which
 * begins with @prefix; what follows @last is unknown. STR-003, STR-009 */
static void walk(enum fi_type type, uint32_t last, const char *prefix)
{
	uint32_t value;
	const char *text;

	for (value = 0; value <= last; value++) {
		text = fi_tostr(&value, type);
		assert_int_equal(strncmp(text, prefix, strlen(prefix)), 0);
		assert_string_not_equal(text, "Unknown");
	}
	expect_u32(last + 1, type, "Unknown");
	expect_u32(0x7fffffff, type, "Unknown");
}

static void every_enum_value_has_a_name(void **state)
{
	walk(FI_TYPE_EP_TYPE, FI_EP_RDM, "FI_EP_");
	walk(FI_TYPE_ADDR_FORMAT, FI_SOCKADDR_IP, "FI_");
	walk(FI_TYPE_THREADING, FI_THREAD_ENDPOINT, "FI_THREAD_");
	walk(FI_TYPE_PROGRESS, FI_PROGRESS_CONTROL_UNIFIED, "FI_PROGRESS_");
	walk(FI_TYPE_PROTOCOL, FI_PROTO_LNX, "FI_PROTO_");
	walk(FI_TYPE_AV_TYPE, FI_AV_TABLE, "FI_AV_");
	walk(FI_TYPE_ATOMIC_TYPE, FI_FLOAT8_E5M2, "FI_");
	walk(FI_TYPE_ATOMIC_OP, FI_DIFF, "FI_");
	walk(FI_TYPE_EQ_EVENT, FI_JOIN_COMPLETE, "FI_");
	walk(FI_TYPE_OP_TYPE, FI_OP_CNTR_ADD, "FI_OP_");
	walk(FI_TYPE_COLLECTIVE_OP, FI_GATHER, "FI_");
	walk(FI_TYPE_HMEM_IFACE, FI_HMEM_SYNAPSEAI, "FI_HMEM_");
	walk(FI_TYPE_CQ_FORMAT, FI_CQ_FORMAT_TAGGED, "FI_CQ_FORMAT_");
	walk(FI_TYPE_LOG_LEVEL, FI_LOG_DEBUG, "");
	walk(FI_TYPE_LOG_SUBSYS, FI_LOG_CNTR, "");
	walk(FI_TYPE_CQ_WAIT_COND, FI_CQ_COND_THRESHOLD, "FI_CQ_COND_");
	walk(FI_TYPE_WAIT_OBJ, FI_WAIT_POLLFD, "FI_WAIT_");
	expect_u32(FI_VOID, FI_TYPE_ATOMIC_TYPE, "FI_VOID");
	expect_u32(FI_NOOP, FI_TYPE_ATOMIC_OP, "FI_NOOP");
}

static void enum_golden(void **state)
{
	expect_u32(FI_EP_RDM, FI_TYPE_EP_TYPE, "FI_EP_RDM");
	expect_u32(FI_SOCKADDR_IN6, FI_TYPE_ADDR_FORMAT, "FI_SOCKADDR_IN6");
	expect_u32(0x80000003u, FI_TYPE_ADDR_FORMAT, "Provider specific");
	expect_u32(FI_PROTO_XNET, FI_TYPE_PROTOCOL, "FI_PROTO_XNET");
	expect_u32(0x80000003u, FI_TYPE_PROTOCOL, "Provider specific");
	expect_u32(0x80000003u, FI_TYPE_EP_TYPE, "Unknown");
	expect_u32(1, FI_TYPE_AV_TYPE, "FI_AV_MAP");
	expect_u32(FI_LOG_EP_DATA, FI_TYPE_LOG_SUBSYS, "ep_data");
	expect_u32(FI_LOG_TRACE, FI_TYPE_LOG_LEVEL, "trace");
	expect_u32(FI_THREAD_FID, FI_TYPE_THREADING, "FI_THREAD_FID");
}

/* The names of all bits of a flag type, each alone. */
static void walk_flags(enum fi_type type, uint64_t expected)
{
	uint64_t named = 0, bit;
	int i;

	for (i = 0; i < (type == FI_TYPE_MR_MODE ? 32 : 64); i++) {
		bit = 1ull << i;
		if (*fi_tostr(&bit, type))
			named |= bit;
	}
	assert_true((named & expected) == expected);
}

/* STR-004: all flags that an operation may carry, each by its own name. */
static void every_op_flag_has_its_name(void **state)
{
#define FLAG(name)                                                                     \
	{                                                                              \
		name, #name                                                            \
	}
	static const struct {
		uint64_t flag;
		const char *name;
	} rows[] = {
		FLAG(FI_MULTICAST),
		FLAG(FI_MULTI_RECV),
		FLAG(FI_REMOTE_CQ_DATA),
		FLAG(FI_MORE),
		FLAG(FI_PEEK),
		FLAG(FI_TRIGGER),
		FLAG(FI_FENCE),
		FLAG(FI_COMPLETION),
		FLAG(FI_INJECT),
		FLAG(FI_INJECT_COMPLETE),
		FLAG(FI_TRANSMIT_COMPLETE),
		FLAG(FI_DELIVERY_COMPLETE),
		FLAG(FI_MATCH_COMPLETE),
		FLAG(FI_AFFINITY),
		FLAG(FI_CLAIM),
		FLAG(FI_DISCARD),
		FLAG(FI_COMMIT_COMPLETE),
		FLAG(FI_PEER_TRANSFER),
		FLAG(FI_AUTH_KEY),
	};
#undef FLAG
	uint64_t known = 0, bit;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		expect_u64(rows[i].flag, FI_TYPE_OP_FLAGS, rows[i].name);
		known |= rows[i].flag;
	}
	for (int i = 0; i < 64; i++) {
		bit = 1ull << i;
		assert_int_equal(!!*fi_tostr(&bit, FI_TYPE_OP_FLAGS), !!(known & bit));
	}
}

/* STR-004, STR-010 */
static void flags(void **state)
{
	expect_u64(0, FI_TYPE_CAPS, "");
	expect_u64(FI_MSG | FI_RMA | 1, FI_TYPE_CAPS, "FI_MSG, FI_RMA");
	expect_u64(FI_HMEM | FI_DIRECTED_RECV | FI_FENCE, FI_TYPE_CAPS,
		"FI_FENCE, FI_DIRECTED_RECV, FI_HMEM");
	expect_u64(FI_INJECT | FI_COMPLETION | FI_CLAIM, FI_TYPE_OP_FLAGS,
		"FI_COMPLETION, FI_INJECT, FI_CLAIM");
	expect_u64(FI_ORDER_SAS | FI_ORDER_RAR, FI_TYPE_MSG_ORDER,
		"FI_ORDER_RAR, FI_ORDER_SAS");
	expect_u64(FI_CONTEXT | FI_CONTEXT2, FI_TYPE_MODE, "FI_CONTEXT, FI_CONTEXT2");
	expect_u64(1ull << 55, FI_TYPE_MODE, "FI_LOCAL_MR");
	expect_u64(FI_SEND | FI_MSG | FI_TAGGED, FI_TYPE_CQ_EVENT_FLAGS,
		"FI_SEND, FI_MSG, FI_TAGGED");
	/* An int: the word after it is not read. */
	expect_u64(FI_MR_LOCAL | 1ull << 32, FI_TYPE_MR_MODE, "FI_MR_LOCAL");
	expect_u64(1, FI_TYPE_MR_MODE, "FI_MR_BASIC");

	/* Bits 1-6, 8-13, 16, 17, 20, 21, 41, 43-53 and 56-59. */
	walk_flags(FI_TYPE_CAPS, 0x0f3ffa0000333f7eull);
	walk_flags(FI_TYPE_MODE, 0x0f90000000000000ull);
	walk_flags(FI_TYPE_MR_MODE, 0x1fff);
	walk_flags(FI_TYPE_MSG_ORDER, 0xff000001ffull);
	walk_flags(FI_TYPE_CQ_EVENT_FLAGS,
		FI_SEND | FI_RECV | FI_RMA | FI_ATOMIC | FI_MSG | FI_TAGGED | FI_READ |
			FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE |
			FI_REMOTE_CQ_DATA | FI_MULTI_RECV | FI_MORE | FI_CLAIM |
			FI_COLLECTIVE);
}

/* STR-012, STR-013 */
static void strerror_system_and_own(void **state)
{
	assert_string_equal(fi_strerror(0), "Success");
	assert_string_equal(fi_strerror(FI_EAGAIN), strerror(EAGAIN));
	assert_string_equal(fi_strerror(-FI_EAGAIN), strerror(EAGAIN));
	assert_string_equal(fi_strerror(200), "Unknown error 200");
	assert_string_equal(fi_strerror(FI_EAVAIL), "Error available");
	assert_string_equal(fi_strerror(-FI_EAVAIL), "Error available");
	assert_string_equal(
		fi_strerror(FI_EFIREWALLADDR), "Host unreacheable due to firewall");
	assert_string_equal(fi_strerror(FI_EOTHER), "Unspecified error");
	assert_string_equal(fi_strerror(FI_ERRNO_MAX), "Unspecified error");
	assert_string_equal(fi_strerror(INT_MAX), "Unspecified error");
	assert_string_equal(fi_strerror(INT_MIN), "Unspecified error");
}

/* STR-014, STR-015 */
static void strerror_names_every_code(void **state)
{
	int code;

	for (code = FI_ETOOSMALL; code < FI_ERRNO_MAX; code++)
		assert_string_not_equal(fi_strerror(code), "Unspecified error");
	assert_int_equal(FI_ENOMR, 270);
	assert_int_equal(FI_EFIREWALLADDR, 271);
}

/* VER-001, VER-003 */
static void version(void **state)
{
	assert_int_equal(fi_version(), FI_VERSION(2, 6));
	assert_int_equal(fi_version() >> 16, 2);
	assert_int_equal(FI_MINOR(fi_version()), 6);
}

/* The terminator has its place: what needs that too is cut. */
static void text_that_just_fits(void **state)
{
	char buf[8] = "xxxxxxx";
	struct wf_strbuf sb;

	(void)state;
	wf_strbuf_init(&sb, buf, 4);
	wf_strbuf_printf(&sb, "abc");
	assert_string_equal(buf, "abc");
	assert_false(sb.cut);
	wf_strbuf_init(&sb, buf, 4);
	wf_strbuf_printf(&sb, "abcd");
	assert_string_equal(buf, "abc");
	assert_true(sb.cut);
	assert_int_equal(sb.len, 3);
	assert_int_equal(buf[4], 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffer_is_bounded_and_terminated),
		cmocka_unit_test(threads_do_not_share_the_buffer),
		cmocka_unit_test(null_data_is_null),
		cmocka_unit_test(unknown_type_and_value),
		cmocka_unit_test(every_enum_value_has_a_name),
		cmocka_unit_test(enum_golden),
		cmocka_unit_test(every_op_flag_has_its_name),
		cmocka_unit_test(flags),
		cmocka_unit_test(strerror_system_and_own),
		cmocka_unit_test(strerror_names_every_code),
		cmocka_unit_test(version),
		cmocka_unit_test(text_that_just_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
