/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of ofi_rxd, as a peer that is a socket sees them. */
#include "../rxd/raw.h"

#include "effect.h"
#include "objects/endpoint/endpoint.h"
#include "providers/rxd/rxd.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { EPOCH = 77, SMALL = 64 };

struct peer {
	struct rdm_end end; /* the endpoint */
	struct raw raw;
	fi_addr_t addr; /* of the socket */
};

static uint8_t bytes[SMALL];

/* An endpoint that has sent the first packet of a message to the peer. */
static void open_peer(struct peer *peer)
{
	uint8_t packet[PACKET_MAX];
	size_t len;

	setup(&peer->end);
	raw_open(&peer->raw);
	assert_int_equal(
		fi_av_insert(peer->end.av, &peer->raw.addr, 1, &peer->addr, 0, NULL),
		1);
	assert_int_equal(
		fi_send(peer->end.ep, bytes, SMALL, NULL, peer->addr, peer), 0);
	len = raw_get(&peer->raw, &peer->end, RXD_RTS, packet);
	raw_answer(&peer->raw, &peer->end, packet, len);
	(void)raw_get(&peer->raw, &peer->end, RXD_MSG, packet);
}

/* Packets that come until the peer has acknowledged one. */
static long packets_on_the_way(const struct effect *effect)
{
	enum { MESSAGES = 16, POLLS = 1000 };
	struct fi_cq_tagged_entry entry;
	uint8_t packet[PACKET_MAX];
	struct rxd_base base;
	struct peer peer;
	uint64_t most = 0;

	(void)effect;
	open_peer(&peer);
	for (int i = 0; i < MESSAGES; i++)
		assert_int_equal(
			fi_send(peer.end.ep, bytes, SMALL, NULL, peer.addr, &peer), 0);
	for (int i = 0; i < POLLS; i++) {
		(void)step(&peer.end, &entry);
		if (recv(peer.raw.fd, packet, PACKET_MAX, MSG_DONTWAIT) <= 0)
			continue;
		memcpy(&base, packet, sizeof(base));
		if (base.type == RXD_MSG)
			most = WF_MAX(most, (uint64_t)base.seq);
	}
	return (long)most + 1;
}

/* Does a packet that is not acknowledged come again? Else its message fails. */
static long comes_again(const struct effect *effect)
{
	struct fi_cq_tagged_entry entry;
	uint8_t packet[PACKET_MAX];
	struct peer peer;
	int ret;

	(void)effect;
	(void)setenv("FI_OFI_RXD_PEER_TIMEOUT", "1", 1);
	open_peer(&peer);
	for (;;) {
		ret = step(&peer.end, &entry);
		if (recv(peer.raw.fd, packet, PACKET_MAX, MSG_DONTWAIT) > 0 &&
			packet[1] == RXD_MSG)
			return 1;
		if (ret) {
			assert_int_equal(ret, -FI_ECONNREFUSED);
			return 0;
		}
	}
}

/* Are many messages that wait in the socket read in fewer calls? */
static long read_together(const struct effect *effect)
{
	enum { MESSAGES = 16 };
	struct fi_cq_tagged_entry entries[MESSAGES];
	struct rdm_end end;
	struct raw raw;
	int calls = 0;

	(void)effect;
	setup(&end);
	raw_open(&raw);
	raw_greet(&raw, &end);
	for (int i = 0; i < MESSAGES; i++)
		assert_int_equal(fi_recv(end.ep, bytes, SMALL, NULL, 0, &raw), 0);
	for (int i = 0; i < MESSAGES; i++)
		raw_msg(&raw, &end, raw.next++, bytes, SMALL);
	for (ssize_t n, done = 0; done < MESSAGES; calls++) {
		n = fi_cq_read(end.cq, entries, MESSAGES);
		assert_true(n > 0 || n == -FI_EAGAIN);
		done += n > 0 ? n : 0;
	}
	return calls < MESSAGES / 2;
}

/* Does a message to a peer that does not answer fail? In few calls, where the effect
 * sets an hour. */
static long fails_in_time(const struct effect *effect)
{
	enum { POLLS = 1000 };
	bool never = effect_is(effect, "3600");
	uint64_t end = now_ms() + 20000; /* the default is more */
	struct fi_cq_tagged_entry entry;
	struct rdm_end env;
	struct raw raw;
	fi_addr_t addr;
	int ret = 0;

	setup(&env);
	raw_open(&raw);
	assert_int_equal(fi_av_insert(env.av, &raw.addr, 1, &addr, 0, NULL), 1);
	assert_int_equal(fi_send(env.ep, bytes, SMALL, NULL, addr, &raw), 0);
	for (int i = 0; !ret && (never ? i < POLLS : now_ms() < end); i++)
		ret = step(&env, &entry);
	return -ret;
}

/* Take everything that the peer was sent; *@ret is the last acknowledgement of it. */
static void last_ack(struct raw *raw, struct rdm_end *end, struct rxd_ack *ret)
{
	uint8_t packet[PACKET_MAX];
	size_t len;

	while ((len = raw_get_within(raw, end, packet, 0)))
		if (packet[1] == RXD_ACK)
			(void)rxd_ack_read(packet, len, false, ret);
}

/* Of peers that nobody knows and that have each sent a message: how many are taken?
 * More than the effect's limit are not, in many calls. */
static long strangers(const struct effect *effect)
{
	enum { STRANGERS = 4, LIMIT = 2, POLLS = 200 };
	struct raw raw[STRANGERS];
	uint8_t packet[PACKET_MAX];
	struct rdm_end end;

	setup(&end);
	for (int i = 0; i < STRANGERS; i++) {
		raw_open(&raw[i]);
		if (i >= LIMIT && effect_is(effect, "2")) {
			raw_rts(&raw[i], &end, &raw[i].addr, 0);
			for (int k = 0; k < POLLS; k++)
				if (raw_get_within(&raw[i], &end, packet, 0))
					return i + 1;
			return i;
		}
		raw_greet(&raw[i], &end);
		raw_msg(&raw[i], &end, raw[i].next++, bytes, SMALL);
		(void)raw_get(&raw[i], &end, RXD_ACK, packet);
	}
	return STRANGERS;
}

/* Are messages of a MiB taken that no receive waits for? Beyond the effect's limit they
 * are not, in many calls. */
static long takes_much(const struct effect *effect)
{
	enum { LEN = 1400, MESSAGES = (1 << 20) / LEN, POLLS = 200 };
	uint64_t end_ms = now_ms() + limit_ms(2 * WAIT_MS);
	bool limited = effect_is(effect, "1048576");
	static uint8_t data[LEN];
	struct rxd_ack ack = { 0 };
	struct rdm_end end;
	struct raw raw;

	setup(&end);
	raw_open(&raw);
	raw_greet(&raw, &end);
	for (int i = 0; i < MESSAGES; i++) {
		raw_msg(&raw, &end, raw.next++, data, LEN);
		for (int k = 0; ack.next < raw.next; k++) {
			if (limited ? k > POLLS : now_ms() > end_ms)
				return false;
			last_ack(&raw, &end, &ack);
		}
	}
	return true;
}

/* Does the endpoint want packets with a CRC from a peer of this library? */
static long wants_crc(const struct effect *effect)
{
	uint8_t packet[PACKET_MAX];
	struct rdm_end end;
	struct rxd_cts cts;
	struct raw raw;
	size_t len;

	(void)effect;
	setup(&end);
	raw_open(&raw);
	raw_rts(&raw, &end, &raw.addr, EPOCH);
	len = raw_get(&raw, &end, RXD_CTS, packet);
	assert_true(rxd_cts_read(packet, len, EPOCH, &cts));
	assert_true(cts.extended);
	return cts.ext.wants_seals;
}

/* What the flows of the endpoint do on a loss, which tests/unit/rxd/flow_test.c
 * shows. */
static long is_westwood(const struct effect *effect)
{
	struct rdm_end end;

	(void)effect;
	setup(&end);
	return rxd_ep_of(wf_ep_of(end.ep))->config.westwood;
}

static const struct effect effects[] = {
	{ "FI_OFI_RXD_MAX_UNACKED", { { "3", 3 }, { "6", 6 } }, packets_on_the_way,
		NULL },
	{ "FI_OFI_RXD_RETRY", { { NULL, 1 }, { "0", 0 } }, comes_again, NULL },
	{ "FI_OFI_RXD_SPIN_COUNT", { { NULL, 1 }, { "1", 0 } }, read_together, NULL },
	{ "FI_OFI_RXD_SPIN_COUNT", { { "0", 1 }, { "2", 0 } }, read_together, NULL },
	{ "FI_OFI_RXD_PEER_TIMEOUT", { { "3600", 0 }, { "1", FI_ECONNREFUSED } },
		fails_in_time, NULL },
	{ "FI_OFI_RXD_MAX_PEERS", { { NULL, 4 }, { "2", 2 } }, strangers, NULL },
	{ "FI_OFI_RXD_UNEXPECTED_SIZE", { { NULL, 1 }, { "1048576", 0 } }, takes_much,
		NULL },
	{ "FI_OFI_RXD_CRC", { { NULL, 0 }, { "1", 1 } }, wants_crc, NULL },
	{ "FI_OFI_RXD_CONGESTION", { { NULL, 1 }, { "cubic", 0 } }, is_westwood, NULL },
};

static void packets(void **state)
{
	(void)state;
	effect_check_all(effects, COUNT(effects));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
