/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into a program, this changes the last byte of every large read into a
 * vector, as a network would that does not check what it carries.
 */
#include <dlfcn.h>
#include <sys/uio.h>

#define PUBLIC __attribute__((visibility("default")))

enum { LARGE = 4096 };

PUBLIC ssize_t readv(int fd, const struct iovec *iov, int count)
{
	ssize_t (*next)(int, const struct iovec *, int) = dlsym(RTLD_NEXT, "readv");
	ssize_t n = next(fd, iov, count);
	size_t at = (size_t)n - 1;

	if (n < LARGE)
		return n;
	for (int i = 0; i < count; at -= iov[i++].iov_len)
		if (at < iov[i].iov_len) {
			((char *)iov[i].iov_base)[at] ^= 1;
			break;
		}
	return n;
}
