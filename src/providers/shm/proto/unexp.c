/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/unexp.h"

#include <string.h>

#include "providers/shm/conn/peer.h"
#include "providers/shm/proto/answers.h"
#include "providers/shm/proto/bulk.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/pieces.h"

/* Unexpected messages: the functions of struct wf_unexp_ops (objects/conn/unexp.h). The
 * payload of a saved message is in memory, in the sender's memory (SHM_UNEXP_RTS), or
 * arriving in pieces (SHM_UNEXP_COMING). */

static struct shm_conn *shm_unexp_conn_of(struct wf_unexp_conn *unexp)
{
	return wf_container_of(unexp, struct shm_conn, unexp);
}

static bool unexp_is_tagged(const struct shm_record *rec)
{
	return rec->kind == SHM_REC_TAGGED || rec->kind == SHM_REC_TAGGED_RTS;
}

struct wf_srx_unexpected *shm_unexp_new(struct shm_conn *conn,
	const struct shm_record *rec, struct fi_peer_rx_entry *entry, size_t size)
{
	if (rec->flags & SHM_FLAG_DATA) {
		entry->cq_data = rec->data;
		entry->flags |= FI_REMOTE_CQ_DATA;
	}
	return wf_unexp_save(&conn->ep->unexp, &conn->unexp, &conn->peer->remote,
		unexp_is_tagged(rec) ? FI_TAGGED : FI_MSG, entry, size);
}

static bool unexp_is_coming(const struct wf_srx_unexpected *saved)
{
	return wf_unexp_state(saved) == SHM_UNEXP_COMING;
}

static struct shm_waiting unexp_waiting_of(struct wf_srx_unexpected *saved)
{
	struct shm_waiting waiting;

	memcpy(&waiting, wf_srx_payload(saved), sizeof(waiting));
	return waiting;
}

static size_t shm_unexp_size_of(const struct wf_srx_unexpected *saved)
{
	return unexp_is_coming(saved) ? saved->len : sizeof(struct shm_waiting);
}

static int shm_unexp_start(struct wf_unexp_conn *unexp, struct wf_srx_unexpected *saved,
	struct fi_peer_rx_entry *entry)
{
	struct shm_waiting waiting;

	if (unexp_is_coming(saved)) {
		shm_pieces_match(shm_unexp_conn_of(unexp), saved, entry);
		return 0;
	}
	waiting = unexp_waiting_of(saved);
	return shm_bulk_start(shm_unexp_conn_of(unexp), &waiting.rts, entry,
		waiting.flags, entry->cq_data);
}

static void shm_unexp_discard(
	struct wf_unexp_conn *unexp, struct wf_srx_unexpected *saved)
{
	if (unexp_is_coming(saved))
		shm_pieces_match(shm_unexp_conn_of(unexp), saved, NULL);
	else
		shm_answer_ack(
			shm_unexp_conn_of(unexp), unexp_waiting_of(saved).rts.id);
}

static void shm_unexp_matched(struct wf_unexp_conn *unexp, uint64_t id)
{
	shm_answer_ack(shm_unexp_conn_of(unexp), id);
}

static void shm_unexp_flush(struct wf_unexp_conn *unexp)
{
	struct shm_conn *conn = shm_unexp_conn_of(unexp);

	if (!conn->queue.idle)
		shm_out_flush(conn);
}

/* A saved message may outlive its connection: the index of the peer is then that of the
 * peer's name in the AV. */
static fi_addr_t unexp_index_of(struct wf_ep *ep, struct wf_remote *remote)
{
	const struct shm_peer *peer = shm_peer_of(remote);

	return peer->conn ? shm_conn_index(peer->conn)
			  : wf_av_index(ep->av, peer->name, SHM_NAME_MAX);
}

static const void *unexp_name_of(const struct wf_remote *remote, size_t *ret_len)
{
	const char *name = shm_peer_of(remote)->name;

	*ret_len = strlen(name) + 1;
	return name;
}

const struct wf_unexp_ops shm_unexp_ops = {
	.index = unexp_index_of,
	.name = unexp_name_of,
	.size = shm_unexp_size_of,
	.matched = shm_unexp_matched,
	.start = shm_unexp_start,
	.discard = shm_unexp_discard,
	.flush = shm_unexp_flush,
};
