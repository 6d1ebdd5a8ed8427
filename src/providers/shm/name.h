/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_NAME_H
#define SHM_NAME_H

#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>

#include "sys/addrstr.h"

/*
 * What endpoints are called. Names are in the one spelling of sys/addrstr.h and padded,
 * as address vectors keep them. Their sockets are in a directory (dir.h).
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

/* The path of the socket of endpoint @name in directory @dir: the name, spelled for a
 * file, or a hash where it is too long. -ENAMETOOLONG: @len is less than any struct
 * sockaddr_un has room for. */
int shm_name_path(const char *dir, const char *name, char *path, size_t len);

/*
 * Is @node, as fi_getinfo was given it for a peer, on a machine that there is, so that
 * it may be a name of this one? An address without a format has to be a number, what
 * an endpoint goes by, or a host's name. -FI_ENODATA, logged: nobody can be there.
 */
int shm_name_known(const char *node, uint64_t flags);

#endif
