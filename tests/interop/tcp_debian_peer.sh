#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Our fi_pingpong on our tcp provider talks to the distribution's on its own library,
# as server and as client. There, connected endpoints are of the provider tcp, and the
# reliable datagram ones that speak the same wire are of net.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

need "$debian_pingpong" "$debian_info" "$our_pingpong"

# against THEIR_PROVIDER TYPE NAME
against() {
	local provider=$1 type=$2 rows
	with debian "$debian_info" -p "$provider" -t "FI_EP_${type^^}" >/dev/null 2>&1 || {
		echo "the distribution has no $provider with $type endpoints"
		return
	}
	rows=$(size_rows debian "$debian_info" "$provider" "FI_EP_${type^^}")
	server_options=(-p "$provider") client_options=(-p tcp)
	pair 127.0.0.1 debian "$debian_pingpong" ours "$our_pingpong" \
		-e "$type" -S all -c -I 4
	check_pair "$type, client" "$rows"
	server_options=(-p tcp) client_options=(-p "$provider")
	pair 127.0.0.1 ours "$our_pingpong" debian "$debian_pingpong" \
		-e "$type" -S all -c -I 4
	check_pair "$type, server" "$rows"
	# Many messages of one size.
	pair 127.0.0.1 ours "$our_pingpong" debian "$debian_pingpong" \
		-e "$type" -S 64 -c -I 5000
	check_pair "$type, server, one size" 1
}

against tcp msg
against net rdm
finish
