/* SPDX-License-Identifier: BSD-2-Clause */
/* The other end of a connection that says anything, in pieces of any size: the
 * exchange ends or waits, and never takes a byte beyond its message. The first byte of
 * the input chooses the side, the second the size of the pieces. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/tcp/cm/cm.h"
#include "providers/tcp/log.h"

struct fi_provider tcp_fi = { .name = "tcp" };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bytes that have not been read from @fd. */
static size_t left_in(int fd)
{
	uint8_t buf[4096];
	size_t left = 0;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		left += (size_t)n;
	return left;
}

static void check_over(struct tcp_cm *cm, size_t sent)
{
	if (cm->state == TCP_CM_FAILED)
		return;
	if (sent - left_in(cm->fd) != TCP_CM_HDR + (size_t)cm->msg.data_len)
		abort();
	if (cm->peer.have & ~(uint32_t)(TCP_HAVE_OFFER | TCP_HAVE_RDV) ||
		(!cm->msg.ext.instance && cm->peer.have) ||
		(!(cm->peer.have & TCP_HAVE_CONTEXTS) && cm->peer.contexts))
		abort();
}

static void check_rdm(const struct tcp_cm *cm)
{
	struct tcp_rdm_hello hello, answer;
	uint8_t buf[TCP_RDM_DATA];

	(void)tcp_rdm_decode_reply(tcp_cm_data(cm), cm->msg.data_len, 1, &hello);
	if (tcp_rdm_decode_request(tcp_cm_data(cm), cm->msg.data_len, &hello))
		return;
	tcp_rdm_answer(&hello, &cm->msg, 7, &answer);
	tcp_rdm_encode(buf, &answer);
	if (tcp_rdm_decode_reply(buf, sizeof(buf), hello.port, &answer))
		abort();
}

static void run(bool active, const uint8_t *data, size_t size, size_t piece)
{
	const struct tcp_cm_own own = { .features = TCP_HAVE_OFFER, .instance = 1 };
	struct tcp_cm cm;
	int sv[2], ret = 0;
	size_t sent = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sv))
		return;
	if (active)
		tcp_cm_start_active(&cm, sv[0], &own, "hello", 5);
	else
		tcp_cm_start_passive(&cm, sv[0], &own);
	while (!ret) {
		size_t n = size - sent < piece ? size - sent : piece;

		if (n && send(sv[1], data + sent, n, MSG_NOSIGNAL) != (ssize_t)n)
			break;
		sent += n;
		ret = tcp_cm_progress(&cm);
		if (!n)
			break;
	}
	if (ret > 0 || cm.state == TCP_CM_REJECTED) {
		check_over(&cm, sent);
		check_rdm(&cm);
	}
	if (cm.state == TCP_CM_ASKED &&
		(tcp_cm_accept(&cm, own.features, data, size % 257) != 1 ||
			cm.state != TCP_CM_CONNECTED))
		abort();
	close(sv[0]);
	close(sv[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size > 2048)
		return 0;
	run(data[0] & 1, data + 2, size - 2, 1 + (size_t)data[1]);
	return 0;
}
