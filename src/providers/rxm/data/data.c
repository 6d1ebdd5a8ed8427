/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/data/data.h"

#include "providers/rxm/below.h"
#include "providers/rxm/data/hold.h"
#include "providers/rxm/data/op.h"
#include "providers/rxm/data/recv.h"

int rxm_data_init(struct rxm_ep *ep)
{
	const struct fi_info *below = ep->domain->below.info;

	ep->data.size = ep->ep.info->tx_attr->size;
	ep->data.iov_limit = WF_MAX(below->tx_attr->iov_limit, 1);
	ep->data.is_stream = rxm_below_is_stream(ep);
	wf_pool_init(&ep->data.ops, sizeof(struct rxm_op));
	wf_list_init(&ep->data.buffers);
	wf_list_init(&ep->data.slabs);
	rxm_hold_init(ep);
	return 0;
}

void rxm_data_done(struct rxm_ep *ep)
{
	wf_unexp_break(&ep->data.raw, FI_ECANCELED);
	rxm_buffers_free(ep);
	wf_pool_done(&ep->data.ops);
	wf_id_map_done(&ep->data.ids);
}

void rxm_data_conn_init(struct rxm_conn *conn)
{
	wf_list_init(&conn->data.open);
	wf_list_init(&conn->data.rdv);
	wf_list_init(&conn->data.partial);
	wf_list_init(&conn->data.held);
	wf_list_init(&conn->data.held_link);
}

void rxm_data_lost(struct rxm_conn *conn, int err)
{
	struct wf_list *link;

	conn->data.fence = NULL;
	while ((link = wf_list_pop(&conn->waiting)))
		rxm_data_op_fail(link, err);
	while ((link = wf_list_pop(&conn->data.open)))
		rxm_data_op_fail(link, err);
	rxm_rdv_lost(conn, err);
	rxm_partial_lost(conn, err);
	wf_unexp_break(&conn->unexp, err);
}

bool rxm_data_flushed(const struct rxm_conn *conn)
{
	return !wf_list_find(&conn->waiting, rxm_data_op_is_promised, NULL) &&
	       !wf_list_find(&conn->data.open, rxm_data_op_is_promised, NULL);
}
