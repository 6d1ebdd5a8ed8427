/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PEER_LAYOUT_H
#define TESTS_PEER_LAYOUT_H

/*
 * The layout of receive contexts for the test peer: the current one or, with LAYOUT,
 * the layout with which providers of that version were built.
 */

#include <rdma/providers/fi_peer.h>

#ifndef LAYOUT
#define LAYOUT 206
#endif

#if LAYOUT >= 206

#define PEER_NAME    "testpeer"
#define PEER_VERSION FI_VERSION(2, 6)
typedef struct fi_peer_rx_entry rx_entry;
typedef struct fid_peer_srx rx_ctx;
typedef struct fi_ops_srx_peer rx_peer_ops;
#define HAS_UNSPEC  1
#define HAS_CQ_DATA 1
#define PLAIN_GET   0

#else

typedef struct old_entry rx_entry;
typedef struct old_srx rx_ctx;

#if LAYOUT == 117
#define PEER_NAME    "testpeer117"
#define PEER_VERSION FI_VERSION(1, 17)
#define HAS_UNSPEC   0
#define HAS_CQ_DATA  0
#define PLAIN_GET    1
#elif LAYOUT == 119
#define PEER_NAME    "testpeer119"
#define PEER_VERSION FI_VERSION(1, 19)
#define HAS_UNSPEC   1
#define HAS_CQ_DATA  1
#define PLAIN_GET    1
#elif LAYOUT == 122
#define PEER_NAME    "testpeer122"
#define PEER_VERSION FI_VERSION(1, 22)
#define HAS_UNSPEC   1
#define HAS_CQ_DATA  1
#define PLAIN_GET    1
#else
#define PEER_NAME    "testpeer200"
#define PEER_VERSION FI_VERSION(2, 0)
#define HAS_UNSPEC   1
#define HAS_CQ_DATA  1
#define PLAIN_GET    0
#endif

struct old_entry {
	struct old_entry *next, *prev;
	struct old_srx *srx;
	fi_addr_t addr;
	size_t msg_size;
	uint64_t tag;
#if HAS_CQ_DATA
	uint64_t cq_data;
#endif
	uint64_t flags;
	void *context;
	size_t count;
	void **desc;
	void *peer_context;
	void *owner_context;
	struct iovec *iov;
};

struct old_owner_ops {
	size_t size;
#if PLAIN_GET
	int (*get_msg)(struct old_srx *, fi_addr_t, size_t, struct old_entry **);
	int (*get_tag)(struct old_srx *, fi_addr_t, uint64_t, struct old_entry **);
#else
	int (*get_msg)(
		struct old_srx *, struct fi_peer_match_attr *, struct old_entry **);
	int (*get_tag)(
		struct old_srx *, struct fi_peer_match_attr *, struct old_entry **);
#endif
	int (*queue_msg)(struct old_entry *);
	int (*queue_tag)(struct old_entry *);
#if HAS_UNSPEC
	void (*foreach_unspec_addr)(
		struct old_srx *, fi_addr_t (*)(struct old_entry *));
#endif
	void (*free_entry)(struct old_entry *);
};

typedef struct {
	size_t size;
	int (*start_msg)(struct old_entry *);
	int (*start_tag)(struct old_entry *);
	int (*discard_msg)(struct old_entry *);
	int (*discard_tag)(struct old_entry *);
} rx_peer_ops;

struct old_srx {
	struct fid_ep ep_fid;
	struct old_owner_ops *owner_ops;
	rx_peer_ops *peer_ops;
};

#endif

static inline int ask(rx_ctx *srx, bool tagged, fi_addr_t addr, size_t size,
	uint64_t tag, rx_entry **entry)
{
#if PLAIN_GET
	return tagged ? srx->owner_ops->get_tag(srx, addr, tag, entry)
		      : srx->owner_ops->get_msg(srx, addr, size, entry);
#else
	struct fi_peer_match_attr attr = { addr, size, tagged ? tag : 0 };

	return tagged ? srx->owner_ops->get_tag(srx, &attr, entry)
		      : srx->owner_ops->get_msg(srx, &attr, entry);
#endif
}

#endif
