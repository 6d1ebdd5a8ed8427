/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/local/named.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "sys/compiler.h"

/* Peers that one call of tcp_named_next_leaving examines. */
enum { EXAMINED_MAX = 8 };

/* A peer in the AV below. */
struct tcp_name {
	bool present; /* The peer is in the AV below. */
	bool leaving; /* The connection has ended; messages of the peer may remain. */
	/* The source of its messages: its index in tcp's AV, or FI_ADDR_NOTAVAIL. */
	fi_addr_t source;
	fi_addr_t index;        /* the last index that the peer had in tcp's AV */
	union wf_sockaddr addr; /* its address in tcp's AV */
};

static void lock(struct tcp_named *named)
{
	(void)pthread_mutex_lock(&named->lock);
}

static void unlock(struct tcp_named *named)
{
	(void)pthread_mutex_unlock(&named->lock);
}

/* Look up @name, of the peer @below, in tcp's AV. Returns whether its source changed.
 */
static bool find(struct tcp_named *named, struct tcp_name *name, size_t below)
{
	fi_addr_t source;

	if (!name->present)
		return false;
	source = wf_av_index(named->av, &name->addr, wf_sockaddr_len(&name->addr));
	if (source == name->source)
		return false;
	named->lost += source == FI_ADDR_NOTAVAIL;
	named->lost -= name->source == FI_ADDR_NOTAVAIL;
	name->source = source;
	if (source != FI_ADDR_NOTAVAIL)
		name->index = source;
	/* The memory for the id was allocated by the insertion. */
	(void)wf_av_set_id_untold(named->below, below, source);
	return true;
}

static void tell(struct tcp_named *named, bool changed)
{
	if (changed)
		named->changed(named);
}

static bool is_among(fi_addr_t source, const uint64_t *index, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (index[i] == source)
			return true;
	return false;
}

static void removed(struct wf_av_watch *watch, const uint64_t *index, size_t count)
{
	struct tcp_named *named = wf_container_of(watch, struct tcp_named, watch);
	bool changed = false;

	lock(named);
	for (size_t i = 0; i < named->count; i++)
		if (is_among(named->names[i].source, index, count))
			changed |= find(named, &named->names[i], i);
	unlock(named);
	tell(named, changed);
}

static bool find_lost(struct tcp_named *named)
{
	bool changed = false;

	for (size_t i = 0; i < named->count && named->lost; i++)
		if (named->names[i].source == FI_ADDR_NOTAVAIL)
			changed |= find(named, &named->names[i], i);
	return changed;
}

static void inserted(struct wf_av_watch *watch)
{
	struct tcp_named *named = wf_container_of(watch, struct tcp_named, watch);
	bool changed;

	lock(named);
	changed = find_lost(named);
	unlock(named);
	tell(named, changed);
}

void tcp_named_start(struct tcp_named *named, struct wf_av *av, struct wf_av *below,
	void (*changed)(struct tcp_named *named))
{
	(void)pthread_mutex_init(&named->lock, NULL);
	named->av = av;
	named->below = below;
	named->changed = changed;
	named->shared_seq = wf_av_shared_seq(av);
	named->watch = (struct wf_av_watch){ .inserted = inserted, .removed = removed };
	wf_av_watch_add(av, &named->watch);
}

void tcp_named_stop(struct tcp_named *named)
{
	if (!named->watch.inserted)
		return;
	wf_av_watch_del(named->av, &named->watch);
	wf_av_watch_wait(&named->watch);
	named->watch.inserted = NULL;
}

void tcp_named_done(struct tcp_named *named)
{
	if (!named->av)
		return;
	tcp_named_stop(named);
	if (named->tx.named)
		wf_cq_unexport(&named->tx.port);
	if (named->rx.named)
		wf_cq_unexport(&named->rx.port);
	(void)pthread_mutex_destroy(&named->lock);
	free(named->names);
}

/* Set the address of the peer @below in @entry; no bytes: it has none. named->lock is
 * held. */
static void give_address(const struct tcp_named *named, fi_addr_t below,
	struct fi_cq_err_entry *entry, union wf_sockaddr *addr)
{
	entry->err_data = NULL;
	entry->err_data_size = 0;
	if (below >= named->count || !named->names[below].addr.sa.sa_family)
		return;
	*addr = named->names[below].addr;
	entry->err_data = addr;
	entry->err_data_size = wf_sockaddr_len(addr);
}

static ssize_t write_tx_err(
	struct fid_peer_cq *port, const struct fi_cq_err_entry *entry)
{
	struct tcp_named_cq *cq = wf_container_of(port, struct tcp_named_cq, port);
	struct tcp_named *named = cq->named;
	struct fi_cq_err_entry copy = *entry;
	union wf_sockaddr addr;

	lock(named);
	give_address(named, entry->src_addr, &copy, &addr);
	copy.src_addr =
		copy.err_data ? named->names[entry->src_addr].index : FI_ADDR_NOTAVAIL;
	unlock(named);
	return wf_cq_write_err(port->fid.context, &copy);
}

/* FI_SOURCE_ERR: the entry of the endpoint below is about a peer that is not in tcp's
 * AV. */
static ssize_t write_rx_err(
	struct fid_peer_cq *port, const struct fi_cq_err_entry *entry)
{
	struct tcp_named_cq *cq = wf_container_of(port, struct tcp_named_cq, port);
	struct tcp_named *named = cq->named;
	struct fi_cq_err_entry copy = *entry;
	union wf_sockaddr addr;
	fi_addr_t below;

	if (entry->err == FI_EADDRNOTAVAIL && entry->err_data) {
		below = wf_av_index(
			named->below, entry->err_data, entry->err_data_size);
		lock(named);
		give_address(named, below, &copy, &addr);
		unlock(named);
	}
	return wf_cq_write_err(port->fid.context, &copy);
}

void tcp_named_export(
	struct tcp_named *named, struct tcp_named_cq *ret, struct wf_cq *cq)
{
	wf_cq_export(cq, &ret->port);
	ret->named = named;
	ret->ops = *ret->port.owner_ops;
	ret->ops.writeerr = ret == &named->tx ? write_tx_err : write_rx_err;
	ret->port.owner_ops = &ret->ops;
}

static int grow(struct tcp_named *named, size_t count)
{
	struct tcp_name *names = realloc(named->names, count * sizeof(*names));

	if (!names)
		return -FI_ENOMEM;
	memset(names + named->count, 0, (count - named->count) * sizeof(*names));
	named->names = names;
	named->count = count;
	return 0;
}

/* A peer that was leaving was inserted again, which the AV below counts. */
static void stay(struct tcp_named *named, struct tcp_name *name, fi_addr_t below)
{
	named->leaving--;
	named->lost -= name->source == FI_ADDR_NOTAVAIL;
	(void)wf_av_remove_untold(named->below, below);
}

/* @addr is at @index of tcp's AV, or was a moment ago. named->lock is held. */
static int set(
	struct tcp_named *named, fi_addr_t below, fi_addr_t index, const void *addr)
{
	struct tcp_name *name;

	if (below >= named->count && grow(named, WF_MAX(2 * named->count, below + 1)))
		return -FI_ENOMEM;
	name = &named->names[below];
	if (name->leaving)
		stay(named, name, below);
	*name = (struct tcp_name){ .present = true, .source = index, .index = index };
	memcpy(&name->addr, addr, WF_MIN(wf_av_addrlen(named->av), sizeof(name->addr)));
	(void)find(named, name, below);
	return 0;
}

int tcp_named_insert(struct tcp_named *named, fi_addr_t index, const void *name,
	fi_addr_t *ret_below)
{
	const void *addr = wf_av_addr(named->av, index);
	int ret;

	if (!addr)
		return -FI_EAGAIN;
	ret = wf_av_insert_untold(named->below, name, index, ret_below);
	if (ret)
		return ret;
	lock(named);
	ret = set(named, *ret_below, index, addr);
	unlock(named);
	if (ret)
		(void)wf_av_remove_untold(named->below, *ret_below);
	return ret;
}

void tcp_named_remove(struct tcp_named *named, fi_addr_t below)
{
	struct tcp_name *name;

	lock(named);
	name = &named->names[below];
	named->lost -= name->source == FI_ADDR_NOTAVAIL;
	named->leaving -= name->leaving;
	name->present = name->leaving = false;
	unlock(named);
	(void)wf_av_remove_untold(named->below, below);
}

void tcp_named_leave(struct tcp_named *named, fi_addr_t below)
{
	lock(named);
	named->names[below].leaving = true;
	named->leaving++;
	unlock(named);
}

fi_addr_t tcp_named_next_leaving(struct tcp_named *named)
{
	fi_addr_t ret = FI_ADDR_NOTAVAIL;

	lock(named);
	for (int i = 0; i < EXAMINED_MAX && named->leaving && ret == FI_ADDR_NOTAVAIL;
		i++) {
		named->next = (named->next + 1) % named->count;
		if (named->names[named->next].leaving)
			ret = named->next;
	}
	unlock(named);
	return ret;
}

void tcp_named_compare(struct tcp_named *named)
{
	uint32_t seq;

	if (wf_likely(!named->shared_seq))
		return;
	seq = atomic_load_explicit(named->shared_seq, memory_order_acquire);
	if (wf_likely(seq == named->seq && !named->lost))
		return;
	named->seq = seq;
	lock(named);
	for (size_t i = 0; i < named->count; i++)
		(void)find(named, &named->names[i], i);
	unlock(named);
}
