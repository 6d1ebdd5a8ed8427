/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "objects/param.h"
#include "providers/lnx/lnx.h"
#include "providers/lnx/param.h"
#include "sys/compiler.h"

struct lnx_params lnx_params;

static void param_define(const char *name, enum fi_param_type type, const char *help)
{
	(void)fi_param_define(&lnx_fi, name, type, "%s", help);
}

static void param_read_policy(void)
{
	static const char *const names[] = { "PER_PEER", "PER_MSG" };
	int policy = 0;

	wf_param_read_name(
		&lnx_fi, "multi_rail_selection", names, WF_ARRAY_SIZE(names), &policy);
	lnx_params.per_msg = policy == 1;
}

static bool param_read_bool(const char *name)
{
	int value = 0;

	(void)fi_param_get_bool(&lnx_fi, name, &value);
	return value;
}

void lnx_params_init(void)
{
	char *links;

	param_define("prov_links", FI_PARAM_STRING,
		"What is linked: provider[:domain,...]+provider[:domain,...], several "
		"links with | between them (default: shm+tcp, once for each domain of "
		"tcp)");
	param_define("multi_rail_selection", FI_PARAM_STRING,
		"Which of several rails to a peer is used: PER_PEER, one for all "
		"messages, or PER_MSG, each in turn, without order between messages "
		"(default: PER_PEER)");
	param_define("stripe_size", FI_PARAM_SIZE_T,
		"Tagged messages of at least this many bytes go over all network rails "
		"of the peer at a time, if both ends have this set; 0: none (default: "
		"0)");
	param_define("disable_shm", FI_PARAM_BOOL,
		"Leave shm out of every link (default: no)");
	param_define("dump_stats", FI_PARAM_BOOL,
		"Write to the standard error what went over each link when an endpoint "
		"is closed (default: no)");
	if (!fi_param_get_str(&lnx_fi, "prov_links", &links))
		lnx_params.links = links;
	param_read_policy();
	(void)fi_param_get_size_t(&lnx_fi, "stripe_size", &lnx_params.stripe_size);
	lnx_params.no_shm = param_read_bool("disable_shm");
	lnx_params.stats = param_read_bool("dump_stats");
}
