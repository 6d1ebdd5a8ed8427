/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/conn/peer.h"
#include "objects/local/local.h"
#include "providers/tcp/local/unread.h"

/* Receiver of the messages that a peer left unread: it queues them for the next
 * connection. */
struct taker {
	struct wf_unread unread;
	struct tcp_ep *ep;
	/* The next message is inserted behind this one in the peer's pending
	 * operations. */
	struct wf_list *last;
	unsigned int count; /* number of messages that were queued */
	/* Memory for a message was lacking: all later ones are dropped, too, so that no
	 * message overtakes another. */
	bool failed;
};

static bool is_left(const struct wf_list *link)
{
	return wf_list_entry(link, struct tcp_tx, link)->left;
}

/* The last of the messages at the front of @pending that an earlier process left
 * unread;
 * @pending: there is none. */
static struct wf_list *last_left(struct wf_list *pending)
{
	struct wf_list *last = pending;

	while (last->next != pending && is_left(last->next))
		last = last->next;
	return last;
}

/* wf_unread.take */
static void take(struct wf_unread *unread, const struct wf_op *op)
{
	struct taker *taker = wf_container_of(unread, struct taker, unread);
	struct tcp_tx *tx = taker->failed ? NULL : tcp_tx_new(&taker->ep->closed, op);

	taker->failed = !tx;
	if (!tx)
		return;
	tx->left = true;
	wf_list_insert_after(taker->last, &tx->link);
	taker->last = &tx->link;
	taker->count++;
}

/* The messages were queued: log that, and connect to the next process. */
static void wait_for_next(
	struct tcp_ep *ep, struct tcp_peer *peer, const struct taker *taker)
{
	char text[WF_SOCKADDR_STRLEN];

	if (taker->failed)
		tcp_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"messages that %s left unread are lost: %s\n",
			wf_sockaddr_uri(&peer->ip.addr, text, sizeof(text)),
			fi_strerror(FI_ENOMEM));
	if (!taker->count)
		return;
	tcp_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"%s left %u messages unread: they wait for the next process there\n",
		wf_sockaddr_uri(&peer->ip.addr, text, sizeof(text)), taker->count);
	tcp_peer_schedule(ep, peer);
}

void tcp_unread_take_over(struct tcp_conn *conn, fi_addr_t below, int err)
{
	struct tcp_peer *peer = conn->peer;
	struct taker taker = {
		.unread = { take },
		.ep = conn->ep,
		.last = last_left(&peer->ip.remote.pending),
	};

	wf_local_remove(conn->ep->below, below, err, err ? &taker.unread : NULL);
	wait_for_next(conn->ep, peer, &taker);
}

void tcp_unread_keep(struct tcp_conn *conn)
{
	struct tcp_peer *peer = conn->peer;
	struct wf_list *last = &peer->ip.remote.pending;

	wf_list_foreach_safe(link, &conn->txq)
	{
		if (!is_left(link))
			continue;
		wf_list_remove(link);
		wf_list_insert_after(last, link);
		last = link;
	}
	if (last != &peer->ip.remote.pending)
		tcp_peer_schedule(conn->ep, peer);
}
