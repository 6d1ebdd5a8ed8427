/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/param.h"

#include <stdint.h>

#include "objects/param.h"
#include "providers/rxd/rxd.h"
#include "sys/compiler.h"

struct rxd_params rxd_params = {
	.spin_count = 1000,
	.max_peers = 1 << 16,
	.max_unacked = 128,
	.retry = 1,
	.peer_timeout = 30,
	.crc = -1,
	.congestion = RXD_CONGESTION_WESTWOOD,
	.unexpected_size = (size_t)2 << 30,
};

static const struct wf_param rows[] = {
	WF_PARAM_SIZE("spin_count", &rxd_params.spin_count, 0, UINT32_MAX,
		"Packets that one call receives before it looks at timers (default: "
		"1000; 0: no limit)"),
	WF_PARAM_SIZE("max_peers", &rxd_params.max_peers, 1, UINT32_MAX - 1,
		"Peers that an endpoint may have without an address in its address "
		"vector (default: 65536)"),
	WF_PARAM_SIZE("max_unacked", &rxd_params.max_unacked, 1, UINT16_MAX,
		"Packets that a peer of another implementation may send before they "
		"are acknowledged (default: 128)"),
	WF_PARAM_BOOL("retry", &rxd_params.retry,
		"Send packets again that are not acknowledged; 0: not to peers of "
		"another "
		"implementation, which have to be told the same (default: 1)"),
	WF_PARAM_SIZE("peer_timeout", &rxd_params.peer_timeout, 1, 1 << 20,
		"Seconds after which operations to a peer that is silent fail "
		"(default: 30)"),
	WF_PARAM_BOOL("crc", &rxd_params.crc,
		"Add a CRC-32C to packets for peers of this library that do so, too "
		"(default: to other hosts)"),
	WF_PARAM_SIZE("unexpected_size", &rxd_params.unexpected_size, 1 << 20, SIZE_MAX,
		"Memory that messages may take that wait for a receive, in bytes, of "
		"all peers of an endpoint; then further ones are not acknowledged "
		"(default: 2 GiB)"),
};

static const char *const congestions[] = {
	[RXD_CONGESTION_CUBIC] = "cubic",
	[RXD_CONGESTION_WESTWOOD] = "westwood",
};

void rxd_params_init(void)
{
	wf_params_read(&rxd_fi, rows, WF_ARRAY_SIZE(rows));
	fi_param_define(&rxd_fi, "congestion", FI_PARAM_STRING,
		"cubic: every loss shrinks the congestion window, as in RFC 9438; "
		"westwood: none makes it smaller than what the path has delivered in "
		"the shortest round trip (default: westwood)");
	wf_param_read_name(&rxd_fi, "congestion", congestions,
		WF_ARRAY_SIZE(congestions), &rxd_params.congestion);
}
