/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_INTERNAL_H
#define WF_OBJECTS_ENDPOINT_INTERNAL_H

#include "objects/endpoint/endpoint.h"

/* Declarations that the files of the endpoint share. Control calls (open, bind, enable,
 * close) hold ep->control unless a comment says otherwise. */

/* Add the directions to capabilities that name none, which means all; fi_getinfo(3). */
uint64_t wf_ep_with_directions(uint64_t caps);
#define WF_EP_TX_DIRS (FI_SEND | FI_READ | FI_WRITE)
#define WF_EP_RX_DIRS (FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)

/* Capabilities that apply to transmitting; see fi_endpoint(3). */
#define WF_EP_TX_CAPS                                                                  \
	(FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_READ | FI_WRITE | FI_SEND |      \
		FI_HMEM | FI_TRIGGER | FI_FENCE | FI_MULTICAST | FI_RMA_PMEM |         \
		FI_NAMED_RX_CTX | FI_COLLECTIVE | FI_XPU)

/* Close one handle, the endpoint or an alias; the last one frees the endpoint.
 * -FI_EBUSY: contexts or groups are open. Takes ep->control. */
int wf_ep_put(struct wf_ep *ep);

/* flags.c: compute ep->tx and ep->rx before the endpoint is enabled, and again when the
 * application changes its default flags. */
void wf_ep_settle_flags(struct wf_ep *ep);
void wf_ep_settle_tx_flags(struct wf_ep *ep);
int wf_ep_get_op_flags(struct wf_ep *ep, uint64_t *flags);
int wf_ep_set_op_flags(struct wf_ep *ep, uint64_t flags);
/* The direction that @flags names, FI_TRANSMIT or FI_RECV. 0, logged: none or both. */
uint64_t wf_ep_op_direction(const struct wf_ep *ep, uint64_t flags);
/* fi_control(3) of a shared transmit or receive context. -FI_ENOSYS: unknown command.
 */
int wf_ep_context_control(struct wf_ep *ep, int command, void *arg);

/* scalable/shared.c: wf_ep_init of a context of class @fclass that endpoints share,
 * which has no transport. Takes @info over: it is freed, also on failure. */
int wf_ep_init_shared(struct wf_ep *ep, struct wf_domain *domain, struct fi_info *info,
	size_t fclass, struct fi_ops *fid_ops, void *context);

/* bind.c */
int wf_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int wf_ep_check_bindings(const struct wf_ep *ep);
/* Set the counter for the events in @flags, which was checked; and remove it. */
void wf_ep_set_cntr(struct wf_ep *ep, struct wf_cntr *cntr, uint64_t flags);
void wf_ep_unset_cntr(struct wf_ep *ep, uint64_t flags);

/* late.c: bind a counter, which was checked, after fi_enable. 0, or a negative errno:
 * the counter is not bound. */
int wf_ep_bind_cntr_late(struct wf_ep *ep, struct wf_cntr *cntr, uint64_t flags);
void wf_ep_unbind_all(struct wf_ep *ep);

/* progress.c: add the endpoint to the progress lists of its bound queues and counters,
 * whose readers run it; and remove it. 0, or a negative fabric errno. */
void wf_ep_progress_init(struct wf_ep *ep);
int wf_ep_progress_attach(struct wf_ep *ep);
void wf_ep_progress_detach(struct wf_ep *ep);
/* Add the endpoint again after a detach, also to lists of objects bound meanwhile. */
int wf_ep_progress_reattach(struct wf_ep *ep);

/* Let threads that run @ep start triggered work, too; see trigger.h. 0, or a negative
 * fabric errno. */
int wf_ep_progress_triggers(struct wf_ep *ep);

/* Set the tables of data transfer calls, as the last step of fi_enable. */
void wf_ep_finish_tables(struct wf_ep *ep);

/* msg.c, tagged.c, rma.c, atomic.c: fill the tables in @ep by its capabilities. */
void wf_ep_msg_finish(struct wf_ep *ep);
void wf_ep_tagged_finish(struct wf_ep *ep);
void wf_ep_rma_finish(struct wf_ep *ep);
void wf_ep_atomic_finish(struct wf_ep *ep);

/* sink.c */
extern const struct wf_srx_sink_ops wf_ep_sink_ops;

/* srx_attach.c. attach: choose the receive context, before the transport is enabled. 0,
 * or a negative fabric errno. drain: discard the messages and receives that wait there,
 * before the transport is destroyed. detach: release the context, after that. */
int wf_ep_srx_attach(struct wf_ep *ep);
void wf_ep_srx_drain(struct wf_ep *ep);
void wf_ep_srx_detach(struct wf_ep *ep);

/* Bind a shared receive context. On failure a negative fabric errno, and *why is the
 * reason for the log. */
int wf_ep_srx_bind(struct wf_ep *ep, struct fid *fid, const char **why);

/* cleanup.c: FI_AV_REMOVE_CLEANUP (fi_av(3)). 0, or a negative fabric errno. The caller
 * of stop holds no lock. */
int wf_ep_cleanup_start(struct wf_ep *ep);
void wf_ep_cleanup_stop(struct wf_ep *ep);

/* transfer.c: report a result to the peer, with the arguments and results of
 * wf_cq_write and wf_cq_write_err; the item that runs the callbacks; whether the peer
 * posts on @ep itself (wf_transfer_lend); free the memory that wf_transfer_open
 * allocated. */
ssize_t wf_transfer_put(struct wf_transfer *transfer,
	const struct fi_cq_tagged_entry *entry, fi_addr_t src);
ssize_t wf_transfer_put_err(
	struct wf_transfer *transfer, const struct fi_cq_err_entry *entry);
struct wf_progress *wf_transfer_progress(struct wf_transfer *transfer);
bool wf_transfer_owned(const struct wf_ep *ep);
void wf_transfer_free(struct wf_ep *ep);

/* peer_tag.c: the table's calls, to be replaced in @ep->tagged_ops by those which keep
 * tags of peer transfers apart. */
struct fi_ops_tagged *wf_transfer_tagged(struct wf_transfer *transfer);
void wf_ep_peer_tag_finish(struct wf_ep *ep);
/* Deferred work: check @tag, and remove the peers' bit from *@ignore. 0 or -FI_EINVAL,
 * logged. */
int wf_ep_peer_tag_check(const struct wf_ep *ep, uint64_t tag, uint64_t *ignore);

/* alias.c */
bool wf_ep_is_alias(const struct fid *fid);
struct wf_ep *wf_ep_alias_target(struct fid *fid);
int wf_ep_alias_open(struct wf_ep *ep, const struct fi_alias *arg);

/* opt.c, cm.c: calls that endpoints and aliases have; fi_endpoint(3), fi_cm(3). */
int wf_ep_getopt(fid_t fid, int level, int name, void *val, size_t *len);
int wf_ep_setopt(fid_t fid, int level, int name, const void *val, size_t len);
extern struct fi_ops_cm wf_ep_cm_ops;

/* Log in the name of the endpoint's provider. */
#define wf_ep_log(ep, level, subsys, ...)                                              \
	FI_LOG((ep)->domain->prov->fi, level, subsys, __VA_ARGS__)

#endif
