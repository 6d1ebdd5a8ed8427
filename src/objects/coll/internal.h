/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_COLL_INTERNAL_H
#define WF_OBJECTS_COLL_INTERNAL_H

#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_peer_coll.h>

#include "objects/av/set.h"
#include "objects/coll/coll.h"
#include "objects/endpoint/calls/build.h"
#include "objects/progress/later.h"

/* Engines of a domain: WF_INFO_ENGINE (objects/info/engine.h), and the one that
 * FI_OFFLOAD_COLL_PROVIDER names. */
enum wf_coll_which {
	WF_COLL_BASE,
	WF_COLL_OFFLOAD,
	WF_COLL_ENGINES_MAX,
};

enum {
	WF_COLL_KINDS = FI_GATHER + 1,
	WF_COLL_TYPES = 32, /* beyond the last datatype, and the last operation */
	/* Groups of one endpoint at a time. */
	WF_COLL_GROUPS_MAX = 1 << 14,
};

/* An engine that is open for one domain. Constant. */
struct wf_coll_engine {
	const char *name;     /* name of the engine's provider */
	struct fi_info *info; /* attributes that the domain was opened with */
	struct fid_fabric *fabric;
	struct fid_domain *domain; /* imports the application's domain */
};

/* Does the offload engine support a collective? Elements of @offloads. */
enum { WF_COLL_UNKNOWN, WF_COLL_YES, WF_COLL_NO };

/* The engines of a domain, in domain->coll: opened for the first endpoint or query that
 * needs them, closed with the domain. */
struct wf_coll_engines {
	struct wf_coll_engine at[WF_COLL_ENGINES_MAX]; /* by enum wf_coll_which */
	unsigned int count;                            /* open engines in @at */
	/* By collective, operation and datatype; WF_COLL_UNKNOWN until needed. */
	atomic_uchar offloads[WF_COLL_KINDS][WF_COLL_TYPES][WF_COLL_TYPES];
};

/* Does the offload engine support this collective? The first call for each asks the
 * engine by fi_query_collective(3). No lock is held. */
bool wf_coll_offloads(struct wf_coll_engines *engines, enum fi_collective_op coll,
	enum fi_op op, enum fi_datatype datatype);

/* The engines of @domain, opened if they are not yet. 0, or -FI_ENOSYS or another
 * negative errno with a log line. May block. */
int wf_coll_engines(struct wf_domain *domain, struct wf_coll_engines **ret_engines);

/* Objects that are opened at an engine for one endpoint. Members are NULL until they
 * are opened, and constant from fi_enable on. */
struct wf_coll_port {
	struct wf_coll *coll;
	const struct wf_coll_engine *engine;
	struct fid_ep *ep;          /* the engine's endpoint on top of coll->ep */
	struct fid_av *av;          /* import of the AV */
	struct fid_cq *cq;          /* import of the transmit CQ */
	struct fid_cntr *cntr;      /* NULL: the endpoint has no counter of FI_SEND */
	struct fid_eq *eq;          /* NULL: it had no EQ when it was enabled */
	struct fid_peer_av peer_av; /* exports, which the engine calls */
	struct fid_peer_cq peer_cq;
	struct fid_peer_cntr peer_cntr;
	/* The engine is of this library: the items of @cq are run without
	 * fi_cq_read. */
	bool builtin;
	bool enabled; /* @ep was enabled */
};

/* A timer that wakes sleepers while there is work that no descriptor reports. */
struct wf_coll_timer {
	struct wf_progress progress;
	atomic_int fd; /* timerfd; -1 until a progress list asks for it */
};

/* Collectives of one endpoint. @lock guards @group for writing, @next and @eq; it is
 * held while the EQ's progress list is changed, and no callback takes it. */
struct wf_coll {
	struct wf_ep *ep;
	struct wf_coll_engines *engines;
	struct wf_coll_port port[WF_COLL_ENGINES_MAX];
	unsigned int port_count; /* engines that are open for the endpoint */

	/* May an engine have work? Set after every call into an engine, and after the
	 * result of a transfer; cleared when all engines are idle. */
	atomic_bool busy;
	/* Was the item armed for a sleep, or parked, because the engines were idle? The
	 * next call into an engine clears it and makes the timer expire. */
	atomic_bool armed;
	atomic_uint runs;                /* runs of the engines; wraps */
	atomic_uint refused;             /* sleeps refused since all were idle */
	atomic_int joining;              /* groups whose join has not ended */
	atomic_bool is_used;             /* a join was begun */
	struct wf_coll_timer timer;      /* run by CQs, counters and the domain */
	struct wf_coll_timer join_timer; /* run by the readers of @eq */

	/* All bootstrap exchanges (bootstrap.c), guarded by @boots.lock, and their
	 * number. */
	struct wf_list boot_list;
	atomic_int boot_count;
	struct wf_later boots; /* exchanges that step() can advance */

	pthread_mutex_t lock;
	struct wf_eq *eq; /* its readers run @join_timer; NULL: no join yet */
	uint32_t next;    /* index at which the search for a free slot begins */
	/* Groups by the lowest bits of their addresses; NULL: a free slot. Calls read
	 * it without a lock. */
	_Atomic(struct wf_coll_group *) group[WF_COLL_GROUPS_MAX];
};

enum wf_coll_state { WF_COLL_JOINING, WF_COLL_JOINED, WF_COLL_FAILED };

/* The objects of a group at one engine; NULL: not joined there. */
struct wf_coll_engine_group {
	struct fid_peer_av_set peer_set; /* export of the AV set */
	struct fid_av_set *set;          /* import of the AV set */
	struct fid_mc *mc;               /* the engine's group */
};

/* A group that the application joined. Members without a comment on locks are constant
 * once the group is joined. */
struct wf_coll_group {
	struct fid_mc fid; /* fid.fi_addr: see wf_coll_find */
	struct wf_coll *coll;
	struct wf_av_set *set;
	fi_addr_t *member; /* @member_count addresses of the AV, sorted */
	size_t member_count;
	atomic_int state; /* enum wf_coll_state; no lock */
	/* While an offload engine joins; else NULL. Set under coll->boots.lock. */
	struct wf_coll_boot *boot;
	/* at[WF_COLL_BASE].mc is set: the join at the first engine may end in another
	 * thread before the call that began it returns. Guarded by coll->boots.lock. */
	bool has_base;
	bool is_closing; /* fi_close was called; guarded by coll->boots.run_lock */
	bool offloads;   /* every member joined the offload engine's group, too */
	struct wf_coll_engine_group at[WF_COLL_ENGINES_MAX]; /* enum wf_coll_which */
};

/* The group with the address @addr, which may be any number; NULL: none. Valid while
 * the application does not close the group. */
struct wf_coll_group *wf_coll_find(const struct wf_coll *coll, fi_addr_t addr);

/* group.c: join @group at engine @i (enum wf_coll_which). @boot: for an engine without
 * peer transfers, else NULL. 0, or a negative errno: @joined is not called. No lock but
 * boots.run_lock is held. */
int wf_coll_join_engine(struct wf_coll_group *group, unsigned int i,
	struct fi_ops_coll_bootstrap *boot, void (*joined)(void *context, int err));

/* group.c: the join has ended with @err, a negative errno or 0: tell the application.
 * @group may not be used afterwards, because the application may close it. */
void wf_coll_joined(struct wf_coll_group *group, int err);

/* bootstrap.c: initialise the members of @coll for bootstrap exchanges, and free
 * them. */
void wf_coll_boots_init(struct wf_coll *coll);
void wf_coll_boots_done(struct wf_coll *coll);
/* Join the offload engine's group, by exchanges over the joined group of the first
 * engine. At the end wf_coll_joined is called. No lock is held. */
void wf_coll_boot_start(struct wf_coll_group *group);
/* The call that began the join of @group at the first engine has returned. */
void wf_coll_boot_base(struct wf_coll_group *group);
/* @group is about to be closed: no further round begins, and no join of the offload
 * engine. Its objects at the engines are open. */
void wf_coll_boot_halt(struct wf_coll_group *group);
/* Free the exchange of @group, whose objects at the engines are closed. */
void wf_coll_boot_stop(struct wf_coll_group *group);

/* intercept.c: make the first engine's CQ and counter recognise results of a bootstrap
 * exchange. Called before the engine imports them. */
void wf_coll_intercept_cq(struct wf_coll_port *port);
void wf_coll_intercept_cntr(struct wf_coll_port *port);
/* The calling thread has left the engine: count the success that it holds back. */
void wf_coll_intercept_end(void);
/* Called after every call into an engine. */
static inline void wf_coll_left_engine(const struct wf_coll *coll)
{
	if (wf_unlikely(coll->port_count > WF_COLL_OFFLOAD))
		wf_coll_intercept_end();
}

/* bootstrap.c: an operation with @context ended with @err, a negative FI_E code or 0.
 * False: it was not an exchange, but an operation of the application. */
bool wf_coll_boot_ended(struct wf_coll *coll, void *context, int err);

/* struct wf_ep_coll_ops.join */
int wf_coll_join(struct wf_ep *ep, const struct fi_collective_addr *addr,
	uint64_t flags, struct fid_mc **ret_mc, void *context);

/* progress.c: initialise both timers, and free them; the endpoint is in no list. */
void wf_coll_progress_init(struct wf_coll *coll);
void wf_coll_progress_done(struct wf_coll *coll);

/* wf_coll_wake for a @coll whose busy was false. */
void wf_coll_wake_slow(struct wf_coll *coll);

/* An engine may have work now: let threads run the engines, and wake sleepers. */
static inline void wf_coll_wake(struct wf_coll *coll)
{
	if (!atomic_load_explicit(&coll->busy, memory_order_relaxed))
		wf_coll_wake_slow(coll);
}

/* calls.c */
extern struct fi_ops_collective wf_coll_calls;

#define wf_coll_log(ep, level, ...)                                                    \
	FI_LOG((ep)->domain->prov->fi, level, FI_LOG_EP_CTRL, __VA_ARGS__)

#endif
