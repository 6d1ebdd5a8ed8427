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
	int fd; /* -1: closed; readable when a connection waits */
	/* A spare descriptor for when the process has no other left; -1: in use. */
	int reserve;
	union wf_sockaddr name; /* true address and port */
	/* Set by the owner, or NULL: close a descriptor that is less useful than a new
	 * connection. False: there is none. */
	bool (*free_descriptor)(struct tcp_listener *listener);
};

/* Listen at @addr. Port 0: a port of conf's range, or the kernel's choice. */
int tcp_listen(struct tcp_listener *listener, const union wf_sockaddr *addr,
	const struct tcp_netconf *conf);
void tcp_listener_close(struct tcp_listener *listener);
/* Close the spare descriptor so that the caller can use it, until
 * tcp_listener_take_back. False: it is in use already. */
bool tcp_listener_lend(struct tcp_listener *listener);
void tcp_listener_take_back(struct tcp_listener *listener);

/*
 * Accept a connection, set up as by tcp_sock_setup(). -FI_EAGAIN: none. When the
 * process has no descriptor left, and free_descriptor() finds none, the connection is
 * accepted and closed, so that a listener which is always readable does not keep its
 * thread busy. One thread at a time.
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

/* The two halves of tcp_connect: take a port first, connect from it later. */
int tcp_bound_socket(const union wf_sockaddr *local, const struct tcp_netconf *conf,
	uint32_t tclass, int *ret_fd);
int tcp_connect_bound(int fd, const union wf_sockaddr *dest);

/* Set no delay, keep-alive and traffic class. @tclass as in fi_tx_attr. */
void tcp_sock_setup(
	int fd, int family, const struct tcp_netconf *conf, uint32_t tclass);

/* Options for connections within one machine. The congestion algorithm is chosen before
 * the connection exists, if the address is known by then: timers that an algorithm has
 * started stay. */
void tcp_sock_before_connect(int fd, const union wf_sockaddr *dest);
void tcp_sock_before_listen(int fd, const union wf_sockaddr *addr);
/* Are both ends of a connected socket within this machine's network? */
bool tcp_sock_is_within_host(int fd);
/* Set the same options on a connected socket. True: the connection is within this
 * machine. */
bool tcp_sock_connected(int fd);
/* Hold back (on) or send (off) bytes that do not fill a segment. */
void tcp_sock_cork(int fd, bool on);

/* Bytes that the kernel has and the peer's kernel did not acknowledge. */
struct tcp_sock_debt {
	/* They were sent; else the peer's receive window is closed. */
	bool unacked;
	unsigned int probes;    /* unanswered probes of the closed window */
	unsigned int silent_ms; /* milliseconds since the last acknowledgement */
	unsigned int retries; /* retransmissions in a row without an acknowledgement */
	bool unsent;          /* some bytes were not sent */
};

/* False: all bytes were acknowledged, or the socket is in error. */
bool tcp_sock_owes(int fd, struct tcp_sock_debt *ret);

#endif
