/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_SOURCES_H
#define WF_LNX_SOURCES_H

#include "providers/lnx/endpoint.h"

/* Sources of unexpected messages that arrived over members of other libraries;
 * sources.c explains why lnx has to keep them right. */

/* Set rail->srx_ops, which the member imports with the receive context. */
void lnx_sources_export(struct lnx_rail *rail);

/* Called when all rails of @ep are enabled, and before they are closed. Both take
 * domain->control. */
void lnx_sources_enabled(struct lnx_ep *ep);
void lnx_sources_done(struct lnx_ep *ep);

/* fi_av_insert of one address into the AV of the member at @rail, with its return
 * value. domain->control is held. */
int lnx_sources_insert(struct lnx_av *av, unsigned int rail, const void *addr,
	fi_addr_t *id, uint64_t flags);

/* The address at @index was removed: messages from it lose their source.
 * domain->control is held. */
void lnx_sources_forget(struct lnx_av *av, fi_addr_t index);

#endif
