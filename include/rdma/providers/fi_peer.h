/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects shared between providers, fi_peer(3).
 *
 * The owner has the real object and hands a fid_peer_* to another provider, the peer,
 * through the peer's ordinary open call with FI_PEER and a context from here. Contexts
 * live only during that call; the fid_peer_* until the peer's object is closed. Both
 * sides come from the same library version and check size.
 */
#ifndef FI_PEER_H
#define FI_PEER_H

#include <stdbool.h>
#include <rdma/fabric.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_endpoint.h>
#include <rdma/providers/fi_prov.h>
#include <rdma/providers/fi_log.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fi_peer_av_set;
struct fid_peer_av;
struct fid_peer_av_set;
struct fid_peer_cntr;
struct fid_peer_cq;
struct fid_peer_srx;

/* Address vectors. */

/* Called by the peer. ep_addr gives FI_ADDR_NOTAVAIL for addresses not inserted. */
struct fi_ops_av_owner {
	size_t size;
	int (*query)(struct fid_peer_av *av, struct fi_av_attr *attr);
	fi_addr_t (*ep_addr)(struct fid_peer_av *av, struct fid_ep *ep);
};

struct fid_peer_av {
	struct fid fid;
	struct fi_ops_av_owner *owner_ops;
};

struct fi_peer_av_context {
	size_t size;
	struct fid_peer_av *av;
};

/* AV sets. */

/* Called by the peer. -FI_ETOOSMALL: *@count was too small and was corrected. */
struct fi_ops_av_set_owner {
	size_t size;
	int (*members)(struct fid_peer_av_set *av_set, fi_addr_t *addr, size_t *count);
};

struct fid_peer_av_set {
	struct fid fid;
	struct fi_ops_av_set_owner *owner_ops;
};

/* av_set really is a struct fid_peer_av_set; the type is part of the interface. */
struct fi_peer_av_set_context {
	size_t size;
	struct fi_peer_av_set *av_set;
};

/* Completion queues. */

/* Called by the peer; the owner locks, signals, and copies what it needs. */
struct fi_ops_cq_owner {
	size_t size;
	ssize_t (*write)(struct fid_peer_cq *cq, void *context, uint64_t flags,
		size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src);
	ssize_t (*writeerr)(
		struct fid_peer_cq *cq, const struct fi_cq_err_entry *err_entry);
};

struct fid_peer_cq {
	struct fid fid;
	struct fi_ops_cq_owner *owner_ops;
};

struct fi_peer_cq_context {
	size_t size;
	struct fid_peer_cq *cq;
};

/* Counters. */

/* Called by the peer: one more success, one more error. */
struct fi_ops_cntr_owner {
	size_t size;
	void (*inc)(struct fid_peer_cntr *cntr);
	void (*incerr)(struct fid_peer_cntr *cntr);
};

struct fid_peer_cntr {
	struct fid fid;
	struct fi_ops_cntr_owner *owner_ops;
};

struct fi_peer_cntr_context {
	size_t size;
	struct fid_peer_cntr *cntr;
};

/* Domains and event queues are handed over as they are. */
struct fi_peer_domain_context {
	size_t size;
	struct fid_domain *domain;
};

struct fi_peer_eq_context {
	size_t size;
	struct fid_eq *eq;
};

/* Shared receive contexts: the owner matches, the peer moves data. */

/* A receive, or a message that waits for one. Always allocated by the owner. */
struct fi_peer_rx_entry {
	struct fid_peer_srx *srx;
	fi_addr_t addr;
	size_t msg_size; /* bytes of the incoming message */
	uint64_t tag;
	uint64_t cq_data;
	uint64_t flags;
	void *context;
	size_t count;
	void **desc;
	void *peer_context;  /* written by the peer only */
	void *owner_context; /* written by the owner only */
	struct iovec *iov;
};

/* An incoming message; tag is 0 for untagged ones. */
struct fi_peer_match_attr {
	fi_addr_t addr;
	size_t msg_size;
	uint64_t tag;
};

/*
 * Called by the peer. get_msg and get_tag return 0 with a matching receive, or
 * -FI_ENOENT with an entry that the peer fills and queues. free_entry ends the life of
 * an entry. After peers became known, foreach_unspec_addr asks for the addresses of
 * queued entries.
 */
struct fi_ops_srx_owner {
	size_t size;
	int (*get_msg)(struct fid_peer_srx *srx, struct fi_peer_match_attr *attr,
		struct fi_peer_rx_entry **ret_entry);
	int (*get_tag)(struct fid_peer_srx *srx, struct fi_peer_match_attr *attr,
		struct fi_peer_rx_entry **ret_entry);
	int (*queue_msg)(struct fi_peer_rx_entry *entry);
	int (*queue_tag)(struct fi_peer_rx_entry *entry);
	void (*foreach_unspec_addr)(struct fid_peer_srx *srx,
		fi_addr_t (*get_addr)(struct fi_peer_rx_entry *entry));
	void (*free_entry)(struct fi_peer_rx_entry *entry);
};

/*
 * Called by the owner, for entries that were queued: a receive came, or none will.
 */
struct fi_ops_srx_peer {
	size_t size;
	int (*start_msg)(struct fi_peer_rx_entry *entry);
	int (*start_tag)(struct fi_peer_rx_entry *entry);
	int (*discard_msg)(struct fi_peer_rx_entry *entry);
	int (*discard_tag)(struct fi_peer_rx_entry *entry);
};

struct fid_peer_srx {
	struct fid_ep ep_fid;
	struct fi_ops_srx_owner *owner_ops;
	struct fi_ops_srx_peer *peer_ops;
};

struct fi_peer_srx_context {
	size_t size;
	struct fid_peer_srx *srx;
};

/* Transfers of a peer through an endpoint of the owner: FI_PEER_TRANSFER. */

/* Called by the owner instead of writing to its completion queue. */
struct fi_ops_transfer_peer {
	size_t size;
	ssize_t (*complete)(struct fid_ep *ep, struct fi_cq_tagged_entry *entry,
		fi_addr_t src_addr);
	ssize_t (*comperr)(struct fid_ep *ep, struct fi_cq_err_entry *entry);
};

struct fi_peer_transfer_context {
	size_t size;
	struct fi_info *info;
	struct fid_ep *ep;
	struct fi_ops_transfer_peer *peer_ops; /* set by the peer */
};

#ifdef __cplusplus
}
#endif

#endif /* FI_PEER_H */
