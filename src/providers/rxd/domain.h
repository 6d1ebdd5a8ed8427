/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXD_DOMAIN_H
#define RXD_DOMAIN_H

#include "objects/domain/domain.h"
#include "objects/lower/domain.h"
#include "objects/lower/getinfo.h"

/* The domain below, opened and closed with that of the application. */
struct rxd_domain {
	struct wf_lower_domain below;
	size_t prefix;     /* bytes in front of each packet below (FI_MSG_PREFIX) */
	size_t wire_mtu;   /* bytes of the largest packet of the wire in use */
	size_t max_packet; /* bytes of the largest packet that the provider below has */
	bool local_mr;     /* buffers below have to be registered */
	/* Packets are sent out of any memory, which is free when the call returns, in
	 * as many pieces as the provider below takes. */
	bool gathers;
	size_t rx_buffers; /* that wait for packets below, of each endpoint */
	bool slices;       /* packets may be received into multi-receive buffers */
};

/* How the provider below is asked for. */
extern const struct wf_lower_kind rxd_kind;

/* Hooks of struct wf_prov. */
int rxd_domain_init(struct wf_domain *wf, const struct fi_info *info);
void rxd_domain_done(struct wf_domain *wf);

static inline struct rxd_domain *rxd_domain_of(const struct wf_domain *wf)
{
	return wf->prov_data;
}

#endif
