/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_SMALL_H
#define WF_SHM_PROTO_SMALL_H

#include "providers/shm/conn/conn.h"

/* Write an RMA or atomic operation that fits one slot into the lane at once. True:
 * *@ret is the result of the application's call. False: the operation does not fit, or
 * operations are queued before it, and the caller has to queue it. ep.lock is held. */
bool shm_small_start(struct shm_conn *conn, const struct wf_op *op, ssize_t *ret);

#endif
