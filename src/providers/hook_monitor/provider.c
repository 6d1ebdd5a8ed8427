/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/hook_monitor/file.h"
#include "providers/hook_monitor/monitor.h"
#include "providers/hook_monitor/param.h"

#include "objects/open/frame.h"

struct fi_provider mon_fi = {
	.version = WF_PROV_VERSION,
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = "ofi_hook_monitor",
	.fabric = mon_fabric_open,
	.cleanup = mon_files_end,
};

WF_PROV_INI(hook_monitor)
{
	mon_params_read();
	return &mon_fi;
}
