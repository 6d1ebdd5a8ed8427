/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/conn/credit.h"

#include "providers/rxm/conn/hello.h"
#include "providers/rxm/data/hold.h"
#include "providers/rxm/data/wire.h"

void rxm_credit_init(struct rxm_conn *conn, uint8_t flow)
{
	struct rxm_ep *ep = conn->ep;

	conn->credited = ep->counts_credits && flow != RXM_FLOW_OFF;
	if (!conn->credited)
		return;
	/* Credits that arrived before the connection was up are counted already. */
	conn->credits++;
	/* The peer, too, begins with one credit. Buffers that were posted again before
	 * the connection was up are counted already. */
	conn->reposted += (uint32_t)ep->rx_depth - 1;
	if (rxm_credit_due(conn))
		rxm_credit_give(conn);
}

void rxm_conn_credit(struct rxm_conn *conn, uint64_t count)
{
	/* More credits than a peer can have are refused, so that the counter stays in
	 * range. */
	if (count > UINT32_MAX / 2 || conn->credits > UINT32_MAX / 2) {
		rxm_conn_fail(conn, FI_EPROTO);
		return;
	}
	conn->credits += (uint32_t)count;
	/* The peer's count includes buffers that were consumed by writes with remote CQ
	 * data. */
	if (conn->peer_depth > 1)
		conn->credits = WF_MIN(conn->credits, conn->peer_depth);
	rxm_conn_resume(conn);
}

static bool credit_give(struct rxm_conn *conn, uint32_t count)
{
	struct rxm_hdr packet;

	rxm_put_credit(&packet, conn->peer_id, count);
	return !fi_inject(conn->below.fid, &packet, sizeof(packet), FI_ADDR_UNSPEC);
}

void rxm_credit_probe(struct rxm_conn *conn)
{
	/* A packet to a peer that counts its buffers would take one of them. */
	if (conn->state == RXM_CONN_UP && !conn->credited)
		(void)credit_give(conn, 0);
}

bool rxm_credit_due(const struct rxm_conn *conn)
{
	/* The peer of a connection that is held has few credits left, and needs one to
	 * give some in return. */
	int32_t enough = rxm_conn_is_held(conn) ? 1 : (int32_t)conn->ep->rx_depth / 2;

	/* Less than 0: buffers could not be posted. */
	return conn->credited && conn->state == RXM_CONN_UP &&
	       (int32_t)conn->reposted >= enough && conn->credits;
}

void rxm_credit_give(struct rxm_conn *conn)
{
	if (!credit_give(conn, conn->reposted)) {
		/* The queue below is full. The next progress call tries again, because
		 * the peer may send no packet that would cause another attempt. */
		rxm_conn_resume(conn);
		return;
	}
	conn->reposted = 0;
	conn->credits--;
}

void rxm_credit_reposted(struct rxm_conn *conn)
{
	if (!conn->ep->counts_credits)
		return;
	conn->reposted++;
	if (rxm_credit_due(conn))
		rxm_credit_give(conn);
}
