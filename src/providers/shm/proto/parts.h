/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_PARTS_H
#define WF_SHM_PROTO_PARTS_H

#include "providers/shm/copy/remote.h"
#include "providers/shm/proto/tx.h"

/*
 * Long writes into memory that is not mapped. While the target makes progress they go
 * through the lane, where both ends copy at the same time, as *parts*: writes of one
 * record each, which are operations of their own and can be withdrawn like all small
 * ones (withdraw.h). A target that is silent leaves the rest to this endpoint. The
 * write is complete when all of its parts are. ep.lock.
 */

/* Is the write @op, whose regions were found (@step), to be sent in parts? */
bool shm_parts_is_possible(
	struct shm_conn *conn, const struct wf_op *op, const struct shm_step *step);
/* Send parts from tx->done on. The values of shm_out_send_ops. */
int shm_parts_send(struct shm_conn *conn, struct shm_tx *tx);

#endif
