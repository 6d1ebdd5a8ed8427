/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every field of every kind of record, with every set of its flags and every number of
 * its segments, to peers of both byte orders: what was encoded is decoded, and no byte
 * less is enough.
 */
#include "unit.h"

#include "providers/tcp/data/wire.h"
#include "sys/compiler.h"

struct fi_provider tcp_fi = { .name = "tcp" };

#define RMA_FLAGS (TCP_FLAG_DATA | TCP_FLAG_ACK | TCP_FLAG_COMMIT | TCP_FLAG_CONTEXT)

enum { ALL_FLAGS = RMA_FLAGS | TCP_FLAG_MATCH, ELEMENT = 8 };

/* The payload of a kind of record: arrays are as long as the segments. */
enum payload { NONE, ANY, ONE_ARRAY, TWO_ARRAYS, CARD };

/* What a kind of record has. */
static const struct kind {
	enum tcp_rec_kind kind;
	uint16_t flags;
	bool tag, index, msg_len, id, err, segs, atomic;
	enum payload payload;
} kinds[] = {
	{ TCP_REC_MSG, .flags = ALL_FLAGS, .payload = ANY },
	{ TCP_REC_TAGGED, .flags = ALL_FLAGS, .tag = true, .payload = ANY },
	{ TCP_REC_ACK },
	{ TCP_REC_READ, .flags = TCP_FLAG_CONTEXT, .segs = true },
	{ TCP_REC_READ_RESP, .payload = ANY },
	{ TCP_REC_WRITE, .flags = RMA_FLAGS, .segs = true, .payload = ONE_ARRAY },
	{ TCP_REC_RTS, .flags = TCP_FLAG_DATA | TCP_FLAG_ACK | TCP_FLAG_CONTEXT,
		.tag = true, .index = true, .msg_len = true },
	{ TCP_REC_CTS, .index = true },
	{ TCP_REC_RDV_DATA, .index = true, .payload = ANY },
	{ TCP_REC_ATOMIC, .flags = RMA_FLAGS, .segs = true, .atomic = true,
		.payload = ONE_ARRAY },
	{ TCP_REC_FETCH, .flags = TCP_FLAG_DATA | TCP_FLAG_CONTEXT, .segs = true,
		.atomic = true, .payload = ONE_ARRAY },
	{ TCP_REC_COMPARE, .flags = TCP_FLAG_DATA | TCP_FLAG_CONTEXT, .segs = true,
		.atomic = true, .payload = TWO_ARRAYS },
	{ TCP_REC_ATOMIC_RESP, .payload = ANY },
	{ TCP_REC_MSG_RTS, .flags = TCP_FLAG_DATA | TCP_FLAG_ACK | TCP_FLAG_CONTEXT,
		.index = true, .msg_len = true },
	{ TCP_REC_ERROR, .err = true },
	{ TCP_REC_MATCHED, .id = true },
	{ TCP_REC_PROBE, .id = true },
	{ TCP_REC_PROBE_RESP, .id = true },
	{ TCP_REC_CARD, .payload = CARD },
};

/* Values without two equal bytes. */
static struct tcp_record record_of(
	const struct kind *kind, uint16_t flags, uint8_t seg_count)
{
	struct tcp_record rec = { .kind = (uint8_t)kind->kind, .flags = flags };

	if (flags & TCP_FLAG_DATA)
		rec.data = 0x0123456789abcdef;
	if (flags & TCP_FLAG_MATCH || kind->id)
		rec.id = 0x1f2e3d4c5b6a7988;
	if (flags & TCP_FLAG_CONTEXT)
		rec.context = 0x0a7;
	if (kind->tag)
		rec.tag = 0xf0e1d2c3b4a59687;
	if (kind->index)
		rec.index = 0x3c5a;
	if (kind->msg_len)
		rec.msg_len = 0x0000123456789abc;
	if (kind->err) {
		rec.err = FI_EACCES;
		rec.answer = TCP_ANSWER_RESP;
	}
	if (kind->atomic) {
		rec.atomic_op = kind->kind == TCP_REC_COMPARE ? FI_CSWAP : FI_SUM;
		rec.datatype = FI_UINT64;
	}
	rec.seg_count = seg_count;
	for (uint8_t i = 0; i < seg_count; i++) {
		rec.seg[i] = (struct fi_rma_iov){ 0x1112131415161718 + i,
			(i + 3u) * ELEMENT, 0x2122232425262728 + i };
		rec.span += rec.seg[i].len;
	}
	switch (kind->payload) {
	case ANY:
		rec.payload_len = 0x10203;
		break;
	case CARD:
		rec.payload_len = TCP_WIRE_CARD;
		break;
	case ONE_ARRAY:
		rec.payload_len = rec.span;
		break;
	case TWO_ARRAYS:
		rec.payload_len = 2 * rec.span;
		break;
	case NONE:
		break;
	}
	return rec;
}

static size_t length_of(const struct kind *kind, const struct tcp_record *rec)
{
	size_t words = kind->tag + kind->msg_len + kind->id + kind->err;

	words += !!(rec->flags & TCP_FLAG_DATA) + !!(rec->flags & TCP_FLAG_MATCH) +
		 !!(rec->flags & TCP_FLAG_CONTEXT);
	return TCP_WIRE_BASE + 8 * words + (size_t)rec->seg_count * TCP_WIRE_SEG;
}

static void check_same(const struct tcp_record *a, const struct tcp_record *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->index, b->index);
	assert_int_equal(a->context, b->context);
	assert_int_equal(a->atomic_op, b->atomic_op);
	assert_int_equal(a->datatype, b->datatype);
	assert_int_equal(a->answer, b->answer);
	assert_int_equal(a->seg_count, b->seg_count);
	assert_int_equal(a->payload_len, b->payload_len);
	assert_int_equal(a->data, b->data);
	assert_int_equal(a->tag, b->tag);
	assert_int_equal(a->msg_len, b->msg_len);
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->span, b->span);
	assert_int_equal(a->err, b->err);
	for (uint8_t i = 0; i < a->seg_count; i++) {
		assert_int_equal(a->seg[i].addr, b->seg[i].addr);
		assert_int_equal(a->seg[i].len, b->seg[i].len);
		assert_int_equal(a->seg[i].key, b->seg[i].key);
	}
}

/* From each number of bytes the decoder asks for more, and at last is content. */
static void check_decoding(const uint8_t *bytes, size_t len,
	const struct tcp_wire_peer *peer, const struct tcp_record *want)
{
	struct tcp_record got;

	for (size_t n = 0; n < len; n++) {
		int more = tcp_record_decode(bytes, n, peer, &got);

		assert_true(more > (int)n && more <= (int)len);
	}
	assert_int_equal(tcp_record_decode(bytes, len, peer, &got), 0);
	assert_int_equal(got.hdr_len, len);
	check_same(&got, want);
}

static void run(const struct kind *kind, uint16_t flags, uint8_t seg_count)
{
	struct tcp_record rec = record_of(kind, flags, seg_count);

	for (unsigned int swap = 0; swap < 2; swap++) {
		const struct tcp_wire_peer peer = { .swap = swap,
			.have = TCP_HAVE_OFFER | TCP_HAVE_TAGGED | TCP_HAVE_RDV,
			.contexts = 0x0a8 };
		/* Exactly as long as it may be. */
		uint8_t *bytes = malloc(TCP_WIRE_HDR_MAX);
		size_t len;

		assert_non_null(bytes);
		memset(bytes, 0xcc, TCP_WIRE_HDR_MAX);
		len = tcp_record_encode(bytes, &peer, &rec);
		assert_int_equal(len, length_of(kind, &rec));
		check_decoding(bytes, len, &peer, &rec);
		for (size_t i = len; i < TCP_WIRE_HDR_MAX; i++)
			assert_int_equal(bytes[i], 0xcc);
		free(bytes);
	}
}

static void each_field(void **state)
{
	unsigned int runs = 0;

	(void)state;
	for (size_t k = 0; k < WF_ARRAY_SIZE(kinds); k++)
		for (uint16_t flags = 0; flags <= ALL_FLAGS; flags++) {
			uint8_t least = kinds[k].segs,
				most = kinds[k].segs ? TCP_WIRE_SEGS_MAX : 0;

			if (flags & ~kinds[k].flags)
				continue;
			for (uint8_t n = least; n <= most; n++, runs++)
				run(&kinds[k], flags, n);
		}
	assert_true(runs > 200);
	assert_int_equal(WF_ARRAY_SIZE(kinds), TCP_REC_KINDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
