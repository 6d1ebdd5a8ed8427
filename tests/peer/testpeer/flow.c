/* SPDX-License-Identifier: BSD-2-Clause */
#include "testpeer.h"

/* Messages: sent into an inbox, taken when a queue is read, matched by the owner. */

static atomic_ulong refused;

static void report(struct tp_cq *cq, ssize_t ret)
{
	if (ret < 0)
		atomic_fetch_add(&refused, 1);
}

static void succeed(struct tp_ep *ep, rx_entry *entry, const struct msg *msg,
	uint64_t flags, fi_addr_t src)
{
	struct fid_peer_cq *cq = ep->rx_cq->owner;

	if (ep->rx_cntr)
		ep->rx_cntr->owner->owner_ops->inc(ep->rx_cntr->owner);
	if (ep->rx_selective && !(entry->flags & FI_COMPLETION))
		return;
	report(ep->rx_cq, cq->owner_ops->write(cq, entry->context, flags, msg->len,
				  entry->count ? entry->iov[0].iov_base : NULL,
				  msg->data, entry->tag, src));
}

static void fail(struct tp_ep *ep, rx_entry *entry, const struct msg *msg,
	uint64_t flags, fi_addr_t src, int err, size_t done)
{
	struct fid_peer_cq *cq = ep->rx_cq->owner;
	char why[] = "test";
	struct fi_cq_err_entry whole = {
		.op_context = entry->context,
		.flags = flags,
		.len = done,
		.data = msg->data,
		.tag = entry->tag,
		.olen = msg->len - done,
		.err = err,
		.prov_errno = err,
		.err_data = why,
		.err_data_size = sizeof(why),
		.src_addr = src,
	};
	/* Providers of before 1.20 know no src_addr: nothing can be read there. */
	size_t size = LAYOUT < 120 ? offsetof(struct fi_cq_err_entry, src_addr)
				   : sizeof(whole);
	struct fi_cq_err_entry *part = malloc(size);

	if (ep->rx_cntr)
		ep->rx_cntr->owner->owner_ops->incerr(ep->rx_cntr->owner);
	if (!part)
		return;
	memcpy(part, &whole, size);
	report(ep->rx_cq, cq->owner_ops->writeerr(cq, part));
	free(part);
}

/* Receiving: the owner's lock is held. */

static fi_addr_t tp_find(const struct tp_av *av, uint64_t id)
{
	fi_addr_t ret = FI_ADDR_UNSPEC;

	pthread_mutex_lock(&tp_lock);
	for (size_t i = 0; i < av->count; i++)
		if (av->ids[i] == id)
			ret = av->known_as[i];
	pthread_mutex_unlock(&tp_lock);
	return ret;
}

/* @entry has buffers: the end of both. */
static void receive(struct tp_ep *ep, rx_entry *entry, struct msg *msg)
{
	uint64_t flags = (entry->flags & (FI_MSG | FI_TAGGED | FI_RECV)) | msg->flags;
	fi_addr_t src = tp_find(ep->av, msg->from);
	int err = atomic_exchange(&ep->fail, 0);
	rx_ctx *srx = entry->srx;
	size_t done = 0;

	if (srx != ep->srx->owner)
		abort();
	for (size_t i = 0; i < entry->count && done < msg->len; i++) {
		size_t n = entry->iov[i].iov_len;

		n = n < msg->len - done ? n : msg->len - done;
		memcpy(entry->iov[i].iov_base, msg->buf + done, n);
		done += n;
	}
	if (!err && done < msg->len)
		err = FI_ETRUNC;
	if (err)
		fail(ep, entry, msg, flags, src, err, done);
	else
		succeed(ep, entry, msg, flags, src);
	srx->owner_ops->free_entry(entry);
	free(msg);
}

static void arrive(struct tp_ep *ep, struct msg *msg, bool tagged)
{
	rx_ctx *srx = ep->srx->owner;
	rx_entry *entry = NULL;
	int ret = ask(
		srx, tagged, tp_find(ep->av, msg->from), msg->len, msg->tag, &entry);

	if (!ret) {
		receive(ep, entry, msg);
		return;
	}
	if (ret != -FI_ENOENT) {
		free(msg);
		return;
	}
	entry->peer_context = msg; /* P-61: found there again, unchanged */
	entry->msg_size = msg->len;
#if HAS_CQ_DATA
	entry->cq_data = msg->data;
	entry->flags |= msg->flags;
#endif
	ret = tagged ? srx->owner_ops->queue_tag(entry)
		     : srx->owner_ops->queue_msg(entry);
	if (ret) {
		srx->owner_ops->free_entry(entry);
		free(msg);
	}
}

struct msg *tp_take(struct tp_ep *ep)
{
	struct msg *msg;

	pthread_mutex_lock(&tp_lock);
	msg = ep->head;
	if (msg) {
		ep->head = msg->next;
		if (!ep->head)
			ep->tail = &ep->head;
	}
	pthread_mutex_unlock(&tp_lock);
	return msg;
}

static ssize_t post_now(struct tp_ep *ep, const void *buf, size_t len, fi_addr_t dest,
	uint64_t tag, uint64_t data, uint64_t flags, void *context);

/* An error is written even if successes are not reported. */
static void fail_tx(struct tp_ep *ep, const struct late *late)
{
	const struct fi_cq_err_entry entry = {
		.op_context = late->context,
		.flags = FI_SEND | FI_TAGGED,
		.err = FI_EIO,
	};

	if (ep->tx_cntr)
		ep->tx_cntr->owner->owner_ops->incerr(ep->tx_cntr->owner);
	report(ep->tx_cq,
		ep->tx_cq->owner->owner_ops->writeerr(ep->tx_cq->owner, &entry));
}

static void run_late(struct tp_ep *ep)
{
	struct late *late;

	pthread_mutex_lock(&tp_lock);
	late = ep->late;
	ep->late = NULL;
	pthread_mutex_unlock(&tp_lock);
	if (!late)
		return;
	if (late->tag == PEER_FAIL_LATER)
		fail_tx(ep, late);
	else
		(void)post_now(ep, late->buf, late->len, late->dest, late->tag,
			late->data, late->flags, late->context);
	free(late);
}

void tp_progress(const struct tp_cq *cq, const struct tp_cntr *cntr)
{
	struct tp_ep *mine[EP_ROOM];
	size_t count = 0;
	struct msg *msg;

	pthread_mutex_lock(&tp_lock);
	for (size_t i = 0; i < EP_ROOM; i++)
		if (tp_net[i] && ((cq && tp_net[i]->rx_cq == cq) ||
					 (cntr && tp_net[i]->rx_cntr == cntr)))
			mine[count++] = tp_net[i];
	pthread_mutex_unlock(&tp_lock);
	tp_begin();
	for (size_t i = 0; i < count; i++) {
		run_late(mine[i]);
		while ((msg = tp_take(mine[i]))) {
			bool tagged = msg->flags & FI_TAGGED;

			msg->flags &= ~FI_TAGGED;
			arrive(mine[i], msg, tagged);
		}
	}
	tp_end();
}

static int start(rx_entry *entry)
{
	struct msg *msg = entry->peer_context;

	receive(msg->to, entry, msg);
	return 0;
}

static int discard(rx_entry *entry)
{
	free(entry->peer_context);
	entry->srx->owner_ops->free_entry(entry);
	return 0;
}

rx_peer_ops tp_srx_ops = { sizeof(tp_srx_ops), start, start, discard, discard };

fi_addr_t tp_get_addr(rx_entry *entry)
{
	const struct msg *msg = entry->peer_context;

	return tp_find(msg->to->av, msg->from);
}

static ssize_t post_now(struct tp_ep *ep, const void *buf, size_t len, fi_addr_t dest,
	uint64_t tag, uint64_t data, uint64_t flags, void *context)
{
	struct tp_ep *to = NULL;
	struct fid_peer_cq *cq = ep->tx_cq->owner;
	struct msg *msg = malloc(sizeof(*msg) + len);

	if (!msg)
		return -FI_ENOMEM;
	*msg = (struct msg){
		.from = ep->id,
		.tag = tag,
		.data = data,
		.flags = flags & (FI_TAGGED | FI_REMOTE_CQ_DATA),
		.len = len,
	};
	if (len)
		memcpy(msg->buf, buf, len);
	pthread_mutex_lock(&tp_lock);
	for (size_t i = 0; i < EP_ROOM && dest < ep->av->count; i++)
		if (tp_net[i] && tp_net[i]->id == ep->av->ids[dest])
			to = tp_net[i];
	if (to) {
		msg->to = to;
		*to->tail = msg;
		to->tail = &msg->next;
	}
	pthread_mutex_unlock(&tp_lock);
	if (!to) {
		free(msg);
		return -FI_EHOSTUNREACH;
	}
	if (ep->tx_cntr)
		ep->tx_cntr->owner->owner_ops->inc(ep->tx_cntr->owner);
	if (!ep->tx_selective || flags & FI_COMPLETION)
		report(ep->tx_cq,
			cq->owner_ops->write(cq, context,
				FI_SEND | (flags & FI_TAGGED ? FI_TAGGED : FI_MSG), 0,
				NULL, 0, 0, FI_ADDR_NOTAVAIL));
	return 0;
}

static ssize_t post_late(struct tp_ep *ep, const void *buf, size_t len, fi_addr_t dest,
	uint64_t tag, uint64_t data, uint64_t flags, void *context)
{
	struct late *late = malloc(sizeof(*late) + len);
	ssize_t ret = -FI_EAGAIN;

	if (!late)
		return -FI_ENOMEM;
	*late = (struct late){ dest, tag, data, flags, context, len };
	memcpy(late->buf, buf, len);
	pthread_mutex_lock(&tp_lock);
	if (!ep->late) {
		ep->late = late;
		ret = 0;
	}
	pthread_mutex_unlock(&tp_lock);
	if (ret)
		free(late);
	return ret;
}

ssize_t tp_post(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest,
	uint64_t tag, uint64_t data, uint64_t flags, void *context)
{
	struct tp_ep *ep = container_of(fid, struct tp_ep, fid);
	bool later = tag == PEER_SEND_LATER || tag == PEER_FAIL_LATER;

	return (later ? post_late : post_now)(
		ep, buf, len, dest, tag, data, flags, context);
}

unsigned long tp_refused(void)
{
	return atomic_load(&refused);
}
