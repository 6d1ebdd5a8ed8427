/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_atomic.h>

#include "providers/tcp/data/wire.h"
#include "sys/compiler.h"

/*
 * The table has a row for each kind of record, with all differences between the kinds:
 * the end that may send it, the words of its header, the payload that fits. Decode and
 * encode both use the table.
 *
 * Behind the base follow, if the row has them, in this order: CQ data (with its flag),
 * tag, one word, match id (with its flag), receive context (with its flag), segments.
 */
enum word { WORD_NONE, WORD_MSG_LEN, WORD_ID, WORD_ERR };

enum payload {
	PAYLOAD_NONE,
	PAYLOAD_ANY,
	PAYLOAD_SPAN,    /* at most the length of the segments; peers send less */
	PAYLOAD_OPERAND, /* an array of elements as long as the segments */
	PAYLOAD_FETCH,   /* like PAYLOAD_OPERAND, but empty for FI_ATOMIC_READ */
	PAYLOAD_COMPARE, /* two arrays like that of PAYLOAD_OPERAND */
	PAYLOAD_CARD,    /* TCP_WIRE_CARD bytes */
};

/* The meaning of the byte op_data. */
enum op_data { OP_DATA_NONE, OP_DATA_INDEX, OP_DATA_ATOMIC, OP_DATA_ANSWER };

struct row {
	uint8_t op;     /* TCP_OP_* */
	uint16_t flags; /* TCP_FLAG_* that this kind of record may have */
	bool tag, segs; /* The header has a tag, or segments. */
	/* The header has no further words. Headers of other kinds may have some, which
	 * are ignored. */
	bool exact;
	enum word word;       /* the one word of the header */
	enum op_data op_data; /* meaning of the byte op_data */
	enum payload payload; /* what payload fits */
	uint32_t need; /* TCP_HAVE_* that the ends must have agreed on for this kind */
};

#define RMA_FLAGS (TCP_FLAG_DATA | TCP_FLAG_ACK | TCP_FLAG_COMMIT | TCP_FLAG_CONTEXT)
#define MSG_FLAGS (RMA_FLAGS | TCP_FLAG_MATCH)
#define RTS_FLAGS (TCP_FLAG_DATA | TCP_FLAG_ACK | TCP_FLAG_CONTEXT)
#define GET_FLAGS (TCP_FLAG_DATA | TCP_FLAG_CONTEXT)

static const struct row rows[TCP_REC_KINDS] = {
	[TCP_REC_MSG] = { .op = TCP_OP_MSG,
		.flags = MSG_FLAGS,
		.payload = PAYLOAD_ANY },
	[TCP_REC_TAGGED] = { .op = TCP_OP_TAGGED,
		.flags = MSG_FLAGS,
		.tag = true,
		.payload = PAYLOAD_ANY,
		.need = TCP_HAVE_TAGGED },
	[TCP_REC_ACK] = { .op = TCP_OP_MSG, .exact = true },
	[TCP_REC_READ] = { .op = TCP_OP_READ, .flags = TCP_FLAG_CONTEXT, .segs = true },
	[TCP_REC_READ_RESP] = { .op = TCP_OP_READ_RESP, .payload = PAYLOAD_ANY },
	[TCP_REC_WRITE] = { .op = TCP_OP_WRITE,
		.flags = RMA_FLAGS,
		.segs = true,
		.payload = PAYLOAD_SPAN },
	[TCP_REC_RTS] = { .op = TCP_OP_RTS,
		.flags = RTS_FLAGS,
		.tag = true,
		.exact = true,
		.word = WORD_MSG_LEN,
		.op_data = OP_DATA_INDEX,
		.need = TCP_HAVE_TAGGED | TCP_HAVE_RDV },
	[TCP_REC_CTS] = { .op = TCP_OP_CTS,
		.op_data = OP_DATA_INDEX,
		.need = TCP_HAVE_RDV },
	[TCP_REC_RDV_DATA] = { .op = TCP_OP_RDV_DATA,
		.op_data = OP_DATA_INDEX,
		.payload = PAYLOAD_ANY,
		.need = TCP_HAVE_RDV },
	[TCP_REC_ATOMIC] = { .op = TCP_OP_ATOMIC,
		.flags = RMA_FLAGS,
		.segs = true,
		.exact = true,
		.op_data = OP_DATA_ATOMIC,
		.payload = PAYLOAD_OPERAND,
		.need = TCP_HAVE_ATOMIC },
	[TCP_REC_FETCH] = { .op = TCP_OP_FETCH,
		.flags = GET_FLAGS,
		.segs = true,
		.exact = true,
		.op_data = OP_DATA_ATOMIC,
		.payload = PAYLOAD_FETCH,
		.need = TCP_HAVE_ATOMIC },
	[TCP_REC_COMPARE] = { .op = TCP_OP_COMPARE,
		.flags = GET_FLAGS,
		.segs = true,
		.exact = true,
		.op_data = OP_DATA_ATOMIC,
		.payload = PAYLOAD_COMPARE,
		.need = TCP_HAVE_ATOMIC },
	[TCP_REC_ATOMIC_RESP] = { .op = TCP_OP_ATOMIC_RESP,
		.exact = true,
		.payload = PAYLOAD_ANY,
		.need = TCP_HAVE_ATOMIC },
	[TCP_REC_MSG_RTS] = { .op = TCP_OP_MSG_RTS,
		.flags = RTS_FLAGS,
		.exact = true,
		.word = WORD_MSG_LEN,
		.op_data = OP_DATA_INDEX,
		.need = TCP_HAVE_RDV_MSG },
	[TCP_REC_ERROR] = { .op = TCP_OP_ERROR,
		.exact = true,
		.word = WORD_ERR,
		.op_data = OP_DATA_ANSWER,
		.need = TCP_HAVE_ERROR },
	[TCP_REC_MATCHED] = { .op = TCP_OP_MATCHED,
		.exact = true,
		.word = WORD_ID,
		.need = TCP_HAVE_MATCH },
	[TCP_REC_PROBE] = { .op = TCP_OP_PROBE,
		.exact = true,
		.word = WORD_ID,
		.need = TCP_HAVE_PROBE },
	[TCP_REC_PROBE_RESP] = { .op = TCP_OP_PROBE_RESP,
		.exact = true,
		.word = WORD_ID,
		.need = TCP_HAVE_PROBE },
	[TCP_REC_CARD] = { .op = TCP_OP_CARD,
		.exact = true,
		.payload = PAYLOAD_CARD,
		.need = TCP_HAVE_LOCAL },
};

/* Kind + 1 by operation code; 0: no such code. */
static const uint8_t kind_of_op[TCP_OP_CARD + 1] = {
	[TCP_OP_MSG] = TCP_REC_MSG + 1,
	[TCP_OP_TAGGED] = TCP_REC_TAGGED + 1,
	[TCP_OP_READ] = TCP_REC_READ + 1,
	[TCP_OP_READ_RESP] = TCP_REC_READ_RESP + 1,
	[TCP_OP_WRITE] = TCP_REC_WRITE + 1,
	[TCP_OP_RTS] = TCP_REC_RTS + 1,
	[TCP_OP_CTS] = TCP_REC_CTS + 1,
	[TCP_OP_RDV_DATA] = TCP_REC_RDV_DATA + 1,
	[TCP_OP_ATOMIC] = TCP_REC_ATOMIC + 1,
	[TCP_OP_FETCH] = TCP_REC_FETCH + 1,
	[TCP_OP_COMPARE] = TCP_REC_COMPARE + 1,
	[TCP_OP_ATOMIC_RESP] = TCP_REC_ATOMIC_RESP + 1,
	[TCP_OP_MSG_RTS] = TCP_REC_MSG_RTS + 1,
	[TCP_OP_ERROR] = TCP_REC_ERROR + 1,
	[TCP_OP_MATCHED] = TCP_REC_MATCHED + 1,
	[TCP_OP_PROBE] = TCP_REC_PROBE + 1,
	[TCP_OP_PROBE_RESP] = TCP_REC_PROBE_RESP + 1,
	[TCP_OP_CARD] = TCP_REC_CARD + 1,
};

static uint64_t wire_get64(const uint8_t *p, const struct tcp_wire_peer *peer)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return peer->swap ? __builtin_bswap64(value) : value;
}

static struct tcp_wire_base wire_get_base(
	const uint8_t *buf, const struct tcp_wire_peer *peer)
{
	struct tcp_wire_base base;

	memcpy(&base, buf, sizeof(base));
	if (peer->swap) {
		base.flags = __builtin_bswap16(base.flags);
		base.total = __builtin_bswap64(base.total);
	}
	return base;
}

/* The flags of this kind of record that are valid on this connection. */
static uint16_t wire_flags_in_force(
	const struct row *row, uint16_t flags, const struct tcp_wire_peer *peer)
{
	flags &= row->flags;
	if (!(peer->have & TCP_HAVE_MATCH))
		flags &= (uint16_t)~TCP_FLAG_MATCH;
	if (!(peer->have & TCP_HAVE_CONTEXTS))
		flags &= (uint16_t)~TCP_FLAG_CONTEXT;
	return flags;
}

static size_t wire_hdr_len_of(const struct row *row, uint16_t flags, size_t seg_count)
{
	return TCP_WIRE_BASE + (flags & TCP_FLAG_DATA ? 8 : 0) + (row->tag ? 8 : 0) +
	       (row->word ? 8 : 0) + (flags & TCP_FLAG_MATCH ? 8 : 0) +
	       (flags & TCP_FLAG_CONTEXT ? 8 : 0) +
	       (row->segs ? seg_count * TCP_WIRE_SEG : 0);
}

/* The upper byte of an index is in seg_count, which older peers leave uninitialised in
 * these records. */
static unsigned int wire_get_index(
	const struct tcp_wire_base *base, const struct tcp_wire_peer *peer)
{
	unsigned int upper =
		peer->have & TCP_HAVE_RDV_MANY ? base->seg_count * 256u : 0;

	return upper + base->op_data;
}

static bool wire_index_fits(unsigned int index, const struct tcp_wire_peer *peer)
{
	return index >= TCP_WIRE_RDV_MIN && index <= tcp_wire_rdv_max(peer);
}

/* Check the first 16 bytes before the rest of the header has arrived. Returns the kind,
 * or minus an enum tcp_fault. */
static int wire_check_base(
	const struct tcp_wire_base *base, const struct tcp_wire_peer *peer)
{
	unsigned int kind;
	const struct row *row;
	size_t min, max;

	if (base->op >= WF_ARRAY_SIZE(kind_of_op) || !kind_of_op[base->op])
		return -TCP_FAULT_OP;
	kind = kind_of_op[base->op] - 1u;
	if (kind == TCP_REC_MSG && base->op_data == TCP_WIRE_ACK)
		kind = TCP_REC_ACK;
	row = &rows[kind];
	if ((peer->have & row->need) != row->need)
		return -TCP_FAULT_OP;
	if (row->segs && base->seg_count > TCP_WIRE_SEGS_MAX)
		return -TCP_FAULT_SEGS;

	min = wire_hdr_len_of(
		row, wire_flags_in_force(row, base->flags, peer), base->seg_count);
	max = peer->have & TCP_HAVE_CONTEXTS ? TCP_WIRE_HDR_MAX : TCP_WIRE_HDR_OLD;
	if (base->hdr_len < min || base->hdr_len > max || base->hdr_len % 8 ||
		(row->exact && base->hdr_len != min))
		return -TCP_FAULT_HDR_LEN;
	if (base->total < base->hdr_len ||
		base->total - base->hdr_len > TCP_WIRE_PAYLOAD_MAX)
		return -TCP_FAULT_TOTAL;
	if (row->payload == PAYLOAD_NONE && base->total != base->hdr_len)
		return -TCP_FAULT_PAYLOAD;
	if (row->op_data == OP_DATA_INDEX &&
		!wire_index_fits(wire_get_index(base, peer), peer))
		return -TCP_FAULT_INDEX;
	if (row->op_data == OP_DATA_ANSWER && base->op_data != TCP_ANSWER_ACK &&
		base->op_data != TCP_ANSWER_RESP)
		return -TCP_FAULT_ANSWER;
	return (int)kind;
}

static int wire_get_word(struct tcp_record *rec, enum word word, uint64_t value)
{
	switch (word) {
	case WORD_NONE:
		break;
	case WORD_MSG_LEN:
		if (value > TCP_WIRE_PAYLOAD_MAX)
			return -TCP_FAULT_MSG_LEN;
		rec->msg_len = value;
		break;
	case WORD_ID:
		rec->id = value;
		break;
	case WORD_ERR:
		if (!value || value > TCP_WIRE_ERRNO_MAX)
			return -TCP_FAULT_ANSWER;
		rec->err = (int)value;
		break;
	}
	return 0;
}

static int wire_get_segs(
	struct tcp_record *rec, const uint8_t *p, const struct tcp_wire_peer *peer)
{
	for (unsigned int i = 0; i < rec->seg_count; i++, p += TCP_WIRE_SEG) {
		struct fi_rma_iov *seg = &rec->seg[i];

		seg->addr = wire_get64(p, peer);
		seg->len = wire_get64(p + 8, peer);
		seg->key = wire_get64(p + 16, peer);
		if (seg->len > TCP_WIRE_PAYLOAD_MAX - rec->span)
			return -TCP_FAULT_SEGS;
		rec->span += seg->len;
	}
	return 0;
}

static bool tcp_wire_payload_fits(const struct tcp_record *rec, enum payload payload)
{
	switch (payload) {
	case PAYLOAD_NONE:
		return !rec->payload_len;
	case PAYLOAD_ANY:
		return true;
	case PAYLOAD_SPAN:
		return rec->payload_len <= rec->span;
	case PAYLOAD_FETCH:
		if (rec->atomic_op == FI_ATOMIC_READ)
			return !rec->payload_len;
		/* Fall through. */
	case PAYLOAD_OPERAND:
		return rec->payload_len == rec->span;
	case PAYLOAD_COMPARE:
		return rec->payload_len == 2 * rec->span;
	case PAYLOAD_CARD:
		return rec->payload_len == TCP_WIRE_CARD;
	}
	return false;
}

/* Decode the header after the base; @rec has the fields of the base. */
static int wire_get_rest(struct tcp_record *rec, const struct row *row,
	const uint8_t *p, const struct tcp_wire_peer *peer)
{
	int ret;

	if (rec->flags & TCP_FLAG_DATA) {
		rec->data = wire_get64(p, peer);
		p += 8;
	}
	if (row->tag) {
		rec->tag = wire_get64(p, peer);
		p += 8;
	}
	if (row->word) {
		ret = wire_get_word(rec, row->word, wire_get64(p, peer));
		if (ret)
			return ret;
		p += 8;
	}
	if (rec->flags & TCP_FLAG_MATCH) {
		rec->id = wire_get64(p, peer);
		p += 8;
	}
	if (rec->flags & TCP_FLAG_CONTEXT) {
		uint64_t context = wire_get64(p, peer);

		if (context >= TCP_WIRE_CONTEXTS_MAX)
			return -TCP_FAULT_CONTEXT;
		rec->context = (uint16_t)context;
		p += 8;
	}
	if (row->segs) {
		ret = wire_get_segs(rec, p, peer);
		if (ret)
			return ret;
	}
	if (row->op_data == OP_DATA_ATOMIC) {
		ret = tcp_record_check_atomic(rec, peer);
		if (ret)
			return ret;
	}
	return tcp_wire_payload_fits(rec, row->payload) ? 0 : -TCP_FAULT_PAYLOAD;
}

/*
 * Fast path for messages between machines of the same byte order, which are nearly all
 * records: the same checks without the table. False: decode with the table.
 */
static inline bool tcp_wire_decode_message(const uint8_t *buf, size_t len,
	const struct tcp_wire_peer *peer, struct tcp_record *ret)
{
	const uint16_t table_flags = TCP_FLAG_COMMIT | TCP_FLAG_MATCH |
				     TCP_FLAG_CONTEXT | TCP_FLAG_RAW_TAGGED;
	struct tcp_wire_base base;
	uint64_t words[2] = { 0 };
	unsigned int tagged, with_data, min;

	memcpy(&base, buf, sizeof(base));
	tagged = base.op;
	with_data = base.flags & TCP_FLAG_DATA;
	min = TCP_WIRE_BASE + 8 * (tagged + with_data);
	if (tagged > 1 || peer->swap || base.op_data == TCP_WIRE_ACK ||
		base.flags & table_flags || base.hdr_len != min || len < min ||
		base.total - min > TCP_WIRE_PAYLOAD_MAX ||
		(tagged && !(peer->have & TCP_HAVE_TAGGED)))
		return false;
	if (with_data)
		memcpy(&words[0], buf + TCP_WIRE_BASE, sizeof(words[0]));
	if (tagged)
		memcpy(&words[1], buf + min - 8, sizeof(words[1]));
	/* Assign each field: the segments need not be cleared. */
	ret->kind = tagged ? TCP_REC_TAGGED : TCP_REC_MSG;
	ret->hdr_len = base.hdr_len;
	ret->number = base.number;
	ret->index = 0;
	ret->atomic_op = ret->datatype = ret->answer = ret->seg_count = 0;
	ret->flags = base.flags & (TCP_FLAG_DATA | TCP_FLAG_ACK);
	ret->context = 0;
	ret->payload_len = base.total - min;
	ret->data = words[0];
	ret->tag = words[1];
	ret->msg_len = ret->id = ret->span = 0;
	ret->err = 0;
	return true;
}

static bool wire_is_raw_tagged(
	const struct tcp_wire_base *base, const struct tcp_wire_peer *peer)
{
	return wf_unlikely(base->flags & TCP_FLAG_RAW_TAGGED) &&
	       base->op == TCP_OP_MSG && base->op_data != TCP_WIRE_ACK &&
	       peer->have & TCP_HAVE_RAW_TAGGED;
}

int tcp_record_decode(const uint8_t *buf, size_t len, const struct tcp_wire_peer *peer,
	struct tcp_record *ret)
{
	struct tcp_wire_base base;
	struct tcp_wire_peer tagged;
	const struct row *row;
	struct tcp_record rec;
	int kind, fault;

	if (len < TCP_WIRE_BASE)
		return TCP_WIRE_BASE;
	if (wf_likely(tcp_wire_decode_message(buf, len, peer, ret)))
		return 0;
	base = wire_get_base(buf, peer);
	if (wire_is_raw_tagged(&base, peer)) {
		base.op = TCP_OP_TAGGED;
		tagged = *peer;
		tagged.have |= TCP_HAVE_TAGGED;
		peer = &tagged;
	}
	kind = wire_check_base(&base, peer);
	if (kind < 0)
		return kind;
	if (len < base.hdr_len)
		return base.hdr_len;

	row = &rows[kind];
	/* Clear all but the segments, which are most of the structure and seldom
	 * used. */
	memset(&rec, 0, offsetof(struct tcp_record, seg));
	rec.kind = (uint8_t)kind;
	rec.hdr_len = base.hdr_len;
	rec.number = base.number;
	rec.flags = wire_flags_in_force(row, base.flags, peer);
	rec.payload_len = base.total - base.hdr_len;
	/* In other kinds of record this byte is uninitialised. */
	rec.seg_count = row->segs ? base.seg_count : 0;
	switch (row->op_data) {
	case OP_DATA_NONE:
		break;
	case OP_DATA_INDEX:
		rec.index = (uint16_t)wire_get_index(&base, peer);
		break;
	case OP_DATA_ATOMIC:
		rec.atomic_op = base.op_data;
		rec.datatype = (uint8_t)(base.flags >> 8);
		break;
	case OP_DATA_ANSWER:
		rec.answer = base.op_data;
		break;
	}
	fault = wire_get_rest(&rec, row, buf + TCP_WIRE_BASE, peer);
	if (fault)
		return fault;
	memcpy(ret, &rec,
		offsetof(struct tcp_record, seg) + rec.seg_count * sizeof(rec.seg[0]));
	return 0;
}

static uint64_t wire_word_of(const struct tcp_record *rec, enum word word)
{
	switch (word) {
	case WORD_NONE:
		break;
	case WORD_MSG_LEN:
		return rec->msg_len;
	case WORD_ID:
		return rec->id;
	case WORD_ERR:
		return (uint64_t)rec->err;
	}
	return 0;
}

static uint8_t wire_op_data_of(const struct tcp_record *rec, enum op_data op_data)
{
	switch (op_data) {
	case OP_DATA_NONE:
		return rec->kind == TCP_REC_ACK ? TCP_WIRE_ACK : 0;
	case OP_DATA_INDEX:
		return (uint8_t)rec->index;
	case OP_DATA_ATOMIC:
		return rec->atomic_op;
	case OP_DATA_ANSWER:
		return rec->answer;
	}
	return 0;
}

size_t tcp_record_encode(
	uint8_t *buf, const struct tcp_wire_peer *peer, const struct tcp_record *rec)
{
	const struct row *row = &rows[rec->kind];
	uint16_t flags = wire_flags_in_force(row, rec->flags, peer);
	uint8_t *p = buf + TCP_WIRE_BASE;

	assert(rec->kind < TCP_REC_KINDS && rec->seg_count <= TCP_WIRE_SEGS_MAX);
	assert((peer->have & row->need) == row->need);
	assert(row->op_data != OP_DATA_INDEX || wire_index_fits(rec->index, peer));
	if (flags & TCP_FLAG_DATA) {
		tcp_put64(p, rec->data, peer);
		p += 8;
	}
	if (row->tag) {
		tcp_put64(p, rec->tag, peer);
		p += 8;
	}
	if (row->word) {
		tcp_put64(p, wire_word_of(rec, row->word), peer);
		p += 8;
	}
	if (flags & TCP_FLAG_MATCH) {
		tcp_put64(p, rec->id, peer);
		p += 8;
	}
	if (flags & TCP_FLAG_CONTEXT) {
		tcp_put64(p, rec->context, peer);
		p += 8;
	}
	for (unsigned int i = 0; row->segs && i < rec->seg_count; i++) {
		tcp_put64(p, rec->seg[i].addr, peer);
		tcp_put64(p + 8, rec->seg[i].len, peer);
		tcp_put64(p + 16, rec->seg[i].key, peer);
		p += TCP_WIRE_SEG;
	}
	if (row->op_data == OP_DATA_ATOMIC)
		flags |= (uint16_t)(rec->datatype << 8);
	tcp_put_base(buf, peer, row->op, flags, wire_op_data_of(rec, row->op_data),
		(size_t)(p - buf), rec->payload_len);
	if (row->segs)
		buf[offsetof(struct tcp_wire_base, seg_count)] = rec->seg_count;
	else if (row->op_data == OP_DATA_INDEX)
		buf[offsetof(struct tcp_wire_base, seg_count)] =
			(uint8_t)(rec->index >> 8);
	return (size_t)(p - buf);
}

const char *tcp_fault_text(int fault)
{
	static const char *const text[TCP_FAULTS] = {
		[TCP_FAULT_NONE] = "no fault",
		[TCP_FAULT_OP] = "operation unknown or not agreed on",
		[TCP_FAULT_HDR_LEN] = "header length",
		[TCP_FAULT_TOTAL] = "total length",
		[TCP_FAULT_PAYLOAD] = "payload that does not belong there",
		[TCP_FAULT_SEGS] = "number or length of RMA segments",
		[TCP_FAULT_INDEX] = "index of a rendezvous",
		[TCP_FAULT_MSG_LEN] = "message length of a rendezvous",
		[TCP_FAULT_ATOMIC] = "atomic operation, data type or count",
		[TCP_FAULT_ANSWER] = "error answer",
		[TCP_FAULT_CONTEXT] = "receive context",
	};

	if (fault < 0)
		fault = -fault;
	return fault < TCP_FAULTS ? text[fault] : "unknown fault";
}

const char *tcp_rec_kind_text(unsigned int kind)
{
	static const char *const text[TCP_REC_KINDS] = {
		[TCP_REC_MSG] = "message",
		[TCP_REC_TAGGED] = "tagged message",
		[TCP_REC_ACK] = "acknowledgement",
		[TCP_REC_READ] = "read request",
		[TCP_REC_READ_RESP] = "read response",
		[TCP_REC_WRITE] = "write",
		[TCP_REC_RTS] = "tagged rendezvous",
		[TCP_REC_CTS] = "clear to send",
		[TCP_REC_RDV_DATA] = "rendezvous data",
		[TCP_REC_ATOMIC] = "atomic",
		[TCP_REC_FETCH] = "fetching atomic",
		[TCP_REC_COMPARE] = "comparing atomic",
		[TCP_REC_ATOMIC_RESP] = "atomic response",
		[TCP_REC_MSG_RTS] = "untagged rendezvous",
		[TCP_REC_ERROR] = "error answer",
		[TCP_REC_MATCHED] = "match notice",
		[TCP_REC_PROBE] = "probe",
		[TCP_REC_PROBE_RESP] = "probe response",
		[TCP_REC_CARD] = "card",
	};

	return kind < TCP_REC_KINDS ? text[kind] : "unknown";
}
