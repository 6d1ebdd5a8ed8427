/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "owner.h"

#define container_of(ptr, type, member)                                                \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static void list_init(struct owner_entry *head)
{
	head->next = head->prev = head;
}

static void list_push(struct owner_entry *head, struct owner_entry *entry)
{
	entry->prev = head->prev;
	entry->next = head;
	head->prev->next = entry;
	head->prev = entry;
}

static void list_remove(struct owner_entry *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	list_init(entry);
}

/* ---- the queue ---- */

static ssize_t put(struct owner *owner, const struct owner_result *result)
{
	ssize_t ret = 0;

	pthread_mutex_lock(&owner->cq_lock);
	if (owner->head - owner->tail >= owner->cq_room) {
		owner->cq_refused++;
		ret = -FI_EAGAIN;
	} else {
		owner->ring[owner->head++ % OWNER_ROOM] = *result;
	}
	pthread_mutex_unlock(&owner->cq_lock);
	return ret;
}

bool owner_read(struct owner *owner, struct owner_result *ret)
{
	bool any;

	pthread_mutex_lock(&owner->cq_lock);
	any = owner->head != owner->tail;
	if (any)
		*ret = owner->ring[owner->tail++ % OWNER_ROOM];
	pthread_mutex_unlock(&owner->cq_lock);
	return any;
}

static ssize_t cq_write(struct fid_peer_cq *cq, void *context, uint64_t flags,
	size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	struct owner_port *port = container_of(cq, struct owner_port, cq);
	struct owner_result result = { .context = context,
		.flags = flags,
		.len = len,
		.buf = buf,
		.data = data,
		.tag = tag,
		.src = src };

	return put(port->owner, &result);
}

/* P-31: copied, the entry is the peer's. */
static ssize_t cq_writeerr(struct fid_peer_cq *cq, const struct fi_cq_err_entry *err)
{
	struct owner_port *port = container_of(cq, struct owner_port, cq);
	struct owner_result result = { .context = err->op_context,
		.flags = err->flags,
		.len = err->len,
		.buf = err->buf,
		.data = err->data,
		.tag = err->tag,
		.src = err->src_addr,
		.err = err->err,
		.olen = err->olen };
	size_t size = err->err_data ? err->err_data_size : 0;

	size = size < sizeof(result.err_data) ? size : sizeof(result.err_data);
	if (size)
		memcpy(result.err_data, err->err_data, size);
	return put(port->owner, &result);
}

static struct fi_ops_cq_owner cq_ops = { sizeof(cq_ops), cq_write, cq_writeerr };

/* ---- counters ---- */

static void rx_inc(struct fid_peer_cntr *cntr)
{
	atomic_fetch_add(&container_of(cntr, struct owner_port, rx_cntr)->owner->rx, 1);
}

static void rx_incerr(struct fid_peer_cntr *cntr)
{
	atomic_fetch_add(
		&container_of(cntr, struct owner_port, rx_cntr)->owner->rx_err, 1);
}

static void tx_inc(struct fid_peer_cntr *cntr)
{
	atomic_fetch_add(&container_of(cntr, struct owner_port, tx_cntr)->owner->tx, 1);
}

static void tx_incerr(struct fid_peer_cntr *cntr)
{
	atomic_fetch_add(
		&container_of(cntr, struct owner_port, tx_cntr)->owner->tx_err, 1);
}

static struct fi_ops_cntr_owner rx_cntr_ops = { sizeof(rx_cntr_ops), rx_inc,
	rx_incerr };
static struct fi_ops_cntr_owner tx_cntr_ops = { sizeof(tx_cntr_ops), tx_inc,
	tx_incerr };

/* ---- the receive context: @lock is held unless a comment says otherwise ---- */

static struct owner_port *port_of(struct fid_peer_srx *srx)
{
	return container_of(srx, struct owner_port, srx);
}

static struct owner_entry *entry_of(struct fi_peer_rx_entry *peer)
{
	return container_of(peer, struct owner_entry, peer);
}

static struct owner_entry *new_entry(struct owner *owner, uint64_t kind)
{
	struct owner_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	list_init(entry);
	entry->peer.flags = kind | FI_RECV;
	entry->peer.iov = &entry->iov;
	owner->entries++;
	return entry;
}

static void drop_entry(struct owner *owner, struct owner_entry *entry)
{
	owner->entries--;
	free(entry);
}

static uint64_t kind_of(const struct owner_entry *entry)
{
	return entry->peer.flags & (FI_MSG | FI_TAGGED);
}

static bool is_match(
	const struct owner_entry *posted, uint64_t kind, fi_addr_t addr, uint64_t tag)
{
	if (kind_of(posted) != kind || ((posted->peer.tag ^ tag) & ~posted->ignore))
		return false;
	/* P-63 */
	return posted->peer.addr == FI_ADDR_UNSPEC || posted->peer.addr == addr;
}

static void set_buffer(
	struct owner_entry *entry, void *buf, size_t len, void *context, uint64_t flags)
{
	entry->iov = (struct iovec){ buf, len };
	entry->peer.count = len != 0;
	entry->peer.context = context;
	entry->peer.flags |= flags & FI_COMPLETION;
}

/* P-64 */
static void multi_put(struct owner *owner, struct owner_entry *buffer)
{
	struct owner_result result = { .context = buffer->peer.context,
		.flags = FI_MULTI_RECV,
		.src = FI_ADDR_NOTAVAIL };

	if (--buffer->slices)
		return;
	(void)put(owner, &result);
	drop_entry(owner, buffer);
}

static void multi_close(struct owner *owner, struct owner_entry *buffer)
{
	list_remove(buffer);
	buffer->open = false;
	multi_put(owner, buffer);
}

static bool multi_slice(struct owner *owner, struct owner_entry *buffer,
	struct owner_entry *entry, size_t size)
{
	size_t left = buffer->iov.iov_len - buffer->used;

	if (size > left && buffer->used) {
		multi_close(owner, buffer);
		return false;
	}
	size = size < left ? size : left;
	set_buffer(entry, (char *)buffer->iov.iov_base + buffer->used, size,
		buffer->peer.context, buffer->peer.flags);
	entry->parent = buffer;
	buffer->slices++;
	buffer->used += size;
	if (left - size < owner->min_multi)
		multi_close(owner, buffer);
	return true;
}

/* The receive that matches a message, the earliest first (P-65); @entry gets its
 * buffer. */
static bool find_posted(struct owner *owner, struct owner_entry *entry, fi_addr_t addr,
	uint64_t tag, size_t size)
{
	struct owner_entry *posted = owner->posted.next, *next;

	for (; posted != &owner->posted; posted = next) {
		next = posted->next;
		if (!is_match(posted, kind_of(entry), addr, tag))
			continue;
		if (posted->multi) {
			if (multi_slice(owner, posted, entry, size))
				return true;
			continue;
		}
		list_remove(posted);
		set_buffer(entry, posted->iov.iov_base, posted->iov.iov_len,
			posted->peer.context, posted->peer.flags);
		drop_entry(owner, posted);
		return true;
	}
	return false;
}

/* P-50, P-51, P-54 */
static int get(struct fid_peer_srx *srx, uint64_t kind,
	const struct fi_peer_match_attr *attr, struct fi_peer_rx_entry **ret_entry)
{
	struct owner *owner = port_of(srx)->owner;
	struct owner_entry *entry = new_entry(owner, kind);

	if (!entry)
		return -FI_ENOMEM;
	/* P-53 */
	if (kind == FI_MSG && attr->tag)
		abort();
	entry->peer.srx = srx;
	entry->peer.addr = attr->addr;
	entry->peer.msg_size = attr->msg_size;
	entry->peer.tag = attr->tag;
	*ret_entry = &entry->peer;
	return find_posted(owner, entry, attr->addr, attr->tag, attr->msg_size)
		       ? 0
		       : -FI_ENOENT;
}

static int get_msg(struct fid_peer_srx *srx, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry)
{
	return get(srx, FI_MSG, attr, ret_entry);
}

static int get_tag(struct fid_peer_srx *srx, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry)
{
	return get(srx, FI_TAGGED, attr, ret_entry);
}

static int queue(struct fi_peer_rx_entry *peer)
{
	list_push(&port_of(peer->srx)->owner->unexpected, entry_of(peer));
	return 0;
}

static void free_entry(struct fi_peer_rx_entry *peer)
{
	struct owner_entry *entry = entry_of(peer);
	struct owner *owner = port_of(peer->srx)->owner;

	/* P-60: once, and not while it waits. */
	if (entry->next != entry)
		abort();
	if (entry->parent)
		multi_put(owner, entry->parent);
	drop_entry(owner, entry);
}

/* P-58 */
static void start(struct owner_entry *entry)
{
	struct fi_ops_srx_peer *ops = entry->peer.srx->peer_ops;
	int ret = kind_of(entry) == FI_TAGGED ? ops->start_tag(&entry->peer)
					      : ops->start_msg(&entry->peer);

	if (ret)
		free_entry(&entry->peer);
}

/* P-59 */
static void discard(struct owner_entry *entry)
{
	struct fi_ops_srx_peer *ops = entry->peer.srx->peer_ops;

	port_of(entry->peer.srx)->owner->discards++;
	(void)(kind_of(entry) == FI_TAGGED ? ops->discard_tag(&entry->peer)
					   : ops->discard_msg(&entry->peer));
}

/* P-62. No lock is held. */
static void foreach_unspec_addr(
	struct fid_peer_srx *srx, fi_addr_t (*get_addr)(struct fi_peer_rx_entry *))
{
	struct owner *owner = port_of(srx)->owner;
	struct owner_entry *entry, *next;

	pthread_mutex_lock(&owner->lock);
	for (entry = owner->unexpected.next; entry != &owner->unexpected;
		entry = next) {
		next = entry->next;
		if (entry->peer.srx != srx || entry->peer.addr != FI_ADDR_UNSPEC)
			continue;
		entry->peer.addr = get_addr(&entry->peer);
		if (entry->peer.addr == FI_ADDR_UNSPEC ||
			!find_posted(owner, entry, entry->peer.addr, entry->peer.tag,
				entry->peer.msg_size))
			continue;
		list_remove(entry);
		start(entry);
	}
	pthread_mutex_unlock(&owner->lock);
}

static struct fi_ops_srx_owner srx_ops = {
	.size = sizeof(srx_ops),
	.get_msg = get_msg,
	.get_tag = get_tag,
	.queue_msg = queue,
	.queue_tag = queue,
	.foreach_unspec_addr = foreach_unspec_addr,
	.free_entry = free_entry,
};

/* ---- receives ---- */

static struct owner_entry *find_unexpected(
	struct owner *owner, const struct owner_entry *wanted)
{
	struct owner_entry *entry = owner->unexpected.next;

	for (; entry != &owner->unexpected; entry = entry->next)
		if (is_match(wanted, kind_of(entry), entry->peer.addr, entry->peer.tag))
			return entry;
	return NULL;
}

static void answer(struct owner *owner, const struct fi_peer_rx_entry *peer,
	void *context, uint64_t tag)
{
	struct owner_result result = { .context = context,
		.tag = tag,
		.flags = FI_TAGGED | FI_RECV,
		.src = FI_ADDR_NOTAVAIL,
		.err = peer ? 0 : FI_ENOMSG };

	if (peer) {
		result.flags |= peer->flags & FI_REMOTE_CQ_DATA;
		result.len = peer->msg_size;
		result.data = peer->cq_data;
		result.src = peer->addr;
	}
	(void)put(owner, &result);
}

static void peek(struct owner *owner, const struct owner_entry *wanted, void *context,
	uint64_t flags)
{
	struct owner_entry *entry = find_unexpected(owner, wanted);

	answer(owner, entry ? &entry->peer : NULL, context, wanted->peer.tag);
	if (!entry || !(flags & (FI_CLAIM | FI_DISCARD)))
		return;
	list_remove(entry);
	if (flags & FI_DISCARD) {
		discard(entry);
		return;
	}
	entry->peer.context = context;
	list_push(&owner->claimed, entry);
}

static int claim(
	struct owner *owner, void *buf, size_t len, void *context, uint64_t flags)
{
	struct owner_entry *entry = owner->claimed.next;

	while (entry != &owner->claimed && entry->peer.context != context)
		entry = entry->next;
	if (entry == &owner->claimed)
		return -FI_EINVAL;
	list_remove(entry);
	if (flags & FI_DISCARD) {
		discard(entry);
		return 0;
	}
	set_buffer(entry, buf, len, context, flags);
	start(entry);
	return 0;
}

static void fill(struct owner *owner, struct owner_entry *buffer)
{
	struct owner_entry *entry;

	while (buffer->open && (entry = find_unexpected(owner, buffer))) {
		if (!multi_slice(owner, buffer, entry, entry->peer.msg_size))
			return;
		list_remove(entry);
		start(entry);
	}
}

static void post(struct owner *owner, struct owner_entry *posted, uint64_t flags)
{
	struct owner_entry *entry;

	if (flags & FI_MULTI_RECV) {
		posted->multi = posted->open = true;
		posted->slices = 2;
		fill(owner, posted);
		if (posted->open)
			list_push(&owner->posted, posted);
		multi_put(owner, posted);
		return;
	}
	entry = find_unexpected(owner, posted);
	if (!entry) {
		list_push(&owner->posted, posted);
		return;
	}
	list_remove(entry);
	set_buffer(entry, posted->iov.iov_base, posted->iov.iov_len,
		posted->peer.context, posted->peer.flags);
	drop_entry(owner, posted);
	start(entry);
}

static int receive(struct owner *owner, uint64_t kind, void *buf, size_t len,
	fi_addr_t src, uint64_t tag, uint64_t ignore, void *context, uint64_t flags)
{
	struct owner_entry *posted;
	int ret = -FI_ENOMEM;

	pthread_mutex_lock(&owner->lock);
	posted = new_entry(owner, kind);
	if (!posted)
		goto out;
	posted->peer.addr = src;
	posted->peer.tag = tag;
	posted->ignore = ignore;
	set_buffer(posted, buf, len, context, flags);
	ret = 0;
	if (flags & FI_PEEK)
		peek(owner, posted, context, flags);
	else if (flags & FI_CLAIM)
		ret = claim(owner, buf, len, context, flags);
	else
		post(owner, posted, flags);
	if (flags & (FI_PEEK | FI_CLAIM))
		drop_entry(owner, posted);
out:
	pthread_mutex_unlock(&owner->lock);
	return ret;
}

int owner_recv(struct owner *owner, void *buf, size_t len, fi_addr_t src, void *context,
	uint64_t flags)
{
	return receive(owner, FI_MSG, buf, len, src, 0, 0, context, flags);
}

int owner_trecv(struct owner *owner, void *buf, size_t len, fi_addr_t src, uint64_t tag,
	uint64_t ignore, void *context, uint64_t flags)
{
	return receive(owner, FI_TAGGED, buf, len, src, tag, ignore, context, flags);
}

bool owner_cancel(struct owner *owner, void *context)
{
	struct owner_result result = { .context = context, .err = FI_ECANCELED };
	struct owner_entry *entry;
	bool found;

	pthread_mutex_lock(&owner->lock);
	entry = owner->posted.next;
	while (entry != &owner->posted && entry->peer.context != context)
		entry = entry->next;
	found = entry != &owner->posted;
	if (found) {
		list_remove(entry);
		drop_entry(owner, entry);
		(void)put(owner, &result);
	}
	pthread_mutex_unlock(&owner->lock);
	return found;
}

/* ---- life ---- */

void owner_progress_cq(struct owner *owner, struct fid_cq *peer)
{
	pthread_mutex_lock(&owner->lock);
	(void)fi_cq_read(peer, NULL, 0);
	pthread_mutex_unlock(&owner->lock);
}

void owner_progress_cntr(struct owner *owner, struct fid_cntr *peer)
{
	pthread_mutex_lock(&owner->lock);
	(void)fi_cntr_read(peer);
	pthread_mutex_unlock(&owner->lock);
}

void owner_init(struct owner *owner)
{
	memset(owner, 0, sizeof(*owner));
	pthread_mutex_init(&owner->lock, NULL);
	pthread_mutex_init(&owner->cq_lock, NULL);
	list_init(&owner->posted);
	list_init(&owner->unexpected);
	list_init(&owner->claimed);
	owner->min_multi = 1;
	owner->cq_room = OWNER_ROOM;
}

void owner_done(struct owner *owner)
{
	while (owner->posted.next != &owner->posted) {
		struct owner_entry *entry = owner->posted.next;

		list_remove(entry);
		drop_entry(owner, entry);
	}
	/* Every entry that a peer had was given back. */
	if (owner->entries)
		abort();
	pthread_mutex_destroy(&owner->lock);
	pthread_mutex_destroy(&owner->cq_lock);
}

void owner_export(struct owner *owner, struct owner_port *port)
{
	static struct fi_ops no_ops = { .size = sizeof(no_ops) };

	*port = (struct owner_port){ .owner = owner };
	port->srx.ep_fid.fid = (struct fid){ FI_CLASS_PEER_SRX, owner, &no_ops };
	port->srx.owner_ops = &srx_ops;
	port->srx.peer_ops = &port->ops;
	port->ops.size = sizeof(port->ops);
	port->cq.fid = (struct fid){ FI_CLASS_PEER_CQ, owner, &no_ops };
	port->cq.owner_ops = &cq_ops;
	port->rx_cntr.fid = (struct fid){ FI_CLASS_PEER_CNTR, owner, &no_ops };
	port->rx_cntr.owner_ops = &rx_cntr_ops;
	port->tx_cntr.fid = (struct fid){ FI_CLASS_PEER_CNTR, owner, &no_ops };
	port->tx_cntr.owner_ops = &tx_cntr_ops;
}

static void drain_list(struct owner_entry *head, const struct owner_port *port)
{
	struct owner_entry *entry, *next;

	for (entry = head->next; entry != head; entry = next) {
		next = entry->next;
		if (entry->peer.srx != &port->srx)
			continue;
		list_remove(entry);
		discard(entry);
	}
}

void owner_drain(struct owner_port *port)
{
	drain_list(&port->owner->unexpected, port);
	drain_list(&port->owner->claimed, port);
}
