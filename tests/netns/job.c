/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job LIBRARY DIR RANK RANKS PROVIDER: one of several processes, on any hosts that see
 * DIR, which exchange over one FI_EP_RDM endpoint each. Everybody sends tagged messages
 * of all sizes to everybody, and receives them from any source with any tag; then
 * writes into and adds to everybody's memory. Before, rails that do not work are found.
 * Checked are contents, sources, the order in which messages of one source met receives
 * where fi_getinfo promises one, that each came once, and the memory. LIBRARY is the
 * libfabric that the process uses. In the environment, JOB_LIBRARY and JOB_PROVIDER
 * take the place of these two in one process, and JOB_WITHOUT_ATOMICS is set in all
 * where one has none.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "../library.h"
#include "../time_limits.h"

enum {
	RANKS_MAX = 16,
	MESSAGES = 150, /* from each to each */
	LONG = 80000,   /* some are this long */
	WINDOW = 32,    /* receives posted, and sends under way to one peer */
	TIMEOUT_S = 60,
	KEY = 77,
	NAME_MAX_LEN = 256,
};

struct slot {
	struct fi_context2 context; /* first */
	unsigned int number;        /* of the receive, in the order of posting */
	uint8_t *bytes;
};

struct memory {
	uint64_t sum;
	uint64_t from[RANKS_MAX];
};

static struct library lib;
static const char *dir;
static bool atomics;
static unsigned int rank, ranks;
static struct fid_ep *ep;
static struct fid_cq *cq;
static struct fid_av *av;
static fi_addr_t peer[RANKS_MAX];
static uint64_t tag_of[RANKS_MAX * MESSAGES]; /* by number of the receive */
static unsigned int posted, received, sent, done_count;
static struct slot slots[WINDOW];
static bool greeting, lost;
static bool ordered; /* what is sent to one peer comes in that order */
static struct memory memory;
static uint8_t *out;

static _Noreturn void fail(const char *what, long value)
{
	fprintf(stderr, "rank %u: %s (%ld)\n", rank, what, value);
	exit(1);
}

static void must(ssize_t ret, const char *what)
{
	if (ret < 0) {
		fprintf(stderr, "rank %u: %s: error %d\n", rank, what, (int)-ret);
		exit(1);
	}
}

static size_t size_of(unsigned int number)
{
	return number % 25 == 24 ? LONG : (number * 61) % 3000;
}

static uint8_t byte_of(unsigned int from, unsigned int number, size_t at)
{
	return (uint8_t)(from * 101 + number * 7 + at);
}

/* ---- files by which the processes find each other ---- */

static void path_of(char *path, size_t len, const char *what, unsigned int of)
{
	snprintf(path, len, "%s/%s.%u", dir, what, of);
}

static void tell(const char *what, const void *data, size_t len)
{
	char path[512], part[600];
	FILE *f;

	path_of(path, sizeof(path), what, rank);
	snprintf(part, sizeof(part), "%s.part", path);
	f = fopen(part, "w");
	if (!f || (len && fwrite(data, len, 1, f) != 1) || fclose(f) ||
		rename(part, path))
		fail("cannot write a file", 0);
}

static bool hear(const char *what, unsigned int of, void *data, size_t len)
{
	char path[512];
	bool ok;
	FILE *f;

	path_of(path, sizeof(path), what, of);
	f = fopen(path, "r");
	if (!f)
		return false;
	ok = !len || fread(data, len, 1, f) == 1;
	fclose(f);
	return ok;
}

/* ---- receiving ---- */

static void post(struct slot *slot)
{
	slot->number = posted++;
	must(fi_trecv(ep, slot->bytes, LONG, NULL, FI_ADDR_UNSPEC, 0, ~0ULL, slot),
		"fi_trecv");
}

static void take(const struct fi_cq_tagged_entry *entry, fi_addr_t src)
{
	struct slot *slot = entry->op_context;
	unsigned int from = (unsigned int)(entry->tag >> 32);
	unsigned int number = (unsigned int)entry->tag;

	if (from >= ranks || number >= MESSAGES)
		fail("a tag that nobody sent", (long)entry->tag);
	if (src != peer[from])
		fail("a wrong source", (long)src);
	if (entry->len != size_of(number))
		fail("a wrong length", (long)entry->len);
	for (size_t i = 0; i < entry->len; i++)
		if (slot->bytes[i] != byte_of(from, number, i))
			fail("wrong bytes", (long)number);
	tag_of[slot->number] = entry->tag;
	received++;
	if (posted < ranks * MESSAGES)
		post(slot);
}

static void move(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	fi_addr_t src;
	ssize_t ret;

	while ((ret = fi_cq_readfrom(cq, &entry, 1, &src)) == 1) {
		if (entry.flags & FI_RECV)
			take(&entry, src);
		else if (entry.flags & FI_SEND)
			sent++;
		else
			done_count++;
	}
	if (ret == -FI_EAVAIL) {
		(void)fi_cq_readerr(cq, &err, 0);
		if (greeting) {
			lost = true;
			return;
		}
		fail("an operation failed", err.err);
	}
	if (ret != -FI_EAGAIN)
		must(ret, "fi_cq_readfrom");
}

#define UNTIL(condition)                                                               \
	do {                                                                           \
		time_t end_ = time(NULL) + (time_t)limit_s(TIMEOUT_S);                 \
		while (!(condition)) {                                                 \
			move();                                                        \
			if (time(NULL) > end_)                                         \
				fail("too long: " #condition, received);               \
		}                                                                      \
	} while (0)

/* Each message came once. As messages met receives in the order of posting, so did
 * those of one source. */
static void check_all(void)
{
	static bool came[RANKS_MAX][MESSAGES];
	unsigned int next[RANKS_MAX] = { 0 };

	for (unsigned int i = 0; i < ranks * MESSAGES; i++) {
		unsigned int from = (unsigned int)(tag_of[i] >> 32);
		unsigned int number = (unsigned int)tag_of[i];

		if (came[from][number])
			fail("a message came twice", (long)number);
		came[from][number] = true;
		if (ordered && number != next[from]++)
			fail("out of order", (long)i);
	}
}

/* ---- the whole ---- */

static void open_endpoint(const char *provider)
{
	struct fi_info *hints = lib.dupinfo(NULL), *info;
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	static struct fid_fabric *fabric;
	static struct fid_domain *domain;
	static struct fid_mr *mr;

	if (!hints)
		fail("fi_dupinfo", 0);
	hints->caps = FI_TAGGED | FI_RMA | FI_SOURCE | (atomics ? FI_ATOMIC : 0);
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(provider);
	must(lib.getinfo(LIBRARY_VERSION, NULL, NULL, 0, hints, &info), "fi_getinfo");
	ordered = info->tx_attr->msg_order & info->rx_attr->msg_order & FI_ORDER_SAS;
	must(lib.fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	must(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
	must(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
	must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "bind the CQ");
	must(fi_ep_bind(ep, &av->fid, 0), "bind the AV");
	must(fi_enable(ep), "fi_enable");
	must(fi_mr_reg(domain, &memory, sizeof(memory),
		     FI_REMOTE_WRITE | FI_REMOTE_READ, 0, KEY, 0, &mr, NULL),
		"fi_mr_reg");
}

static void meet(void)
{
	uint8_t name[NAME_MAX_LEN] = { 0 };
	size_t len = sizeof(name);

	must(fi_getname(&ep->fid, name, &len), "fi_getname");
	tell("name", name, sizeof(name));
	for (unsigned int i = 0; i < ranks; i++) {
		UNTIL(hear("name", i, name, sizeof(name)));
		if (fi_av_insert(av, name, 1, &peer[i], 0, NULL) != 1)
			fail("fi_av_insert", i);
	}
}

/* Write nothing new to everybody until that works, and works over every rail that may
 * be next: those that do not are found. */
static void greet(void)
{
	enum { IN_A_ROW = 4 };
	size_t at = offsetof(struct memory, from) + rank * sizeof(uint64_t);
	unsigned int before, good;
	uint64_t zero = 0;

	greeting = true;
	for (unsigned int to = 0; to < ranks; to++) {
		for (good = 0; good < IN_A_ROW; good = lost ? 0 : good + 1) {
			lost = false;
			before = done_count;
			UNTIL(fi_write(ep, &zero, sizeof(zero), NULL, peer[to], at, KEY,
				      NULL) == 0);
			UNTIL(lost || done_count > before);
		}
	}
	done_count = 0;
	greeting = false;
}

static void send_all(void)
{
	unsigned int started = 0;

	for (unsigned int n = 0; n < MESSAGES; n++) {
		for (unsigned int to = 0; to < ranks; to++) {
			uint8_t *buf = out + (size_t)(started % WINDOW) * LONG;
			uint64_t tag = (uint64_t)rank << 32 | n;

			UNTIL(started - sent < WINDOW);
			/* Completions may come out of order: the buffers are free
			 * when all that used them are. */
			if (started % WINDOW == 0)
				UNTIL(sent == started);
			for (size_t i = 0; i < size_of(n); i++)
				buf[i] = byte_of(rank, n, i);
			UNTIL(fi_tsend(ep, buf, size_of(n), NULL, peer[to], tag,
				      NULL) == 0);
			started++;
		}
	}
	UNTIL(sent == started);
}

static void write_all(void)
{
	uint64_t one = 1, mine = 1000 + rank;
	size_t at = offsetof(struct memory, from) + rank * sizeof(uint64_t);

	for (unsigned int to = 0; to < ranks; to++) {
		UNTIL(fi_write(ep, &mine, sizeof(mine), NULL, peer[to], at, KEY,
			      NULL) == 0);
		UNTIL(!atomics || fi_atomic(ep, &one, 1, NULL, peer[to], 0, KEY,
					  FI_UINT64, FI_SUM, NULL) == 0);
	}
	UNTIL(done_count == (atomics ? 2 : 1) * ranks);
}

/* Operations that are complete for their ranks may still have to be taken by this
 * process. */
static bool all_written(void)
{
	const volatile struct memory *now = &memory;
	bool all = !atomics || now->sum >= ranks;

	for (unsigned int i = 0; i < ranks; i++)
		all = all && now->from[i] == 1000 + i;
	return all;
}

static void all_did(const char *what)
{
	tell(what, NULL, 0);
	for (unsigned int i = 0; i < ranks; i++)
		UNTIL(hear(what, i, NULL, 0));
}

static const char *setting(const char *name, const char *otherwise)
{
	const char *text = getenv(name);

	return text ? text : otherwise;
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	dir = argv[2];
	rank = (unsigned int)atoi(argv[3]);
	ranks = (unsigned int)atoi(argv[4]);
	if (!ranks || ranks > RANKS_MAX || rank >= ranks)
		return 2;
	out = calloc(WINDOW, LONG);
	if (!out)
		return 1;
	atomics = !getenv("JOB_WITHOUT_ATOMICS");
	library_load(&lib, setting("JOB_LIBRARY", argv[1]));
	open_endpoint(setting("JOB_PROVIDER", argv[5]));
	meet();
	greet();
	all_did("greeted");
	for (int i = 0; i < WINDOW; i++) {
		slots[i].bytes = malloc(LONG);
		post(&slots[i]);
	}
	send_all();
	UNTIL(received == ranks * MESSAGES);
	check_all();
	all_did("received");
	write_all();
	all_did("written");
	UNTIL(all_written());
	all_did("checked");
	if (atomics && memory.sum != ranks)
		fail("a wrong sum", (long)memory.sum);
	if (received != ranks * MESSAGES)
		fail("a message too many", received);
	must(fi_close(&ep->fid), "fi_close");
	printf("rank %u: %u messages from %u passed%s\n", rank, received, ranks,
		ordered ? " in order" : "");
	return 0;
}
