/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNHEARD_PORT_H
#define TESTS_UNHEARD_PORT_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

/* The first port from @port on at which no socket of this host listens: a peer that
 * says it listens there cannot be asked, and is believed (docs/design/identity.md). */
static inline uint16_t unheard_port(uint16_t port)
{
	for (;; port++) {
		struct sockaddr_in addr = { .sin_family = AF_INET };
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ret;

		addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		addr.sin_port = htons(port);
		ret = bind(fd, (void *)&addr, sizeof(addr));
		(void)close(fd);
		if (!ret)
			return port;
	}
}

#endif
