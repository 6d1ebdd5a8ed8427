/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PEER_OWNER_H
#define TESTS_PEER_OWNER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_peer.h>

/*
 * An owner as another project would write it, using only the public headers, and simple
 * lists: a completion queue, two counters and a receive context, and the objects that
 * peers import.
 *
 * Lock order: @lock (of the receive context, held while a peer calls it), then that of
 * the queue.
 */

enum { OWNER_ROOM = 4096, OWNER_PORTS = 4 };

struct owner_result {
	void *context;
	uint64_t flags, data, tag;
	size_t len;
	void *buf;
	fi_addr_t src;
	int err;
	size_t olen;
	char err_data[16];
};

struct owner_entry {
	struct fi_peer_rx_entry peer;
	struct iovec iov;
	struct owner_entry *next, *prev;
	uint64_t ignore;

	/* The buffer for several messages of which this entry is a slice. */
	struct owner_entry *parent;
	bool multi, open;
	size_t used, slices;
};

struct owner;

/* One for each peer (P-01). */
struct owner_port {
	struct fid_peer_srx srx;
	struct fi_ops_srx_peer ops;
	struct fid_peer_cq cq;
	struct fid_peer_cntr rx_cntr, tx_cntr;
	struct owner *owner;
};

struct owner {
	pthread_mutex_t lock;
	struct owner_entry posted, unexpected, claimed; /* list heads */
	unsigned int entries; /* entries that have not been freed */
	size_t min_multi;
	unsigned int discards;

	pthread_mutex_t cq_lock;
	struct owner_result ring[OWNER_ROOM];
	unsigned int head, tail;
	/* Free entries of the queue; further writes are refused, as by a small CQ. */
	unsigned int cq_room;
	unsigned int cq_refused;

	atomic_ulong rx, rx_err, tx, tx_err;
};

void owner_init(struct owner *owner);
void owner_done(struct owner *owner);

/* Fill @port for import into a peer. */
void owner_export(struct owner *owner, struct owner_port *port);

/* Discard everything that is queued for this peer (discard_*). @lock is held until its
 * endpoint is closed, because more would arrive. */
void owner_drain(struct owner_port *port);

/* Let a peer make progress, through its CQ or its counter. */
void owner_progress_cq(struct owner *owner, struct fid_cq *peer);
void owner_progress_cntr(struct owner *owner, struct fid_cntr *peer);

/* fi_recv, fi_trecv with FI_PEEK, FI_CLAIM, FI_DISCARD and FI_MULTI_RECV. */
int owner_recv(struct owner *owner, void *buf, size_t len, fi_addr_t src, void *context,
	uint64_t flags);
int owner_trecv(struct owner *owner, void *buf, size_t len, fi_addr_t src, uint64_t tag,
	uint64_t ignore, void *context, uint64_t flags);
bool owner_cancel(struct owner *owner, void *context);

/* fi_cq_read and fi_cq_readerr in one. False: there is no entry. */
bool owner_read(struct owner *owner, struct owner_result *ret);

#endif
