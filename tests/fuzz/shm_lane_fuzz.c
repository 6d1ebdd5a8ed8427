/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer of the same user who writes anything into the memory that he shares with an
 * endpoint: records of every kind in any order, with ids that the endpoint really uses,
 * or single bytes anywhere, between operations of the endpoint with him. Whatever he
 * does, nothing outside of the buffers that the endpoint has out is touched (the
 * address sanitizer looks), and the endpoint can be closed.
 *
 * The input is a list of moves, see the table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "objects/provider.h"
#include "providers/shm/log.h"
#include "providers/shm/region.h"
#include "providers/shm/ring.h"
#include "providers/shm/socket.h"

enum { BUF = 20000, MOVES_MAX = 200, DRIVES = 4, LAST_DRIVES = 8, IDS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
struct fi_provider *shm_prov_ini(void);

struct input {
	const uint8_t *at;
	size_t left;
};

static struct {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_mr *mr;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t evil;
	char name[SHM_NAME_MAX], evil_name[SHM_NAME_MAX];
	uint8_t *window; /* what peers may write and read */
	/* Of operations, each as long as it says. */
	uint8_t *bufs[MOVES_MAX];
	unsigned int buf_count;
} v;

static struct {
	int fd;
	struct shm_region *region;
	uint32_t next;     /* record that we write */
	uint64_t pos;      /* of the byte ring */
	uint32_t reading;  /* record that we read */
	uint64_t ids[IDS]; /* that the endpoint used last */
	unsigned int id_count;
	uint64_t probe;
} evil;

static void must(int ok)
{
	if (!ok)
		abort();
}

/* ---- the endpoint ---- */

static void open_domain(void)
{
	struct fi_info *hints = fi_allocinfo();

	(void)snprintf(v.name, sizeof(v.name), "fi_ns://fuzz-%d", (int)getpid());
	(void)snprintf(
		v.evil_name, sizeof(v.evil_name), "fi_ns://evil-%d", (int)getpid());
	must(hints != NULL);
	hints->src_addr = strdup(v.name);
	hints->src_addrlen = strlen(v.name) + 1;
	hints->caps =
		FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SOURCE | FI_DIRECTED_RECV;
	hints->ep_attr->type = FI_EP_RDM;
	must(shm_prov_ini() == &shm_fi);
	must(!shm_fi.getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &v.info));
	fi_freeinfo(hints);
	must(!shm_fi.fabric(v.info->fabric_attr, &v.fabric, NULL));
	must(!fi_domain(v.fabric, v.info, &v.domain, NULL));
	v.window = malloc(BUF);
	must(v.window != NULL);
	memset(v.window, 0, BUF);
	must(!fi_mr_reg(v.domain, v.window, BUF,
		FI_REMOTE_READ | FI_REMOTE_WRITE | FI_READ | FI_WRITE, 0, 1, 0, &v.mr,
		NULL));
}

static void open_endpoint(void)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED, .size = 4096 };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	must(!fi_av_open(v.domain, &av_attr, &v.av, NULL));
	must(!fi_cq_open(v.domain, &cq_attr, &v.cq, NULL));
	must(!fi_endpoint(v.domain, v.info, &v.ep, NULL));
	must(!fi_ep_bind(v.ep, &v.av->fid, 0));
	must(!fi_ep_bind(v.ep, &v.cq->fid, FI_TRANSMIT | FI_RECV));
	must(!fi_enable(v.ep));
	must(fi_av_insert(v.av, v.evil_name, 1, &v.evil, 0, NULL) == 1);
}

static void drive(void)
{
	struct fi_cq_tagged_entry entry[8];
	struct fi_cq_err_entry err;
	ssize_t n;

	for (int i = 0; i < DRIVES; i++) {
		n = fi_cq_read(v.cq, entry, 8);
		must(n > 0 || n == -FI_EAGAIN || n == -FI_EAVAIL);
		memset(&err, 0, sizeof(err));
		if (n == -FI_EAVAIL)
			must(fi_cq_readerr(v.cq, &err, 0) == 1 && err.err > 0);
	}
}

/* ---- the peer ---- */

static void meet(void)
{
	struct shm_hello hello = {
		.magic = SHM_HELLO_MAGIC,
		.version = SHM_HELLO_VERSION,
		.type = SHM_HELLO,
		.region_size = sizeof(struct shm_region),
		.instance = 666,
		.probe_addr = (uintptr_t)&evil.probe,
		.probe_value = evil.probe,
	};
	struct shm_hello answer;
	char name[SHM_NAME_MAX];
	int fd, pass;

	memset(&evil, 0, sizeof(evil));
	evil.next = 1;
	evil.reading = 1;
	must(wf_addrstr_spell(name, v.name, sizeof(v.name)));
	must(wf_addrstr_spell(hello.name, v.evil_name, sizeof(v.evil_name)));
	must(!shm_socket_connect(name, &evil.fd));
	must(!shm_region_new(&fd, &evil.region));
	must(!shm_hello_send(evil.fd, &hello, fd));
	(void)close(fd);
	while (shm_hello_recv(evil.fd, &answer, &pass) == -EAGAIN)
		drive();
	must(answer.type == SHM_WELCOME);
}

static uint8_t byte_of(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static uint64_t number_of(struct input *in, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64_t)byte_of(in) << (8 * i);
	return value;
}

/* Ids that the endpoint gave out are what its records begin with. */
static void learn(void)
{
	struct shm_reader r = { .lane = &evil.region->lane[1], .next = evil.reading };

	while (shm_reader_head(&r)) {
		const struct shm_slot *slot = shm_slot_at(r.lane, r.next++);
		uint64_t id;

		memcpy(&id, slot->blob, sizeof(id));
		evil.ids[evil.id_count++ % IDS] = id;
		evil.ids[evil.id_count++ % IDS] = slot->word;
	}
	evil.reading = r.next;
}

static uint64_t some_word(struct input *in)
{
	uint8_t choice = byte_of(in);

	if (choice & 0x80)
		return evil.ids[choice % IDS];
	return number_of(in, choice % 9);
}

/* A record, its blob where a reader looks for it. */
static void move_record(struct input *in)
{
	struct shm_writer w = {
		.lane = &evil.region->lane[0], .next = evil.next, .pos = evil.pos
	};
	struct shm_slot *slot = shm_writer_slot(&w);
	uint8_t kind = byte_of(in) % (SHM_REC_KINDS + 1), flags = byte_of(in);
	uint32_t len = (uint32_t)number_of(in, 2), given = byte_of(in);
	uint64_t id = some_word(in);
	uint8_t *blob = slot->blob, wrap = 0;

	slot->word = some_word(in);
	slot->data = number_of(in, 1);
	if (flags & SHM_FLAG_BYTES) {
		memcpy(slot->blob, &len, sizeof(len));
		w.seen_pos = w.pos;
		blob = shm_writer_bytes(&w, WF_MIN(len, SHM_BLOB_MAX), &wrap);
		flags = (uint8_t)((flags & ~SHM_FLAG_WRAP) | wrap);
		shm_writer_bytes_done(&w, wrap, len);
		evil.pos = w.pos;
	}
	if (blob && (flags & SHM_FLAG_BYTES || len <= SHM_INLINE_MAX)) {
		memset(blob, 0, WF_MIN(len, SHM_BLOB_MAX));
		if (len >= sizeof(id))
			memcpy(blob, &id, sizeof(id));
		for (uint32_t i = sizeof(id); i < sizeof(id) + given && i < len; i++)
			blob[i] = byte_of(in);
	}
	shm_writer_commit(&w, slot, kind, flags, flags & SHM_FLAG_BYTES ? 0 : len);
	evil.next++;
}

/* Bytes anywhere. */
static void move_poke(struct input *in)
{
	uint32_t at = (uint32_t)number_of(in, 3) % sizeof(*evil.region);
	unsigned int count = byte_of(in) % 16;

	for (unsigned int i = 0; i < count && at + i < sizeof(*evil.region); i++)
		((volatile uint8_t *)evil.region)[at + i] = byte_of(in);
}

static void move_drive(struct input *in)
{
	(void)in;
	drive();
	learn();
}

static uint8_t *buffer(size_t len)
{
	uint8_t *buf = calloc(1, len + !len);

	must(buf != NULL);
	v.bufs[v.buf_count++] = buf;
	return buf;
}

static size_t some_length(struct input *in)
{
	return number_of(in, 2) % BUF;
}

static void move_receive(struct input *in)
{
	size_t len = some_length(in);

	(void)fi_trecv(
		v.ep, buffer(len), len, NULL, FI_ADDR_UNSPEC, byte_of(in), 0xf, NULL);
}

static void move_receive_msg(struct input *in)
{
	size_t len = some_length(in);

	(void)fi_recv(v.ep, buffer(len), len, NULL, FI_ADDR_UNSPEC, NULL);
}

static void move_send(struct input *in)
{
	size_t len = some_length(in);

	(void)fi_tsend(v.ep, buffer(len), len, NULL, v.evil, byte_of(in), NULL);
}

static void move_write(struct input *in)
{
	size_t len = some_length(in);

	(void)fi_write(v.ep, buffer(len), len, NULL, v.evil, 0, 1, NULL);
}

static void move_read(struct input *in)
{
	size_t len = some_length(in);

	(void)fi_read(v.ep, buffer(len), len, NULL, v.evil, 0, 1, NULL);
}

/* What is over when it was written, and may come back when he closes his end. */
static void move_inject(struct input *in)
{
	static const uint8_t bytes[4096];
	size_t len = some_length(in) % sizeof(bytes);

	(void)fi_tinject(v.ep, bytes, len, v.evil, byte_of(in));
}

static void move_inject_write(struct input *in)
{
	static const uint8_t bytes[256];

	(void)fi_inject_write(v.ep, bytes, byte_of(in), v.evil, 0, 1);
}

/* Operands in front, results behind them. */
static void move_fetch(struct input *in)
{
	size_t count = byte_of(in) % 32 + 1;
	uint8_t *buf = buffer(2 * count * sizeof(uint64_t));

	(void)fi_fetch_atomic(v.ep, buf, count, NULL, buf + count * sizeof(uint64_t),
		NULL, v.evil, 0, 1, FI_UINT64, FI_SUM, NULL);
}

static void (*const moves[])(struct input *in) = {
	move_record,
	move_record,
	move_record,
	move_drive,
	move_poke,
	move_receive,
	move_receive_msg,
	move_send,
	move_write,
	move_read,
	move_fetch,
	move_inject,
	move_inject_write,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	if (!v.domain)
		open_domain();
	open_endpoint();
	meet();
	for (int i = 0; i < MOVES_MAX && in.left; i++)
		moves[byte_of(&in) % WF_ARRAY_SIZE(moves)](&in);
	drive();
	shm_socket_close(evil.fd);
	for (int i = 0; i < LAST_DRIVES; i++)
		drive();
	shm_region_unmap(evil.region);
	must(!fi_close(&v.ep->fid));
	must(!fi_close(&v.cq->fid));
	must(!fi_close(&v.av->fid));
	while (v.buf_count)
		free(v.bufs[--v.buf_count]);
	return 0;
}
