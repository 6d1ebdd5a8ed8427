/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_OFFER_H
#define WF_RXM_OFFER_H

#include <stdbool.h>
#include <rdma/fabric.h>

/*
 * The templates for one domain of a provider below, in one address format: one with all
 * capabilities, and one without atomics, which therefore guarantees more orders.
 * Constant once it is made; offers are freed when the library is unloaded.
 */
enum { RXM_TEMPLATES = 2 };

struct rxm_offer {
	struct fi_info *below; /* answer of the provider below, without addresses */
	struct fi_info *tmpl[RXM_TEMPLATES];
	bool delivery; /* The provider below has FI_DELIVERY_COMPLETE. */
};

enum { RXM_OFFERS_MAX = 64 };

/* The templates of all offers, for struct wf_prov. */
extern const struct fi_info *rxm_templates[RXM_OFFERS_MAX * RXM_TEMPLATES + 1];

/* The offer for @below, a result of fi_getinfo with FI_EP_MSG; made in the first call.
 * NULL: the provider below lacks something, or there is no memory; the reason is
 * logged. Any thread. */
const struct rxm_offer *rxm_offer_of(const struct fi_info *below);

/* The offer from which @info, an answer of this provider, was made; NULL: none. Any
 * thread. */
const struct rxm_offer *rxm_offer_find(const struct fi_info *info);

/* Capabilities with which endpoints below are opened. */
#define RXM_BELOW_CAPS (FI_MSG | FI_RMA)

void rxm_offers_done(void);

#endif
