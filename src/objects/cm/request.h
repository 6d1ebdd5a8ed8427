/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CM_REQUEST_H
#define WF_OBJECTS_CM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <rdma/fabric.h>

#include "sys/list.h"

struct wf_pep;
struct wf_cm_request;

/* Why a request is rejected. */
enum wf_cm_reason {
	WF_CM_REFUSED, /* by the application, or nothing listens any more */
	WF_CM_BUSY,    /* the library has no memory, or too many requests wait */
};

/* Reject the request @req with @len bytes of the application's data, and free it. It is
 * in no list any more. The passive endpoint's lock may be held. */
typedef void (*wf_cm_reject_fn)(struct wf_cm_request *req, enum wf_cm_reason reason,
	const void *data, size_t len);

/*
 * A connection request that waits for an answer of the application; the first member of
 * a transport's own struct. Requests are looked up by their address, so that a stale
 * handle is refused. Each of fi_reject, fi_endpoint and the closing of the passive
 * endpoint takes a request out of the list before it acts, and owns it from then on.
 */
struct wf_cm_request {
	struct fid handle;   /* the handle of the request in fi_info: info->handle */
	struct wf_list link; /* in the list of waiting requests (request.c) */
	const struct wf_pep *pep; /* endpoint at which it arrived */
	wf_cm_reject_fn reject;   /* rejects the request; differs for each transport */
};

/* Requests that may wait in a process: each is memory that a peer can take. */
enum { WF_CM_REQUESTS_MAX = 4096 };

/* Have @req wait for an answer. False: too many wait already. */
bool wf_cm_request_add(
	struct wf_cm_request *req, const struct wf_pep *pep, wf_cm_reject_fn reject);

/* Take out the request with @handle, which may be any address. @reject is the
 * transport's. NULL: no such request waits. */
struct wf_cm_request *wf_cm_request_take(
	const struct fid *handle, wf_cm_reject_fn reject);
/* Take out any request that came to @pep. NULL: none waits. */
struct wf_cm_request *wf_cm_request_take_any(const struct wf_pep *pep);

#endif
