/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_NAME_H
#define SHM_NAME_H

#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>

#include "sys/addrstr.h"

/*
 * Names of endpoints. They are spelled as sys/addrstr.h does it and padded with zeros,
 * as address vectors keep them. Their sockets are in a directory (dir.h).
 */
enum { SHM_NAME_MAX = WF_ADDRSTR_MAX };

/* The path of the socket of endpoint @name in directory @dir: the name, spelled for a
 * file, or a hash where it is too long. -ENAMETOOLONG: @len is less than any struct
 * sockaddr_un has space for. */
int shm_name_path(const char *dir, const char *name, char *path, size_t len);

#endif
