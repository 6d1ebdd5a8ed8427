/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/data/work.h"

#include <stdlib.h>

#include "providers/rxm/data/hold.h"
#include "providers/rxm/data/op.h"
#include "providers/rxm/local/local.h"

/*
 * Operations that wait for earlier ones: with FI_FENCE until all of these have ended;
 * an atomic operation until the peer has memory for its answer (hold.h). Such an
 * operation stays at the head of conn->waiting, and so do the operations behind it.
 * Other works do not wait for it, because the peer may need an answer before the
 * earlier operations can end.
 */

static const struct wf_op *work_fresh(const struct wf_list *link)
{
	const struct rxm_work *work = rxm_work_of(link);

	return work->ops->fresh ? work->ops->fresh(work) : NULL;
}

static bool work_must_wait(const struct rxm_conn *conn, const struct wf_list *link)
{
	const struct wf_op *op = work_fresh(link);

	return op && rxm_op_must_wait(conn, op);
}

/* The end of the works that can be sent. */
static struct wf_list *work_end_of(struct rxm_conn *conn)
{
	return conn->data.fence ? conn->data.fence : &conn->waiting;
}

/* Move the works that are no operations before the operation at the head, which has to
 * wait. */
static void work_raise_fence(struct rxm_conn *conn, struct wf_list *fence)
{
	struct wf_list *link = fence->next, *next;

	conn->data.fence = fence;
	for (; link != &conn->waiting; link = next) {
		next = link->next;
		if (work_fresh(link))
			continue;
		wf_list_remove(link);
		wf_list_push(fence, link);
	}
}

void rxm_fence_check(struct rxm_conn *conn)
{
	if (wf_likely(!conn->data.fence) || work_must_wait(conn, conn->data.fence))
		return;
	conn->data.fence = NULL;
	rxm_conn_resume(conn);
}

void rxm_fence_removed(struct rxm_conn *conn, const struct wf_list *link)
{
	if (conn->data.fence != link)
		return;
	conn->data.fence = NULL;
	rxm_conn_resume(conn);
}

bool rxm_data_any_waits(const struct rxm_conn *conn)
{
	return !wf_list_empty(&conn->waiting) && conn->waiting.next != conn->data.fence;
}

/* Remove and return the next work that can be sent; NULL: there is none. */
static struct rxm_work *work_next(struct rxm_conn *conn)
{
	struct wf_list *first = conn->waiting.next;

	if (first != work_end_of(conn) && conn->data.begun &&
		work_must_wait(conn, first))
		work_raise_fence(conn, first);
	first = conn->waiting.next;
	if (first == work_end_of(conn))
		return NULL;
	wf_list_remove(first);
	return rxm_work_of(first);
}

void rxm_work_send(struct rxm_conn *conn, struct rxm_work *work)
{
	ssize_t ret = -FI_EAGAIN;

	if (conn->waiting.next == work_end_of(conn))
		ret = work->ops->send(conn, work);
	if (wf_likely(!ret))
		return;
	if (ret == -FI_EAGAIN) {
		wf_list_push(work_end_of(conn), &work->link);
		rxm_conn_resume(conn);
	} else {
		work->ops->fail(work, (int)-ret);
	}
}

/* The memory of the peer has failed: @work, an operation, and those behind it wait for
 * the next connection. */
static void work_move_to_next(struct rxm_conn *conn, struct rxm_work *work)
{
	wf_list_insert_after(&conn->waiting, &work->link);
	wf_list_foreach_safe(link, &conn->waiting)
	{
		if (!work_fresh(link))
			continue;
		wf_list_remove(link);
		rxm_op_move_to_next(conn, rxm_work_of(link));
	}
}

static ssize_t work_send(struct rxm_conn *conn, struct rxm_work *work)
{
	if (rxm_local_uses_memory(conn) && work_fresh(&work->link))
		return rxm_memory_send(conn, work);
	return work->ops->send(conn, work);
}

void rxm_data_resume(struct rxm_conn *conn)
{
	struct rxm_work *work;

	while ((work = work_next(conn))) {
		ssize_t ret = work_send(conn, work);

		if (wf_unlikely(ret == -FI_ENOTCONN) && work_fresh(&work->link)) {
			work_move_to_next(conn, work);
			return;
		}
		if (ret == -FI_EAGAIN) {
			wf_list_insert_after(&conn->waiting, &work->link);
			return;
		}
		if (ret)
			work->ops->fail(work, (int)-ret);
	}
}

void rxm_data_op_fail(struct wf_list *link, int err)
{
	struct rxm_work *work = rxm_work_of(link);

	work->ops->fail(work, err);
}

void rxm_data_op_free(struct wf_list *link)
{
	struct rxm_work *work = rxm_work_of(link);

	work->ops->free(work);
}

bool rxm_data_op_is_promised(const struct wf_list *link, const void *arg)
{
	const struct rxm_work *work = rxm_work_of(link);

	(void)arg;
	return work->ops->is_promised(work);
}

/* A packet whose end is not waited for. */
struct answer {
	struct rxm_work work;
	struct rxm_conn *conn;
	struct rxm_sending sending;
	size_t len; /* bytes of @packet */
	uint8_t packet[];
};

static_assert(sizeof(struct answer) <= RXM_ANSWER_COST, "an answer without its packet");

static struct answer *work_answer_of(const struct rxm_work *work)
{
	return wf_container_of(work, struct answer, work);
}

static void work_answer_end(struct answer *answer)
{
	struct rxm_conn *conn = answer->conn;

	wf_budget_give(&conn->ep->data.answers, &conn->data.answer_bytes,
		RXM_ANSWER_COST + answer->len);
	free(answer);
}

static void work_answer_done(
	struct rxm_call *call, int err, const struct fi_cq_tagged_entry *entry)
{
	struct answer *answer = wf_container_of(call, struct answer, sending.call);

	(void)err;
	(void)entry;
	rxm_sending_done(answer->conn->ep, &answer->sending);
	work_answer_end(answer);
}

static void work_set_conn_id(const struct rxm_conn *conn, uint8_t *packet)
{
	uint64_t id = conn->peer_id;

	memcpy(packet + offsetof(struct rxm_hdr, conn_id), &id, sizeof(id));
}

static ssize_t work_answer_send(struct rxm_conn *conn, struct rxm_work *work)
{
	struct answer *answer = work_answer_of(work);
	size_t head = WF_MIN(answer->len, sizeof(answer->sending.head));
	struct iovec rest = { answer->packet + head, answer->len - head };

	work_set_conn_id(conn, answer->packet);
	memcpy(answer->sending.head, answer->packet, head);
	return rxm_sending_start(
		conn, &answer->sending, head, &rest, rest.iov_len != 0, FI_INJECT);
}

/* The peer would wait for its answer without end. */
static void work_answer_fail(struct rxm_work *work, int err)
{
	struct answer *answer = work_answer_of(work);

	rxm_conn_fail(answer->conn, err);
	work_answer_end(answer);
}

static void work_answer_free(struct rxm_work *work)
{
	work_answer_end(work_answer_of(work));
}

static bool work_answer_is_promised(const struct rxm_work *work)
{
	(void)work;
	return true;
}

static const struct rxm_work_ops answer_ops = {
	.send = work_answer_send,
	.fail = work_answer_fail,
	.free = work_answer_free,
	.is_promised = work_answer_is_promised,
};

static ssize_t work_answer_inject(struct rxm_conn *conn, const void *packet, size_t len)
{
	uint8_t copy[RXM_WIRE_RDV];

	if (len > WF_MIN(conn->ep->inject_size, sizeof(copy)) ||
		rxm_data_any_waits(conn))
		return -FI_EAGAIN;
	memcpy(copy, packet, len);
	work_set_conn_id(conn, copy);
	return rxm_conn_inject(conn, copy, len);
}

void rxm_answer(struct rxm_conn *conn, const void *packet, size_t len)
{
	ssize_t ret = work_answer_inject(conn, packet, len);
	struct answer *answer;

	if (!ret)
		return;
	if (ret != -FI_EAGAIN) {
		rxm_conn_fail(conn, (int)-ret);
		return;
	}
	answer = malloc(sizeof(*answer) + len);
	if (!answer) {
		rxm_conn_fail(conn, FI_ENOMEM);
		return;
	}
	answer->work.ops = &answer_ops;
	answer->conn = conn;
	answer->sending.call.done = work_answer_done;
	answer->len = len;
	memcpy(answer->packet, packet, len);
	wf_budget_take(&conn->ep->data.answers, &conn->data.answer_bytes,
		RXM_ANSWER_COST + len);
	rxm_work_send(conn, &answer->work);
	rxm_hold_if_full(conn);
}

void rxm_answer_end(struct rxm_conn *conn, uint8_t kind, uint64_t msg_id)
{
	struct rxm_hdr hdr;

	rxm_put_rdv_end(&hdr, kind, 0, msg_id);
	rxm_answer(conn, &hdr, sizeof(hdr));
}
