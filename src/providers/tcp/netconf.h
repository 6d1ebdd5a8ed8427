/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_NETCONF_H
#define TCP_NETCONF_H

/* The parameters of sockets and of connecting. */
struct tcp_netconf {
	int port_low, port_high; /* both 0: the kernel chooses */
	/* 1: on, 0: off, -1: on unless the traffic class is bulk. */
	int nodelay;
	int connect_ms; /* milliseconds; tcp_cm_own.timeout_ms */
	/* Milliseconds of retries while the peer's host refuses. */
	int refused_ms;
	int reply_ms; /* milliseconds; tcp_cm_own.reply_ms */
	/* Milliseconds of silence after which a host is dead; 0: never. */
	int keepalive_ms;
};

/* Register the parameters; called once, when the provider is loaded. */
void tcp_netconf_define(void);

/* Read the parameters again. A value out of range is logged and replaced by the
 * default. */
struct tcp_netconf tcp_netconf_read(void);

#endif
