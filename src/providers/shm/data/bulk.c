/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "providers/shm/conn/conn.h"
#include "providers/shm/conn/socket.h"
#include "sys/clock.h"

/*
 * Rendezvous messages, and other streams of DATA records.
 *
 * The receiver clears a matched message to be sent (CTS), and the sender writes it into
 * the lane while the receiver reads the earlier pieces: two copies at the same time,
 * through memory that stays in the cache, are faster than one. A sender that makes no
 * progress does not write, though. After PATIENCE_NS the receiver reads the payload
 * from the sender's memory, where the kernel permits that. The message's claim word in
 * the region decides which end moves the payload: it holds the id of the message until
 * one end exchanges it for 0. (Later messages use the word with other ids, so a late
 * exchange fails.)
 */

enum {
	PATIENCE_NS = 30000,
	PULL_STEP = 1 << 20, /* bytes in one progress call */
};

static _Atomic uint64_t *claim_of(
	struct shm_conn *conn, unsigned int side, uint32_t claim)
{
	return &conn->region->claims[side][claim];
}

static bool take_claim(_Atomic uint64_t *claim, uint64_t id)
{
	return atomic_compare_exchange_strong_explicit(
		claim, &id, 0, memory_order_acq_rel, memory_order_relaxed);
}

static struct shm_sink *new_sink(struct shm_conn *conn)
{
	struct shm_sink *sink = calloc(1, sizeof(*sink));

	if (!sink) {
		shm_conn_fail(conn, FI_ENOMEM);
		return NULL;
	}
	sink->conn = conn;
	wf_list_init(&sink->pull_link);
	wf_list_push(&conn->sinks, &sink->link);
	return sink;
}

static void free_sink(struct shm_sink *sink)
{
	if (sink->id)
		shm_id_free(sink->conn, sink->id);
	wf_list_remove(&sink->pull_link);
	wf_list_remove(&sink->link);
	free(sink);
}

static void clear_to_send(struct shm_sink *sink)
{
	shm_out_answer(
		sink->conn, SHM_REC_CTS, sink->request, &sink->id, sizeof(sink->id));
}

static void set_buffers(struct shm_sink *sink, const struct fi_peer_rx_entry *entry)
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
	struct shm_sink *sink = new_sink(conn);

	if (sink)
		sink->id = shm_id_new(conn, SHM_ID_SINK, sink);
	if (!sink || !sink->id) {
		if (sink)
			free_sink(sink);
		wf_srx_fail(&conn->ep->ep, entry, 0, 0, 0, data, FI_ADDR_NOTAVAIL,
			FI_ENOMEM);
		shm_conn_fail(conn, FI_ENOMEM);
		return 0;
	}
	sink->entry = entry;
	sink->request = rts->id;
	sink->len = rts->len;
	sink->data = data;
	sink->flags = flags;
	sink->claim = rts->claim;
	set_buffers(sink, entry);
	sink->to.past = shm_is_past(rts->len);
	sink->from_count = (uint8_t)rts->count;
	for (uint32_t i = 0; i < rts->count; i++)
		sink->from[i] = (struct iovec){ (void *)(uintptr_t)rts->iov[i].base,
			rts->iov[i].len };
	if (conn->cma && rts->claim < SHM_CLAIMS) {
		conn->ep->chores = true;
		wf_list_push(&conn->ep->pulls, &sink->pull_link);
		shm_poll_soon(conn->ep);
	}
	if (conn->cma && rts->claim < SHM_CLAIMS && rts->len >= shm_params.cma_size) {
		sink->pull = take_claim(
			claim_of(conn, !conn->side, sink->claim), sink->request);
		if (sink->pull)
			return 0;
	}
	sink->asked_ns = wf_now_ns();
	clear_to_send(sink);
	return 0;
}

/* The payload is complete. */
static void finish(struct shm_sink *sink)
{
	struct shm_conn *conn = sink->conn;

	if (sink->pull || sink->flags & SHM_FLAG_ACK)
		shm_tx_ack(conn, sink->request);
	shm_recv_done(conn, sink->entry, sink->flags, sink->len, sink->data);
	free_sink(sink);
}

/* ---- out of the sender's memory ---- */

/* The rest of @iov behind @offset, at most @max bytes. */
static size_t rest(const struct iovec *iov, size_t count, uint64_t offset, size_t max,
	struct iovec *to)
{
	size_t n = 0;

	for (size_t i = 0; i < count && max; i++) {
		size_t len = iov[i].iov_len;

		if (offset >= len) {
			offset -= len;
			continue;
		}
		len = WF_MIN(len - offset, max);
		to[n].iov_base = (uint8_t *)iov[i].iov_base + offset;
		to[n++].iov_len = len;
		max -= len;
		offset = 0;
	}
	return n;
}

/* Read the next piece; returns its bytes, or 0 if the memory cannot be read. The same
 * system call reads the peer's probe value, which proves that the process with that
 * number is still the peer. */
static size_t pull_piece(const struct shm_sink *sink)
{
	const struct shm_conn *conn = sink->conn;
	struct iovec to[1 + SHM_IOV_LIMIT], from[1 + SHM_IOV_LIMIT];
	uint64_t probe = 0;
	size_t to_count =
		rest(sink->to.iov, sink->to.count, sink->done, PULL_STEP, to + 1);
	size_t from_count =
		rest(sink->from, sink->from_count, sink->done, PULL_STEP, from + 1);
	ssize_t ret;

	to[0] = (struct iovec){ &probe, sizeof(probe) };
	from[0] = (struct iovec){ (void *)(uintptr_t)conn->probe_addr, sizeof(probe) };
	ret = process_vm_readv(conn->pid, to, 1 + to_count, from, 1 + from_count, 0);
	if (ret < (ssize_t)sizeof(probe) || probe != conn->probe_value)
		return 0;
	return (size_t)ret - sizeof(probe);
}

static void pull(struct shm_sink *sink)
{
	uint64_t len = WF_MIN(sink->len, sink->to.len);
	struct shm_conn *conn = sink->conn;
	size_t got = sink->done < len ? pull_piece(sink) : 0;

	if (!got && sink->done < len) {
		/* No permission any more, or wrong addresses: have the sender write the
		 * payload into the lane instead. */
		conn->cma = false;
		sink->pull = false;
		sink->done = 0;
		wf_list_remove(&sink->pull_link);
		atomic_store_explicit(claim_of(conn, !conn->side, sink->claim),
			sink->request, memory_order_release);
		clear_to_send(sink);
		return;
	}
	sink->done += got;
	wf_progress_found_some(&conn->ep->ep.progress);
	if (sink->done < len)
		return;
	/* If the peer's socket is open now, the peer and its buffers existed during the
	 * whole read. */
	if (shm_socket_ended(conn->watch.fd))
		shm_conn_fail(conn, FI_ECONNRESET);
	else
		finish(sink);
}

void shm_bulk_progress(struct shm_ep *ep)
{
	uint64_t now = wf_now_ns();

	wf_list_foreach_safe(link, &ep->pulls)
	{
		struct shm_sink *sink = wf_list_entry(link, struct shm_sink, pull_link);
		struct shm_conn *conn = sink->conn;

		if (!sink->pull && now - sink->asked_ns < PATIENCE_NS)
			continue;
		if (!sink->pull && !take_claim(claim_of(conn, !conn->side, sink->claim),
					   sink->request)) {
			wf_list_remove(&sink->pull_link);
			continue;
		}
		sink->pull = true;
		pull(sink);
	}
}

/* ---- cleared ---- */

int shm_recv_cts(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_tx *tx = shm_id_find(conn, rec->word, SHM_ID_TX);
	uint64_t sink;

	if (rec->len != sizeof(sink))
		return -FI_EPROTO;
	memcpy(&sink, rec->blob, sizeof(sink));
	/* The receiver read the payload from memory meanwhile. */
	if (!tx)
		return 0;
	if (!tx->asked)
		return -FI_EPROTO;
	if (tx->begun ||
		(tx->claim && !take_claim(claim_of(conn, conn->side, tx->claim - 1u),
				      tx->id)))
		return 0;
	tx->begun = true;
	tx->sink = sink;
	wf_list_remove(&tx->link);
	wf_list_push(&conn->streams, &tx->link);
	shm_out_dirty(conn);
	return 0;
}

/* ---- streams ---- */

static int data_for_write(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_sink *sink = conn->writing;

	if (!sink || rec->len > sink->len - sink->done || !rec->len)
		return -FI_EPROTO;
	if (!sink->err)
		sink->err = shm_span_put(
			conn->ep, &sink->to, sink->done, rec->blob, rec->len);
	sink->done += rec->len;
	if (sink->done == sink->len)
		shm_access_written(conn, sink);
	return 0;
}

static int data_for_read(
	struct shm_conn *conn, struct shm_tx *tx, const struct shm_record *rec)
{
	if (tx->op != WF_OP_READ || rec->len > tx->local.len - tx->done || !rec->len)
		return -FI_EPROTO;
	(void)shm_span_put(conn->ep, &tx->local, tx->done, rec->blob, rec->len);
	tx->done += rec->len;
	if (tx->done == tx->local.len)
		shm_tx_settle(conn, tx, 0);
	return 0;
}

int shm_recv_data(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_sink *sink;
	struct shm_tx *tx;

	wf_progress_found_some(&conn->ep->ep.progress);
	if (!rec->word)
		return data_for_write(conn, rec);
	tx = shm_id_find(conn, rec->word, SHM_ID_TX);
	if (tx)
		return data_for_read(conn, tx, rec);
	sink = shm_id_find(conn, rec->word, SHM_ID_SINK);
	if (!sink || sink->pull || rec->len > sink->len - sink->done || !rec->len)
		return -FI_EPROTO;
	(void)shm_span_put(conn->ep, &sink->to, sink->done, rec->blob, rec->len);
	sink->done += rec->len;
	if (sink->done == sink->len)
		finish(sink);
	return 0;
}

struct shm_sink *shm_bulk_write(struct shm_conn *conn, uint64_t request)
{
	struct shm_sink *sink = new_sink(conn);

	if (sink)
		sink->request = request;
	return sink;
}

void shm_bulk_free(struct shm_sink *sink)
{
	free_sink(sink);
}

void shm_bulk_end(struct shm_conn *conn, int err, bool quiet)
{
	struct wf_ep *ep = &conn->ep->ep;

	conn->writing = NULL;
	while (!wf_list_empty(&conn->sinks)) {
		struct shm_sink *sink =
			wf_list_entry(conn->sinks.next, struct shm_sink, link);

		if (sink->entry && quiet)
			wf_srx_free_entry(sink->entry);
		else if (sink->entry)
			wf_srx_fail(ep, sink->entry, 0, 0, 0, 0, shm_conn_source(conn),
				err);
		free_sink(sink);
	}
}
