/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_CONN_AWAIT_H
#define WF_SHM_CONN_AWAIT_H

#include <stdbool.h>

#include "providers/shm/conn/conn.h"

/* Wait while @busy(@arg) is true: the peer is in the middle of an access, which ends by
 * itself unless the peer's process dies or is stopped. True: the access has ended, or
 * the peer has died. False: neither within a second. Called with or without locks. */
bool shm_await(
	const struct shm_conn *conn, bool (*busy)(const void *arg), const void *arg);

#endif
