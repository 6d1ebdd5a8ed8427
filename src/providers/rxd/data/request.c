/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/rxd/data/data.h"
#include "sys/compiler.h"
#include "sys/iov.h"

/* Reads and fetching atomics of the application, which end with the last packet of
 * their answer. An answer contains the id of its request. */

enum { IDS_MAX = 1 << 16 };

bool rxd_request_add(struct rxd_tx *tx)
{
	struct rxd_ep *ep = tx->peer->ep;

	tx->head.tx_id = wf_id_map_add(&ep->requests, tx, IDS_MAX);
	if (!tx->head.tx_id)
		return false;
	wf_list_push(&tx->peer->requests, &tx->request_link);
	tx->peer->flow.owed++;
	return true;
}

void rxd_request_remove(struct rxd_tx *tx)
{
	if (wf_list_empty(&tx->request_link))
		return;
	wf_id_map_remove(&tx->peer->ep->requests, tx->head.tx_id);
	wf_list_remove(&tx->request_link);
	tx->peer->flow.owed--;
}

/* The request has ended. If the flow still waits for its acknowledgement, the
 * acknowledgement ends it. */
static void request_end(struct rxd_tx *tx, int err)
{
	rxd_request_remove(tx);
	if (!tx->in_flow)
		rxd_tx_end(tx, err);
}

int64_t rxd_request_answered(struct rxd_peer *peer, const uint8_t *packet, size_t len)
{
	struct rxd_data_head head;
	struct rxd_tx *tx;

	if (len < RXD_DATA_HEAD)
		return 1;
	memcpy(&head, packet + sizeof(struct rxd_base), sizeof(head));
	tx = wf_id_map_get(&peer->ep->requests, head.tx_id);
	packet += RXD_DATA_HEAD;
	len -= RXD_DATA_HEAD;
	if (!tx || tx->peer != peer || len > tx->len - tx->got)
		return 1;
	(void)wf_iov_scatter_at(tx->iov, tx->iov_count, tx->got, packet, len);
	tx->got += len;
	if (tx->got == tx->len)
		request_end(tx, 0);
	return 1;
}

void rxd_requests_fail(struct rxd_peer *peer, int err)
{
	wf_list_foreach_safe(link, &peer->requests)
	{
		struct rxd_tx *tx = wf_list_entry(link, struct rxd_tx, request_link);

		/* The flow fails the requests that it still uses. */
		if (!tx->in_flow)
			request_end(tx, err);
	}
}
