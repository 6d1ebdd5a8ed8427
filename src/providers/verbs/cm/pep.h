/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_CM_PEP_H
#define WF_VERBS_CM_PEP_H

#include "objects/cm/pep.h"
#include "providers/verbs/cm/cm.h"

/* A passive endpoint. @base.lock guards @id. */
struct verbs_pep {
	struct wf_pep base;
	struct rdma_event_channel *channel; /* constant */
	struct rdma_cm_id *id;              /* NULL: not bound */
};

static inline struct verbs_pep *verbs_pep_of(const struct wf_pep *pep)
{
	return wf_container_of(pep, struct verbs_pep, base);
}

/* pep.c */
extern const struct wf_pep_ops verbs_pep_ops;

/* listen.c: functions of the progress item. */
void verbs_pep_run(struct wf_progress *item);
int verbs_pep_wait_fd(struct wf_progress *item);
bool verbs_pep_arm(struct wf_progress *item);

/*
 * A connection request. While it waits for an answer, its identifier stays on the
 * channel of the passive endpoint.
 */
struct verbs_connreq {
	struct wf_cm_request base;
	struct rdma_cm_id *id; /* identifier of the request */
};

static inline struct verbs_connreq *verbs_connreq_of(const struct wf_cm_request *req)
{
	return wf_container_of(req, struct verbs_connreq, base);
}

/* listen.c: wf_cm_reject_fn. */
void verbs_connreq_reject(struct wf_cm_request *req, enum wf_cm_reason reason,
	const void *data, size_t len);

#endif
