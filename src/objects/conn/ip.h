/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_IP_H
#define WF_OBJECTS_CONN_IP_H

#include <stddef.h>
#include <string.h>

#include "objects/av/av.h"
#include "objects/conn/remote.h"
#include "objects/op/op.h"
#include "sys/sockaddr.h"

struct wf_ep;

struct wf_ep;

/*
 * Peers with Internet addresses. The transport embeds struct wf_ip_remote first in its
 * struct for a peer. The lock is that of remote.h.
 */
struct wf_ip_remote {
	struct wf_remote remote;
	union wf_sockaddr addr; /* Address of the peer; constant. */
	/* Index in the AV when last looked up, or FI_ADDR_NOTAVAIL. */
	fi_addr_t index;
};

static inline struct wf_ip_remote *wf_ip_remote_of(const struct wf_remote *remote)
{
	return wf_container_of(remote, struct wf_ip_remote, remote);
}

/* wf_remote_ops.is; the key is a union wf_sockaddr. */
bool wf_ip_remote_is(const struct wf_remote *remote, const void *key);
/* wf_remote_ops.name */
const char *wf_ip_remote_name(const struct wf_remote *remote, char *buf, size_t len);
/* For wf_remote_ops.make: a peer of @size bytes, zeroed behind the common part. */
struct wf_remote *wf_ip_remote_new(size_t size, const void *key);

/* wf_unexp_ops.index and .name */
fi_addr_t wf_ip_remote_unexp_index(struct wf_ep *ep, struct wf_remote *remote);
const void *wf_ip_remote_unexp_name(const struct wf_remote *remote, size_t *ret_len);

/* The peer with the address @addr, which is made if the table has none. NULL: no
 * memory. */
struct wf_ip_remote *wf_ip_remotes_get(
	struct wf_remotes *remotes, const union wf_sockaddr *addr);

/* Are address, port and family equal? The addresses of an AV are normalised. */
static inline bool wf_ip_addr_is(const union wf_sockaddr *a, const void *addr)
{
	const union wf_sockaddr *b = addr;

	if (wf_likely(a->sa.sa_family == AF_INET))
		return !memcmp(a, b, offsetof(struct sockaddr_in, sin_zero));
	return wf_sockaddr_equal(a, b);
}

/* The index of @peer in @av, or FI_ADDR_NOTAVAIL. */
fi_addr_t wf_ip_remote_index_slow(struct wf_av *av, struct wf_ip_remote *peer);
static inline fi_addr_t wf_ip_remote_index(struct wf_av *av, struct wf_ip_remote *peer)
{
	const void *addr;

	if (wf_likely(peer->index != FI_ADDR_NOTAVAIL)) {
		addr = wf_av_addr(av, peer->index);
		if (wf_likely(addr && wf_ip_addr_is(&peer->addr, addr)))
			return peer->index;
	}
	return wf_ip_remote_index_slow(av, peer);
}

/* Let @index of @av, at which @addr is inserted, lead to the peer with that address.
 * NULL: no memory. */
struct wf_ip_remote *wf_ip_remote_look_up(struct wf_remotes *remotes,
	const struct wf_av *av, size_t index, const void *addr);

/* The peer at @addr of @av, which is made if the table has none. NULL: call
 * wf_ip_remote_error for the reason. */
WF_INLINE struct wf_ip_remote *wf_ip_remote_at(
	struct wf_remotes *remotes, struct wf_av *av, fi_addr_t addr)
{
	const void *sa = wf_av_addr(av, addr);
	size_t index = wf_av_slot_index(av, addr);
	struct wf_remote *remote = wf_remotes_at(remotes, index);
	struct wf_ip_remote *peer = remote ? wf_ip_remote_of(remote) : NULL;

	if (wf_unlikely(!sa))
		return NULL;
	if (wf_unlikely(!peer || !wf_ip_addr_is(&peer->addr, sa)))
		return wf_ip_remote_look_up(remotes, av, index, sa);
	return peer;
}

/* An operation of @kind to @addr, with the flags @op_flags and the context @context,
 * has failed at @ep with the positive fi_errno @err: write an error entry that names
 * the peer, by @addr and by its address @peer; NULL: not known. */
void wf_ip_op_fail(struct wf_ep *ep, enum wf_op_kind kind, void *context,
	uint64_t op_flags, fi_addr_t addr, int err, const union wf_sockaddr *peer);

/* Why wf_ip_remote_at found no peer: -FI_ENOMEM, or the code of wf_no_address, which
 * logs as @prov. */
int wf_ip_remote_error(
	struct wf_av *av, const struct fi_provider *prov, fi_addr_t addr);

#endif
