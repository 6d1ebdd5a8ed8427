/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_LOCAL_BELOW_H
#define WF_TCP_LOCAL_BELOW_H

#include "objects/local/local.h"
#include "providers/tcp/tcp.h"

/* The endpoint below an endpoint of tcp, for peers that share memory with it
 * (objects/local/local.h), and the domain below. Control calls without locks. */

/* wf_prov.domain_init and .domain_done. */
int tcp_domain_init(struct wf_domain *domain, const struct fi_info *info);
void tcp_domain_done(struct wf_domain *domain);

/* wf_local_open for @ep, and let peers be asked whether they share memory. */
int tcp_below_open(struct tcp_ep *ep);
void tcp_below_close(struct tcp_ep *ep);

#endif
