/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXD_BELOW_H
#define RXD_BELOW_H

#include "providers/rxd/rxd.h"

/*
 * The endpoint below, its queue and its address vector. A buffer holds one packet, with
 * the prefix of the provider below in front of it, or, with an endpoint of this library
 * below that has FI_MULTI_RECV, one received packet after the other; it is posted for
 * receiving, or has packets that are being read, or one on its way out. ep.lock is held
 * unless a comment says otherwise.
 */
struct rxd_buf {
	struct fi_context2 scratch; /* first: the context of the operation below */
	struct wf_list link;        /* in ep->free_bufs while it is not in use */
	struct rxd_buf *next;       /* in ep->bufs */
	struct fid_mr *mr;          /* registration below of the data; NULL: none */
	bool sending;
	uint8_t data[]; /* ep->buf_size bytes */
};

/* A packet that was received, without the prefix. */
struct rxd_packet {
	struct rxd_buf *buf;
	const uint8_t *data;
	size_t len;
	bool last; /* no other packet is in the buffer */
};

/* Open the endpoint below at the address of ep->ep.info, or close all. No lock is held.
 * Closing accepts what was opened half-way. */
int rxd_below_open(struct rxd_ep *ep, void *context);
void rxd_below_close(struct rxd_ep *ep);

/* Enable it with a queue that threads may sleep on if @sleeps. May be called again
 * after a failure. Control call. */
int rxd_below_enable(struct rxd_ep *ep, bool sleeps);

/* The address below for the endpoint named @name. 0 or a negative FI_E code. */
int rxd_below_insert(struct rxd_ep *ep, const void *name, fi_addr_t *ret_addr);
void rxd_below_remove(struct rxd_ep *ep, fi_addr_t addr);

/* Receive up to @max packets, after buffers were posted in place of those that were
 * used. Each packet goes back by rxd_below_put, in this order, before the next call. */
size_t rxd_below_receive(struct rxd_ep *ep, struct rxd_packet *packets, size_t max);

/* The packet is not needed any more. */
void rxd_below_put(struct rxd_ep *ep, const struct rxd_packet *packet);

/* Send a packet in pieces, of @len bytes in all, to @to. Returns @len; -FI_EAGAIN: not
 * now; or another negative FI_E code. The pieces may change when the call returns. */
ssize_t rxd_below_send(struct rxd_ep *ep, fi_addr_t to, const struct iovec *iov,
	size_t count, size_t len);

/* Send @count packets to @to. Returns how many were taken, the first ones; the others
 * may be tried again. One that cannot be sent at all is as if lost. The pieces may
 * change when the call returns. */
size_t rxd_below_send_many(struct rxd_ep *ep, fi_addr_t to,
	const struct wf_datagram *packets, size_t count);

#endif
