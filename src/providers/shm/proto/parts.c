/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/parts.h"

#include "providers/shm/proto/out.h"
#include "providers/shm/proto/remote_op.h"
#include "providers/shm/proto/request.h"
#include "providers/shm/proto/withdraw.h"

static bool parts_is_mapped(struct shm_conn *conn, uint64_t key)
{
	struct shm_window *window = NULL;

	return shm_remote_find(conn, key, &window) != SHM_REACH_MEMORY || window->at;
}

bool shm_parts_is_possible(
	struct shm_conn *conn, const struct wf_op *op, const struct shm_step *step)
{
	/* The target would count each part. */
	return op->kind == WF_OP_WRITE && op->rma_count == 1 &&
	       op->len > SHM_REMOTE_SMALL_WRITE && !(op->flags & FI_INJECT) &&
	       !shm_remote_tells(op, step) && !shm_withdraw_is_silent(conn) &&
	       !parts_is_mapped(conn, op->rma->key);
}

static struct shm_tx *part_new(struct shm_conn *conn, struct shm_tx *whole)
{
	size_t len = WF_MIN(
		whole->local.len - whole->done, (uint64_t)SHM_REMOTE_SMALL_WRITE);
	struct shm_tx *part = shm_tx_blank(conn->ep);

	if (!part) {
		shm_conn_fail(conn, FI_ENOMEM);
		return NULL;
	}
	wf_list_init(&part->link);
	part->op = WF_OP_WRITE;
	part->addr = whole->addr;
	part->request.by_lane = true;
	part->parts.whole = whole;
	part->local.len = len;
	part->local.count = (uint8_t)shm_iov_rest(whole->local.iov, whole->local.count,
		whole->done, len, part->local.iov);
	part->seg_count = 1;
	part->seg[0] = (struct fi_rma_iov){
		.addr = whole->seg[0].addr + whole->done,
		.len = len,
		.key = whole->seg[0].key,
	};
	return part;
}

int shm_parts_send(struct shm_conn *conn, struct shm_tx *tx)
{
	struct shm_tx *part;

	/* A fence is behind it from now on. */
	tx->begun = true;
	while (tx->done < tx->local.len) {
		part = part_new(conn, tx);
		if (!part)
			return SHM_FULL;
		if (shm_request_send(conn, part, SHM_REC_WRITE, 0, part->local.len) !=
			SHM_SENT) {
			shm_tx_drop_id(conn, part);
			shm_tx_free(conn->ep, part);
			return SHM_FULL;
		}
		shm_tx_settle_later(conn, part);
		tx->done += part->local.len;
		tx->parts.count++;
	}
	shm_tx_settle(conn, tx, 0);
	return SHM_SENT;
}
