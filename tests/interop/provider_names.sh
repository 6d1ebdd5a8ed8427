#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Names that programs use and that stand for another provider here: what fi_info shows for
# them, and messages over each, ours and the distribution's programs.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

need "$our_pingpong" "$our_info"

# shown PROGRAM VARIABLE... -- OPTION...: "name type protocol" of each endpoint, once.
shown() {
	local env=() program=$1
	shift
	while [ "$1" != -- ]; do env+=("$1"); shift; done
	with ours env "${env[@]}" "$program" "${@:2}" 2>"$scratch/info.err" | awk '
		$1 == "provider:" { name = $2 }
		$1 == "type:" { type = $2 }
		$1 == "protocol:" { print name, type, $2 }' | sort -u
}

expect() { # what wanted got
	[ "$2" = "$3" ] || fail "$1: wanted
$2
and got
$3"
}

sockets='sockets FI_EP_DGRAM FI_PROTO_SOCK_TCP
sockets FI_EP_MSG FI_PROTO_SOCK_TCP
sockets FI_EP_RDM FI_PROTO_SOCK_TCP'
net='net FI_EP_MSG FI_PROTO_SOCK_TCP
net FI_EP_RDM FI_PROTO_XNET'
for program in "$our_info" "$debian_info"; do
	[ -x "$program" ] || continue
	for name in sockets SOCKETS; do
		expect "-p $name" "$sockets" "$(shown "$program" -- -p $name)"
	done
	expect "FI_PROVIDER=sockets" "$sockets" \
		"$(shown "$program" FI_PROVIDER=sockets --)"
	expect "-p net" "$net" "$(shown "$program" -- -p net)"
	for name in 'tcp;ofi_rxm' 'ofi_rxm;tcp' 'net;ofi_rxm'; do
		base=${name/ofi_rxm/}
		wanted="${base/;/};ofi_rxm FI_EP_RDM FI_PROTO_RXM"
		expect "-p $name" "$wanted" "$(shown "$program" -- -p "$name")"
		expect "FI_PROVIDER=$name" "$wanted" \
			"$(shown "$program" "FI_PROVIDER=$name" --)"
	done
	expect "-p ofi_rxm without net" 'tcp;ofi_rxm FI_EP_RDM FI_PROTO_RXM' \
		"$(shown "$program" FI_PROVIDER=^net -- -p ofi_rxm)"
	expect "a layer over nothing" "" "$(shown "$program" FI_PROVIDER=ofi_rxm --)"
	expect "^ofi_rxm" "" "$(shown "$program" FI_PROVIDER=^ofi_rxm -- -p 'tcp;ofi_rxm')"
	expect "^sockets" "" "$(shown "$program" FI_PROVIDER=^sockets -- -p sockets)"
	expect "^tcp" "${sockets%%$'\n'*}" "$(shown "$program" FI_PROVIDER=^tcp -- -p sockets)"
	expect "without a name" "" "$(shown "$program" -- | grep -E 'sockets|net |lnx')"
	# Lists of programs name what was answered: tcp's own endpoints come first.
	expect "behind tcp" 'tcp
tcp;ofi_rxm' "$(with ours "$program" -t FI_EP_RDM 2>/dev/null |
		awk '$1 == "provider:" { print $2 }' | uniq | grep '^tcp')"
	expect "behind no name of FI_PROVIDER" "" \
		"$(shown "$program" FI_PROVIDER=tcp -- | grep rxm)"
	expect "the name of the base" "" "$(shown "$program" -- -p tcp | grep -v '^tcp ')"
done

for name in sockets net ofi_rxm; do
	with ours "$our_info" -l | grep -q "^$name:" || fail "fi_info -l does not list $name"
done
with ours "$our_info" --why >"$scratch/why"
grep -A1 '^provider: sockets' "$scratch/why" | grep -q 'only by name' ||
	fail "fi_info --why does not say when sockets answers"
# A link asks its members again and again, which the user has not: a reason is given once.
with ours env FI_LNX_PROV_LINKS=tcp+shm "$our_info" --why -c FI_HMEM >"$scratch/why"
[ "$(grep -A9 '^provider: shm' "$scratch/why" | grep -B9 -m1 '^provider: udp' | grep -c missing)" = 1 ] ||
	fail "fi_info --why gives a reason not at all, or more than once"
grep -q 'asked shm, possible tcp$' "$scratch/why" &&
	fail "fi_info --why tells what lnx asks"

# One line for a name that is not here, and what would serve.
with ours env FI_LOG_LEVEL=warn FI_PROVIDER=cxi "$our_info" >/dev/null 2>"$scratch/log"
[ "$(grep -c 'no provider cxi .*tcp' "$scratch/log")" = 1 ] ||
	fail "FI_PROVIDER=cxi: $(cat "$scratch/log")"
with ours env FI_PROVIDER='cxi;ofi_rxm' "$our_info" >/dev/null 2>"$scratch/log"
[ "$(grep -c 'no provider cxi .*tcp' "$scratch/log")" = 1 ] ||
	fail "FI_PROVIDER=cxi without a log level: $(cat "$scratch/log")"
with ours env FI_PROVIDER=cxi,tcp "$our_info" >/dev/null 2>"$scratch/log"
[ -s "$scratch/log" ] && fail "one of two is here: $(cat "$scratch/log")"
# verbs is there, a device need not be, nor the headers that it was built with.
if [ ! -e /sys/class/infiniband ]; then
	for name in verbs 'verbs;ofi_rxm'; do
		with ours env FI_PROVIDER="$name" "$our_info" >/dev/null 2>"$scratch/log"
		[ "$(grep -c 'no \(device of\|provider\) verbs .*tcp' "$scratch/log")" = 1 ] ||
			fail "FI_PROVIDER=$name: $(cat "$scratch/log")"
	done
	with ours "$our_info" --why -p verbs >"$scratch/why"
	grep -q 'no \(device of\|provider\) verbs .*tcp' "$scratch/why" ||
		fail "--why -p verbs: $(cat "$scratch/why")"
fi
with ours env FI_LOG_LEVEL=info "$our_info" -p psm3 >/dev/null 2>"$scratch/log"
[ "$(grep -c 'no provider psm3 .*tcp' "$scratch/log")" = 1 ] ||
	fail "-p psm3: $(cat "$scratch/log")"
with ours "$our_info" --why -p ucx >"$scratch/why"
grep -q 'no provider ucx .*tcp' "$scratch/why" || fail "--why -p ucx: $(cat "$scratch/why")"

try() { # program name option...
	pair 127.0.0.1 ours "$1" ours "$1" -p "${@:2}" -c -I 10 -S 1024
	check_pair "$(basename "$1") -p ${*:2}" 1
}

for program in "$our_pingpong" "$debian_pingpong"; do
	[ -x "$program" ] || continue
	for type in rdm msg dgram; do
		try "$program" sockets -e $type
	done
	try "$program" net -e rdm
	try "$program" 'tcp;ofi_rxm' -e rdm
	try "$program" 'net;ofi_rxm' -e rdm -m tagged
done
server_env=(FI_PROVIDER=sockets)
client_env=(FI_PROVIDER=sockets)
try "$our_pingpong" sockets -e rdm
server_env=()
client_env=()

# Without -e: datagrams, or what the provider has.
for name in tcp shm udp sockets 'tcp;ofi_rxm' lnx; do
	pair 127.0.0.1 ours "$our_pingpong" ours "$our_pingpong" -p "$name" -c -I 10 -S 64
	check_pair "fi_pingpong -p $name" 1
done
finish
