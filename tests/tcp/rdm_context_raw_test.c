/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive contexts of a scalable endpoint among peers that are sockets: those that
 * agreed to name one, those that did not, and those that name what is not there
 * (docs/tcp-wire.md, 5.7).
 */
#include "raw_rdm.h"

enum { CONTEXTS = 3, BITS = 2 };

/* @rdm.t.ep is the scalable endpoint; all contexts share rdm.t.cq. */
struct several {
	struct rdm rdm;
	struct fid_ep *tx, *rx[CONTEXTS];
};

/* Request of a peer of this library, with the feature; the peer itself has two
 * contexts. */
#define CM_NAMES "5765663f 01 00 0002 0000023f 1122334455667788 "

static struct fid_ep *open_rx(struct several *s, int index)
{
	struct fid_ep *ep;

	assert_int_equal(fi_rx_context(s->rdm.t.ep, index, NULL, &ep, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &s->rdm.t.cq->fid, FI_RECV), 0);
	assert_int_equal(fi_enable(ep), 0);
	return ep;
}

static int open_several(void **state)
{
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE, .rx_ctx_bits = BITS };
	struct several *s = calloc(1, sizeof(*s));
	struct target *t = &s->rdm.t;
	size_t len = sizeof(t->name);

	assert_non_null(s);
	target_open_domain(t, FI_EP_RDM, CAPS);
	t->info->ep_attr->tx_ctx_cnt = 1;
	t->info->ep_attr->rx_ctx_cnt = CONTEXTS;
	assert_int_equal(fi_av_open(t->domain, &av_attr, &t->av, NULL), 0);
	assert_int_equal(fi_scalable_ep(t->domain, t->info, &t->ep, NULL), 0);
	assert_int_equal(fi_scalable_ep_bind(t->ep, &t->av->fid, 0), 0);
	assert_int_equal(fi_enable(t->ep), 0);
	assert_int_equal(fi_tx_context(t->ep, 0, NULL, &s->tx, NULL), 0);
	assert_int_equal(fi_ep_bind(s->tx, &t->cq->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_enable(s->tx), 0);
	for (int i = 0; i < CONTEXTS; i++)
		s->rx[i] = open_rx(s, i);
	assert_int_equal(fi_getname(&t->ep->fid, &t->name, &len), 0);
	s->rdm.next_port = 1000;
	s->rdm.good = rdm_connect(&s->rdm, VERSION_1);
	*state = s;
	return 0;
}

static int close_several(void **state)
{
	struct several *s = *state;

	close(s->rdm.good);
	for (int i = 0; i < CONTEXTS; i++)
		if (s->rx[i])
			assert_int_equal(fi_close(&s->rx[i]->fid), 0);
	assert_int_equal(fi_close(&s->tx->fid), 0);
	assert_int_equal(fi_close(&s->rdm.t.ep->fid), 0);
	assert_int_equal(fi_close(&s->rdm.t.av->fid), 0);
	target_close_domain(&s->rdm.t);
	free(s);
	return 0;
}

/* A peer that may send context indices; *@ret_name is the address at which it claims to
 * listen. */
static int connect_naming(struct several *s, struct sockaddr_in *ret_name)
{
	struct bytes request = hex("03 00 0008 " CM_NAMES LITTLE "01 00");
	uint16_t port = s->rdm.next_port++;
	uint8_t rest[6] = { (uint8_t)(port >> 8), (uint8_t)port, 0, 0, 1, 1 };
	int fd = raw_connect(&s->rdm.t.name);
	struct bytes reply;

	memcpy(request.at + request.len, rest, sizeof(rest));
	raw_send(fd, request.at, request.len + sizeof(rest));
	reply = raw_recv(&s->rdm.t, fd, 40);
	assert_int_equal(reply.len, 40);
	assert_memory_equal(reply.at + 4, "Wef!", 4);
	/* How many there are, and that they may be named. */
	assert_int_equal(reply.at[10] << 8 | reply.at[11], CONTEXTS);
	assert_int_equal(reply.at[14] & 2, 2);
	if (ret_name) {
		*ret_name = s->rdm.t.name;
		ret_name->sin_port = htons(port);
	}
	return fd;
}

static void post(struct several *s, int index, char *buf, void *context)
{
	assert_int_equal(
		fi_trecv(s->rx[index], buf, 8, NULL, FI_ADDR_UNSPEC, 7, 0, context), 0);
}

static const char ack[] = "03 00 0000 02 00 10 00 1000000000000000";

static void each_context_gets_its_own(void **state)
{
	static const char *const forms[CONTEXTS] = {
		"03 01 2400 00 00 20 00 2400000000000000"
		"0700000000000000 0000000000000000 61626364",
		"03 01 2400 00 00 20 00 2400000000000000"
		"0700000000000000 0100000000000000 61626364",
		/* Behind remote CQ data and the tag, and before words of no meaning. */
		"03 01 2500 00 00 30 00 3400000000000000 0500000000000000"
		"0700000000000000 0200000000000000 ffffffffffffffff 61626364",
	};
	struct several *s = *state;
	int fd = connect_naming(s, NULL);
	char buf[CONTEXTS][8] = { 0 };

	for (int i = 0; i < CONTEXTS; i++)
		post(s, i, buf[i], &buf[i]);
	for (int i = CONTEXTS - 1; i >= 0; i--) {
		raw_hex(fd, forms[i]);
		raw_expect(&s->rdm.t, fd, ack);
		assert_ptr_equal(completion(&s->rdm.t).op_context, &buf[i]);
		assert_memory_equal(buf[i], "abcd", 4);
	}
	/* Without the flag it is for the first one. */
	post(s, 0, buf[0], &buf[0]);
	raw_hex(fd, "03 01 0400 00 00 18 00 1c00000000000000"
		    "0700000000000000 65666768");
	raw_expect(&s->rdm.t, fd, ack);
	assert_ptr_equal(completion(&s->rdm.t).op_context, &buf[0]);
	assert_memory_equal(buf[0], "efgh", 4);
	close(fd);
	assert_alive(&s->rdm);
}

static void a_rendezvous_names_one_too(void **state)
{
	struct several *s = *state;
	int fd = connect_naming(s, NULL);
	char buf[8] = { 0 };

	/* The index of a rendezvous has 16 bits only where that is agreed on. */
	raw_hex(fd, "03 05 2400 07 00 28 00 2800000000000000"
		    "0700000000000000 0500000000000000 0200000000000000");
	post(s, 2, buf, buf);
	raw_expect(&s->rdm.t, fd, "03 06 0000 07 00 10 00 1000000000000000");
	raw_hex(fd, "03 07 0000 07 00 10 00 1500000000000000 6162636465");
	raw_expect(&s->rdm.t, fd, ack);
	assert_ptr_equal(completion(&s->rdm.t).op_context, buf);
	assert_memory_equal(buf, "abcde", 5);
	close(fd);
}

/* An index that does not exist, with each operation, and in records cut at any
 * length. */
static void others_end_their_connection(void **state)
{
	static const char *const texts[] = {
		"03 01 2000 00 00 20 00 2400000000000000"
		"0700000000000000 0300000000000000 61626364",
		"03 01 2000 00 00 20 00 2400000000000000"
		"0700000000000000 ff7f000000000000 61626364",
		"03 01 2000 00 00 20 00 2400000000000000"
		"0700000000000000 0080000000000000 61626364",
		"03 01 2000 00 00 20 00 2400000000000000"
		"0700000000000000 0100010000000000 61626364",
		"03 01 2000 00 00 20 00 2400000000000000"
		"0700000000000000 0100000001000000 61626364",
		"03 01 2000 00 00 20 00 2400000000000000"
		"0700000000000000 ffffffffffffffff 61626364",
		/* As a big endian peer would write it. */
		"03 01 2000 00 00 20 00 2400000000000000"
		"0700000000000000 0000000000000001 61626364",
		/* Every other operation that may name one. */
		"03 00 2000 00 00 18 00 1c00000000000000 0300000000000000 61626364",
		"03 05 2000 01 00 28 00 2800000000000000"
		"0700000000000000 0000100000000000 0300000000000000",
		"03 44 2000 01 00 20 00 2000000000000000"
		"0000100000000000 0300000000000000",
		"03 02 2000 00 01 30 00 3000000000000000 0300000000000000"
		"0000000000000000 0800000000000000 ed5e000000000000",
		"03 04 2000 00 01 30 00 3800000000000000 0300000000000000"
		"0000000000000000 0800000000000000 ed5e000000000000"
		"0102030405060708",
		"03 40 2407 02 01 30 00 3800000000000000 0300000000000000"
		"0000000000000000 0800000000000000 ed5e000000000000"
		"0100000000000000",
		/* The flag, but no room for a number. */
		"03 01 2000 00 00 18 00 1c00000000000000 0700000000000000 61626364",
		"03 00 2000 00 00 10 00 1400000000000000 61626364",
		"03 05 2000 01 00 20 00 2000000000000000"
		"0700000000000000 0000100000000000",
	};
	struct several *s = *state;
	uint8_t before[REGION];

	memcpy(before, s->rdm.t.region, REGION);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int fd = connect_naming(s, NULL);

		raw_hex(fd, texts[i]);
		raw_expect_closed(&s->rdm.t, fd);
		assert_alive(&s->rdm);
	}
	assert_memory_equal(before, s->rdm.t.region, REGION);
	assert_int_equal(s->rdm.t.done_count, 0);
}

/* Where it was not agreed on, the flag is one that means nothing. */
static void nobody_names_one_unasked(void **state)
{
	struct several *s = *state;
	char buf[CONTEXTS][8] = { 0 };

	for (int level = VERSION_1; level <= OURS; level += OURS - VERSION_1) {
		int fd = rdm_connect(&s->rdm, (enum level)level);

		post(s, 0, buf[0], &buf[0]);
		raw_hex(fd, "03 01 2400 00 00 20 00 2400000000000000"
			    "0700000000000000 0200000000000000 61626364");
		raw_expect(&s->rdm.t, fd, ack);
		assert_ptr_equal(completion(&s->rdm.t).op_context, &buf[0]);
		assert_memory_equal(buf[0], "abcd", 4);
		/* And where a header has one length, the word is one too many. */
		raw_hex(fd, "03 05 2000 01 00 28 00 2800000000000000"
			    "0700000000000000 0000100000000000 0200000000000000");
		raw_expect_closed(&s->rdm.t, fd);
		assert_alive(&s->rdm);
	}
}

/* The context is closed, so no receive can match: the record is dropped, and all
 * answers that are due are sent. */
static void what_is_for_a_closed_one_is_dropped(void **state)
{
	struct several *s = *state;
	int fd = connect_naming(s, NULL);
	char buf[8] = { 0 };

	assert_int_equal(fi_close(&s->rx[2]->fid), 0);
	s->rx[2] = NULL;
	raw_hex(fd, "03 01 2400 00 00 20 00 2400000000000000"
		    "0700000000000000 0200000000000000 61626364");
	raw_expect(&s->rdm.t, fd, ack);
	raw_hex(fd, "03 01 3000 00 00 28 00 2c00000000000000 0700000000000000"
		    "efcdab8967452301 0200000000000000 61626364");
	raw_expect(&s->rdm.t, fd,
		"03 46 0000 00 00 18 00 1800000000000000 efcdab8967452301");
	raw_hex(fd, "03 05 2400 07 00 28 00 2800000000000000"
		    "0700000000000000 0500000000000000 0200000000000000");
	raw_expect(&s->rdm.t, fd, "03 06 0000 07 00 10 00 1000000000000000");
	raw_hex(fd, "03 07 0000 07 00 10 00 1500000000000000 6162636465");
	raw_expect(&s->rdm.t, fd, ack);
	assert_int_equal(s->rdm.t.done_count, 0);

	/* Opened again it begins anew, with nothing of all that. */
	s->rx[2] = open_rx(s, 2);
	post(s, 2, buf, buf);
	raw_hex(fd, "03 01 2400 00 00 20 00 2400000000000000"
		    "0700000000000000 0200000000000000 65666768");
	raw_expect(&s->rdm.t, fd, ack);
	assert_ptr_equal(completion(&s->rdm.t).op_context, buf);
	assert_memory_equal(buf, "efgh", 4);
	close(fd);
}

/* What we send names the context, and never one that the peer did not announce. */
/* A message that was matched and is incomplete: its sender gets an error, and the rest
 * is dropped. */
static void what_arrives_for_a_closed_one_is_dropped(void **state)
{
	enum { DRIVES = 1000 };
	struct several *s = *state;
	int fd = connect_naming(s, NULL);
	char buf[8] = { 0 };

	post(s, 2, buf, buf);
	raw_hex(fd, "03 01 3000 00 00 28 00 2c00000000000000 0700000000000000"
		    "efcdab8967452301 0200000000000000 6162");
	for (int i = 0; i < DRIVES; i++)
		drive(&s->rdm.t);
	assert_int_equal(fi_close(&s->rx[2]->fid), 0);
	s->rx[2] = NULL;
	raw_expect(&s->rdm.t, fd,
		"03 46 0000 00 00 18 00 1800000000000000 efcdab8967452301");
	raw_hex(fd, "6364 03 47 0000 00 00 18 00 1800000000000000 0200000000000000");
	raw_expect(&s->rdm.t, fd,
		"03 48 0000 00 00 18 00 1800000000000000 0200000000000000");
	assert_int_equal(s->rdm.t.done_count, 0);
	s->rx[2] = open_rx(s, 2);
	close(fd);
}

static void only_announced_ones_are_named(void **state)
{
	struct several *s = *state;
	time_t end = now_s() + PATIENCE_S;
	struct sockaddr_in name;
	int fd = connect_naming(s, &name);
	fi_addr_t addr;
	ssize_t ret;

	assert_int_equal(fi_av_insert(s->rdm.t.av, &name, 1, &addr, 0, NULL), 1);
	assert_int_equal(fi_tinject(s->tx, "abcd", 4, fi_rx_addr(addr, 1, BITS), 7), 0);
	raw_expect(&s->rdm.t, fd,
		"03 01 2000 00 00 20 00 2400000000000000"
		"0700000000000000 0100000000000000 61626364");
	ret = fi_tsend(s->tx, "abcd", 4, NULL, fi_rx_addr(addr, 2, BITS), 7, NULL);
	while (!ret && !s->rdm.t.failed_count) {
		drive(&s->rdm.t);
		assert_true(now_s() < end);
	}
	assert_int_equal(ret ? -ret : s->rdm.t.failed_err, FI_EINVAL);
	/* The first one is there without being named. */
	assert_int_equal(fi_tinject(s->tx, "abcd", 4, addr, 7), 0);
	raw_expect(&s->rdm.t, fd,
		"03 01 0000 00 00 18 00 1c00000000000000 0700000000000000 61626364");
	close(fd);
}

#define SEVERAL(test) cmocka_unit_test_setup_teardown(test, open_several, close_several)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SEVERAL(each_context_gets_its_own),
		SEVERAL(a_rendezvous_names_one_too),
		SEVERAL(others_end_their_connection),
		SEVERAL(nobody_names_one_unasked),
		SEVERAL(what_is_for_a_closed_one_is_dropped),
		SEVERAL(what_arrives_for_a_closed_one_is_dropped),
		SEVERAL(only_announced_ones_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
