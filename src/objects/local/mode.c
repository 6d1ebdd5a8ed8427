/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/local/mode.h"

#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

#include "objects/local/domain.h"
#include "objects/local/proof.h"
#include "objects/param.h"
#include "sys/compiler.h"

enum wf_local_mode wf_local_mode;

static const char *const names[] = {
	[WF_LOCAL_OFF] = "tcp",
	[WF_LOCAL_AUTO] = "auto",
	[WF_LOCAL_ONLY] = "shm",
};

void wf_local_read_mode(struct fi_provider *tcp)
{
	int mode = WF_LOCAL_AUTO;

	(void)fi_param_define(tcp, "local", FI_PARAM_STRING,
		"How peers on this machine are reached: tcp (by sockets), auto (by "
		"shared memory, where both ends have this set and can share it), or "
		"shm (the same, and peers that cannot are refused) (default: auto)");
	wf_param_read_name(tcp, "local", names, WF_ARRAY_SIZE(names), &mode);
	wf_local_mode = (enum wf_local_mode)mode;
}

void wf_local_log_mode(const struct fi_provider *prov)
{
	const char *name = names[wf_local_mode], *why = "shm";
	const char *otherwise = wf_local_mode == WF_LOCAL_ONLY ? "refused" : "sockets";
	int ret;

	if (wf_local_mode == WF_LOCAL_OFF) {
		FI_LOG(prov, FI_LOG_INFO, FI_LOG_CORE,
			"transport: peers on this machine: sockets (FI_TCP_LOCAL=%s)\n",
			name);
		return;
	}
	ret = wf_local_query();
	if (!ret)
		ret = wf_proof_possible(&why);
	if (ret)
		FI_LOG(prov, FI_LOG_INFO, FI_LOG_CORE,
			"transport: peers on this machine: %s: %s is not available: %s "
			"(FI_TCP_LOCAL=%s)\n",
			otherwise, why, fi_strerror(-ret), name);
	else
		FI_LOG(prov, FI_LOG_INFO, FI_LOG_CORE,
			"transport: peers on this machine: shared memory, or %s where "
			"they cannot share it (FI_TCP_LOCAL=%s)\n",
			otherwise, name);
}
