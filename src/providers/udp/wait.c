/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/epoll.h>

#include "providers/udp/burst.h"
#include "sys/fds.h"

/*
 * Sleepers watch an epoll descriptor that holds the sockets while a receive is posted,
 * and is empty otherwise: a socket with datagrams that no receive can take would wake
 * sleepers without end.
 *
 * A receive that is posted puts the sockets into the set, also while a thread sleeps,
 * and epoll reports datagrams that wait in them at once. The sockets stay in the set
 * when the last receive is used up, because the application mostly posts the next one
 * before it sleeps; if it did not, udp_arm() takes them out.
 */

int udp_wait_fd(struct wf_ep *wf)
{
	struct udp_ep *ep = udp_ep_of(wf);

	if (ep->epfd >= 0)
		return ep->epfd;
	ep->epfd = wf_epoll();
	if (ep->epfd < 0)
		return -errno;
	if (ep->rx_head != ep->rx_tail)
		udp_watch(ep);
	return ep->epfd;
}

static void wait_control(struct udp_ep *ep, int op)
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
	wait_control(ep, EPOLL_CTL_ADD);
	ep->watched = true;
}

void udp_unwatch(struct udp_ep *ep)
{
	if (!ep->watched)
		return;
	wait_control(ep, EPOLL_CTL_DEL);
	ep->watched = false;
}

bool udp_arm(struct wf_ep *wf)
{
	struct udp_ep *ep = udp_ep_of(wf);

	/* Another thread may have gathered messages since the last progress call. */
	if (!udp_burst_flush(ep))
		return false;
	if (ep->epfd >= 0 && ep->rx_head == ep->rx_tail)
		udp_unwatch(ep);
	return true;
}
