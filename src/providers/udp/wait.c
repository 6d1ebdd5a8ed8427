/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/epoll.h>

#include "providers/udp/udp.h"

/*
 * What sleepers watch: an epoll descriptor with the sockets in it while a receive is
 * posted, empty otherwise. A socket that holds datagrams which nobody can take yet
 * would wake its sleepers for nothing, over and over.
 *
 * arm() makes the two agree before somebody sleeps; a receive that is posted while
 * somebody sleeps puts the sockets back, and epoll then tells at once of what they
 * hold. They are left in when the last receive is used up, because the application
 * mostly posts the next one before it sleeps again.
 */

int udp_wait_fd(struct wf_ep *wf)
{
	struct udp_ep *ep = udp_ep_of(wf);

	if (ep->epfd >= 0)
		return ep->epfd;
	ep->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (ep->epfd < 0)
		return -errno;
	if (ep->rx_head != ep->rx_tail)
		udp_watch(ep);
	return ep->epfd;
}

static void control(struct udp_ep *ep, int op)
{
	for (unsigned int i = 0; i < ep->sock_count; i++) {
		struct epoll_event event = { .events = EPOLLIN };

		if (epoll_ctl(ep->epfd, op, ep->socks[i].fd, &event) &&
			errno != EEXIST && errno != ENOENT)
			udp_log(FI_LOG_WARN, FI_LOG_EP_DATA,
				"cannot watch a socket, sleepers may miss it: %s\n",
				fi_strerror(errno));
	}
}

void udp_watch(struct udp_ep *ep)
{
	if (ep->watched)
		return;
	control(ep, EPOLL_CTL_ADD);
	ep->watched = true;
}

void udp_unwatch(struct udp_ep *ep)
{
	if (!ep->watched)
		return;
	control(ep, EPOLL_CTL_DEL);
	ep->watched = false;
}

bool udp_arm(struct wf_ep *wf)
{
	struct udp_ep *ep = udp_ep_of(wf);

	if (ep->epfd < 0)
		return true;
	if (ep->rx_head != ep->rx_tail)
		udp_watch(ep);
	else
		udp_unwatch(ep);
	return true;
}
