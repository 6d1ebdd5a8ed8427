/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_DOMAIN_H
#define WF_RXD_DOMAIN_H

#include "objects/domain/domain.h"
#include "objects/lower/domain.h"
#include "objects/lower/getinfo.h"

/* The domain below, which is opened and closed with the domain. */
struct rxd_domain {
	struct wf_lower_domain below;
	size_t prefix;   /* bytes in front of each packet below (FI_MSG_PREFIX) */
	size_t wire_mtu; /* bytes of the largest packet of the wire protocol in use */
	/* Bytes of the largest packet that the provider below can send. */
	size_t max_packet;
	bool local_mr; /* Buffers below have to be registered. */
	/* Packets can be sent from any memory, which is free when the call returns, and
	 * from as many buffers as the provider below takes. */
	bool gathers;
	size_t rx_buffers; /* receives that each endpoint posts below */
	bool slices;       /* Packets may be received into multi-receive buffers. */
};

/* How the provider below is found. */
extern const struct wf_lower_kind rxd_kind;

/* Hooks of struct wf_prov; their contracts apply. */
int rxd_domain_init(struct wf_domain *wf, const struct fi_info *info);
void rxd_domain_done(struct wf_domain *wf);

static inline struct rxd_domain *rxd_domain_of(const struct wf_domain *wf)
{
	return wf->prov_data;
}

#endif
