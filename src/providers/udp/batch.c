/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#include "providers/udp/udp.h"
#include "sys/iov.h"

/*
 * Many datagrams to one address, for layers. Those of one size leave as a *train*: in
 * one system call, which passes the network stack once and is cut into datagrams by the
 * device, or by the kernel before it (UDP_SEGMENT, udp(7)).
 */
enum {
	TRAIN_CARS = 64, /* as many as every kernel with UDP_SEGMENT takes */
	TRAIN_BYTES = UDP_MAX_MSG_IN - 40, /* its length is in an IP header as well */
	TRAIN_PIECES = 512,
	/* A kernel or route that refuses so many trains in a row gets no more. */
	REFUSALS_MAX = 8,
};

/* How many of the datagrams make the next train: all are as long as the first, but the
 * last, which may be shorter. */
static size_t train_of(
	const struct wf_datagram *datagrams, size_t count, size_t *ret_pieces)
{
	size_t bytes = 0, pieces = 0, n = 0;

	for (; n < WF_MIN(count, (size_t)TRAIN_CARS); n++) {
		const struct wf_datagram *next = &datagrams[n];

		if (n > 0 && (next->len > datagrams[0].len || next->len == 0 ||
				     datagrams[n - 1].len < datagrams[0].len))
			break;
		if (n > 0 && (bytes + next->len > TRAIN_BYTES ||
				     pieces + next->iov_count > TRAIN_PIECES))
			break;
		bytes += next->len;
		pieces += next->iov_count;
	}
	*ret_pieces = pieces;
	return n;
}

ssize_t udp_send_pieces(struct udp_ep *ep, const void *to, const struct iovec *iov,
	size_t iov_count, uint16_t segment)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(segment))] = { 0 };
	struct msghdr msg = {
		.msg_name = (void *)(uintptr_t)to,
		.msg_namelen = ep->addr_len,
		.msg_iov = (struct iovec *)(uintptr_t)iov,
		.msg_iovlen = iov_count,
	};
	ssize_t ret;

	if (segment) {
		struct cmsghdr *c = (struct cmsghdr *)control;

		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		c->cmsg_level = IPPROTO_UDP;
		c->cmsg_type = UDP_SEGMENT;
		c->cmsg_len = CMSG_LEN(sizeof(segment));
		memcpy(CMSG_DATA(c), &segment, sizeof(segment));
	}
	do {
		ret = sendmsg(ep->fd, &msg, 0);
		/* ECONNREFUSED is about an earlier datagram. */
	} while (wf_unlikely(ret < 0) && (errno == EINTR || errno == ECONNREFUSED));
	return ret;
}

bool udp_is_full(int err)
{
	return err == EAGAIN || err == ENOBUFS || err == ENOMEM;
}

/* False: the socket is full. */
static bool send_one(
	struct udp_ep *ep, const void *to, const struct wf_datagram *datagram)
{
	if (wf_likely(udp_send_pieces(ep, to, datagram->iov, datagram->iov_count, 0) >=
		      0))
		return true;
	if (udp_is_full(errno))
		return false;
	udp_log(FI_LOG_INFO, FI_LOG_EP_DATA, "datagram of %zu bytes lost: %s\n",
		datagram->len, fi_strerror(errno));
	return true;
}

static void refused(struct udp_ep *ep, int err)
{
	unsigned int refusals =
		atomic_fetch_add_explicit(&ep->refused_trains, 1, memory_order_relaxed);

	if (refusals + 1 == REFUSALS_MAX)
		udp_log(FI_LOG_INFO, FI_LOG_EP_DATA,
			"datagrams leave one by one: UDP_SEGMENT: %s\n",
			fi_strerror(err));
}

/* The number of datagrams of the train that were taken: all or none; -1: it has to be
 * sent one by one. */
static ssize_t send_train(struct udp_ep *ep, const void *to,
	const struct wf_datagram *datagrams, size_t count, size_t pieces)
{
	struct iovec iov[TRAIN_PIECES];
	size_t at = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < datagrams[i].iov_count; k++)
			iov[at++] = datagrams[i].iov[k];
	if (wf_likely(udp_send_pieces(
			      ep, to, iov, pieces, (uint16_t)datagrams[0].len) >= 0)) {
		atomic_store_explicit(&ep->refused_trains, 0, memory_order_relaxed);
		return (ssize_t)count;
	}
	if (udp_is_full(errno))
		return 0;
	/* The device or the route takes no trains, or none of such datagrams; or the
	 * peer cannot be reached, which the next call tells, too. */
	refused(ep, errno);
	return -1;
}

static bool may_send_trains(const struct udp_ep *ep)
{
	return atomic_load_explicit(&ep->refused_trains, memory_order_relaxed) <
	       REFUSALS_MAX;
}

static size_t send_each(struct udp_ep *ep, const void *to,
	const struct wf_datagram *datagrams, size_t count)
{
	size_t n = 0;

	while (n < count && send_one(ep, to, &datagrams[n]))
		n++;
	return n;
}

ssize_t udp_send_train(struct udp_ep *ep, const void *to,
	const struct wf_datagram *datagrams, size_t count)
{
	size_t pieces, n = train_of(datagrams, count, &pieces);

	if (n < 2 || !may_send_trains(ep))
		return -1;
	return send_train(ep, to, datagrams, n, pieces);
}

size_t udp_send_many(struct wf_ep *wf, fi_addr_t addr,
	const struct wf_datagram *datagrams, size_t count)
{
	struct udp_ep *ep = udp_ep_of(wf);
	const void *to = wf_av_addr(wf->av, addr);
	size_t done = 0;

	if (wf_unlikely(!to))
		return count;
	while (done < count) {
		size_t pieces, n = train_of(datagrams + done, count - done, &pieces);
		ssize_t taken = -1;

		if (n > 1 && may_send_trains(ep))
			taken = send_train(ep, to, datagrams + done, n, pieces);
		if (taken < 0)
			taken = (ssize_t)send_each(ep, to, datagrams + done, n);
		done += (size_t)taken;
		if ((size_t)taken < n)
			break;
	}
	return done;
}
