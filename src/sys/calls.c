/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/calls.h"

#include <unistd.h>

#include "sys/cancel.h"

int wf_sys_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	int state = wf_cancel_off();
	int ret = accept4(fd, addr, len, flags);

	wf_cancel_set(state);
	return ret;
}

int wf_sys_close(int fd)
{
	int state = wf_cancel_off();
	int ret = close(fd);

	wf_cancel_set(state);
	return ret;
}

int wf_sys_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	int state = wf_cancel_off();
	int ret = connect(fd, addr, len);

	wf_cancel_set(state);
	return ret;
}

int wf_sys_epoll_wait(int epfd, struct epoll_event *events, int count, int timeout_ms)
{
	int state = wf_cancel_off();
	int ret = epoll_wait(epfd, events, count, timeout_ms);

	wf_cancel_set(state);
	return ret;
}

int wf_sys_getaddrinfo(const char *node, const char *service,
	const struct addrinfo *hints, struct addrinfo **ret_list)
{
	int state = wf_cancel_off();
	int ret = getaddrinfo(node, service, hints, ret_list);

	wf_cancel_set(state);
	return ret;
}

ssize_t wf_sys_getrandom(void *buf, size_t len, unsigned int flags)
{
	int state = wf_cancel_off();
	ssize_t ret = getrandom(buf, len, flags);

	wf_cancel_set(state);
	return ret;
}

int wf_sys_nanosleep(const struct timespec *time, struct timespec *left)
{
	int state = wf_cancel_off();
	int ret = nanosleep(time, left);

	wf_cancel_set(state);
	return ret;
}

int wf_sys_open(const char *path, int flags)
{
	int state = wf_cancel_off();
	int ret = open(path, flags);

	wf_cancel_set(state);
	return ret;
}

int wf_sys_openat(int dir, const char *path, int flags, mode_t mode)
{
	int state = wf_cancel_off();
	int ret = openat(dir, path, flags, mode);

	wf_cancel_set(state);
	return ret;
}

int wf_sys_posix_fallocate(int fd, off_t offset, off_t len)
{
	int state = wf_cancel_off();
	int ret = posix_fallocate(fd, offset, len);

	wf_cancel_set(state);
	return ret;
}

int wf_sys_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	int state = wf_cancel_off();
	int ret = poll(fds, count, timeout_ms);

	wf_cancel_set(state);
	return ret;
}

ssize_t wf_sys_pread(int fd, void *buf, size_t len, off_t offset)
{
	int state = wf_cancel_off();
	ssize_t ret = pread(fd, buf, len, offset);

	wf_cancel_set(state);
	return ret;
}

int wf_sys_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	int state = wf_cancel_off();
	int ret = pthread_cond_wait(cond, mutex);

	wf_cancel_set(state);
	return ret;
}

int wf_sys_cond_timedwait(
	pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	int state = wf_cancel_off();
	int ret = pthread_cond_timedwait(cond, mutex, until);

	wf_cancel_set(state);
	return ret;
}

int wf_sys_join(pthread_t thread)
{
	int state = wf_cancel_off();
	int ret = pthread_join(thread, NULL);

	wf_cancel_set(state);
	return ret;
}

ssize_t wf_sys_pwrite(int fd, const void *buf, size_t len, off_t offset)
{
	int state = wf_cancel_off();
	ssize_t ret = pwrite(fd, buf, len, offset);

	wf_cancel_set(state);
	return ret;
}

ssize_t wf_sys_read(int fd, void *buf, size_t len)
{
	int state = wf_cancel_off();
	ssize_t ret = read(fd, buf, len);

	wf_cancel_set(state);
	return ret;
}

ssize_t wf_sys_readv(int fd, const struct iovec *iov, int count)
{
	int state = wf_cancel_off();
	ssize_t ret = readv(fd, iov, count);

	wf_cancel_set(state);
	return ret;
}

ssize_t wf_sys_recv(int fd, void *buf, size_t len, int flags)
{
	int state = wf_cancel_off();
	ssize_t ret = recv(fd, buf, len, flags);

	wf_cancel_set(state);
	return ret;
}

ssize_t wf_sys_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
	socklen_t *from_len)
{
	int state = wf_cancel_off();
	ssize_t ret = recvfrom(fd, buf, len, flags, from, from_len);

	wf_cancel_set(state);
	return ret;
}

ssize_t wf_sys_recvmsg(int fd, struct msghdr *msg, int flags)
{
	int state = wf_cancel_off();
	ssize_t ret = recvmsg(fd, msg, flags);

	wf_cancel_set(state);
	return ret;
}

ssize_t wf_sys_send(int fd, const void *buf, size_t len, int flags)
{
	int state = wf_cancel_off();
	ssize_t ret = send(fd, buf, len, flags);

	wf_cancel_set(state);
	return ret;
}

ssize_t wf_sys_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	int state = wf_cancel_off();
	ssize_t ret = sendmsg(fd, msg, flags);

	wf_cancel_set(state);
	return ret;
}

ssize_t wf_sys_sendto(int fd, const void *buf, size_t len, int flags,
	const struct sockaddr *to, socklen_t to_len)
{
	int state = wf_cancel_off();
	ssize_t ret = sendto(fd, buf, len, flags, to, to_len);

	wf_cancel_set(state);
	return ret;
}

ssize_t wf_sys_write(int fd, const void *buf, size_t len)
{
	int state = wf_cancel_off();
	ssize_t ret = write(fd, buf, len);

	wf_cancel_set(state);
	return ret;
}
