/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CQ_H
#define WF_OBJECTS_CQ_H

#include <stdatomic.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_peer.h>

#include "objects/domain.h"
#include "objects/progress.h"
#include "objects/wait.h"
#include "sys/lock.h"

/*
 * A completion queue.
 *
 * Transports write through wf_cq_write and wf_cq_write_err. When the queue is ours
 * (@owner == &self) the entry goes straight into a ring, in the format that the
 * application chose, and is copied out in batches. When it was imported with FI_PEER
 * the same calls go through the owner's operations.
 *
 * The ring has a fixed power-of-two size. When it is full, entries go to an
 * overflow list in the same order and come back as room appears, so nothing is ever
 * lost or dropped. Errors wait in a list of their own, each stamped with the number
 * of entries written before it: a reader gets the entries before an error first,
 * then -FI_EAVAIL until the error is read.
 *
 * @lock guards the ring, the overflow and the errors. Reading runs the items of
 * @progress first, without @lock; see progress.h for the lock order.
 */
struct wf_cq {
	struct fid_cq fid;
	struct wf_domain *domain;
	struct fid_peer_cq self;
	struct fid_peer_cq *owner;
	enum fi_cq_format format;
	size_t entry_size;
	struct wf_lock lock;
	uint32_t mask; /* ring slots - 1 */
	uint32_t head; /* next slot to write; counters run free */
	uint32_t tail; /* next slot to read */
	uint8_t *ring;
	fi_addr_t *src; /* one source per slot */
	uint64_t written; /* entries ever written, stamps errors */
	uint64_t taken; /* entries ever read */
	struct wf_list overflow;
	struct wf_list errors;
	void *err_data; /* of the error last read, kept until the next read */
	enum fi_cq_wait_cond wait_cond;
	atomic_bool woken; /* fi_cq_signal: the sleeper returns empty-handed */
	atomic_int refs; /* endpoints and contexts bound */
	struct wf_wait wait;
	struct wf_progress_list progress;
};

static inline struct wf_cq *wf_cq_of(struct fid_cq *fid)
{
	return wf_container_of(fid, struct wf_cq, fid);
}

int wf_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *context);

/* One success. Arguments as for fi_ops_cq_owner.write; what the format has no room
 * for is ignored. Never fails for our own queue, except -FI_ENOMEM on overflow. */
ssize_t wf_cq_write(struct wf_cq *cq, void *context, uint64_t flags, size_t len,
	void *buf, uint64_t data, uint64_t tag, fi_addr_t src);

/* One failure; the entry and its err_data are copied. */
ssize_t wf_cq_write_err(struct wf_cq *cq, const struct fi_cq_err_entry *entry);

/* Anything to read (entry or error)? For fi_poll and fi_trywait. */
bool wf_cq_readable(struct wf_cq *cq);

#endif
