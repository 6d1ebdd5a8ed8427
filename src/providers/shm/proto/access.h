/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_ACCESS_H
#define WF_SHM_PROTO_ACCESS_H

#include "providers/shm/proto/bulk.h"

/* All bytes of a peer's write have arrived: end it, and free @sink. ep.lock and the
 * lock of the receive context are held. */
void shm_access_written(struct shm_conn *conn, struct shm_sink *sink);

#endif
