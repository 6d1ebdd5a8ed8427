/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#include "providers/udp/udp.h"
#include "sys/calls.h"
#include "sys/iov.h"

/*
 * Many datagrams to one address, for a provider above (wf_xfer_ops.send_many).
 * Datagrams of one size leave as a *train*: one system call passes them through the
 * network stack once, and the device, or the kernel in front of it, cuts the train into
 * datagrams (UDP_SEGMENT, udp(7)).
 */
enum {
	/* Datagrams in a train; every kernel with UDP_SEGMENT takes as many. */
	TRAIN_DATAGRAMS = 64,
	/* Length of a train, which the IP header limits, with space for that header. */
	TRAIN_BYTES = UDP_MAX_MSG_IN - 40,
	TRAIN_PIECES = 512,
	/* After so many refused trains in a row the kernel or the route gets no more of
	 * them. */
	REFUSALS_MAX = 8,
};

/* Number of datagrams for the next train: all are as long as the first one, but the
 * last may be shorter. @ret_pieces: the number of their iovecs. */
static size_t batch_train_of(
	const struct wf_datagram *datagrams, size_t count, size_t *ret_pieces)
{
	size_t bytes = 0, pieces = 0, n = 0;

	for (; n < WF_MIN(count, (size_t)TRAIN_DATAGRAMS); n++) {
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
		ret = wf_sys_sendmsg(ep->fd, &msg, 0);
		/* ECONNREFUSED is the answer to an earlier datagram. */
	} while (wf_unlikely(ret < 0) && (errno == EINTR || errno == ECONNREFUSED));
	return ret;
}

bool udp_is_full(int err)
{
	return err == EAGAIN || err == ENOBUFS || err == ENOMEM;
}

/* False: the socket is full. */
static bool batch_send_one(
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

static void batch_refused(struct udp_ep *ep, int err)
{
	unsigned int refusals =
		atomic_fetch_add_explicit(&ep->refused_trains, 1, memory_order_relaxed);

	if (refusals + 1 == REFUSALS_MAX)
		udp_log(FI_LOG_INFO, FI_LOG_EP_DATA,
			"datagrams leave one by one: UDP_SEGMENT: %s\n",
			fi_strerror(err));
}

/* Send a train of @count datagrams. Returns @count; 0: the socket is full, nothing was
 * sent; -1: the datagrams have to be sent one by one. */
static ssize_t batch_send_train(struct udp_ep *ep, const void *to,
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
	/* The device or the route takes no trains, or none of this size, or the peer
	 * cannot be reached. In the last case sending one by one fails, too. */
	batch_refused(ep, errno);
	return -1;
}

static bool batch_may_send_trains(const struct udp_ep *ep)
{
	return atomic_load_explicit(&ep->refused_trains, memory_order_relaxed) <
	       REFUSALS_MAX;
}

static size_t batch_send_each(struct udp_ep *ep, const void *to,
	const struct wf_datagram *datagrams, size_t count)
{
	size_t n = 0;

	while (n < count && batch_send_one(ep, to, &datagrams[n]))
		n++;
	return n;
}

ssize_t udp_send_train(struct udp_ep *ep, const void *to,
	const struct wf_datagram *datagrams, size_t count)
{
	size_t pieces, n = batch_train_of(datagrams, count, &pieces);

	if (n < 2 || !batch_may_send_trains(ep))
		return -1;
	return batch_send_train(ep, to, datagrams, n, pieces);
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
		size_t pieces,
			n = batch_train_of(datagrams + done, count - done, &pieces);
		ssize_t taken = -1;

		if (n > 1 && batch_may_send_trains(ep))
			taken = batch_send_train(ep, to, datagrams + done, n, pieces);
		if (taken < 0)
			taken = (ssize_t)batch_send_each(ep, to, datagrams + done, n);
		done += (size_t)taken;
		if ((size_t)taken < n)
			break;
	}
	return done;
}
