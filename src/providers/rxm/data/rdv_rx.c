/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_domain.h>
#include <stdlib.h>

#include "providers/rxm/data/hold.h"
#include "providers/rxm/data/recv.h"
#include "providers/rxm/data/work.h"
#include "providers/rxm/param.h"

/*
 * A rendezvous at the receiver. When the message is matched, its bytes are read from
 * the sender's memory into the buffers of the receive, and the sender gets
 * RXM_RDV_READ. A sender whose memory cannot be read gets a description of these
 * buffers, and writes to them.
 *
 * A struct rxm_rdv has one reference while something has to be sent or has to arrive,
 * and one for each call below.
 */

struct read {
	struct rxm_call call; /* the read of one segment below */
	struct rxm_rdv *rdv;
};

struct rxm_rdv {
	struct rxm_work work;
	struct wf_list all; /* link in conn->data.rdv */
	struct rxm_conn *conn;
	uint64_t msg_id; /* message id of the sender */
	struct rxm_arrived arrived;
	/* The receive; NULL: the message is not matched, or is dropped. */
	struct fi_peer_rx_entry *entry;
	/* The saved message; NULL: it is matched, or is dropped. */
	struct wf_srx_unexpected *unexp;
	uint32_t refs;
	int err; /* positive fi_errno; 0: no error */
	/* Number of segments, and of those whose read was started. */
	uint8_t seg_count, next;
	bool by_writes;      /* The sender writes the payload. */
	size_t expected_len; /* bytes that have to be received */
	/* Registrations below of the receive's buffers; NULL: none. */
	struct fid_mr *mr[RXM_IOV_LIMIT];
	struct fi_rma_iov seg[RXM_WIRE_SEGS_MAX];
	struct read read[RXM_WIRE_SEGS_MAX];
};

static struct rxm_rdv *rdv_of(const struct rxm_work *work)
{
	return wf_container_of(work, struct rxm_rdv, work);
}

/* The message does not wait for a receive any more, or is lost. */
static void rdv_is_expected(struct rxm_rdv *rdv)
{
	if (!rdv->unexp)
		return;
	rdv->unexp = NULL;
	wf_unexp_give(&rdv->conn->ep->unexp, &rdv->conn->unexp, sizeof(*rdv));
}

static void rdv_rx_release(struct rxm_rdv *rdv)
{
	rdv_is_expected(rdv);
	for (size_t i = 0; i < RXM_IOV_LIMIT; i++)
		if (rdv->mr[i])
			(void)fi_close(&rdv->mr[i]->fid);
	wf_list_remove(&rdv->all);
	free(rdv);
}

/* Drop a reference; the last one ends the receive. The lock of the receive context is
 * held. */
static void rdv_rx_unref(struct rxm_rdv *rdv)
{
	if (--rdv->refs)
		return;
	if (rdv->entry && rdv->err)
		rxm_recv_fail(rdv->conn, rdv->entry, rdv->err);
	else if (rdv->entry)
		rxm_recv_done(rdv->conn, rdv->entry, &rdv->arrived);
	rdv_rx_release(rdv);
}

/* Fail the connection, because the sender would wait for its answer without end. */
static void rdv_rx_broken(struct rxm_rdv *rdv, int err)
{
	if (!rdv->err)
		rdv->err = err;
	rxm_conn_fail(rdv->conn, err);
}

static void rdv_fail(struct rxm_work *work, int err)
{
	struct rxm_rdv *rdv = rdv_of(work);

	rdv_rx_broken(rdv, err);
	rdv_rx_unref(rdv);
}

static void rdv_free(struct rxm_work *work)
{
	struct rxm_rdv *rdv = rdv_of(work);

	if (rdv->entry)
		wf_srx_free_entry(rdv->entry);
	rdv_rx_release(rdv);
}

static bool rdv_rx_is_promised(const struct rxm_work *work)
{
	(void)work;
	return false;
}

/* All bytes have been read: answer the sender. */
static void rdv_rx_all_read(struct rxm_rdv *rdv)
{
	if (!rdv->err)
		rxm_answer_end(rdv->conn, RXM_RDV_READ, rdv->msg_id);
	rdv_rx_unref(rdv);
}

static void rdv_rx_read_done(
	struct rxm_call *call, int err, const struct fi_cq_tagged_entry *entry)
{
	struct rxm_rdv *rdv = wf_container_of(call, struct read, call)->rdv;

	(void)entry;
	if (wf_unlikely(err))
		rdv_rx_broken(rdv, err);
	/* The first reference is for reads that have not been started, or for the
	 * receive as a whole. */
	if (rdv->refs == 2 && rdv->next == rdv->seg_count) {
		rdv->refs--;
		rdv_rx_all_read(rdv);
		return;
	}
	rdv_rx_unref(rdv);
}

/* Descriptors of @count buffers; each one is in the registration of the receive's
 * buffer @piece. */
static void **rdv_rx_descs_of(
	const struct rxm_rdv *rdv, const size_t *piece, size_t count, void **ret)
{
	if (!rdv->conn->ep->domain->local_mr)
		return NULL;
	for (size_t i = 0; i < count; i++)
		ret[i] = fi_mr_desc(rdv->mr[piece[i]]);
	return ret;
}

static ssize_t rdv_rx_read_segment(
	struct rxm_conn *conn, struct rxm_rdv *rdv, size_t offset, size_t len)
{
	struct iovec iov[RXM_IOV_LIMIT];
	struct fi_rma_iov from = rdv->seg[rdv->next];
	void *desc[RXM_IOV_LIMIT];
	size_t piece[RXM_IOV_LIMIT];
	struct wf_op op = {
		.kind = WF_OP_READ,
		.iov = iov,
		.len = len,
		.rma = &from,
		.rma_count = 1,
	};

	from.len = len;
	op.iov_count = rxm_iov_slice(
		rdv->entry->iov, rdv->entry->count, offset, len, iov, piece);
	op.desc = rdv_rx_descs_of(rdv, piece, op.iov_count, desc);
	rdv->read[rdv->next].rdv = rdv;
	rdv->read[rdv->next].call.done = rdv_rx_read_done;
	return rxm_conn_rma(conn, &op, &rdv->read[rdv->next].call);
}

static ssize_t rdv_rx_read_send(struct rxm_conn *conn, struct rxm_work *work)
{
	struct rxm_rdv *rdv = rdv_of(work);
	size_t offset = 0, len;
	ssize_t ret;

	for (unsigned int i = 0; i < rdv->next; i++)
		offset += rdv->seg[i].len;
	for (; rdv->next < rdv->seg_count; rdv->next++) {
		len = offset < rdv->expected_len ? WF_MIN(rdv->seg[rdv->next].len,
							   rdv->expected_len - offset)
						 : 0;
		ret = len ? rdv_rx_read_segment(conn, rdv, offset, len) : 0;
		if (ret)
			return ret;
		rdv->refs += len != 0;
		offset += rdv->seg[rdv->next].len;
	}
	/* Nothing had to be read, or all has been read. */
	if (rdv->refs == 1)
		rdv_rx_all_read(rdv);
	return 0;
}

static const struct rxm_work_ops read_ops = {
	.send = rdv_rx_read_send,
	.fail = rdv_fail,
	.free = rdv_free,
	.is_promised = rdv_rx_is_promised,
};

/* Send the sender the addresses that it has to write to. */
static void rdv_rx_ask_to_write(struct rxm_rdv *rdv)
{
	const struct rxm_domain *domain = rdv->conn->ep->domain;
	struct fi_rma_iov seg[RXM_WIRE_SEGS_MAX];
	uint8_t packet[RXM_WIRE_RDV];
	size_t count = 0, left = rdv->expected_len;

	for (size_t i = 0; left && i < rdv->entry->count; i++) {
		const struct iovec *iov = &rdv->entry->iov[i];
		size_t len = WF_MIN(iov->iov_len, left);

		if (!len)
			continue;
		seg[count++] = (struct fi_rma_iov){
			.addr = domain->virt_addr ? (uintptr_t)iov->iov_base : 0,
			.len = len,
			.key = fi_mr_key(rdv->mr[i]),
		};
		left -= len;
	}
	if (!count)
		seg[count++] = (struct fi_rma_iov){ 0 };
	rxm_put_rdv_to(packet, 0, rdv->msg_id, seg, count);
	rxm_answer(rdv->conn, packet, sizeof(packet));
}

static int rdv_rx_expose(struct rxm_rdv *rdv, uint64_t access)
{
	const struct fi_peer_rx_entry *entry = rdv->entry;
	size_t left = rdv->expected_len;
	int ret = 0;

	for (size_t i = 0; left && i < entry->count && !ret; i++) {
		struct iovec iov = entry->iov[i];

		iov.iov_len = WF_MIN(iov.iov_len, left);
		left -= iov.iov_len;
		if (iov.iov_len)
			ret = rxm_domain_expose(
				rdv->conn->ep->domain, &iov, access, &rdv->mr[i]);
	}
	return ret;
}

static bool rdv_rx_is_unreadable(const struct rxm_rdv *rdv)
{
	for (unsigned int i = 0; i < rdv->seg_count; i++)
		if (rdv->seg[i].key != RXM_WIRE_NO_KEY)
			return false;
	return true;
}

/* Does the sender write the payload? A sender with FI_OFI_RXM_USE_RNDV_WRITE may send a
 * key of memory that cannot be read: then the parameter must be set at both ends. */
static bool rdv_rx_is_written(const struct rxm_rdv *rdv)
{
	return rxm_params.rndv_write || rdv_rx_is_unreadable(rdv);
}

/* Fetch the message into the buffers of @entry; NULL: drop it. */
static void rdv_rx_fetch(struct rxm_rdv *rdv, struct fi_peer_rx_entry *entry)
{
	const struct rxm_domain *domain = rdv->conn->ep->domain;
	int ret = 0;

	rdv_is_expected(rdv);
	rdv->entry = entry;
	rdv->expected_len =
		entry ? WF_MIN(wf_iov_len(entry->iov, entry->count), rdv->arrived.len)
		      : 0;
	rdv->by_writes = rdv_rx_is_written(rdv);
	if (rdv->by_writes)
		ret = rdv_rx_expose(rdv, FI_REMOTE_WRITE);
	else if (domain->local_mr)
		ret = rdv_rx_expose(rdv, FI_READ);
	if (ret)
		rdv_fail(&rdv->work, -ret);
	else if (rdv->by_writes)
		rdv_rx_ask_to_write(rdv);
	else
		rxm_work_send(rdv->conn, &rdv->work);
}

static struct rxm_rdv *rdv_new(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	struct rxm_rdv *rdv = calloc(1, sizeof(*rdv));

	if (!rdv)
		return NULL;
	rdv->work.ops = &read_ops;
	wf_list_init(&rdv->work.link);
	rdv->conn = conn;
	rdv->msg_id = packet->msg_id;
	rdv->arrived =
		(struct rxm_arrived){ packet->size, packet->data, packet->has_data };
	rdv->refs = 1;
	rdv->seg_count = packet->seg_count;
	memcpy(rdv->seg, packet->seg, packet->seg_count * sizeof(rdv->seg[0]));
	wf_list_push(&conn->data.rdv, &rdv->all);
	return rdv;
}

/* The payload of an unexpected message that has to be fetched. */
struct reference {
	struct rxm_rdv *rdv;
};

void rxm_rdv(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	struct rxm_rdv *rdv = rdv_new(conn, packet);
	struct reference reference = { rdv };
	struct fi_peer_rx_entry *entry = NULL;
	int ret = rdv ? rxm_match(conn, packet, &entry) : -FI_ENOMEM;

	if (!ret) {
		rdv_rx_fetch(rdv, entry);
		return;
	}
	if (ret == -FI_ENOENT)
		rdv->unexp = rxm_unexp_new(conn, packet, entry, sizeof(reference));
	else
		rxm_conn_fail(conn, FI_ENOMEM);
	if (rdv && !rdv->unexp) {
		rdv_rx_release(rdv);
		return;
	}
	if (rdv) {
		memcpy(wf_srx_payload(rdv->unexp), &reference, sizeof(reference));
		rdv->unexp->note = RXM_UNEXP_RDV;
		wf_unexp_take(&conn->ep->unexp, &conn->unexp, sizeof(*rdv));
		rxm_hold_if_full(conn);
	}
}

void rxm_rdv_start(struct rxm_conn *conn, struct wf_srx_unexpected *unexp,
	struct fi_peer_rx_entry *entry)
{
	struct reference reference;

	(void)conn;
	memcpy(&reference, wf_srx_payload(unexp), sizeof(reference));
	rdv_rx_fetch(reference.rdv, entry);
}

void rxm_rdv_written(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	wf_list_foreach(link, &conn->data.rdv)
	{
		struct rxm_rdv *rdv = wf_list_entry(link, struct rxm_rdv, all);

		if (rdv->msg_id != packet->msg_id || !rdv->by_writes)
			continue;
		rdv_rx_unref(rdv);
		return;
	}
	rxm_conn_broken(conn, "message that is not there was written");
}

void rxm_rdv_lost(struct rxm_conn *conn, int err)
{
	wf_list_foreach_safe(link, &conn->data.rdv)
	{
		struct rxm_rdv *rdv = wf_list_entry(link, struct rxm_rdv, all);

		if (rdv->unexp) {
			rdv_rx_release(rdv);
			continue;
		}
		rdv->err = err;
		rdv_rx_unref(rdv);
	}
}
