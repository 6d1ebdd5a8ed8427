/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A transmit context of a scalable endpoint is closed while operations of each kind are
 * pending, at each stage. Its buffers are the application's again at once; what was
 * injected leaves; of the others, none or the whole record does; answers that still
 * come go nowhere; and the other context goes on.
 */
#include "conn_fixture.h"

#include <arpa/inet.h>

#include "objects/endpoint/scalable/scalable.h"
#include "providers/tcp/conn/peer.h"
#include "providers/tcp/param.h"

enum { LEN = 40, READ = 600, LONG = TCP_COPY_MAX + 100, RENDEZVOUS = 4096, OTHER = 2 };
enum { STAGE = 4096 }; /* bytes that are sent together */
enum { TAG_CLOSED = 5, TAG_OTHER = 6, TAG_FILL = 7 };
enum { BY_READ = 0xee, SCRIBBLE = 0x11 };

/* ---- an endpoint with two transmit contexts ---- */

struct several {
	struct pair pair; /* pair.ep is the scalable endpoint */
	struct fid_av *av;
	struct fid_ep *tx[OTHER];
	fi_addr_t addr;
	struct tcp_peer *peer;
	int listener; /* at the address of the peer; accepts nothing */
	uint8_t buf[LONG + RENDEZVOUS], operand[8], result[8], other[READ];
	/* What the peer has seen: each tag at most once. */
	unsigned int seen[TAG_OTHER + 1];
	unsigned int ended_before; /* operations, when the context was closed */
};

static void open_tx(struct several *s, int index)
{
	assert_int_equal(
		fi_tx_context(s->pair.ep, index, NULL, &s->tx[index], NULL), 0);
	assert_int_equal(fi_ep_bind(s->tx[index], &s->pair.cq->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_enable(s->tx[index]), 0);
}

static void open_domain(struct several *s, struct fi_provider *prov)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED,
		.size = PAIR_ENDED_MAX };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE, .rx_ctx_bits = 1 };
	struct fi_info *hints = fi_allocinfo();
	struct pair *p = &s->pair;

	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	p->info = pair_ask(prov, hints);
	p->info->ep_attr->tx_ctx_cnt = OTHER;
	p->info->ep_attr->rx_ctx_cnt = 1;
	assert_int_equal(prov->fabric(p->info->fabric_attr, &p->fabric, NULL), 0);
	assert_int_equal(fi_domain(p->fabric, p->info, &p->domain, NULL), 0);
	assert_int_equal(fi_cq_open(p->domain, &cq_attr, &p->cq, NULL), 0);
	assert_int_equal(fi_av_open(p->domain, &av_attr, &s->av, NULL), 0);
}

/* The peer's address: a connection is begun, and never answered. */
static void know_peer(struct several *s)
{
	union wf_sockaddr name = { .in = { .sin_family = AF_INET } };
	socklen_t len = sizeof(name.in);

	name.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(s->listener >= 0);
	assert_int_equal(bind(s->listener, &name.sa, len), 0);
	assert_int_equal(listen(s->listener, 1), 0);
	assert_int_equal(getsockname(s->listener, &name.sa, &len), 0);
	assert_int_equal(fi_av_insert(s->av, &name.in, 1, &s->addr, 0, NULL), 1);
	wf_lock(&s->pair.tcp->ep.lock);
	s->peer = tcp_peer_get(s->pair.tcp, &name);
	wf_unlock(&s->pair.tcp->ep.lock);
	assert_non_null(s->peer);
}

static void open_several(struct several *s)
{
	static struct fi_provider *prov;
	struct pair *p = &s->pair;

	if (!prov)
		prov = tcp_prov_ini();
	wf_local_mode = WF_LOCAL_OFF;
	memset(s, 0, sizeof(*s));
	p->peer = -1;
	kernel.takes = SIZE_MAX;
	kernel.err = 0;
	open_domain(s, prov);
	assert_int_equal(fi_scalable_ep(p->domain, p->info, &p->ep, NULL), 0);
	assert_int_equal(fi_scalable_ep_bind(p->ep, &s->av->fid, 0), 0);
	assert_int_equal(fi_enable(p->ep), 0);
	p->tcp = tcp_ep_of(wf_container_of(p->ep, struct wf_ep, fid));
	for (int i = 0; i < OTHER; i++)
		open_tx(s, i);
	know_peer(s);
}

static void close_several(struct several *s)
{
	if (s->pair.peer >= 0)
		close(s->pair.peer);
	s->pair.peer = -1;
	for (int i = 0; i < OTHER; i++)
		if (s->tx[i])
			assert_int_equal(fi_close(&s->tx[i]->fid), 0);
	assert_int_equal(fi_close(&s->pair.ep->fid), 0);
	s->pair.ep = NULL;
	assert_int_equal(fi_close(&s->av->fid), 0);
	pair_close(&s->pair);
	close(s->listener);
}

static void connect_peer(struct several *s)
{
	const struct tcp_wire_peer wire = {
		.have = TCP_HAVE_OFFER | TCP_HAVE_TAGGED | TCP_HAVE_RDV, .contexts = 1
	};
	struct pair *p = &s->pair;
	int fds[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
		0);
	p->peer = fds[1];
	wf_lock(&p->tcp->ep.lock);
	assert_int_equal(
		tcp_peer_connected(p->tcp, s->peer, fds[0], 1, &wire, TCP_VERIFIED), 0);
	p->conn = s->peer->conn;
	wf_unlock(&p->tcp->ep.lock);
	assert_non_null(p->conn);
}

/* Progress that reads the socket, whatever the clock says. */
static void progress(struct several *s)
{
	s->pair.tcp->set_again = 1;
	pair_progress(&s->pair);
}

/* ---- the peer ---- */

/* Read the next record, if there is one; it must be whole. */
static bool next_record(struct pair *p, struct tcp_record *rec, uint8_t *payload)
{
	uint8_t hdr[TCP_WIRE_HDR_MAX];
	int more = TCP_WIRE_BASE;
	size_t n = 0;

	while (more > 0) {
		size_t got = peer_read(p, hdr + n, (size_t)more - n);

		if (!got && !n)
			return false;
		n += got;
		assert_int_equal(n, more);
		more = tcp_record_decode(hdr, n, &p->conn->wire, rec);
	}
	assert_int_equal(more, 0);
	assert_int_equal(hdr[offsetof(struct tcp_wire_base, number)], p->number++);
	assert_int_equal(peer_read(p, payload, rec->payload_len), rec->payload_len);
	return true;
}

/* The bytes are those of the application before it had its buffers back. */
static void check_message(
	struct several *s, uint64_t tag, const uint8_t *bytes, uint64_t len)
{
	assert_int_equal(s->seen[tag]++, 0);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(bytes[i], fill_byte((unsigned int)tag, i));
}

/* Answer each record as a peer does. */
static void answer(
	struct several *s, const struct tcp_record *rec, const uint8_t *bytes)
{
	struct tcp_record out = { .kind = TCP_REC_ACK };
	uint8_t back[READ];

	memset(back, BY_READ, sizeof(back));
	switch (rec->kind) {
	case TCP_REC_TAGGED:
		if (rec->tag != TAG_FILL)
			check_message(s, rec->tag, bytes, rec->payload_len);
		break;
	case TCP_REC_RDV_DATA:
		check_message(s, TAG_CLOSED, bytes, rec->payload_len);
		break;
	case TCP_REC_RTS:
		out.kind = TCP_REC_CTS;
		out.index = rec->index;
		peer_record(&s->pair, &out, NULL);
		return;
	case TCP_REC_READ:
		out.kind = TCP_REC_READ_RESP;
		out.payload_len = rec->span;
		peer_record(&s->pair, &out, back);
		return;
	case TCP_REC_FETCH:
		out.kind = TCP_REC_ATOMIC_RESP;
		out.payload_len = rec->span;
		peer_record(&s->pair, &out, back);
		return;
	case TCP_REC_WRITE:
		check_message(s, TAG_CLOSED, bytes, rec->payload_len);
		break;
	default:
		break;
	}
	if (rec->flags & TCP_FLAG_MATCH) {
		out.kind = TCP_REC_MATCHED;
		out.id = rec->id;
	}
	if (rec->flags & (TCP_FLAG_ACK | TCP_FLAG_MATCH))
		peer_record(&s->pair, &out, NULL);
}

static void play_peer(struct several *s)
{
	static uint8_t bytes[LONG + RENDEZVOUS];
	struct tcp_record rec;
	unsigned int idle = 0;

	while (idle < 3) {
		progress(s);
		idle++;
		while (next_record(&s->pair, &rec, bytes)) {
			answer(s, &rec, bytes);
			idle = 0;
		}
	}
}

/* ---- operations ---- */

static int send_small(struct several *s, struct fid_ep *tx)
{
	return (int)fi_tsend(tx, s->buf, LEN, NULL, s->addr, TAG_CLOSED, s);
}

static int send_long(struct several *s, struct fid_ep *tx)
{
	return (int)fi_tsend(tx, s->buf, LONG, NULL, s->addr, TAG_CLOSED, s);
}

static int send_pieces(struct several *s, struct fid_ep *tx)
{
	const struct iovec iov[] = { { s->buf, 10 }, { s->buf + 10, 1 },
		{ s->buf + 11, LONG - 11 } };

	return (int)fi_tsendv(tx, iov, NULL, 3, s->addr, TAG_CLOSED, s);
}

static int send_level(struct several *s, struct fid_ep *tx, uint64_t level)
{
	const struct iovec iov = { s->buf, LEN };
	const struct fi_msg_tagged msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = s->addr,
		.tag = TAG_CLOSED,
		.context = s };

	return (int)fi_tsendmsg(tx, &msg, level | FI_COMPLETION);
}

static int send_acknowledged(struct several *s, struct fid_ep *tx)
{
	return send_level(s, tx, FI_DELIVERY_COMPLETE);
}

static int send_matched(struct several *s, struct fid_ep *tx)
{
	return send_level(s, tx, FI_MATCH_COMPLETE);
}

static int send_rendezvous(struct several *s, struct fid_ep *tx)
{
	return (int)fi_tsend(tx, s->buf, sizeof(s->buf), NULL, s->addr, TAG_CLOSED, s);
}

static int inject(struct several *s, struct fid_ep *tx)
{
	return (int)fi_tinject(tx, s->buf, LEN, s->addr, TAG_CLOSED);
}

static int read_remote(struct several *s, struct fid_ep *tx)
{
	return (int)fi_read(tx, s->buf, READ, NULL, s->addr, 0, KEY, s);
}

static int write_remote(struct several *s, struct fid_ep *tx)
{
	return (int)fi_write(tx, s->buf, LONG, NULL, s->addr, 0, KEY, s);
}

static int fetch(struct several *s, struct fid_ep *tx)
{
	return (int)fi_fetch_atomic(tx, s->operand, 1, NULL, s->result, NULL, s->addr,
		0, KEY, FI_UINT64, FI_SUM, s);
}

static const struct op {
	int (*start)(struct several *s, struct fid_ep *tx);
	bool injected;
} ops[] = {
	{ send_small, false },
	{ send_long, false },
	{ send_pieces, false },
	{ send_acknowledged, false },
	{ send_rendezvous, false },
	{ inject, true },
	{ read_remote, false },
	{ write_remote, false },
	{ fetch, false },
	{ send_matched, false },
};

static void start(struct several *s, const struct op *op)
{
	fill(s->buf, sizeof(s->buf), TAG_CLOSED);
	memset(s->operand, 1, sizeof(s->operand));
	memset(s->result, SCRIBBLE, sizeof(s->result));
	assert_int_equal(op->start(s, s->tx[0]), 0);
}

static void start_other(struct several *s)
{
	fill(s->other, LEN, TAG_OTHER);
	assert_int_equal(
		fi_tsend(s->tx[1], s->other, LEN, NULL, s->addr, TAG_OTHER, s->other),
		0);
}

/* The context is closed, and the application uses its buffers for something else. */
static void close_first(struct several *s)
{
	/* Closing waits for nothing: this test decides what is sent. */
	assert_int_equal(setenv("FI_FLUSH_TIMEOUT", "0", 1), 0);
	assert_int_equal(fi_close(&s->tx[0]->fid), 0);
	assert_int_equal(unsetenv("FI_FLUSH_TIMEOUT"), 0);
	s->tx[0] = NULL;
	s->ended_before = s->pair.ended_count;
	memset(s->buf, SCRIBBLE, sizeof(s->buf));
	memset(s->operand, SCRIBBLE, sizeof(s->operand));
}

static bool is_scribble(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != SCRIBBLE)
			return false;
	return true;
}

static size_t tx_left(struct several *s, int index)
{
	return (size_t)s->tx[index]->ops->tx_size_left(s->tx[index]);
}

/* The other context's message ended, and nothing of the closed context after that. */
static void check_ended(struct several *s)
{
	unsigned int others = 0;

	for (unsigned int i = 0; i < s->pair.ended_count; i++) {
		const struct ended *e = &s->pair.ended[i];

		assert_int_equal(e->err, 0);
		if (e->context == s->other)
			others++;
		else if (e->context != &s->pair)
			assert_true(i < s->ended_before);
	}
	assert_int_equal(others, 1);
	s->pair.ended_count = 0;
}

/* What the peer gets, what completes, and that nothing of the context is left. */
static void check_rest(struct several *s, const struct op *op)
{
	struct tcp_ep *tcp = s->pair.tcp;

	play_peer(s);
	assert_int_equal(s->seen[TAG_OTHER], 1);
	if (op->injected)
		assert_int_equal(s->seen[TAG_CLOSED], 1);
	check_ended(s);
	assert_true(is_scribble(s->buf, sizeof(s->buf)));
	assert_true(is_scribble(s->result, sizeof(s->result)));
	assert_int_equal(tcp->closed.pending, 0);
	assert_int_equal(tcp->contexts[0].pending, 0);
	assert_true(wf_list_empty(&s->peer->ip.remote.pending));
	assert_null(s->pair.conn->cur);
	assert_int_equal(s->pair.conn->rts_count, 0);
	if (!s->tx[0])
		open_tx(s, 0);
	assert_int_equal(tx_left(s, 0), tx_left(s, 1));
	/* And what uses the context now is not confused with it. */
	memset(s->seen, 0, sizeof(s->seen));
	start(s, &ops[0]);
	play_peer(s);
	assert_int_equal(s->seen[TAG_CLOSED], 1);
	assert_one_ended(&s->pair, s, 0);
	close_several(s);
}

/* ---- stages ---- */

static struct several several;

static void waiting_for_a_connection(void **state)
{
	struct several *s = &several;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(ops); i++) {
		open_several(s);
		start(s, &ops[i]);
		start_other(s);
		assert_int_equal(s->pair.tcp->contexts[0].pending, 1);
		close_first(s);
		connect_peer(s);
		play_peer(s);
		/* None of the others had begun. */
		assert_int_equal(s->seen[TAG_CLOSED], ops[i].injected);
		check_rest(s, &ops[i]);
	}
}

/* Before or behind others, in a socket that takes nothing; the context is opened again
 * before or after they leave. */
static void queued(void **state)
{
	struct several *s = &several;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(ops); i++)
		for (unsigned int k = 0; k < 4; k++) {
			bool before = k & 1;

			open_several(s);
			connect_peer(s);
			kernel.takes = 0;
			if (before)
				start_other(s);
			start(s, &ops[i]);
			if (!before)
				start_other(s);
			progress(s);
			close_first(s);
			if (k & 2)
				open_tx(s, 0);
			kernel.takes = SIZE_MAX;
			check_rest(s, &ops[i]);
		}
}

/* Messages of the other context, until no record fits into the stage any more. */
static void fill_stage(struct several *s)
{
	enum { LONGEST = 1000, ROOM = 40 /* the shortest record that follows */ };
	static uint8_t bytes[LONGEST];
	size_t left;

	kernel.takes = 0;
	do {
		struct tcp_stage *stage = s->pair.conn->stage;

		left = STAGE - (stage ? stage->tail : 0);
		if (left < ROOM)
			break;
		assert_int_equal(
			fi_tsend(s->tx[1], bytes, WF_MIN(left - 32, (size_t)LONGEST),
				NULL, s->addr, TAG_FILL, &s->pair),
			0);
		assert_null(s->pair.conn->cur);
	} while (true);
}

/* The first record that is not in the stage; the socket takes some bytes of it. */
static void behind_a_full_stage(void **state)
{
	struct several *s = &several;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(ops); i++)
		for (size_t at = 0; at < 100; at++) {
			open_several(s);
			connect_peer(s);
			fill_stage(s);
			start(s, &ops[i]);
			progress(s);
			assert_non_null(s->pair.conn->cur);
			start_other(s);
			kernel.takes =
				s->pair.conn->staged - s->pair.conn->flushed + at;
			progress(s);
			close_first(s);
			kernel.takes = SIZE_MAX;
			check_rest(s, &ops[i]);
		}
}

/* An operation of the other context is partly sent, or its answer is partly there: it
 * is not touched. */
static void start_other_read(struct several *s)
{
	memset(s->other, 0, READ);
	assert_int_equal(
		fi_read(s->tx[1], s->other, READ, NULL, s->addr, 0, KEY, s->other), 0);
}

static void check_other_read(struct several *s)
{
	for (size_t i = 0; i < READ; i++)
		assert_int_equal(s->other[i], BY_READ);
	s->seen[TAG_OTHER] = 1;
}

static void the_other_is_partly_sent(void **state)
{
	struct several *s = &several;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(ops); i++)
		for (size_t at = 1; at < 40; at += 3) {
			open_several(s);
			connect_peer(s);
			fill_stage(s);
			start_other_read(s);
			progress(s);
			assert_non_null(s->pair.conn->cur);
			start(s, &ops[i]);
			kernel.takes =
				s->pair.conn->staged - s->pair.conn->flushed + at;
			progress(s);
			close_first(s);
			kernel.takes = SIZE_MAX;
			play_peer(s);
			check_other_read(s);
			check_rest(s, &ops[i]);
		}
}

/* ---- answers that arrive ---- */

/* Bytes of an answer to a read or a fetching operation. */
static struct bytes answer_of(struct several *s, const struct op *op)
{
	const struct tcp_record rec = {
		.kind = op->start == fetch ? TCP_REC_ATOMIC_RESP : TCP_REC_READ_RESP,
		.payload_len = op->start == fetch ? 8 : READ,
	};
	uint8_t payload[READ];
	struct bytes bytes = { 0 };

	memset(payload, BY_READ, sizeof(payload));
	add_record(&bytes, &s->pair, &rec, payload);
	return bytes;
}

/* Read up to the request that the answer is for. */
static void take_request(struct several *s)
{
	uint8_t payload[LONG];
	struct tcp_record rec;

	do
		assert_true(next_record(&s->pair, &rec, payload));
	while (rec.kind != TCP_REC_READ && rec.kind != TCP_REC_FETCH);
}

static const struct op *const answered[] = { &ops[6], &ops[8] };

/* Some bytes of the answer are there; no more of them reach the application, and the
 * rest is dropped. */
static void its_answer_arrives(void **state)
{
	struct several *s = &several;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(answered); i++)
		for (size_t at = 0; at < 100; at++) {
			struct bytes bytes;

			open_several(s);
			connect_peer(s);
			start(s, answered[i]);
			progress(s);
			take_request(s);
			bytes = answer_of(s, answered[i]);
			at = WF_MIN(at, bytes.len - 1);
			peer_send(&s->pair, bytes.at, at);
			progress(s);
			close_first(s);
			memset(s->result, SCRIBBLE, sizeof(s->result));
			/* First, because a socket pair cannot tell whether the peer
			 * closed it behind unread bytes. */
			start_other(s);
			peer_send(&s->pair, bytes.at + at, bytes.len - at);
			check_rest(s, answered[i]);
			if (at == bytes.len - 1)
				break;
		}
}

/* The first answer is that of the other context. */
static void the_others_answer_arrives(void **state)
{
	struct several *s = &several;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(answered); i++)
		for (size_t at = 0; at < 100; at += 9) {
			struct bytes bytes;

			open_several(s);
			connect_peer(s);
			start_other_read(s);
			progress(s);
			take_request(s);
			start(s, answered[i]);
			progress(s);
			bytes = answer_of(s, &ops[6]);
			peer_send(&s->pair, bytes.at, at);
			progress(s);
			close_first(s);
			peer_send(&s->pair, bytes.at + at, bytes.len - at);
			play_peer(s);
			check_other_read(s);
			check_rest(s, answered[i]);
		}
}

/* The socket has taken each number of bytes of the first record. */
static void partly_sent(void **state)
{
	struct several *s = &several;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(ops); i++)
		for (size_t at = 1; at < LONG; at += at < 80 ? 1 : 211) {
			open_several(s);
			connect_peer(s);
			kernel.takes = at;
			start(s, &ops[i]);
			start_other(s);
			progress(s);
			close_first(s);
			kernel.takes = SIZE_MAX;
			check_rest(s, &ops[i]);
		}
}

/* All was sent; the peer's answer is still to come. */
static void unanswered(void **state)
{
	struct several *s = &several;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(ops); i++) {
		open_several(s);
		connect_peer(s);
		start(s, &ops[i]);
		progress(s);
		close_first(s);
		start_other(s);
		check_rest(s, &ops[i]);
	}
}

/* Of several operations that wait for a connection, those of the context go; the order
 * of the others stays. */
static void several_wait_for_a_connection(void **state)
{
	struct several *s = &several;

	(void)state;
	open_several(s);
	for (size_t i = 0; i < 4; i++) {
		start(s, &ops[i]);
		if (i == 2)
			start_other(s);
	}
	assert_int_equal(s->pair.tcp->contexts[0].pending, 4);
	close_first(s);
	connect_peer(s);
	check_rest(s, &ops[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiting_for_a_connection),
		cmocka_unit_test(queued),
		cmocka_unit_test(behind_a_full_stage),
		cmocka_unit_test(the_other_is_partly_sent),
		cmocka_unit_test(its_answer_arrives),
		cmocka_unit_test(the_others_answer_arrives),
		cmocka_unit_test(partly_sent),
		cmocka_unit_test(unanswered),
		cmocka_unit_test(several_wait_for_a_connection),
	};

	tcp_params.rendezvous_size = RENDEZVOUS;
	tcp_params.staging_size = STAGE;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
