/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "objects/endpoint/life/name.h"
#include "providers/udp/burst.h"
#include "sys/calls.h"
#include "sys/fds.h"

/* Opening, naming, enabling and closing endpoints. */

static int udp_enable(struct wf_ep *wf)
{
	struct udp_ep *ep = udp_ep_of(wf);
	uint32_t slots = 1;
	int ret = udp_bind(ep);

	if (ret)
		return ret;
	while (slots < wf->info->rx_attr->size)
		slots *= 2;
	if (!ep->rx)
		ep->rx = calloc(slots, sizeof(*ep->rx));
	if (!ep->socks)
		ep->socks = malloc(sizeof(*ep->socks));
	if (!ep->rx || !ep->socks)
		return -FI_ENOMEM;
	ep->rx_mask = slots - 1;
	ep->socks[0] = (struct udp_sock){ ep->fd, FI_MSG | FI_RECV };
	ep->sock_count = 1;
	ep->addr_len = (socklen_t)wf_av_addrlen(wf->av);
	return 0;
}

static void udp_destroy(struct wf_ep *wf)
{
	struct udp_ep *ep = udp_ep_of(wf);

	/* A joined group holds a reference to the endpoint, so none is left. */
	if (ep->epfd >= 0)
		wf_fds_close(ep->epfd);
	if (ep->fd >= 0)
		wf_sys_close(ep->fd);
	free(ep->groups);
	free(ep->socks);
	free(ep->rx);
	free(ep->train);
	free(ep->out);
	wf_ep_free(wf);
}

static int udp_setname(struct wf_ep *wf, const void *addr, size_t len)
{
	struct udp_ep *ep = udp_ep_of(wf);
	union wf_sockaddr old = ep->name, name;
	int old_fd = ep->fd, ret;

	ret = wf_name_read(&udp_prov, addr, len, old.sa.sa_family, &name);
	if (ret)
		return ret;
	ep->name = name;
	ep->fd = -1;
	ret = udp_bind(ep);
	if (ret) {
		ep->name = old;
		ep->fd = old_fd;
		return ret;
	}
	if (old_fd >= 0)
		wf_sys_close(old_fd);
	return 0;
}

/* The port is known only after bind(): fi_getname therefore binds the socket. */
static int udp_getname(struct wf_ep *wf, void *addr, size_t *len)
{
	struct udp_ep *ep = udp_ep_of(wf);
	int ret = udp_bind(ep);

	if (ret)
		return ret;
	return wf_name_give(&ep->name, wf_sockaddr_len(&ep->name), addr, len);
}

static size_t udp_rx_left(struct wf_ep *wf)
{
	struct udp_ep *ep = udp_ep_of(wf);

	return ep->rx_mask + 1 - (ep->rx_head - ep->rx_tail);
}

static_assert(sizeof(union wf_sockaddr) <= WF_SOURCE_SPACE, "before the datagram");

static void udp_tell_sources(struct wf_ep *wf)
{
	udp_ep_of(wf)->source_space = WF_SOURCE_SPACE;
}

/* Free entries of the transmit queue: always all, because a send goes to the kernel's
 * buffer at once. */
static size_t udp_tx_left(struct wf_ep *wf)
{
	return wf->info->tx_attr->size;
}

static const struct wf_xfer_ops udp_xfer_ops = {
	.lock_kind = WF_LOCK_MUTEX,
	.start = udp_start,
	.send_many = udp_send_many,
	.tell_sources = udp_tell_sources,
	.progress = udp_progress,
	.flushed = udp_flushed,
	.enable = udp_enable,
	.cancel = udp_cancel,
	.destroy = udp_destroy,
	.setname = udp_setname,
	.getname = udp_getname,
	.join = udp_join,
	.rx_left = udp_rx_left,
	.tx_left = udp_tx_left,
	.wait_fd = udp_wait_fd,
	.arm = udp_arm,
};

int udp_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context)
{
	union wf_sockaddr name;
	struct udp_ep *ep;
	struct wf_ep *wf;
	int ret;

	ret = wf_name_first(&udp_prov, info, "fi_endpoint", &name);
	if (!ret)
		ret = wf_ep_new(sizeof(*ep), domain, info, &udp_xfer_ops, context, &wf);
	if (ret)
		return ret;
	ep = udp_ep_of(wf);
	ep->fd = -1;
	ep->epfd = -1;
	ep->name = name;
	ep->want_source = ep->ep.caps & FI_SOURCE;
	ep->want_source_err = ep->ep.caps & FI_SOURCE_ERR;
	*ret_ep = &ep->ep.fid;
	return 0;
}
