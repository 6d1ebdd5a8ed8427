/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unexpected messages of connections, with a transport whose peers and connections are
 * made up: what the owner of the receives asks for is counted.
 */
#include "srx_fixture.h"

#include "objects/conn/unexp.h"

/* No memory for a block of this size; 0: there is. */
static size_t no_block_of;

__attribute__((visibility("default"))) void *__wrap_wf_sizes_get(
	struct wf_sizes *sizes, size_t len);
void *__real_wf_sizes_get(struct wf_sizes *sizes, size_t len);

void *__wrap_wf_sizes_get(struct wf_sizes *sizes, size_t len)
{
	return len == no_block_of ? NULL : __real_wf_sizes_get(sizes, len);
}

enum { PEERS = 2, AT_SENDER = 1, NO_ID = 0, LEN = 8 };

struct sim_peer {
	struct wf_remote remote;
	fi_addr_t index; /* in the AV */
	struct sockaddr_in name;
	int freed;
};

struct sim_conn {
	struct wf_unexp_conn unexp;
	struct sim_peer *peer;
	int starts, discards, flushes, matches;
	uint64_t matched; /* the last one */
	struct fi_peer_rx_entry *entry;
};

struct sim {
	struct fk fk; /* first: fk_destroy frees it */
	struct wf_unexp unexp;
	struct wf_remotes remotes;
	struct wf_watches watches;
	struct sim_peer peers[PEERS];
	struct sim_conn conns[PEERS];
};

static struct sim_conn *conn_of(struct wf_unexp_conn *unexp)
{
	return wf_container_of(unexp, struct sim_conn, unexp);
}

static struct sim_peer *peer_of(const struct wf_remote *remote)
{
	return wf_container_of(remote, struct sim_peer, remote);
}

/* ---- the transport ---- */

static fi_addr_t index_of(struct wf_ep *ep, struct wf_remote *remote)
{
	(void)ep;
	return peer_of(remote)->index;
}

static const void *name_of(const struct wf_remote *remote, size_t *ret_len)
{
	*ret_len = sizeof(peer_of(remote)->name);
	return &peer_of(remote)->name;
}

static size_t size_of(const struct wf_srx_unexpected *saved)
{
	assert_int_equal(wf_unexp_state(saved), AT_SENDER);
	return 0;
}

static void matched(struct wf_unexp_conn *unexp, uint64_t id)
{
	conn_of(unexp)->matches++;
	conn_of(unexp)->matched = id;
}

static int start(struct wf_unexp_conn *unexp, struct wf_srx_unexpected *saved,
	struct fi_peer_rx_entry *entry)
{
	(void)saved;
	conn_of(unexp)->starts++;
	conn_of(unexp)->entry = entry;
	return 0;
}

static void discard(struct wf_unexp_conn *unexp, struct wf_srx_unexpected *saved)
{
	(void)saved;
	conn_of(unexp)->discards++;
}

static void flush(struct wf_unexp_conn *unexp)
{
	conn_of(unexp)->flushes++;
}

static const struct wf_unexp_ops sim_ops = {
	.index = index_of,
	.name = name_of,
	.size = size_of,
	.matched = matched,
	.start = start,
	.discard = discard,
	.flush = flush,
};

static enum wf_remote_state state_of(const struct wf_remote *remote)
{
	(void)remote;
	return WF_REMOTE_DOWN;
}

static void free_peer(struct wf_remotes *remotes, struct wf_remote *remote)
{
	(void)remotes;
	peer_of(remote)->freed++;
}

static const struct wf_remote_ops remote_ops = {
	.state = state_of,
	.free = free_peer,
};

/* ---- what is around ---- */

static struct wf_xfer_ops sim_xfer_ops;

static struct sim *sim_open(struct fk_around *a, uint64_t caps)
{
	struct fi_info *info = fk_info(caps);
	struct sim *sim = calloc(1, sizeof(*sim));

	assert_non_null(sim);
	sim_xfer_ops = fk_xfer_ops;
	sim_xfer_ops.srx_ops = &wf_unexp_srx_ops;
	sim_xfer_ops.srx_addr = wf_unexp_srx_addr;
	assert_int_equal(
		wf_ep_init(&sim->fk.ep, &a->f->domain, info, &sim_xfer_ops, sim), 0);
	fi_freeinfo(info);
	fk_enable_with(&sim->fk, a, 0);
	assert_int_equal(wf_remotes_init(&sim->remotes, &remote_ops, 1,
				 &sim->fk.ep.progress, &sim->watches),
		0);
	sim->unexp = (struct wf_unexp){
		.ops = &sim_ops,
		.ep = &sim->fk.ep,
		.remotes = &sim->remotes,
		.wants = wf_recv_wants_of(&sim->fk.ep),
	};
	for (unsigned int i = 0; i < PEERS; i++) {
		sim->peers[i].index = FI_ADDR_NOTAVAIL;
		sim->peers[i].name.sin_family = AF_INET;
		sim->peers[i].name.sin_port = htons((uint16_t)(7000 + i));
		sim->peers[i].name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		wf_remotes_add(&sim->remotes, &sim->peers[i].remote, i);
		sim->conns[i].peer = &sim->peers[i];
	}
	return sim;
}

static void lock(struct sim *sim)
{
	wf_ep_srx_lock(&sim->fk.ep);
	wf_lock(&sim->fk.ep.lock);
}

static void unlock(struct sim *sim)
{
	wf_unlock(&sim->fk.ep.lock);
	wf_ep_srx_unlock(&sim->fk.ep);
}

static void lose(struct sim *sim, struct sim_conn *conn, int err)
{
	lock(sim);
	wf_unexp_break(&conn->unexp, err);
	unlock(sim);
}

/* Nothing is left: no message, and no reference to a peer. */
static void sim_close(struct sim *sim)
{
	for (unsigned int i = 0; i < PEERS; i++) {
		assert_int_equal(sim->conns[i].unexp.bytes, 0);
		lose(sim, &sim->conns[i], FI_ECONNRESET);
		assert_int_equal(sim->peers[i].remote.refs, 0);
	}
	assert_int_equal(sim->unexp.bytes, 0);
	wf_remotes_done(&sim->remotes);
	fk_close(&sim->fk);
}

/* A tagged message of LEN bytes counting up from @first, which no receive waits for.
 * @id: of the note of the match for the sender, or NO_ID. */
static void arrive(struct sim *sim, struct sim_conn *conn, uint64_t tag,
	unsigned char first, unsigned int state, uint64_t id)
{
	fi_addr_t index = conn->peer->index;
	struct fi_peer_match_attr attr = { index, LEN, tag };
	size_t size = state == WF_UNEXP_WHOLE ? LEN + (id ? sizeof(id) : 0) : 0;
	struct fi_peer_rx_entry *entry = NULL;
	struct wf_srx_unexpected *saved;
	uint8_t *payload;

	lock(sim);
	assert_int_equal(wf_srx_get_tag(sim->fk.ep.srx, &attr, &entry), -FI_ENOENT);
	entry->cq_data = tag + 1;
	entry->flags |= FI_REMOTE_CQ_DATA;
	saved = wf_unexp_save(
		&sim->unexp, &conn->unexp, &conn->peer->remote, FI_TAGGED, entry, size);
	assert_non_null(saved);
	saved->note = state | (id ? WF_UNEXP_MATCH : 0);
	payload = wf_srx_payload(saved);
	for (unsigned char i = 0; size && i < LEN; i++)
		payload[i] = (unsigned char)(first + i);
	if (size > LEN)
		memcpy(payload + LEN, &id, sizeof(id));
	unlock(sim);
}

static void receive(struct sim *sim, void *buf, size_t len, uint64_t tag)
{
	assert_int_equal(
		fi_trecv(&sim->fk.ep.fid, buf, len, NULL, FI_ADDR_UNSPEC, tag, 0, buf),
		0);
}

static const uint64_t done_flags = FI_TAGGED | FI_RECV | FI_REMOTE_CQ_DATA;

/* ---- tests ---- */

static void a_whole_message_is_received(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct sim *sim = sim_open(&a, FI_SOURCE);
	struct fi_cq_tagged_entry entry = { 0 };
	fi_addr_t source = FI_ADDR_UNSPEC;
	unsigned char buf[LEN] = { 0 };

	sim->peers[1].index = fk_insert(&a, 7000);
	arrive(sim, &sim->conns[1], 5, 10, WF_UNEXP_WHOLE, NO_ID);
	assert_int_equal(sim->conns[1].unexp.bytes, wf_unexp_cost(LEN));
	assert_int_equal(sim->unexp.bytes, wf_unexp_cost(LEN));
	fk_expect_none(&a);
	receive(sim, buf, LEN, 5);
	assert_int_equal(fi_cq_readfrom(a.cq, &entry, 1, &source), 1);
	assert_ptr_equal(entry.op_context, buf);
	assert_int_equal(entry.flags, done_flags);
	assert_int_equal(entry.data, 6);
	assert_int_equal(source, sim->peers[1].index);
	assert_true(fk_holds(buf, 10, LEN));
	assert_int_equal(sim->conns[1].matches, 0);
	assert_int_equal(sim->conns[1].flushes, 1);
	sim_close(sim);
	fk_close_around(&a);
}

static void drop_unexpected(struct sim *sim, void *context, uint64_t tag)
{
	assert_int_equal(fk_trecvmsg(&sim->fk.ep.fid, NULL, 0, FI_ADDR_UNSPEC, tag, 0,
				 context, FI_PEEK | FI_DISCARD),
		0);
}

/* With FI_MATCH_COMPLETE the sender gets a note of a match and of a drop. */
static void the_sender_hears_of_the_match(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct sim *sim = sim_open(&a, 0);
	struct sim_conn *conn = &sim->conns[0];
	unsigned char buf[LEN] = { 0 };

	arrive(sim, conn, 5, 10, WF_UNEXP_WHOLE, 77);
	assert_int_equal(conn->unexp.bytes, wf_unexp_cost(LEN + sizeof(uint64_t)));
	receive(sim, buf, LEN, 5);
	fk_expect(&a, buf, done_flags, LEN, 5);
	assert_int_equal(conn->matches, 1);
	assert_int_equal(conn->matched, 77);
	arrive(sim, conn, 6, 20, WF_UNEXP_WHOLE, 88);
	drop_unexpected(sim, buf, 6);
	assert_int_equal(conn->matches, 2);
	assert_int_equal(conn->matched, 88);
	assert_int_equal(conn->flushes, 2);
	sim_close(sim);
	fk_close_around(&a);
}

/* A payload in memory outlives the connection, and keeps the peer for its source. */
static void a_whole_message_outlives_its_connection(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct sim *sim = sim_open(&a, FI_SOURCE);
	struct sim_peer *peer = &sim->peers[0];
	struct fi_cq_tagged_entry entry = { 0 };
	fi_addr_t source = FI_ADDR_UNSPEC;
	unsigned char buf[LEN] = { 0 };

	peer->index = fk_insert(&a, 7000);
	arrive(sim, &sim->conns[0], 5, 10, WF_UNEXP_WHOLE, 77);
	arrive(sim, &sim->conns[1], 5, 20, WF_UNEXP_WHOLE, NO_ID);
	lose(sim, &sim->conns[0], FI_ECONNRESET);
	wf_remote_let_go(&sim->remotes, &peer->remote);
	wf_remotes_tick(&sim->remotes, 1, 0, 0);
	assert_int_equal(peer->freed, 0);
	receive(sim, buf, LEN, 5);
	assert_int_equal(fi_cq_readfrom(a.cq, &entry, 1, &source), 1);
	assert_int_equal(source, peer->index);
	assert_true(fk_holds(buf, 10, LEN));
	/* The sender cannot be reached any more. */
	assert_int_equal(sim->conns[0].matches, 0);
	assert_int_equal(peer->remote.refs, 0);
	wf_remotes_tick(&sim->remotes, 2, 0, 0);
	assert_int_equal(peer->freed, 1);
	sim->conns[0].unexp.bytes = 0; /* of a connection that is gone */
	receive(sim, buf, LEN, 5);
	fk_expect(&a, buf, done_flags, LEN, 5);
	sim_close(sim);
	fk_close_around(&a);
}

/* Messages with tags 5 and 6 whose payloads are at the sender. */
static void arrive_two(struct sim *sim, struct sim_conn *conn)
{
	arrive(sim, conn, 5, 0, AT_SENDER, NO_ID);
	arrive(sim, conn, 6, 0, AT_SENDER, NO_ID);
}

static void the_transport_moves_what_is_not_whole(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct sim *sim = sim_open(&a, 0);
	struct sim_conn *conn = &sim->conns[0];
	unsigned char buf[LEN] = { 0 };

	arrive_two(sim, conn);
	assert_int_equal(conn->unexp.bytes, 2 * wf_unexp_cost(0));
	receive(sim, buf, LEN, 5);
	fk_expect_none(&a);
	assert_int_equal(conn->starts, 1);
	assert_int_equal(conn->unexp.bytes, wf_unexp_cost(0));
	lock(sim);
	wf_recv_done(
		&sim->fk.ep, conn->entry, FI_REMOTE_CQ_DATA, LEN, 6, FI_ADDR_NOTAVAIL);
	unlock(sim);
	fk_expect(&a, buf, done_flags, LEN, 5);
	drop_unexpected(sim, buf, 6);
	assert_int_equal(conn->starts, 1);
	assert_int_equal(conn->discards, 1);
	sim_close(sim);
	fk_close_around(&a);
}

static void what_is_lost_fails_the_receive_that_asks(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct sim *sim = sim_open(&a, 0);
	struct sim_conn *conn = &sim->conns[0];
	unsigned char buf[LEN] = { 0 };

	arrive_two(sim, conn);
	lose(sim, conn, FI_ECONNABORTED);
	conn->unexp.bytes = 0; /* of a connection that is gone */
	receive(sim, buf, LEN, 5);
	assert_int_equal(sim->conns[0].starts, 0);
	(void)fk_expect_err(&a, buf, done_flags, FI_ECONNABORTED);
	drop_unexpected(sim, buf, 6);
	assert_int_equal(conn->discards, 0);
	sim_close(sim);
	fk_close_around(&a);
}

static void what_does_not_fit_is_truncated(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct sim *sim = sim_open(&a, FI_SOURCE | FI_SOURCE_ERR);
	unsigned char buf[LEN] = { 0 };
	struct fi_cq_err_entry err;

	arrive(sim, &sim->conns[0], 5, 10, WF_UNEXP_WHOLE, NO_ID);
	receive(sim, buf, 3, 5);
	err = fk_expect_err(&a, buf, done_flags, FI_ETRUNC);
	assert_int_equal(err.len, 3);
	assert_int_equal(err.olen, LEN - 3);
	assert_true(fk_holds(buf, 10, 3));
	sim_close(sim);
	fk_close_around(&a);
}

/* FI_SOURCE_ERR: the address of a source that is in no AV comes with an error. */
static void an_unknown_source_is_named(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct sim *sim = sim_open(&a, FI_SOURCE | FI_SOURCE_ERR);
	struct sockaddr_in name = { 0 };
	struct fi_cq_err_entry err = { .err_data = &name,
		.err_data_size = sizeof(name) };
	struct fi_cq_tagged_entry none;
	unsigned char buf[LEN] = { 0 };

	arrive(sim, &sim->conns[1], 5, 10, WF_UNEXP_WHOLE, NO_ID);
	receive(sim, buf, LEN, 5);
	assert_int_equal(fi_cq_read(a.cq, &none, 1), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(a.cq, &err, 0), 1);
	assert_int_equal(err.err, FI_EADDRNOTAVAIL);
	assert_int_equal(err.err_data_size, sizeof(name));
	assert_memory_equal(&name, &sim->peers[1].name, sizeof(name));
	assert_true(fk_holds(buf, 10, LEN));
	sim_close(sim);
	fk_close_around(&a);
}

/* A directed receive gets a message whose source is inserted after it came. */
static void a_source_is_asked_for_again(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct sim *sim = sim_open(&a, FI_DIRECTED_RECV);
	struct sim_peer *peer = &sim->peers[0];
	unsigned char buf[LEN] = { 0 };

	arrive(sim, &sim->conns[0], 5, 10, WF_UNEXP_WHOLE, NO_ID);
	peer->index = 0; /* that of the first address */
	assert_int_equal(fk_insert(&a, 7000), peer->index);
	assert_int_equal(
		fi_trecv(&sim->fk.ep.fid, buf, LEN, NULL, peer->index, 5, 0, buf), 0);
	fk_expect(&a, buf, done_flags, LEN, 5);
	sim_close(sim);
	fk_close_around(&a);
}

/* All memory for unexpected messages is in use: a peer in the AV has its share, one
 * that is not gets nothing more; neither has one that has more than its share. */
static void a_known_peer_has_a_share(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct sim *sim = sim_open(&a, 0);
	struct wf_unexp *unexp = &sim->unexp;
	struct sim_conn *conn = sim->conns;

	unexp->budget.limit = 1000;
	unexp->budget.share = 500;
	conn[1].peer->index = 0;
	assert_true(wf_unexp_admits(unexp, &conn->unexp, &conn->peer->remote, 1000));
	assert_false(wf_unexp_admits(unexp, &conn->unexp, &conn->peer->remote, 1001));
	wf_unexp_take(unexp, &conn->unexp, 1000);
	assert_false(wf_unexp_admits(unexp, &conn->unexp, &conn->peer->remote, 0));
	assert_false(wf_unexp_admits(unexp, &conn->unexp, &conn->peer->remote, 1));
	conn++;
	assert_true(wf_unexp_admits(unexp, &conn->unexp, &conn->peer->remote, 500));
	assert_false(wf_unexp_admits(unexp, &conn->unexp, &conn->peer->remote, 501));
	wf_unexp_take(unexp, &conn->unexp, 500);
	assert_true(wf_unexp_admits(unexp, &conn->unexp, &conn->peer->remote, 0));
	assert_false(wf_unexp_admits(unexp, &conn->unexp, &conn->peer->remote, 1));
	assert_true(wf_unexp_admits(unexp, &(struct wf_unexp_conn){ 0 }, NULL, 500));
	wf_unexp_give(unexp, &conn->unexp, 500);
	wf_unexp_give(unexp, &sim->conns->unexp, 1000);
	sim_close(sim);
	fk_close_around(&a);
}

/* A message gets its payload memory when its bytes are there. */
static void a_message_is_enlarged(void **state)
{
	static unsigned char buf[LEN];
	struct fk_around a = fk_open_around(*state);
	struct sim *sim = sim_open(&a, 0);
	struct sim_conn *conn = sim->conns;
	struct fi_peer_match_attr attr = { FI_ADDR_UNSPEC, LEN, 5 };
	struct fi_peer_rx_entry *entry = NULL;
	struct wf_srx_unexpected *saved;

	lock(sim);
	assert_int_equal(wf_srx_get_tag(sim->fk.ep.srx, &attr, &entry), -FI_ENOENT);
	entry->cq_data = 6;
	entry->flags |= FI_REMOTE_CQ_DATA;
	saved = wf_unexp_save(&sim->unexp, &conn->unexp, &conn->peer->remote, FI_TAGGED,
		entry, WF_SRX_ENLARGE_MIN);
	assert_non_null(saved);
	saved->note = AT_SENDER;
	/* Without memory nothing changes. */
	no_block_of = LEN;
	assert_false(wf_unexp_enlarge(&sim->unexp, &conn->unexp, saved, LEN - 1, LEN));
	no_block_of = 0;
	assert_int_equal(conn->unexp.bytes, wf_unexp_cost(WF_SRX_ENLARGE_MIN));
	assert_int_equal(saved->separate, 0);
	assert_true(wf_unexp_enlarge(
		&sim->unexp, &conn->unexp, saved, WF_SRX_ENLARGE_MIN, LEN));
	for (unsigned char i = 0; i < LEN; i++)
		((uint8_t *)wf_srx_payload(saved))[i] = i;
	saved->note = WF_UNEXP_WHOLE;
	unlock(sim);
	assert_int_equal(conn->unexp.bytes, wf_unexp_cost(LEN));
	receive(sim, buf, LEN, 5);
	fk_expect(&a, buf, done_flags, LEN, 5);
	for (unsigned char i = 0; i < LEN; i++)
		assert_int_equal(buf[i], i);
	sim_close(sim);
	fk_close_around(&a);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		DOMAIN_TEST(a_whole_message_is_received),
		DOMAIN_TEST(the_sender_hears_of_the_match),
		DOMAIN_TEST(a_whole_message_outlives_its_connection),
		DOMAIN_TEST(the_transport_moves_what_is_not_whole),
		DOMAIN_TEST(what_is_lost_fails_the_receive_that_asks),
		DOMAIN_TEST(what_does_not_fit_is_truncated),
		DOMAIN_TEST(an_unknown_source_is_named),
		DOMAIN_TEST(a_source_is_asked_for_again),
		DOMAIN_TEST(a_known_peer_has_a_share),
		DOMAIN_TEST(a_message_is_enlarged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
