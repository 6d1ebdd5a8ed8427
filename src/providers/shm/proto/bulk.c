/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/bulk.h"

#include "providers/shm/proto/answers.h"
#include "providers/shm/proto/deliver.h"
#include "providers/shm/proto/id.h"
#include "providers/shm/proto/out.h"
#include "sys/clock.h"

/*
 * Rendezvous messages, and other streams of DATA records.
 *
 * When a message is matched, the receiver sends a clear to send (CTS), and the sender
 * writes the payload into the lane while the receiver reads the earlier pieces: two
 * copies at the same time, through memory that stays in the cache, are mostly faster
 * than one.
 *
 * A sender that makes no progress does not write, however. After a while the receiver
 * then reads the payload from the sender's memory, if the kernel permits it; messages
 * of FI_SHM_CMA_SIZE bytes and more are read at once. The message's token in the
 * segment decides which end moves the payload: it contains the id of the message until
 * one end exchanges it for 0. (Later messages use the word with other ids, so a late
 * exchange fails.) Without a clear to send the sender never takes it, so a receiver
 * that reads at once leaves its line where it is.
 */

static struct shm_sink *bulk_new_sink(struct shm_conn *conn)
{
	struct shm_sink *sink = wf_pool_get(&conn->ep->sink_pool);

	if (!sink) {
		shm_conn_fail(conn, FI_ENOMEM);
		return NULL;
	}
	*sink = (struct shm_sink){ .conn = conn };
	wf_list_init(&sink->pull_link);
	wf_list_push(&conn->arriving.sinks, &sink->link);
	return sink;
}

static void bulk_free_sink(struct shm_sink *sink)
{
	if (sink->id)
		shm_id_free(sink->conn, sink->id);
	wf_list_remove(&sink->pull_link);
	wf_list_remove(&sink->link);
	wf_pool_put(&sink->conn->ep->sink_pool, sink);
}

void shm_bulk_clear(struct shm_sink *sink)
{
	if (!sink->id)
		sink->id = shm_id_new(sink->conn, SHM_ID_SINK, sink);
	if (!sink->id) {
		shm_conn_fail(sink->conn, FI_ENOMEM);
		return;
	}
	shm_answer_send(
		sink->conn, SHM_REC_CTS, sink->request, &sink->id, sizeof(sink->id));
}

bool shm_bulk_is_whole(const struct shm_rts *rts)
{
	uint64_t left = rts->len;

	for (uint32_t i = 0; i < rts->count; i++) {
		if (rts->iov[i].len > left)
			return false;
		left -= rts->iov[i].len;
	}
	return !left;
}

void shm_bulk_set_source(struct shm_sink *sink, const struct shm_rts *rts)
{
	sink->request = rts->id;
	sink->len = rts->len;
	sink->token = rts->token;
	sink->from_count = (uint8_t)rts->count;
	for (uint32_t i = 0; i < rts->count; i++)
		sink->from[i] = (struct iovec){ (void *)(uintptr_t)rts->iov[i].base,
			rts->iov[i].len };
}

void shm_bulk_add_pull(struct shm_sink *sink)
{
	struct shm_ep *ep = sink->conn->ep;

	ep->chores = true;
	wf_list_push(&ep->pulls, &sink->pull_link);
	shm_out_poll_soon(ep);
}

static void bulk_set_buffers(
	struct shm_sink *sink, const struct fi_peer_rx_entry *entry)
{
	struct shm_span *to = &sink->to;

	to->count = (uint8_t)WF_MIN(entry->count, (size_t)SHM_IOV_LIMIT);
	for (unsigned int i = 0; i < to->count; i++) {
		to->iov[i] = entry->iov[i];
		to->len += entry->iov[i].iov_len;
	}
}

int shm_bulk_start(struct shm_conn *conn, const struct shm_rts *rts,
	struct fi_peer_rx_entry *entry, uint8_t flags, uint64_t data)
{
	struct shm_sink *sink = bulk_new_sink(conn);
	/* Without a token only the sender may move the payload. */
	bool may_read = conn->process.cma && rts->token < SHM_TOKENS;

	if (!sink) {
		wf_srx_fail(&conn->ep->ep, entry, 0, 0, 0, data, FI_ADDR_NOTAVAIL,
			FI_ENOMEM);
		return 0;
	}
	sink->entry = entry;
	shm_bulk_set_source(sink, rts);
	sink->data = data;
	sink->flags = flags;
	bulk_set_buffers(sink, entry);
	sink->to.past = shm_is_past(rts->len);
	if (may_read)
		shm_bulk_add_pull(sink);
	sink->pull = may_read && sink->len >= shm_params.cma_size;
	if (sink->pull)
		return 0;
	sink->asked_ns = wf_now_ns();
	shm_bulk_clear(sink);
	return 0;
}

void shm_bulk_finish(struct shm_sink *sink)
{
	struct shm_conn *conn = sink->conn;

	if (sink->pull || sink->flags & SHM_FLAG_ACK)
		shm_answer_ack(conn, sink->request);
	shm_deliver_done(conn, sink->entry, sink->flags, sink->len, sink->data);
	bulk_free_sink(sink);
}

struct shm_sink *shm_bulk_write(struct shm_conn *conn, uint64_t request)
{
	struct shm_sink *sink = bulk_new_sink(conn);

	if (sink)
		sink->request = request;
	return sink;
}

void shm_bulk_free(struct shm_sink *sink)
{
	bulk_free_sink(sink);
}

void shm_bulk_end(struct shm_conn *conn, int err, bool quiet)
{
	conn->arriving.writing = NULL;
	while (!wf_list_empty(&conn->arriving.sinks)) {
		struct shm_sink *sink =
			wf_list_entry(conn->arriving.sinks.next, struct shm_sink, link);

		if (sink->entry)
			shm_deliver_end(conn, sink->entry, err, quiet);
		bulk_free_sink(sink);
	}
}
