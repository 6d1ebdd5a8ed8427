/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/local/below.h"

#include <stdlib.h>

#include "providers/tcp/local/local.h"

int tcp_domain_init(struct wf_domain *domain, const struct fi_info *info)
{
	struct wf_local_domain *local = calloc(1, sizeof(*local));

	(void)info;
	if (!local)
		return -FI_ENOMEM;
	wf_local_domain_init(local, domain, TCP_WIRE_ATOMIC_MAX);
	domain->prov_data = local;
	return 0;
}

void tcp_domain_done(struct wf_domain *domain)
{
	wf_local_domain_done(domain->prov_data);
	free(domain->prov_data);
}

static struct tcp_ep *tcp_below_ep_of_item(struct wf_progress *item)
{
	return tcp_ep_of(wf_container_of(item, struct wf_ep, progress));
}

static struct wf_fds *below_wait_fds(struct wf_progress *item)
{
	return &tcp_below_ep_of_item(item)->below_fds;
}

static void tcp_below_run(struct wf_progress *item)
{
	wf_local_run(tcp_below_ep_of_item(item)->below);
}

/* wf_progress.moved: partial progress calls do not count what they find. */
static bool tcp_below_moved(struct wf_progress *item)
{
	return wf_local_moved(tcp_below_ep_of_item(item)->below);
}

/* Sleeping threads wait for both endpoints. */
static int below_watch(struct tcp_ep *ep)
{
	int ret;

	if (!ep->below->sleeps)
		return 0;
	wf_fds_init(&ep->below_fds);
	ret = wf_fds_add(&ep->below_fds, wf_local_fd(ep->below));
	if (!ret)
		ret = wf_fds_add(&ep->below_fds, ep->watches.epfd);
	if (ret)
		wf_fds_done(&ep->below_fds);
	else
		wf_ep_set_wait_fds(&ep->ep, below_wait_fds);
	return ret;
}

int tcp_below_open(struct tcp_ep *ep)
{
	int ret;

	if (ep->below)
		return 0;
	ret = wf_local_open(
		&ep->ep, ep->ep.domain->prov_data, ep->memory_forbidden, &ep->below);
	if (ret)
		return ret;
	ret = below_watch(ep);
	if (ret) {
		tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
			"all peers are reached by sockets: no descriptor: %s\n",
			fi_strerror(-ret));
		wf_local_close(&ep->below);
		return ret;
	}
	wf_ep_set_run(&ep->ep, tcp_below_run);
	wf_ep_set_moved(&ep->ep, tcp_below_moved);
	return 0;
}

void tcp_below_close(struct tcp_ep *ep)
{
	if (ep->below && ep->below->sleeps)
		wf_fds_done(&ep->below_fds);
	wf_local_close(&ep->below);
}
