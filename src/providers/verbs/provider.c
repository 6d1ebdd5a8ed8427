/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/device.h"
#include "objects/open/frame.h"
#include "providers/verbs/cm/cm.h"
#include "providers/verbs/data/data.h"
#include "providers/verbs/device/device.h"
#include "providers/verbs/device/template.h"
#include "providers/verbs/mr/mr.h"
#include "providers/verbs/param.h"
#include "providers/verbs/srx.h"
#include "providers/verbs/ud/ud.h"

/* Description of the provider for src/objects. Its templates depend on the devices:
 * device/template.c. */

int verbs_failed(enum fi_log_subsys subsys, const char *call, int err)
{
	verbs_log(FI_LOG_WARN, subsys, "%s failed: %s\n", call, fi_strerror(err));
	return err > 0 ? -err : -FI_EIO;
}

const struct wf_prov verbs_prov = {
	.fi = &verbs_fi,
	.templates = verbs_any_templates,
	.devices = verbs_devices,
	.default_fabric = "verbs",
	.default_domain = "verbs",
	.cleanup = verbs_devices_done,
	.domain_init = verbs_domain_init,
	.domain_done = verbs_domain_done,
	.cq_opened = verbs_cq_opened,
	.cq_closing = verbs_cq_closing,
	.max_atomic_size = sizeof(uint64_t),
	.av_format = verbs_av_format,
	.av_opened = verbs_av_opened,
	.av_closing = verbs_av_closing,
	.av_inserted = verbs_av_inserted,
	.av_removed = verbs_av_removed,
	.endpoint = verbs_endpoint,
	.passive_ep = verbs_passive_ep,
	.mr_register = verbs_mr_register,
	.query_atomic = verbs_query_atomic,
	.shared_rx = &verbs_shared_rx,
};

WF_PROV_FRAME(verbs, wf_device_getinfo, verbs_params_init)
