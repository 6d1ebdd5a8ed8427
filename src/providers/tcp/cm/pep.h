/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_PEP_H
#define TCP_PEP_H

#include "providers/tcp/cm/listen.h"
#include "providers/tcp/cm/msg_cm.h"

/*
 * Passive endpoints. They belong to no domain: the threads that read their event queue
 * accept connections and read requests. A complete request becomes an event, and
 * nothing more is read from its socket until the application answers.
 *
 * @lock guards all fields; no other lock is taken under it but the event queue's own.
 */
struct tcp_pep {
	struct fid_pep fid;
	struct wf_fabric *fabric;
	struct fi_info *info;
	struct wf_eq *eq;
	struct wf_progress progress;
	struct wf_lock lock;
	struct tcp_netconf conf;
	union wf_sockaddr name;
	struct tcp_listener listener;
	int epfd;
	bool listening, taken; /* its address belongs to an active endpoint now */
	/* Number of requests that may be open; 0: no limit of the provider's. */
	int backlog;
	struct wf_list asks; /* connections without a whole request, oldest first */
	unsigned int ask_count;
};

/* ask.c */
void tcp_asks_init(struct tcp_pep *pep);
void tcp_asks_drop(struct tcp_pep *pep);
/* Start to accept from the listener, which was just opened. @lock held. 0 or a negative
 * errno. */
int tcp_asks_watch(struct tcp_pep *pep);

#endif
