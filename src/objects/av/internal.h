/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_INTERNAL_H
#define WF_OBJECTS_AV_INTERNAL_H

/* Declarations that only the files of the address vector share. */

#include <rdma/providers/fi_log.h>

#include "objects/av/av.h"

/* Log why a call is refused: what was asked and what is possible. */
#define WF_AV_REFUSED(domain, ...) FI_WARN((domain)->prov->fi, FI_LOG_AV, __VA_ARGS__)

/* Begin and end a change: takes the AV's lock and, for a shared AV, the lock between
 * processes. -FI_EACCES: a read-only AV; or the error of the lock. */
int wf_av_begin(struct wf_av *av);
void wf_av_end(struct wf_av *av);

/* Set a user id, and remove it. Called between begin and end. */
int wf_av_set_id(struct wf_av *av, uint64_t index, fi_addr_t id);
void wf_av_reset_id(struct wf_av *av, uint64_t index);
void wf_av_free_ids(struct wf_av *av);

/*
 * One insert call. Addresses are inserted in batches under the lock; the results are
 * reported without it, to the fi_addr array, the FI_SYNC_ERR array or the event queue.
 */
enum { WF_AV_BATCH = 64 };

struct wf_av_insertion {
	struct wf_av *av;
	fi_addr_t *fi_addr; /* the application's array for the results, or NULL */
	uint64_t flags;     /* flags of the insert call */
	void *context; /* context of the call; with FI_SYNC_ERR the array of errors */
	struct wf_eq *eq; /* NULL when synchronous */
	size_t next;      /* number of addresses reported so far */
	size_t inserted;  /* number of addresses that were inserted */
	bool aborted;     /* out of memory: the other addresses are not tried */
};

int wf_av_insertion_begin(struct wf_av_insertion *ins, struct wf_av *av, size_t count,
	fi_addr_t *fi_addr, uint64_t flags, void *context);
/* Insert a batch of @n addresses, at most WF_AV_BATCH. NULL in @addr stands for an
 * address that could not be resolved: it is reported as a failure. */
void wf_av_insertion_add(
	struct wf_av_insertion *ins, const void *const *addr, size_t n);
/* Call the watches and write the completion event. Returns what the insert call
 * returns: the number of addresses inserted, or 0 with an event queue. */
int wf_av_insertion_end(struct wf_av_insertion *ins);

/* Call all watches of @av. No lock of the AV is held. */
void wf_av_tell_watches(struct wf_av *av);
void wf_av_tell_removed(struct wf_av *av, const uint64_t *index, size_t count);

/* Calls of fi_ops_av; see fi_av(3). */
int wf_av_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags);
int wf_av_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *addrlen);
int wf_av_lookup2(struct fid_av *fid, fi_addr_t fi_addr, void *buf, size_t *len,
	uint64_t flags, struct fid_xpu_ctx *ctx);
const char *wf_av_straddr_op(
	struct fid_av *fid, const void *addr, char *buf, size_t *len);
int wf_av_set_user_id(
	struct fid_av *fid, fi_addr_t fi_addr, fi_addr_t user_id, uint64_t flags);
int wf_av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *fi_addr,
	uint64_t flags, void *context);
int wf_av_insertsvc(struct fid_av *fid, const char *node, const char *service,
	fi_addr_t *fi_addr, uint64_t flags, void *context);
int wf_av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt,
	const char *service, size_t svccnt, fi_addr_t *fi_addr, uint64_t flags,
	void *context);

/* For an AV opened with FI_PEER: check the context, and refer to the owner's AV. */
extern struct fi_ops_av wf_av_imported_ops;
int wf_av_import(struct wf_av *av, const struct fi_peer_av_context *context);

#endif
