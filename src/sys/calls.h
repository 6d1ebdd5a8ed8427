/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_CALLS_H
#define WF_SYS_CALLS_H

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

/*
 * Calls of the C library that are cancellation points, without being any: a thread that
 * was cancelled in one of them would leave locks held and objects half made. The whole
 * library makes its system calls by these, except for the sleep of objects/wait, in
 * which a thread may be cancelled; tests/structure.py checks that. Arguments, results
 * and errno are those of the function of the C library, which is called, because
 * programs and tools may have put another one in its place.
 */

int wf_sys_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
int wf_sys_close(int fd);
int wf_sys_connect(int fd, const struct sockaddr *addr, socklen_t len);
int wf_sys_epoll_wait(int epfd, struct epoll_event *events, int count, int timeout_ms);
int wf_sys_getaddrinfo(const char *node, const char *service,
	const struct addrinfo *hints, struct addrinfo **ret_list);
ssize_t wf_sys_getrandom(void *buf, size_t len, unsigned int flags);
int wf_sys_nanosleep(const struct timespec *time, struct timespec *left);
int wf_sys_open(const char *path, int flags);
int wf_sys_openat(int dir, const char *path, int flags, mode_t mode);
int wf_sys_posix_fallocate(int fd, off_t offset, off_t len);
int wf_sys_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
ssize_t wf_sys_pread(int fd, void *buf, size_t len, off_t offset);
ssize_t wf_sys_pwrite(int fd, const void *buf, size_t len, off_t offset);
ssize_t wf_sys_read(int fd, void *buf, size_t len);
ssize_t wf_sys_readv(int fd, const struct iovec *iov, int count);
ssize_t wf_sys_recv(int fd, void *buf, size_t len, int flags);
ssize_t wf_sys_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
	socklen_t *from_len);
ssize_t wf_sys_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t wf_sys_send(int fd, const void *buf, size_t len, int flags);
ssize_t wf_sys_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t wf_sys_sendto(int fd, const void *buf, size_t len, int flags,
	const struct sockaddr *to, socklen_t to_len);
ssize_t wf_sys_write(int fd, const void *buf, size_t len);
/* pthread_cond_wait, pthread_cond_timedwait, pthread_join */
int wf_sys_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int wf_sys_cond_timedwait(
	pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until);
int wf_sys_join(pthread_t thread);

/* CLEANUP(wf_close) int fd = ...; see sys/compiler.h. */
static inline void wf_close_p(int *fd)
{
	if (*fd >= 0)
		(void)wf_sys_close(*fd);
}

#endif
