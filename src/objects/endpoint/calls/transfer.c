/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/endpoint/calls/peer_tag.h"
#include "objects/endpoint/calls/transfer.h"
#include "objects/endpoint/calls/transfer_report.h"
#include "objects/endpoint/log.h"
#include "objects/progress/later.h"

/*
 * The result of a peer's transfer is known while locks of the endpoint are held, so the
 * peer could not call the endpoint from its callback. The result is copied, and the
 * callback runs later (later.h), which also prevents callbacks inside callbacks (P-75).
 * Its memory is reserved before the operation starts: a peer that never learns of the
 * end of an operation waits for it for ever.
 */

struct wf_transfer {
	struct wf_ep *ep;    /* The endpoint that the peer posts on. */
	struct fid_ep *peer; /* The peer's endpoint; NULL after it was closed. */
	/* @peer is being closed. @peer and @closing change with run_lock held. */
	bool closing;
	struct fi_ops_transfer_peer *ops;
	struct fi_info *info;    /* Attributes of @ep that the peer gets. */
	struct wf_later results; /* Results that wait for a callback. */
	/* Memory for the results of operations that have not ended, one for each.
	 * results.lock guards it. */
	struct wf_list reserve;
	struct fi_ops_tagged tagged; /* Calls without the checks of peer_tag.c. */
};

struct result {
	struct wf_list link;
	bool failed; /* @err is valid, otherwise @entry and @src. */
	fi_addr_t src;
	union {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry err; /* err_data points to @data. */
	};
	uint8_t data[];
};

static struct result *transfer_result_of(struct wf_list *link)
{
	return wf_list_entry(link, struct result, link);
}

static bool transfer_tell(struct wf_later *results, struct wf_list *link)
{
	struct wf_transfer *transfer =
		wf_container_of(results, struct wf_transfer, results);
	struct result *result = transfer_result_of(link);
	ssize_t ret = 0;

	if (transfer->closing)
		return false;
	if (transfer->peer && result->failed)
		ret = transfer->ops->comperr(transfer->peer, &result->err);
	else if (transfer->peer)
		ret = transfer->ops->complete(
			transfer->peer, &result->entry, result->src);
	if (ret == -FI_EAGAIN)
		return false;
	if (ret < 0)
		wf_ep_log(transfer->ep, FI_LOG_WARN, FI_LOG_EP_DATA,
			"the peer did not take the result of its transfer: %s\n",
			fi_strerror((int)-ret));
	free(result);
	if (transfer->ep->coll_ops)
		transfer->ep->coll_ops->transferred(transfer->ep);
	return true;
}

int wf_transfer_reserve(struct wf_transfer *transfer)
{
	struct result *result = malloc(sizeof(*result));

	if (!result)
		return -FI_ENOMEM;
	wf_lock(&transfer->results.lock);
	wf_list_push(&transfer->reserve, &result->link);
	wf_unlock(&transfer->results.lock);
	return 0;
}

static struct result *transfer_pop_reserve(struct wf_transfer *transfer)
{
	struct wf_list *link;

	wf_lock(&transfer->results.lock);
	link = wf_list_pop(&transfer->reserve);
	wf_unlock(&transfer->results.lock);
	return link ? transfer_result_of(link) : NULL;
}

void wf_transfer_unreserve(struct wf_transfer *transfer)
{
	free(transfer_pop_reserve(transfer));
}

/* Memory for the result of an operation, with *@size bytes of data; without memory for
 * these *@size becomes 0. NULL: an operation with several results, a multi-receive, had
 * memory for one in reserve. */
static struct result *transfer_new_result(struct wf_transfer *transfer, size_t *size)
{
	struct result *reserved = transfer_pop_reserve(transfer), *result;

	if (reserved && !*size)
		return reserved;
	result = malloc(sizeof(*result) + *size);
	if (!result) {
		*size = 0;
		return reserved;
	}
	free(reserved);
	return result;
}

ssize_t wf_transfer_put(struct wf_transfer *transfer,
	const struct fi_cq_tagged_entry *entry, fi_addr_t src)
{
	size_t size = 0;
	struct result *result = transfer_new_result(transfer, &size);

	if (!result)
		return -FI_ENOMEM;
	result->failed = false;
	result->entry = *entry;
	result->src = src;
	wf_later_add(&transfer->results, &result->link);
	return 0;
}

ssize_t wf_transfer_put_err(
	struct wf_transfer *transfer, const struct fi_cq_err_entry *entry)
{
	size_t size = entry->err_data ? entry->err_data_size : 0;
	struct result *result = transfer_new_result(transfer, &size);

	if (!result)
		return -FI_ENOMEM;
	result->failed = true;
	result->err = *entry;
	result->err.err_data = size ? result->data : NULL;
	result->err.err_data_size = size;
	if (size)
		memcpy(result->data, entry->err_data, size);
	wf_later_add(&transfer->results, &result->link);
	return 0;
}

struct wf_progress *wf_transfer_progress(struct wf_transfer *transfer)
{
	return &transfer->results.progress;
}

struct fi_ops_tagged *wf_transfer_tagged(struct wf_transfer *transfer)
{
	return &transfer->tagged;
}

bool wf_transfer_owned(const struct wf_ep *ep)
{
	return ep->transfer && ep->transfer->ep == ep;
}

void wf_transfer_lend(const struct wf_ep *ep, struct wf_ep *below)
{
	below->transfer = ep->transfer;
}

static int transfer_refuse(const struct wf_ep *ep, int err, const char *why)
{
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL, "peer transfers refused: %s\n", why);
	return err;
}

static int transfer_open_peer(struct wf_transfer *transfer, struct fid_domain *domain,
	struct fi_info *peer_info)
{
	struct wf_ep *ep = transfer->ep;
	struct fi_peer_transfer_context context = {
		.size = sizeof(context),
		.info = transfer->info,
		.ep = &ep->fid,
	};
	const struct fi_ops_transfer_peer *ops;
	int ret = fi_endpoint(domain, peer_info, &transfer->peer, &context);

	if (ret)
		return ret;
	ops = context.peer_ops;
	if (!FI_CHECK_OP(ops, struct fi_ops_transfer_peer, complete) ||
		!FI_CHECK_OP(ops, struct fi_ops_transfer_peer, comperr)) {
		(void)fi_close(&transfer->peer->fid);
		return transfer_refuse(ep, -FI_EINVAL, "the peer gave no callbacks");
	}
	transfer->ops = context.peer_ops;
	return 0;
}

/* What the peer gets, whatever the application asked for: with FI_COLLECTIVE tagged
 * messages, and with FI_SOURCE the AV indices of sources, which receives may name. */
static struct fi_info *transfer_info_for_peer(const struct wf_ep *ep)
{
	struct fi_info *info = fi_dupinfo(ep->info);

	if (!info)
		return NULL;
	if (ep->caps & FI_COLLECTIVE)
		info->caps |= FI_TAGGED | FI_SEND | FI_RECV;
	if (info->caps & FI_SOURCE && ep->type == FI_EP_RDM)
		info->caps |= FI_TAGGED_DIRECTED_RECV;
	info->caps &= ~FI_AV_USER_ID;
	return info;
}

int wf_transfer_open(struct wf_ep *ep, struct fid_domain *peer,
	struct fi_info *peer_info, struct fid_ep **ret_peer_ep)
{
	struct wf_transfer *transfer;
	int ret;

	if (!(peer_info->mode & FI_PEER_TRANSFER))
		return transfer_refuse(
			ep, -FI_EINVAL, "the peer does not ask for them");
	if (ep->enabled)
		return transfer_refuse(
			ep, -FI_EOPBADSTATE, "the endpoint is enabled already");
	if (ep->transfer)
		return transfer_refuse(
			ep, -FI_EBUSY, "the endpoint has a peer already");
	transfer = calloc(1, sizeof(*transfer));
	if (!transfer)
		return -FI_ENOMEM;
	transfer->ep = ep;
	wf_list_init(&transfer->reserve);
	transfer->info = transfer_info_for_peer(ep);
	if (!transfer->info) {
		ret = -FI_ENOMEM;
		goto err_free;
	}
	wf_later_init(&transfer->results, transfer_tell);
	ret = transfer_open_peer(transfer, peer, peer_info);
	if (ret)
		goto err_later;
	ep->transfer = transfer;
	*ret_peer_ep = transfer->peer;
	return 0;

err_later:
	wf_later_done(&transfer->results);
	fi_freeinfo(transfer->info);
err_free:
	free(transfer);
	return ret;
}

/* Stop the callbacks (@closing), or allow them again. @peer: the peer's endpoint, NULL
 * once it is closed. */
static void transfer_set_closing(
	struct wf_transfer *transfer, bool closing, struct fid_ep *peer)
{
	wf_lock(&transfer->results.run_lock);
	transfer->closing = closing;
	transfer->peer = peer;
	wf_unlock(&transfer->results.run_lock);
}

int wf_transfer_close(struct wf_ep *ep)
{
	struct wf_transfer *transfer = ep->transfer;
	struct fid_ep *peer = wf_transfer_owned(ep) ? transfer->peer : NULL;
	int ret;

	if (!peer)
		return 0;
	transfer_set_closing(transfer, true, peer);
	/* No lock held: the peer may cancel operations in this call. */
	ret = fi_close(&peer->fid);
	transfer_set_closing(transfer, false, ret ? peer : NULL);
	return ret;
}

void wf_transfer_free(struct wf_ep *ep)
{
	struct wf_transfer *transfer = ep->transfer;

	ep->transfer = NULL;
	if (!transfer || transfer->ep != ep)
		return;
	wf_list_foreach_safe(link, &transfer->results.list)
		free(transfer_result_of(link));
	wf_list_foreach_safe(link, &transfer->reserve)
	{
		free(transfer_result_of(link));
	}
	wf_later_done(&transfer->results);
	fi_freeinfo(transfer->info);
	free(transfer);
}
