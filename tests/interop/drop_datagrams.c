/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into a program, this loses every DROP_EVERY-th IP datagram that it sends,
 * and lets it believe that it was sent.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define PUBLIC __attribute__((visibility("default")))

static atomic_uint sends;

static bool is_ip_datagram(int fd)
{
	int type, family;
	socklen_t len = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_DGRAM)
		return false;
	len = sizeof(family);
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len))
		return false;
	return family == AF_INET || family == AF_INET6;
}

static bool lose(int fd)
{
	const char *every = getenv("DROP_EVERY");
	unsigned int n = every ? (unsigned int)atoi(every) : 0;

	if (!n || !is_ip_datagram(fd))
		return false;
	return (atomic_fetch_add(&sends, 1) + 1) % n == 0;
}

static size_t total(const struct msghdr *msg)
{
	size_t i, len = 0;

	for (i = 0; i < msg->msg_iovlen; i++)
		len += msg->msg_iov[i].iov_len;
	return len;
}

PUBLIC ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	ssize_t (*next)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");

	return lose(fd) ? (ssize_t)len : next(fd, buf, len, flags);
}

PUBLIC ssize_t sendto(int fd, const void *buf, size_t len, int flags,
	const struct sockaddr *addr, socklen_t addrlen)
{
	ssize_t (*next)(int, const void *, size_t, int, const struct sockaddr *,
		socklen_t) = dlsym(RTLD_NEXT, "sendto");

	return lose(fd) ? (ssize_t)len : next(fd, buf, len, flags, addr, addrlen);
}

PUBLIC ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t (*next)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");

	return lose(fd) ? (ssize_t)total(msg) : next(fd, msg, flags);
}

/* One by one, so that each datagram counts. */
PUBLIC int sendmmsg(int fd, struct mmsghdr *msgs, unsigned int count, int flags)
{
	unsigned int i;
	ssize_t n;

	for (i = 0; i < count; i++) {
		n = sendmsg(fd, &msgs[i].msg_hdr, flags);
		if (n < 0)
			return i ? (int)i : -1;
		msgs[i].msg_len = (unsigned int)n;
	}
	return (int)count;
}
