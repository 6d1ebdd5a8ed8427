/* SPDX-License-Identifier: BSD-2-Clause */
#include "far_tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/tcp/cm/cm.h"
#include "sys/compiler.h"

enum {
	PAYLOAD_MAX = 65536,
	WAITS = 200, /* rounds in which the endpoint gets to answer */
	WAIT_MS = 1, /* of each, where a thread of the library answers */
};

/* What far_tcp_listen says of itself; restarted with each input. */
static uint64_t instance = 0x1000;

/* ---- the connection ---- */

void far_tcp_listen(struct far_tcp *far)
{
	socklen_t len = sizeof(far->name);

	far->fd = -1;
	far->name = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	far->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	must(far->listener >= 0);
	must(!bind(far->listener, (const void *)&far->name, sizeof(far->name)));
	must(!listen(far->listener, 64));
	must(!getsockname(far->listener, (void *)&far->name, &len));
}

static void drop(struct far_tcp *far)
{
	const struct linger reset = { .l_onoff = 1 };

	if (far->fd < 0)
		return;
	(void)setsockopt(far->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	(void)close(far->fd);
	far->fd = -1;
}

static void begin(struct far_tcp *far, int fd)
{
	drop(far);
	far->fd = fd;
	far->peer = (struct tcp_wire_peer){ 0 };
	far->number = 0;
	far->in_len = 0;
	far->skip = 0;
	far->owed_count = 0;
}

void far_tcp_reset(struct far_tcp *far)
{
	int fd;

	drop(far);
	while ((fd = accept4(far->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		far->fd = fd;
		drop(far);
	}
	instance++;
}

void far_tcp_close(struct far_tcp *far, struct live *v, bool orderly)
{
	if (far->fd < 0)
		return;
	if (orderly) {
		(void)shutdown(far->fd, SHUT_WR);
		live_drive(v);
		far_tcp_read(far);
	}
	drop(far);
}

/* ---- handshake ---- */

/* Of another make, one of ours with everything, or one of ours with less. */
static void choose_ext(struct input *in, struct tcp_cm_ext *ext, bool *ret_big)
{
	uint8_t choice = byte_of(in);

	*ext = (struct tcp_cm_ext){ 0 };
	*ret_big = (choice & 0xe0) == 0xe0;
	if ((choice & 7) == 7)
		return;
	ext->features = TCP_HAVE_OFFER;
	ext->instance = instance;
	if (choice & 8)
		ext->features &= (uint32_t)number_of(in, 2);
	if (choice & 16)
		ext->contexts = byte_of(in);
}

/* The marker of a big endian machine, where that was chosen. */
static size_t encode(uint8_t *buf, enum tcp_cm_type type, const struct tcp_cm_ext *ext,
	bool big, const void *data, size_t len)
{
	const uint8_t marker[8] = { [7] = 1 };
	size_t n = tcp_cm_encode(buf, type, ext->instance ? ext : NULL, data, len);

	if (big)
		memcpy(buf + TCP_CM_HDR - sizeof(marker), marker, sizeof(marker));
	return n;
}

bool far_tcp_ask(struct far_tcp *far, const struct sockaddr_in *to, struct input *in)
{
	struct tcp_rdm_hello hello = { .version = TCP_RDM_VERSION,
		.port = ntohs(far->name.sin_port),
		.id = (uint32_t)instance };
	uint8_t buf[TCP_CM_MAX], data[TCP_RDM_DATA];
	struct tcp_cm_ext ext;
	size_t len;
	bool big;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd >= 0);
	begin(far, fd);
	if (connect(fd, (const void *)to, sizeof(*to))) {
		drop(far);
		return false;
	}
	choose_ext(in, &ext, &big);
	far->instance = ext.instance;
	tcp_rdm_encode(data, &hello);
	len = encode(buf, TCP_CM_REQUEST, &ext, big, data, far->rdm ? sizeof(data) : 0);
	far->peer.swap = big;
	if (send(fd, buf, len, MSG_NOSIGNAL) != (ssize_t)len)
		drop(far);
	return far->fd >= 0;
}

/* One message of a handshake, with its data at @buf + TCP_CM_HDR. */
static bool read_cm(struct far_tcp *far, struct live *v, uint8_t buf[TCP_CM_MAX],
	struct tcp_cm_msg *msg)
{
	struct pollfd wait = { .fd = far->fd, .events = POLLIN };
	size_t len = 0;
	int need;

	for (int i = 0; i < WAITS; i++) {
		need = tcp_cm_decode(buf, len, msg);
		if (need <= 0)
			return !need;
		ssize_t n = recv(far->fd, buf + len, (size_t)need - len, MSG_DONTWAIT);

		if (n > 0)
			len += (size_t)n;
		else if (!n || errno != EAGAIN)
			return false;
		live_drive(v);
		if (n < 0 && v->conf.auto_progress)
			(void)poll(&wait, 1, WAIT_MS);
	}
	return false;
}

/* What both ends know now, from the other one's message. */
static void agree(struct far_tcp *far, const struct tcp_cm_msg *msg, uint32_t offered)
{
	uint32_t have = tcp_cm_agree(offered, msg->ext.features, !far->peer.swap);

	if (have & TCP_HAVE_RDV_MSG)
		have |= TCP_HAVE_RDV;
	if (far->rdm)
		have |= TCP_HAVE_TAGGED | TCP_HAVE_RDV;
	if (have & TCP_HAVE_TAGGED_MSG)
		have |= TCP_HAVE_TAGGED;
	far->peer.have = have;
}

/* The endpoint's attempt to verify the connection; -1: it makes none. */
static int accept_attempt(struct far_tcp *far, struct live *v)
{
	struct pollfd wait = { .fd = far->listener, .events = POLLIN };
	int fd = -1;

	for (int i = 0; i < WAITS && fd < 0; i++) {
		fd = accept4(far->listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			break;
		live_drive(v);
		if (v->conf.auto_progress)
			(void)poll(&wait, 1, WAIT_MS);
	}
	return fd;
}

/* Tell the endpoint that the connection is that of the listener: it reads it then
 * (docs/design/identity.md). */
static void vouch(struct far_tcp *far, struct live *v)
{
	const struct tcp_cm_ext ext = { .instance = far->instance,
		.reason = TCP_REASON_CONNECTED };
	int own = far->fd, fd = accept_attempt(far, v);
	uint8_t buf[TCP_CM_MAX], data[TCP_RDM_DATA];
	struct tcp_cm_msg msg;
	size_t len;

	if (fd < 0)
		return;
	far->fd = fd;
	if (read_cm(far, v, buf, &msg) && msg.data_len >= sizeof(data)) {
		memcpy(data, buf + TCP_CM_HDR, sizeof(data));
		len = encode(buf, TCP_CM_REJECT, &ext, false, data, sizeof(data));
		(void)!send(fd, buf, len, MSG_NOSIGNAL);
	}
	(void)close(fd);
	far->fd = own;
	live_drive(v);
}

bool far_tcp_asked(struct far_tcp *far, struct live *v)
{
	struct tcp_cm_msg msg;
	uint8_t buf[TCP_CM_MAX];

	if (far->fd >= 0 && read_cm(far, v, buf, &msg) && msg.type == TCP_CM_REPLY) {
		agree(far, &msg, TCP_HAVE_OFFER);
		if (far->rdm)
			vouch(far, v);
		return true;
	}
	drop(far);
	return false;
}

bool far_tcp_accept(struct far_tcp *far, struct live *v, struct input *in)
{
	struct tcp_rdm_hello hello, answer;
	uint8_t buf[TCP_CM_MAX], data[TCP_RDM_DATA];
	struct tcp_cm_ext ext;
	struct tcp_cm_msg msg;
	size_t len;
	bool big;
	int fd = accept4(far->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return false;
	begin(far, fd);
	if (!read_cm(far, v, buf, &msg) || msg.type != TCP_CM_REQUEST ||
		(far->rdm && tcp_rdm_decode_request(
				     buf + TCP_CM_HDR, msg.data_len, &hello))) {
		drop(far);
		return false;
	}
	choose_ext(in, &ext, &big);
	far->peer.swap = big;
	ext.features = tcp_cm_agree(ext.features, msg.ext.features, !big);
	if (far->rdm) {
		tcp_rdm_answer(&hello, &msg, (uint32_t)instance, &answer);
		tcp_rdm_encode(data, &answer);
	}
	len = encode(buf, TCP_CM_REPLY, &ext, big, data, far->rdm ? sizeof(data) : 0);
	agree(far, &msg, ext.features);
	if (send(fd, buf, len, MSG_NOSIGNAL) != (ssize_t)len)
		drop(far);
	return far->fd >= 0;
}

/* ---- what the endpoint says ---- */

static bool wants_answer(const struct tcp_record *rec)
{
	switch (rec->kind) {
	case TCP_REC_READ:
	case TCP_REC_FETCH:
	case TCP_REC_COMPARE:
	case TCP_REC_RTS:
	case TCP_REC_MSG_RTS:
	case TCP_REC_CTS:
	case TCP_REC_PROBE:
		return true;
	default:
		return rec->flags & (TCP_FLAG_ACK | TCP_FLAG_COMMIT);
	}
}

static void heard(struct far_tcp *far, const struct tcp_record *rec)
{
	far->skip = rec->payload_len;
	if (rec->flags & TCP_FLAG_MATCH || rec->kind == TCP_REC_PROBE)
		far->seen_id = rec->id;
	if (wants_answer(rec) && far->owed_count < FAR_OWED)
		far->owed[far->owed_count++] = *rec;
}

static void hear(struct far_tcp *far, const uint8_t *p, size_t n)
{
	struct tcp_record rec;
	size_t step;
	int need;

	while (n) {
		step = WF_MIN(n, far->skip);
		far->skip -= step;
		p += step;
		n -= step;
		if (!n)
			return;
		/* Byte by byte: this end is not in a hurry. */
		far->in[far->in_len++] = *p++;
		n--;
		need = tcp_record_decode(far->in, far->in_len, &far->peer, &rec);
		if (need > 0)
			continue;
		far->in_len = 0;
		if (!need)
			heard(far, &rec);
	}
}

void far_tcp_read(struct far_tcp *far)
{
	uint8_t buf[16384];
	ssize_t n;

	while (far->fd >= 0 && (n = recv(far->fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		hear(far, buf, (size_t)n);
}

/* ---- what it is told ---- */

static void put(struct far_tcp *far, struct live *v, const uint8_t *p, size_t len)
{
	for (int i = 0; i < WAITS && len && far->fd >= 0; i++) {
		ssize_t n = send(far->fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno != EAGAIN) {
			drop(far);
		} else {
			live_drive(v);
			far_tcp_read(far);
		}
	}
	/* The stream would go on in the middle of a record. */
	if (len)
		drop(far);
}

static void put_record(struct far_tcp *far, struct live *v,
	const struct tcp_record *rec, struct input *in)
{
	static uint8_t bytes[TCP_WIRE_HDR_MAX + PAYLOAD_MAX];
	struct tcp_wire_peer all = far->peer;
	uint8_t choice = byte_of(in);
	size_t hdr, len, first;

	if (far->fd < 0)
		return;
	/* The encoder insists on what was agreed on; the endpoint has to check it. */
	all.have |= TCP_HAVE_TAGGED | TCP_HAVE_RDV | TCP_HAVE_ATOMIC |
		    TCP_HAVE_RDV_MSG | TCP_HAVE_ERROR | TCP_HAVE_PROBE | TCP_HAVE_LOCAL;
	if (rec->kind == TCP_REC_MATCHED)
		all.have |= TCP_HAVE_MATCH;
	hdr = tcp_record_encode(bytes, &all, rec);
	len = hdr + WF_MIN(rec->payload_len, (uint64_t)PAYLOAD_MAX);
	tcp_record_stamp(bytes, &far->number);
	memset(bytes + hdr, choice, len - hdr);
	/* One byte of the header altered; or the payload cut short. */
	if (choice > 0xf0)
		bytes[byte_of(in) % hdr] = byte_of(in);
	else if (choice > 0xe8)
		len = hdr;
	/* In two parts, with the endpoint at work between them. */
	first = choice & 1 ? byte_of(in) % (len + 1) : len;
	put(far, v, bytes, first);
	if (first < len) {
		live_drive(v);
		put(far, v, bytes + first, len - first);
	}
}

static void choose_segs(struct input *in, struct tcp_record *rec, size_t unit)
{
	rec->seg_count = byte_of(in) % (TCP_WIRE_SEGS_MAX + 1);
	for (unsigned int i = 0; i < rec->seg_count; i++) {
		uint8_t choice = byte_of(in);

		rec->seg[i].key = choice & 0x80 ? choice : LIVE_KEY;
		rec->seg[i].addr = choice & 0x40 ? number_of(in, 8) : number_of(in, 1);
		rec->seg[i].len = (choice & 0x20 ? number_of(in, 2) % LIVE_BUF
						 : (uint64_t)(choice & 0x1f)) *
				  unit;
		rec->span += rec->seg[i].len;
	}
}

/* Elements of most types have that many bytes or a part of it. */
enum { ATOM = 16 };

static void choose_access(struct input *in, struct tcp_record *rec)
{
	switch (rec->kind) {
	case TCP_REC_WRITE:
		choose_segs(in, rec, 1);
		rec->payload_len = rec->span;
		break;
	case TCP_REC_READ:
		choose_segs(in, rec, 1);
		break;
	case TCP_REC_ATOMIC:
	case TCP_REC_FETCH:
	case TCP_REC_COMPARE:
		rec->atomic_op = byte_of(in) % (FI_DIFF + 2);
		rec->datatype = byte_of(in) % (FI_UINT128 + 2);
		choose_segs(in, rec, ATOM);
		rec->payload_len =
			rec->kind == TCP_REC_COMPARE ? 2 * rec->span : rec->span;
		if (rec->kind == TCP_REC_FETCH && rec->atomic_op == FI_ATOMIC_READ)
			rec->payload_len = 0;
		break;
	default:
		break;
	}
}

static uint64_t some_length(struct input *in)
{
	uint8_t choice = byte_of(in);

	if (choice < 0x80)
		return choice;
	return choice == 0xff ? number_of(in, 8) % TCP_WIRE_PAYLOAD_MAX : length_of(in);
}

void far_tcp_record(struct far_tcp *far, struct live *v, struct input *in)
{
	uint8_t kind = byte_of(in) % TCP_REC_KINDS, choice = byte_of(in);
	struct tcp_record rec = { .kind = kind,
		.flags = choice & (TCP_FLAG_DATA | TCP_FLAG_ACK | TCP_FLAG_COMMIT |
					  TCP_FLAG_MATCH | TCP_FLAG_CONTEXT),
		.answer = choice & 1 ? TCP_ANSWER_ACK : TCP_ANSWER_RESP };

	rec.index = (uint16_t)(TCP_WIRE_RDV_MIN + byte_of(in) % 8);
	rec.data = rec.tag = choice >> 4;
	rec.id = choice & 0x80 ? far->seen_id : choice;
	rec.err = 1 + choice;
	switch (kind) {
	case TCP_REC_MSG:
	case TCP_REC_TAGGED:
	case TCP_REC_READ_RESP:
	case TCP_REC_ATOMIC_RESP:
	case TCP_REC_RDV_DATA:
	case TCP_REC_CARD:
		rec.payload_len = some_length(in);
		break;
	case TCP_REC_RTS:
	case TCP_REC_MSG_RTS:
		rec.msg_len = some_length(in);
		break;
	default:
		choose_access(in, &rec);
		break;
	}
	put_record(far, v, &rec, in);
}

/* To the record in front; false: none. */
static bool next_owed(struct far_tcp *far, struct tcp_record *ret)
{
	if (!far->owed_count)
		return false;
	*ret = far->owed[0];
	memmove(far->owed, far->owed + 1, --far->owed_count * sizeof(far->owed[0]));
	return true;
}

void far_tcp_answer(struct far_tcp *far, struct live *v, struct input *in)
{
	struct tcp_record asked, rec = { .kind = TCP_REC_ACK };

	far_tcp_read(far);
	if (!next_owed(far, &asked))
		return;
	switch (asked.kind) {
	case TCP_REC_READ:
		rec.kind = TCP_REC_READ_RESP;
		rec.payload_len = asked.span;
		break;
	case TCP_REC_FETCH:
	case TCP_REC_COMPARE:
		rec.kind = TCP_REC_ATOMIC_RESP;
		rec.payload_len = asked.span;
		break;
	case TCP_REC_RTS:
	case TCP_REC_MSG_RTS:
		rec.kind = TCP_REC_CTS;
		rec.index = asked.index;
		break;
	case TCP_REC_CTS:
		rec.kind = TCP_REC_RDV_DATA;
		rec.index = asked.index;
		rec.payload_len = some_length(in);
		break;
	case TCP_REC_PROBE:
		rec.kind = TCP_REC_PROBE_RESP;
		rec.id = asked.id;
		break;
	default:
		break;
	}
	if (rec.kind != TCP_REC_CTS && byte_of(in) > 0xe0) {
		rec.err = FI_EACCES;
		rec.answer = rec.kind == TCP_REC_ACK ? TCP_ANSWER_ACK : TCP_ANSWER_RESP;
		rec.kind = TCP_REC_ERROR;
		rec.payload_len = 0;
	}
	put_record(far, v, &rec, in);
}

void far_tcp_bytes(struct far_tcp *far, struct live *v, struct input *in)
{
	uint8_t bytes[32];
	size_t len = byte_of(in) % sizeof(bytes);

	for (size_t i = 0; i < len; i++)
		bytes[i] = byte_of(in);
	put(far, v, bytes, len);
}
