/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_SOCKADDR_H
#define WF_SYS_SOCKADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Internet socket addresses, IPv4 and IPv6. A pointer to struct sockaddr that comes
 * from outside is passed through wf_sockaddr_read() once, which checks length and
 * family; everything else works on the checked union.
 */
union wf_sockaddr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Longest text of any form below, with the terminating NUL:
 * fi_sockaddr_in6://[ffff:...:255.255.255.255%4294967295]:65535 */
#define WF_SOCKADDR_STRLEN 96

/* Copies @len bytes at @addr. -EINVAL: too short for its family (or for any);
 * -EAFNOSUPPORT: neither AF_INET nor AF_INET6. Alignment does not matter. */
int wf_sockaddr_read(const void *addr, size_t len, union wf_sockaddr *ret);

/* sizeof of the family's struct; 0 for another family. */
size_t wf_sockaddr_len(const union wf_sockaddr *sa);

/* Equal: host, port and, for IPv6 addresses of link scope, the interface. Equal
 * addresses have equal hashes. */
bool wf_sockaddr_equal(const union wf_sockaddr *a, const union wf_sockaddr *b);
bool wf_sockaddr_same_host(const union wf_sockaddr *a, const union wf_sockaddr *b);
uint64_t wf_sockaddr_hash(const union wf_sockaddr *sa);

bool wf_sockaddr_is_wildcard(const union wf_sockaddr *sa);
bool wf_sockaddr_is_loopback(const union wf_sockaddr *sa);
bool wf_sockaddr_is_linklocal(const union wf_sockaddr *sa);
bool wf_sockaddr_is_multicast(const union wf_sockaddr *sa);

uint16_t wf_sockaddr_port(const union wf_sockaddr *sa);
void wf_sockaddr_set_port(union wf_sockaddr *sa, uint16_t port);

/* The wildcard address of @family (AF_INET or AF_INET6), port 0. */
union wf_sockaddr wf_sockaddr_any(int family);

/* A numeric host: "192.0.2.1", "fe80::1", "fe80::1%eth0", "fe80::1%2". Port 0.
 * -EINVAL when it is anything else, such as a name to be looked up. */
int wf_sockaddr_from_host(const char *host, union wf_sockaddr *ret);

/* "0" to "65535", decimal digits only; -EINVAL otherwise. */
int wf_sockaddr_parse_port(const char *text, uint16_t *ret);

/* fi_sockaddr_in://192.0.2.1:80, fi_sockaddr_in6://[fe80::1%2]:80: at most @len
 * bytes, always terminated. Both return @buf. */
char *wf_sockaddr_uri(const union wf_sockaddr *sa, char *buf, size_t len);
/* 192.0.2.1, fe80::1%2 */
char *wf_sockaddr_host(const union wf_sockaddr *sa, char *buf, size_t len);

/* The network that @sa is in, "192.0.2.0/24": host bits beyond @prefix cleared. */
char *wf_sockaddr_network(
	const union wf_sockaddr *sa, unsigned int prefix, char *buf, size_t len);

#endif
