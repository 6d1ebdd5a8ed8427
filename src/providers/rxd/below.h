/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_BELOW_H
#define WF_RXD_BELOW_H

#include "providers/rxd/rxd.h"

/*
 * The endpoint below, its queue and its address vector. A buffer holds one packet
 * behind the prefix of the provider below; or, if the endpoint below is of this library
 * and has FI_MULTI_RECV, many received packets one after the other. A buffer is posted
 * for receiving, or contains packets that are being read, or one that is being sent.
 * ep.lock is held unless a comment says otherwise.
 */
enum rxd_buf_state {
	RXD_BUF_IDLE, /* not in use below */
	RXD_BUF_POSTED,
	RXD_BUF_SENDING,
};

struct rxd_buf {
	/* Context of the operation below; must be the first field. */
	struct fi_context2 scratch;
	struct wf_list link;  /* link in ep->free_bufs while it is not in use */
	struct rxd_buf *next; /* next one in ep->bufs */
	struct fid_mr *mr;    /* registration of @data below; NULL: none */
	enum rxd_buf_state state;
	uint8_t data[]; /* ep->buf_size bytes */
};

/* A packet that was received, without the prefix. */
struct rxd_packet {
	struct rxd_buf *buf;
	const uint8_t *data;
	size_t len;
	bool last; /* no other packet is in the buffer */
	/* The source: RXD_SOURCES_ADDR: in the form of addresses in packets;
	 * RXD_SOURCES_INDEX: the address below, or FI_ADDR_NOTAVAIL. */
	const void *addr;
	fi_addr_t index;
};

/* Open the endpoint below at the address of ep->ep.info; close the endpoint and all
 * else that is open below, also after a failed rxd_below_open. No lock is held.
 * rxd_below_open returns 0 or a negative fi_errno. */
int rxd_below_open(struct rxd_ep *ep, void *context);
void rxd_below_close(struct rxd_ep *ep);

/* Enable the endpoint below, with a queue that threads can sleep on if @sleeps. 0 or a
 * negative fi_errno; may be called again after a failure. Control call. */
int rxd_below_enable(struct rxd_ep *ep, bool sleeps);

/* Insert the endpoint with the name @name into the AV below. 0 or a negative
 * fi_errno. */
int rxd_below_insert(struct rxd_ep *ep, const void *name, fi_addr_t *ret_addr);
void rxd_below_remove(struct rxd_ep *ep, fi_addr_t addr);

/* Receive up to @max packets, after posting buffers instead of those that were used.
 * Each packet has to be given back by rxd_below_put, in this order, before the next
 * call. Returns the number of packets. */
size_t rxd_below_receive(struct rxd_ep *ep, struct rxd_packet *packets, size_t max);

/* Give back a packet that is not needed any more. */
void rxd_below_put(struct rxd_ep *ep, const struct rxd_packet *packet);

/* Send a packet of @len bytes, which are in @iov, to @to. Returns @len; -FI_EAGAIN: the
 * queue below is full; or another negative fi_errno. The buffers may be changed when
 * the call returns. */
ssize_t rxd_below_send(struct rxd_ep *ep, fi_addr_t to, const struct iovec *iov,
	size_t count, size_t len);

/* Send @count packets to @to. Returns how many of them, from the first one on, were
 * taken; the others may be tried again. A packet that cannot be sent at all counts as
 * taken, and is lost. The buffers may be changed when the call returns. */
size_t rxd_below_send_many(struct rxd_ep *ep, fi_addr_t to,
	const struct wf_datagram *packets, size_t count);

#endif
