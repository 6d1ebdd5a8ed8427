/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_CM_LISTEN_H
#define WF_TCP_CM_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "providers/tcp/netconf.h"
#include "sys/sockaddr.h"

/*
 * Sockets that listen and sockets that connect. All are non-blocking and closed on
 * exec. Functions return 0 or a negative errno unless their comment says otherwise.
 */
enum { TCP_LISTEN_BACKLOG = 4096 };

struct tcp_listener {
	int fd; /* -1: closed; readable when a connection waits */
	/* A spare descriptor, used when the process has no other left; -1: it is in
	 * use. */
	int reserve;
	uint32_t fork_depth;    /* sys/forks.h, of the process that listens */
	union wf_sockaddr name; /* the socket's true address and port */
	/* Set by the owner, or NULL: close a descriptor of a connection that is less
	 * useful than a new one. False: there is none. */
	bool (*free_descriptor)(struct tcp_listener *listener);
};

/* Listen at @addr. Port 0: a port of @conf's range or, without one, the kernel's
 * choice. */
int tcp_listen(struct tcp_listener *listener, const union wf_sockaddr *addr,
	const struct tcp_netconf *conf);
void tcp_listener_close(struct tcp_listener *listener);
/* Close the spare descriptor so that the caller can open another one, until
 * tcp_listener_take_back. False: the spare descriptor is in use already. */
bool tcp_listener_lend(struct tcp_listener *listener);
void tcp_listener_take_back(struct tcp_listener *listener);

/*
 * Accept a connection; its socket is set up by tcp_sock_setup(). -FI_EAGAIN: none
 * waits. When the process has no descriptor left, and free_descriptor() finds none, the
 * connection is accepted and closed, so that a listener which is always readable does
 * not keep its thread busy. Only one thread at a time may call this.
 */
int tcp_listener_accept(struct tcp_listener *listener, const struct tcp_netconf *conf,
	uint32_t tclass, int *ret_fd, union wf_sockaddr *ret_peer);

/*
 * Start to connect from @local (NULL or a wildcard: any host) to @dest. If @local has
 * no port, it is one of conf's range, or the kernel's choice. tcp_cm_progress() reports
 * the result.
 */
int tcp_connect(const union wf_sockaddr *local, const union wf_sockaddr *dest,
	const struct tcp_netconf *conf, uint32_t tclass, int *ret_fd);

/* The two steps of tcp_connect: bind to a port now, connect from it later. */
int tcp_bound_socket(const union wf_sockaddr *local, const struct tcp_netconf *conf,
	uint32_t tclass, int *ret_fd);
int tcp_connect_bound(int fd, const union wf_sockaddr *dest);

/* Set the socket options for no delay, keep-alive and traffic class. @tclass is that of
 * fi_tx_attr. */
void tcp_sock_setup(
	int fd, int family, const struct tcp_netconf *conf, uint32_t tclass);

/* Set the options for connections within one machine on a socket that is not connected
 * yet, if the address is known by then. The congestion algorithm has to be chosen
 * before the connection exists, because the timers of the previous algorithm keep
 * running. */
void tcp_sock_before_connect(int fd, const union wf_sockaddr *dest);
void tcp_sock_before_listen(int fd, const union wf_sockaddr *addr);
/* Are both ends of a connected socket within this machine's network? */
bool tcp_sock_is_within_host(int fd);
/* Set the same options on a connected socket. True: the connection is within this
 * machine. */
bool tcp_sock_connected(int fd);
/* Cork (on) or uncork (off) the socket: hold back the bytes that do not fill a segment,
 * or send them. */
void tcp_sock_cork(int fd, bool on);

/* State of the bytes that the kernel has taken and the peer's kernel has not
 * acknowledged. */
struct tcp_sock_debt {
	/* They have been sent; else the peer's receive window is closed. */
	bool unacked;
	unsigned int probes;    /* unanswered probes of the closed window */
	unsigned int silent_ms; /* milliseconds since the last acknowledgement */
	unsigned int retries; /* retransmissions in a row without an acknowledgement */
	bool unsent;          /* Some of the bytes have not been sent. */
};

/* Get the state of unacknowledged bytes. False: all bytes were acknowledged, or the
 * socket has an error. */
bool tcp_sock_owes(int fd, struct tcp_sock_debt *ret);

#endif
