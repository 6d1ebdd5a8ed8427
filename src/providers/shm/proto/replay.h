/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_REPLAY_H
#define WF_SHM_PROTO_REPLAY_H

#include "providers/shm/conn/conn.h"

/* The peer of @conn, which was taken down, has died. Messages that it never processed,
 * and for which the application has completions, are queued for the next peer with its
 * name. ep.lock is held. */
void shm_replay(struct shm_conn *conn);

#endif
