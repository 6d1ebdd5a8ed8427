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
	/* Let peers connect to the bound address. At most pep->backlog requests wait;
	 * 0: the transport's default. pep->lock is held. */
	int (*listen)(struct wf_pep *pep);
	/* pep->backlog changed after listen(). NULL: the backlog cannot change after
	 * listen(). pep->lock is held. */
	void (*backlog_changed)(struct wf_pep *pep);
	/* Rejects a request. Its address also identifies the transport's requests. */
	wf_cm_reject_fn reject;
	/* Complete the info for the endpoint that will accept @req; its addresses and
	 * handle are set. NULL: nothing to add. pep->lock is held. */
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
 * @lock guards @name, @listening, @taken, @backlog and the transport's state; other
 * members are constant once the event queue is bound. Only the lock of the list of
 * requests (request.c) and the event queue's lock are taken under it.
 */
struct wf_pep {
	struct fid_pep fid;
	const struct wf_pep_ops *ops;
	struct wf_fabric *fabric;
	struct fi_info *info;    /* copy of the info that it was opened with */
	struct wf_eq *eq;        /* NULL until bound */
	struct wf_progress item; /* the transport sets its functions */
	struct wf_lock lock;
	union wf_sockaddr name; /* its address */
	bool listening;         /* fi_listen was called */
	bool taken;             /* its address belongs to an active endpoint now */
	int backlog;            /* FI_BACKLOG */
};

/* Check the arguments of fi_passive_ep(3), and initialise @pep, which the transport has
 * allocated. 0, or a negative fabric errno with the reason logged: no reference is
 * held. wf_pep_done undoes it. No lock is held. */
int wf_pep_init(struct wf_pep *pep, const struct wf_pep_ops *ops,
	struct fid_fabric *fabric, struct fi_info *info, void *context);
void wf_pep_done(struct wf_pep *pep);

/* An active endpoint with addresses of @family is opened with the passive endpoint
 * @handle (fi_endpoint(3)): take over its name and the state that bind() made. The
 * passive endpoint can only be closed afterwards, so the caller may use *@ret_pep
 * without its lock. -FI_EINVAL, logged: @handle is not of the transport with @ops, or
 * it listens. No lock is held. */
int wf_pep_take(struct fid *handle, const struct wf_pep_ops *ops, int family,
	struct wf_pep **ret_pep);
/* The active endpoint could not be opened, and the passive one has its name and state
 * still: it is as it was before wf_pep_take. No lock is held. */
void wf_pep_give_back(struct wf_pep *pep);

/* Addresses of both ends and the application's data, as a request brought them. */
struct wf_cm_arrival {
	/* addresses of this end and of the peer */
	const union wf_sockaddr *own, *peer;
	const void *data; /* data of fi_connect(3), @len bytes */
	size_t len;
};

/* Write the FI_CONNREQ event of @req, which belongs to the application from now on. A
 * request that cannot be reported is rejected, with a log line. pep->lock is held. */
void wf_pep_report(struct wf_pep *pep, struct wf_cm_request *req,
	const struct wf_cm_arrival *arrival);

#endif
