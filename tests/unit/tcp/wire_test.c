/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <rdma/fi_atomic.h>

#include "providers/tcp/data/wire.h"
#include "sys/compiler.h"

struct fi_provider tcp_fi = { .name = "tcp" };

#define ALL (TCP_HAVE_OFFER | TCP_HAVE_TAGGED | TCP_HAVE_RDV)

static const struct tcp_wire_peer plain; /* an old FI_EP_MSG peer */
static const struct tcp_wire_peer rdm0 = { .have = TCP_HAVE_TAGGED };
static const struct tcp_wire_peer rdm1 = { .have = TCP_HAVE_TAGGED | TCP_HAVE_RDV };
static const struct tcp_wire_peer ours = { .have = ALL };
static const struct tcp_wire_peer ours_swapped = { .have = ALL, .swap = true };

/* Headers as other makes send them between little endian machines. */
static const struct golden {
	const char *text;
	const struct tcp_wire_peer *peer;
	struct tcp_record rec;
} golden[] = {
	{ "03 00 0000 00 00 10 00 5000000000000000", &plain,
		{ .kind = TCP_REC_MSG, .payload_len = 64 } },
	{ "03 00 0400 00 00 10 00 1400000000000000", &plain,
		{ .kind = TCP_REC_MSG, .flags = TCP_FLAG_ACK, .payload_len = 4 } },
	{ "03 00 0000 02 00 10 00 1000000000000000", &plain, { .kind = TCP_REC_ACK } },
	{ "03 00 0100 00 00 18 00 0004000000000000 efcdab8967452301", &plain,
		{ .kind = TCP_REC_MSG,
			.flags = TCP_FLAG_DATA,
			.payload_len = 1000,
			.data = 0x0123456789abcdef } },
	{ "03 01 0000 00 00 18 00 5800000000000000 0100000000000000", &rdm0,
		{ .kind = TCP_REC_TAGGED, .payload_len = 64, .tag = 1 } },
	{ "03 01 0400 00 00 18 00 1800000000000000 0000000000000000", &rdm1,
		{ .kind = TCP_REC_TAGGED, .flags = TCP_FLAG_ACK } },
	{ "03 01 0000 00 00 18 00 1800100000000000 0100000000000000", &rdm1,
		{ .kind = TCP_REC_TAGGED, .payload_len = 1 << 20, .tag = 1 } },
	{ "03 05 0000 01 00 20 00 2000000000000000 0100000000000000 0000100000000000",
		&rdm1,
		{ .kind = TCP_REC_RTS, .index = 1, .tag = 1, .msg_len = 1 << 20 } },
	{ "03 06 0000 01 00 10 00 1000000000000000", &rdm1,
		{ .kind = TCP_REC_CTS, .index = 1 } },
	{ "03 07 0000 01 00 10 00 1000100000000000", &rdm1,
		{ .kind = TCP_REC_RDV_DATA, .index = 1, .payload_len = 1 << 20 } },
	{ "03 04 0000 00 01 28 00 2810000000000000"
	  "0400000000000000 0010000000000000 dec0000000000000",
		&plain,
		{ .kind = TCP_REC_WRITE,
			.payload_len = 4096,
			.seg_count = 1,
			.span = 4096,
			.seg = { { 4, 4096, 0xc0de } } } },
	{ "03 04 0100 00 01 30 00 7000000000000000 efcdab8967452301"
	  "0400000000000000 4000000000000000 dec0000000000000",
		&rdm1,
		{ .kind = TCP_REC_WRITE,
			.flags = TCP_FLAG_DATA,
			.payload_len = 64,
			.data = 0x0123456789abcdef,
			.seg_count = 1,
			.span = 64,
			.seg = { { 4, 64, 0xc0de } } } },
	{ "03 02 0000 00 01 28 00 2800000000000000"
	  "4410000000000000 0010000000000000 dec0000000000000",
		&plain,
		{ .kind = TCP_REC_READ,
			.seg_count = 1,
			.span = 4096,
			.seg = { { 0x1044, 4096, 0xc0de } } } },
	{ "03 03 0000 00 00 10 00 1010000000000000", &plain,
		{ .kind = TCP_REC_READ_RESP, .payload_len = 4096 } },
	{ "03 04 0400 00 00 10 00 1000000000000000", &plain,
		{ .kind = TCP_REC_WRITE, .flags = TCP_FLAG_ACK } },
};

static void assert_same_record(const struct tcp_record *a, const struct tcp_record *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->index, b->index);
	assert_int_equal(a->atomic_op, b->atomic_op);
	assert_int_equal(a->datatype, b->datatype);
	assert_int_equal(a->answer, b->answer);
	assert_int_equal(a->seg_count, b->seg_count);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->payload_len, b->payload_len);
	assert_int_equal(a->data, b->data);
	assert_int_equal(a->tag, b->tag);
	assert_int_equal(a->msg_len, b->msg_len);
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->context, b->context);
	assert_int_equal(a->span, b->span);
	assert_int_equal(a->err, b->err);
	assert_memory_equal(a->seg, b->seg, a->seg_count * sizeof(a->seg[0]));
}

static void decodes_what_others_send(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(golden); i++) {
		struct bytes in = hex(golden[i].text);
		struct tcp_record rec;

		assert_int_equal(
			tcp_record_decode(in.at, in.len, golden[i].peer, &rec), 0);
		assert_int_equal(rec.hdr_len, in.len);
		assert_same_record(&rec, &golden[i].rec);
	}
}

static void encodes_what_others_send(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(golden); i++) {
		struct bytes want = hex(golden[i].text);
		uint8_t buf[TCP_WIRE_HDR_MAX];
		size_t len = tcp_record_encode(buf, golden[i].peer, &golden[i].rec);

		assert_int_equal(len, want.len);
		assert_memory_equal(buf, want.at, len);
	}
}

/* Tagged messages of release 1.17 on FI_EP_MSG endpoints. */
static void raw_tagged_messages_are_tagged(void **state)
{
	static const struct tcp_wire_peer raw = { .have = TCP_HAVE_RAW_TAGGED };
	struct bytes bare =
		hex("03 00 8000 00 00 18 00 5800000000000000 8877665544332211");
	struct bytes with_data = hex("03 00 8100 00 00 20 00 6000000000000000"
				     "efcdab8967452301 8877665544332211");
	struct bytes tagless = hex("03 00 8000 00 00 10 00 5000000000000000");
	struct bytes ack = hex("03 00 8000 02 00 10 00 1000000000000000");
	struct tcp_record rec;

	assert_int_equal(tcp_record_decode(bare.at, bare.len, &raw, &rec), 0);
	assert_int_equal(rec.kind, TCP_REC_TAGGED);
	assert_int_equal(rec.tag, 0x1122334455667788);
	assert_int_equal(rec.payload_len, 64);
	assert_int_equal(rec.flags, 0);
	assert_int_equal(tcp_record_decode(with_data.at, with_data.len, &raw, &rec), 0);
	assert_int_equal(rec.kind, TCP_REC_TAGGED);
	assert_int_equal(rec.flags, TCP_FLAG_DATA);
	assert_int_equal(rec.data, 0x0123456789abcdef);
	assert_int_equal(rec.tag, 0x1122334455667788);
	assert_int_equal(tcp_record_decode(tagless.at, tagless.len, &raw, &rec),
		-TCP_FAULT_HDR_LEN);
	assert_int_equal(tcp_record_decode(ack.at, ack.len, &raw, &rec), 0);
	assert_int_equal(rec.kind, TCP_REC_ACK);
	/* Elsewhere the flag means nothing. */
	assert_int_equal(tcp_record_decode(bare.at, bare.len, &plain, &rec), 0);
	assert_int_equal(rec.kind, TCP_REC_MSG);
}

static void asks_for_what_is_missing(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(golden); i++) {
		struct bytes in = hex(golden[i].text);

		for (size_t len = 0; len < in.len; len++) {
			struct tcp_record rec = { .kind = 99 };
			/* So that a read beyond is seen by AddressSanitizer. */
			uint8_t *part = malloc(len + !len);
			int ret;

			memcpy(part, in.at, len);
			ret = tcp_record_decode(part, len, golden[i].peer, &rec);
			assert_int_equal(ret, len < 16 ? 16 : in.len);
			assert_int_equal(rec.kind, 99);
			free(part);
		}
	}
}

/* Another version, old memory in unused bytes, flags without meaning. */
static void ignores_what_has_no_meaning(void **state)
{
	static const char *const same[] = {
		"03 00 0000 00 01 10 00 1400000000000000", /* segments of a message */
		"04 00 0000 00 00 10 00 1400000000000000", /* version */
		"ff 00 0000 ff 00 10 5a 1400000000000000", /* op data, byte 7 */
		"03 00 f0ff 00 ff 10 00 1400000000000000", /* flags */
		"03 00 0000 00 00 18 00 1c00000000000000 ffffffffffffffff",
	};
	struct tcp_record want = { .kind = TCP_REC_MSG, .payload_len = 4 };

	for (size_t i = 0; i < WF_ARRAY_SIZE(same); i++) {
		struct bytes in = hex(same[i]);
		struct tcp_record rec;

		assert_int_equal(tcp_record_decode(in.at, in.len, &plain, &rec), 0);
		rec.flags &= (uint16_t) ~(TCP_FLAG_COMMIT | TCP_FLAG_ACK);
		assert_same_record(&rec, &want);
		assert_int_equal(rec.hdr_len, in.len);
	}
}

static void flags_of_reads_are_not_theirs(void **state)
{
	struct bytes in = hex("03 02 0500 00 01 28 00 2800000000000000"
			      "4410000000000000 0010000000000000 dec0000000000000");
	struct tcp_record rec;

	assert_int_equal(tcp_record_decode(in.at, in.len, &plain, &rec), 0);
	assert_int_equal(rec.flags, 0);
	assert_int_equal(rec.seg[0].addr, 0x1044);
}

/* Words behind the known ones are let pass up to 120 bytes in all. */
static void longer_headers_up_to_the_limit(void **state)
{
	for (unsigned int len = 0; len < 256; len++) {
		uint8_t in[256] = { 3, 1, 0, 0, 0, 0, (uint8_t)len, 0, 0xff, 1 };
		struct tcp_record rec;
		int ret;

		in[16] = 77;
		ret = tcp_record_decode(in, sizeof(in), &rdm0, &rec);
		if (len >= 24 && len <= 120 && len % 8 == 0) {
			assert_int_equal(ret, 0);
			assert_int_equal(rec.tag, 77);
			assert_int_equal(rec.hdr_len, len);
			assert_int_equal(rec.payload_len, 0x1ff - len);
		} else {
			assert_int_equal(ret, -TCP_FAULT_HDR_LEN);
		}
	}
}

static const struct bad {
	const char *text;
	const struct tcp_wire_peer *peer;
	int fault;
} bad[] = {
	/* Operations beyond what was agreed on. */
	{ "03 01 0000 00 00 18 00 5800000000000000 0100000000000000", &plain,
		TCP_FAULT_OP },
	{ "03 05 0000 01 00 20 00 2000000000000000 0100000000000000 0000100000000000",
		&rdm0, TCP_FAULT_OP },
	{ "03 06 0000 01 00 10 00 1000000000000000", &rdm0, TCP_FAULT_OP },
	{ "03 07 0000 01 00 10 00 1000000000000000", &rdm0, TCP_FAULT_OP },
	{ "03 08 0000 00 00 10 00 1000000000000000", &ours, TCP_FAULT_OP },
	{ "03 09 0000 00 00 10 00 1000000000000000", &ours, TCP_FAULT_OP },
	{ "03 ff 0000 00 00 10 00 1000000000000000", &ours, TCP_FAULT_OP },
	/* Headers too short for what they hold. */
	{ "03 00 0100 00 00 10 00 1000000000000000", &plain, TCP_FAULT_HDR_LEN },
	{ "03 01 0000 00 00 10 00 1000000000000000", &rdm0, TCP_FAULT_HDR_LEN },
	{ "03 01 0100 00 00 18 00 1800000000000000", &rdm0, TCP_FAULT_HDR_LEN },
	{ "03 02 0000 00 01 20 00 2000000000000000", &plain, TCP_FAULT_HDR_LEN },
	{ "03 04 0100 00 04 70 00 7000000000000000", &plain, TCP_FAULT_HDR_LEN },
	{ "03 00 0000 00 00 00 00 1000000000000000", &plain, TCP_FAULT_HDR_LEN },
	/* Or of exact length and longer. */
	{ "03 00 0000 02 00 18 00 1800000000000000", &plain, TCP_FAULT_HDR_LEN },
	{ "03 05 0000 01 00 28 00 2800000000000000", &rdm1, TCP_FAULT_HDR_LEN },
	{ "03 00 0000 00 00 80 00 8000000000000000", &plain, TCP_FAULT_HDR_LEN },
	{ "03 00 0000 00 00 11 00 1100000000000000", &plain, TCP_FAULT_HDR_LEN },
	/* totals */
	{ "03 00 0000 00 00 10 00 0f00000000000000", &plain, TCP_FAULT_TOTAL },
	{ "03 00 0000 00 00 10 00 0000000000000000", &plain, TCP_FAULT_TOTAL },
	{ "03 00 0000 00 00 10 00 ffffffffffffffff", &plain, TCP_FAULT_TOTAL },
	{ "03 00 0000 00 00 10 00 1100000000000040", &plain, TCP_FAULT_TOTAL },
	{ "03 00 0000 02 00 10 00 0f00000000000000", &plain, TCP_FAULT_TOTAL },
	/* payloads */
	{ "03 00 0000 02 00 10 00 1400000000000000", &plain, TCP_FAULT_PAYLOAD },
	{ "03 02 0000 00 00 10 00 1100000000000000", &plain, TCP_FAULT_PAYLOAD },
	{ "03 06 0000 01 00 10 00 1100000000000000", &rdm1, TCP_FAULT_PAYLOAD },
	{ "03 05 0000 01 00 20 00 2100000000000000", &rdm1, TCP_FAULT_PAYLOAD },
	{ "03 04 0000 00 00 10 00 1100000000000000", &plain, TCP_FAULT_PAYLOAD },
	{ "03 04 0000 00 01 28 00 2910000000000000"
	  "0400000000000000 0010000000000000 dec0000000000000",
		&plain, TCP_FAULT_PAYLOAD },
	/* segments */
	{ "03 02 0000 00 05 78 00 7800000000000000", &plain, TCP_FAULT_SEGS },
	{ "03 04 0000 00 05 78 00 7800000000000000", &plain, TCP_FAULT_SEGS },
	{ "03 04 0000 00 ff 10 00 1000000000000000", &plain, TCP_FAULT_SEGS },
	{ "03 02 0000 00 01 28 00 2800000000000000"
	  "0000000000000000 ffffffffffffffff 0000000000000000",
		&plain, TCP_FAULT_SEGS },
	{ "03 02 0000 00 02 40 00 4000000000000000"
	  "0000000000000000 0000000000000040 0000000000000000"
	  "0000000000000000 0100000000000000 0000000000000000",
		&plain, TCP_FAULT_SEGS },
	/* rendezvous */
	{ "03 05 0000 00 00 20 00 2000000000000000", &rdm1, TCP_FAULT_INDEX },
	{ "03 06 0000 ff 00 10 00 1000000000000000", &rdm1, TCP_FAULT_INDEX },
	{ "03 07 0000 00 00 10 00 1000000000000000", &rdm1, TCP_FAULT_INDEX },
	{ "03 05 0000 01 00 20 00 2000000000000000 0000000000000000 0000000000000080",
		&rdm1, TCP_FAULT_MSG_LEN },
	/* Error answers. */
	{ "03 45 0000 01 00 18 00 1800000000000000 0100000000000000", &ours,
		TCP_FAULT_ANSWER },
	{ "03 45 0000 02 00 18 00 1800000000000000 0000000000000000", &ours,
		TCP_FAULT_ANSWER },
	{ "03 45 0000 03 00 18 00 1800000000000000 0010000000000000", &ours,
		TCP_FAULT_ANSWER },
};

static void refuses_each_fault(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(bad); i++) {
		struct bytes in = hex(bad[i].text);
		struct tcp_record rec = { .kind = 99 };
		/* More than enough for all of the header to be there. */
		int ret = tcp_record_decode(in.at, sizeof(in.at), bad[i].peer, &rec);

		if (ret != -bad[i].fault)
			print_message("row %zu: %s\n", i, bad[i].text);
		assert_int_equal(ret, -bad[i].fault);
		assert_int_equal(rec.kind, 99);
		assert_string_not_equal(tcp_fault_text(ret), "unknown fault");
	}
}

/* A peer that has not agreed to it knows none of the extension's operations. */
static void knows_only_what_was_agreed_on(void **state)
{
	static const struct {
		const struct tcp_wire_peer *peer;
		unsigned int known; /* number of leading operations */
	} rows[] = { { &plain, 5 }, { &rdm0, 5 }, { &rdm1, 8 } };

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++)
		for (unsigned int op = 0; op < 256; op++) {
			uint8_t in[32] = { 3, (uint8_t)op, 0, 0, 1, 0, 0 };
			struct tcp_record rec;
			bool known = op < rows[i].known &&
				     (op != TCP_OP_TAGGED || rows[i].peer->have);

			/* A header length of 0 is the next thing looked at. */
			assert_int_equal(tcp_record_decode(in, 32, rows[i].peer, &rec),
				known ? -TCP_FAULT_HDR_LEN : -TCP_FAULT_OP);
		}
}

/* The bytes of docs/tcp-wire.md for what is ours, in both byte orders. */
static const struct extension {
	const char *little, *big;
	struct tcp_record rec;
} extensions[] = {
	{ "03 40 0407 02 01 28 00 3800000000000000"
	  "0001000000000000 1000000000000000 0700000000000000",
		"03 40 0704 02 01 28 00 0000000000000038"
		"0000000000000100 0000000000000010 0000000000000007",
		{ .kind = TCP_REC_ATOMIC,
			.flags = TCP_FLAG_ACK,
			.atomic_op = FI_SUM,
			.datatype = FI_UINT64,
			.payload_len = 16,
			.seg_count = 1,
			.span = 16,
			.seg = { { 0x100, 16, 7 } } } },
	{ "03 41 0107 0a 01 30 00 3000000000000000 0500000000000000"
	  "0001000000000000 1000000000000000 0700000000000000",
		"03 41 0701 0a 01 30 00 0000000000000030 0000000000000005"
		"0000000000000100 0000000000000010 0000000000000007",
		{ .kind = TCP_REC_FETCH,
			.flags = TCP_FLAG_DATA,
			.data = 5,
			.atomic_op = FI_ATOMIC_READ,
			.datatype = FI_UINT64,
			.seg_count = 1,
			.span = 16,
			.seg = { { 0x100, 16, 7 } } } },
	{ "03 42 0005 0c 01 28 00 3000000000000000"
	  "0001000000000000 0400000000000000 0700000000000000",
		"03 42 0500 0c 01 28 00 0000000000000030"
		"0000000000000100 0000000000000004 0000000000000007",
		{ .kind = TCP_REC_COMPARE,
			.atomic_op = FI_CSWAP,
			.datatype = FI_UINT32,
			.payload_len = 8,
			.seg_count = 1,
			.span = 4,
			.seg = { { 0x100, 4, 7 } } } },
	{ "03 43 0000 00 00 10 00 1800000000000000",
		"03 43 0000 00 00 10 00 0000000000000018",
		{ .kind = TCP_REC_ATOMIC_RESP, .payload_len = 8 } },
	{ "03 44 0500 fe 00 20 00 2000000000000000 0500000000000000 0000100000000000",
		"03 44 0005 fe 00 20 00 0000000000000020"
		"0000000000000005 0000000000100000",
		{ .kind = TCP_REC_MSG_RTS,
			.flags = TCP_FLAG_DATA | TCP_FLAG_ACK,
			.index = 254,
			.data = 5,
			.msg_len = 1 << 20 } },
	{ "03 45 0000 03 00 18 00 1800000000000000 0d00000000000000",
		"03 45 0000 03 00 18 00 0000000000000018 000000000000000d",
		{ .kind = TCP_REC_ERROR, .answer = TCP_ANSWER_RESP, .err = 13 } },
	{ "03 46 0000 00 00 18 00 1800000000000000 efcdab8967452301",
		"03 46 0000 00 00 18 00 0000000000000018 0123456789abcdef",
		{ .kind = TCP_REC_MATCHED, .id = 0x0123456789abcdef } },
	{ "03 47 0000 00 00 18 00 1800000000000000 0900000000000000",
		"03 47 0000 00 00 18 00 0000000000000018 0000000000000009",
		{ .kind = TCP_REC_PROBE, .id = 9 } },
	{ "03 48 0000 00 00 18 00 1800000000000000 0900000000000000",
		"03 48 0000 00 00 18 00 0000000000000018 0000000000000009",
		{ .kind = TCP_REC_PROBE_RESP, .id = 9 } },
	{ "03 49 0000 00 00 10 00 3800000000000000",
		"03 49 0000 00 00 10 00 0000000000000038",
		{ .kind = TCP_REC_CARD, .payload_len = TCP_WIRE_CARD } },
	{ "03 01 1100 00 00 28 00 2c00000000000000"
	  "0500000000000000 0600000000000000 0700000000000000",
		"03 01 0011 00 00 28 00 000000000000002c"
		"0000000000000005 0000000000000006 0000000000000007",
		{ .kind = TCP_REC_TAGGED,
			.flags = TCP_FLAG_DATA | TCP_FLAG_MATCH,
			.data = 5,
			.tag = 6,
			.id = 7,
			.payload_len = 4 } },
};

static void check_both_ways(const char *text, const struct tcp_wire_peer *peer,
	const struct tcp_record *rec)
{
	struct bytes in = hex(text);
	uint8_t buf[TCP_WIRE_HDR_MAX];
	struct tcp_record got;

	assert_int_equal(tcp_record_decode(in.at, in.len, peer, &got), 0);
	assert_same_record(&got, rec);
	assert_int_equal(tcp_record_encode(buf, peer, rec), in.len);
	assert_memory_equal(buf, in.at, in.len);
}

static void extensions_in_both_orders(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(extensions); i++) {
		check_both_ways(extensions[i].little, &ours, &extensions[i].rec);
		check_both_ways(extensions[i].big, &ours_swapped, &extensions[i].rec);
	}
}

static void old_records_between_unlike_machines(void **state)
{
	const struct tcp_wire_peer peer = { .swap = true, .have = rdm1.have };
	const struct tcp_record write = {
		.kind = TCP_REC_WRITE,
		.flags = TCP_FLAG_DATA,
		.payload_len = 64,
		.data = 0x0123456789abcdef,
		.seg_count = 1,
		.span = 64,
		.seg = { { 4, 64, 0xc0de } },
	};
	const struct tcp_record tagged = { .kind = TCP_REC_TAGGED,
		.flags = TCP_FLAG_ACK,
		.tag = 1,
		.payload_len = 5 };

	check_both_ways("03 04 0001 00 01 30 00 0000000000000070 0123456789abcdef"
			"0000000000000004 0000000000000040 000000000000c0de",
		&peer, &write);
	check_both_ways("03 01 0004 00 00 18 00 000000000000001d 0000000000000001",
		&peer, &tagged);
}

/* An atomic's array is whole elements in every segment, and so is its payload. */
static void atomics_must_add_up(void **state)
{
	const struct tcp_record good = {
		.kind = TCP_REC_FETCH,
		.atomic_op = FI_SUM,
		.datatype = FI_UINT32,
		.payload_len = 12,
		.seg_count = 2,
		.seg = { { 0, 4, 1 }, { 8, 8, 2 } },
	};
	static const struct {
		uint8_t kind, op, datatype, seg_count;
		uint64_t payload, len0, len1;
		int fault;
	} rows[] = {
		{ TCP_REC_FETCH, FI_SUM, FI_UINT32, 2, 12, 4, 8, 0 },
		{ TCP_REC_FETCH, FI_SUM, FI_UINT32, 2, 8, 4, 8, TCP_FAULT_PAYLOAD },
		{ TCP_REC_FETCH, FI_SUM, FI_UINT32, 2, 12, 6, 6, TCP_FAULT_ATOMIC },
		{ TCP_REC_FETCH, FI_SUM, FI_UINT32, 2, 12, 0, 12, TCP_FAULT_ATOMIC },
		{ TCP_REC_FETCH, FI_SUM, FI_UINT32, 0, 0, 0, 0, TCP_FAULT_ATOMIC },
		{ TCP_REC_FETCH, FI_SUM, 200, 2, 12, 4, 8, TCP_FAULT_ATOMIC },
		{ TCP_REC_FETCH, FI_SUM, FI_FLOAT16, 2, 12, 4, 8, TCP_FAULT_ATOMIC },
		{ TCP_REC_FETCH, FI_CSWAP, FI_UINT32, 2, 12, 4, 8, TCP_FAULT_ATOMIC },
		{ TCP_REC_FETCH, 99, FI_UINT32, 2, 12, 4, 8, TCP_FAULT_ATOMIC },
		{ TCP_REC_FETCH, FI_ATOMIC_READ, FI_UINT32, 2, 12, 4, 8,
			TCP_FAULT_PAYLOAD },
		{ TCP_REC_FETCH, FI_ATOMIC_READ, FI_UINT32, 2, 0, 4, 8, 0 },
		{ TCP_REC_ATOMIC, FI_ATOMIC_READ, FI_UINT32, 2, 0, 4, 8,
			TCP_FAULT_ATOMIC },
		{ TCP_REC_ATOMIC, FI_DIFF, FI_UINT32, 2, 12, 4, 8, 0 },
		{ TCP_REC_COMPARE, FI_MSWAP, FI_UINT32, 2, 24, 4, 8, 0 },
		{ TCP_REC_COMPARE, FI_MSWAP, FI_UINT32, 2, 12, 4, 8,
			TCP_FAULT_PAYLOAD },
		{ TCP_REC_COMPARE, FI_SUM, FI_UINT32, 2, 24, 4, 8, TCP_FAULT_ATOMIC },
		{ TCP_REC_ATOMIC, FI_SUM, FI_UINT32, 2, 16384, 8192, 8192, 0 },
		{ TCP_REC_ATOMIC, FI_SUM, FI_UINT32, 2, 16388, 8196, 8192,
			TCP_FAULT_ATOMIC },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct tcp_record rec = good, got;
		uint8_t buf[TCP_WIRE_HDR_MAX];
		size_t len;
		int ret;

		rec.kind = rows[i].kind;
		rec.atomic_op = rows[i].op;
		rec.datatype = rows[i].datatype;
		rec.seg_count = rows[i].seg_count;
		rec.payload_len = rows[i].payload;
		rec.seg[0].len = rows[i].len0;
		rec.seg[1].len = rows[i].len1;
		len = tcp_record_encode(buf, &ours, &rec);
		ret = tcp_record_decode(buf, len, &ours, &got);
		if (ret != -rows[i].fault)
			print_message("row %zu\n", i);
		assert_int_equal(ret, -rows[i].fault);
	}
}

static void long_double_needs_one_format(void **state)
{
	struct tcp_wire_peer other = { .have = ALL & ~(uint32_t)TCP_HAVE_LDBL_OWN };
	const struct tcp_record rec = {
		.kind = TCP_REC_ATOMIC,
		.atomic_op = FI_SUM,
		.datatype = FI_LONG_DOUBLE,
		.payload_len = sizeof(long double),
		.seg_count = 1,
		.seg = { { 0, sizeof(long double), 1 } },
	};
	uint8_t buf[TCP_WIRE_HDR_MAX];
	struct tcp_record got;
	size_t len = tcp_record_encode(buf, &ours, &rec);

	assert_int_equal(tcp_record_decode(buf, len, &ours, &got), 0);
	assert_int_equal(tcp_record_decode(buf, len, &other, &got), -TCP_FAULT_ATOMIC);
}

static void longest_header_is_four_segments_and_data(void **state)
{
	struct tcp_record rec = {
		.kind = TCP_REC_WRITE, .flags = TCP_FLAG_DATA, .seg_count = 4,
		.seg = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 }, { 10, 11, 12 } },
		.span = 26, .payload_len = 26,
	}, got;
	uint8_t buf[TCP_WIRE_HDR_MAX];

	assert_int_equal(tcp_record_encode(buf, &plain, &rec), 120);
	assert_int_equal(tcp_record_decode(buf, 120, &plain, &got), 0);
	assert_same_record(&got, &rec);
}

/* A peer that has not agreed to it gets nothing of the extension. */
static void match_ids_only_where_agreed(void **state)
{
	const struct tcp_record rec = {
		.kind = TCP_REC_MSG, .id = 7, .flags = TCP_FLAG_MATCH, .payload_len = 4
	};
	struct bytes want = hex("03 00 0000 00 00 10 00 1400000000000000");
	uint8_t buf[TCP_WIRE_HDR_MAX];

	assert_int_equal(tcp_record_encode(buf, &plain, &rec), want.len);
	assert_memory_equal(buf, want.at, want.len);
}

static void short_ways_write_the_same(void **state)
{
	for (unsigned int round = 0; round < 16; round++) {
		const struct tcp_wire_peer *peer = round & 1 ? &ours_swapped : &ours;
		uint16_t flags = (uint16_t)((round & 2 ? TCP_FLAG_DATA : 0) |
					    (round & 4 ? TCP_FLAG_ACK : 0));
		struct tcp_record rec = { .flags = flags,
			.data = 0x1122334455667788,
			.payload_len = 1000 + round };
		uint8_t want[TCP_WIRE_HDR_MAX], got[TCP_WIRE_HDR_MAX];
		size_t len;

		rec.kind = TCP_REC_MSG;
		len = tcp_record_encode(want, peer, &rec);
		assert_int_equal(
			tcp_put_msg(got, peer, flags, rec.data, rec.payload_len), len);
		assert_memory_equal(got, want, len);

		rec.kind = TCP_REC_TAGGED;
		rec.tag = 0x99aabbccddeeff00;
		len = tcp_record_encode(want, peer, &rec);
		assert_int_equal(tcp_put_tagged(got, peer, flags, rec.data, rec.tag,
					 rec.payload_len),
			len);
		assert_memory_equal(got, want, len);

		rec.kind = TCP_REC_ACK;
		rec.payload_len = 0;
		len = tcp_record_encode(want, peer, &rec);
		assert_int_equal(tcp_put_ack(got, peer), len);
		assert_memory_equal(got, want, len);
	}
}

static void headers_are_numbered(void **state)
{
	uint8_t buf[TCP_WIRE_HDR_MAX], next = 254;
	struct tcp_record rec;

	for (unsigned int i = 0; i < 4; i++) {
		(void)tcp_put_msg(buf, &plain, 0, 0, 0);
		tcp_record_stamp(buf, &next);
		assert_int_equal(tcp_record_decode(buf, 16, &plain, &rec), 0);
		assert_int_equal(rec.number, (254 + i) % 256);
	}
}

/* Whatever the bytes are, there is a result, and a decoded record can be encoded
 * again. */
static void survives_anything(void **state)
{
	uint64_t x = 88172645463325252u;

	for (unsigned int round = 0; round < 200000; round++) {
		const struct tcp_wire_peer *peer = round & 1 ? &ours_swapped : &ours;
		uint8_t in[TCP_WIRE_HDR_MAX], out[TCP_WIRE_HDR_MAX];
		struct tcp_record rec, again;
		size_t i;

		for (i = 0; i < sizeof(in); i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			in[i] = (uint8_t)x;
		}
		/* Likely ones more often than chance has them. */
		in[1] %= x & 1 ? 8 : 0x50;
		in[5] &= 7;
		in[6] = (uint8_t)(16 + in[6] % 14 * 8);
		for (i = 8; i < 40; i++)
			in[i] &= round % 3 ? 0 : 0xff;
		in[round & 1 ? 15 : 8] = (uint8_t)(in[6] + round % 64);
		if (tcp_record_decode(in, sizeof(in), peer, &rec))
			continue;
		(void)tcp_record_encode(out, peer, &rec);
		assert_int_equal(tcp_record_decode(out, sizeof(out), peer, &again), 0);
		assert_same_record(&rec, &again);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_what_others_send),
		cmocka_unit_test(encodes_what_others_send),
		cmocka_unit_test(raw_tagged_messages_are_tagged),
		cmocka_unit_test(asks_for_what_is_missing),
		cmocka_unit_test(ignores_what_has_no_meaning),
		cmocka_unit_test(flags_of_reads_are_not_theirs),
		cmocka_unit_test(longer_headers_up_to_the_limit),
		cmocka_unit_test(refuses_each_fault),
		cmocka_unit_test(knows_only_what_was_agreed_on),
		cmocka_unit_test(extensions_in_both_orders),
		cmocka_unit_test(old_records_between_unlike_machines),
		cmocka_unit_test(atomics_must_add_up),
		cmocka_unit_test(long_double_needs_one_format),
		cmocka_unit_test(longest_header_is_four_segments_and_data),
		cmocka_unit_test(match_ids_only_where_agreed),
		cmocka_unit_test(short_ways_write_the_same),
		cmocka_unit_test(headers_are_numbered),
		cmocka_unit_test(survives_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
