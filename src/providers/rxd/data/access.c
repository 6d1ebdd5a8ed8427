/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/atomic/ops.h"
#include "objects/endpoint/life/target.h"
#include "providers/rxd/data/data.h"
#include "providers/rxd/peer.h"
#include "sys/compiler.h"
#include "sys/iov.h"

/* Peers' RMA and atomic operations on local memory. */

static struct wf_mr_map *rxd_access_map_of(struct rxd_peer *peer)
{
	return wf_ep_mr_map(&peer->ep->ep);
}

static int access_check(
	struct rxd_peer *peer, const struct rxd_op_head *head, uint64_t access)
{
	return wf_target_check(
		rxd_access_map_of(peer), head->rma, head->rma_count, access);
}

/* Count the access and write remote CQ data. */
static void access_done(
	struct rxd_peer *peer, const struct rxd_op_head *head, uint64_t flags)
{
	if (head->has_data)
		flags |= FI_REMOTE_CQ_DATA;
	wf_target_done(&peer->ep->ep, head->rma, head->rma_count, flags, head->size,
		head->data, rxd_peer_source(peer));
}

int64_t rxd_receive_write(struct rxd_peer *peer, const struct rxd_op_head *head,
	const uint8_t *data, size_t len)
{
	int ret = access_check(peer, head, FI_REMOTE_WRITE);

	if (ret)
		return ret;
	peer->rx = (struct rxd_rx){ .active = true, .head = *head, .is_write = true };
	rxd_rx_append(peer, data, len);
	return 1;
}

/* The segments were checked before. Bytes for a region that was closed since then are
 * dropped. */
void rxd_write_append(struct rxd_peer *peer, const uint8_t *data, size_t len)
{
	struct wf_mr_map *map = rxd_access_map_of(peer);
	struct rxd_rx *rx = &peer->rx;
	struct iovec iov[RXD_IOV_LIMIT];
	uint64_t offset = rx->done;
	size_t count, step;

	for (; len; data += step, offset += step, len -= step) {
		if (wf_target_pieces(map, rx->head.rma, rx->head.rma_count, offset,
			    FI_REMOTE_WRITE, iov, RXD_IOV_LIMIT, &count))
			return;
		step = wf_iov_scatter(iov, count, data, len);
		wf_target_release(map);
		if (!step)
			return;
	}
}

void rxd_write_finish(struct rxd_peer *peer)
{
	access_done(peer, &peer->rx.head, FI_RMA | FI_REMOTE_WRITE);
}

void rxd_read_bytes(struct rxd_ep *ep, const struct rxd_op_head *head, uint64_t offset,
	uint8_t *to, size_t len)
{
	struct wf_mr_map *map = wf_ep_mr_map(&ep->ep);
	struct iovec iov[RXD_IOV_LIMIT];
	size_t count, step;

	for (; len; to += step, offset += step, len -= step) {
		step = 0;
		if (!wf_target_pieces(map, head->rma, head->rma_count, offset,
			    FI_REMOTE_READ, iov, RXD_IOV_LIMIT, &count)) {
			step = wf_iov_gather_some(to, iov, count, len);
			wf_target_release(map);
		}
		if (step)
			continue;
		memset(to, 0, len);
		return;
	}
}

/* Make an answer of @len bytes to the request @head; the caller sends it. NULL: it is
 * not possible now. */
static struct rxd_tx *access_answer_new(
	struct rxd_peer *peer, const struct rxd_op_head *head, size_t len)
{
	struct rxd_tx *tx = NULL;

	if (peer->answers < RXD_ANSWERS_MAX &&
		peer->answers + peer->ep->answers < RXD_ANSWERS_ALL)
		tx = rxd_tx_new(peer, WF_OP_COUNT);
	if (!tx)
		return NULL;
	tx->head = *head;
	tx->head.type = RXD_ANSWER;
	tx->len = tx->payload = len;
	return tx;
}

int64_t rxd_receive_read(struct rxd_peer *peer, const struct rxd_op_head *head)
{
	struct rxd_tx *tx;
	int ret = access_check(peer, head, FI_REMOTE_READ);

	if (ret)
		return ret;
	if (!head->size) {
		access_done(peer, head, FI_RMA | FI_REMOTE_READ);
		return 1;
	}
	tx = access_answer_new(peer, head, head->size);
	if (!tx)
		return 0;
	rxd_tx_send(tx);
	return 1;
}

static enum wf_op_kind rxd_access_kind_of(uint8_t type)
{
	if (type == RXD_ATOMIC)
		return WF_OP_ATOMIC;
	return type == RXD_FETCH ? WF_OP_FETCH : WF_OP_COMPARE;
}

/* Are there the right number of operands, for an operation that exists? */
static bool access_is_valid(const struct wf_target_atomic *atomic, size_t len)
{
	size_t operands = atomic->op == FI_ATOMIC_READ ? 0 : atomic->len, count;

	if (atomic->kind == WF_OP_COMPARE)
		operands += atomic->len;
	return atomic->len && len == operands &&
	       !wf_atomic_valid(
		       atomic->kind, atomic->datatype, atomic->op, SIZE_MAX, &count) &&
	       atomic->len % wf_atomic_size(atomic->datatype) == 0;
}

/* A peer of another library may count more packet numbers for a fetching atomic than it
 * sends packets: those of its segment header. */
static int64_t access_numbers(const struct rxd_op_head *head)
{
	return head->packets > 1 && head->packets <= UINT32_MAX ? (int64_t)head->packets
								: 1;
}

int64_t rxd_receive_atomic(struct rxd_peer *peer, const struct rxd_op_head *head,
	const uint8_t *data, size_t len)
{
	struct wf_target_atomic atomic = {
		.kind = rxd_access_kind_of(head->type),
		.datatype = (enum fi_datatype)head->datatype,
		.op = (enum fi_op)head->op,
		.seg = head->rma,
		.count = head->rma_count,
		.len = head->size,
	};
	bool fetches = atomic.kind != WF_OP_ATOMIC;
	struct rxd_tx *tx = NULL;
	uint64_t access;
	int ret;

	if (!access_is_valid(&atomic, len) ||
		(fetches && head->size > peer->ep->domain->wire_mtu))
		return -FI_EINVAL;
	access = wf_target_atomic_access(atomic.kind, atomic.op);
	ret = access_check(peer, head, access);
	if (ret)
		return ret;
	if (fetches) {
		tx = access_answer_new(peer, head, head->size);
		if (!tx)
			return 0;
		if (!rxd_tx_reserve(tx, head->size)) {
			rxd_tx_free(tx);
			return 0;
		}
		atomic.result = tx->copy;
	}
	if (atomic.op != FI_ATOMIC_READ)
		atomic.src = data;
	if (atomic.kind == WF_OP_COMPARE)
		atomic.compare = data + len - head->size;
	ret = wf_target_atomic(rxd_access_map_of(peer), &atomic);
	if (ret) {
		if (tx)
			rxd_tx_free(tx);
		return ret;
	}
	access_done(peer, head, FI_ATOMIC | access);
	if (tx)
		rxd_tx_send(tx);
	return fetches ? access_numbers(head) : 1;
}
