/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PINGPONG_LINK_H
#define TOOLS_PINGPONG_LINK_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include "options.h"
#include "sizes.h"

/*
 * Everything between this process and its peer: the control connection, the endpoint
 * and what it needs, and one buffer for each direction. pp_link_close takes it in any
 * state.
 *
 * At most one receive and one send are under way, which is all that a ping-pong needs.
 */
struct pp_link {
	const struct pp_options *options;
	int control; /* -1: not open */

	struct fi_info *info;
	enum fi_ep_type ep_type;     /* of info; never FI_EP_UNSPEC once there is one */
	struct fi_info *listen_info; /* MSG server: what the listener was opened by */
	struct fid_fabric *fabric;
	struct fid_eq *eq;   /* MSG only */
	struct fid_pep *pep; /* MSG server only */
	struct fid_domain *domain;
	struct fid_av *av; /* all but MSG */
	struct fid_cq *tx_cq;
	struct fid_cq *rx_cq;
	struct fid_ep *ep;
	fi_addr_t peer;

	struct pp_sizes sizes;
	size_t prefix; /* bytes before the data that belong to the provider */
	char *tx_buf;
	char *rx_buf;
	size_t buf_len;
	struct fid_mr *tx_mr;
	struct fid_mr *rx_mr;
	void *tx_desc;
	void *rx_desc;

	struct fi_context2 tx_context;
	struct fi_context2 rx_context;
	bool tx_busy; /* the send buffer and context belong to the provider */
	bool rx_done; /* a message of rx_len bytes, without prefix, was received */
	size_t rx_len;
};

static inline bool pp_link_server(const struct pp_link *link)
{
	return pp_is_server(link->options);
}

/* Can messages get lost without an error? */
static inline bool pp_link_lossy(const struct pp_link *link)
{
	return link->ep_type == FI_EP_DGRAM;
}

/* Choose the endpoint type: that of -e, or one that the provider has. */
int pp_link_choose_type(struct pp_link *link);

/* Hints for the options. NULL: no memory. */
struct fi_info *pp_hints_new(const struct pp_options *options);
int pp_link_getinfo(struct pp_link *link, struct fi_info *hints);

/* Opens the fabric of link->info, and its event queue where connections need one. */
int pp_link_open_fabric(struct pp_link *link);

/* Opens all of an endpoint of link->info, enabled, with a receive posted. */
int pp_link_open_endpoint(struct pp_link *link);

void pp_link_close(struct pp_link *link);

#endif
