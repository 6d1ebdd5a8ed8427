/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Error codes, fi_errno(3).
 *
 * Calls return them negated; the err member of CQ and EQ error entries holds them as
 * they are. Codes below FI_ERRNO_OFFSET are the system's own errno values, those from
 * it on exist only here.
 */
#ifndef FI_ERRNO_H
#define FI_ERRNO_H

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Codes shared with the system. */
#define FI_SUCCESS       0
#define FI_EPERM         EPERM
#define FI_ENOENT        ENOENT
#define FI_EINTR         EINTR
#define FI_EIO           EIO
#define FI_E2BIG         E2BIG
#define FI_EBADF         EBADF
#define FI_EAGAIN        EAGAIN
#define FI_ENOMEM        ENOMEM
#define FI_EACCES        EACCES
#define FI_EFAULT        EFAULT
#define FI_EBUSY         EBUSY
#define FI_ENODEV        ENODEV
#define FI_EINVAL        EINVAL
#define FI_EMFILE        EMFILE
#define FI_ENOSPC        ENOSPC
#define FI_ENOSYS        ENOSYS
#define FI_EWOULDBLOCK   EWOULDBLOCK
#define FI_ENOMSG        ENOMSG
#define FI_ENODATA       ENODATA
#define FI_EPROTO        EPROTO
#define FI_EOVERFLOW     EOVERFLOW
#define FI_EMSGSIZE      EMSGSIZE
#define FI_ENOPROTOOPT   ENOPROTOOPT
#define FI_EOPNOTSUPP    EOPNOTSUPP
#define FI_EADDRINUSE    EADDRINUSE
#define FI_EADDRNOTAVAIL EADDRNOTAVAIL
#define FI_ENETDOWN      ENETDOWN
#define FI_ENETUNREACH   ENETUNREACH
#define FI_ECONNABORTED  ECONNABORTED
#define FI_ECONNRESET    ECONNRESET
#define FI_ENOBUFS       ENOBUFS
#define FI_EISCONN       EISCONN
#define FI_ENOTCONN      ENOTCONN
#define FI_ESHUTDOWN     ESHUTDOWN
#define FI_ETIMEDOUT     ETIMEDOUT
#define FI_ECONNREFUSED  ECONNREFUSED
#define FI_EHOSTDOWN     EHOSTDOWN
#define FI_EHOSTUNREACH  EHOSTUNREACH
#define FI_EALREADY      EALREADY
#define FI_EINPROGRESS   EINPROGRESS
#define FI_EREMOTEIO     EREMOTEIO
#define FI_ECANCELED     ECANCELED
#define FI_EKEYREJECTED  EKEYREJECTED

/* Codes of this library. */
#define FI_ERRNO_OFFSET 256

enum {
	FI_EOTHER = FI_ERRNO_OFFSET, /* cause not known more precisely */
	FI_ETOOSMALL,                /* the given buffer is too small */
	FI_EOPBADSTATE,              /* not allowed in the object's present state */
	FI_EAVAIL,                   /* an error entry waits to be read */
	FI_EBADFLAGS,                /* unsupported flag */
	FI_ENOEQ,                    /* no event queue bound */
	FI_EDOMAIN,                  /* objects belong to different domains */
	FI_ENOCQ,                    /* no completion queue bound */
	FI_ECRC,                     /* checksum mismatch */
	FI_ETRUNC,                   /* message longer than the buffer */
	FI_ENOKEY,                   /* key not available */
	FI_ENOAV,                    /* no address vector bound */
	FI_EOVERRUN,                 /* a queue lost entries */
	FI_ENORX,                    /* the peer had no receive buffer */
	FI_ENOMR,                    /* no more memory registrations */
	FI_EFIREWALLADDR,            /* peer cannot be connected to from here */
	FI_ERRNO_MAX,                /* first unused code */
};

/* Text for an error code of either sign. Not to be freed. */
const char *fi_strerror(int errnum);

#ifdef __cplusplus
}
#endif

#endif /* FI_ERRNO_H */
