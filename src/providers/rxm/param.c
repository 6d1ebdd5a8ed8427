/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>

#include "objects/param.h"
#include "providers/rxm/log.h"
#include "providers/rxm/param.h"
#include "sys/compiler.h"

struct rxm_params rxm_params = {
	.buffer_size = 16384,
	.sar_limit = SIZE_MAX,
	.tx_size = 2048,
	.rx_size = 2048,
	.unexpected_size = (size_t)2 << 30,
	.answer_size = (size_t)64 << 20,
	.eq_interval_us = 10000,
	.eq_polls = 128,
	.entries = 64,
	.connect_timeout = 30000,
	.refused_timeout = 2000,
	.use_srx = -1,
	.direct_send = 1,
};

#define SIZE(name_, field, min_, max_, help_)                                          \
	WF_PARAM_SIZE(name_, &rxm_params.field, min_, max_, help_)
#define BOOL(name_, field, help_) WF_PARAM_BOOL(name_, &rxm_params.field, help_)

static const struct wf_param rows[] = {
	SIZE("buffer_size", buffer_size, 256, 1 << 30,
		"Longest message that is sent in one packet, and bytes of a segment; "
		"the same at all peers (default: 16384)"),
	SIZE("sar_limit", sar_limit, 0, SIZE_MAX,
		"Longest message that is sent in segments; the receiver fetches longer "
		"ones (default: 8 times the buffer size; 4 times over tcp)"),
	SIZE("tx_size", tx_size, 1, 1 << 24,
		"Operations that may be pending (default: 2048)"),
	SIZE("rx_size", rx_size, 1, 1 << 24,
		"Receives that may be posted (default: 2048)"),
	SIZE("unexpected_size", unexpected_size, 1 << 20, SIZE_MAX,
		"Memory that messages may take that wait for a receive, in bytes, of "
		"all connections of an endpoint; one that has as much as is free is "
		"read no further (default: 2 GiB)"),
	SIZE("answer_size", answer_size, 1 << 20, SIZE_MAX,
		"Memory that answers may take that peers do not read, in bytes, of all "
		"connections of an endpoint; one that has as much as is free is read "
		"no further (default: 64 MiB)"),
	SIZE("msg_tx_size", msg_tx_size, 1, 1 << 24,
		"Operations of one connection that may be pending (default: over tcp "
		"as "
		"many as that allows, over others 128)"),
	SIZE("msg_rx_size", msg_rx_size, 2, 1 << 20,
		"Buffers for packets that have not come: of an endpoint with a shared "
		"receive context below, else of a connection (default: 256 or 128)"),
	SIZE("cm_progress_interval", eq_interval_us, 0, 1 << 30,
		"Microseconds after which events of connections are looked for, at the "
		"latest (default: 10000)"),
	SIZE("cq_eq_fairness", eq_polls, 1, 1 << 30,
		"Progress calls after which events of connections are looked for, at "
		"the latest (default: 128)"),
	SIZE("comp_per_progress", entries, 1, 4096,
		"Completions of the provider below that one progress call handles "
		"(default: 64)"),
	SIZE("connect_timeout", connect_timeout, 0, INT_MAX,
		"Milliseconds in which a connection must be made; 0: no limit "
		"(default: 30000)"),
	SIZE("refused_timeout", refused_timeout, 0, INT_MAX,
		"Milliseconds after which operations end in an error that wait for a "
		"peer whose host refuses connections: it has no such endpoint, or none "
		"yet (default: 2000; 0: the first time)"),
	BOOL("use_srx", use_srx,
		"Connections of an endpoint share receive buffers, if the provider "
		"below can do that (default: yes over tcp, no over others)"),
	BOOL("use_rndv_write", rndv_write,
		"The sender writes long messages into the receiver's memory, instead "
		"of letting it read them (default: no)"),
	BOOL("enable_direct_send", direct_send,
		"Send from the application's buffers without a copy (default: yes)"),
};

static const struct wf_param_fixed fixed_rows[] = {
	{ "enable_dyn_rbuf", FI_PARAM_BOOL, "0",
		"Only 0 is possible: tagged messages have the header of all packets; "
		"the other form is understood as well" },
	{ "enable_passthru", FI_PARAM_BOOL, "0",
		"Only 0 is possible: packets have headers" },
	{ "num_msg_eps", FI_PARAM_SIZE_T, "1",
		"Only 1 is possible: connections to one peer" },
	{ "detect_hmem_iface", FI_PARAM_BOOL, "0",
		"Only 0 is possible: buffers are in the memory of the system" },
	{ "data_auto_progress", FI_PARAM_BOOL, "0",
		"Only 0 is possible: a domain with automatic progress has a thread "
		"for it, others do not" },
};

void rxm_params_init(void)
{
	wf_params_read(&rxm_fi, rows, WF_ARRAY_SIZE(rows));
	wf_params_read_fixed(&rxm_fi, fixed_rows, WF_ARRAY_SIZE(fixed_rows));
}
