/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_CM_CM_H
#define WF_VERBS_CM_CM_H

#include "objects/cm/cm.h"
#include "providers/verbs/verbs.h"

/*
 * Connections of FI_EP_MSG endpoints, by librdmacm.
 *
 * An endpoint has an identifier of librdmacm (rdma_cm_id) without a queue pair, because
 * the queue pair belongs to the domain's own context. So the exchange contains the
 * queue pair's number, and this code changes the state of the queue pair with the
 * attributes that librdmacm computes for it.
 *
 * Each endpoint has an event channel of its own. The threads that read the event queue,
 * and the domain's progress thread, run the endpoint's progress item, which reads the
 * channel.
 *
 * Locks, in this order: verbs_async.lock, verbs_cm.lock or wf_pep.lock, ep.lock,
 * verbs_cq.lock, those of the event queue. librdmacm serialises its own state.
 */

/*
 * Limit of the application's data in a request, a reply or a reject: they are sent as a
 * byte with their length, then the data. The transport pads private data, so that its
 * own length is no use. A request has space for 56 bytes in all.
 */
enum { VERBS_CM_DATA_SIZE = 55 };

/* Application data of a request or a reply. A reply has space for up to 196 bytes, all
 * of which may be the peer's data. */
struct verbs_cm_data {
	uint8_t len;
	uint8_t bytes[VERBS_CM_DATA_MAX];
};

/* Guarded by @lock, unless a comment says otherwise. */
struct verbs_cm {
	struct wf_cm base;       /* base.lock is @lock */
	struct wf_progress item; /* item that reads the channel */
	struct verbs_ep *ep;     /* constant */
	struct wf_lock lock;
	/* The channel is opened with the endpoint, the identifier when the address is
	 * bound or resolved. */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	union wf_sockaddr own; /* own address; family AF_UNSPEC: not known yet */
	/* Data of the request or answer that is to be sent. */
	struct verbs_cm_data data;
	/* In verbs_async.cms, guarded by its lock, while base.eq is set. Until then the
	 * item is in no progress list. */
	struct wf_list link;
};

static inline struct verbs_cm *verbs_cm_of(const struct wf_cm *cm)
{
	return wf_container_of(cm, struct verbs_cm, base);
}

/* Open and close the connection management of an endpoint. @handle is info->handle: a
 * connection request, a passive endpoint whose address the endpoint takes over, or
 * NULL. verbs_cm_new returns 0 or a negative fi_errno, which is logged. No lock is
 * held; no other thread uses the endpoint. */
int verbs_cm_new(struct verbs_ep *ep, struct fid *handle);
void verbs_cm_free(struct verbs_ep *ep);

/* fi_setname, fi_getname and fi_getopt of the endpoint, as in struct wf_xfer_ops. */
int verbs_cm_setname(struct verbs_ep *ep, const void *addr, size_t len);
int verbs_cm_getname(struct verbs_ep *ep, void *addr, size_t *len);
int verbs_cm_getopt(struct wf_ep *ep, int name, void *val, size_t *len);

/* An operation cannot be started because ep->ready is false: continue the exchange.
 * Returns 0: ep->ready is true now; -FI_EAGAIN: the endpoint is connecting; or
 * -FI_ENOTCONN. No lock is held. */
int verbs_cm_not_ready(struct verbs_ep *ep);

/* wf_prov.passive_ep */
int verbs_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_pep **pep, void *context);

/* calls.c */
extern const struct wf_cm_ops verbs_cm_ops;

/* channel.c: an event channel that does not block. -FI_ENODATA: no librdmacm. */
int verbs_channel_open(struct rdma_event_channel **ret);
void verbs_channel_close(struct rdma_event_channel *channel);
/* The next event, or NULL. The caller has to acknowledge it. */
struct rdma_cm_event *verbs_channel_next(struct rdma_event_channel *channel);
/* Make an identifier that is bound to the address @own; port 0: any port. Closing the
 * channel does not destroy it. 0 or a negative errno, which is logged. */
int verbs_channel_bind(struct rdma_event_channel *channel, const union wf_sockaddr *own,
	struct rdma_cm_id **ret);
/* The addresses of an identifier: of this end, and of the peer. Family AF_UNSPEC:
 * unknown. */
void verbs_id_own(const struct rdma_cm_id *id, union wf_sockaddr *ret);
void verbs_id_peer(const struct rdma_cm_id *id, union wf_sockaddr *ret);
/* Log that @call of librdmacm failed with errno. Returns -errno. */
int verbs_cm_errno(const char *call);

/* private_data.c: set @data to @len bytes of the application, truncated to
 * VERBS_CM_DATA_SIZE. */
void verbs_cm_data_set(struct verbs_cm_data *data, const void *bytes, size_t len);
/* Length of @data on the wire, in bytes. */
size_t verbs_cm_data_size(const struct verbs_cm_data *data);
/* Decode a peer's private data. The length in it is limited to the bytes that are
 * present, so any bytes are valid. */
void verbs_cm_data_read(
	struct verbs_cm_data *ret, const void *private_data, size_t private_len);

/* qp.c: change the state of the endpoint's queue pair to RTS, with the attributes of
 * the identifier. 0 or a negative errno, which is logged. cm->lock is held. */
int verbs_cm_qp_connect(struct verbs_cm *cm);
/* The parameters for connecting or accepting, with @data, to which they point. */
struct rdma_conn_param verbs_cm_param(
	const struct verbs_cm *cm, const struct verbs_cm_data *data);

/* event.c: handle the events of the channel. cm->lock is held. False: there was
 * none. */
bool verbs_cm_events(struct verbs_cm *cm);
/* The connection is up; the connection has ended. cm->lock is held. */
void verbs_cm_up(struct verbs_cm *cm, const struct verbs_cm_data *data);
void verbs_cm_down(struct verbs_cm *cm);

/* error.c: the positive fi_errno for an event of a failed exchange. */
int verbs_cm_error(enum rdma_cm_event_type event, int status);

/* A request ended with an error: the connection will be reported as lost. No-op for a
 * datagram endpoint. The lock of a CQ may be held. */
void verbs_cm_lost(struct verbs_ep *ep);

/* Check whether the connection has ended; called by verbs_flushed(). Never waits for a
 * lock. */
void verbs_cm_check(struct verbs_ep *ep);

/*
 * async.c: events of a device that belong to no call: ports, queue pairs in the error
 * state, the device's removal. They are logged and reported to event queues.
 */
struct verbs_async {
	struct wf_progress item;
	struct verbs_domain *domain;
	/* Held while events are read; taken before verbs_cm.lock. */
	struct wf_lock lock;
	/* The verbs_cm for which fi_connect or fi_accept was called. */
	struct wf_list cms;
	atomic_bool lost; /* The field lost of some endpoint is set. */
};

/* Last step of opening a domain, and first step of closing it. */
int verbs_async_open(struct verbs_domain *domain);
void verbs_async_close(struct verbs_domain *domain);

/* A fatal error of the queue pair ended the connection. The lock of verbs_async is
 * held, so that ep->cm does not change; it may be NULL. */
void verbs_cm_broken(struct verbs_ep *ep);

#endif
