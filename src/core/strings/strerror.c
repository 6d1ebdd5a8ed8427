/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <rdma/fi_errno.h>

#include "sys/compiler.h"

/* Scripts compare these texts: keep them to the letter. */
static const char *const texts[] = {
	[FI_EOTHER - FI_ERRNO_OFFSET] = "Unspecified error",
	[FI_ETOOSMALL - FI_ERRNO_OFFSET] = "Provided buffer is too small",
	[FI_EOPBADSTATE - FI_ERRNO_OFFSET] = "Operation not permitted in current state",
	[FI_EAVAIL - FI_ERRNO_OFFSET] = "Error available",
	[FI_EBADFLAGS - FI_ERRNO_OFFSET] = "Flags not supported",
	[FI_ENOEQ - FI_ERRNO_OFFSET] = "Missing or unavailable event queue",
	[FI_EDOMAIN - FI_ERRNO_OFFSET] = "Invalid resource domain",
	[FI_ENOCQ - FI_ERRNO_OFFSET] = "Missing or unavailable completion queue",
	[FI_ECRC - FI_ERRNO_OFFSET] = "CRC error",
	[FI_ETRUNC - FI_ERRNO_OFFSET] = "Truncation error",
	[FI_ENOKEY - FI_ERRNO_OFFSET] = "Required key not available",
	[FI_ENOAV - FI_ERRNO_OFFSET] = "Missing or unavailable address vector",
	[FI_EOVERRUN - FI_ERRNO_OFFSET] = "Queue has been overrun",
	[FI_ENORX - FI_ERRNO_OFFSET] =
		"Receiver not ready, no receive buffers available",
	[FI_ENOMR - FI_ERRNO_OFFSET] = "No more memory registrations available",
	[FI_EFIREWALLADDR - FI_ERRNO_OFFSET] = "Host unreacheable due to firewall",
};

_Static_assert(WF_ARRAY_SIZE(texts) == FI_ERRNO_MAX - FI_ERRNO_OFFSET,
	"every libfabric error has a text");

WF_EXPORT const char *fi_strerror(int errnum)
{
	/* For codes that the C library has no name for: "Unknown error N". */
	static _Thread_local char unknown[64];
	/* Unsigned, so that negating INT_MIN is defined. */
	unsigned int code = errnum < 0 ? -(unsigned int)errnum : (unsigned int)errnum;

	if (code < FI_ERRNO_OFFSET)
		return strerror_r((int)code, unknown, sizeof(unknown));
	code -= FI_ERRNO_OFFSET;
	return code < WF_ARRAY_SIZE(texts) ? texts[code] : texts[0];
}
