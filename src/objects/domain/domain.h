/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_DOMAIN_DOMAIN_H
#define WF_OBJECTS_DOMAIN_DOMAIN_H

#include <stdatomic.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>

#include "objects/fabric.h"
#include "objects/cntr/counted.h"
#include "objects/mr/mr.h"
#include "objects/op/op.h"
#include "objects/progress/progress.h"
#include "objects/trigger/trigger.h"
#include "sys/forks.h"
#include "sys/list.h"
#include "sys/lock.h"

struct wf_eq;
struct wf_progress_thread;
struct wf_coll_engines;

/*
 * An open domain (fi_domain(3)). Attributes are fixed when it is opened; @refs counts
 * the objects that are open on it, and fi_close fails while there are any.
 *
 * Where the application serialises its calls (FI_THREAD_DOMAIN), data path objects have
 * no locks but sections of @gate, as far as the kernel supports gates (sys/gate.h). The
 * thread of objects/progress/async.h tries to get in. A domain opened with
 * FI_PROGRESS_AUTO has a progress thread from the start, and locks. With
 * FI_THREAD_COMPLETION there are locks, too: programs post operations in one thread
 * while another one makes progress, which no other library minds. A wait object that
 * the kernel cannot signal asks for the thread later (wf_domain_need_thread); for a
 * domain without locks that request is refused with -FI_ENOSYS and a log line.
 */
struct wf_domain {
	struct fid_domain fid;
	struct wf_fabric *fabric;
	const struct wf_prov *prov;
	struct fi_info *info; /* a copy of the info that the domain was opened with */
	char *name;
	uint32_t api_version;        /* the fabric's */
	enum fi_threading threading; /* FI_THREAD_FID and _ENDPOINT became _SAFE */
	enum fi_progress progress;   /* model that was asked for and granted */
	/* The gate of data path objects, see above; NULL: they have locks. A domain
	 * below another one of this library has the gate of that one. */
	struct wf_gate *gate;
	struct wf_gate own_gate;
	atomic_int refs;         /* objects that are open on the domain */
	struct wf_eq *eq;        /* default EQ, NULL until bound */
	struct fid_domain *peer; /* the owner's domain of an imported one, or NULL */
	struct wf_mr_map mr_map; /* memory regions with remote access, by key */
	/* The regions that peers of the domain's endpoints may access: @mr_map, or the
	 * mr_map of the domain above (wf_domain_lend_regions). */
	struct wf_mr_map *reached;
	struct wf_counted counted;         /* counters of regions */
	struct wf_progress_list items;     /* items that the progress thread runs */
	struct wf_progress_thread *thread; /* NULL until needed */
	struct wf_triggers triggers;       /* operations that wait for counters */
	struct fi_hmem_override_ops hmem_override; /* size 0: none was set */
	pthread_mutex_t control;    /* guards eq, thread and hmem_override */
	struct wf_open_domain open; /* for wf_domain_find */
	/* Engines of collectives, opened when the first is needed; objects/coll/. */
	struct wf_coll_engines *coll;
	void *prov_data; /* the provider's own, from domain_init on */
	struct wf_fork_hook fork_hook;
	bool inherited; /* This process is a forked child of the one that opened it. */
};

static inline struct wf_domain *wf_domain_of(struct fid_domain *fid)
{
	return wf_container_of(fid, struct wf_domain, fid);
}

/* The operations of an open domain. */
struct wf_domain_tables {
	struct fi_ops *fid;
	struct fi_ops_domain *domain;
	struct fi_ops_mr *mr;
};

/* Open a domain with the operations of @tables; wf_domain_open2 (objects/open/open.h)
 * implements fi_domain2(3) with it. Returns the errors of fi_domain2(3). The caller
 * holds no lock. */
int wf_domain_new(struct wf_fabric *fabric, struct fi_info *info,
	const struct wf_domain_tables *tables, struct fid_domain **ret_domain,
	uint64_t flags, void *context);
/* fi_close(3). -FI_EBUSY: objects are open on it. */
int wf_domain_close(struct fid *fid);

/* Let data path objects of @below, which has no objects yet, use the gate of @above:
 * what keeps a thread out of the one keeps it out of the other. No-op where @below has
 * locks. */
void wf_domain_share_gate(struct wf_domain *above, struct wf_domain *below);

/* Start the progress thread unless it runs. -FI_ENOSYS with a log line: the domain has
 * no locks (see struct wf_domain). */
int wf_domain_need_thread(struct wf_domain *domain);

/* Add an item to those that the progress thread runs, once there is one, and remove it.
 * 0 or a negative fabric errno. */
int wf_domain_progress_add(struct wf_domain *domain, struct wf_progress *item);
void wf_domain_progress_del(struct wf_domain *domain, struct wf_progress *item);

/* Let peers of @below's endpoints access the regions of @above instead of those of
 * @below, so that memory registered with a layered provider need not be registered
 * below as well. Called before endpoints of @below are enabled; @above stays open as
 * long as @below. */
void wf_domain_lend_regions(struct wf_domain *above, struct wf_domain *below);

/* wf_prov.query_atomic by @valid, which has the arguments and results of
 * wf_xfer_ops.atomic_valid without an endpoint. */
int wf_query_atomic_by(struct wf_domain *domain, enum fi_datatype datatype,
	enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags,
	int (*valid)(struct wf_domain *domain, enum wf_op_kind kind,
		enum fi_datatype datatype, enum fi_op op, size_t *ret_count));

/* wf_prov.query_atomic, for providers with all atomic operations of wf_atomic_valid up
 * to wf_prov.max_atomic_size bytes. */
int wf_query_atomic(struct wf_domain *domain, enum fi_datatype datatype, enum fi_op op,
	struct fi_atomic_attr *attr, uint64_t flags);

/* Does a thread of the library make progress? Changes to true at most once, by
 * wf_domain_need_thread. */
static inline bool wf_domain_has_thread(const struct wf_domain *domain)
{
	return domain->progress == FI_PROGRESS_AUTO || domain->thread;
}

static inline void wf_domain_ref(struct wf_domain *domain)
{
	atomic_fetch_add_explicit(&domain->refs, 1, memory_order_relaxed);
}

static inline void wf_domain_unref(struct wf_domain *domain)
{
	/* release: the object's accesses happen before fi_close frees the domain. */
	atomic_fetch_sub_explicit(&domain->refs, 1, memory_order_release);
}

#endif
