/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/rx.h"

#include "objects/endpoint/life/deliver.h"
#include "providers/shm/conn/peer.h"
#include "providers/shm/proto/answers.h"
#include "providers/shm/proto/incoming.h"
#include "providers/shm/proto/out.h"

/* Reads records from a lane. */

enum {
	BUDGET = 64, /* limit of records of one connection in one progress call */
	ACKS_MAX = 1 << 16, /* limit of acknowledgements that a peer has not read */
};

static int rx_no_such_kind(struct shm_conn *conn, const struct shm_record *rec)
{
	(void)conn;
	(void)rec;
	return -FI_EPROTO;
}

static int (*const handlers[SHM_REC_KINDS])(
	struct shm_conn *conn, const struct shm_record *rec) = {
	[SHM_REC_NONE] = rx_no_such_kind,
	[SHM_REC_MSG] = shm_recv_msg,
	[SHM_REC_TAGGED] = shm_recv_msg,
	[SHM_REC_RTS] = shm_recv_rts,
	[SHM_REC_TAGGED_RTS] = shm_recv_rts,
	[SHM_REC_CTS] = shm_recv_cts,
	[SHM_REC_DATA] = shm_recv_data,
	[SHM_REC_WRITE] = shm_recv_write,
	[SHM_REC_READ] = shm_recv_read,
	[SHM_REC_ATOMIC] = shm_recv_atomic,
	[SHM_REC_FETCH] = shm_recv_atomic,
	[SHM_REC_COMPARE] = shm_recv_atomic,
	[SHM_REC_RESP] = shm_recv_resp,
	[SHM_REC_ACK] = shm_recv_ack,
	[SHM_REC_ERROR] = shm_recv_error,
	[SHM_REC_DONE] = shm_recv_performed,
	[SHM_REC_GONE] = shm_recv_gone,
};

static __attribute__((noinline)) bool rx_answers_full(struct shm_conn *conn)
{
	const struct wf_budget *budget = &conn->ep->answers;
	size_t bytes = conn->queue.answer_bytes;

	return !wf_budget_fits(budget, bytes, 0) &&
	       (!wf_budget_shares(budget, bytes, 0) ||
		       shm_conn_index(conn) == FI_ADDR_NOTAVAIL);
}

/* Stop reading from a peer that does not read its answers, or that has as much memory
 * for answers or unexpected messages as it may have (objects/conn/budget.h). */
static inline bool rx_choked(struct shm_conn *conn)
{
	return wf_unlikely(conn->queue.ack_count > ACKS_MAX) ||
	       (wf_unlikely(conn->queue.answer_bytes) && rx_answers_full(conn)) ||
	       (wf_unlikely(conn->unexp.bytes) &&
		       !wf_unexp_admits(
			       &conn->ep->unexp, &conn->unexp, &conn->peer->remote, 0));
}

/* Describe a message of @type in one slot, which has remote CQ data if @data is true.
 * False: the caller takes the long path. @sources: the endpoint wants to know where
 * messages come from. */
WF_INLINE bool rx_describe(struct shm_conn *conn, const struct shm_slot *slot,
	uint64_t head, uint64_t type, bool data, bool sources,
	struct wf_srx_arrival *ret_msg)
{
	struct shm_ep *ep = conn->ep;

	*ret_msg = (struct wf_srx_arrival){
		.buf = slot->blob,
		.len = shm_head_len(head),
		.addr = FI_ADDR_UNSPEC,
		.src = FI_ADDR_UNSPEC,
	};
	if (type == FI_TAGGED)
		ret_msg->tag = *(const volatile uint64_t *)&slot->word;
	if (data) {
		ret_msg->data = *(const volatile uint64_t *)&slot->data;
		ret_msg->flags = FI_REMOTE_CQ_DATA;
	}
	if (sources) {
		fi_addr_t index = shm_conn_index(conn);

		ret_msg->addr = wf_ep_srx_source(&ep->ep, index);
		if (ep->unexp.wants.source) {
			if (wf_unlikely(ret_msg->addr == FI_ADDR_NOTAVAIL))
				return false;
			ret_msg->src = wf_ep_source(&ep->ep, index);
		}
	}
	return wf_likely(ret_msg->len <= SHM_INLINE_MAX);
}

/* deliver for a message of @type, with remote CQ data or without: the compiler knows
 * both of frequent messages. */
WF_INLINE bool rx_deliver_as(struct shm_conn *conn, struct wf_delivery to,
	const struct shm_slot *slot, uint64_t head, uint64_t type, const bool data,
	const bool sources)
{
	struct wf_srx_arrival msg;

	return rx_describe(conn, slot, head, type, data, sources, &msg) &&
	       wf_ep_deliver_inline(to, type, &msg);
}

/* The same for a message with data to an endpoint that wants no sources. Out of line,
 * because such messages are rare, and in line they slow down those without data. */
static __attribute__((noinline)) bool rx_deliver_with_data(struct shm_conn *conn,
	const struct shm_slot *slot, uint64_t head, uint64_t type)
{
	struct wf_srx_arrival msg;

	return rx_describe(conn, slot, head, type, true, false, &msg) &&
	       wf_ep_deliver(&conn->ep->ep, type, &msg);
}

/* The fast path of a message in one slot, to an endpoint of which @to.srx is set.
 * False: the caller takes the long path. */
WF_INLINE bool rx_deliver(struct shm_conn *conn, struct wf_delivery to,
	const struct shm_slot *slot, uint64_t head, const bool sources)
{
	uint32_t form = shm_head_form(head);
	uint64_t type = FI_TAGGED;

	if (wf_likely(form == SHM_FORM(SHM_REC_TAGGED, 0)))
		return rx_deliver_as(conn, to, slot, head, FI_TAGGED, false, sources);
	if (form == SHM_FORM(SHM_REC_MSG, 0))
		return rx_deliver_as(conn, to, slot, head, FI_MSG, false, sources);
	if (form == SHM_FORM(SHM_REC_MSG, SHM_FLAG_DATA))
		type = FI_MSG;
	else if (form != SHM_FORM(SHM_REC_TAGGED, SHM_FLAG_DATA))
		return false;
	return sources ? rx_deliver_as(conn, to, slot, head, type, true, true)
		       : rx_deliver_with_data(conn, slot, head, type);
}

static inline bool rx_may_be_withdrawn(uint64_t head)
{
	uint8_t kind = shm_head_kind(head);

	return kind == SHM_REC_WRITE || kind == SHM_REC_READ;
}

/* Handle one record. False: it was malformed, and the connection failed. */
static bool rx_handle(struct shm_conn *conn, uint64_t head)
{
	struct shm_record rec;
	int ret = -FI_EPROTO;

	if (rx_may_be_withdrawn(head))
		head = shm_reader_again(&conn->in, conn->ep->regions.fence);
	if (shm_head_kind(head) == SHM_REC_WRITE && shm_recv_small_write(conn, head))
		return true;
	if (wf_likely(shm_incoming_decode(conn, head, &rec)))
		ret = handlers[rec.kind](conn, &rec);
	if (wf_likely(!ret))
		return true;
	shm_incoming_refuse(conn, &rec, ret);
	return false;
}

/* Which path messages in one slot take. */
enum path { LONG, FAST, FAST_WITH_SOURCES };

/* Read the record with @head and those behind it. Unless @path is LONG, @to.srx is set.
 * Returns their number. */
WF_INLINE unsigned int rx_read_records(struct shm_conn *conn, uint64_t head,
	struct wf_delivery to, const enum path path)
{
	struct shm_reader *in = &conn->in;
	struct shm_lane *const lane = in->lane;
	const struct shm_slot *slot = shm_reader_slot(in);
	uint32_t offset = (uint32_t)((const char *)slot - (const char *)lane->slots);
	const uint32_t first = in->next;
	/* Records that may still be read. */
	uint32_t left = BUDGET;
	bool report;

	do {
		shm_reader_take(in);
		/* A message that is delivered at once cannot choke the connection. */
		if (path != LONG && wf_likely(rx_deliver(conn, to, slot, head,
					    path == FAST_WITH_SOURCES))) {
			report = shm_reader_advance_slot(in);
		} else if (wf_likely(rx_handle(conn, head))) {
			report = shm_reader_advance(in);
			if (wf_unlikely(rx_choked(conn)))
				left = 1;
		} else {
			break;
		}
		if (report)
			shm_out_tell(conn);
		offset = shm_slot_behind(offset, 1);
		slot = shm_slot_at_offset(lane, offset);
		/* The peer has written several records. */
		if (left != BUDGET)
			shm_reader_prefetch(lane, offset);
		head = shm_slot_head(slot);
	} while (shm_reader_is_next(in, head) && --left);
	return in->next - first;
}

static __attribute__((noinline)) unsigned int rx_read_with_sources(
	struct shm_conn *conn, uint64_t head, struct wf_delivery to)
{
	return rx_read_records(conn, head, to, FAST_WITH_SOURCES);
}

static __attribute__((noinline)) unsigned int rx_read_slowly(
	struct shm_conn *conn, uint64_t head)
{
	return rx_read_records(conn, head, (struct wf_delivery){ .srx = NULL }, LONG);
}

WF_INLINE unsigned int rx_read_all(struct shm_conn *conn, uint64_t head)
{
	struct shm_ep *ep = conn->ep;
	struct wf_delivery to;

	if (wf_unlikely(!ep->ep.srx))
		return rx_read_slowly(conn, head);
	to = wf_delivery_of(&ep->ep);
	if (wf_unlikely(!to.srx))
		return rx_read_slowly(conn, head);
	if (ep->unexp.wants.index)
		return rx_read_with_sources(conn, head, to);
	return rx_read_records(conn, head, to, FAST);
}

unsigned int shm_rx_from(struct shm_conn *conn, uint64_t head)
{
	unsigned int count = 0;

	if (head && wf_likely(!rx_choked(conn))) {
		conn->polling = true;
		shm_writer_prefetch(&conn->out, head);
		shm_reader_expect(&conn->in, head);
		count = rx_read_all(conn, head);
		conn->polling = false;
		conn->out.heard = conn->in.next - 1;
	}
	if (wf_unlikely(conn->tells) && count)
		shm_out_tell(conn);
	if (conn->queue.ack_count)
		shm_answer_acks(conn);
	return count;
}
