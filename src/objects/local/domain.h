/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOCAL_DOMAIN_H
#define WF_OBJECTS_LOCAL_DOMAIN_H

#include <pthread.h>

#include "objects/endpoint/endpoint.h"
#include "objects/lower/domain.h"

/*
 * The domain of shm below a domain of another provider, on which the endpoints for
 * peers of the same machine are opened (local.h). The first of them opens it, and it is
 * closed with the domain above. Control calls without locks, from any thread.
 */

/* Capabilities that the endpoint below has if the endpoint above has them, and those
 * that it needs in addition. */
#define WF_LOCAL_TRANSFERS                                                             \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_RECV | FI_READ |       \
		FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT |           \
		FI_SOURCE | FI_SOURCE_ERR | FI_DIRECTED_RECV |                         \
		FI_TAGGED_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV)
#define WF_LOCAL_LINKING (FI_PEER | FI_AV_USER_ID)

struct wf_local_domain {
	struct wf_domain *above; /* the domain above, whose regions peers access */
	/* The most bytes of one atomic operation of endpoints above. */
	size_t max_atomic;
	pthread_mutex_t lock;         /* guards the opening of @below */
	struct wf_lower_domain below; /* @info NULL: not open */
};

/* Ask shm for its answer to fi_getinfo, once; called by the fi_getinfo of the provider
 * above, because FI_PROVIDER may hide shm from other callers. -FI_ENODATA: there is
 * none, and peers are reached through sockets. */
int wf_local_query(void);
/* Free the answer, when the library is unloaded. */
void wf_local_forget(void);

/* Initialise the domain below @above, which is not opened yet. */
void wf_local_domain_init(
	struct wf_local_domain *ret, struct wf_domain *above, size_t max_atomic);
void wf_local_domain_done(struct wf_local_domain *domain);

/* Open the domain below if it is not open. @ep: an endpoint of the domain above. 0; a
 * negative fi_errno: there is no domain that supports all capabilities of @ep, and
 * *@ret_why is the reason. */
int wf_local_domain_open(
	struct wf_local_domain *domain, const struct wf_ep *ep, const char **ret_why);

#endif
