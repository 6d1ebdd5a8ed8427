/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/params/foreign.h"

#include <string.h>

#include "sys/compiler.h"

static const char *const providers[] = {
	"FI_BGQ_",
	"FI_CXI_",
	"FI_EFA_",
	"FI_GNI_",
	"FI_LNX_",
	"FI_LPP_",
	"FI_MLX_",
	"FI_NET_",
	"FI_OFI_HOOK_",
	"FI_OFI_MRAIL_",
	"FI_OFI_RXD_",
	"FI_OFI_RXM_",
	"FI_OPX_",
	"FI_PSM2_",
	"FI_PSM3_",
	"FI_PSM_",
	"FI_SHM_",
	"FI_SM2_",
	"FI_SOCKETS_",
	"FI_TCP_",
	"FI_UCX_",
	"FI_UDP_",
	"FI_USNIC_",
	"FI_VERBS_",
};

/* Device memory, registration cache and profiling: prefixes or whole names. */
static const char *const core[] = {
	"FI_DISENABLE_PROF",
	"FI_HMEM",
	"FI_MR_",
	"FI_PERF_CNTR",
	"FI_PROF_",
	"FI_ROCR_",
	"FI_XPMEM_",
};

static size_t foreign_prefix_of(const char *var, const char *const *table, size_t count)
{
	size_t i, len;

	for (i = 0; i < count; i++) {
		len = strlen(table[i]);
		if (strncmp(var, table[i], len) == 0)
			return len;
	}
	return 0;
}

size_t wf_foreign_prefix(const char *var)
{
	return foreign_prefix_of(var, providers, WF_ARRAY_SIZE(providers));
}

bool wf_foreign_core(const char *var)
{
	return foreign_prefix_of(var, core, WF_ARRAY_SIZE(core)) > 0;
}
