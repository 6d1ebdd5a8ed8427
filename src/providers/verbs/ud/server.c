/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/verbs/param.h"
#include "providers/verbs/ud/ns.h"
#include "sys/calls.h"
#include "sys/clock.h"

/*
 * The name server: one thread with all sockets. Any host may ask; only processes of
 * this host may register. A client that is silent, or one beyond the limit, is dropped.
 */

enum {
	CLIENTS = 64,
	/* Time limit from connecting to the end of the request, in milliseconds. */
	CLIENT_MS = 2000,
	ENTRIES_MAX = 65536, /* number of possible services */
	/* Descriptors that are polled besides the clients: @end and the listener. */
	FIXED = 2,
};

/* A registered service. */
struct entry {
	struct wf_list link;
	int32_t service;           /* number of the service */
	struct verbs_ud_name name; /* the endpoint that offers it */
};

/* A connection whose request is not complete. */
struct client {
	int fd;               /* -1: the entry is free */
	bool local;           /* It comes from this host, and may register. */
	size_t got;           /* bytes of @msg that have arrived */
	uint64_t deadline_ns; /* time (wf_now_ns) when it is dropped */
	struct verbs_ns_msg msg;
};

/* Used by the thread only, except @end. */
struct server {
	pthread_t thread;
	int listener;           /* listening socket */
	int end;                /* eventfd: readable when the thread has to end */
	struct wf_list entries; /* struct entry, by link */
	size_t entry_count;
	struct client clients[CLIENTS];
};

/* Guards @server and @users. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct server *server;
static unsigned int users;

static struct entry *server_find(struct server *s, int32_t service)
{
	wf_list_foreach(link, &s->entries)
	{
		struct entry *entry = wf_list_entry(link, struct entry, link);

		if (entry->service == service)
			return entry;
	}
	return NULL;
}

/* Find the entry of @service; 0 stands for any. */
static struct entry *server_find_asked(struct server *s, int32_t service)
{
	if (service || wf_list_empty(&s->entries))
		return server_find(s, service);
	return wf_list_entry(s->entries.next, struct entry, link);
}

static void server_add(struct server *s, const struct verbs_ns_msg *msg)
{
	struct entry *entry = server_find(s, msg->service);

	if (!entry && s->entry_count < ENTRIES_MAX) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return;
		entry->service = msg->service;
		wf_list_push(&s->entries, &entry->link);
		s->entry_count++;
	}
	if (entry)
		entry->name = msg->name;
}

static void server_forget(struct server *s, struct entry *entry)
{
	wf_list_remove(&entry->link);
	s->entry_count--;
	free(entry);
}

/* Remove the entry, unless another endpoint has the service meanwhile. */
static void server_drop_entry(struct server *s, const struct verbs_ns_msg *msg)
{
	struct entry *entry = server_find(s, msg->service);

	if (entry && !memcmp(&entry->name, &msg->name, sizeof(msg->name)))
		server_forget(s, entry);
}

static void server_answer(struct server *s, const struct client *client)
{
	const struct entry *entry = server_find_asked(s, client->msg.service);
	struct verbs_ns_msg out = {
		.type = VERBS_NS_ANSWER,
		.status = entry ? 0 : (int32_t)htonl((uint32_t)-ENOENT),
		.service = entry ? entry->service : 0,
	};

	if (entry)
		out.name = entry->name;
	/* The message always fits into the socket's buffer. */
	(void)wf_sys_send(
		client->fd, &out, verbs_ns_size(&out), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void server_obey(struct server *s, const struct client *client)
{
	switch (client->msg.type) {
	case VERBS_NS_QUERY:
		server_answer(s, client);
		break;
	case VERBS_NS_ADD:
		if (client->local)
			server_add(s, &client->msg);
		break;
	case VERBS_NS_REMOVE:
		if (client->local)
			server_drop_entry(s, &client->msg);
		break;
	default:
		break;
	}
}

static void server_drop(struct client *client)
{
	(void)wf_sys_close(client->fd);
	client->fd = -1;
}

/* Number of bytes that the request server_missing_bytes; 0: it is complete. */
static size_t server_missing_bytes(const struct client *client)
{
	if (client->got < VERBS_NS_HEADER)
		return VERBS_NS_HEADER - client->got;
	return verbs_ns_size(&client->msg) - client->got;
}

static void server_receive(struct server *s, struct client *client)
{
	ssize_t n = wf_sys_recv(client->fd, (char *)&client->msg + client->got,
		server_missing_bytes(client), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		client->got += (size_t)n;
	if (n <= 0 || (client->got >= VERBS_NS_HEADER && client->msg.version)) {
		server_drop(client);
	} else if (!server_missing_bytes(client)) {
		server_obey(s, client);
		server_drop(client);
	}
}

static struct client *server_free_client(struct server *s)
{
	for (int i = 0; i < CLIENTS; i++)
		if (s->clients[i].fd < 0)
			return &s->clients[i];
	return NULL;
}

static void server_admit(struct server *s)
{
	union wf_sockaddr from = { 0 };
	socklen_t len = sizeof(from);
	int fd = wf_sys_accept4(
		s->listener, &from.sa, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *client = server_free_client(s);

	if (fd < 0)
		return;
	if (!client) {
		(void)wf_sys_close(fd);
		return;
	}
	*client = (struct client){
		.fd = fd,
		.local = wf_sockaddr_is_loopback(&from),
		.deadline_ns = wf_deadline_ns(CLIENT_MS),
	};
}

static void server_drop_silent(struct server *s)
{
	for (int i = 0; i < CLIENTS; i++)
		if (s->clients[i].fd >= 0 && wf_expired(s->clients[i].deadline_ns))
			server_drop(&s->clients[i]);
}

/* Fill the first FIXED entries, then one for each client; poll ignores those with fd
 * -1. True: there is a client, whose deadline has to be watched. */
static bool server_fill(const struct server *s, struct pollfd *fds)
{
	bool any = false;

	fds[0] = (struct pollfd){ .fd = s->end, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = s->listener, .events = POLLIN };
	for (int i = 0; i < CLIENTS; i++) {
		fds[FIXED + i] =
			(struct pollfd){ .fd = s->clients[i].fd, .events = POLLIN };
		any |= s->clients[i].fd >= 0;
	}
	return any;
}

static void *server_serve(void *arg)
{
	struct pollfd fds[FIXED + CLIENTS];
	struct server *s = arg;

	for (;;) {
		bool any = server_fill(s, fds);

		if (wf_sys_poll(fds, FIXED + CLIENTS, any ? CLIENT_MS : -1) < 0)
			continue;
		if (fds[0].revents)
			return NULL;
		for (int i = 0; i < CLIENTS; i++)
			if (fds[FIXED + i].revents)
				server_receive(s, &s->clients[i]);
		server_drop_silent(s);
		if (fds[1].revents)
			server_admit(s);
	}
}

static int server_listen_at(uint16_t port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
	union wf_sockaddr any = wf_sockaddr_any(AF_INET);
	int err;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	wf_sockaddr_set_port(&any, port);
	if (!bind(fd, &any.sa, sizeof(any.in)) && !listen(fd, CLIENTS))
		return fd;
	err = errno == EADDRINUSE ? -FI_EBUSY : -errno;
	(void)wf_sys_close(fd);
	return err;
}

static int server_start(struct server *s)
{
	int err;

	s->listener = server_listen_at((uint16_t)verbs_params.name_server_port);
	if (s->listener < 0)
		return s->listener;
	s->end = eventfd(0, EFD_CLOEXEC);
	err = s->end < 0 ? -errno : 0;
	wf_list_init(&s->entries);
	for (int i = 0; i < CLIENTS; i++)
		s->clients[i].fd = -1;
	if (!err)
		err = -pthread_create(&s->thread, NULL, server_serve, s);
	if (!err)
		return 0;
	if (s->end >= 0)
		(void)wf_sys_close(s->end);
	(void)wf_sys_close(s->listener);
	return err;
}

/* Called with lock held. */
static int server_open(void)
{
	struct server *s = calloc(1, sizeof(*s));
	int err = s ? server_start(s) : -FI_ENOMEM;

	if (err)
		free(s);
	else
		server = s;
	return err;
}

int verbs_ns_serve(void)
{
	int err = 0;

	(void)pthread_mutex_lock(&lock);
	if (!server)
		err = server_open();
	if (!err)
		users++;
	(void)pthread_mutex_unlock(&lock);
	return err;
}

/* Called with lock held. */
static void server_close(struct server *s)
{
	const uint64_t one = 1;

	(void)!wf_sys_write(s->end, &one, sizeof(one));
	(void)wf_sys_join(s->thread);
	for (int i = 0; i < CLIENTS; i++)
		if (s->clients[i].fd >= 0)
			server_drop(&s->clients[i]);
	while (!wf_list_empty(&s->entries))
		server_forget(s, wf_list_entry(s->entries.next, struct entry, link));
	(void)wf_sys_close(s->listener);
	(void)wf_sys_close(s->end);
	free(s);
}

void verbs_ns_stop(void)
{
	(void)pthread_mutex_lock(&lock);
	if (!--users) {
		server_close(server);
		server = NULL;
	}
	(void)pthread_mutex_unlock(&lock);
}
