/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_DOMAIN_H
#define TCP_LOCAL_DOMAIN_H

#include "objects/lower/domain.h"
#include "providers/tcp/tcp.h"

/*
 * The domain of shm below a domain of tcp, which the endpoints below are opened on
 * (local/below.h). It is opened for the first of them, and closed with tcp's domain.
 * Control calls without locks, from any thread.
 */

/* What tcp's endpoint has of these, the one below has; and what it needs besides. */
#define TCP_BELOW_TRANSFERS                                                            \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_RECV | FI_READ |       \
		FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT |           \
		FI_SOURCE | FI_SOURCE_ERR | FI_DIRECTED_RECV |                         \
		FI_TAGGED_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV)
#define TCP_BELOW_LINKING (FI_PEER | FI_AV_USER_ID)

/* Ask shm for what it offers, once; from tcp's fi_getinfo, because FI_PROVIDER may hide
 * shm from all others. Where there is no answer, peers are reached by sockets. */
void tcp_below_look(void);
/* Free the answer: wf_prov.cleanup. */
void tcp_below_forget(void);

/* wf_prov.domain_init and .domain_done */
int tcp_domain_init(struct wf_domain *domain, const struct fi_info *info);
void tcp_domain_done(struct wf_domain *domain);

/* The domain below that of @ep. It stays open as long as that. A negative FI_E code:
 * there is none that can do what @ep promises, and *ret_why says why. */
int tcp_below_domain(struct tcp_ep *ep, const struct wf_lower_domain **ret_below,
	const char **ret_why);

#endif
