/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/netconf.h"

#include <limits.h>
#include <stddef.h>
#include <rdma/providers/fi_prov.h>

#include "objects/notice.h"
#include "providers/tcp/log.h"
#include "sys/compiler.h"

/* Each parameter is registered, read and range-checked from its row. */
struct row {
	const char *name, *help;
	size_t offset;
	enum fi_param_type type;
	int fallback, min, max;
};

#define ROW(name_, type_, field_, fallback_, min_, max_, help_)                        \
	{                                                                              \
		.name = name_, .help = help_,                                          \
		.offset = offsetof(struct tcp_netconf, field_), .type = type_,         \
		.fallback = fallback_, .min = min_, .max = max_,                       \
	}

static const struct row rows[] = {
	ROW("port_low_range", FI_PARAM_INT, port_low, 0, 0, 65535,
		"First of the ports that are used to listen and to connect; needs the "
		"last one as well (default: 0, the system chooses)"),
	ROW("port_high_range", FI_PARAM_INT, port_high, 0, 0, 65535,
		"Last of these ports"),
	ROW("nodelay", FI_PARAM_BOOL, nodelay, -1, 0, 1,
		"Set TCP_NODELAY or clear it (default: set, unless the traffic class "
		"is bulk data)"),
	ROW("connect_timeout", FI_PARAM_INT, connect_ms, 30000, 0, INT_MAX,
		"Milliseconds in which a connection must be made, and in which a "
		"peer must have sent its request; 0: no limit (default: "
		"30000)"),
	ROW("refused_timeout", FI_PARAM_INT, refused_ms, 2000, 0, INT_MAX,
		"Milliseconds after which operations end in an error that wait for a "
		"peer "
		"of an FI_EP_RDM endpoint whose host refuses connections: it has no "
		"such "
		"endpoint, or none yet (default: 2000; 0: the first time)"),
	ROW("reply_timeout", FI_PARAM_INT, reply_ms, 0, 0, INT_MAX,
		"Milliseconds in which a peer must have accepted or rejected; 0: no "
		"limit (default: 0)"),
	ROW("keepalive_timeout", FI_PARAM_INT, keepalive_ms, 60000, 0, INT_MAX,
		"Milliseconds after which a host that does not answer is taken for "
		"dead; 0: as the system has it (default: 60000)"),
};

void tcp_netconf_define(void)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++)
		(void)fi_param_define(
			&tcp_fi, rows[i].name, rows[i].type, "%s", rows[i].help);
}

static int *netconf_field(struct tcp_netconf *conf, const struct row *row)
{
	return (int *)(void *)((char *)conf + row->offset);
}

static void netconf_check_range(struct tcp_netconf *conf)
{
	if (!conf->port_low && !conf->port_high)
		return;
	if (conf->port_low && conf->port_low <= conf->port_high)
		return;
	wf_notice(&tcp_fi,
		"FI_TCP_PORT_LOW_RANGE and FI_TCP_PORT_HIGH_RANGE: ports from %d to %d "
		"are no range; the system chooses",
		conf->port_low, conf->port_high);
	conf->port_low = conf->port_high = 0;
}

struct tcp_netconf tcp_netconf_read(void)
{
	struct tcp_netconf conf;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		int value = row->fallback;
		char var[64];

		/* The core tells of a value that is not a number. */
		if (!fi_param_get(&tcp_fi, row->name, &value) &&
			(value < row->min || value > row->max)) {
			wf_notice(&tcp_fi, "%s is %d: possible %d to %d; %d is used",
				wf_notice_var(&tcp_fi, row->name, var, sizeof(var)),
				value, row->min, row->max, row->fallback);
			value = row->fallback;
		}
		*netconf_field(&conf, row) = value;
	}
	netconf_check_range(&conf);
	return conf;
}
