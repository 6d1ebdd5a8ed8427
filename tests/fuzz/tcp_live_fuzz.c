/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tcp endpoint at work, with a peer that connects, is connected to, and sends
 * anything from then on: records that fit and others, answers that were asked for and
 * others, in any pieces, while the application sends, receives, cancels and takes
 * memory back. Whatever arrives, the endpoint touches only memory that it was given,
 * each operation completes once at most, and everything can be closed.
 *
 * The first byte chooses progress, sleeping, the type of endpoint and the side that
 * connects; then come moves. With LIVE_LNX the endpoint is one of lnx, which has a tcp
 * endpoint as its member, alone or beside shared memory.
 */
#include <stdlib.h>
#include <string.h>

#include "far_tcp.h"
#include "providers/tcp/log.h"
#include "sys/compiler.h"

enum {
	MOVES_MAX = 200,
	LAST_DRIVES = 4,
	CONNECTS_MAX = 4, /* in one input */
	EVENT_WAITS = 200,
};

/* Of the first byte. */
enum { AUTO = 1, SLEEPS = 2, MSG = 4, ACTIVE = 8, ORDERLY = 16, DOMAINS = 4 };

#ifdef LIVE_LNX
#define LIVE_PROV  "lnx"
#define LIVE_LINKS "tcp:lo|shm+tcp:lo"
#else
#define LIVE_PROV  "tcp"
#define LIVE_LINKS NULL
#endif

struct fi_provider tcp_fi = { .name = "tcp" };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* For each type of endpoint and each progress model. */
static struct {
	struct live live;
	struct far_tcp far;
	struct fid_pep *pep; /* FI_EP_MSG */
	struct sockaddr_in pep_name;
} side[DOMAINS];

static struct {
	struct live *live;
	struct far_tcp *far;
	struct sockaddr_in name;
	unsigned int connects;
} now;

static void open_pep(unsigned int which)
{
	size_t len = sizeof(side[which].pep_name);
	struct live *v = &side[which].live;

	must(!fi_passive_ep(v->fabric, v->info, &side[which].pep, NULL));
	must(!fi_pep_bind(side[which].pep, &v->eq->fid, 0));
	must(!fi_listen(side[which].pep));
	must(!fi_getname(&side[which].pep->fid, &side[which].pep_name, &len));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct live_conf conf = {
		.prov = LIVE_PROV, .node = "127.0.0.1", .addr_format = FI_SOCKADDR_IN
	};
	unsigned int i;

	(void)argc;
	(void)argv;
	/* So that short messages take all ways. */
	(void)setenv("FI_TCP_RENDEZVOUS_SIZE", "4096", 0);
	if (LIVE_LINKS)
		(void)setenv("FI_LNX_PROV_LINKS", LIVE_LINKS, 0);
	for (i = 0; i < DOMAINS; i++) {
		conf.type = FI_EP_RDM;
		if (LIVE_LINKS)
			conf.domain = i & MSG / 2 ? "lo" : "shm+lo";
		else if (i & MSG / 2)
			conf.type = FI_EP_MSG;
		conf.auto_progress = i & AUTO;
		conf.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
		if (conf.type == FI_EP_RDM)
			conf.caps |= FI_SOURCE | FI_DIRECTED_RECV;
		live_open_domain(&side[i].live, &conf);
		side[i].far.rdm = conf.type == FI_EP_RDM;
		far_tcp_listen(&side[i].far);
		if (conf.type == FI_EP_MSG)
			open_pep(i);
	}
	return 0;
}

/* ---- connecting ---- */

static void connect_rdm(struct input *in)
{
	if (far_tcp_ask(now.far, &now.name, in))
		(void)far_tcp_asked(now.far, now.live);
}

/* @want in the event queue, or nothing within the time. */
static struct fi_info *wait_event(uint32_t want, bool *ret_found)
{
	struct fi_eq_cm_entry entry;
	struct fi_eq_err_entry err = { 0 };
	uint32_t event;
	ssize_t n;

	*ret_found = false;
	for (int i = 0; i < EVENT_WAITS; i++) {
		n = fi_eq_read(now.live->eq, &event, &entry, sizeof(entry), 0);
		if (n == -FI_EAVAIL) {
			(void)fi_eq_readerr(now.live->eq, &err, 0);
			return NULL;
		}
		if (n > 0 && event == FI_CONNREQ && want != FI_CONNREQ)
			fi_freeinfo(entry.info);
		if (n > 0 && event == want) {
			*ret_found = true;
			return want == FI_CONNREQ ? entry.info : NULL;
		}
		live_drive(now.live);
	}
	return NULL;
}

/* What belongs to endpoints of earlier inputs. */
static void empty_eq(void)
{
	struct fi_eq_cm_entry entry;
	struct fi_eq_err_entry err = { 0 };
	uint32_t event;
	ssize_t n;

	while ((n = fi_eq_read(now.live->eq, &event, &entry, sizeof(entry), 0)) > 0 ||
		n == -FI_EAVAIL) {
		if (n < 0)
			(void)fi_eq_readerr(now.live->eq, &err, 0);
		else if (event == FI_CONNREQ)
			fi_freeinfo(entry.info);
	}
}

static void connect_msg_passive(struct input *in, const struct sockaddr_in *pep_name)
{
	struct fi_info *info;
	bool found;

	if (!far_tcp_ask(now.far, pep_name, in))
		return;
	info = wait_event(FI_CONNREQ, &found);
	if (!info)
		return;
	live_open_ep(now.live, info);
	fi_freeinfo(info);
	if (fi_accept(now.live->ep, NULL, 0))
		return;
	(void)far_tcp_asked(now.far, now.live);
	(void)wait_event(FI_CONNECTED, &found);
}

static void connect_msg_active(struct input *in)
{
	bool found;

	live_open_ep(now.live, now.live->info);
	if (fi_connect(now.live->ep, &now.far->name, NULL, 0))
		return;
	for (int i = 0; i < EVENT_WAITS && !far_tcp_accept(now.far, now.live, in); i++)
		live_drive(now.live);
	(void)wait_event(FI_CONNECTED, &found);
}

static void open_rdm(struct input *in, bool active)
{
	size_t len = sizeof(now.name);

	live_open_ep(now.live, now.live->info);
	must(!fi_getname(&now.live->ep->fid, &now.name, &len));
	must(fi_av_insert(now.live->av, &now.far->name, 1, &now.live->peer, 0, NULL) ==
		1);
	if (!active)
		connect_rdm(in);
}

/* ---- moves ---- */

static void move_record(struct input *in)
{
	far_tcp_record(now.far, now.live, in);
}

static void move_answer(struct input *in)
{
	far_tcp_answer(now.far, now.live, in);
}

static void move_bytes(struct input *in)
{
	far_tcp_bytes(now.far, now.live, in);
}

static void move_live(struct input *in)
{
	live_move(now.live, in);
}

static void move_drive(struct input *in)
{
	(void)in;
	live_drive(now.live);
	far_tcp_read(now.far);
}

/* The peer takes the connection that the endpoint has begun. */
static void move_accept(struct input *in)
{
	live_drive(now.live);
	if (now.far->rdm)
		(void)far_tcp_accept(now.far, now.live, in);
}

/* It connects anew, or ends its connection. */
static void move_connect(struct input *in)
{
	if (byte_of(in) & 1)
		far_tcp_close(now.far, now.live, byte_of(in) & 1);
	else if (now.far->rdm && now.connects++ < CONNECTS_MAX)
		connect_rdm(in);
}

static void (*const moves[])(struct input *in) = {
	move_record,
	move_record,
	move_record,
	move_answer,
	move_live,
	move_live,
	move_drive,
	move_accept,
	move_connect,
	move_bytes,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint8_t choice = byte_of(&in);
	unsigned int which = (choice & AUTO) | (choice & MSG) / 2;

	now.live = &side[which].live;
	now.far = &side[which].far;
	now.connects = 0;
	live_open(now.live, choice & SLEEPS);
	if (now.live->conf.type == FI_EP_RDM)
		open_rdm(&in, choice & ACTIVE);
	else if (choice & ACTIVE)
		connect_msg_active(&in);
	else
		connect_msg_passive(&in, &side[which].pep_name);
	for (int i = 0; i < MOVES_MAX && in.left; i++)
		moves[byte_of(&in) % WF_ARRAY_SIZE(moves)](&in);
	for (int i = 0; i < LAST_DRIVES; i++)
		live_drive(now.live);
	far_tcp_close(now.far, now.live, choice & ORDERLY);
	live_drive(now.live);
	live_close(now.live);
	if (now.live->eq)
		empty_eq();
	far_tcp_reset(now.far);
	return 0;
}
