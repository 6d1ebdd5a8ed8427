/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "providers/verbs/param.h"
#include "providers/verbs/ud/ns.h"
#include "sys/calls.h"

enum { PATIENCE_SECONDS = 2 };

size_t verbs_ns_size(const struct verbs_ns_msg *msg)
{
	if (msg->type == VERBS_NS_QUERY)
		return VERBS_NS_QUERY_SIZE;
	if (msg->type == VERBS_NS_ANSWER && msg->status)
		return VERBS_NS_HEADER;
	return VERBS_NS_SIZE;
}

static int client_connect_to(const struct addrinfo *ai)
{
	const struct timeval patience = { .tv_sec = PATIENCE_SECONDS };
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (wf_sys_connect(fd, ai->ai_addr, ai->ai_addrlen)) {
		int err = -errno;

		(void)wf_sys_close(fd);
		return err;
	}
	return fd;
}

/* Returns a socket that is connected to the server of @node, or a negative errno. */
static int client_open_server(const char *node)
{
	struct addrinfo ask = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	int fd = -FI_ENODATA;
	char port[16];

	(void)snprintf(port, sizeof(port), "%zu", verbs_params.name_server_port);
	if (wf_sys_getaddrinfo(node, port, &ask, &list))
		return fd;
	for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = client_connect_to(ai);
	freeaddrinfo(list);
	return fd;
}

static bool client_receive(int fd, void *to, size_t len)
{
	return wf_sys_recv(fd, to, len, MSG_WAITALL) == (ssize_t)len;
}

static bool client_exchange(
	int fd, const struct verbs_ns_msg *query, struct verbs_ns_msg *ret)
{
	size_t len = verbs_ns_size(query);

	return wf_sys_send(fd, query, len, MSG_NOSIGNAL) == (ssize_t)len &&
	       client_receive(fd, ret, VERBS_NS_HEADER) &&
	       ret->type == VERBS_NS_ANSWER && !ret->status &&
	       client_receive(fd, &ret->service, VERBS_NS_SIZE - VERBS_NS_HEADER);
}

int verbs_ns_query(const char *node, uint16_t service, struct verbs_ud_name *ret)
{
	const struct verbs_ns_msg query = {
		.type = VERBS_NS_QUERY,
		.service = service,
	};
	struct verbs_ns_msg answer;
	int fd = client_open_server(node);
	bool ok;

	if (fd < 0) {
		verbs_log(FI_LOG_INFO, FI_LOG_FABRIC, "no name server at %s: %s\n",
			node, fi_strerror(-fd));
		return -FI_ENODATA;
	}
	ok = client_exchange(fd, &query, &answer);
	(void)wf_sys_close(fd);
	if (ok)
		*ret = answer.name;
	else
		verbs_log(FI_LOG_INFO, FI_LOG_FABRIC,
			"the name server at %s knows no service %u\n", node, service);
	return ok ? 0 : -FI_ENODATA;
}

/* Send a message to the server of this host. 0 or a negative errno; -FI_ECONNREFUSED:
 * no process of this host serves. */
static int client_send_message(const struct verbs_ud *ud, enum verbs_ns_type type)
{
	const struct verbs_ns_msg msg = {
		.type = (uint8_t)type,
		.service = ud->name.service,
		.name = ud->name,
	};
	int fd = client_open_server("127.0.0.1"), err = 0;

	if (fd < 0)
		return fd;
	if (wf_sys_send(fd, &msg, sizeof(msg), MSG_NOSIGNAL) != (ssize_t)sizeof(msg))
		err = -FI_EIO;
	(void)wf_sys_close(fd);
	return err;
}

void verbs_ns_register(struct verbs_ud *ud)
{
	int err;

	if (!verbs_params.use_name_server || !ud->name.service)
		return;
	/* Another process may have taken the port meanwhile, which is as good. */
	ud->serves = !verbs_ns_serve();
	err = client_send_message(ud, VERBS_NS_ADD);
	ud->registered = !err;
	if (err)
		verbs_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"service %u is not registered with the name server: %s\n",
			ud->name.service, fi_strerror(-err));
}

void verbs_ns_unregister(struct verbs_ud *ud)
{
	if (ud->registered)
		(void)client_send_message(ud, VERBS_NS_REMOVE);
	if (ud->serves)
		verbs_ns_stop();
	ud->registered = ud->serves = false;
}
