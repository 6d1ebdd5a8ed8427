/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/conn/peer.h"
#include "providers/rxm/data/op.h"
#include "providers/rxm/local/local.h"

/* Receiver of the messages that a peer left unread. */
struct taker {
	struct wf_unread unread;
	struct rxm_ep *ep;
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
	return rxm_op_is_left(rxm_work_of(link));
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
static void take(struct wf_unread *unread, const struct wf_op *from)
{
	struct taker *taker = wf_container_of(unread, struct taker, unread);
	struct rxm_op *op = taker->failed ? NULL : rxm_op_new_left(taker->ep, from);

	taker->failed = !op;
	if (!op)
		return;
	wf_list_insert_after(taker->last, &op->work.link);
	taker->last = &op->work.link;
	taker->count++;
}

/* The messages were queued: log that, and connect to the next process. */
static void wait_for_next(struct rxm_peer *peer, const struct taker *taker)
{
	struct wf_remotes *remotes = &taker->ep->peers->remotes;
	char text[WF_SOCKADDR_STRLEN];

	if (taker->failed)
		rxm_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"messages that %s left unread are lost: %s\n",
			wf_sockaddr_uri(&peer->ip.addr, text, sizeof(text)),
			fi_strerror(FI_ENOMEM));
	if (!taker->count)
		return;
	rxm_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"%s left %u messages unread: they wait for the next process there\n",
		wf_sockaddr_uri(&peer->ip.addr, text, sizeof(text)), taker->count);
	wf_remote_schedule(remotes, &peer->ip.remote);
}

void rxm_unread_take_over(struct rxm_conn *conn, int err)
{
	struct rxm_peer *peer = conn->peer;
	struct taker taker = {
		.unread = { take },
		.ep = conn->ep,
		.last = last_left(&peer->ip.remote.pending),
	};

	wf_local_remove(
		conn->ep->below, conn->local->below, err, err ? &taker.unread : NULL);
	wait_for_next(peer, &taker);
}

void rxm_unread_keep(struct rxm_conn *conn)
{
	struct wf_remote *remote = &conn->peer->ip.remote;
	struct wf_list *last = &remote->pending;

	wf_list_foreach_safe(link, &conn->waiting)
	{
		if (!is_left(link))
			continue;
		wf_list_remove(link);
		wf_list_insert_after(last, link);
		last = link;
	}
	if (last != &remote->pending)
		wf_remote_schedule(&conn->ep->peers->remotes, remote);
}

bool rxm_unread_waits(const struct rxm_peer *peer)
{
	const struct wf_list *pending = &peer->ip.remote.pending;

	return !wf_list_empty(pending) && is_left(pending->next);
}
