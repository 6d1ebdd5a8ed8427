/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_TCP_FAR_FIXTURE_H
#define TESTS_UNIT_TCP_FAR_FIXTURE_H

/*
 * An FI_EP_RDM endpoint with a connection to the test; both have agreed to find out
 * whether they share memory.
 */
#include "conn_fixture.h"

#include <arpa/inet.h>

#include "providers/tcp/conn/peer.h"
#include "providers/tcp/local/local.h"

enum { INSTANCE = 0x7ea1 };

/* Name of the test's endpoint in shared memory. */
#define FAR_NAME "far below"

/* ---- an endpoint of FI_EP_RDM with a connection to the test ---- */

struct far {
	struct pair pair;
	struct fid_av *av;
	fi_addr_t addr;
	struct wf_proof proof; /* proof of the test */
	/* Markers of the endpoint that the test has read, and markers of the test. */
	uint64_t markers, own_markers;
	uint8_t card[WF_PROOF_CARD];
};

static inline void open_rdm(struct far *far)
{
	memset(far, 0, sizeof(*far));
	far->proof.fd = -1;
	pair_open_rdm(&far->pair, FI_MSG | FI_TAGGED, &far->av);
}

static inline void close_rdm(struct far *far)
{
	struct pair *p = &far->pair;

	wf_proof_done(&far->proof);
	assert_int_equal(fi_close(&p->ep->fid), 0);
	p->ep = NULL;
	assert_int_equal(fi_close(&far->av->fid), 0);
	pair_close(p);
}

static inline void know(struct far *far, const union wf_sockaddr *addr)
{
	assert_int_equal(fi_av_insert(far->av, &addr->in, 1, &far->addr, 0, NULL), 1);
}

/* The connection exists, the feature is agreed on, and the endpoint has sent its
 * card. */
static inline void connect_far(struct far *far)
{
	const struct tcp_wire_peer wire = { .have = TCP_HAVE_OFFER | TCP_HAVE_TAGGED,
		.contexts = 1 };
	union wf_sockaddr addr = { .in = { .sin_family = AF_INET,
					   .sin_port = htons(9) } };
	struct pair *p = &far->pair;
	struct tcp_peer *peer;
	int fds[2];

	addr.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	know(far, &addr);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
		0);
	p->peer = fds[1];
	wf_lock(&p->tcp->ep.lock);
	peer = tcp_peer_get(p->tcp, &addr);
	assert_non_null(peer);
	assert_int_equal(
		tcp_peer_connected(p->tcp, peer, fds[0], INSTANCE, &wire, TCP_VERIFIED),
		0);
	p->conn = peer->conn;
	wf_unlock(&p->tcp->ep.lock);
	assert_int_equal(wf_proof_make(&far->proof, INSTANCE, FAR_NAME, far->card), 0);
}

static inline int setup(void **state)
{
	struct far *far = malloc(sizeof(*far));

	assert_non_null(far);
	open_rdm(far);
	connect_far(far);
	*state = far;
	return 0;
}

static inline int teardown(void **state)
{
	close_rdm(*state);
	free(*state);
	return 0;
}

/* ---- the peer ---- */

/* Read and answer the records that were sent, until there are no more. */
static inline void settle(struct far *far)
{
	pair_progress(&far->pair);
	pair_progress(&far->pair);
}

static inline void send_card(struct far *far)
{
	const struct tcp_record rec = { .kind = TCP_REC_CARD,
		.payload_len = WF_PROOF_CARD };

	peer_record(&far->pair, &rec, far->card);
	settle(far);
}

/* Write the test's answer to the endpoint's card. */
static inline void tell_number(struct far *far, uint64_t number)
{
	wf_page_prove(far->proof.own, number);
	settle(far);
}

/* The number in the page of the endpoint's card. The test maps the page, and does not
 * answer yet. */
static inline uint64_t read_card(struct far *far)
{
	uint8_t card[WF_PROOF_CARD];
	char name[WF_PROOF_NAME];
	uint64_t number;

	pair_progress(&far->pair);
	(void)peer_expect(&far->pair, TCP_REC_CARD, card);
	assert_int_equal(
		wf_proof_read(&far->proof, card, far->pair.tcp->peers->instance, name),
		WF_UNREACHED_NOT);
	number = wf_page_proof(far->proof.own);
	wf_page_prove(far->proof.own, 0);
	return number;
}

/* The endpoint's answer to the test's card, after the endpoint's card was read. */
static inline uint64_t told_number(const struct far *far)
{
	return wf_page_proof(far->proof.peer);
}

static inline const struct tcp_local *local_of(const struct far *far)
{
	return far->pair.conn->local;
}

/* Messages pass in both directions over the connection. */
static inline void messages_pass(struct far *far)
{
	const struct tcp_record rec = { .kind = TCP_REC_MSG, .payload_len = 4 };
	struct pair *p = &far->pair;
	uint8_t in[4] = { 0 }, out[4];

	p->ended_count = 0;
	assert_int_equal(fi_recv(p->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, in), 0);
	/* This comes first, because a socket pair cannot tell whether the peer closed
	 * it behind unread bytes. */
	assert_int_equal(fi_inject(p->ep, "efgh", 4, far->addr), 0);
	peer_record(p, &rec, "abcd");
	pair_progress(p);
	assert_memory_equal(in, "abcd", 4);
	(void)peer_expect(p, TCP_REC_MSG, out);
	assert_memory_equal(out, "efgh", 4);
	p->ended_count = 0;
}

static inline bool has_failed(struct far *far)
{
	pair_progress(&far->pair);
	return wf_list_empty(&far->pair.tcp->conns);
}

#define FAR_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
