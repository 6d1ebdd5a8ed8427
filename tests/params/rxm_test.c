/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of ofi_rxm, as a peer that is a socket sees them. */
#include "../rxm/raw.h"

#include "effect.h"
#include "interpose.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A limit of polls and times that is never reached. */
#define NEVER "1073741824"

enum { MESSAGES = 16, LEN_MAX = 1 << 20 };

/* Kinds of records of tcp. */
enum { MESSAGE = 0, READ = 2 };

static uint8_t out[LEN_MAX];

struct peer {
	struct rdm_end end; /* the endpoint */
	int fd;             /* the peer's socket */
	fi_addr_t addr;     /* of the peer */
};

static void open_peer(struct peer *peer)
{
	const char *size = getenv("FI_OFI_RXM_BUFFER_SIZE");
	struct sockaddr_in name;
	struct reply reply;
	uint16_t port;

	(void)setenv("FI_TCP_LOCAL", "tcp", 1);
	setup(&peer->end);
	peer->fd = request_sized(&peer->end,
		size ? (uint32_t)strtoul(size, NULL, 0) : EAGER_MAX, NULL, 0, &reply,
		&port);
	name = peer->end.addr;
	name.sin_port = htons(port);
	assert_int_equal(fi_av_insert(peer->end.av, &name, 1, &peer->addr, 0, NULL), 1);
}

/* The kind of the first packet of a message that is as long as the effect tells. */
static long kind_of_packet(const struct effect *effect)
{
	enum { KIND_AT = CORE_LEN + 1 };
	size_t len = *(const size_t *)effect->with;
	uint8_t head[CORE_LEN + HDR_LEN];
	struct peer peer;

	open_peer(&peer);
	assert_int_equal(fi_tsend(peer.end.ep, out, len, NULL, peer.addr, 7, &peer), 0);
	assert_int_equal(get(&peer.end, peer.fd, head, sizeof(head)), sizeof(head));
	return head[KIND_AT];
}

/* Is a message given to the socket out of the buffer of the application? */
static long leaves_directly(const struct effect *effect)
{
	enum { LEN = 16000 };
	struct fi_cq_tagged_entry entry;
	struct peer peer;

	(void)effect;
	open_peer(&peer);
	interpose_watch(out, LEN);
	assert_int_equal(fi_tsend(peer.end.ep, out, LEN, NULL, peer.addr, 7, &peer), 0);
	while (step(&peer.end, &entry) != 1)
		;
	return interposed.from_watched;
}

/* What the endpoint does about a long message of the peer: the kind of its record. */
static long asks_for_payload(const struct effect *effect)
{
	enum { KIND_AT = 1 };
	uint8_t head[CORE_LEN];
	struct peer peer;
	uint64_t id;
	int fd;

	(void)effect;
	open_peer(&peer);
	fd = join(&peer.end, &id);
	assert_int_equal(
		fi_trecv(peer.end.ep, out, LEN_MAX, NULL, FI_ADDR_UNSPEC, 7, 0, &peer),
		0);
	packet(fd, id, RDV("0000010000000000", "0000010000000000", "0100000000000000"));
	assert_int_equal(get(&peer.end, fd, head, sizeof(head)), sizeof(head));
	return head[KIND_AT];
}

/* Are the completions of many sends read in fewer calls than there are sends? */
static long completes_together(const struct effect *effect)
{
	enum { LEN = 2000 };
	struct fi_cq_tagged_entry entries[MESSAGES];
	struct peer peer;
	int calls = 0;

	(void)effect;
	open_peer(&peer);
	for (int i = 0; i < MESSAGES; i++)
		assert_int_equal(
			fi_tsend(peer.end.ep, out, LEN, NULL, peer.addr, 7, &peer), 0);
	for (ssize_t n, done = 0; done < MESSAGES; calls++) {
		n = fi_cq_read(peer.end.cq, entries, MESSAGES);
		assert_true(n > 0 || n == -FI_EAGAIN);
		done += n > 0 ? n : 0;
	}
	return calls < MESSAGES / 2;
}

static const size_t short_message = 1000, long_message = 20000, huge_message = LEN_MAX;

static const struct effect sent[] = {
	{ "FI_OFI_RXM_BUFFER_SIZE", { { NULL, 0 }, { "512", 1 } }, kind_of_packet,
		&short_message },
	{ "FI_OFI_RXM_SAR_LIMIT", { { NULL, 1 }, { "0", 2 } }, kind_of_packet,
		&long_message },
	{ "FI_OFI_RXM_SAR_LIMIT", { { NULL, 2 }, { "1048576", 1 } }, kind_of_packet,
		&huge_message },
	{ "FI_OFI_RXM_USE_RNDV_WRITE", { { NULL, READ }, { "yes", MESSAGE } },
		asks_for_payload, NULL },
	{ "FI_OFI_RXM_ENABLE_DIRECT_SEND", { { NULL, 1 }, { "no", 0 } },
		leaves_directly, NULL },
	{ "FI_OFI_RXM_COMP_PER_PROGRESS", { { NULL, 1 }, { "1", 0 } },
		completes_together, NULL },
	{ "FI_OFI_RXM_MSG_TX_SIZE", { { NULL, 1 }, { "1", 0 } }, completes_together,
		NULL },
};

static void how_messages_are_sent(void **state)
{
	(void)state;
	effect_check_all(sent, COUNT(sent));
}

/* Are many calls made before a request is answered? */
static long waits_for(const struct effect *effect)
{
	const char *const *with = effect->with; /* name and value of another variable */
	enum { POLLS = 1000 };
	struct fi_cq_tagged_entry entry;
	struct sockaddr_in name;
	struct bytes request =
		hex("03 00 0018 00000000 0000000000000000 0000000000000000"
		    "0100000000000000"
		    "01 02 04 03 044d 02 00 00400000 00100000 05000000 7f1b0000");
	struct rdm_end end;
	uint8_t byte;
	int fd, calls = 0;

	(void)setenv("FI_TCP_LOCAL", "tcp", 1);
	(void)setenv(with[0], with[1], 1);
	setup(&end);
	for (int i = 0; i < POLLS / 2; i++)
		assert_int_equal(step(&end, &entry), 0);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	name = end.addr;
	assert_int_equal(connect(fd, (void *)&name, sizeof(name)), 0);
	put(fd, request.at, request.len);
	while (recv(fd, &byte, 1, MSG_DONTWAIT) != 1 && calls < POLLS * 2) {
		assert_int_equal(step(&end, &entry), 0);
		calls++;
	}
	return calls >= POLLS;
}

static const char *const no_interval[] = { "FI_OFI_RXM_CM_PROGRESS_INTERVAL", NEVER },
			 *const no_fairness[] = { "FI_OFI_RXM_CQ_EQ_FAIRNESS", NEVER };

static const struct effect events[] = {
	{ "FI_OFI_RXM_CQ_EQ_FAIRNESS", { { NULL, 0 }, { NEVER, 1 } }, waits_for,
		no_interval },
	{ "FI_OFI_RXM_CM_PROGRESS_INTERVAL", { { "0", 0 }, { NEVER, 1 } }, waits_for,
		no_fairness },
};

static void when_events_of_connections_are_read(void **state)
{
	(void)state;
	effect_check_all(events, COUNT(events));
}

/* Size of the address space in MiB. A thread would have a part of it. */
static long address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	(void)fclose(file);
	return (long)(pages * (unsigned long)sysconf(_SC_PAGESIZE) >> 20);
}

/* Does the memory of the endpoint grow with the connections of peers? */
static long buffers_of_connections(const struct effect *effect)
{
	enum { PEERS = 8 };
	struct peer peer;
	uint64_t id;
	long before;

	(void)effect;
	(void)setenv("FI_BACKGROUND_PROGRESS", "no", 1);
	open_peer(&peer);
	before = address_space();
	for (int i = 0; i < PEERS; i++)
		(void)join(&peer.end, &id);
	return address_space() >= before + PEERS;
}

/* Has an endpoint buffers of more than 64 MiB? */
static long many_buffers(const struct effect *effect)
{
	enum { MANY = 64 };
	struct rdm_end end, first;
	long before;

	(void)effect;
	(void)setenv("FI_BACKGROUND_PROGRESS", "no", 1);
	(void)setenv("FI_TCP_LOCAL", "tcp", 1);
	/* The first one has what all endpoints of a process share. */
	setup(&first);
	before = address_space();
	setup(&end);
	return address_space() > before + MANY;
}

static const struct effect buffers[] = {
	{ "FI_OFI_RXM_USE_SRX", { { NULL, 0 }, { "no", 1 } }, buffers_of_connections,
		NULL },
	{ "FI_OFI_RXM_MSG_RX_SIZE", { { NULL, 0 }, { "8192", 1 } }, many_buffers,
		NULL },
};

static void buffers_for_packets(void **state)
{
	(void)state;
	effect_check_all(buffers, COUNT(buffers));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(how_messages_are_sent),
		cmocka_unit_test(when_events_of_connections_are_read),
		cmocka_unit_test(buffers_for_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
