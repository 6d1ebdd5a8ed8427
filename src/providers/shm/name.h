/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_NAME_H
#define SHM_NAME_H

#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>

#include "sys/addrstr.h"

/*
 * What endpoints are called, and where their sockets are: in a directory of /dev/shm
 * that belongs to this user alone. Names are in the one spelling of sys/addrstr.h and
 * padded, as address vectors keep them.
 */
enum { SHM_NAME_MAX = WF_ADDRSTR_MAX };

/*
 * The name of a new endpoint: info->src_addr, or one made up after the process. As many
 * endpoints may come from one info, what begins with "fi_shm://" is followed by
 * ":<user>:<number>", with another number at each call: who finds a name taken asks
 * again. -FI_EINVAL, logged: too long then, or no name at all.
 */
int shm_name_make(const struct fi_info *info, char *ret_name);

/* A name that an application gives (fi_setname), as it is. -FI_EINVAL, logged. */
int shm_name_read(const void *addr, size_t len, char *ret_name);

/* The path of the socket of endpoint @name, which only depends on that and the user:
 * the name, spelled for a file, or a hash where it is too long. -ENAMETOOLONG: @len is
 * less than any struct sockaddr_un has room for. */
int shm_name_path(const char *name, char *path, size_t len);

/* The path of a file in the directory. -ENAMETOOLONG: that is none of ours. */
int shm_name_at(const char *file, char *path, size_t len);

/*
 * The directory, made if need be: a descriptor, which may be locked (flock) to be alone
 * in changing it. -EACCES: it is not ours alone. -ENOENT: somebody removed it just now.
 * Other errors of the system: /dev/shm is full, read-only or not there. All are logged.
 */
int shm_name_dir(void);
/* The same below @root instead of /dev/shm. */
int shm_name_dir_in(const char *root);

/*
 * Is @node, as fi_getinfo was given it for a peer, on a machine that there is, so that
 * it may be a name of this one? An address without a format has to be a number, what
 * an endpoint goes by, or a host's name. -FI_ENODATA, logged: nobody can be there.
 */
int shm_name_known(const char *node, uint64_t flags);

/* May there be a directory? 0 or a negative errno; makes nothing. */
int shm_name_usable(void);

#endif
