/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/conn/ip.h"

#include <stdlib.h>

#include "objects/endpoint/endpoint.h"

bool wf_ip_remote_is(const struct wf_remote *remote, const void *key)
{
	return wf_sockaddr_equal(&wf_ip_remote_of(remote)->addr, key);
}

const char *wf_ip_remote_name(const struct wf_remote *remote, char *buf, size_t len)
{
	return wf_sockaddr_uri(&wf_ip_remote_of(remote)->addr, buf, len);
}

struct wf_remote *wf_ip_remote_new(size_t size, const void *key)
{
	struct wf_ip_remote *peer = calloc(1, size);

	if (!peer)
		return NULL;
	peer->addr = *(const union wf_sockaddr *)key;
	peer->index = FI_ADDR_NOTAVAIL;
	return &peer->remote;
}

struct wf_ip_remote *wf_ip_remotes_get(
	struct wf_remotes *remotes, const union wf_sockaddr *addr)
{
	struct wf_remote *remote =
		wf_remotes_get(remotes, wf_sockaddr_hash(addr), addr);

	return remote ? wf_ip_remote_of(remote) : NULL;
}

fi_addr_t wf_ip_remote_index_slow(struct wf_av *av, struct wf_ip_remote *peer)
{
	peer->index = wf_av_index(av, &peer->addr, wf_sockaddr_len(&peer->addr));
	return peer->index;
}

struct wf_ip_remote *wf_ip_remote_look_up(struct wf_remotes *remotes,
	const struct wf_av *av, size_t index, const void *addr)
{
	union wf_sockaddr sa = { 0 };
	struct wf_ip_remote *peer;

	memcpy(&sa, addr, wf_av_addrlen(av));
	peer = wf_ip_remotes_get(remotes, &sa);
	if (!peer)
		return NULL;
	if (!wf_remotes_set_index(remotes, index, &peer->remote)) {
		wf_remote_let_go(remotes, &peer->remote);
		return NULL;
	}
	peer->index = index;
	return peer;
}

int wf_ip_remote_error(struct wf_av *av, const struct fi_provider *prov, fi_addr_t addr)
{
	return wf_av_addr(av, addr) ? -FI_ENOMEM : wf_no_address(prov, addr);
}

fi_addr_t wf_ip_remote_unexp_index(struct wf_ep *ep, struct wf_remote *remote)
{
	return wf_ip_remote_index(ep->av, wf_ip_remote_of(remote));
}

const void *wf_ip_remote_unexp_name(const struct wf_remote *remote, size_t *ret_len)
{
	const union wf_sockaddr *addr = &wf_ip_remote_of(remote)->addr;

	*ret_len = wf_sockaddr_len(addr);
	return addr;
}

void wf_ip_op_fail(struct wf_ep *ep, enum wf_op_kind kind, void *context,
	uint64_t op_flags, fi_addr_t addr, int err, const union wf_sockaddr *peer)
{
	const struct wf_op_report *report = &wf_op_reports[kind];
	union wf_sockaddr copy;
	struct fi_cq_err_entry entry = {
		.op_context = context,
		.flags = report->comp_flags,
		.err = err,
		.prov_errno = err,
		.src_addr = addr,
	};

	if (peer) {
		copy = *peer;
		entry.err_data = &copy;
		entry.err_data_size = wf_sockaddr_len(&copy);
	}
	wf_ep_tx_fail(ep, report->cntr, op_flags, &entry);
}
