/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_NETCONF_H
#define WF_TCP_NETCONF_H

/* The parameters of sockets and of connecting. */
struct tcp_netconf {
	int port_low, port_high; /* port range; both 0: the kernel chooses */
	/* 1: on, 0: off, -1: on unless the traffic class is bulk. */
	int nodelay;
	int connect_ms; /* time limit in milliseconds; see tcp_cm_own.timeout_ms */
	/* How long connecting is retried while the peer's host refuses, in
	 * milliseconds. */
	int refused_ms;
	int reply_ms; /* time limit in milliseconds; see tcp_cm_own.reply_ms */
	/* A host that has been silent for so many milliseconds is dead; 0: none is. */
	int keepalive_ms;
};

/* Register the parameters; called once, when the provider is loaded. */
void tcp_netconf_define(void);

/* Read the parameters from the environment. A value out of range is logged and replaced
 * by the default. */
struct tcp_netconf tcp_netconf_read(void);

#endif
