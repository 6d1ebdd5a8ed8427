/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LISTEN_H
#define TCP_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "providers/tcp/netconf.h"
#include "sys/sockaddr.h"

/*
 * Sockets that listen and sockets that connect. All are non-blocking and closed on
 * exec. Functions answer 0 or a negative errno.
 */
enum { TCP_LISTEN_BACKLOG = 4096 };

struct tcp_listener {
	int fd;      /* -1: closed. Poll it for reading. */
	int reserve; /* a descriptor to spare, for when all are used; -1: in use */
	union wf_sockaddr name; /* true address, with the port */
	/* Of the owner, may be NULL: close something less useful than a new connection.
	 * False: there is nothing. */
	bool (*free_descriptor)(struct tcp_listener *listener);
};

/* Listen at @addr. Port 0: one of the range, or the kernel's choice. */
int tcp_listen(struct tcp_listener *listener, const union wf_sockaddr *addr,
	const struct tcp_netconf *conf);
void tcp_listener_close(struct tcp_listener *listener);
/* The spare descriptor is free for another use, until it is taken back. False: it is in
 * use already. */
bool tcp_listener_lend(struct tcp_listener *listener);
void tcp_listener_take_back(struct tcp_listener *listener);

/*
 * The next connection, set up as by tcp_sock_setup(). -FI_EAGAIN: none. When the
 * process has no descriptor left, and free_descriptor() finds none, the connection is
 * closed and the next one accepted, so that a listener which is always readable does
 * not keep its thread busy. One thread at a time.
 */
int tcp_listener_accept(struct tcp_listener *listener, const struct tcp_netconf *conf,
	uint32_t tclass, int *ret_fd, union wf_sockaddr *ret_peer);

/*
 * Start to connect from @local (NULL or a wildcard: any host) to @dest. Where @local
 * has no port, it is the kernel's choice, or one of the range where there is one.
 * Whether it succeeds is seen by tcp_cm_progress().
 */
int tcp_connect(const union wf_sockaddr *local, const union wf_sockaddr *dest,
	const struct tcp_netconf *conf, uint32_t tclass, int *ret_fd);

/* The two halves of tcp_connect: take a port first, connect from it later. */
int tcp_bound_socket(const union wf_sockaddr *local, const struct tcp_netconf *conf,
	uint32_t tclass, int *ret_fd);
int tcp_connect_bound(int fd, const union wf_sockaddr *dest);

/* No delay, keep-alive, traffic class. @tclass as in fi_tx_attr. */
void tcp_sock_setup(
	int fd, int family, const struct tcp_netconf *conf, uint32_t tclass);

/* What suits connections within one machine. The algorithm is chosen before they are
 * made, where that can be known: timers that one has started stay for good. */
void tcp_sock_before_connect(int fd, const union wf_sockaddr *dest);
void tcp_sock_before_listen(int fd, const union wf_sockaddr *addr);
/* Is it one? */
bool tcp_sock_connected(int fd);
/* Hold back what does not fill a segment, or let it go. */
void tcp_sock_cork(int fd, bool on);

/* What is with the kernel and was not acknowledged by the other one. */
struct tcp_sock_debt {
	bool unacked;           /* it was sent; else the other end's window is closed */
	unsigned int probes;    /* of the closed window, unanswered */
	unsigned int silent_ms; /* since the last acknowledgement of anything */
	unsigned int retries;   /* of what was sent, in a row and unanswered */
	bool unsent;            /* some of it has not been sent */
};

/* False: nothing, or the socket is beyond being asked. */
bool tcp_sock_owes(int fd, struct tcp_sock_debt *ret);

#endif
