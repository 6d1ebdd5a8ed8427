/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "providers/tcp/netconf.h"
#include "providers/tcp/param.h"
#include "providers/tcp/tcp.h"
#include "sys/compiler.h"

struct tcp_params tcp_params = {
	.max_inject = 128,
	.rendezvous_size = 65536,
	.max_saved_size = SIZE_MAX,
	.unexpected_size = (size_t)2 << 30,
	.staging_size = 16384,
	.prefetch_size = 16384,
};

/* One row tells everything about a parameter; @min and @max bound its value. */
struct row {
	const char *name;
	enum fi_param_type type;
	void *value;
	size_t min, max;
	const char *help;
};

#define SIZE(name_, field, min_, max_, help_)                                          \
	{                                                                              \
		name_, FI_PARAM_SIZE_T, &tcp_params.field, min_, max_, help_           \
	}
#define BOOL(name_, field, help_)                                                      \
	{                                                                              \
		name_, FI_PARAM_BOOL, &tcp_params.field, 0, 1, help_                   \
	}

static const struct row rows[] = {
	SIZE("tx_size", tx_size, 1, 1 << 24,
		"Operations that may be pending (default: 1024 msg, 65536 rdm)"),
	SIZE("rx_size", rx_size, 1, 1 << 24,
		"Receives that may be posted (default: 1024 msg, 65536 rdm)"),
	SIZE("max_inject", max_inject, 0, 8192,
		"Longest message that can be injected, in bytes (default: 128)"),
	SIZE("rendezvous_size", rendezvous_size, 0, SIZE_MAX,
		"Longer messages wait at the sender until they are matched, where the "
		"peer can do that (default: 65536)"),
	SIZE("max_saved_size", max_saved_size, 0, SIZE_MAX,
		"The same towards peers that are not of this implementation "
		"(default: no limit)"),
	SIZE("unexpected_size", unexpected_size, 1 << 20, SIZE_MAX,
		"Memory that the messages of one connection may take that wait for a "
		"receive, in bytes; then it is read no further (default: 2 GiB)"),
	SIZE("staging_sbuf_size", staging_size, 0, 1 << 24,
		"Bytes of small messages that leave together (default: 16384; 0: each "
		"one leaves alone)"),
	SIZE("prefetch_rbuf_size", prefetch_size, 256, 1 << 24,
		"Bytes read at once where short messages are expected "
		"(default: 16384)"),
	BOOL("firewall_addr", firewalled,
		"This host cannot be connected to: peers wait for it (default: no)"),
	BOOL("disable_auto_progress", no_auto_progress,
		"Offer no automatic progress (default: no)"),
};

static bool in_range(const struct row *row, size_t value)
{
	if (value >= row->min && value <= row->max)
		return true;
	FI_WARN(&tcp_fi, FI_LOG_CORE,
		"parameter %s: asked %zu, possible %zu to %zu; ignored\n", row->name,
		value, row->min, row->max);
	return false;
}

static void read_row(const struct row *row)
{
	size_t size;
	int number;

	(void)fi_param_define(&tcp_fi, row->name, row->type, "%s", row->help);
	if (row->type == FI_PARAM_SIZE_T) {
		if (!fi_param_get(&tcp_fi, row->name, &size) && in_range(row, size))
			*(size_t *)row->value = size;
	} else if (!fi_param_get(&tcp_fi, row->name, &number) &&
		   in_range(row, number < 0 ? SIZE_MAX : (size_t)number)) {
		*(int *)row->value = number;
	}
}

void tcp_params_init(void)
{
	(void)fi_param_define(&tcp_fi, "iface", FI_PARAM_STRING,
		"Offer only this network interface (default: all)");
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++)
		read_row(&rows[i]);
	tcp_netconf_define();
}
