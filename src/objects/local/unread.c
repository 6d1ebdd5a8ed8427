/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/local/unread.h"

/* Receiver of the messages that a peer left unread. */
struct taker {
	struct wf_unread unread;
	struct wf_ep *ep;
	const struct wf_local_left *left;
	/* The next message is inserted behind this one. */
	struct wf_list *last;
	unsigned int count; /* number of messages that were kept */
	/* Memory for a message was lacking: all later ones are dropped, too, so that no
	 * message overtakes another. */
	bool failed;
};

/* The last of the messages at the front of @pending that an earlier process left
 * unread;
 * @pending: there is none. */
static struct wf_list *unread_last_left(
	struct wf_list *pending, const struct wf_local_left *left)
{
	struct wf_list *last = pending;

	while (last->next != pending && left->is_left(last->next))
		last = last->next;
	return last;
}

/* wf_unread.take */
static void unread_take(struct wf_unread *unread, const struct wf_op *op)
{
	struct taker *taker = wf_container_of(unread, struct taker, unread);
	struct wf_list *link = taker->failed ? NULL : taker->left->keep(taker->ep, op);

	taker->failed = !link;
	if (!link)
		return;
	wf_list_insert_after(taker->last, link);
	taker->last = link;
	taker->count++;
}

static void unread_log_taken(const struct taker *taker, const union wf_sockaddr *addr)
{
	const struct fi_provider *prov = taker->ep->domain->prov->fi;
	char text[WF_SOCKADDR_STRLEN];

	if (taker->failed)
		FI_LOG(prov, FI_LOG_WARN, FI_LOG_EP_DATA,
			"messages that %s left unread are lost: %s\n",
			wf_sockaddr_uri(addr, text, sizeof(text)),
			fi_strerror(FI_ENOMEM));
	if (taker->count)
		FI_LOG(prov, FI_LOG_INFO, FI_LOG_EP_DATA,
			"%s left %u messages unread: they wait for the next process "
			"there\n",
			wf_sockaddr_uri(addr, text, sizeof(text)), taker->count);
}

bool wf_local_take_over(struct wf_local *below, fi_addr_t peer, int err,
	const union wf_sockaddr *addr, struct wf_list *pending,
	const struct wf_local_left *left)
{
	struct taker taker = {
		.unread = { unread_take },
		.ep = below->above,
		.left = left,
		.last = unread_last_left(pending, left),
	};

	wf_local_remove(below, peer, err, err ? &taker.unread : NULL);
	unread_log_taken(&taker, addr);
	return taker.count;
}

bool wf_local_keep_left(struct wf_list *queue, struct wf_list *pending,
	const struct wf_local_left *left)
{
	struct wf_list *last = pending;

	wf_list_foreach_safe(link, queue)
	{
		if (!left->is_left(link))
			continue;
		wf_list_remove(link);
		wf_list_insert_after(last, link);
		last = link;
	}
	return last != pending;
}
