/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "providers/tcp/cm/pep.h"
#include "sys/calls.h"
#include "sys/clock.h"

/* A connection to a passive endpoint whose request is not complete. */
struct ask {
	struct wf_list link;
	int fd;                 /* the socket; -1: it belongs to the request now */
	union wf_sockaddr from; /* address from which the peer connected */
	struct tcp_cm cm;       /* state of the exchange */
};

enum { ACCEPTS = 64, EVENTS_MAX = 64 };

static void ask_drop(struct tcp_pep *pep, struct ask *ask)
{
	pep->ask_count--;
	wf_list_remove(&ask->link);
	if (ask->fd >= 0)
		(void)wf_sys_close(ask->fd);
	free(ask);
}

static void ask_reject(struct ask *ask)
{
	(void)tcp_cm_reject(&ask->cm, TCP_REASON_BUSY, NULL, 0);
	(void)shutdown(ask->fd, SHUT_RDWR);
}

/* The request is complete: report it to the application, which owns it from now on. */
static void ask_hand_over(struct tcp_pep *pep, struct ask *ask)
{
	struct tcp_connreq *req = NULL;
	union wf_sockaddr own;
	socklen_t own_len = sizeof(own);

	(void)epoll_ctl(pep->epfd, EPOLL_CTL_DEL, ask->fd, NULL);
	if (!getsockname(ask->fd, &own.sa, &own_len))
		req = tcp_connreq_new(ask->fd, &ask->from, &ask->cm);
	if (req) {
		ask->fd = -1;
		wf_pep_report(&pep->base, &req->base,
			&(struct wf_cm_arrival){ &own, &ask->from,
				tcp_cm_data(&ask->cm), ask->cm.msg.data_len });
	} else {
		ask_reject(ask);
	}
	ask_drop(pep, ask);
}

static void ask_go_on(struct tcp_pep *pep, struct ask *ask, int ret)
{
	struct epoll_event event = { .data.ptr = ask };

	if (ret > 0) {
		ask_hand_over(pep, ask);
	} else if (ret) {
		(void)shutdown(ask->fd, SHUT_RDWR);
		ask_drop(pep, ask);
	} else {
		event.events = tcp_cm_events(&ask->cm);
		(void)epoll_ctl(pep->epfd, EPOLL_CTL_MOD, ask->fd, &event);
	}
}

static void ask_accept_one(struct tcp_pep *pep, int fd, const union wf_sockaddr *from)
{
	struct tcp_cm_own own = {
		.features = tcp_msg_features(pep->base.info),
		.instance = tcp_msg_instance(),
		.timeout_ms = pep->conf.connect_ms,
	};
	struct epoll_event event = { .events = EPOLLIN };
	struct ask *ask = calloc(1, sizeof(*ask));

	if (!ask) {
		(void)wf_sys_close(fd);
		return;
	}
	ask->fd = fd;
	ask->from = *from;
	wf_list_push(&pep->asks, &ask->link);
	pep->ask_count++;
	event.data.ptr = ask;
	if (epoll_ctl(pep->epfd, EPOLL_CTL_ADD, fd, &event)) {
		ask_drop(pep, ask);
		return;
	}
	tcp_cm_start_passive(&ask->cm, fd, &own);
	ask_go_on(pep, ask, tcp_cm_progress(&ask->cm));
}

static void ask_accept_all(struct tcp_pep *pep)
{
	union wf_sockaddr from;
	int fd;

	for (int i = 0; i < ACCEPTS; i++) {
		if (tcp_listener_accept(&pep->listener, &pep->conf,
			    pep->base.info->tx_attr->tclass, &fd, &from))
			return;
		ask_accept_one(pep, fd, &from);
	}
}

static void ask_drop_silent(struct tcp_pep *pep, struct ask *ask)
{
	tcp_cm_log_silent(&ask->cm);
	ask_drop(pep, ask);
}

static bool ask_free_descriptor(struct tcp_listener *listener)
{
	struct tcp_pep *pep = wf_container_of(listener, struct tcp_pep, listener);
	struct ask *ask;

	if (wf_list_empty(&pep->asks))
		return false;
	ask = wf_list_entry(pep->asks.next, struct ask, link);
	if (!tcp_cm_silent(&ask->cm, wf_now_ns()))
		return false;
	ask_drop_silent(pep, ask);
	return true;
}

static void ask_check_deadlines(struct tcp_pep *pep)
{
	uint64_t now;

	if (wf_list_empty(&pep->asks))
		return;
	now = wf_now_ns();
	wf_list_foreach_safe(link, &pep->asks)
	{
		struct ask *ask = wf_list_entry(link, struct ask, link);

		if (now >= ask->cm.deadline_ns)
			ask_go_on(pep, ask, tcp_cm_progress(&ask->cm));
		else if (pep->ask_count > TCP_SILENT_MAX &&
			 tcp_cm_silent(&ask->cm, now))
			ask_drop_silent(pep, ask);
	}
}

static struct tcp_pep *ask_pep_of_item(struct wf_progress *item)
{
	return wf_container_of(item, struct tcp_pep, base.item);
}

static void ask_pep_run(struct wf_progress *item)
{
	struct tcp_pep *pep = ask_pep_of_item(item);
	struct epoll_event events[EVENTS_MAX];
	bool ready = false;
	int n;

	if (!wf_trylock(&pep->base.lock))
		return;
	n = wf_sys_epoll_wait(pep->epfd, events, EVENTS_MAX, 0);
	/* Handle requests before the listener, because accepting may drop some of
	 * them. */
	for (int i = 0; i < n; i++) {
		struct ask *ask = events[i].data.ptr;

		if (ask)
			ask_go_on(pep, ask, tcp_cm_progress(&ask->cm));
		else
			ready = true;
	}
	if (ready)
		ask_accept_all(pep);
	ask_check_deadlines(pep);
	wf_unlock(&pep->base.lock);
}

static int ask_pep_wait_fd(struct wf_progress *item)
{
	return ask_pep_of_item(item)->epfd;
}

void tcp_asks_init(struct tcp_pep *pep)
{
	wf_list_init(&pep->asks);
	pep->base.item =
		(struct wf_progress){ .run = ask_pep_run, .wait_fd = ask_pep_wait_fd };
}

void tcp_asks_drop(struct tcp_pep *pep)
{
	while (!wf_list_empty(&pep->asks))
		ask_drop(pep, wf_list_entry(pep->asks.next, struct ask, link));
}

int tcp_asks_watch(struct tcp_pep *pep)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };

	if (epoll_ctl(pep->epfd, EPOLL_CTL_ADD, pep->listener.fd, &event))
		return -errno;
	pep->listener.free_descriptor = ask_free_descriptor;
	return 0;
}
