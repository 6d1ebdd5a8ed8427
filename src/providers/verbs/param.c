/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/param.h"

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
	.use_name_server = 1,
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
	SIZE("dgram_name_server_port", name_server_port, 1, 65535,
		"Port at which datagram endpoints ask for names (default: 5678)"),
	BOOL("use_odp", use_odp,
		"Register memory with on-demand paging where the device can do that "
		"(default: no)"),
	BOOL("dgram_use_name_server", use_name_server,
		"Answer for the names of datagram endpoints of this host (default: "
		"yes)"),
};

static void read_text(const char *name, const char *help, const char **ret)
{
	char *value = NULL;

	(void)fi_param_define(&verbs_fi, name, FI_PARAM_STRING, "%s", help);
	if (!fi_param_get_str(&verbs_fi, name, &value) && value && *value)
		*ret = value;
}

void verbs_params_init(void)
{
	wf_params_read(&verbs_fi, rows, WF_ARRAY_SIZE(rows));
	read_text("device_name",
		"Offer only devices whose name begins with one of these, separated by "
		"commas (default: all)",
		&verbs_params.device_names);
	read_text("iface",
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
