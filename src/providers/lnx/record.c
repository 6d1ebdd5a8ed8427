/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/record.h"

/*
 * If several rails may reach a peer, every transmission has a record that tells its
 * rail. Every transmission over a member of another library has one, too: such a member
 * does not know deferred work, and the end of injected operations is needed as well.
 */

struct lnx_op *lnx_op_new(struct lnx_ep *ep, const struct wf_op *op, uint32_t rail)
{
	struct lnx_op *rec;

	wf_lock(&ep->ops_lock);
	rec = wf_pool_get(&ep->ops_pool);
	if (rec) {
		rec->context = op->context;
		rec->flags = op->flags;
		rec->len = op->atomic ? op->atomic->size : op->len;
		rec->kind = op->kind;
		rec->head_of = NULL;
		rec->rail = rail;
		rec->cancelled = rec->cancelling = rec->ended = false;
		rec->peer = op->addr;
		wf_list_push(&ep->ops, &rec->link);
	}
	wf_unlock(&ep->ops_lock);
	if (rec && !ep->rail[rail].below.builtin)
		wf_ep_want(&ep->wf);
	return rec;
}

void lnx_op_free(struct lnx_ep *ep, struct lnx_op *rec)
{
	wf_lock(&ep->ops_lock);
	wf_list_remove(&rec->link);
	rec->ended = true;
	if (!rec->cancelling)
		wf_pool_put(&ep->ops_pool, rec);
	wf_unlock(&ep->ops_lock);
}

struct lnx_op *lnx_op_find(struct lnx_ep *ep, const void *context, uint32_t rail)
{
	struct lnx_op *found = NULL;

	wf_lock(&ep->ops_lock);
	wf_list_foreach(link, &ep->ops)
	{
		struct lnx_op *rec = wf_list_entry(link, struct lnx_op, link);

		if (rec == context && rec->rail == rail) {
			found = rec;
			break;
		}
	}
	wf_unlock(&ep->ops_lock);
	return found;
}

static bool record_op_is_on(const struct wf_list *link, const void *rail)
{
	return wf_list_entry(link, struct lnx_op, link)->rail ==
	       *(const uint32_t *)rail;
}

bool lnx_op_any(struct lnx_ep *ep, uint32_t rail)
{
	bool found;

	wf_lock(&ep->ops_lock);
	found = wf_list_find(&ep->ops, record_op_is_on, &rail);
	wf_unlock(&ep->ops_lock);
	return found;
}

bool lnx_op_any_injected(struct lnx_ep *ep, uint32_t rail)
{
	bool found = false;

	wf_lock(&ep->ops_lock);
	wf_list_foreach(link, &ep->ops)
	{
		const struct lnx_op *rec = wf_list_entry(link, struct lnx_op, link);

		if (rec->rail != rail || wf_op_is_reported(rec->flags))
			continue;
		found = true;
		break;
	}
	wf_unlock(&ep->ops_lock);
	return found;
}

/* The first transmission at @rail with the application's context @context whose end is
 * reported, or NULL. @cancelling is set, so that the record is not freed. */
static struct lnx_op *record_find_cancelled(
	struct lnx_ep *ep, const void *context, uint32_t rail)
{
	struct lnx_op *found = NULL;

	wf_lock(&ep->ops_lock);
	wf_list_foreach(link, &ep->ops)
	{
		struct lnx_op *rec = wf_list_entry(link, struct lnx_op, link);

		if (rec->context != context || rec->rail != rail || rec->cancelling ||
			rec->head_of || rec->kind == WF_OP_RECV ||
			rec->kind == WF_OP_TRECV || !wf_op_is_reported(rec->flags))
			continue;
		rec->cancelling = rec->cancelled = true;
		found = rec;
		break;
	}
	wf_unlock(&ep->ops_lock);
	return found;
}

void lnx_op_cancel(struct lnx_ep *ep, const void *context, uint32_t rail)
{
	struct lnx_op *rec = record_find_cancelled(ep, context, rail);

	if (!rec)
		return;
	(void)fi_cancel(&ep->rail[rail].below.fid->fid, rec);
	wf_lock(&ep->ops_lock);
	rec->cancelling = false;
	if (rec->ended)
		wf_pool_put(&ep->ops_pool, rec);
	wf_unlock(&ep->ops_lock);
}
