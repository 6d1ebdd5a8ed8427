/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/incoming.h"

#include "providers/shm/proto/out.h"
#include "providers/shm/proto/rx.h"

bool shm_incoming_decode(
	struct shm_conn *conn, uint64_t head, struct shm_record *ret_rec)
{
	if (wf_unlikely(!shm_record_decode(&conn->in, head, ret_rec)))
		return false;
	return ret_rec->len < SHM_POSITION_MIN ||
	       shm_writer_learn(&conn->out, ret_rec->read_slots, ret_rec->read_bytes);
}

void shm_incoming_refuse(struct shm_conn *conn, const struct shm_record *rec, int ret)
{
	shm_log(FI_LOG_WARN, FI_LOG_EP_DATA,
		"connection to %s closed: what it wrote makes no sense (record of kind "
		"%u, %u bytes)\n",
		shm_conn_name(conn), rec->kind, rec->len);
	shm_conn_fail(conn, -ret);
}

/* 0 or -FI_EPROTO. */
static int incoming_ack(
	struct shm_conn *conn, uint64_t head, struct shm_record *ret_rec)
{
	return shm_incoming_decode(conn, head, ret_rec) ? shm_recv_ack(conn, ret_rec)
							: -FI_EPROTO;
}

void shm_incoming_acks(struct shm_conn *conn)
{
	uint64_t head = conn->polling ? 0 : shm_reader_head(&conn->in);
	struct shm_record rec;
	int ret;

	for (; shm_head_kind(head) == SHM_REC_ACK; head = shm_reader_head(&conn->in)) {
		shm_reader_take(&conn->in);
		ret = incoming_ack(conn, head, &rec);
		if (ret) {
			shm_incoming_refuse(conn, &rec, ret);
			return;
		}
		if (shm_reader_advance(&conn->in))
			shm_out_tell(conn);
	}
}
