/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_RECV_H
#define WF_OBJECTS_CONN_RECV_H

#include "objects/endpoint/endpoint.h"
#include "objects/endpoint/scalable/scalable.h"
#include "sys/iov.h"

/*
 * The end of a receive, for messages that come over connections. Locking as for
 * wf_srx_done (objects/srx/srx.h).
 */

/* Uses of the sources of messages, by the endpoint's capabilities; constant once the
 * endpoint is opened. */
struct wf_recv_wants {
	bool source; /* FI_SOURCE: completions name the source */
	/* FI_SOURCE_ERR: a message from a source in no AV ends in an error. */
	bool source_err;
	/* The AV index of sources is needed, for completions or for matching. */
	bool index;
};

/* Endpoints with one peer (FI_EP_MSG) report no source. */
static inline struct wf_recv_wants wf_recv_wants_of(const struct wf_ep *ep)
{
	bool source = ep->caps & FI_SOURCE && ep->type == FI_EP_RDM;

	return (struct wf_recv_wants){
		.source = source,
		.source_err = source && ep->caps & FI_SOURCE_ERR,
		.index = ep->type == FI_EP_RDM &&
			 (source || ep->caps & FI_DIRECTED_RECV),
	};
}

/* The endpoint that completes the receive @entry: @ep, or the receive context of the
 * scalable endpoint @ep. */
static inline struct wf_ep *wf_recv_ep(
	struct wf_ep *ep, const struct fi_peer_rx_entry *entry)
{
	if (wf_likely(!ep->sep))
		return ep;
	return wf_ep_of_sink(
		wf_container_of(entry->srx, struct wf_srx_port, fid)->sink);
}

/* The source to report in completions for AV index @index, which may be
 * FI_ADDR_NOTAVAIL. */
static inline fi_addr_t wf_recv_source(const struct wf_ep *ep, fi_addr_t index)
{
	return index == FI_ADDR_NOTAVAIL ? FI_ADDR_NOTAVAIL
					 : wf_av_report(ep->av, index);
}

/* Is the source at AV index @index unknown? To the owner of an imported receive context
 * all sources without a user id are unknown. */
static inline bool wf_recv_is_unknown(const struct wf_ep *ep, fi_addr_t index)
{
	return wf_ep_srx_source(ep, index) == FI_ADDR_NOTAVAIL;
}

/* All @len bytes of a message have arrived, and the buffers of @entry hold as many as
 * fit: complete the receive, with FI_ETRUNC if there were more. @flags:
 * FI_REMOTE_CQ_DATA or 0. @source: the result of wf_recv_source. */
static inline void wf_recv_done(struct wf_ep *ep, struct fi_peer_rx_entry *entry,
	uint64_t flags, size_t len, uint64_t data, fi_addr_t source)
{
	size_t capacity = wf_iov_len(entry->iov, entry->count);

	if (wf_unlikely(len > capacity))
		wf_srx_fail(ep, entry, flags, capacity, len - capacity, data, source,
			FI_ETRUNC);
	else
		wf_srx_done(ep, entry, flags, len, data, source);
}

/* The same for a source that is in no AV, if wants.source_err is set. @name: its
 * address, @name_len bytes in the address format of the endpoint. */
void wf_recv_done_unknown(struct wf_ep *ep, struct fi_peer_rx_entry *entry,
	uint64_t flags, size_t len, uint64_t data, const void *name, size_t name_len);

#endif
