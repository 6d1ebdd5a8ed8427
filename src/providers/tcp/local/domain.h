/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_DOMAIN_H
#define TCP_LOCAL_DOMAIN_H

#include "objects/lower/domain.h"
#include "providers/tcp/tcp.h"

/*
 * The domain of shm below a domain of tcp, on which the endpoints below are opened
 * (local/below.h). The first of them opens it, and it is closed with tcp's domain.
 * Control calls without locks, from any thread.
 */

/* Capabilities that the endpoint below has if tcp's endpoint has them, and those that
 * it needs in addition. */
#define TCP_BELOW_TRANSFERS                                                            \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_RECV | FI_READ |       \
		FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT |           \
		FI_SOURCE | FI_SOURCE_ERR | FI_DIRECTED_RECV |                         \
		FI_TAGGED_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV)
#define TCP_BELOW_LINKING (FI_PEER | FI_AV_USER_ID)

/* Ask shm for its answer to fi_getinfo, once; called by tcp's fi_getinfo, because
 * FI_PROVIDER may hide shm from other callers. -FI_ENODATA: there is none, and peers
 * are reached through sockets. */
int tcp_below_query(void);
/* Free the answer: wf_prov.cleanup. */
void tcp_below_forget(void);

/* wf_prov.domain_init and .domain_done. */
int tcp_domain_init(struct wf_domain *domain, const struct fi_info *info);
void tcp_domain_done(struct wf_domain *domain);

/* Get the domain below that of @ep. It is closed with that domain. 0; a negative
 * fi_errno: there is none that supports all capabilities of @ep, and *@ret_why is the
 * reason. */
int tcp_below_domain(struct tcp_ep *ep, const struct wf_lower_domain **ret_below,
	const char **ret_why);

#endif
