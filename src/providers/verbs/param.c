/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/param.h"

#include <stdlib.h>
#include <string.h>

#include "objects/param.h"
#include "providers/verbs/verbs.h"

struct verbs_params verbs_params = {
	.tx_size = 384,
	.rx_size = 384,
	.tx_iov_limit = 4,
	.rx_iov_limit = 4,
	.inline_size = 256,
	.min_rnr_timer = 12,
	.cq_bunch = 8,
	.name_server_port = 5678,
};

#define SIZE(name_, field, min_, max_, help_)                                          \
	WF_PARAM_SIZE(name_, &verbs_params.field, min_, max_, help_)
#define BOOL(name_, field, help_) WF_PARAM_BOOL(name_, &verbs_params.field, help_)

static const struct wf_param rows[] = {
	SIZE("tx_size", tx_size, 1, 1 << 20,
		"Operations that may be pending (default: 384)"),
	SIZE("rx_size", rx_size, 1, 1 << 20,
		"Receives that may be posted (default: 384)"),
	SIZE("tx_iov_limit", tx_iov_limit, 1, VERBS_SGE_MAX,
		"Buffers of one send, read or write (default: 4)"),
	SIZE("rx_iov_limit", rx_iov_limit, 1, VERBS_SGE_MAX,
		"Buffers of one receive (default: 4)"),
	SIZE("inline_size", inline_size, 0, 1 << 16,
		"Longest message that is handed to the device in the work request, and "
		"that can be injected, in bytes (default: 256; 0: what the device can "
		"do)"),
	SIZE("min_rnr_timer", min_rnr_timer, 0, 31,
		"How long a sender waits before it tries again after no receive was "
		"posted, as ibv_modify_qp(3) encodes it (default: 12, 0.64 ms)"),
	SIZE("cqread_bunch_size", cq_bunch, 1, VERBS_POLL_MAX,
		"Completions that are taken from the device at a time (default: 8)"),
	SIZE("gid_idx", gid_index, 0, 255,
		"Index of the address (GID) that is used of a port (default: 0)"),
	SIZE("name_server_port", name_server_port, 1, 65535,
		"The same as FI_VERBS_DGRAM_NAME_SERVER_PORT, which is read last"),
	SIZE("dgram_name_server_port", name_server_port, 1, 65535,
		"Port at which datagram endpoints ask for names (default: 5678)"),
	BOOL("use_odp", use_odp,
		"Register memory with on-demand paging where the device can do that "
		"(default: no)"),
	BOOL("dgram_use_name_server", use_name_server,
		"Answer for the names of datagram endpoints of this host (default: "
		"yes; no in the processes of an MPI job)"),
};

static const struct wf_param_fixed fixed_rows[] = {
	{ "prefer_xrc", FI_PARAM_BOOL, "0",
		"Only 0 is possible: there are no extended reliable connections" },
	{ "xrcd_filename", FI_PARAM_STRING, NULL,
		"No effect: there are no extended reliable connections" },
	{ "use_dmabuf", FI_PARAM_BOOL, "0",
		"Only 0 is possible: regions are in the memory of the system" },
	{ "nic_affinity_policy", FI_PARAM_STRING, "none",
		"Only none is possible: devices are offered in the order of the "
		"system" },
	{ "affinity_device", FI_PARAM_STRING, NULL,
		"No effect: devices are offered in the order of the system" },
	{ "nic_affinity_config", FI_PARAM_STRING, NULL,
		"No effect: devices are offered in the order of the system" },
};

/* The launcher of an MPI job exchanges the addresses of its processes. */
static bool param_is_launched(void)
{
	return getenv("OMPI_COMM_WORLD_RANK") || getenv("PMI_RANK");
}

/* Variables without the provider's prefix, which other implementations have for
 * measuring themselves. */
static void param_refuse_measuring(void)
{
	static const char *const names[] = { "FI_DISENABLE_PROF", "FI_PROF_DATA_SIZE" };

	for (size_t i = 0; i < WF_ARRAY_SIZE(names); i++)
		if (getenv(names[i]))
			verbs_log(FI_LOG_WARN, FI_LOG_CORE,
				"%s ignored: the provider does not measure itself\n",
				names[i]);
}

static void param_read_text(const char *name, const char *help, const char **ret)
{
	char *value = NULL;

	(void)fi_param_define(&verbs_fi, name, FI_PARAM_STRING, "%s", help);
	if (!fi_param_get_str(&verbs_fi, name, &value) && value && *value)
		*ret = value;
}

void verbs_params_init(void)
{
	verbs_params.use_name_server = !param_is_launched();
	wf_params_read(&verbs_fi, rows, WF_ARRAY_SIZE(rows));
	wf_params_read_fixed(&verbs_fi, fixed_rows, WF_ARRAY_SIZE(fixed_rows));
	param_refuse_measuring();
	param_read_text("device_name",
		"Offer only devices whose name begins with one of these, separated by "
		"commas (default: all)",
		&verbs_params.device_names);
	param_read_text("iface",
		"Offer only network interfaces whose name begins with one of these, "
		"separated by commas (default: all)",
		&verbs_params.ifaces);
}

bool verbs_listed(const char *list, const char *name)
{
	while (list && *list) {
		size_t len = strcspn(list, ",");

		if (len && !strncmp(list, name, len))
			return true;
		list += len + (list[len] == ',');
		if (!*list)
			return false;
	}
	return true;
}
