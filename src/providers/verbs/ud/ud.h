/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_UD_UD_H
#define WF_VERBS_UD_UD_H

#include <assert.h>

#include "providers/verbs/verbs.h"

/*
 * FI_EP_DGRAM over unreliable datagrams: addresses (FI_ADDR_IB_UD), address handles,
 * and the state of the queue pair. The device writes the global routing header of a
 * datagram in front of the data, into a buffer of the domain that is never read.
 */

/* An address; other implementations exchange the same bytes. Numbers are in host byte
 * order. */
struct verbs_ud_name {
	uint8_t gid[16];
	uint32_t qpn;
	uint16_t lid;     /* 0 if there is none: over Ethernet */
	uint16_t pkey;    /* as in the port's table */
	uint16_t service; /* service of the name server; 0: none */
	uint8_t sl;
	uint8_t zero[5];
};
static_assert(sizeof(struct verbs_ud_name) == 32, "an address has 32 bytes");

/* The queue key that all endpoints share, also those of other implementations. */
enum { VERBS_UD_QKEY = 0x11111111 };

/*
 * restart.c: restarting a queue pair that a failed request has stopped. A device may
 * change the queue pair to the error state when a datagram is longer than the receive
 * that it consumes, and a peer's datagram must not end an endpoint. Sends end with an
 * error; receives that the stop returns are posted again, in order.
 */
struct verbs_restart {
	/* No request is posted while it is set. The pollers of either CQ set it;
	 * otherwise guarded by ep.lock and the locks of both CQs. */
	atomic_bool stopped;
	bool ending; /* All requests are being returned. Guarded by ep.lock. */
	/* Number of receives that were returned; guarded by the receive CQ's lock. */
	uint32_t flushed;
	/* The buffers of the request in each slot of the receive queue. Guarded by
	 * ep.lock. */
	struct verbs_kept {
		int count;
		struct ibv_sge sge[1 + VERBS_SGE_MAX];
	} * kept;
};

struct verbs_ud {
	/* Without the number of the queue pair until the endpoint is enabled; constant
	 * after that. */
	struct verbs_ud_name name;
	/* registered: the endpoint is registered with the name server of this host.
	 * serves: this process serves as long as the endpoint is open. */
	bool registered, serves;
	struct verbs_restart restart;
};

/* Open and close the datagram state of an FI_EP_DGRAM endpoint. verbs_ud_new returns 0
 * or a negative fi_errno, which is logged. No lock is held. */
int verbs_ud_new(struct verbs_ep *ep, const struct fi_info *info);
void verbs_ud_free(struct verbs_ep *ep);
/* Called by the endpoint's enable(), after verbs_qp_create: change the state of the
 * queue pair from INIT to RTS, and register the endpoint. 0 or a negative errno. */
int verbs_ud_enable(struct verbs_ep *ep);
/* Change the state from INIT to RTS only. 0 or a negative errno, which is logged. */
int verbs_ud_to_rts(struct verbs_ep *ep);

/* restart.c: store the buffers of a receive that is posted in @slot. ep.lock is
 * held. */
static inline void verbs_ud_keep(
	struct verbs_ud *ud, uint32_t slot, const struct ibv_recv_wr *wr)
{
	struct verbs_kept *kept = &ud->restart.kept[slot];

	kept->count = wr->num_sge;
	for (int i = 0; i < wr->num_sge; i++)
		kept->sge[i] = wr->sg_list[i];
}

static inline bool verbs_ud_stopped(const struct verbs_ud *ud)
{
	return atomic_load_explicit(&ud->restart.stopped, memory_order_relaxed);
}

/* A request of the endpoint failed: stop it. The lock of one of its CQs is held. */
void verbs_ud_stop(struct verbs_ep *ep);
/* Restart those endpoints of the CQ whose requests have all ended. cq->lock is held.
 * Other locks are not waited for, so it may have to be called again. */
void verbs_ud_restart(struct verbs_cq *cq);

/* As in struct wf_xfer_ops. */
int verbs_ud_setname(struct verbs_ep *ep, const void *addr, size_t len);
int verbs_ud_getname(struct verbs_ep *ep, void *addr, size_t *len);

/*
 * Complete the work request @wr of the send @op: fill wr.ud. -FI_EINVAL, which is
 * logged: there is no address at op->addr; another negative errno, which is logged: the
 * address cannot be reached; -FI_EAGAIN: the queue pair is being restarted. ep.lock may
 * be held.
 */
int verbs_ud_fill(struct verbs_ep *ep, const struct wf_op *op, struct ibv_send_wr *wr);

/* Hooks of struct wf_prov: the address handles of an AV. */
int verbs_av_opened(struct wf_av *av);
void verbs_av_closing(struct wf_av *av);
int verbs_av_inserted(
	struct wf_av *av, fi_addr_t index, const void *addr, uint64_t flags);
void verbs_av_removed(struct wf_av *av, fi_addr_t index);
const struct wf_av_format *verbs_av_format(const struct fi_info *info);

/* Read @addr, if it is an address of the format; else false. */
bool verbs_ud_name_read(const void *addr, size_t len, struct verbs_ud_name *ret);

#endif
