/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PARAMS_COPIES_H
#define TESTS_PARAMS_COPIES_H

/* Copies between processes that the library makes by the kernel, counted in one
 * process. The program's functions come before those of the C library. */
#include <dlfcn.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "sys/compiler.h"

/* A thread of the library may copy as well. */
static _Atomic unsigned long copies;

/* The few bytes that prove who a process is are no copy. */
enum { COPY_MIN = 65 };

#define COPY_CALL(name)                                                                \
	WF_EXPORT ssize_t name(pid_t pid, const struct iovec *own,                     \
		unsigned long own_count, const struct iovec *other,                    \
		unsigned long other_count, unsigned long flags)                        \
	{                                                                              \
		ssize_t (*next)(pid_t, const struct iovec *, unsigned long,            \
			const struct iovec *, unsigned long, unsigned long) =          \
			dlsym(RTLD_NEXT, #name);                                       \
                                                                                       \
		copies += other->iov_len >= COPY_MIN;                                  \
		return next(pid, own, own_count, other, other_count, flags);           \
	}

COPY_CALL(process_vm_readv)
COPY_CALL(process_vm_writev)

#endif
