/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_DEVICE_TEMPLATE_H
#define WF_VERBS_DEVICE_TEMPLATE_H

#include "providers/verbs/device/device.h"

/* The template of endpoints of one type over one device: the attributes, and an info
 * for each address format. */
struct verbs_template {
	struct fi_tx_attr tx;
	struct fi_rx_attr rx;
	struct fi_ep_attr ep;
	struct fi_domain_attr domain;
	struct fi_fabric_attr fabric;
	struct fi_info info;
	const struct fi_info *list[2]; /* @info, and NULL */
};

/* Fill @ret for FI_EP_MSG over @device, with addresses of format @format. */
void verbs_template_msg(
	const struct verbs_device *device, uint32_t format, struct verbs_template *ret);

/* The same for FI_EP_DGRAM. */
void verbs_template_dgram(
	const struct verbs_device *device, struct verbs_template *ret);

/* wf_prov.templates: the attributes of an imaginary device with every capability. */
extern const struct fi_info *const verbs_any_templates[];

#endif
