/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_REFUSE_H
#define TESTS_UNIT_REFUSE_H

/*
 * Calls of the C library that fail when a test says so. A test that includes this is
 * linked with refuse_link_args, by which the calls of all that is linked statically come
 * here.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* Of this thread. */
static _Thread_local struct {
	/* The call; "memory": all that allocate; "resources": these, and those that make
	 * descriptors for events, threads, and hooks for a fork; NULL: none. */
	const char *call;
	unsigned int first; /* the first one that fails; 0: none, they are counted */
	unsigned int count; /* how many fail */
	int code;           /* errno of those */
	unsigned int calls; /* calls so far */
	const char *path;   /* opened in place of any other; NULL: none */
	bool paused;        /* calls succeed, and are not counted */
} refuse;

/* Let @count calls of @call, from the @first one on, fail with @code. */
static inline void refuse_from(
	const char *call, unsigned int first, unsigned int count, int code)
{
	refuse.first = first;
	refuse.count = count;
	refuse.code = code;
	refuse.calls = 0;
	refuse.call = call;
}

static inline void refuse_one(const char *call, unsigned int nth, int code)
{
	refuse_from(call, nth, 1, code);
}

/* No more calls fail. Did one? */
static inline bool refuse_end(void)
{
	refuse.call = NULL;
	return refuse.first && refuse.calls >= refuse.first;
}

static inline bool refuse_is_resource(const char *call)
{
	static const char *const resources[] = { "memory", "eventfd", "epoll_create1",
		"pthread_create", "wf_fork_hook_add" };

	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
		if (!strcmp(call, resources[i]))
			return true;
	return false;
}

static inline bool refuse_is_meant(const char *call)
{
	if (!refuse.call || refuse.paused)
		return false;
	return !strcmp(refuse.call, "resources") ? refuse_is_resource(call)
						 : !strcmp(refuse.call, call);
}

/* Called by each call that may fail. True: this one fails, with errno set. */
static inline bool refuse_this(const char *call)
{
	if (!refuse_is_meant(call))
		return false;
	refuse.calls++;
	if (!refuse.first || refuse.calls < refuse.first ||
		refuse.calls - refuse.first >= refuse.count)
		return false;
	errno = refuse.code;
	return true;
}

/* The lowest descriptor that is free: the same as before where none was left open. */
static inline int refuse_next_fd(void)
{
	int fd = dup(STDIN_FILENO);

	(void)close(fd);
	return fd;
}

/* Let each call of @what that @call_ makes fail, one at a time, until all succeed.
 * @check_ is what holds after each failure; no descriptor stays open. */
#define REFUSE_EACH(what, code_, call_, check_)                                        \
	do {                                                                           \
		int next_ = refuse_next_fd();                                          \
                                                                                       \
		for (unsigned int nth_ = 1;; nth_++) {                                 \
			refuse_one(what, nth_, code_);                                 \
			call_;                                                         \
			if (!refuse_end()) {                                           \
				assert_true(nth_ > 1);                                 \
				break;                                                 \
			}                                                              \
			check_;                                                        \
			assert_int_equal(refuse_next_fd(), next_);                     \
		}                                                                      \
	} while (0)

#define REFUSE_EXPORTED __attribute__((visibility("default")))

/* TYPE NAME(PARAMETERS), known to the linker as SYMBOL; one that is refused returns
 * FAILED. */
#define REFUSE_CALL(type, name, symbol, failed, parameters, arguments)                 \
	REFUSE_EXPORTED type __real_##symbol parameters;                               \
	REFUSE_EXPORTED type __wrap_##symbol parameters;                               \
	type __wrap_##symbol parameters                                                \
	{                                                                              \
		return refuse_this(name) ? failed : __real_##symbol arguments;         \
	}

REFUSE_CALL(void *, "memory", malloc, NULL, (size_t size), (size))
REFUSE_CALL(void *, "memory", calloc, NULL, (size_t count, size_t size), (count, size))
REFUSE_CALL(void *, "memory", realloc, NULL, (void *block, size_t size), (block, size))
REFUSE_CALL(void *, "memory", reallocarray, NULL,
	(void *block, size_t count, size_t size), (block, count, size))
REFUSE_CALL(void *, "memory", aligned_alloc, NULL, (size_t alignment, size_t size),
	(alignment, size))
REFUSE_CALL(int, "memory", posix_memalign, ENOMEM,
	(void **ret, size_t alignment, size_t size), (ret, alignment, size))
REFUSE_CALL(char *, "memory", strdup, NULL, (const char *text), (text))
REFUSE_CALL(
	char *, "memory", strndup, NULL, (const char *text, size_t len), (text, len))
REFUSE_CALL(int, "memory", vasprintf, -1, (char **ret, const char *fmt, va_list args),
	(ret, fmt, args))

REFUSE_EXPORTED int __wrap_asprintf(char **ret, const char *fmt, ...);
int __wrap_asprintf(char **ret, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = __wrap_vasprintf(ret, fmt, args);
	va_end(args);
	return len;
}

REFUSE_CALL(int, "socket", socket, -1, (int family, int type, int protocol),
	(family, type, protocol))
REFUSE_CALL(int, "socketpair", socketpair, -1,
	(int family, int type, int protocol, int *fds), (family, type, protocol, fds))
REFUSE_CALL(int, "bind", bind, -1, (int fd, const struct sockaddr *addr, socklen_t len),
	(fd, addr, len))
REFUSE_CALL(int, "listen", listen, -1, (int fd, int backlog), (fd, backlog))
REFUSE_CALL(int, "getsockname", getsockname, -1,
	(int fd, struct sockaddr *addr, socklen_t *len), (fd, addr, len))
REFUSE_CALL(int, "getsockopt", getsockopt, -1,
	(int fd, int level, int name, void *val, socklen_t *len),
	(fd, level, name, val, len))
REFUSE_CALL(int, "epoll_create1", epoll_create1, -1, (int flags), (flags))
REFUSE_CALL(
	int, "eventfd", eventfd, -1, (unsigned int count, int flags), (count, flags))
REFUSE_CALL(int, "memfd_create", memfd_create, -1,
	(const char *name, unsigned int flags), (name, flags))
REFUSE_CALL(int, "shm_open", shm_open, -1, (const char *name, int flags, mode_t mode),
	(name, flags, mode))
REFUSE_CALL(
	int, "fcntl", fcntl64, -1, (int fd, int command, void *arg), (fd, command, arg))
REFUSE_CALL(int, "fstat", fstat64, -1, (int fd, struct stat *st), (fd, st))
REFUSE_CALL(int, "ftruncate", ftruncate64, -1, (int fd, off_t size), (fd, size))
REFUSE_CALL(int, "getrlimit", getrlimit64, -1, (int resource, void *limit),
	(resource, limit))
REFUSE_CALL(int, "fchmod", fchmod, -1, (int fd, mode_t mode), (fd, mode))
REFUSE_CALL(ssize_t, "read", read, -1, (int fd, void *buf, size_t len), (fd, buf, len))
REFUSE_CALL(ssize_t, "pread", pread64, -1, (int fd, void *buf, size_t len, off_t at),
	(fd, buf, len, at))
REFUSE_CALL(ssize_t, "write", write, -1, (int fd, const void *buf, size_t len),
	(fd, buf, len))
REFUSE_CALL(ssize_t, "pwrite", pwrite64, -1,
	(int fd, const void *buf, size_t len, off_t at), (fd, buf, len, at))
REFUSE_CALL(ssize_t, "getrandom", getrandom, -1,
	(void *buf, size_t len, unsigned int flags), (buf, len, flags))
REFUSE_CALL(int, "openat", openat64, -1,
	(int dir, const char *path, int flags, mode_t mode), (dir, path, flags, mode))
REFUSE_CALL(void *, "mmap", mmap64, (void *)-1,
	(void *addr, size_t len, int prot, int flags, int fd, off_t at),
	(addr, len, prot, flags, fd, at))
REFUSE_CALL(int, "munmap", munmap, -1, (void *addr, size_t len), (addr, len))
REFUSE_CALL(int, "madvise", madvise, -1, (void *addr, size_t len, int advice),
	(addr, len, advice))
/* These return the code. */
REFUSE_CALL(int, "pthread_create", pthread_create, refuse.code,
	(void *thread, const void *attr, void *(*start)(void *), void *arg),
	(thread, attr, start, arg))
REFUSE_CALL(int, "pthread_atfork", pthread_atfork, refuse.code,
	(void (*before)(void), void (*parent)(void), void (*child)(void)),
	(before, parent, child))

REFUSE_EXPORTED int __real_open64(const char *path, int flags, mode_t mode);
REFUSE_EXPORTED int __wrap_open64(const char *path, int flags, mode_t mode);
int __wrap_open64(const char *path, int flags, mode_t mode)
{
	if (refuse_this("open"))
		return -1;
	return __real_open64(refuse.path ? refuse.path : path, flags, mode);
}

REFUSE_EXPORTED FILE *__real_fopen64(const char *path, const char *mode);
REFUSE_EXPORTED FILE *__wrap_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode)
{
	if (refuse_this("fopen"))
		return NULL;
	return __real_fopen64(refuse.path ? refuse.path : path, mode);
}

#endif
