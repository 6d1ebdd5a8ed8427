/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_LOCALITY_H
#define WF_LNX_LOCALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>

/*
 * Identity of the network or machine that a link reaches, as a number that two
 * processes compare. For a link that reaches other machines it is a hash of the
 * fabric's name. For another link it is a hash of the fabric's name, the kernel's boot
 * identifier, and what separates containers on the machine: the network namespace if
 * the link uses IP addresses, else the file system of shared memory objects and the
 * effective user. Host names are not used.
 */
uint64_t lnx_locality_of(const struct fi_info *info);

/* Does the member with @info reach only peers on this machine? */
bool lnx_locality_is_local(const struct fi_info *info);

/* Does the member with @info use shared memory, not sockets? */
bool lnx_locality_is_memory(const struct fi_info *info);

/* Hash of @len bytes, continuing @seed; the same on every machine. */
uint64_t lnx_hash(uint64_t seed, const void *data, size_t len);

#endif
