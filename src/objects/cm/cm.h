/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CM_CM_H
#define WF_OBJECTS_CM_CM_H

#include <stdbool.h>
#include <rdma/fi_cm.h>

#include "objects/endpoint/endpoint.h"
#include "objects/eq/eq.h"
#include "sys/lock.h"
#include "sys/sockaddr.h"

/*
 * Connections of FI_EP_MSG endpoints, as the application sees them (fi_cm(3)): an
 * endpoint connects once, or accepts the request that it was opened with; events report
 * the result and the end of the connection. The transport implements the exchange with
 * the peer that makes the connection, struct wf_cm_ops.
 */

/* The largest data in a request, an answer or a reject, in bytes; a transport may allow
 * less (wf_cm_ops.data_size). */
enum { WF_CM_DATA_MAX = 256 };

enum wf_cm_state {
	WF_CM_NEW,        /* fi_connect is possible */
	WF_CM_ASKED,      /* opened for a connection request: fi_accept is possible */
	WF_CM_CONNECTING, /* connecting or accepting */
	WF_CM_CONNECTED,
	WF_CM_DOWN, /* final: was connected, or failed to */
};

struct wf_cm;

/* What a transport implements for the connection of one endpoint. */
struct wf_cm_ops {
	/* FI_OPT_CM_DATA_SIZE: bytes of the application's data that fit; more are
	 * refused. At most WF_CM_DATA_MAX. */
	size_t data_size;
	/* Called before the exchange begins: from now on threads that read @eq run the
	 * exchange. 0 or a negative errno, logged. No lock is held. */
	int (*run)(struct wf_cm *cm, struct wf_eq *eq);
	/* Begin the exchange with cm->peer, with @len bytes of data. A negative errno,
	 * logged: it failed at once. cm->lock is held. */
	int (*connect)(struct wf_cm *cm, const void *data, size_t len);
	/* Accept the request that the endpoint was opened for. Arguments, result and
	 * lock as connect(). */
	int (*accept)(struct wf_cm *cm, const void *data, size_t len);
	/* End the connection and write FI_SHUTDOWN, or return -FI_ENOTCONN. Messages
	 * that were complete for the application have been sent. No lock is held. */
	int (*shutdown)(struct wf_cm *cm);
};

/* The connection of an endpoint; the first member of a transport's own struct. @lock
 * guards the members that are not constant. */
struct wf_cm {
	const struct wf_cm_ops *ops; /* constant */
	struct fi_ops_cm calls;      /* the endpoint's table; constant */
	struct wf_ep *ep;            /* constant */
	struct wf_lock *lock;        /* owned by the transport; constant */
	int family;                  /* address family of the endpoint; constant */
	enum wf_cm_state state;
	bool active;            /* connected by fi_connect, else by fi_accept */
	union wf_sockaddr peer; /* family AF_UNSPEC: unknown */
	/* The queue whose readers run the exchange: set once, before the exchange
	 * begins. NULL: none yet. */
	struct wf_eq *eq;
};

/* Initialise all but @state, @active and @peer, and give @ep, which is open and not
 * enabled, the calls of connected endpoints. No lock is held. */
void wf_cm_init(struct wf_cm *cm, const struct wf_cm_ops *ops, struct wf_ep *ep,
	struct wf_lock *lock, int family);

/* Write an event with @len bytes of the peer's data to the endpoint's event queue, if
 * there is one. cm->lock is held. */
void wf_cm_tell(struct wf_cm *cm, uint32_t type, const void *data, size_t len);

/* The exchange failed: the state becomes WF_CM_DOWN. Write an error event, with the
 * positive FI_E code @err, the transport's code @prov_errno, and @len bytes of a
 * rejecting peer's data. cm->lock is held. */
void wf_cm_failed(
	struct wf_cm *cm, int err, int prov_errno, const void *data, size_t len);

/* fi_getopt(3) with FI_OPT_CM_DATA_SIZE; other options: -FI_ENOPROTOOPT. */
int wf_cm_getopt(size_t data_size, int name, void *val, size_t *len);

/* Log that @prov refuses @call, and why. Returns @err. */
int wf_cm_refuse(
	const struct wf_prov *prov, const char *call, int err, const char *why);

/* Check the application's data for the exchange, of which @most bytes fit. 0, or
 * -FI_EINVAL, logged. */
int wf_cm_check_data(const struct wf_prov *prov, const char *call, const void *data,
	size_t len, size_t most);

#endif
