/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rma_peer LIBRARY target FILE, rma_peer LIBRARY initiator FILE
 *
 * RMA and atomic operations of one process on the memory of another, over udp;ofi_rxd,
 * each of them with a libfabric of its own: LIBRARY is loaded by its path. The target
 * writes its address to FILE. The initiator checks all results; its exit status tells.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "../library.h"
#include "../rdm_endpoint.h"
#include "../time_limits.h"
#include "sys/clock.h"

enum { SIZE = 1 << 20, KEY = 7, NAME_MAX_LEN = 64, ELEMENTS = 8 };

struct side {
	struct library lib;
	struct rdm_endpoint end;
	struct fid_mr *mr;
	fi_addr_t peer;
	uint8_t *memory; /* the target's region; the initiator's copy of it */
	uint8_t *buf;
};

static void fail(const char *what, long long detail)
{
	fprintf(stderr, "rma_peer: %s (%lld)\n", what, detail);
	_Exit(1);
}

static void must(ssize_t ret, const char *what)
{
	if (ret < 0)
		fail(what, ret);
}

static void open_side(struct side *s, const char *path)
{
	struct fi_info *hints;

	library_load(&s->lib, path);
	hints = s->lib.dupinfo(NULL);
	if (!hints)
		fail("fi_dupinfo", 0);
	hints->caps = FI_MSG | FI_RMA | FI_ATOMIC;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("udp;ofi_rxd");
	must(s->lib.getinfo(LIBRARY_VERSION, "127.0.0.1", NULL, FI_SOURCE, hints,
		     &s->end.info),
		"fi_getinfo");
	rdm_endpoint_open(&s->end, FI_CQ_FORMAT_DATA, s->lib.fabric, must);
	s->memory = calloc(1, SIZE);
	s->buf = calloc(1, SIZE);
	if (!s->memory || !s->buf)
		fail("calloc", 0);
}

/* The next completion of @s. */
static struct fi_cq_data_entry next(struct side *s, const char *what)
{
	uint64_t end_ns = wf_now_ns() + limit_ms(30000) * UINT64_C(1000000);
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_data_entry entry;
	ssize_t ret;

	do {
		ret = fi_cq_read(s->end.cq, &entry, 1);
	} while (ret == -FI_EAGAIN && wf_now_ns() < end_ns);
	if (ret == -FI_EAVAIL) {
		(void)fi_cq_readerr(s->end.cq, &err, 0);
		fail(what, err.err);
	}
	if (ret != 1)
		fail(what, ret);
	return entry;
}

static void expect(struct side *s, ssize_t started, uint64_t flag, const char *what)
{
	must(started, what);
	if (!(next(s, what).flags & flag))
		fail("another completion was expected", (long long)flag);
}

/* ---- the target ---- */

static void publish(struct side *s, const char *path)
{
	char name[NAME_MAX_LEN] = { 0 }, draft[512];
	size_t len = sizeof(name);
	FILE *file;

	must(fi_getname(&s->end.ep->fid, name, &len), "fi_getname");
	(void)snprintf(draft, sizeof(draft), "%s.draft", path);
	file = fopen(draft, "w");
	if (!file || fwrite(name, sizeof(name), 1, file) != 1 || fclose(file) ||
		rename(draft, path))
		fail("writing the address", 0);
}

/* Until a message says that it is over; remote CQ data come before. */
static void target(struct side *s, const char *path)
{
	struct fi_cq_data_entry entry;
	unsigned int data = 0;
	uint64_t end_ns;

	must(fi_mr_reg(s->end.domain, s->memory, SIZE, FI_REMOTE_READ | FI_REMOTE_WRITE,
		     0, KEY, 0, &s->mr, NULL),
		"fi_mr_reg");
	must(fi_recv(s->end.ep, s->buf, SIZE, NULL, FI_ADDR_UNSPEC, NULL), "fi_recv");
	publish(s, path);
	for (;;) {
		entry = next(s, "waiting for the end");
		if (!(entry.flags & FI_REMOTE_WRITE))
			break;
		if (entry.data != 100 + data++)
			fail("remote CQ data", (long long)entry.data);
	}
	if (data != 2)
		fail("entries with remote CQ data", data);
	/* The initiator waits for the acknowledgement of its message. */
	end_ns = wf_now_ns() + UINT64_C(500000000);
	while (wf_now_ns() < end_ns)
		(void)fi_cq_read(s->end.cq, &entry, 1);
}

/* ---- the initiator ---- */

static void find(struct side *s, const char *path)
{
	uint64_t end_ns = wf_now_ns() + limit_ms(10000) * UINT64_C(1000000);
	char name[NAME_MAX_LEN];
	FILE *file;

	while (!(file = fopen(path, "r")) && wf_now_ns() < end_ns)
		usleep(10000);
	if (!file || fread(name, sizeof(name), 1, file) != 1)
		fail("reading the address", 0);
	fclose(file);
	if (fi_av_insert(s->end.av, name, 1, &s->peer, 0, NULL) != 1)
		fail("fi_av_insert", 0);
}

/* ATM-001, ATM-002, ATM-003: every kind, on elements at byte 0 on. */
static void atomics(struct side *s)
{
	uint64_t *words = (uint64_t *)s->buf, found[ELEMENTS];
	uint64_t *mirror = (uint64_t *)s->memory;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < ELEMENTS; i++)
			words[i] = (uint64_t)(round * 10 + i);
		expect(s,
			fi_atomic(s->end.ep, words, ELEMENTS, NULL, s->peer, 0, KEY,
				FI_UINT64, FI_SUM, NULL),
			FI_ATOMIC, "fi_atomic");
		for (int i = 0; i < ELEMENTS; i++)
			mirror[i] += words[i];
		expect(s,
			fi_fetch_atomic(s->end.ep, words, ELEMENTS, NULL, found, NULL,
				s->peer, 0, KEY, FI_UINT64, FI_BXOR, NULL),
			FI_ATOMIC, "fi_fetch_atomic");
		if (memcmp(found, mirror, sizeof(found)) != 0)
			fail("fetched values", round);
		for (int i = 0; i < ELEMENTS; i++)
			mirror[i] ^= words[i];
		expect(s,
			fi_compare_atomic(s->end.ep, words, 1, NULL, mirror, NULL,
				found, NULL, s->peer, 0, KEY, FI_UINT64, FI_CSWAP,
				NULL),
			FI_ATOMIC, "fi_compare_atomic");
		if (found[0] != mirror[0])
			fail("compared value", round);
		mirror[0] = words[0];
	}
}

/* Bytes of the largest operation. */
static size_t most(void)
{
	const char *text = getenv("RMA_PEER_MOST");

	return text ? strtoul(text, NULL, 10) : SIZE;
}

/* RMA-001 */
static void writes(struct side *s)
{
	static const size_t sizes[] = { 0, 1, 64, 1408, 1409, 1432, 1433, 5000,
		300000 };
	size_t at = 4096;

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		if (sizes[k] > most())
			break;
		for (size_t i = 0; i < sizes[k]; i++)
			s->buf[i] = (uint8_t)(k * 37 + i * 11 + i / 256);
		memcpy(s->memory + at, s->buf, sizes[k]);
		expect(s,
			fi_write(s->end.ep, s->buf, sizes[k], NULL, s->peer, at, KEY,
				NULL),
			FI_WRITE, "fi_write");
		at += sizes[k];
	}
	for (uint64_t data = 100; data < 102; data++) {
		memset(s->buf, (int)data, 3000);
		memset(s->memory + at, (int)data, 3000);
		expect(s,
			fi_writedata(s->end.ep, s->buf, 3000, NULL, data, s->peer, at,
				KEY, NULL),
			FI_WRITE, "fi_writedata");
		at += 3000;
	}
}

/* All of the region is what it should be, in reads of several sizes. */
static void reads(struct side *s)
{
	static const size_t sizes[] = { 1, 63, 1440, 1441, 10000, 700000, SIZE };
	size_t at = 0;

	for (size_t k = 0; at < SIZE; k++) {
		size_t len = k < sizeof(sizes) / sizeof(sizes[0]) ? sizes[k] : SIZE;

		len = len < SIZE - at ? len : SIZE - at;
		len = len < most() ? len : most();
		memset(s->buf, 0xee, len);
		expect(s, fi_read(s->end.ep, s->buf, len, NULL, s->peer, at, KEY, NULL),
			FI_READ, "fi_read");
		if (memcmp(s->buf, s->memory + at, len) != 0)
			fail("what was read", (long long)at);
		at += len;
	}
}

static void initiator(struct side *s, const char *path)
{
	find(s, path);
	/* Before the reads: in the libraries up to 2.6 a fetch after a read of several
	 * packets hangs. */
	atomics(s);
	writes(s);
	reads(s);
	expect(s, fi_send(s->end.ep, s->buf, 8, NULL, s->peer, NULL), FI_SEND,
		"fi_send");
}

int main(int argc, char **argv)
{
	struct side side = { .peer = FI_ADDR_UNSPEC };

	if (argc != 4) {
		fprintf(stderr, "usage: %s LIBRARY target|initiator FILE\n", argv[0]);
		return 2;
	}
	open_side(&side, argv[1]);
	if (strcmp(argv[2], "target") == 0)
		target(&side, argv[3]);
	else
		initiator(&side, argv[3]);
	printf("ok\n");
	fflush(stdout);
	_Exit(0);
}
