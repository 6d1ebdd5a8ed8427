/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "loop.h"
#include "target.h"

/* Operations: started, served at the target, completed at the initiator. */

static bool is_message(const struct wf_op *op)
{
	return op->kind == WF_OP_SEND || op->kind == WF_OP_TSEND;
}

/* Is the operation complete once it is in the target's inbox? */
static bool ends_at_once(const struct wf_op *op)
{
	return is_message(op) &&
	       !(op->flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE));
}

/* Add @op to the inbox of the endpoint named @to. loop_lock is held. */
static int send_to(const char *to, struct loop_op *op)
{
	op->to = loop_find(to, WF_ADDRSTR_MAX);
	if (!op->to)
		return -FI_ECONNREFUSED;
	if (op->to->held && op->to->held + op->size > loop_held_size)
		return -FI_EAGAIN;
	op->to->held += op->size;
	loop_put(op->to, op);
	return 0;
}

ssize_t loop_start(struct wf_ep *wf, struct wf_op *what)
{
	size_t size = sizeof(struct loop_op) + loop_copy_size(what);
	const char *to = wf_av_addr(wf->av, what->addr);
	struct loop_op *op;
	int ret;

	if (!to)
		return wf_no_address(&loop_fi, what->addr);
	op = malloc(size);
	if (!op)
		return -FI_EAGAIN;
	*op = (struct loop_op){ .size = size, .err = -1 };
	op->from = ends_at_once(what) ? 0 : loop_ep_of(wf)->id;
	memcpy(op->source, loop_ep_of(wf)->name, sizeof(op->source));
	/* The application may reuse its buffers when start() returns. */
	loop_copy_make(&op->copy, what, op->data);
	pthread_mutex_lock(&loop_lock);
	ret = send_to(to, op);
	pthread_mutex_unlock(&loop_lock);
	if (ret)
		free(op);
	if (ret == -FI_EAGAIN)
		return ret;
	if (ret || ends_at_once(what))
		wf_ep_op_end(wf, what, -ret);
	return 0;
}

void loop_end(struct loop_op *op, int err)
{
	struct loop_ep *from;

	pthread_mutex_lock(&loop_lock);
	op->to->held -= op->size;
	from = loop_find(op->source, sizeof(op->source));
	/* The initiator may be closed, and another endpoint may have its name. */
	if (from && from->id == op->from) {
		op->err = err;
		loop_put(from, op);
		op = NULL;
	}
	pthread_mutex_unlock(&loop_lock);
	free(op);
}

static void message_done(struct loop_message *msg, int err)
{
	loop_end(wf_container_of(msg, struct loop_op, msg), err);
}

void loop_serve(struct loop_op *op)
{
	const struct wf_op *what = &op->copy.op;
	struct wf_ep *wf = &op->to->ep;
	fi_addr_t src = wf_av_index(wf->av, op->source, sizeof(op->source));

	if (!is_message(what)) {
		loop_end(op,
			-loop_target_serve(wf, &op->copy, wf_av_report(wf->av, src)));
		return;
	}
	op->msg = (struct loop_message){ .ep = wf,
		.flags = what->flags & FI_REMOTE_CQ_DATA,
		.type = what->kind == WF_OP_TSEND ? FI_TAGGED : FI_MSG,
		.tag = what->tag,
		.data = what->data,
		.buf = op->data,
		.len = what->len,
		.source = op->source,
		.source_len = strlen(op->source) + 1,
		.done = message_done };
	loop_message_receive(&op->msg);
}

void loop_complete(struct loop_ep *ep, struct loop_op *op)
{
	if (!op->err)
		loop_copy_finish(&op->copy);
	wf_ep_op_end(&ep->ep, &op->copy.op, op->err);
	free(op);
}
