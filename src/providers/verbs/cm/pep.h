/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_PEP_H
#define VERBS_PEP_H

#include "providers/verbs/cm/cm.h"

/*
 * Passive endpoints. They belong to no domain: the threads that read their event queue
 * read the channel. Each request becomes an event, and waits for the application's
 * answer. @lock guards all fields that are not constant.
 */
struct verbs_pep {
	struct fid_pep fid;
	struct wf_fabric *fabric;
	struct fi_info *info;
	struct wf_eq *eq;
	struct wf_progress item;
	struct wf_lock lock;
	struct rdma_event_channel *channel; /* constant */
	struct rdma_cm_id *id;              /* NULL: not bound */
	union wf_sockaddr name;
	bool listening, taken; /* its address belongs to an active endpoint now */
	int backlog;           /* FI_BACKLOG */
};

/* listen.c: the item's functions. */
void verbs_pep_run(struct wf_progress *item);
int verbs_pep_wait_fd(struct wf_progress *item);
bool verbs_pep_arm(struct wf_progress *item);

/* For an active endpoint that is opened with a passive one as its handle: take the
 * address and, if it was bound, the identifier, which stays on the channel of the
 * passive endpoint. -FI_EINVAL, logged. */
int verbs_pep_take(struct fid *handle, int family, union wf_sockaddr *ret_name,
	struct rdma_cm_id **ret_id);

#endif
