/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_WIRE_SEGMENT_H
#define WF_SHM_WIRE_SEGMENT_H

#include "providers/shm/wire/wire.h"

/*
 * The memory of a connection: an anonymous file whose size is sealed. shm_segment_new
 * and shm_segment_map return 0 or a negative errno.
 */
int shm_segment_new(int *ret_fd, struct shm_segment **ret_segment);
/* Map the file that a peer sent. -EINVAL: its size or its seals are wrong. */
int shm_segment_map(int fd, struct shm_segment **ret_segment);
/* Populate the pages that the first messages use, which would cost a page fault each:
 * the slots, and the beginning of the byte rings. */
void shm_segment_warm(struct shm_segment *segment);
void shm_segment_unmap(struct shm_segment *segment);

#endif
