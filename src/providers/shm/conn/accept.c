/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "providers/shm/conn/attempt.h"
#include "providers/shm/wire/segment.h"
#include "sys/calls.h"
#include "sys/clock.h"

/*
 * Connection requests of peers. There is at most one connection between two endpoints,
 * except that an endpoint which sends to itself has one for each direction. Of two
 * requests that cross, that of the endpoint with the lesser name is used.
 */

enum { ACCEPTS = 64, HELLO_MS = 5000 };

/* May the peer's request become a connection? Returns 0: yes, and an ended connection
 * or attempt of this endpoint was removed; else enum shm_refusal. */
static uint32_t accept_judge(struct shm_attempt *attempt, struct shm_peer *peer,
	const struct shm_hello *hello)
{
	struct shm_ep *ep = attempt->ep;
	int order = strcmp(ep->name, peer->name);

	if (!order)
		return hello->instance == ep->peers->instance ? 0 : SHM_REFUSE_BAD;
	/* The peer may have accepted this endpoint's request, sent messages, and
	 * closed. */
	if (peer->attempt && shm_socket_ended(peer->attempt->base.watch.fd))
		shm_attempt_poll(peer->attempt);
	if (peer->conn && !peer->conn->err && !shm_socket_ended(peer->conn->watch.fd))
		return SHM_REFUSE_BUSY;
	/* Take the old connection down at once, so that messages which shm_replay
	 * queues stay ahead of new ones. */
	if (peer->conn) {
		shm_conn_fail(peer->conn, FI_ECONNRESET);
		shm_conn_end(peer->conn, peer->conn->err);
	}
	if (!peer->attempt)
		return 0;
	if (order < 0 && !shm_socket_ended(peer->attempt->base.watch.fd))
		return SHM_REFUSE_CROSSED;
	shm_attempt_drop(peer->attempt);
	return 0;
}

static void accept_refuse(struct shm_attempt *attempt, uint32_t reason)
{
	struct shm_hello hello = shm_attempt_hello(attempt->ep, SHM_REFUSE);

	hello.reason = reason;
	(void)shm_hello_send(attempt->base.watch.fd, &hello, -1);
}

static uint32_t accept_take_segment(
	struct shm_attempt *attempt, const struct shm_hello *hello, int pass)
{
	if (hello->type != SHM_HELLO || pass < 0 ||
		hello->segment_size != sizeof(struct shm_segment))
		return SHM_REFUSE_BAD;
	return shm_segment_map(pass, &attempt->segment) ? SHM_REFUSE_MEMORY : 0;
}

/* Accept a request. Returns 0: there is a connection; else the enum shm_refusal to
 * answer. */
static uint32_t accept_take_request(
	struct shm_attempt *attempt, const struct shm_hello *hello, int pass)
{
	struct shm_hello welcome = shm_attempt_hello(attempt->ep, SHM_WELCOME);
	struct shm_ep *ep = attempt->ep;
	struct shm_peer *peer = shm_peer_get(ep, hello->name);
	uint32_t reason =
		peer ? accept_take_segment(attempt, hello, pass) : SHM_REFUSE_MEMORY;
	struct shm_conn *conn;

	if (!reason)
		reason = accept_judge(attempt, peer, hello);
	/* A peer without a connection may have no other reference: let the next tick
	 * free it. */
	if (peer)
		shm_peer_let_go(ep, peer);
	if (reason)
		return reason;
	if (shm_hello_send(attempt->base.watch.fd, &welcome, -1))
		return SHM_REFUSE_MEMORY;
	conn = shm_attempt_connect(attempt, peer, hello, 1);
	/* The requester gets the end of the socket, and tries again. */
	if (!conn)
		return SHM_REFUSE_MEMORY;
	/* An endpoint that sends to itself uses the connection that it requested. */
	if (strcmp(ep->name, peer->name) != 0) {
		peer->instance = hello->instance;
		shm_peer_connected(peer, conn);
	}
	return 0;
}

static void accept_passive_ready(struct wf_watch *watch, uint32_t events)
{
	struct shm_attempt *attempt =
		wf_container_of(watch, struct shm_attempt, base.watch);
	struct shm_hello hello;
	uint32_t reason;
	int pass, ret = shm_hello_recv(watch->fd, &hello, &pass, &attempt->pid);

	(void)events;
	if (ret == -EAGAIN || ret == -EINTR)
		return;
	if (!ret) {
		reason = accept_take_request(attempt, &hello, pass);
		if (reason)
			accept_refuse(attempt, reason);
	} else if (ret == -EPROTO) {
		FI_WARN_SPARSE(&shm_fi, FI_LOG_EP_CTRL,
			"a request to connect is not of this version: refused\n");
		accept_refuse(attempt, SHM_REFUSE_BAD);
	} else if (ret == -EMFILE) {
		shm_socket_log_full();
		accept_refuse(attempt, SHM_REFUSE_FILES);
	}
	if (pass >= 0)
		(void)wf_sys_close(pass);
	shm_attempt_drop(attempt);
}

static void accept_take_caller(struct shm_ep *ep, int fd)
{
	struct shm_attempt *attempt;
	pid_t pid;

	if (shm_socket_peer(fd, &pid)) {
		shm_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"a request to connect of another user: refused\n");
		shm_socket_close(fd);
		return;
	}
	attempt = shm_attempt_new(ep, fd);
	if (!attempt) {
		shm_socket_close(fd);
		return;
	}
	attempt->pid = pid;
	attempt->base.watch.ready = accept_passive_ready;
	attempt->base.deadline_ns = wf_deadline_ns(HELLO_MS);
	if (wf_watch_set(&ep->watches, &attempt->base.watch, EPOLLIN))
		shm_attempt_drop(attempt);
	else
		accept_passive_ready(&attempt->base.watch, EPOLLIN);
}

void shm_attempt_accept_ready(struct wf_watch *watch, uint32_t events)
{
	struct shm_ep *ep = wf_container_of(watch, struct shm_ep, listener);
	int fd, ret;

	(void)events;
	for (int i = 0; i < ACCEPTS; i++) {
		ret = shm_socket_accept(watch->fd, &ep->spare_fd, &fd);
		if (!ret)
			accept_take_caller(ep, fd);
		else if (ret != -EMFILE)
			return;
	}
}
