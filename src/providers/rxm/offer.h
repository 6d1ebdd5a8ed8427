/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_OFFER_H
#define RXM_OFFER_H

#include <stdbool.h>
#include <rdma/fabric.h>

/*
 * What is offered over a domain of a provider below, in one address format: two
 * templates, one with all capabilities, and one without atomics and therefore with more
 * orders. Constant once it is made; offers are freed when the library is unloaded.
 */
enum { RXM_TEMPLATES = 2 };

struct rxm_offer {
	struct fi_info *below; /* the answer of the provider below, without addresses */
	struct fi_info *tmpl[RXM_TEMPLATES];
	bool delivery; /* the provider below has FI_DELIVERY_COMPLETE */
};

enum { RXM_OFFERS_MAX = 64 };

/* The templates of all offers, for struct wf_prov. */
extern const struct fi_info *rxm_templates[RXM_OFFERS_MAX * RXM_TEMPLATES + 1];

/* The offer over @below, a result of fi_getinfo with FI_EP_MSG; made if there is none
 * yet. NULL: it cannot carry what is offered, or there is no memory; logged. Any
 * thread.
 */
const struct rxm_offer *rxm_offer_of(const struct fi_info *below);

/* The offer that @info, an answer made from it, belongs to; NULL: none. Any thread. */
const struct rxm_offer *rxm_offer_find(const struct fi_info *info);

/* Capabilities that endpoints below are asked for. */
#define RXM_BELOW_CAPS (FI_MSG | FI_RMA)

void rxm_offers_done(void);

#endif
