/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_REGION_H
#define SHM_REGION_H

#include "providers/shm/data/wire.h"

/*
 * The memory of a connection: an anonymous file whose size is sealed. shm_region_new
 * and shm_region_map return 0 or a negative errno.
 */
int shm_region_new(int *ret_fd, struct shm_region **ret_region);
/* Map the file that a peer sent. -EINVAL: its size or its seals are wrong. */
int shm_region_map(int fd, struct shm_region **ret_region);
/* Populate the pages that the first messages use, which would cost a page fault each:
 * the slots, and the beginning of the byte rings. */
void shm_region_warm(struct shm_region *region);
void shm_region_unmap(struct shm_region *region);

#endif
