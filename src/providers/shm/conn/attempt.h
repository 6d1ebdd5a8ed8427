/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_CONN_ATTEMPT_H
#define WF_SHM_CONN_ATTEMPT_H

#include "providers/shm/conn/peer.h"

/* Functions for the exchange that opens a connection, which attempt.c and accept.c
 * share. ep.lock held. */

/* Make a packet of this endpoint. */
struct shm_hello shm_attempt_hello(struct shm_ep *ep, enum shm_hello_type type);
/* Make an attempt over the socket @fd, which the attempt owns from now on. NULL: no
 * memory. */
struct shm_attempt *shm_attempt_new(struct shm_ep *ep, int fd);
/* The exchange succeeded: create the connection, with the peer's @hello. This
 * endpoint writes lane @out_lane of the segment. NULL: no memory or no descriptor. */
struct shm_conn *shm_attempt_connect(struct shm_attempt *attempt, struct shm_peer *peer,
	const struct shm_hello *hello, unsigned int out_lane);

#endif
