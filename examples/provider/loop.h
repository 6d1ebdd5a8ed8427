/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXAMPLES_PROVIDER_LOOP_H
#define EXAMPLES_PROVIDER_LOOP_H

#include <pthread.h>

#include "copy.h"
#include "message.h"
#include "sys/addrstr.h"

/* Endpoints that reach the endpoints of their own process: docs/new-provider.md. */

/* An operation under way. It has a copy of all data, so that an endpoint never accesses
 * memory of the peer's application. */
struct loop_op {
	struct wf_list link; /* in an inbox, unless it is an unexpected message */
	struct loop_ep *to;
	uint64_t from; /* id of the initiator that completes it; 0: it is complete */
	int err; /* how it ended: 0 or a positive error code; -1: it did not yet */
	char source[WF_ADDRSTR_MAX]; /* the initiator's name */
	struct loop_copy copy;
	struct loop_message msg; /* a message, for the receive context */
	size_t size;             /* bytes of this struct and its data */
	uint8_t data[];
};

struct loop_ep {
	struct wf_ep ep;
	char name[WF_ADDRSTR_MAX]; /* in the normal form of address vectors */
	int event_fd;              /* readable while the inbox is not empty */
	/* Guarded by loop_lock. */
	uint64_t id;          /* unique in the process, never reused */
	struct wf_list link;  /* in the list of enabled endpoints */
	struct wf_list inbox; /* operations on us, and our own that ended */
	size_t held;          /* bytes of operations on us */
};

static inline struct loop_ep *loop_ep_of(struct wf_ep *ep)
{
	return wf_container_of(ep, struct loop_ep, ep);
}

extern struct fi_provider loop_fi;
extern size_t loop_held_size; /* FI_LOOP_HELD_SIZE, in bytes */
/* A leaf: no other lock is taken and no object is called while it is held. */
extern pthread_mutex_t loop_lock;

/* endpoint.c; loop_lock is held for find and put. */
int loop_endpoint(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, uint64_t flags, void *context);
bool loop_node_known(const char *node);
/* The enabled endpoint whose name begins with @len bytes of @name; NULL: none does. */
struct loop_ep *loop_find(const char *name, size_t len);
void loop_put(struct loop_ep *ep, struct loop_op *op);

/* op.c */
ssize_t loop_start(struct wf_ep *wf, struct wf_op *what);
void loop_serve(struct loop_op *op);
void loop_complete(struct loop_ep *ep, struct loop_op *op);
void loop_end(struct loop_op *op, int err); /* @err: 0 or a positive error code */

#endif
