/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/answers.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/withdraw.h"

/* Writes the queued records into the lane, as far as there is space. */

/* False: some are left. */
static bool flush_lane(struct shm_conn *conn)
{
	struct shm_queue *queue = &conn->queue;

	do {
		queue->full = !shm_answer_flush_acks(conn) || !shm_answer_flush(conn) ||
			      !shm_out_send_ops(conn) || !shm_out_send_streams(conn);
		if (queue->full)
			return false;
	} while (shm_out_may_send_ops(conn));
	/* Streams may have added acknowledgements and answers. */
	return !queue->ack_count && wf_list_empty(&queue->answers);
}

void shm_out_flush(struct shm_conn *conn)
{
	struct shm_queue *queue = &conn->queue;
	bool done;

	if (conn->err)
		return;
	done = flush_lane(conn) && !shm_withdraw_is_asking(conn);
	if (done)
		queue->idle = wf_list_empty(&queue->txq) && !conn->err;
	if (done && !queue->held)
		wf_list_remove(&queue->dirty_link);
}
