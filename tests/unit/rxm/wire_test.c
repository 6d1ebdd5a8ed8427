/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../hex.h"
#include "providers/rxm/data/wire.h"

/* Packets as other makes send them between little endian machines, with old memory in
 * the fields that their kind does not have. */

#define CONN "0300000000000000"
#define ID   "f0debc9a78563412"
#define OLD  "0101010101010101"
#define TAG  "8877665544332211"

static struct rxm_packet decode(const struct bytes *bytes)
{
	struct rxm_packet packet;

	assert_int_equal(rxm_packet_decode(bytes->at, bytes->len, &packet), 0);
	return packet;
}

static int fault(const struct bytes *bytes)
{
	struct rxm_packet packet;

	return -rxm_packet_decode(bytes->at, bytes->len, &packet);
}

static struct bytes eager(void)
{
	return hex("04 00 4000 01000000 " CONN OLD OLD "02 00 01 00 00000200"
		   "0400000000000000 efcdab8967452301" TAG "| 61626364");
}

static void test_eager(void **state)
{
	struct bytes bytes = eager();
	struct rxm_packet packet = decode(&bytes);

	(void)state;
	assert_int_equal(packet.kind, RXM_EAGER);
	assert_int_equal(packet.conn_id, 3);
	assert_int_equal(packet.op, RXM_OP_TAGGED);
	assert_true(packet.has_data);
	assert_int_equal(packet.data, 0x0123456789abcdef);
	assert_int_equal(packet.tag, 0x1122334455667788);
	assert_int_equal(packet.size, 4);
	assert_int_equal(packet.payload_len, 4);
	assert_memory_equal(packet.payload, "abcd", 4);
}

static void test_eager_has_no_old_memory(void **state)
{
	struct bytes bytes = hex("04 00 0040 01000000 " CONN OLD OLD
				 "02 00 00 00 01000000 0000000000000000" OLD OLD);
	struct rxm_packet packet = decode(&bytes);

	(void)state;
	assert_int_equal(packet.op, RXM_OP_MSG);
	assert_false(packet.has_data);
	assert_int_equal(packet.data, 0);
	assert_int_equal(packet.tag, 0);
	assert_int_equal(packet.msg_id, 0);
	assert_int_equal(packet.position, 0);
}

static struct bytes segment(void)
{
	return hex("04 01 0200 05000000 " CONN ID "0200000000000000"
		   "02 00 01 00 00000000 0140000000000000" OLD TAG "| 6162");
}

static void test_segment(void **state)
{
	struct bytes bytes = segment();
	struct rxm_packet packet = decode(&bytes);

	(void)state;
	assert_int_equal(packet.kind, RXM_SEGMENT);
	assert_int_equal(packet.position, RXM_MIDDLE);
	assert_int_equal(packet.msg_id, 0x123456789abcdef0);
	assert_int_equal(packet.size, 16385);
	assert_int_equal(packet.payload_len, 2);
	assert_memory_equal(packet.payload, "ab", 2);
}

#define MEMORY(count)                                                                  \
	"0000000000000000 0000020000000000 0000008000000000"                           \
	"0010000000000000 0100000000000000 ffffffffffffffff" OLD OLD OLD OLD OLD OLD   \
		count "01010101010101"

static struct bytes rdv(void)
{
	return hex("04 02 4000 01000000 " CONN ID OLD
		   "02 00 01 00 00000000 0100020000000000" OLD TAG MEMORY("02"));
}

static void test_rdv(void **state)
{
	struct bytes bytes = rdv();
	struct rxm_packet packet = decode(&bytes);

	(void)state;
	assert_int_equal(packet.kind, RXM_RDV);
	assert_int_equal(packet.msg_id, 0x123456789abcdef0);
	assert_int_equal(packet.size, 131073);
	assert_int_equal(packet.seg_count, 2);
	assert_int_equal(packet.seg[0].key, 0x80000000);
	assert_int_equal(packet.seg[0].len, 131072);
	assert_int_equal(packet.seg[1].addr, 4096);
	assert_int_equal(packet.seg[1].key, RXM_WIRE_NO_KEY);
}

/* Fields of the answers that describe the message contain old memory. */
static void test_rdv_answers(void **state)
{
	struct bytes to =
		hex("04 07 4000 01000000" CONN ID OLD OLD OLD OLD OLD MEMORY("01"));
	struct bytes read = hex("04 03 4000 01000000" CONN ID OLD OLD OLD OLD OLD);
	struct bytes written = hex("04 08 4000 01000000" CONN ID OLD OLD OLD OLD OLD);
	struct bytes local = hex("04 09 4000 01000000" CONN ID OLD OLD OLD OLD OLD);
	struct bytes credit =
		hex("04 06 4000 01000000" CONN ID "4000000000000000" OLD OLD OLD OLD);

	(void)state;
	assert_int_equal(decode(&to).kind, RXM_RDV_TO);
	assert_int_equal(decode(&to).seg_count, 1);
	assert_int_equal(decode(&to).size, 0);
	assert_int_equal(decode(&read).kind, RXM_RDV_READ);
	assert_int_equal(decode(&read).msg_id, 0x123456789abcdef0);
	assert_int_equal(decode(&written).kind, RXM_RDV_WRITTEN);
	assert_int_equal(decode(&written).msg_id, 0x123456789abcdef0);
	assert_int_equal(decode(&credit).credits, 64);
	assert_int_equal(decode(&local).kind, RXM_LOCAL);
}

#define TARGETS                                                                        \
	"4000000000000000 0100000000000000 deb0000000000000" OLD OLD OLD OLD OLD OLD   \
		OLD OLD OLD

/* One FI_SUM of FI_UINT64, fetching. */
static struct bytes atomic(void)
{
	return hex("04 04 4000 01000000" CONN ID OLD
		   "02 00 07 00 00000000 6800000000000000" OLD
		   "07 02 01 00 00000000" TARGETS "| 0500000000000000");
}

static void test_atomic(void **state)
{
	struct bytes bytes = atomic();
	struct rxm_packet packet = decode(&bytes);

	(void)state;
	assert_int_equal(packet.kind, RXM_ATOMIC);
	assert_int_equal(rxm_atomic_kind(&packet), WF_OP_FETCH);
	assert_int_equal(packet.datatype, FI_UINT64);
	assert_int_equal(packet.atomic_op, FI_SUM);
	assert_int_equal(packet.seg_count, 1);
	assert_int_equal(packet.seg[0].addr, 64);
	assert_int_equal(packet.seg[0].len, 8);
	assert_int_equal(packet.seg[0].key, 0xb0de);
	assert_int_equal(packet.payload_len, 8);
	assert_int_equal(packet.payload[0], 5);
}

static struct bytes result(void)
{
	return hex("04 05 4000 01000000" CONN ID OLD
		   "02 00 07 00 00000000 1000000000000000" OLD
		   "07 02 00 00 00000000 | 00000000 00000008 | 0900000000000000");
}

static void test_result(void **state)
{
	struct bytes bytes = result();
	struct bytes bad = hex("04 05 4000 01000000" CONN ID OLD
			       "02 00 07 00 00000000 0800000000000000" OLD
			       "07 02 00 00 00000000 | fffffff3 00000000");
	struct rxm_packet packet = decode(&bytes);

	(void)state;
	assert_int_equal(packet.kind, RXM_ATOMIC_RESULT);
	assert_int_equal(packet.err, 0);
	assert_int_equal(packet.payload_len, 8);
	assert_int_equal(packet.payload[0], 9);
	packet = decode(&bad);
	assert_int_equal(packet.err, FI_EACCES);
	assert_int_equal(packet.payload_len, 0);
}

/* A packet of another one, with one byte changed. */
static int changed(struct bytes bytes, size_t at, uint8_t value)
{
	assert_true(at < bytes.len);
	bytes.at[at] = value;
	return fault(&bytes);
}

static int shorter(struct bytes bytes, size_t len)
{
	assert_true(len < bytes.len);
	bytes.len = len;
	return fault(&bytes);
}

static void test_faults_of_all(void **state)
{
	(void)state;
	assert_int_equal(shorter(eager(), 0), RXM_FAULT_SHORT);
	assert_int_equal(shorter(eager(), 4), RXM_FAULT_SHORT);
	assert_int_equal(shorter(eager(), 63), RXM_FAULT_SHORT);
	assert_int_equal(changed(eager(), 0, 9), RXM_FAULT_VERSION);
	assert_int_equal(changed(eager(), 1, 10), RXM_FAULT_KIND);
	assert_int_equal(changed(eager(), 1, 77), RXM_FAULT_KIND);
	assert_int_equal(changed(eager(), 12, 1), RXM_FAULT_CONN_ID);
	assert_int_equal(changed(eager(), 32, 3), RXM_FAULT_VERSION);
	assert_int_equal(changed(eager(), 34, 2), RXM_FAULT_OP);
	assert_int_equal(changed(eager(), 34, 6), RXM_FAULT_OP);
}

static void test_faults_of_messages(void **state)
{
	(void)state;
	assert_int_equal(changed(eager(), 40, 5), RXM_FAULT_SIZE);
	assert_int_equal(changed(eager(), 40, 3), RXM_FAULT_SIZE);
	assert_int_equal(changed(eager(), 47, 0x80), RXM_FAULT_SIZE);
	assert_int_equal(shorter(eager(), 67), RXM_FAULT_SIZE);
	assert_int_equal(changed(segment(), 2, 3), RXM_FAULT_POSITION);
	assert_int_equal(changed(segment(), 24, 0), RXM_FAULT_POSITION);
	assert_int_equal(shorter(segment(), 64), RXM_FAULT_POSITION);
	assert_int_equal(changed(segment(), 47, 0x80), RXM_FAULT_SIZE);
	assert_int_equal(changed(segment(), 41, 0), RXM_FAULT_SIZE);
}

static void test_faults_of_rdv(void **state)
{
	(void)state;
	assert_int_equal(shorter(rdv(), 167), RXM_FAULT_SHORT);
	assert_int_equal(changed(rdv(), 160, 0), RXM_FAULT_SEGS);
	assert_int_equal(changed(rdv(), 160, 5), RXM_FAULT_SEGS);
	/* The memory is smaller than the message, or wraps. */
	assert_int_equal(changed(rdv(), 160, 1), RXM_FAULT_SEGS);
	assert_int_equal(changed(rdv(), 40, 2), RXM_FAULT_SEGS);
	assert_int_equal(changed(rdv(), 79, 0xff), RXM_FAULT_SEGS);
	assert_int_equal(changed(rdv(), 103, 0xff), RXM_FAULT_SEGS);
}

static void test_faults_of_atomics(void **state)
{
	(void)state;
	assert_int_equal(shorter(atomic(), 159), RXM_FAULT_SHORT);
	assert_int_equal(changed(atomic(), 34, 1), RXM_FAULT_OP);
	assert_int_equal(changed(atomic(), 34, 9), RXM_FAULT_OP);
	assert_int_equal(changed(atomic(), 40, 0x60), RXM_FAULT_SIZE);
	assert_int_equal(changed(atomic(), 56, 99), RXM_FAULT_ATOMIC);
	assert_int_equal(changed(atomic(), 57, 99), RXM_FAULT_ATOMIC);
	/* FI_CSWAP needs comparands. */
	assert_int_equal(changed(atomic(), 57, FI_CSWAP), RXM_FAULT_ATOMIC);
	assert_int_equal(changed(atomic(), 58, 0), RXM_FAULT_SEGS);
	assert_int_equal(changed(atomic(), 58, 5), RXM_FAULT_SEGS);
	assert_int_equal(changed(atomic(), 72, 2), RXM_FAULT_ATOMIC);
	assert_int_equal(changed(atomic(), 72, 0), RXM_FAULT_ATOMIC);
	assert_int_equal(changed(atomic(), 79, 0x80), RXM_FAULT_ATOMIC);
	/* FI_ATOMIC_READ has no operands. */
	assert_int_equal(changed(atomic(), 57, FI_ATOMIC_READ), RXM_FAULT_ATOMIC);
	assert_int_equal(shorter(result(), 71), RXM_FAULT_SHORT);
	assert_int_equal(changed(result(), 71, 7), RXM_FAULT_SIZE);
	assert_int_equal(changed(result(), 40, 9), RXM_FAULT_SIZE);
	assert_int_equal(changed(result(), 67, 1), RXM_FAULT_STATUS);
	assert_int_equal(changed(result(), 64, 0x80), RXM_FAULT_STATUS);
}

static struct rxm_packet decode_raw(const void *buf, size_t len)
{
	struct rxm_packet packet;

	assert_int_equal(rxm_packet_decode(buf, len, &packet), 0);
	return packet;
}

static void test_encode_messages(void **state)
{
	static const struct rxm_message msg = {
		.tagged = true, .has_data = true, .size = 40000, .data = 5, .tag = 6
	};
	static const uint8_t positions[] = { RXM_FIRST, RXM_MIDDLE, RXM_LAST };
	const struct fi_rma_iov seg[] = { { 1, 20000, 2 }, { 3, 20000, 4 } };
	struct {
		struct rxm_hdr hdr;
		uint8_t payload[16384];
	} out = { 0 };
	struct rxm_packet packet;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		rxm_put_segment(&out.hdr, 7, UINT64_MAX, &msg, i, 3, 16384);
		packet = decode_raw(&out, sizeof(out));
		assert_int_equal(packet.position, positions[i]);
		assert_int_equal(packet.conn_id, 7);
		assert_int_equal(packet.msg_id, UINT64_MAX);
		assert_int_equal(packet.tag, 6);
		assert_int_equal(packet.data, 5);
		assert_int_equal(packet.size, 40000);
	}
	rxm_put_rdv((uint8_t *)&out, 7, 9, &msg, seg, 2);
	packet = decode_raw(&out, RXM_WIRE_RDV);
	assert_int_equal(packet.kind, RXM_RDV);
	assert_int_equal(packet.msg_id, 9);
	assert_int_equal(packet.seg_count, 2);
	assert_memory_equal(packet.seg, seg, sizeof(seg));
	rxm_put_rdv_to((uint8_t *)&out, 7, 9, seg, 1);
	packet = decode_raw(&out, RXM_WIRE_RDV);
	assert_int_equal(packet.kind, RXM_RDV_TO);
	assert_int_equal(packet.seg_count, 1);
	rxm_put_rdv_end(&out.hdr, RXM_RDV_WRITTEN, 7, 9);
	packet = decode_raw(&out, RXM_WIRE_HDR);
	assert_int_equal(packet.kind, RXM_RDV_WRITTEN);
	assert_int_equal(packet.msg_id, 9);
	rxm_put_credit(&out.hdr, 7, 64);
	packet = decode_raw(&out, RXM_WIRE_HDR);
	assert_int_equal(packet.kind, RXM_CREDIT);
	assert_int_equal(packet.credits, 64);
}

/* Byte for byte what another make sends, where it leaves no old memory. */
static void test_encode_as_others(void **state)
{
	static const struct rxm_message msg = { .tagged = true,
		.has_data = true,
		.size = 64,
		.data = 0x0123456789abcdef,
		.tag = 0x1122334455667788 };
	struct bytes expected =
		hex("04 00 0000 00000000 0000000000000000 0000000000000000"
		    "0000000000000000 02 00 01 00 00000200 4000000000000000"
		    "efcdab8967452301" TAG);
	struct rxm_hdr hdr;

	(void)state;
	rxm_put_eager(&hdr, 0, &msg);
	assert_memory_equal(&hdr, expected.at, sizeof(hdr));
}

static void test_encode_atomics(void **state)
{
	struct fi_rma_iov rma[] = { { 64, 16, 3 }, { 8, 8, 4 } };
	struct wf_op_atomic atomic = {
		.datatype = FI_INT64, .op = FI_CSWAP, .count = 3
	};
	struct wf_op op = {
		.kind = WF_OP_COMPARE,
		.atomic = &atomic,
		.rma = rma,
		.rma_count = 2,
	};
	uint8_t out[RXM_WIRE_ATOMIC + 48] = { 0 };
	struct rxm_packet packet;

	(void)state;
	rxm_put_atomic(out, 7, 9, &op, 48);
	packet = decode_raw(out, sizeof(out));
	assert_int_equal(packet.kind, RXM_ATOMIC);
	assert_int_equal(rxm_atomic_kind(&packet), WF_OP_COMPARE);
	assert_int_equal(packet.seg_count, 2);
	assert_memory_equal(packet.seg, rma, sizeof(rma));
	rxm_put_result(out, 7, &packet, FI_EACCES, 0);
	packet = decode_raw(out, RXM_WIRE_RESULT);
	assert_int_equal(packet.kind, RXM_ATOMIC_RESULT);
	assert_int_equal(packet.msg_id, 9);
	assert_int_equal(packet.err, FI_EACCES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eager),
		cmocka_unit_test(test_eager_has_no_old_memory),
		cmocka_unit_test(test_segment),
		cmocka_unit_test(test_rdv),
		cmocka_unit_test(test_rdv_answers),
		cmocka_unit_test(test_atomic),
		cmocka_unit_test(test_result),
		cmocka_unit_test(test_faults_of_all),
		cmocka_unit_test(test_faults_of_messages),
		cmocka_unit_test(test_faults_of_rdv),
		cmocka_unit_test(test_faults_of_atomics),
		cmocka_unit_test(test_encode_messages),
		cmocka_unit_test(test_encode_as_others),
		cmocka_unit_test(test_encode_atomics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
