/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PINGPONG_CONTROL_H
#define TOOLS_PINGPONG_CONTROL_H

#include <stdint.h>
#include "options.h"

/*
 * The TCP connection beside the measured one. It carries the following, in this order;
 *the peer may be any other fi_pingpong:
 *
 *	name	length (4 bytes, network order), address format (4 bytes, host
 *		order), address. First of the server. Of the client too, unless the
 *		endpoint is connected.
 *	sync	before each size: "q" from the client, "a" from the server
 *	count	after each size: messages that the client got back, as decimal
 *		text in 10 bytes, answered by "cnt ok"
 *
 * All texts include at least one closing zero byte.
 */

/* An endpoint's address, as fi_getname writes it. */
struct pp_name {
	uint32_t format;
	size_t len;
	void *addr;
};

enum pp_control_state {
	PP_CONTROL_QUIET, /* nothing to read */
	PP_CONTROL_TALKS, /* something to read */
	PP_CONTROL_GONE,  /* the peer closed it */
};

/* Server: waits for one client. Client: connects. 0, or a negative errno, reported. */
int pp_control_open(const struct pp_options *options, int *ret_fd);

int pp_control_send_name(int fd, const struct pp_name *name);

/* The caller frees ret_name->addr. */
int pp_control_recv_name(int fd, struct pp_name *ret_name);

/* Send the text that begins a size, and receive the peer's when pp_control_state says
 * that there is something to read. The client sends first. 0, or a negative errno. */
int pp_control_sync_send(int fd, bool server);
int pp_control_sync_recv(int fd, bool server);

/* The end of a size. The client sends its count, and the server answers; both receive
 * when pp_control_state says that there is something to read. 0, or a negative
 * errno. */
int pp_control_count_send(int fd, uint64_t count);
int pp_control_count_recv(int fd, uint64_t *ret_count);
int pp_control_count_taken(int fd);

enum pp_control_state pp_control_state(int fd);

#endif
