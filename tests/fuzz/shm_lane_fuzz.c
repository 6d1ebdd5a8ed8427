/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer of the same user that writes anything into the memory that it shares with an
 * endpoint: records of every kind in any order, with ids that the endpoint really uses,
 * or single bytes anywhere, between operations of the endpoint with it. Whatever the
 * peer does, nothing outside of the buffers that the endpoint has out is touched (the
 * address sanitizer looks), and the endpoint can be closed.
 *
 * The first byte chooses progress, sleeping, the side that connects, whether the peer
 * knows the records of large reads and writes, and whether it tells what it has read;
 * then come moves, see the table.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live.h"
#include "objects/provider.h"
#include "providers/shm/log.h"
#include "providers/shm/wire/segment.h"
#include "providers/shm/wire/reader.h"
#include "providers/shm/wire/writer.h"
#include "providers/shm/conn/listen.h"
#include "providers/shm/conn/socket.h"

enum { MOVES_MAX = 200, LAST_DRIVES = 8, IDS = 8, WAITS = 200, DOMAINS = 2 };

/* Of the first byte. */
enum { AUTO = 1, SLEEPS = 2, ACTIVE = 4, WIDE = 8 };

struct fi_provider shm_fi = { .name = "shm" };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One for each progress model, with the same name. */
static struct live sides[DOMAINS], *now;
static char own_name[SHM_NAME_MAX], evil_name[SHM_NAME_MAX];

static struct {
	int listener; /* at evil_name */
	int spare;
	int fd; /* -1: not connected */
	struct shm_segment *region;
	unsigned int out;  /* the lane that we write */
	uint32_t next;     /* record that we write */
	uint64_t pos;      /* of the byte ring */
	uint32_t reading;  /* record that we read */
	uint64_t ids[IDS]; /* that the endpoint used last */
	unsigned int id_count;
	uint64_t probe;
	uint32_t lap; /* of the byte ring */
} evil;

static void open_all(void)
{
	struct live_conf conf = { .prov = "shm",
		.type = FI_EP_RDM,
		.addr_format = FI_ADDR_STR,
		.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SOURCE |
			FI_DIRECTED_RECV,
		.addr = own_name };
	char name[SHM_NAME_MAX];

	(void)snprintf(own_name, sizeof(own_name), "fi_ns://fuzz-%d", (int)getpid());
	(void)snprintf(evil_name, sizeof(evil_name), "fi_ns://evil-%d", (int)getpid());
	conf.addr_len = strlen(own_name) + 1;
	for (unsigned int i = 0; i < DOMAINS; i++) {
		conf.auto_progress = i & AUTO;
		live_open_domain(&sides[i], &conf);
	}
	must(wf_addrstr_spell(name, evil_name, sizeof(evil_name)));
	must(!shm_socket_listen(name, &evil.listener));
	evil.spare = -1;
}

/* ---- the peer ---- */

static struct shm_hello hello_of(enum shm_hello_type type)
{
	struct shm_hello hello = {
		.magic = SHM_HELLO_MAGIC,
		.version = SHM_HELLO_VERSION,
		.type = (uint8_t)type,
		.segment_size = sizeof(struct shm_segment),
		.instance = 666,
		.probe_addr = (uintptr_t)&evil.probe,
		.probe_value = evil.probe,
		.table_fd = -1,
	};

	must(wf_addrstr_spell(hello.name, evil_name, sizeof(evil_name)));
	return hello;
}

/* The endpoint's packet, or none within the time. */
static bool hear(struct shm_hello *hello, int *pass)
{
	struct pollfd wait = { .fd = evil.fd, .events = POLLIN };
	int ret = -EAGAIN;

	for (int i = 0; i < WAITS && ret == -EAGAIN; i++) {
		live_drive(now);
		if (now->conf.auto_progress)
			(void)poll(&wait, 1, 1);
		ret = shm_hello_recv(evil.fd, hello, pass, &(pid_t){ 0 });
	}
	return !ret;
}

/* It connects to the endpoint. */
static bool ask(void)
{
	struct shm_hello hello = hello_of(SHM_HELLO), reply;
	char name[SHM_NAME_MAX];
	int fd, pass = -1;

	must(wf_addrstr_spell(name, own_name, sizeof(own_name)));
	must(!shm_socket_connect(name, &evil.fd));
	must(!shm_segment_new(&fd, &evil.region));
	must(!shm_hello_send(evil.fd, &hello, fd));
	(void)close(fd);
	return hear(&reply, &pass) && reply.type == SHM_WELCOME;
}

/* The endpoint, which has something to send, connects to it. */
static bool answer(void)
{
	struct shm_hello hello, welcome = hello_of(SHM_WELCOME);
	int pass = -1, ret = -EAGAIN;

	(void)fi_inject(now->ep, "x", 1, now->peer);
	for (int i = 0; i < WAITS && ret; i++) {
		live_drive(now);
		ret = shm_socket_accept(evil.listener, &evil.spare, &evil.fd);
	}
	if (ret) {
		evil.fd = -1;
		return false;
	}
	evil.out = 1;
	if (!hear(&hello, &pass) || hello.type != SHM_HELLO ||
		shm_segment_map(pass, &evil.region)) {
		if (pass >= 0)
			(void)close(pass);
		return false;
	}
	(void)close(pass);
	return !shm_hello_send(evil.fd, &welcome, -1);
}

static void part(void)
{
	if (evil.fd >= 0)
		shm_socket_close(evil.fd);
	for (int i = 0; i < LAST_DRIVES; i++)
		live_drive(now);
	if (evil.region)
		shm_segment_unmap(evil.region);
	evil.region = NULL;
	evil.fd = -1;
}

static bool meet(bool active, uint32_t lap)
{
	int listener = evil.listener, spare = evil.spare;

	memset(&evil, 0, sizeof(evil));
	evil.listener = listener;
	evil.spare = spare;
	evil.fd = -1;
	evil.next = 1;
	evil.reading = 1;
	evil.lap = lap;
	return active ? answer() : ask();
}

/* Ids that the endpoint gave out are what its records begin with. */
static void learn(void)
{
	struct shm_reader r = { .lane = &evil.region->lane[!evil.out],
		.next = evil.reading };

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
	struct shm_writer w = { .lane = &evil.region->lane[evil.out],
		.next = evil.next,
		.lap = evil.lap,
		.pos = evil.pos };
	struct shm_slot *slot = shm_writer_slot(&w);
	uint8_t kind = byte_of(in) % (SHM_REC_KINDS + 1), flags = byte_of(in);
	uint32_t len = (uint32_t)number_of(in, 2), given = byte_of(in), total;
	uint64_t id = some_word(in);
	uint8_t *blob = slot->blob, wrap = 0;

	slot->word = some_word(in);
	slot->data = number_of(in, 1);
	if (flags & SHM_FLAG_BYTES) {
		total = len + (slot->data & 1 ? (uint32_t)(slot->data << 4) : 0);
		slot->bytes = (struct shm_long){
			.len = len,
			.total = total,
			.read_bytes = slot->data & 2 ? id : total,
			.read_slots = evil.reading - 1 + (slot->data & 4 ? given : 0),
		};
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
	live_drive(now);
	learn();
}

static void move_live(struct input *in)
{
	live_move(now, in);
}

static void (*const moves[])(struct input *in) = {
	move_record,
	move_record,
	move_record,
	move_drive,
	move_poke,
	move_live,
	move_live,
	move_live,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint8_t choice = byte_of(&in);

	if (!now)
		open_all();
	now = &sides[choice & AUTO];
	live_open(now, choice & SLEEPS);
	live_open_ep(now, now->info);
	must(fi_av_insert(now->av, evil_name, 1, &now->peer, 0, NULL) == 1);
	if (meet(choice & ACTIVE, choice & WIDE ? SHM_BYTES : SHM_LAP_SHORT))
		for (int i = 0; i < MOVES_MAX && in.left; i++)
			moves[byte_of(&in) % WF_ARRAY_SIZE(moves)](&in);
	live_drive(now);
	part();
	live_close(now);
	return 0;
}
