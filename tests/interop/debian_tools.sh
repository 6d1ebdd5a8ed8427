#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The fi_info and fi_pingpong of the distribution, unmodified, over our library.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

need "$debian_info" "$debian_pingpong"

# The loader's own word on which library a program got.
check_library() { # name program [argument...]
	local name=$1
	shift
	with ours env LD_DEBUG=libs "$@" >"$scratch/out" 2>"$scratch/loader"
	grep -q "calling init: $our_lib/libfabric\.so\.1" "$scratch/loader" ||
		fail "$name: runs on another library:" \
			"$(grep -m 1 'calling init: .*libfabric' "$scratch/loader")"
	grep -q 'calling init: /usr/lib/.*libfabric' "$scratch/loader" &&
		fail "$name: the library of the distribution is loaded too"
}

check_library fi_info "$debian_info" --version
check_library fi_pingpong "$debian_pingpong" -h

with ours "$debian_info" -p udp -t FI_EP_DGRAM >"$scratch/out" 2>&1 ||
	fail "fi_info: $(cat "$scratch/out")"
for field in 'provider: udp' '    domain: lo' '    type: FI_EP_DGRAM' \
	'    protocol: FI_PROTO_UDP'; do
	grep -qx "$field" "$scratch/out" || fail "fi_info does not print '$field'"
done
with ours "$debian_info" -l | grep -qx 'udp:' || fail "fi_info -l does not list udp"
with ours "$debian_info" -v -p udp -t FI_EP_DGRAM | grep -qx 'fi_info:' ||
	fail "fi_info -v prints nothing"
with ours "$debian_info" -g FI_LOG_LEVEL | grep -q '^# FI_LOG_LEVEL: String$' ||
	fail "fi_info -g does not know FI_LOG_LEVEL"
with ours "$debian_info" -p nosuchprovider >/dev/null 2>&1
status=$?
[ $status = 61 ] || fail "fi_info -p nosuchprovider gives $status"
echo "fi_info: done"

pair 127.0.0.1 ours "$debian_pingpong" ours "$debian_pingpong" -p udp -S all -c -I 50
rows=$(dgram_rows ours "$debian_info")
check_pair "fi_pingpong" "${rows:-0}"
finish
