/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every field of every entry, and the counters: messages of three lengths, with and
 * without remote CQ data, untagged and tagged, to receives that were posted before and
 * after they came, which take all of them or a part; and receives that are cancelled.
 */
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "conformance.h"

enum { LONGEST = 200000 };

#define TAG  UINT64_C(0x1234567890abcdef)
#define DATA UINT64_C(0x5eed)

/* The flags of which an entry has exactly those that are said. */
#define KINDS                                                                          \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_RECV | FI_READ |       \
		FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA |      \
		FI_MULTI_RECV)

struct message {
	bool tagged, data;
	size_t len, room; /* bytes of the message, and of the receive's buffer */
	bool late;        /* The receive is posted when the message has come. */
	bool plain;       /* It is sent by the call without a structure. */
};

static uint8_t *out, *in;

static uint64_t kind_of(const struct message *m)
{
	return m->tagged ? FI_TAGGED : FI_MSG;
}

static void post(struct cf_env *env, const struct message *m, void *context)
{
	struct fid_ep *ep = env->side[1].ep;

	memset(in, '#', LONGEST);
	CF_RETRY(env->side[1].rx_cq,
		m->tagged ? fi_trecv(ep, in, m->room, NULL, FI_ADDR_UNSPEC, TAG, 0,
				    context)
			  : fi_recv(ep, in, m->room, NULL, FI_ADDR_UNSPEC, context));
}

static ssize_t send_plain(
	const struct cf_side *from, const struct message *m, void *context)
{
	struct fid_ep *ep = from->ep;

	if (m->data)
		return m->tagged ? fi_tsenddata(ep, out, m->len, NULL, DATA, from->peer,
					   TAG, context)
				 : fi_senddata(ep, out, m->len, NULL, DATA, from->peer,
					   context);
	return m->tagged ? fi_tsend(ep, out, m->len, NULL, from->peer, TAG, context)
			 : fi_send(ep, out, m->len, NULL, from->peer, context);
}

static void transmit(struct cf_env *env, const struct message *m, void *context)
{
	struct cf_side *from = &env->side[0];
	uint64_t flags = FI_COMPLETION | (m->data ? FI_REMOTE_CQ_DATA : 0);
	struct iovec iov = { out, m->len };
	struct fi_msg msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = from->peer,
		.context = context,
		.data = DATA };
	struct fi_msg_tagged tmsg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = from->peer,
		.tag = TAG,
		.context = context,
		.data = DATA };

	if (m->plain)
		CF_RETRY(from->tx_cq, send_plain(from, m, context));
	else
		CF_RETRY(from->tx_cq, m->tagged ? fi_tsendmsg(from->ep, &tmsg, flags)
						: fi_sendmsg(from->ep, &msg, flags));
}

static uint64_t received_flags(const struct message *m)
{
	return FI_RECV | kind_of(m) | (m->data ? FI_REMOTE_CQ_DATA : 0);
}

static void check_whole(
	struct cf_env *env, const struct message *m, const void *context)
{
	struct fi_cq_tagged_entry entry;

	memset(&entry, 0xee, sizeof(entry));
	cf_cq_wait(env->side[1].rx_cq, &entry);
	CHECK(entry.op_context == context);
	CHECK_EQ(entry.flags & KINDS, received_flags(m));
	CHECK_EQ(entry.len, m->len);
	if (m->data)
		CHECK_EQ(entry.data, DATA);
	if (m->tagged)
		CHECK_EQ(entry.tag, TAG);
	cf_verify(in, m->len, 7);
	CHECK(m->len == LONGEST || in[m->len] == '#');
}

static void check_truncated(
	struct cf_env *env, const struct message *m, const void *context)
{
	struct fi_cq_err_entry err;

	memset(&err, 0xee, sizeof(err));
	err.err_data_size = 0;
	cf_cq_wait_err(env->side[1].rx_cq, &err);
	CHECK_EQ(err.err, FI_ETRUNC);
	CHECK(err.prov_errno != 0);
	CHECK(err.op_context == context);
	CHECK_EQ(err.flags & KINDS, received_flags(m));
	CHECK_EQ(err.len, m->room);
	CHECK_EQ(err.olen, m->len - m->room);
	if (m->data)
		CHECK_EQ(err.data, DATA);
	if (m->tagged)
		CHECK_EQ(err.tag, TAG);
	CHECK_EQ(err.err_data_size, 0);
	cf_verify(in, m->room, 7);
	CHECK(in[m->room] == '#');
}

static void check_sent(struct cf_env *env, const struct message *m, const void *context)
{
	struct fi_cq_tagged_entry entry;

	memset(&entry, 0xee, sizeof(entry));
	cf_cq_wait(env->side[0].tx_cq, &entry);
	CHECK(entry.op_context == context);
	CHECK_EQ(entry.flags & KINDS, FI_SEND | kind_of(m));
}

static void exchange(struct cf_env *env, const struct message *m)
{
	uint64_t done = fi_cntr_read(env->side[1].rx_cntr);
	uint64_t failed = fi_cntr_readerr(env->side[1].rx_cntr);
	uint64_t sent = fi_cntr_read(env->side[0].tx_cntr);
	bool whole = m->room >= m->len;
	struct fi_context2 contexts[2];

	if (!m->late)
		post(env, m, &contexts[1]);
	transmit(env, m, &contexts[0]);
	for (int i = 0; m->late && i < 200; i++)
		cf_progress();
	if (m->late)
		post(env, m, &contexts[1]);
	if (whole)
		check_whole(env, m, &contexts[1]);
	else
		check_truncated(env, m, &contexts[1]);
	check_sent(env, m, &contexts[0]);
	CHECK_EQ(fi_cntr_read(env->side[1].rx_cntr), done + whole);
	CHECK_EQ(fi_cntr_readerr(env->side[1].rx_cntr), failed + !whole);
	CHECK_EQ(fi_cntr_read(env->side[0].tx_cntr), sent + 1);
	CHECK_EQ(fi_cntr_readerr(env->side[0].tx_cntr), 0);
}

static void open_fields(struct cf_env *env, bool tagged)
{
	const struct cf_options options = { .caps = tagged ? FI_TAGGED : FI_MSG,
		.cq_format = FI_CQ_FORMAT_TAGGED,
		.split_cqs = true,
		.counters = true };

	cf_open_pair(env, &options);
	if (cf_device_matches(env))
		SKIP("a device reports no details");
	out = cf_map(LONGEST);
	in = cf_map(LONGEST);
	cf_fill(out, LONGEST, 7);
}

static void messages_have_all_fields(bool tagged)
{
	static const size_t lengths[] = { 8, 4000, LONGEST };
	struct cf_env env;
	size_t longest;

	open_fields(&env, tagged);
	longest = env.info->ep_attr->max_msg_size;
	for (size_t i = 0; i < 16 * sizeof(lengths) / sizeof(*lengths); i++) {
		struct message m = { .tagged = tagged, .len = lengths[i / 16] };

		m.data = i & 1 && env.info->domain_attr->cq_data_size;
		m.late = i & 2 && env.info->ep_attr->type != FI_EP_DGRAM;
		m.room = i & 4 ? m.len / 2 : m.len;
		m.plain = i & 8;
		/* Datagrams need no receive to be sent, and are no longer than that. */
		if (m.len <= longest)
			exchange(&env, &m);
	}
	cf_close(&env);
}

static void untagged_messages_have_all_fields(void)
{
	messages_have_all_fields(false);
}

static void tagged_messages_have_all_fields(void)
{
	messages_have_all_fields(true);
}

static void cancelled(bool tagged)
{
	struct message m = { .tagged = tagged, .room = 64 };
	struct fi_cq_err_entry err;
	struct fi_context2 context;
	struct cf_env env;
	uint64_t failed;

	open_fields(&env, tagged);
	failed = fi_cntr_readerr(env.side[1].rx_cntr);
	post(&env, &m, &context);
	cf_cancel(&env.side[1].ep->fid, &context);
	memset(&err, 0xee, sizeof(err));
	err.err_data_size = 0;
	cf_cq_wait_err(env.side[1].rx_cq, &err);
	CHECK_EQ(err.err, FI_ECANCELED);
	CHECK(err.op_context == &context);
	CHECK_EQ(err.flags & KINDS, FI_RECV | kind_of(&m));
	CHECK_EQ(err.len, 0);
	CHECK_EQ(err.olen, 0);
	CHECK_EQ(err.err_data_size, 0);
	CHECK_EQ(fi_cntr_readerr(env.side[1].rx_cntr), failed + 1);
	cf_close(&env);
}

static void cancelled_receives_have_all_fields(void)
{
	cancelled(false);
}

static void cancelled_tagged_receives_have_all_fields(void)
{
	cancelled(true);
}

/* ---- remote memory ---- */

static void open_memory(struct cf_env *env, struct cf_region *region)
{
	const struct cf_options options = { .caps = FI_MSG | FI_RMA,
		.cq_format = FI_CQ_FORMAT_TAGGED,
		.split_cqs = true,
		.counters = true };

	cf_open_pair(env, &options);
	out = cf_map(LONGEST);
	cf_fill(out, LONGEST, 7);
	in = cf_map(LONGEST);
	cf_open_region(env, 1, region, in, LONGEST, FI_REMOTE_READ | FI_REMOTE_WRITE);
}

static void written_data_has_all_fields(void)
{
	static const size_t lengths[] = { 8, 4000, LONGEST };
	struct fi_cq_tagged_entry entry;
	struct fi_context2 context;
	struct cf_region region;
	struct cf_side *from;
	struct cf_env env;

	open_memory(&env, &region);
	from = &env.side[0];
	if (!env.info->domain_attr->cq_data_size)
		SKIP("no remote CQ data");
	if (cf_device_matches(&env))
		SKIP("a device takes a receive for it");
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		CF_RETRY(from->tx_cq,
			fi_writedata(from->ep, out, lengths[i], NULL, DATA, from->peer,
				region.addr, region.key, &context));
		memset(&entry, 0xee, sizeof(entry));
		cf_cq_wait(env.side[1].rx_cq, &entry);
		CHECK(!entry.op_context);
		CHECK_EQ(entry.flags & KINDS,
			FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
		CHECK_EQ(entry.len, lengths[i]);
		CHECK_EQ(entry.data, DATA);
		cf_verify(in, lengths[i], 7);
		memset(&entry, 0xee, sizeof(entry));
		cf_cq_wait(from->tx_cq, &entry);
		CHECK(entry.op_context == &context);
		CHECK_EQ(entry.flags & KINDS, FI_RMA | FI_WRITE);
	}
	cf_close_region(&region);
	cf_close(&env);
}

/* An access with a key of no region. */
static void refused(bool read, size_t len)
{
	struct fi_cq_err_entry err;
	struct fi_context2 context;
	struct cf_region region;
	struct cf_side *from;
	struct cf_env env;

	open_memory(&env, &region);
	from = &env.side[0];
	if (cf_device_matches(&env))
		SKIP("a device reports no details");
	CF_RETRY(from->tx_cq, read ? fi_read(from->ep, out, len, NULL, from->peer,
					     region.addr, region.key + 1, &context)
				   : fi_write(from->ep, out, len, NULL, from->peer,
					     region.addr, region.key + 1, &context));
	memset(&err, 0xee, sizeof(err));
	err.err_data_size = 0;
	cf_cq_wait_err(from->tx_cq, &err);
	CHECK(err.err > 0);
	CHECK(err.prov_errno != 0);
	CHECK(err.op_context == &context);
	CHECK_EQ(err.flags & KINDS, FI_RMA | (read ? FI_READ : FI_WRITE));
	cf_cq_quiet(from->tx_cq);
	for (size_t i = 0; i < LONGEST; i++)
		CHECK_EQ(in[i], 0);
	cf_close_region(&region);
	cf_close(&env);
}

static void refused_writes_have_all_fields(void)
{
	refused(false, 8);
	refused(false, 4000);
	refused(false, LONGEST);
}

static void refused_reads_have_all_fields(void)
{
	refused(true, 8);
	refused(true, 4000);
	refused(true, LONGEST);
}

CF_SUITE(fields,
	CF_CASE(untagged_messages_have_all_fields,
		"CQ-005 CQ-008 CQ-013 CQ-040 CNT-006 MSG-018", FI_MSG),
	CF_CASE(tagged_messages_have_all_fields,
		"CQ-005 CQ-008 CQ-013 CQ-040 CNT-006 TAG-002", FI_TAGGED),
	CF_CASE(cancelled_receives_have_all_fields, "EP-033 CQ-040 CNT-006", FI_MSG),
	CF_CASE(cancelled_tagged_receives_have_all_fields, "EP-033 CQ-040 CNT-006",
		FI_TAGGED),
	CF_CASE(written_data_has_all_fields, "RMA-007 CQ-008", FI_MSG | FI_RMA),
	CF_CASE(refused_writes_have_all_fields, "RMA-001 CQ-040", FI_MSG | FI_RMA),
	CF_CASE(refused_reads_have_all_fields, "RMA-001 CQ-040", FI_MSG | FI_RMA));
