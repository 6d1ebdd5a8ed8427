/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of tcp, as sockets of a peer, and the endpoint's own, show them. */
#include <dirent.h>

#include "../log_lines.h"
#include "../loopback.h"
#include "../tcp/raw_far.h"

#include "effect.h"
#include "interpose.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { LEN = 20000, RECORD_HEAD = 16 };

/* Kinds of records, the second byte of them. */
enum { TAGGED = 1, RTS = 5 };

static uint8_t out[LEN];

static struct rdm *open_end(void)
{
	void *rdm;

	(void)setenv("FI_TCP_LOCAL", "tcp", 1);
	(void)open_rdm(&rdm);
	return rdm;
}

/* A connection to a peer of this library that is a socket. */
static int connected_to_ours(struct rdm *rdm, struct far *far)
{
	struct bytes request,
		text = hex("03 01 0008 " CM_OURS LITTLE "81 00 0000 00000202");
	bool sent = false;
	int fd;

	open_lower(rdm, far);
	fd = accept_from(rdm, far, &sent, 1);
	request = take_request(rdm, fd);
	text.at[7] = '!'; /* a reply */
	memcpy(text.at + 34, request.at + 34, 2);
	raw_send(fd, text.at, text.len);
	send_rest(rdm, far, &sent, 1);
	(void)raw_recv(&rdm->t, fd, 28);
	(void)completion(&rdm->t);
	return fd;
}

/* The kind of the record of a long message: the effect tells to which peer. */
static long kind_of_record(const struct effect *effect)
{
	const bool *ours = effect->with;
	struct rdm *rdm = open_end();
	struct far far;
	int fd = *ours ? connected_to_ours(rdm, &far) : connected(rdm, &far, 0x81);

	assert_int_equal(fi_tsend(rdm->t.ep, out, LEN, NULL, far.addr, 9, NULL), 0);
	return raw_recv(&rdm->t, fd, RECORD_HEAD).at[1];
}

/* Do messages that are sent one after the other leave in fewer calls? */
static long leave_together(const struct effect *effect)
{
	enum { MESSAGES = 8, SHORT = 64, RECORD = RECORD_HEAD + 8 + SHORT };
	struct rdm *rdm = open_end();
	struct far far;
	int fd = connected(rdm, &far, 0x81);

	(void)effect;
	interposed.sends = 0;
	for (int i = 0; i < MESSAGES; i++)
		assert_int_equal(
			fi_tsend(rdm->t.ep, out, SHORT, NULL, far.addr, 9, NULL), 0);
	(void)raw_recv(&rdm->t, fd, (size_t)MESSAGES * RECORD);
	return interposed.sends < MESSAGES;
}

/* Bytes that a read of the endpoint asks for. */
static long read_at_once(const struct effect *effect)
{
	struct rdm *rdm = open_end();
	char in[8];

	(void)effect;
	assert_int_equal(fi_trecv(rdm->t.ep, in, sizeof(in), NULL, 0, 1, 0, NULL), 0);
	interposed.recv_max = 0;
	raw_hex(rdm->good,
		"03 01 0000 00 00 18 00 1c00000000000000 0100000000000000 61626364");
	(void)completion(&rdm->t);
	return (long)interposed.recv_max;
}

/* The byte of the endpoint's request that tells of a firewall. */
static long says_firewall(const struct effect *effect)
{
	struct rdm *rdm = open_end();
	struct far far;
	bool sent = false;

	(void)effect;
	open_lower(rdm, &far);
	return raw_recv(&rdm->t, accept_from(rdm, &far, &sent, 1), 40).at[33];
}

static int option_of(int fd, int level, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, name, &value, &len) ? 0 : value;
}

/* An option of the sockets of the endpoint. */
static long option(const struct effect *effect)
{
	const int *name = effect->with;
	struct rdm *rdm = open_end();
	struct far far;
	long value = 0;

	(void)connected(rdm, &far, 0x81);
	/* The peers' sockets are not kept alive. */
	for (int fd = 3; fd < 256; fd++)
		if (option_of(fd, SOL_SOCKET, SO_KEEPALIVE))
			value = option_of(fd, IPPROTO_TCP, *name);
	return value;
}

/* Is the endpoint's port in the range of 100 from the one that the effect tells? */
static long port_in_range(const struct effect *effect)
{
	const char *const *other = effect->with; /* another variable */
	struct rdm *rdm;
	int port;

	(void)setenv(other[0], other[1], 1);
	rdm = open_end();
	port = ntohs(rdm->t.name.sin_port);
	return port >= 21000 && port <= 21099;
}

/* The peer takes the connection and does not reply: is it given up? If nothing limits
 * that, it is not in many calls. */
static long gives_up(const struct effect *effect)
{
	enum { POLLS = 200 };
	struct sockaddr_in name = { .sin_family = AF_INET };
	socklen_t len = sizeof(name);
	int fd, listener = socket(AF_INET, SOCK_STREAM, 0);
	time_t end = now_s() + PATIENCE_S;
	struct fi_eq_cm_entry entry;
	bool given_up = false;
	struct target t;
	struct fid_ep *ep;
	uint32_t event;

	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (void *)&name, len), 0);
	assert_int_equal(getsockname(listener, (void *)&name, &len), 0);
	assert_int_equal(listen(listener, 1), 0);
	target_open_domain(&t, FI_EP_MSG, FI_MSG | FI_RMA);
	assert_int_equal(fi_endpoint(t.domain, t.info, &ep, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &t.eq->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &t.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(ep), 0);
	assert_int_equal(fi_connect(ep, &name, NULL, 0), 0);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	for (int i = 0; effect_is(effect, "1") ? !given_up : i < POLLS; i++) {
		ssize_t n = fi_eq_read(t.eq, &event, &entry, sizeof(entry), 0);

		assert_true(n == -FI_EAGAIN || n == -FI_EAVAIL);
		given_up |= n == -FI_EAVAIL;
		assert_true(now_s() < end);
	}
	return given_up;
}

/* Does a send to a host that refuses connections fail in a few calls? */
static long refused_at_once(const struct effect *effect)
{
	enum { POLLS = 1000 };
	struct rdm *rdm = open_end();
	struct sockaddr_in name = rdm->t.name;
	fi_addr_t addr;

	(void)effect;
	name.sin_port = htons(unheard_port(2000));
	assert_int_equal(fi_av_insert(rdm->t.av, &name, 1, &addr, 0, NULL), 1);
	assert_int_equal(fi_tsend(rdm->t.ep, out, 8, NULL, addr, 9, NULL), 0);
	for (int i = 0; i < POLLS && !rdm->t.failed_count; i++)
		drive(&rdm->t);
	return rdm->t.failed_err == FI_ECONNREFUSED;
}

static int threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;

	assert_non_null(tasks);
	while (readdir(tasks))
		count++;
	(void)closedir(tasks);
	return count;
}

/* Is there a thread for an operation that is kept? */
static long has_thread(const struct effect *effect)
{
	struct rdm *rdm = open_end();
	bool sent = false;
	struct far far;
	int before = threads();

	(void)effect;
	/* The connection is taken, and never made. */
	open_lower(rdm, &far);
	(void)accept_from(rdm, &far, &sent, 1);
	assert_true(sent);
	return threads() > before;
}

/* Does closing wait for an injected message that cannot leave? */
static long closing_waits(const struct effect *effect)
{
	struct rdm *rdm = open_end();
	bool sent = false;
	struct far far;

	(void)effect;
	open_lower(rdm, &far);
	(void)accept_from(rdm, &far, &sent, 1);
	assert_int_equal(fi_tinject(rdm->t.ep, out, 8, far.addr, 1), 0);
	interposed_sleeps = 0;
	assert_int_equal(fi_close(&rdm->t.ep->fid), 0);
	return interposed_sleeps > 0;
}

/* Does closing tell that the limit of its time is none? The peer hangs up meanwhile. */
static long closing_tells(const struct effect *effect)
{
	struct rdm *rdm;
	bool sent = false;
	struct far far;

	(void)setenv("FI_TCP_REFUSED_TIMEOUT", "0", 1);
	rdm = open_end();
	open_lower(rdm, &far);
	close_far(&far, accept_from(rdm, &far, &sent, 1));
	assert_int_equal(fi_tinject(rdm->t.ep, out, 8, far.addr, 1), 0);
	log_lines_start();
	assert_int_equal(fi_close(&rdm->t.ep->fid), 0);
	return log_lines_have(effect->with);
}

/* A message from one to the other endpoint of this process. */
static void deliver(struct rdm_end end[2], fi_addr_t addr)
{
	struct fi_cq_tagged_entry entry;
	char in[8];
	int done = 0;

	assert_int_equal(
		fi_trecv(end[1].ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, 1, 0, end),
		0);
	assert_int_equal(fi_tsend(end[0].ep, out, sizeof(in), NULL, addr, 1, end), 0);
	while (done < 2)
		for (int i = 0; i < 2; i++)
			done += fi_cq_read(end[i].cq, &entry, 1) == 1;
}

/* Do messages between endpoints that know each other go through sockets? */
static long use_sockets(const struct effect *effect)
{
	enum { BEFORE = 100, IDLE_CALLS = 1000, MESSAGES = 20 };
	struct fi_cq_tagged_entry entry;
	struct rdm_end end[2];
	fi_addr_t addr;

	(void)effect;
	for (int i = 0; i < 2; i++)
		loopback_open(&end[i], "tcp", FI_MSG | FI_TAGGED);
	for (int i = 1; i >= 0; i--)
		assert_int_equal(
			fi_av_insert(end[i].av, &end[!i].addr, 1, &addr, 0, NULL), 1);
	for (int i = 0; i < BEFORE; i++)
		deliver(end, addr);
	for (int i = 0; i < IDLE_CALLS; i++)
		for (int k = 0; k < 2; k++)
			assert_int_equal(fi_cq_read(end[k].cq, &entry, 1), -FI_EAGAIN);
	interposed.sends = 0;
	for (int i = 0; i < MESSAGES; i++)
		deliver(end, addr);
	return interposed.sends >= MESSAGES;
}

static const bool ours = true, others = false;
static const int nodelay = TCP_NODELAY, keep_idle = TCP_KEEPIDLE;
static const char *const high[] = { "FI_TCP_PORT_HIGH_RANGE", "21099" },
			 *const low[] = { "FI_TCP_PORT_LOW_RANGE", "21000" };

static const struct effect records[] = {
	{ "FI_TCP_RENDEZVOUS_SIZE", { { "19999", RTS }, { "20000", TAGGED } },
		kind_of_record, &ours },
	{ "FI_TCP_MAX_SAVED_SIZE", { { "19999", RTS }, { NULL, TAGGED } },
		kind_of_record, &others },
	{ "FI_TCP_STAGING_SBUF_SIZE", { { NULL, 1 }, { "0", 0 } }, leave_together,
		NULL },
	{ "FI_TCP_PREFETCH_RBUF_SIZE", { { NULL, 16384 }, { "4096", 4096 } },
		read_at_once, NULL },
};

static const struct effect connections[] = {
	{ "FI_TCP_FIREWALL_ADDR", { { NULL, 0 }, { "yes", 1 } }, says_firewall, NULL },
	{ "FI_TCP_NODELAY", { { NULL, 1 }, { "0", 0 } }, option, &nodelay },
	{ "FI_TCP_KEEPALIVE_TIMEOUT", { { NULL, 30 }, { "8000", 4 } }, option,
		&keep_idle },
	{ "FI_TCP_PORT_LOW_RANGE", { { "0", 0 }, { "21000", 1 } }, port_in_range,
		high },
	{ "FI_TCP_PORT_HIGH_RANGE", { { "0", 0 }, { "21099", 1 } }, port_in_range,
		low },
	{ "FI_TCP_REPLY_TIMEOUT", { { NULL, 0 }, { "1", 1 } }, gives_up, NULL },
	{ "FI_TCP_REFUSED_TIMEOUT", { { "3600000", 0 }, { "0", 1 } }, refused_at_once,
		NULL },
	{ "FI_TCP_LOCAL", { { NULL, 0 }, { "tcp", 1 } }, use_sockets, NULL },
	{ "FI_FLUSH_TIMEOUT", { { "0", 0 }, { "50", 1 } }, closing_waits, NULL },
	{ "FI_FLUSH_TIMEOUT", { { "5000", 0 }, { "-1", 1 } }, closing_tells,
		"FI_FLUSH_TIMEOUT is -1: possible 0 to" },
	{ "FI_BACKGROUND_PROGRESS", { { "no", 0 }, { "yes", 1 } }, has_thread, NULL },
};

static void records_of_messages(void **state)
{
	(void)state;
	effect_check_all(records, COUNT(records));
}

static void making_connections(void **state)
{
	(void)state;
	effect_check_all(connections, COUNT(connections));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_messages),
		cmocka_unit_test(making_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
