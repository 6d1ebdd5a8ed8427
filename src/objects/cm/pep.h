/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CM_PEP_H
#define WF_OBJECTS_CM_PEP_H

#include <stdbool.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>

#include "objects/cm/request.h"
#include "objects/eq/eq.h"
#include "objects/fabric.h"
#include "objects/progress/progress.h"
#include "objects/provider.h"
#include "sys/lock.h"
#include "sys/sockaddr.h"

struct wf_pep;

/* What a transport implements for its passive endpoints. Functions return 0 or a
 * negative errno, logged. */
struct wf_pep_ops {
	const struct wf_prov *prov;
	/* FI_OPT_CM_DATA_SIZE: bytes that fit into a request, an answer or a reject;
	 * at most WF_CM_DATA_MAX. */
	size_t data_size;

	/* Bind to pep->name, unless that was done, and write the true address and port
	 * there. pep->lock is held. */
	int (*bind)(struct wf_pep *pep);
	/* Undo bind(), which may not have been called. pep->lock is held. */
	void (*unbind)(struct wf_pep *pep);
	/* Let peers connect to the bound address; pep->backlog requests may wait, 0:
	 * as many as the transport likes. pep->lock is held. */
	int (*listen)(struct wf_pep *pep);
	/* pep->backlog changed after listen(). NULL: it cannot any more. pep->lock is
	 * held. */
	void (*backlog_changed)(struct wf_pep *pep);
	/* Also tells the transport's requests from those of others. */
	wf_cm_reject_fn reject;
	/* Complete the info for the endpoint that will accept @req; addresses and
	 * handle are set. NULL: nothing is missing. pep->lock is held. */
	int (*complete_info)(const struct wf_cm_request *req, struct fi_info *info);
	/* Release everything, call wf_pep_done and free the memory. No thread runs the
	 * item any more, and no request waits. No lock is held. */
	void (*destroy)(struct wf_pep *pep);
};

/*
 * A passive endpoint (fi_passive_ep(3)); the first member of a transport's own struct.
 * It belongs to no domain: the threads that read its event queue run @item, which reads
 * requests. Each complete request becomes an FI_CONNREQ event (wf_pep_report).
 *
 * @lock guards @name, @listening, @taken, @backlog and the transport's state; all else
 * is constant once the event queue is bound. No other lock is taken under it but that
 * of the requests and the event queue's own.
 */
struct wf_pep {
	struct fid_pep fid;
	const struct wf_pep_ops *ops;
	struct wf_fabric *fabric;
	struct fi_info *info;
	struct wf_eq *eq;        /* NULL until bound */
	struct wf_progress item; /* the transport sets its functions */
	struct wf_lock lock;
	union wf_sockaddr name;
	bool listening;
	bool taken;  /* its address belongs to an active endpoint now */
	int backlog; /* FI_BACKLOG */
};

/* Initialise @pep, which the transport has allocated, from the arguments of
 * fi_passive_ep(3), and check these. 0, or a negative fabric errno with the reason
 * logged: nothing is held. wf_pep_done undoes it. No lock is held. */
int wf_pep_init(struct wf_pep *pep, const struct wf_pep_ops *ops,
	struct fid_fabric *fabric, struct fi_info *info, void *context);
void wf_pep_done(struct wf_pep *pep);

/* For an active endpoint with addresses of @family that is opened with @handle, a
 * passive endpoint: take over its address and what bind() made of it. The passive
 * endpoint can only be closed after that, so its lock is not needed. -FI_EINVAL,
 * logged: it is not one of @ops, or it listens. No lock is held. */
int wf_pep_take(struct fid *handle, const struct wf_pep_ops *ops, int family,
	struct wf_pep **ret_pep);

/* One end's address and the other's, and the application's data of a request. */
struct wf_cm_arrival {
	const union wf_sockaddr *own, *peer;
	const void *data;
	size_t len;
};

/* Report the request @req, which belongs to the application from now on. If that is
 * impossible it is rejected, and the reason logged. pep->lock is held. */
void wf_pep_report(struct wf_pep *pep, struct wf_cm_request *req,
	const struct wf_cm_arrival *arrival);

#endif
