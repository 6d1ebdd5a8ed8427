/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PEER_TESTPEER_TESTPEER_H
#define TESTS_PEER_TESTPEER_TESTPEER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>

#include "../layout.h"
#include "../peer.h"

/*
 * A provider as another project would write it: it moves messages between endpoints of
 * one process and can do so only as a peer, for an owner of CQ, counter and receive
 * context. It uses only the public headers. An endpoint's address is a number of 8
 * bytes.
 *
 * @tp_lock guards all endpoints' inboxes and the AVs; no other code is called with it
 * held.
 */

#define container_of(ptr, type, member)                                                \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

enum { AV_ROOM = 64, EP_ROOM = 64 };

struct tp_cq {
	struct fid_cq fid;
	struct fid_peer_cq *owner;
	atomic_int refs;
};

struct tp_cntr {
	struct fid_cntr fid;
	struct fid_peer_cntr *owner;
	atomic_int refs;
};

struct tp_av {
	struct fid_av fid;
	uint64_t ids[AV_ROOM];
	fi_addr_t known_as[AV_ROOM]; /* index in the owner's AV */
	size_t count;
	atomic_int refs;
};

struct tp_srx {
	struct fid_ep fid;
	rx_ctx *owner;
	atomic_int refs;
};

struct tp_ep;

struct msg {
	struct msg *next;
	struct tp_ep *to;
	uint64_t from, tag, data, flags;
	size_t len;
	char buf[];
};

/* A transmission that waits for the sender's progress; peer.h. */
struct late {
	fi_addr_t dest;
	uint64_t tag, data, flags;
	void *context;
	size_t len;
	char buf[];
};

struct tp_ep {
	struct fid_ep fid;
	uint64_t id;
	struct tp_cq *tx_cq, *rx_cq;
	bool rx_selective, tx_selective;
	struct tp_cntr *tx_cntr, *rx_cntr;
	struct tp_av *av;
	struct tp_srx *srx;
	struct msg *head, **tail;
	atomic_int fail;
	struct late *late; /* guarded by tp_lock */
};

extern pthread_mutex_t tp_lock;
extern struct tp_ep *tp_net[EP_ROOM];

/* Called around each call of the owner's receive context. With TESTPEER_ONE_AT_A_TIME
 * they hold a lock, so that threads that make progress and threads that insert
 * addresses exclude each other. */
void tp_begin(void);
void tp_end(void);

int tp_enosys_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int tp_enosys_control(struct fid *fid, int command, void *arg);
int tp_enosys_open(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#define FID_OPS(close_fn, bind_fn, control_fn, open_fn)                                \
	{                                                                              \
		.size = sizeof(struct fi_ops), .close = (close_fn), .bind = (bind_fn), \
		.control = (control_fn), .ops_open = (open_fn),                        \
	}

/* flow.c */
ssize_t tp_post(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest,
	uint64_t tag, uint64_t data, uint64_t flags, void *context);
struct msg *tp_take(struct tp_ep *ep);
void tp_progress(const struct tp_cq *cq, const struct tp_cntr *cntr);
unsigned long tp_refused(void);
fi_addr_t tp_get_addr(rx_entry *entry);
extern rx_peer_ops tp_srx_ops;

/* ep.c */
int tp_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	void *context);
extern struct fi_ops_ep tp_ep_ops;
extern struct fi_ops_msg tp_msg_ops;
extern struct fi_ops_tagged tp_tagged_ops;

/* objects.c */
int tp_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
	struct fid_av **ret_av, void *context);
int tp_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *arg);
int tp_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
	struct fid_cntr **ret_cntr, void *arg);
int tp_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr,
	struct fid_ep **ret_srx, void *arg);

#endif
