/* SPDX-License-Identifier: BSD-2-Clause */
#include <sys/epoll.h>

#include "providers/tcp/cm/cm.h"
#include "providers/tcp/log.h"
#include "sys/calls.h"
#include "sys/clock.h"

/*
 * The exchange that begins a connection, one step per event of the socket:
 *
 *	active:   CONNECTING -> ASKING -> WAITING -> CONNECTED or REJECTED
 *	passive:  READING -> ASKED -> ANSWERING -> CONNECTED or REJECTED
 *
 * and from each of them to FAILED. A message leaves in one send call: other
 * implementations read its header in one receive call, and on some of their sockets
 * lose a header that comes in pieces.
 */

static void cm_set_deadline(struct tcp_cm *cm, int timeout_ms)
{
	cm->deadline_ns = wf_deadline_ns(timeout_ms > 0 ? timeout_ms : -1);
}

static void cm_start(struct tcp_cm *cm, int fd, const struct tcp_cm_own *own,
	enum tcp_cm_state state)
{
	*cm = (struct tcp_cm){ .fd = fd, .state = state, .own = *own };
	cm->begin_ns = wf_now_ns();
	cm_set_deadline(cm, own->timeout_ms);
}

void tcp_cm_start_active(struct tcp_cm *cm, int fd, const struct tcp_cm_own *own,
	const void *data, size_t data_len)
{
	struct tcp_cm_ext ext = {
		.features = own->features & TCP_HAVE_OFFER,
		.instance = own->instance,
		.contexts = own->contexts,
		.reason = own->accepted_yours ? TCP_REASON_CONNECTED : TCP_REASON_NONE,
	};

	cm_start(cm, fd, own, TCP_CM_CONNECTING);
	cm->out_len =
		(uint16_t)tcp_cm_encode(cm->out, TCP_CM_REQUEST, &ext, data, data_len);
}

void tcp_cm_start_passive(struct tcp_cm *cm, int fd, const struct tcp_cm_own *own)
{
	cm_start(cm, fd, own, TCP_CM_READING);
}

uint32_t tcp_cm_events(const struct tcp_cm *cm)
{
	switch (cm->state) {
	case TCP_CM_CONNECTING:
	case TCP_CM_ASKING:
	case TCP_CM_ANSWERING:
		return EPOLLOUT;
	case TCP_CM_WAITING:
	case TCP_CM_READING:
		return EPOLLIN;
	case TCP_CM_IDLE:
	case TCP_CM_ASKED:
	case TCP_CM_CONNECTED:
	case TCP_CM_REJECTED:
	case TCP_CM_FAILED:
		break;
	}
	return 0;
}

/* The address of the other end, for a log line; looked up only when there is one. */
static const char *cm_peer_text(int fd, char *buf, size_t len)
{
	union wf_sockaddr peer;
	socklen_t peer_len = sizeof(peer);

	if (getpeername(fd, &peer.sa, &peer_len) || !wf_sockaddr_len(&peer))
		return "an unknown address";
	return wf_sockaddr_uri(&peer, buf, len);
}

/* Any process can connect and send anything, so the lines are rate-limited. */
static void cm_log_stranger(const struct tcp_cm *cm, int err)
{
	char text[WF_SOCKADDR_STRLEN];

	if (cm->in_len)
		FI_WARN_SPARSE(&tcp_fi, FI_LOG_EP_CTRL,
			"dropped a connection with %s: %s after %u bytes "
			"beginning %02x %02x, asked for was a message of version 3\n",
			cm_peer_text(cm->fd, text, sizeof(text)), fi_strerror(-err),
			cm->in_len, cm->in[0], cm->in[1]);
	else
		FI_LOG_SPARSE(&tcp_fi, FI_LOG_INFO, FI_LOG_EP_CTRL,
			"dropped a connection with %s: %s, nothing was received\n",
			cm_peer_text(cm->fd, text, sizeof(text)), fi_strerror(-err));
}

bool tcp_cm_silent(const struct tcp_cm *cm, uint64_t now)
{
	return cm->state == TCP_CM_READING &&
	       now - cm->begin_ns >= TCP_SILENT_MS * 1000000ull;
}

void tcp_cm_log_silent(const struct tcp_cm *cm)
{
	char text[WF_SOCKADDR_STRLEN];

	FI_WARN_SPARSE(&tcp_fi, FI_LOG_EP_CTRL,
		"dropped a connection with %s: it has not said what it wants, and "
		"there are too many like it\n",
		cm_peer_text(cm->fd, text, sizeof(text)));
}

static int cm_fail(struct tcp_cm *cm, int err)
{
	if (cm->state == TCP_CM_READING || cm->state == TCP_CM_WAITING)
		cm_log_stranger(cm, err);
	else
		tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL, "connecting: %s\n",
			fi_strerror(-err));
	cm->state = TCP_CM_FAILED;
	cm->deadline_ns = UINT64_MAX;
	return err;
}

/* Enter a state without a deadline: the exchange ended, or the owner has to answer. */
static int cm_reach(struct tcp_cm *cm, enum tcp_cm_state state)
{
	cm->state = state;
	cm->deadline_ns = UINT64_MAX;
	return 1;
}

/* Returns 1: connected, 0: not yet, or a negative errno. SO_ERROR alone does not tell a
 * connection from one that is still being made. */
static int cm_check_connected(struct tcp_cm *cm)
{
	union wf_sockaddr peer;
	socklen_t peer_len = sizeof(peer);
	int err = 0;
	socklen_t len = sizeof(err);

	if (getsockopt(cm->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		return -errno;
	if (err)
		return -err;
	if (!getpeername(cm->fd, &peer.sa, &peer_len))
		return 1;
	return errno == ENOTCONN ? 0 : -errno;
}

/* Returns 1: the kernel has taken all of cm->out, 0: the socket is full, or a negative
 * errno. */
static int cm_send_out(struct tcp_cm *cm)
{
	while (cm->out_done < cm->out_len) {
		ssize_t n = wf_sys_send(cm->fd, cm->out + cm->out_done,
			(size_t)(cm->out_len - cm->out_done),
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			cm->out_done = (uint16_t)(cm->out_done + n);
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			return 0;
		else if (errno != EINTR)
			return -errno;
	}
	return 1;
}

/* Returns 1: cm->msg is complete, 0: wait for more bytes, or a negative errno. Reads no
 * byte behind the message, because records may follow in the same segment. */
static int cm_read_in(struct tcp_cm *cm)
{
	int need;

	while ((need = tcp_cm_decode(cm->in, cm->in_len, &cm->msg)) > 0) {
		ssize_t n = wf_sys_recv(cm->fd, cm->in + cm->in_len,
			(size_t)need - cm->in_len, MSG_DONTWAIT);

		if (n > 0)
			cm->in_len = (uint16_t)(cm->in_len + n);
		else if (!n)
			return -FI_ECONNRESET;
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			return 0;
		else if (errno != EINTR)
			return -errno;
	}
	return need < 0 ? need : 1;
}

static void cm_set_peer(struct tcp_cm *cm, uint32_t own_features)
{
	uint32_t have =
		tcp_cm_agree(own_features, cm->msg.ext.features, cm->msg.same_order);

	if (have & TCP_HAVE_RDV_MSG)
		have |= TCP_HAVE_RDV;
	cm->peer = (struct tcp_wire_peer){ .have = have };
	/* Machines of different byte order use big endian, so only a little endian one
	 * converts. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	cm->peer.swap = !cm->msg.same_order;
#endif
	if (have & TCP_HAVE_CONTEXTS)
		cm->peer.contexts = cm->msg.ext.contexts;
}

static int cm_got_reply(struct tcp_cm *cm)
{
	if (cm->msg.type == TCP_CM_REQUEST)
		return cm_fail(cm, -FI_ECONNREFUSED);
	if (cm->msg.type == TCP_CM_REJECT) {
		(void)cm_reach(cm, TCP_CM_REJECTED);
		return -FI_ECONNREFUSED;
	}
	cm_set_peer(cm, cm->own.features);
	return cm_reach(cm, TCP_CM_CONNECTED);
}

static int cm_got_request(struct tcp_cm *cm)
{
	if (cm->msg.type != TCP_CM_REQUEST)
		return cm_fail(cm, -FI_EPROTO);
	cm_set_peer(cm, cm->own.features);
	return cm_reach(cm, TCP_CM_ASKED);
}

/* One step. Returns 1: the state changed, or the owner has to act; 0: wait; negative
 * errno: failed. */
static int cm_step(struct tcp_cm *cm)
{
	int ret;

	switch (cm->state) {
	case TCP_CM_CONNECTING:
		ret = cm_check_connected(cm);
		if (ret > 0)
			cm->state = TCP_CM_ASKING;
		return ret;
	case TCP_CM_ASKING:
		ret = cm_send_out(cm);
		if (ret > 0) {
			cm->state = TCP_CM_WAITING;
			cm_set_deadline(cm, cm->own.reply_ms);
		}
		return ret;
	case TCP_CM_WAITING:
	case TCP_CM_READING:
		return cm_read_in(cm);
	case TCP_CM_ANSWERING:
		return cm_send_out(cm);
	case TCP_CM_IDLE:
	case TCP_CM_ASKED:
	case TCP_CM_CONNECTED:
	case TCP_CM_REJECTED:
	case TCP_CM_FAILED:
		break;
	}
	return 0;
}

int tcp_cm_progress(struct tcp_cm *cm)
{
	for (;;) {
		enum tcp_cm_state before = cm->state;
		int ret = cm_step(cm);

		if (ret < 0)
			return cm_fail(cm, ret);
		if (!ret)
			break;
		if (before == TCP_CM_WAITING)
			return cm_got_reply(cm);
		if (before == TCP_CM_READING)
			return cm_got_request(cm);
		if (before == TCP_CM_ANSWERING)
			return cm_reach(
				cm, cm->rejecting ? TCP_CM_REJECTED : TCP_CM_CONNECTED);
	}
	return wf_expired(cm->deadline_ns) ? cm_fail(cm, -FI_ETIMEDOUT) : 0;
}

static int cm_answer(struct tcp_cm *cm, enum tcp_cm_type type,
	const struct tcp_cm_ext *ext, const void *data, size_t data_len)
{
	assert(cm->state == TCP_CM_ASKED);
	/* Only a peer that sent the extension understands it. */
	cm->out_len = (uint16_t)tcp_cm_encode(
		cm->out, type, cm->msg.ext.instance ? ext : NULL, data, data_len);
	cm->rejecting = type == TCP_CM_REJECT;
	cm->state = TCP_CM_ANSWERING;
	cm_set_deadline(cm, cm->own.timeout_ms);
	return tcp_cm_progress(cm);
}

int tcp_cm_accept(
	struct tcp_cm *cm, uint32_t features, const void *data, size_t data_len)
{
	struct tcp_cm_ext ext = {
		.instance = cm->own.instance,
		.contexts = cm->own.contexts,
	};

	cm_set_peer(cm, features);
	ext.features = cm->peer.have & TCP_HAVE_OFFER;
	return cm_answer(cm, TCP_CM_REPLY, &ext, data, data_len);
}

int tcp_cm_reject(
	struct tcp_cm *cm, enum tcp_cm_reason reason, const void *data, size_t data_len)
{
	struct tcp_cm_ext ext = {
		.instance = cm->own.instance,
		.reason = (uint8_t)reason,
	};

	return cm_answer(cm, TCP_CM_REJECT, &ext, data, data_len);
}
