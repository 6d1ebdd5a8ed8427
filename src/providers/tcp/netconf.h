/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_NETCONF_H
#define TCP_NETCONF_H

/* The parameters of sockets and of connecting. */
struct tcp_netconf {
	int port_low, port_high; /* both 0: the kernel chooses */
	int nodelay;             /* -1: on, unless the traffic class is bulk */
	int connect_ms;          /* tcp_cm_own.timeout_ms */
	int refused_ms;          /* patience with a host that has no such endpoint */
	int reply_ms;            /* tcp_cm_own.reply_ms */
	int keepalive_ms;        /* a host silent for that long is dead; 0: never */
};

/* Register them; once, when the provider is loaded. */
void tcp_netconf_define(void);

/* Read them anew. Values out of range are logged and replaced by the default. */
struct tcp_netconf tcp_netconf_read(void);

#endif
