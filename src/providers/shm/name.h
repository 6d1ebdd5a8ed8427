/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_NAME_H
#define WF_SHM_NAME_H

#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>

#include "sys/addrstr.h"

/*
 * Names of endpoints. They have the form of sys/addrstr.h, and are padded with zeros as
 * in address vectors. Their sockets are in a directory (dir.h).
 */
enum { SHM_NAME_MAX = WF_ADDRSTR_MAX };

/* The path of the socket of endpoint @name in directory @dir: the name with all other
 * characters escaped, or a hash if it is too long for a file. -ENAMETOOLONG: @len is
 * less than any struct sockaddr_un has space for. */
int shm_name_path(const char *dir, const char *name, char *path, size_t len);

/* For tables of names; FNV-1a. */
uint64_t shm_name_hash(const char *name);

#endif
