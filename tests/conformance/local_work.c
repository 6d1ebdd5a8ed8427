/* SPDX-License-Identifier: BSD-2-Clause */
/* Deferred work whose buffers are registered. */
#include "local.h"

static void **new_room(struct local_domain *d)
{
	struct room *room = calloc(1, sizeof(*room));

	CHECK(room);
	room->next = d->rooms;
	d->rooms = room;
	return room->descs;
}

static void fill(struct local_domain *d, const struct iovec *iov, void ***descs,
	size_t count, bool written)
{
	struct local_ep in_domain = { .domain = d };

	*descs = cf_local_many(&in_domain, iov, *descs, count, written, new_room(d));
}

static void fill_elements(struct local_domain *d, const struct fi_ioc *ioc,
	void ***descs, size_t count, enum fi_datatype datatype, bool written)
{
	struct local_ep in_domain = { .domain = d };

	*descs = cf_local_elements(
		&in_domain, ioc, *descs, count, datatype, written, new_room(d));
}

static void fill_operand(struct local_domain *d, struct fi_msg_atomic *msg)
{
	fill_elements(
		d, msg->msg_iov, &msg->desc, msg->iov_count, msg->datatype, false);
}

static void fill_result(
	struct local_domain *d, struct fi_msg_fetch *fetch, enum fi_datatype datatype)
{
	fill_elements(
		d, fetch->msg_iov, &fetch->desc, fetch->iov_count, datatype, true);
}

void cf_local_work(struct local_domain *d, struct fi_deferred_work *work)
{
	bool written = work->op_type == FI_OP_RECV || work->op_type == FI_OP_TRECV ||
		       work->op_type == FI_OP_READ;

	switch (work->op_type) {
	case FI_OP_RECV:
	case FI_OP_SEND:
		fill(d, work->op.msg->msg.msg_iov, &work->op.msg->msg.desc,
			work->op.msg->msg.iov_count, written);
		break;
	case FI_OP_TRECV:
	case FI_OP_TSEND:
		fill(d, work->op.tagged->msg.msg_iov, &work->op.tagged->msg.desc,
			work->op.tagged->msg.iov_count, written);
		break;
	case FI_OP_READ:
	case FI_OP_WRITE:
		fill(d, work->op.rma->msg.msg_iov, &work->op.rma->msg.desc,
			work->op.rma->msg.iov_count, written);
		break;
	case FI_OP_ATOMIC:
		fill_operand(d, &work->op.atomic->msg);
		break;
	case FI_OP_FETCH_ATOMIC:
		fill_operand(d, &work->op.fetch_atomic->msg);
		fill_result(d, &work->op.fetch_atomic->fetch,
			work->op.fetch_atomic->msg.datatype);
		break;
	case FI_OP_COMPARE_ATOMIC: {
		struct fi_op_compare_atomic *op = work->op.compare_atomic;

		fill_operand(d, &op->msg);
		fill_result(d, &op->fetch, op->msg.datatype);
		fill_elements(d, op->compare.msg_iov, &op->compare.desc,
			op->compare.iov_count, op->msg.datatype, false);
		break;
	}
	default:
		break;
	}
}
