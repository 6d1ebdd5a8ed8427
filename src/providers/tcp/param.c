/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/local/mode.h"
#include "objects/param.h"
#include "providers/tcp/netconf.h"
#include "providers/tcp/param.h"
#include "providers/tcp/tcp.h"
#include "sys/compiler.h"

struct tcp_params tcp_params = {
	.max_inject = 128,
	.rendezvous_size = 65536,
	.max_saved_size = SIZE_MAX,
	.unexpected_size = (size_t)2 << 30,
	.answer_size = (size_t)64 << 20,
	.staging_size = 16384,
	.prefetch_size = 16384,
};

#define SIZE(name_, field, min_, max_, help_)                                          \
	WF_PARAM_SIZE(name_, &tcp_params.field, min_, max_, help_)
#define BOOL(name_, field, help_) WF_PARAM_BOOL(name_, &tcp_params.field, help_)

static const struct wf_param rows[] = {
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
		"Memory that messages may take that wait for a receive, in bytes, of "
		"all connections of an endpoint; one that has as much as is free is "
		"read no further (default: 2 GiB)"),
	SIZE("answer_size", answer_size, 1 << 20, SIZE_MAX,
		"Memory that answers to peers' reads and fetching atomics may take, in "
		"bytes, of all connections of an endpoint; one that has as much as is "
		"free is read no further (default: 64 MiB)"),
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

void tcp_params_init(void)
{
	(void)fi_param_define(&tcp_fi, "iface", FI_PARAM_STRING,
		"Interfaces to offer, a comma list; ^ in front: all but these "
		"(default: all)");
	wf_params_read(&tcp_fi, rows, WF_ARRAY_SIZE(rows));
	wf_local_read_mode(&tcp_fi);
	tcp_netconf_define();
}
