/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>

#include "providers/udp/udp.h"
#include "sys/iov.h"

/*
 * Datagrams of one source that arrive together can be received together: as a *train*,
 * whose datagrams have one size, but for the last (UDP_GRO, udp(7)). One pass through
 * the network stack and one system call then serve some forty datagrams.
 *
 * A multi-receive buffer with space for the longest train is received into directly:
 * each datagram is the next slice. Otherwise the train is received into the buffer
 * below, and its datagrams are copied to receives, one each, in order and before any
 * later datagram. A datagram that finds no posted receive stays in the buffer until one
 * is posted.
 *
 * A receive of a single datagram takes longer with UDP_GRO, so it is turned on only
 * when many datagrams arrive.
 */
enum { TRAIN_MAX = 1 << 16 };

struct udp_train {
	/* Offset of the datagrams that wait for receives, and their length; bytes. */
	size_t at, left;
	struct udp_datagram all; /* the train, as it was received into @bytes */
	uint8_t bytes[TRAIN_MAX];
};

static struct udp_rx *train_oldest(struct udp_ep *ep)
{
	return ep->rx_head == ep->rx_tail ? NULL : &ep->rx[ep->rx_tail & ep->rx_mask];
}

/* Can any train be received directly into the receive's buffer? */
static bool train_takes(const struct udp_ep *ep, const struct udp_rx *rx)
{
	return rx->flags & FI_MULTI_RECV && rx->iov_count == 1 &&
	       rx->len >= TRAIN_MAX + ep->source_space;
}

void udp_train_open(struct udp_ep *ep)
{
	const struct udp_rx *rx = train_oldest(ep);
	int on = 1;

	if (ep->gro_refused || !rx || !train_takes(ep, rx))
		return;
	ep->train = malloc(sizeof(*ep->train));
	if (!ep->train)
		return;
	ep->train->left = 0;
	if (!setsockopt(ep->fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)))
		return;
	udp_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"datagrams arrive one by one: UDP_GRO: %s\n", fi_strerror(errno));
	ep->gro_refused = true;
	free(ep->train);
	ep->train = NULL;
}

static size_t train_segment_of(const struct udp_datagram *all, size_t left)
{
	return all->segment > 0 ? WF_MIN(all->segment, left) : left;
}

/* The datagrams of the train @all are in the oldest receive's buffer, one after the
 * other: deliver them. */
static void train_deliver_in_place(struct udp_ep *ep, const struct udp_datagram *all)
{
	struct udp_datagram one = *all;
	size_t left = (size_t)all->len;

	do {
		one.len = (ssize_t)train_segment_of(all, left);
		left -= (size_t)one.len;
		udp_deliver(ep, &one, left > 0);
		/* The source is that of the first datagram. */
		one.space = 0;
	} while (left > 0);
}

/* Copy the next datagram of the saved train to the oldest receive. */
static void train_deliver_copy(struct udp_ep *ep, struct udp_train *train)
{
	const struct udp_rx *rx = train_oldest(ep);
	struct udp_datagram one = train->all;
	size_t len = train_segment_of(&train->all, train->left);

	(void)wf_iov_scatter_at(
		rx->iov, rx->iov_count, one.space, train->bytes + train->at, len);
	one.len = (ssize_t)len;
	train->at += len;
	train->left -= len;
	udp_deliver(ep, &one, false);
}

bool udp_train_receive(struct udp_ep *ep, const struct udp_sock *sock)
{
	struct udp_train *train = ep->train;
	struct iovec iov = { train->bytes, TRAIN_MAX };
	struct udp_rx *rx = train_oldest(ep);
	bool in_place = train->left == 0 && train_takes(ep, rx);

	if (in_place)
		iov = (struct iovec){ (uint8_t *)rx->iov[0].iov_base + ep->source_space,
			rx->len - ep->source_space };
	if (train->left == 0) {
		if (udp_receive_msg(ep, sock, &iov, 1, &train->all) < 0) {
			udp_receive_failed(errno);
			return false;
		}
		train->at = 0;
		train->left = (size_t)train->all.len;
	}
	if (in_place) {
		train->left = 0;
		train_deliver_in_place(ep, &train->all);
	} else {
		train_deliver_copy(ep, train);
	}
	return true;
}

void udp_train_flush(struct udp_ep *ep)
{
	while (ep->train->left > 0 && train_oldest(ep))
		train_deliver_copy(ep, ep->train);
}
