/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/lnx/failover.h"
#include "providers/lnx/sources.h"
#include "providers/lnx/stripe/internal.h"
#include "sys/clock.h"

/*
 * Peers' private endpoints, and control messages to them. A control message asks for
 * delivery, so one that a rail has lost is known to be lost or harmless to repeat, and
 * is sent over the next rail.
 */

/* A rail that failed is probed after this time. */
static const uint64_t down_time_ns = UINT64_C(10000000000);

static int contact_insert(struct lnx_stripe_rail *rail,
	const struct lnx_name_link *link, fi_addr_t *ret_addr)
{
	/* The address comes from a peer; zeroes follow it, as the member may read
	 * more. */
	uint32_t addr[2 * WF_AV_ADDR_WORDS] = { 0 };

	memcpy(addr, link->addr, link->len);
	return fi_av_insert(rail->av, addr, 1, ret_addr, 0, NULL) == 1
		       ? 0
		       : -FI_EADDRNOTAVAIL;
}

int lnx_contact_init(
	struct lnx_stripe *s, struct lnx_contact *contact, const struct lnx_name *name)
{
	int pair[LNX_MAX_LINKS];

	*contact = (struct lnx_contact){ .rails = 0 };
	(void)lnx_stripe_pair(s->ep->domain, name, pair);
	for (unsigned int i = 0; i < s->count; i++)
		if (pair[i] >= 0 && !contact_insert(&s->rail[i], &name->link[pair[i]],
					    &contact->addr[i]))
			contact->rails |= (uint8_t)(1u << i);
	return contact->rails ? 0 : -FI_EADDRNOTAVAIL;
}

void lnx_contact_done(struct lnx_stripe *s, const struct lnx_contact *contact)
{
	for (unsigned int i = 0; i < s->count; i++) {
		fi_addr_t addr = contact->addr[i];

		if (contact->rails >> i & 1)
			(void)fi_av_remove(s->rail[i].av, &addr, 1, 0);
	}
}

bool lnx_contact_failed(
	struct lnx_stripe *s, struct lnx_contact *contact, unsigned int rail, int err)
{
	struct lnx_ep *ep = s->ep;
	uint8_t bit = (uint8_t)(1u << rail);

	atomic_fetch_add_explicit(
		&ep->rail[s->rail[rail].member].failures, 1, memory_order_relaxed);
	if (!lnx_rail_is_gone(err))
		return false;
	if (!(contact->down & bit))
		lnx_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"striped messages to or from a peer leave %s (%s)\n",
			ep->domain->link->member[s->rail[rail].member].name,
			fi_strerror(err));
	contact->down |= bit;
	contact->down_ns = wf_coarse_ns();
	return true;
}

static ssize_t contact_start(struct lnx_stripe *s, struct lnx_control *control)
{
	struct lnx_stripe_rail *rail = &s->rail[control->call.rail];
	struct iovec iov = { control->bytes, control->len };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = control->contact->addr[control->call.rail],
		.context = &control->call,
	};

	return fi_sendmsg(rail->below.fid, &msg, rail->tx_flags);
}

static void contact_probed(
	struct lnx_stripe *s, struct lnx_call *call, int err, size_t len)
{
	struct lnx_control *control = wf_container_of(call, struct lnx_control, call);

	if (!err)
		control->contact->down &= (uint8_t) ~(1u << call->rail);
	lnx_control_free(s, control);
}

/* Find out whether the first of the rails that failed works again. */
static void contact_probe(struct lnx_stripe *s, struct lnx_contact *contact)
{
	const struct lnx_stripe_msg msg = { .kind = LNX_STRIPE_PROBE };
	struct lnx_control *control = lnx_control_new(s, contact, &msg);

	contact->down_ns = wf_coarse_ns();
	if (!control)
		return;
	control->call.done = contact_probed;
	control->call.rail = (unsigned int)__builtin_ctz(contact->down);
	if (contact_start(s, control))
		lnx_control_free(s, control);
}

uint8_t lnx_contact_up(struct lnx_stripe *s, struct lnx_contact *contact)
{
	if (wf_unlikely(contact->down) &&
		wf_coarse_ns() - contact->down_ns > down_time_ns)
		contact_probe(s, contact);
	return contact->rails & (uint8_t)~contact->down;
}

/* The best rail for @control, or a number that is none. */
static unsigned int contact_choose(
	struct lnx_stripe *s, const struct lnx_control *control)
{
	uint8_t left = control->contact->rails & (uint8_t)~control->tried;
	uint8_t up = left & lnx_contact_up(s, control->contact);

	return (unsigned int)__builtin_ctz((up ? up : left) | 1u << LNX_MAX_LINKS);
}

/* All rails failed: they are tried again by what comes next. What is under way fails in
 * the next poll, because a caller may be walking through a list of it. */
static void contact_give_up(struct lnx_stripe *s, struct lnx_control *control, int err)
{
	struct lnx_contact *contact = control->contact;

	lnx_control_free(s, control);
	contact->down = 0;
	contact->lost_err = err;
	s->any_lost = true;
	lnx_stripe_set_timer(s, 1);
}

void lnx_control_send(struct lnx_stripe *s, struct lnx_control *control)
{
	int err = FI_EHOSTUNREACH;
	ssize_t ret;

	for (;;) {
		control->call.rail = contact_choose(s, control);
		if (control->call.rail == LNX_MAX_LINKS) {
			contact_give_up(s, control, err);
			return;
		}
		ret = contact_start(s, control);
		if (ret == -FI_EAGAIN)
			wf_list_push(&s->waiting, &control->link);
		if (!ret || ret == -FI_EAGAIN)
			return;
		err = (int)-ret;
		(void)lnx_contact_failed(s, control->contact, control->call.rail, err);
		control->tried |= (uint8_t)(1u << control->call.rail);
	}
}

static void contact_sent(
	struct lnx_stripe *s, struct lnx_call *call, int err, size_t len)
{
	struct lnx_control *control = wf_container_of(call, struct lnx_control, call);

	(void)len;
	if (!err) {
		lnx_control_free(s, control);
		return;
	}
	(void)lnx_contact_failed(s, control->contact, call->rail, err);
	control->tried |= (uint8_t)(1u << call->rail);
	if (contact_choose(s, control) == LNX_MAX_LINKS)
		contact_give_up(s, control, err);
	else
		lnx_control_send(s, control);
}

struct lnx_control *lnx_control_new(struct lnx_stripe *s, struct lnx_contact *contact,
	const struct lnx_stripe_msg *msg)
{
	struct lnx_control *control = wf_pool_get(&s->controls);

	if (!control)
		return NULL;
	control->call.done = contact_sent;
	control->contact = contact;
	control->tried = 0;
	control->len = lnx_stripe_write(msg, control->bytes);
	wf_list_init(&control->link);
	contact->pending++;
	lnx_stripe_add_busy(s, 1);
	return control;
}

void lnx_control_free(struct lnx_stripe *s, struct lnx_control *control)
{
	wf_list_remove(&control->link);
	control->contact->pending--;
	lnx_stripe_add_busy(s, -1);
	wf_pool_put(&s->controls, control);
}

void lnx_control_post(struct lnx_stripe *s, struct lnx_contact *contact,
	const struct lnx_stripe_msg *msg)
{
	struct lnx_control *control = lnx_control_new(s, contact, msg);

	if (control)
		lnx_control_send(s, control);
	else
		lnx_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"no memory for a control message\n");
}

void lnx_control_retry(struct lnx_stripe *s)
{
	struct wf_list waiting, *link;

	wf_list_init(&waiting);
	while ((link = wf_list_pop(&s->waiting)))
		wf_list_push(&waiting, link);
	while ((link = wf_list_pop(&waiting)))
		lnx_control_send(s, wf_list_entry(link, struct lnx_control, link));
}
