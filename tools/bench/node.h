/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_NODE_H
#define TOOLS_BENCH_NODE_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include "config.h"
#include "control.h"

struct fb_worker;

/* One process of a run: the objects that its threads share. */
struct fb_node {
	struct fb_config
		*config; /* after opening, without tests that are not possible */
	struct fb_control *control;
	const char
		*source; /* local address of endpoints with IP addresses; NULL: any */
	const uint32_t *cores;
	uint32_t core_count; /* 0: threads are not pinned */

	enum fb_call call;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;   /* connections, and joins of groups */
	struct fid_pep *pep; /* server with connected endpoints */
	struct fb_worker *worker;
	fi_addr_t *member; /* addresses of all members by rank, if a test needs a group;
			      else NULL */
	uint64_t size_max, inject_max; /* limits of all members, in bytes */
	uint64_t connect_ns; /* member 0: time of the last connection's fi_connect */
	bool yields; /* threads give way: there are more of them than processors */
};

/* One thread with an endpoint of its own, bound to a queue for both directions. */
struct fb_end {
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	fi_addr_t peer;
};

/* An address, as members exchange it. */
struct fb_address {
	uint64_t len;
	char addr[256];
};

/* Opens everything up to the enabled and connected endpoints, on all members at
 * once. */
void fb_node_open(struct fb_node *node);
void fb_node_close(struct fb_node *node);

/* Opens another endpoint of this process, bound to @cq and @av, and enables it. */
struct fid_ep *fb_node_endpoint(struct fb_node *node, struct fi_info *info,
	struct fid_cq *cq, struct fid_av *av);
struct fid_cq *fb_node_queue(struct fb_node *node);
/* Opens another endpoint of each side, and connects both. */
struct fid_ep *fb_node_connect(struct fb_node *node, struct fid_cq *cq);

struct fb_address fb_address_of(struct fid *fid);
fi_addr_t fb_address_insert(struct fid_av *av, const struct fb_address *address);

/* The members swap the addresses of their endpoints of type RDM or DGRAM. */
void fb_node_swap_addresses(
	struct fb_node *node, struct fid_ep *ep, struct fb_address *ret_all);

#endif
