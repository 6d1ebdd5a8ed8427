/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_INTERNAL_H
#define WF_OBJECTS_ENDPOINT_INTERNAL_H

#include "objects/endpoint/endpoint.h"

/* What the files of the endpoint share; see each for the whole story. */

/* Directions that a capability without any means; see fi_getinfo(3). */
uint64_t wf_ep_with_directions(uint64_t caps);
#define WF_EP_TX_DIRS (FI_SEND | FI_READ | FI_WRITE)
#define WF_EP_RX_DIRS (FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)

/* Capabilities that mean something for a transmitter; see fi_endpoint(3). */
#define WF_EP_TX_CAPS                                                                  \
	(FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_READ | FI_WRITE | FI_SEND |      \
		FI_HMEM | FI_TRIGGER | FI_FENCE | FI_MULTICAST | FI_RMA_PMEM |         \
		FI_NAMED_RX_CTX | FI_COLLECTIVE | FI_XPU)

/* Give back one handle; the last one releases the endpoint. -FI_EBUSY. */
int wf_ep_put(struct wf_ep *ep);

/* flags.c: settle flags before the endpoint is enabled and whenever the
 * application replaces its default ones. */
void wf_ep_settle_flags(struct wf_ep *ep);
void wf_ep_settle_tx_flags(struct wf_ep *ep);
int wf_ep_get_op_flags(struct wf_ep *ep, uint64_t *flags);
int wf_ep_set_op_flags(struct wf_ep *ep, uint64_t flags);
/* The one direction that @flags names, FI_TRANSMIT or FI_RECV; else 0, and logged. */
uint64_t wf_ep_op_direction(const struct wf_ep *ep, uint64_t flags);
/* fi_control of a context that endpoints share. */
int wf_ep_context_control(struct wf_ep *ep, int command, void *arg);

/* bind.c */
int wf_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int wf_ep_check_bindings(const struct wf_ep *ep);
/* @cntr, checked, for the events of @flags; and none for them again. */
void wf_ep_set_cntr(struct wf_ep *ep, struct wf_cntr *cntr, uint64_t flags);
void wf_ep_unset_cntr(struct wf_ep *ep, uint64_t flags);

/* late.c: @cntr, checked, comes after fi_enable. ep->control is held. */
int wf_ep_bind_cntr_late(struct wf_ep *ep, struct wf_cntr *cntr, uint64_t flags);
void wf_ep_unbind_all(struct wf_ep *ep);

/* progress.c: join the lists of the bound queues and counters, whose readers run @ep.
 */
void wf_ep_progress_init(struct wf_ep *ep);
int wf_ep_progress_attach(struct wf_ep *ep);
void wf_ep_progress_detach(struct wf_ep *ep);
/* After a detach, with bindings added meanwhile: as it was before. */
int wf_ep_progress_reattach(struct wf_ep *ep);

/* From now on a thread that runs @ep starts triggered work as well; see trigger.h. */
int wf_ep_progress_triggers(struct wf_ep *ep);

/* Data path tables for an endpoint that is ready. */
void wf_ep_finish_tables(struct wf_ep *ep);

/* msg.c and its sisters: finish the tables that @ep carries. */
void wf_ep_msg_finish(struct wf_ep *ep);
void wf_ep_tagged_finish(struct wf_ep *ep);
void wf_ep_rma_finish(struct wf_ep *ep);
void wf_ep_atomic_finish(struct wf_ep *ep);

/* sink.c */
extern const struct wf_srx_sink_ops wf_ep_sink_ops;

/* srx_attach.c: settle where receives go, before the transport is enabled; let go of
 * what waits there, before it is destroyed; and after that. */
int wf_ep_srx_attach(struct wf_ep *ep);
void wf_ep_srx_drain(struct wf_ep *ep);
void wf_ep_srx_detach(struct wf_ep *ep);

/* Bind @ctx; *@why is what is wrong with it. */
int wf_ep_srx_bind(struct wf_ep *ep, struct fid *fid, const char **why);

/* cleanup.c: see FI_AV_REMOVE_CLEANUP. Stopped without any lock held. */
int wf_ep_cleanup_start(struct wf_ep *ep);
void wf_ep_cleanup_stop(struct wf_ep *ep);

/* transfer.c: its results, as those of wf_cq_write and wf_cq_write_err; and the end of
 * all that wf_transfer_open made. */
ssize_t wf_transfer_put(struct wf_transfer *transfer,
	const struct fi_cq_tagged_entry *entry, fi_addr_t src);
ssize_t wf_transfer_put_err(
	struct wf_transfer *transfer, const struct fi_cq_err_entry *entry);
struct wf_progress *wf_transfer_progress(struct wf_transfer *transfer);
void wf_transfer_free(struct wf_transfer *transfer);

/* alias.c */
bool wf_ep_is_alias(const struct fid *fid);
struct wf_ep *wf_ep_alias_target(struct fid *fid);
int wf_ep_alias_open(struct wf_ep *ep, const struct fi_alias *arg);

/* opt.c, cm.c: slots of the tables, for aliases as well. */
int wf_ep_getopt(fid_t fid, int level, int name, void *val, size_t *len);
int wf_ep_setopt(fid_t fid, int level, int name, const void *val, size_t len);
extern struct fi_ops_cm wf_ep_cm_ops;

#define wf_ep_log(ep, level, subsys, ...)                                              \
	FI_LOG((ep)->domain->prov->fi, level, subsys, __VA_ARGS__)

#endif
