/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_MUST_H
#define BENCH_MUST_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <rdma/fi_errno.h>

/* End the program if @ret, the result of the call @what, is negative. */
static inline void must(ssize_t ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-ret));
	exit(1);
}

#endif
