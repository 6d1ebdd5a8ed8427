/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/shm/proto/id.h"
#include "providers/shm/proto/rx.h"
#include "providers/shm/proto/withdraw.h"

/* Peers' answers to RMA and atomic operations, and acknowledgements of messages. */

int shm_recv_resp(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_tx *tx = shm_id_find(conn, rec->word, SHM_ID_TX);

	if (!tx || (tx->op != WF_OP_FETCH && tx->op != WF_OP_COMPARE) ||
		wf_iov_len(tx->result, tx->atomic.result_count) != rec->len)
		return -FI_EPROTO;
	if (wf_likely(tx->atomic.result_count == 1))
		shm_copy(tx->result[0].iov_base, rec->blob, rec->len);
	else
		(void)wf_iov_scatter(
			tx->result, tx->atomic.result_count, rec->blob, rec->len);
	shm_tx_settle(conn, tx, 0);
	return 0;
}

/* May an acknowledgement without data end the operation? */
static bool results_may_end(const struct shm_tx *tx)
{
	return tx->op != WF_OP_COUNT && tx->op != WF_OP_FETCH &&
	       tx->op != WF_OP_COMPARE && (tx->op != WF_OP_READ || !tx->local.len);
}

int shm_recv_ack(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_tx *tx;
	uint64_t id;

	if (rec->len % sizeof(id))
		return -FI_EPROTO;
	for (size_t at = 0; at < rec->len; at += sizeof(id)) {
		memcpy(&id, rec->blob + at, sizeof(id));
		tx = shm_id_find(conn, id, SHM_ID_TX);
		if (!tx || !results_may_end(tx))
			return -FI_EPROTO;
		shm_tx_settle(conn, tx, 0);
	}
	return 0;
}

int shm_recv_error(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_tx *tx = shm_id_find(conn, rec->word, SHM_ID_TX);
	uint32_t code;
	int err;

	if (rec->len != sizeof(code))
		return -FI_EPROTO;
	memcpy(&code, rec->blob, sizeof(code));
	if (code == SHM_WITHDRAWN)
		return shm_withdraw_confirm(conn, tx);
	/* Answers to the peer's operations are not refused. */
	if (!tx || tx->op == WF_OP_COUNT)
		return -FI_EPROTO;
	err = code && code < FI_ERRNO_MAX ? (int)code : FI_EIO;
	shm_tx_settle(conn, tx, err);
	return 0;
}
