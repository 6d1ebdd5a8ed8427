/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <string.h>

#include "objects/info/engine.h"
#include "objects/info/rule.h"

/* Which providers may offer FI_COLLECTIVE. */

/* All mr_mode bits, without FI_MR_BASIC and FI_MR_SCALABLE in the two lowest. */
enum { MR_MODES = INT_MAX & ~3 };

struct fi_info *wf_info_engine_hints(const char *name, uint64_t mode, int mr_mode)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->mode = mode;
	hints->caps = FI_COLLECTIVE;
	hints->domain_attr->mr_mode = mr_mode;
	hints->fabric_attr->prov_name = strdup(name);
	if (hints->fabric_attr->prov_name)
		return hints;
	fi_freeinfo(hints);
	return NULL;
}

/* Does fi_getinfo find the engine? Asked by the oldest version that can describe it,
 * and with all mr_mode bits allowed, so that neither excludes the engine. */
static bool collective_has_engine(void)
{
	struct fi_info *hints =
		wf_info_engine_hints(WF_INFO_ENGINE, FI_PEER_TRANSFER, MR_MODES);
	struct fi_info *found = NULL;
	bool ret = hints &&
		   !fi_getinfo(WF_INFO_ENGINE_VERSION, NULL, NULL, 0, hints, &found);

	fi_freeinfo(found);
	fi_freeinfo(hints);
	return ret;
}

bool wf_info_collective_met(const struct wf_info_ctx *ctx)
{
	return ctx->opening || ctx->prov->query_collective || collective_has_engine();
}
