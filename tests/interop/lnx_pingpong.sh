#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# fi_pingpong, ours and the unmodified one of the distribution, over lnx: its default link,
# and each of the two transports alone.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

need "$our_pingpong" "$our_info"

try() { # links options...
	local program
	[ -z "$1" ] || server_env=("FI_LNX_PROV_LINKS=$1")
	client_env=("${server_env[@]}")
	for program in "$our_pingpong" "$debian_pingpong"; do
		[ -x "$program" ] || continue
		pair 127.0.0.1 ours "$program" ours "$program" -p lnx -e rdm -c -I 10 "${@:3}"
		check_pair "$program ${1:-default}" "$2"
	done
}

rows=$(size_rows ours "$our_info" lnx FI_EP_RDM) || fail "fi_info shows no lnx endpoint"
try '' "$rows" -S all
try shm 1 -S 4096
try tcp:lo 1 -S 4096
# The list leaves the members out, for the program but not for lnx.
server_env=(FI_PROVIDER=lnx)
try '' 1 -S 4096
finish
