/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_RECV_H
#define WF_OBJECTS_CONN_RECV_H

#include "objects/endpoint/endpoint.h"
#include "objects/endpoint/scalable.h"
#include "sys/iov.h"

/*
 * The end of a receive, of messages that come over connections. Locking as for
 * wf_srx_done (objects/srx/srx.h).
 */

/* What the application asked to hear of the sources of messages; constant once the
 * endpoint is opened. */
struct wf_recv_wants {
	bool source;     /* FI_SOURCE: completions name the source */
	bool source_err; /* FI_SOURCE_ERR: sources that are in no AV end in an error */
	bool index;      /* the AV index of sources is needed, also for matching */
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

/* The endpoint, or the receive context of a scalable one, whose receive @entry is. */
static inline struct wf_ep *wf_recv_ep(
	struct wf_ep *ep, const struct fi_peer_rx_entry *entry)
{
	if (wf_likely(!ep->sep))
		return ep;
	return wf_ep_of_sink(
		wf_container_of(entry->srx, struct wf_srx_port, fid)->sink);
}

/* The source at @index of the AV as completions report it. */
static inline fi_addr_t wf_recv_source(const struct wf_ep *ep, fi_addr_t index)
{
	return index == FI_ADDR_NOTAVAIL ? FI_ADDR_NOTAVAIL
					 : wf_av_report(ep->av, index);
}

/* All @len bytes of a message are where they belong: complete the receive @entry, with
 * FI_ETRUNC if they were more than it has buffers for. @flags: FI_REMOTE_CQ_DATA or 0.
 * @source: as wf_recv_source gives it. */
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

/* The same from a source that is in no AV, for wants.source_err. @name: its address, of
 * @name_len bytes in the address format of the endpoint. */
void wf_recv_done_unknown(struct wf_ep *ep, struct fi_peer_rx_entry *entry,
	uint64_t flags, size_t len, uint64_t data, const void *name, size_t name_len);

#endif
