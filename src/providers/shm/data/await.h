/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_AWAIT_H
#define SHM_AWAIT_H

#include <stdbool.h>

#include "providers/shm/conn/conn.h"

/* Wait while the peer is in the middle of an access that ends by itself, unless its
 * process has died or been stopped in it: @busy returns true with @arg. False: the peer
 * lives, and has not ended the access within a second. Called with or without locks. */
bool shm_await(
	const struct shm_conn *conn, bool (*busy)(const void *arg), const void *arg);

#endif
