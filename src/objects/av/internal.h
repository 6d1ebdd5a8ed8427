/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_INTERNAL_H
#define WF_OBJECTS_AV_INTERNAL_H

/* What the files of the address vector share; others include objects/av/av.h. */

#include <rdma/providers/fi_log.h>

#include "objects/av/av.h"

/* Why something is refused: what was asked and what is possible. */
#define WF_AV_REFUSED(domain, ...) FI_WARN((domain)->prov->fi, FI_LOG_AV, __VA_ARGS__)

/* Begin and end changing: takes the lock and, for a shared AV, that between processes.
 * Negative fabric errno when the AV cannot be changed. */
int wf_av_begin(struct wf_av *av);
void wf_av_end(struct wf_av *av);

/* User ids; between begin and end. reset makes an index report itself again. */
int wf_av_set_id(struct wf_av *av, uint64_t index, fi_addr_t id);
void wf_av_reset_id(struct wf_av *av, uint64_t index);
void wf_av_free_ids(struct wf_av *av);

/*
 * One insert call. Its addresses come in batches; each is reported where the caller
 * wants it, outside the lock: fi_addr array, FI_SYNC_ERR array, event queue.
 */
enum { WF_AV_BATCH = 64 };

struct wf_av_insertion {
	struct wf_av *av;
	fi_addr_t *fi_addr;
	uint64_t flags;
	void *context;
	struct wf_eq *eq; /* NULL when synchronous */
	size_t next;      /* position in the call of the next address */
	size_t inserted;
	bool aborted;
};

int wf_av_insertion_begin(struct wf_av_insertion *ins, struct wf_av *av, size_t count,
	fi_addr_t *fi_addr, uint64_t flags, void *context);
/* A NULL in @addr is an address that could not be found out. */
void wf_av_insertion_add(
	struct wf_av_insertion *ins, const void *const *addr, size_t n);
/* Tells the watchers. What the call returns. */
int wf_av_insertion_end(struct wf_av_insertion *ins);

void wf_av_tell_watches(struct wf_av *av);
void wf_av_tell_removed(struct wf_av *av, const uint64_t *index, size_t count);

/* Slots of the operations table. */
int wf_av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *fi_addr,
	uint64_t flags, void *context);
int wf_av_insertsvc(struct fid_av *fid, const char *node, const char *service,
	fi_addr_t *fi_addr, uint64_t flags, void *context);
int wf_av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt,
	const char *service, size_t svccnt, fi_addr_t *fi_addr, uint64_t flags,
	void *context);

/* Opened with FI_PEER: check the context and take over its object. */
extern struct fi_ops_av wf_av_imported_ops;
int wf_av_import(struct wf_av *av, const struct fi_peer_av_context *context);

#endif
