/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PINGPONG_TRANSFER_H
#define TOOLS_PINGPONG_TRANSFER_H

#include "link.h"

/* The closing message, "fin" with its zero byte. */
enum { PP_FIN_LEN = 4 };

/* How a wait may end other than by an error. */
enum pp_wait {
	PP_ARRIVED,
	PP_TIMED_OUT,
	PP_MOVED_ON, /* the peer talks on the control connection: it waits no longer */
};

/* Which events end a wait early, besides the message. */
enum pp_wait_for {
	PP_FOR_MESSAGE, /* the peer leaves, which is an error */
	/* Also that the peer talks on the control connection. */
	PP_FOR_MESSAGE_OR_TALK,
	PP_FOR_TALK_OR_MESSAGE, /* the same, but the control connection is expected */
	/* None: the peer may end before its last message was read. */
	PP_FOR_LAST_MESSAGE,
};

/* Data begins behind the prefix. */
static inline char *pp_tx_data(struct pp_link *link)
{
	return link->tx_buf + link->prefix;
}

static inline char *pp_rx_data(struct pp_link *link)
{
	return link->rx_buf + link->prefix;
}

int pp_post_recv(struct pp_link *link);

/* Waits until the send buffer may be written again. */
int pp_wait_sent(struct pp_link *link);

/* Sends @len bytes of the send buffer, which must be free. */
int pp_send(struct pp_link *link, size_t len);

/* pp_send, complete only when the peer has the message, so that closing loses
 * nothing. */
int pp_send_last(struct pp_link *link, size_t len);

/* Waits for a message; the caller then has to post the next receive. Returns enum
 * pp_wait or a negative error. */
int pp_wait_recv(struct pp_link *link, enum pp_wait_for what, int timeout_ms);

#endif
