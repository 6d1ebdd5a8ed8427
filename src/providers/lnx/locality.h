/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_LOCALITY_H
#define LNX_LOCALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>

/*
 * Where a link ends, as one number that two processes compare. Links that leave the
 * machine: the name of the fabric. Links that do not: the fabric, the kernel's boot
 * identifier, and what such a link goes through as this process sees it, which in
 * containers is not the whole machine: the network namespace for IP addresses, else
 * the file system of shared memory objects and the user who may open them. Host names
 * mean nothing.
 */
uint64_t lnx_locality_of(const struct fi_info *info);

/* Does the link of @info not leave the machine? */
bool lnx_locality_is_local(const struct fi_info *info);

/* Does it go through shared memory, not through sockets? */
bool lnx_locality_is_memory(const struct fi_info *info);

/* A 64-bit hash of @len bytes that continues @seed, the same on every machine. */
uint64_t lnx_hash(uint64_t seed, const void *data, size_t len);

#endif
