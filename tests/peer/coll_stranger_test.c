/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <endian.h>

#include "coll_rig.h"

/*
 * Processes that are no members of a group and send messages to its members, under a
 * main provider that this test plays: coll_stranger_test PROVIDER. They hear all that
 * the members send, so they know each tag and each secret: the sources of messages
 * alone keep them out. tests/conformance/coll_strangers.c has those that guess.
 */

enum {
	MEMBERS = 3,
	KNOWN = 3,    /* node that is in the members' AVs */
	STRANGER = 4, /* node that is not */
	NODES,
	HELD_MAX = 256,
	FORGED_MAX = 1024, /* bytes of a forged message */
	RECORD_LEN = 96,
};

#define TAG_DATA    (UINT64_C(4) << 61)
#define TAG_JOIN    (UINT64_C(5) << 61)
#define TAG_CONTROL (UINT64_C(6) << 61)

struct control {
	uint16_t kind, err;
	uint32_t members, from, to;
	uint64_t secret, from_secret;
};

enum { PROBE = 1, ABORT };

/* A message of a member that is held back until others have sent theirs. */
struct held {
	void *context;
	unsigned int to;
	uint64_t tag;
	size_t len;
	bool is_forged; /* they have */
	unsigned char forged[FORGED_MAX];
};

static struct {
	struct coll_rig *rig;
	struct fi_ops_tagged ops, *own[NODES];
	struct held held[HELD_MAX];
	unsigned int held_count, forged_count;
	uint64_t secret[MEMBERS];
	unsigned int controls; /* control messages of the first member */
	bool refuses_controls; /* it cannot send them now */
} ear;

static struct coll_node *node_of(struct fid_ep *ep)
{
	for (unsigned int i = 0; i < ear.rig->count; i++)
		if (ear.rig->node[i].ep == ep)
			return &ear.rig->node[i];
	fail();
	return NULL;
}

static unsigned int index_of(const struct coll_node *node, fi_addr_t addr)
{
	for (unsigned int i = 0; i < ear.rig->count; i++)
		if (node->addr[i] == addr)
			return i;
	fail();
	return 0;
}

/* The first record in a join message is the sender's. */
static void learn_secret(const struct coll_node *from, const struct fi_msg_tagged *msg)
{
	if (msg->tag >> 61 != TAG_JOIN >> 61 || msg->msg_iov->iov_len < RECORD_LEN)
		return;
	memcpy(&ear.secret[from->self], (const char *)msg->msg_iov->iov_base + 8, 8);
}

/* Hold @msg back. The forged message has the same tag and length. */
static void hold(const struct coll_node *from, const struct fi_msg_tagged *msg)
{
	size_t len = msg->iov_count ? msg->msg_iov->iov_len : 0;
	struct held *held = &ear.held[ear.held_count++];

	assert_true(ear.held_count < HELD_MAX);
	*held = (struct held){ .context = msg->context,
		.to = index_of(from, msg->addr),
		.tag = msg->tag,
		.len = len < FORGED_MAX ? len : FORGED_MAX };
	for (size_t i = 0; i < held->len; i++)
		held->forged[i] = (unsigned char)~(
			(const unsigned char *)msg->msg_iov->iov_base)[i];
}

static ssize_t hear_sendmsg(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct coll_node *from = node_of(ep);

	learn_secret(from, msg);
	for (unsigned int i = 0; i < ear.held_count; i++) {
		ssize_t ret;

		if (ear.held[i].context != msg->context)
			continue;
		if (!ear.held[i].is_forged)
			return -FI_EAGAIN;
		ret = ear.own[from->self]->sendmsg(ep, msg, flags);
		if (!ret)
			ear.held[i] = ear.held[--ear.held_count];
		return ret;
	}
	hold(from, msg);
	return -FI_EAGAIN;
}

static void progress_once(struct coll_rig *rig)
{
	for (unsigned int i = 0; i < rig->count; i++)
		(void)fi_cq_read(rig->node[i].cq, NULL, 0);
}

/* Send @len bytes at @buf from the node @from, and wait until they have arrived. */
static void send_raw(
	unsigned int from, unsigned int to, uint64_t tag, const void *buf, size_t len)
{
	struct coll_node *node = &ear.rig->node[from];
	uint64_t end = now_ms() + PATIENCE_MS;
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_context2 context;
	struct fi_msg_tagged msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = node->addr[to],
		.tag = tag,
		.context = &context };
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	while ((ret = ear.own[from]->sendmsg(node->ep, &msg, FI_DELIVERY_COMPLETE)) ==
		-FI_EAGAIN) {
		assert_true(now_ms() < end);
		progress_once(ear.rig);
	}
	assert_int_equal(ret, 0);
	while ((ret = fi_cq_read(node->cq, &entry, 1)) == -FI_EAGAIN) {
		assert_true(now_ms() < end);
		progress_once(ear.rig);
	}
	assert_int_equal(ret, 1);
	assert_ptr_equal(entry.op_context, &context);
}

/* Before a message that is held back goes, both others send one with its tag. */
static void forge_held(struct coll_rig *rig)
{
	for (unsigned int i = 0; i < ear.held_count; i++) {
		struct held held = ear.held[i];

		if (held.is_forged)
			continue;
		send_raw(STRANGER, held.to, held.tag, held.forged, held.len);
		send_raw(KNOWN, held.to, held.tag, held.forged, held.len);
		ear.held[i].is_forged = true;
		ear.forged_count++;
	}
}

static void listen_to(struct coll_rig *rig,
	ssize_t (*sendmsg)(struct fid_ep *, const struct fi_msg_tagged *, uint64_t))
{
	memset(&ear, 0, sizeof(ear));
	ear.rig = rig;
	for (unsigned int i = 0; i < rig->count; i++)
		ear.own[i] = rig->node[i].ep->tagged;
	ear.ops = *ear.own[0];
	ear.ops.sendmsg = sendmsg;
	for (unsigned int i = 0; i < MEMBERS; i++)
		rig->node[i].ep->tagged = &ear.ops;
}

static struct coll_rig *open_rig(
	ssize_t (*sendmsg)(struct fid_ep *, const struct fi_msg_tagged *, uint64_t))
{
	static const struct coll_options options = { .strangers = 1 };
	struct coll_rig *rig = coll_rig_open(NODES, &options);

	listen_to(rig, sendmsg);
	return rig;
}

static void close_rig(struct coll_rig *rig)
{
	rig->each_time = NULL;
	for (unsigned int i = 0; i < MEMBERS; i++)
		rig->node[i].ep->tagged = ear.own[i];
	coll_rig_close(rig);
}

/* Each message of a join and of operations comes after forged ones with its tag.
 * COL-003 */
static void forged_messages_are_not_taken(void **state)
{
	struct coll_rig *rig = open_rig(hear_sendmsg);
	struct coll_mc mc[NODES_MAX];

	rig->each_time = forge_held;
	for (int i = 0; i < 3; i++) {
		coll_rig_join_all(rig, coll_rig_in_order, MEMBERS, mc);
		coll_rig_every_kind(rig, mc, MEMBERS);
		coll_rig_leave(mc, MEMBERS);
	}
	assert_true(ear.forged_count >= 3 * 2 * MEMBERS * (coll_rig_is_p2p() ? 4 : 1));
	close_rig(rig);
}

static ssize_t learn_sendmsg(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct coll_node *from = node_of(ep);

	learn_secret(from, msg);
	if (from->self == 0 && msg->tag == TAG_CONTROL) {
		if (ear.refuses_controls)
			return -FI_EAGAIN;
		ear.controls++;
	}
	return ear.own[from->self]->sendmsg(ep, msg, flags);
}

static struct control control(
	uint16_t kind, uint32_t from, uint32_t to, uint64_t secret)
{
	return (struct control){
		.kind = htole16(kind),
		.err = htole16(FI_ECONNRESET),
		.members = htole32(MEMBERS),
		.from = htole32(from),
		.to = htole32(to),
		.secret = secret,
		.from_secret = htole64(1),
	};
}

/* Abort with the receiver's secret, and without, at each member in each other's
 * name. */
static void send_aborts(unsigned int from)
{
	for (uint32_t i = 0; i < MEMBERS; i++)
		for (uint32_t to = 0; to < MEMBERS; to++) {
			struct control with = control(ABORT, i, to, ear.secret[to]);
			struct control without = control(ABORT, i, to, 0);
			struct control probe = control(PROBE, i, to, ear.secret[to]);

			if (i == to)
				continue;
			send_raw(from, to, TAG_CONTROL, &probe, sizeof(probe));
			send_raw(from, to, TAG_CONTROL, &without, sizeof(without));
			send_raw(from, to, TAG_CONTROL, &with, sizeof(with));
		}
}

/* A group and a join are ended by their members alone. COL-016 */
static void aborts_are_not_obeyed(void **state)
{
	struct coll_rig *rig = open_rig(learn_sendmsg);
	struct coll_mc mc[NODES_MAX];
	struct control abort;
	void *got;

	assert_int_equal(
		coll_rig_join(&rig->node[0], coll_rig_in_order, MEMBERS, &mc[0]), 0);
	coll_rig_settle(rig);
	send_aborts(STRANGER);
	send_aborts(KNOWN);
	for (unsigned int i = 1; i < MEMBERS; i++)
		assert_int_equal(coll_rig_join(&rig->node[i], coll_rig_in_order,
					 MEMBERS, &mc[i]),
			0);
	for (unsigned int i = 0; i < MEMBERS; i++)
		coll_rig_joined(rig, &mc[i], 0);
	send_aborts(STRANGER);
	send_aborts(KNOWN);
	coll_rig_settle(rig);
	coll_rig_every_kind(rig, mc, MEMBERS);
	/* The same message of a member. */
	assert_int_equal(
		fi_barrier(rig->node[0].coll_ep, coll_rig_addr(&mc[0]), rig), 0);
	abort = control(ABORT, 1, 0, ear.secret[0]);
	send_raw(1, 0, TAG_CONTROL, &abort, sizeof(abort));
	assert_int_equal(coll_rig_wait(rig, &rig->node[0], &got), -FI_ECONNRESET);
	coll_rig_leave(mc, MEMBERS);
	close_rig(rig);
}

/* A process that the members know asks for groups that do not exist, while it takes no
 * answers: at most one waits for it. */
static void answers_do_not_pile_up(void **state)
{
	struct coll_rig *rig = open_rig(learn_sendmsg);
	struct coll_mc mc[NODES_MAX];

	coll_rig_join_all(rig, coll_rig_in_order, MEMBERS, mc);
	ear.refuses_controls = true;
	for (uint64_t i = 1; i <= 100; i++) {
		struct control probe = control(PROBE, 1, 0, i);

		send_raw(KNOWN, 0, TAG_CONTROL, &probe, sizeof(probe));
	}
	coll_rig_settle(rig);
	ear.refuses_controls = false;
	coll_rig_settle(rig);
	assert_int_equal(ear.controls, 1);
	coll_rig_barrier(rig, mc, MEMBERS);
	coll_rig_leave(mc, MEMBERS);
	close_rig(rig);
}

/* Where sources are not known, the secrets keep out who has not heard them. */
static void guesses_without_sources(void **state)
{
	static const struct coll_options options = { .strangers = 1,
		.no_source = true };
	struct coll_rig *rig = coll_rig_open(NODES, &options);
	const uint64_t data = UINT64_C(0x5757575757575757);
	struct coll_mc mc[NODES_MAX];

	listen_to(rig, learn_sendmsg);
	coll_rig_join_all(rig, coll_rig_in_order, MEMBERS, mc);
	for (uint64_t i = 0; i < 600; i++) {
		uint32_t to = i % MEMBERS, from = (to + 1 + i / MEMBERS % 2) % MEMBERS;
		struct control abort = control(ABORT, from, to, i);
		uint64_t position = (uint64_t)from << 26 | i / 6 << 10;

		send_raw(STRANGER, to, TAG_CONTROL, &abort, sizeof(abort));
		/* All but two bits of the secret are right. */
		abort.secret = ear.secret[to] ^ UINT64_C(0x8000000000000001);
		send_raw(STRANGER, to, TAG_CONTROL, &abort, sizeof(abort));
		send_raw(STRANGER, to, TAG_DATA | position, &data, sizeof(data));
	}
	coll_rig_settle(rig);
	coll_rig_every_kind(rig, mc, MEMBERS);
	coll_rig_leave(mc, MEMBERS);
	close_rig(rig);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forged_messages_are_not_taken),
		cmocka_unit_test(aborts_are_not_obeyed),
		cmocka_unit_test(answers_do_not_pile_up),
		cmocka_unit_test(guesses_without_sources),
	};

	rig_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
