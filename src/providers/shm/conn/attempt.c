/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "providers/shm/conn/proof.h"
#include "providers/shm/wire/segment.h"
#include "sys/calls.h"
#include "sys/clock.h"

/*
 * This endpoint's connection attempts, and functions that the attempts of peers
 * (accept.c) use, too.
 */

struct shm_hello shm_attempt_hello(struct shm_ep *ep, enum shm_hello_type type)
{
	struct shm_hello hello = {
		.magic = SHM_HELLO_MAGIC,
		.version = SHM_HELLO_VERSION,
		.type = (uint8_t)type,
		.flags = ep->watches.sleepers ? SHM_HELLO_SLEEPS : 0,
		.segment_size = sizeof(struct shm_segment),
		.instance = ep->peers->instance,
		.probe_addr = (uintptr_t)&ep->peers->probe,
		.probe_value = ep->peers->probe,
		.table_fd = ep->regions.fd,
	};

	memcpy(hello.name, ep->name, sizeof(hello.name));
	return hello;
}

struct shm_attempt *shm_attempt_new(struct shm_ep *ep, int fd)
{
	struct shm_attempt *attempt = calloc(1, sizeof(*attempt));

	if (!attempt)
		return NULL;
	attempt->ep = ep;
	attempt->base.watch.fd = fd;
	wf_attempts_add(&ep->peers->remotes.attempts, &attempt->base);
	return attempt;
}

void shm_attempt_drop(struct shm_attempt *attempt)
{
	shm_watch_close(attempt->ep, &attempt->base.watch);
	if (attempt->segment)
		shm_segment_unmap(attempt->segment);
	attempt->segment = NULL;
	if (attempt->peer)
		attempt->peer->attempt = NULL;
	attempt->peer = NULL;
	wf_attempts_end(&attempt->ep->peers->remotes.attempts, &attempt->base);
}

void shm_attempt_end(struct wf_attempt *attempt)
{
	shm_attempt_drop(wf_container_of(attempt, struct shm_attempt, base));
}

/* An attempt failed with @err, a positive fi_errno. */
static void shm_attempt_failed(struct shm_ep *ep, struct shm_peer *peer, int err)
{
	wf_remote_failed(&ep->peers->remotes, &peer->remote, err, wf_now_ns());
}

struct shm_conn *shm_attempt_connect(struct shm_attempt *attempt, struct shm_peer *peer,
	const struct shm_hello *hello, unsigned int out_lane)
{
	struct shm_ep *ep = attempt->ep;
	int fd = fcntl(attempt->base.watch.fd, F_DUPFD_CLOEXEC, 0);
	struct shm_conn *conn;

	if (fd < 0 || shm_socket_own(fd, &fd))
		return NULL;
	/* The epoll set identifies an entry by descriptor number and file, so the copy
	 * of the descriptor is another entry. */
	conn = shm_conn_new(ep, peer, fd, attempt->segment, out_lane);
	if (!conn) {
		shm_socket_close(fd);
		return NULL;
	}
	attempt->segment = NULL;
	conn->process.pid = attempt->pid;
	conn->wake = hello->flags & SHM_HELLO_SLEEPS;
	conn->process.probe_addr = hello->probe_addr;
	conn->process.probe_value = hello->probe_value;
	conn->process.instance = hello->instance;
	conn->access.table_fd = hello->table_fd;
	conn->process.cma = !shm_params.disable_cma && attempt->pid > 0 &&
			    shm_proof_is_permitted(attempt->pid);
	ep->conn_ops->begin(conn);
	shm_log(FI_LOG_INFO, FI_LOG_EP_CTRL, "connected to %s%s\n", peer->name,
		conn->process.cma ? "" : ", without cross-memory attach");
	return conn;
}

/* A negative fi_errno for an answer that is no welcome. */
static int attempt_refusal(const struct shm_hello *hello)
{
	if (hello->type != SHM_REFUSE)
		return -FI_EPROTO;
	return hello->reason == SHM_REFUSE_FILES ? -FI_EMFILE : -FI_ECONNREFUSED;
}

static void shm_attempt_active_failed(struct shm_attempt *attempt, int err)
{
	struct shm_peer *peer = attempt->peer;
	struct shm_ep *ep = attempt->ep;

	shm_attempt_drop(attempt);
	shm_attempt_failed(ep, peer, err);
}

static void shm_attempt_active_ready(struct wf_watch *watch, uint32_t events)
{
	struct shm_attempt *attempt =
		wf_container_of(watch, struct shm_attempt, base.watch);
	struct shm_peer *peer = attempt->peer;
	struct shm_ep *ep = attempt->ep;
	struct shm_hello hello;
	struct shm_conn *conn;
	int pass, ret = shm_hello_recv(watch->fd, &hello, &pass, &attempt->pid);

	(void)events;
	if (ret == -EAGAIN || ret == -EINTR)
		return;
	if (pass >= 0)
		(void)wf_sys_close(pass);
	if (!ret && hello.type != SHM_WELCOME)
		ret = attempt_refusal(&hello);
	if (ret) {
		shm_attempt_active_failed(attempt, -ret);
		return;
	}
	conn = shm_attempt_connect(attempt, peer, &hello, 0);
	shm_attempt_drop(attempt);
	if (!conn) {
		shm_attempt_failed(ep, peer, FI_ENOMEM);
		return;
	}
	peer->instance = hello.instance;
	shm_peer_connected(peer, conn);
}

void shm_attempt_poll(struct shm_attempt *attempt)
{
	shm_attempt_active_ready(&attempt->base.watch, EPOLLIN);
}

static int attempt_send_hello(struct shm_attempt *attempt, int segment_fd)
{
	struct shm_hello hello = shm_attempt_hello(attempt->ep, SHM_HELLO);

	return shm_hello_send(attempt->base.watch.fd, &hello, segment_fd);
}

/* Does a later attempt fail as well? */
static bool attempt_is_lasting(int err)
{
	return err == -EPERM || err == -EACCES || err == -ENOSYS || err == -ENOSPC;
}

/* There is no memory for a connection: operations do not wait for what does not
 * change. */
static void attempt_no_segment(struct shm_ep *ep, struct shm_peer *peer, int err)
{
	if (attempt_is_lasting(err) && !wf_list_empty(&peer->remote.pending))
		wf_remote_denied(&ep->peers->remotes, &peer->remote, -err);
	shm_attempt_failed(ep, peer, -err);
	if (!attempt_is_lasting(err))
		return;
	if (!ep->peers->explained)
		shm_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"no shared memory of %zu bytes for a connection: %s\n",
			sizeof(struct shm_segment),
			err == -ENOSPC ? "the limit of file sizes (ulimit -f)"
				       : "memfd_create is not permitted");
	ep->peers->explained = true;
}

/* Connect to the listening socket of @peer. The first attempt asks for the name itself,
 * unless other names were missing just now. */
static int attempt_find_socket(struct shm_ep *ep, struct shm_peer *peer, int *ret_fd)
{
	struct shm_listing *listing = &ep->peers->listing;
	int ret;

	if ((peer->missed || shm_listing_is_young(listing)) &&
		!shm_listing_may_have(listing, peer->name)) {
		peer->missed = true;
		return -ENOENT;
	}
	ret = shm_socket_connect(peer->name, ret_fd);
	peer->missed = ret == -ENOENT || ret == -ECONNREFUSED;
	return ret;
}

int shm_attempt_start(struct shm_ep *ep, struct shm_peer *peer)
{
	struct shm_segment *segment = NULL;
	struct shm_attempt *attempt;
	int fd, segment_fd, ret = attempt_find_socket(ep, peer, &fd);

	if (ret == -ENOENT || ret == -ECONNREFUSED) {
		wf_remote_refused(&ep->peers->remotes, &peer->remote, wf_now_ns());
		return ret;
	}
	if (ret)
		goto err_failed;
	ret = shm_segment_new(&segment_fd, &segment);
	if (ret) {
		shm_socket_close(fd);
		attempt_no_segment(ep, peer, ret);
		return ret;
	}
	attempt = shm_attempt_new(ep, fd);
	if (!attempt) {
		ret = -FI_ENOMEM;
		goto err_segment;
	}
	attempt->segment = segment;
	attempt->peer = peer;
	attempt->base.watch.ready = shm_attempt_active_ready;
	peer->attempt = attempt;
	ret = shm_socket_peer(fd, &attempt->pid);
	if (!ret)
		ret = attempt_send_hello(attempt, segment_fd);
	(void)wf_sys_close(segment_fd);
	if (!ret)
		ret = wf_watch_set(&ep->watches, &attempt->base.watch, EPOLLIN);
	if (!ret)
		return 0;
	shm_attempt_drop(attempt);
	shm_attempt_failed(ep, peer, -ret);
	return ret;

err_segment:
	shm_segment_unmap(segment);
	(void)wf_sys_close(segment_fd);
	shm_socket_close(fd);
err_failed:
	shm_attempt_failed(ep, peer, -ret);
	return ret;
}
