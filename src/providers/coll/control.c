/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/control.h"

#include <endian.h>
#include <stdlib.h>

#include "providers/coll/join.h"
#include "providers/coll/xfer.h"

enum { CONTROL_PROBE = 1, CONTROL_ABORT };

/* A control message; all fields are little-endian. */
struct message {
	uint16_t kind;
	uint16_t err; /* in an abort: positive fi_errno */
	uint32_t members;
	uint32_t from, to; /* ranks of sender and receiver */
	/* The receiver's secret of the group (tag.h); 0: the sender has not got it yet,
	 * and the ranks identify the group. */
	uint64_t secret;
	uint64_t from_secret; /* the sender's secret, for the answer */
};

_Static_assert(sizeof(struct message) == 32, "layout of control messages");

/* A control message and its transfer. */
struct coll_control {
	struct coll_xfer xfer;
	struct message message;
	/* Group of a probe; NULL: it was closed, or the message is no probe. */
	struct coll_group *group;
	struct wf_list link; /* link in coll_ep.controls or coll_ep.answers */
};

static void control_send_done(
	struct coll_xfer *xfer, int err, size_t len, fi_addr_t src)
{
	struct coll_control *control = xfer->user;
	struct coll_group *group = control->group;

	(void)len;
	(void)src;
	if (group && group->probe == control)
		group->probe = NULL;
	wf_list_remove(&control->link);
	free(control);
	if (!err || !group)
		return;
	coll_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"group %u: a member cannot be reached: %s\n", group->id,
		fi_strerror(-err));
	coll_group_fail(group, err);
}

/* @list: coll_ep.controls or coll_ep.answers. */
static void control_send_message(struct coll_ep *ep, struct wf_list *list,
	fi_addr_t addr, const struct message *message, struct coll_group *group)
{
	struct coll_control *control = calloc(1, sizeof(*control));
	struct coll_xfer *xfer;
	int ret;

	if (!control)
		return;
	xfer = &control->xfer;
	coll_xfer_init(xfer, ep, control_send_done, control);
	control->message = *message;
	control->group = group;
	xfer->addr = addr;
	xfer->tag = coll_tag(COLL_TAG_CONTROL);
	xfer->buf = &control->message;
	xfer->len = sizeof(control->message);
	/* The end is reported when the member has received it, or cannot receive it. */
	xfer->flags = group ? ep->probe_flags : 0;
	wf_list_push(list, &control->link);
	if (group)
		group->probe = control;
	ret = coll_xfer_post(xfer);
	if (ret)
		control_send_done(xfer, ret, 0, FI_ADDR_NOTAVAIL);
}

static struct message control_message_of(
	const struct coll_group *group, uint32_t rank, uint16_t kind, int err)
{
	return (struct message){
		.kind = htole16(kind),
		.err = htole16((uint16_t)-err),
		.members = htole32(group->members),
		.from = htole32(group->rank),
		.to = htole32(rank),
		.secret = htole64(group->member[rank].secret),
		.from_secret = htole64(group->secret),
	};
}

void coll_control_probe(struct coll_group *group, uint32_t rank)
{
	struct message message;

	/* One probe at a time is enough: until it has ended, the member is
	 * connected. */
	if (group->probe || rank >= group->members)
		return;
	message = control_message_of(group, rank, CONTROL_PROBE, 0);
	control_send_message(group->ep, &group->ep->controls, group->member[rank].addr,
		&message, group);
}

void coll_control_abort(struct coll_group *group, int err)
{
	for (uint32_t rank = 0; rank < group->members; rank++) {
		struct message message =
			control_message_of(group, rank, CONTROL_ABORT, err);

		if (rank != group->rank)
			control_send_message(group->ep, &group->ep->controls,
				group->member[rank].addr, &message, NULL);
	}
}

void coll_control_forget(struct coll_group *group)
{
	if (group->probe)
		group->probe->group = NULL;
	group->probe = NULL;
}

/* Find the group of @message, if its sender is a member. */
static struct coll_group *control_group_of(
	const struct coll_ep *ep, const struct message *message, fi_addr_t src)
{
	uint32_t from = le32toh(message->from), to = le32toh(message->to);
	uint64_t secret = le64toh(message->secret);
	struct coll_group *group;

	if (!secret)
		return coll_join_find(ep, le32toh(message->members), to, from, src);
	group = coll_group_by_secret(ep, secret);
	return group && group->rank == to && coll_group_is_from(group, from, src)
		       ? group
		       : NULL;
}

/* The negative fi_errno in a message of another member. */
static int control_read_err(uint16_t err)
{
	return err && err < FI_ERRNO_MAX ? -(int)err : -FI_ECONNRESET;
}

/* Is an answer to @addr under way? */
static bool control_is_answering(const struct coll_ep *ep, fi_addr_t addr)
{
	wf_list_foreach(link, &ep->answers)
	{
		struct coll_control *control =
			wf_list_entry(link, struct coll_control, link);

		if (control->xfer.addr == addr)
			return true;
	}
	return false;
}

/* The sender of a probe waits in a group that does not exist, or has failed: answer
 * with an abort. One at a time for each sender, which may be a process that sends many
 * probes and reads nothing. A member whose probe gets no answer sends the next one. */
static void control_answer(struct coll_ep *ep, const struct message *probe,
	const struct coll_group *group, fi_addr_t src)
{
	struct message message = {
		.kind = htole16(CONTROL_ABORT),
		.err = htole16((uint16_t)(group ? -group->err : FI_ECONNRESET)),
		.members = probe->members,
		.from = probe->to,
		.to = probe->from,
		.secret = probe->from_secret,
	};

	if (group)
		src = group->member[le32toh(probe->from)].addr;
	if (src != FI_ADDR_NOTAVAIL && !control_is_answering(ep, src))
		control_send_message(ep, &ep->answers, src, &message, NULL);
}

static void control_receive(
	struct coll_ep *ep, const struct message *message, fi_addr_t src)
{
	struct coll_group *group;

	/* Groups are not searched for a process in no AV. The log tells why a member
	 * is not heard that has another address in the AV than it sends from. */
	if (ep->has_sources && src == FI_ADDR_NOTAVAIL) {
		coll_log(FI_LOG_DEBUG, FI_LOG_EP_CTRL,
			"a control message of an address in no AV is dropped\n");
		return;
	}
	group = control_group_of(ep, message, src);
	switch (le16toh(message->kind)) {
	case CONTROL_PROBE:
		/* A group that is unknown to this member may still be joined later. */
		if (group ? group->state == COLL_FAILED : message->secret != 0)
			control_answer(ep, message, group, src);
		break;
	case CONTROL_ABORT:
		if (group)
			coll_group_fail(group, control_read_err(le16toh(message->err)));
		break;
	default:
		break;
	}
}

static void control_recv_done(
	struct coll_xfer *xfer, int err, size_t len, fi_addr_t src)
{
	struct coll_control *control = xfer->user;
	struct coll_ep *ep = xfer->ep;
	struct message message = control->message;

	if (err == -FI_ECANCELED || coll_xfer_post(xfer)) {
		ep->control = NULL;
		free(control);
	}
	if (!err && len == sizeof(message))
		control_receive(ep, &message, src);
}

int coll_control_open(struct coll_ep *ep)
{
	struct coll_control *control;
	int ret;

	if (ep->control)
		return 0;
	control = calloc(1, sizeof(*control));
	if (!control)
		return -FI_ENOMEM;
	wf_list_init(&control->link);
	coll_xfer_init(&control->xfer, ep, control_recv_done, control);
	control->xfer.is_recv = true;
	control->xfer.addr = FI_ADDR_UNSPEC;
	control->xfer.tag = coll_tag(COLL_TAG_CONTROL);
	control->xfer.buf = &control->message;
	control->xfer.len = sizeof(control->message);
	ret = coll_xfer_post(&control->xfer);
	if (ret) {
		free(control);
		return ret;
	}
	ep->control = control;
	return 0;
}

void coll_control_withdraw(struct coll_ep *ep)
{
	if (ep->control)
		wf_list_remove(&ep->control->xfer.all);
}

static void control_free_list(struct wf_list *list)
{
	while (!wf_list_empty(list))
		free(wf_list_entry(wf_list_pop(list), struct coll_control, link));
}

void coll_control_free(struct coll_ep *ep)
{
	control_free_list(&ep->controls);
	control_free_list(&ep->answers);
}

void coll_control_free_standing(struct coll_ep *ep)
{
	free(ep->control);
	ep->control = NULL;
}
