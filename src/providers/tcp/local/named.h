/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_NAMED_H
#define TCP_LOCAL_NAMED_H

#include "objects/cq/cq.h"
#include "sys/sockaddr.h"

/*
 * The queue that the endpoint below imports for transmissions, with the peers' names:
 * an error entry from below names the peer as the endpoint below knows it, and the
 * application gets it with the index and the address of tcp. A peer stays named when it
 * has left both AVs, because its operations may fail only then.
 *
 * ep.lock guards it while the endpoint below is open.
 */
struct tcp_named {
	struct fid_peer_cq port;
	struct fi_ops_cq_owner ops;
	struct tcp_name *names; /* by index in the AV below */
	size_t count;
};

/* Export @cq as ret->port. tcp_named_done undoes it; nothing to do where @named is all
 * zero. */
void tcp_named_init(struct tcp_named *ret, struct wf_cq *cq);
void tcp_named_done(struct tcp_named *named);

/* Peer @below of the AV below is the one at @index, with the address of @len bytes at
 * @addr; NULL: it has left the AV. 0 or -FI_ENOMEM. */
int tcp_named_set(struct tcp_named *named, fi_addr_t below, fi_addr_t index,
	const void *addr, size_t len);

#endif
