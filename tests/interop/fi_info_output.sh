#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What scripts parse of fi_info and fi_strerror: outputs and exit statuses.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

need "$our_info" "$our_strerror"

# run PROGRAM...: leaves $scratch/out, $scratch/err and $status.
run() {
	with ours "$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
}

expect() { # status program [argument...]
	local wanted=$1
	shift
	run "$@"
	[ $status = "$wanted" ] || fail "$(basename "$1") ${*:2}: $status, not $wanted"
}

has() { # extended expression for a whole line of stdout
	grep -qxE -- "$1" "$scratch/out" || fail "no line '$1'"
}

complains() { # fixed text in stderr
	grep -qF -- "$1" "$scratch/err" ||
		fail "stderr lacks '$1': $(cat "$scratch/err")"
}

# Usage and versions.
expect 1 "$our_info" -h
for option in help src_addr node port caps mode ep_type domain fabric addr_format \
	provider env getenv info list verbose version why; do
	grep -q -- "--$option" "$scratch/out" || fail "usage lacks --$option"
done
expect 1 "$our_info" --no-such-option
expect 0 "$our_info" --version
[ "$(wc -l <"$scratch/out")" = 3 ] || fail "--version prints more or less than 3 lines"
has 'fi_info: [0-9]+\.[0-9]+\.[0-9]+'
has 'libfabric: [0-9]+\.[0-9]+\.[0-9]+'
has 'libfabric api: [0-9]+\.[0-9]+'

# Words, in any case; unknown ones.
expect 0 "$our_info" -p udp -t fi_ep_dgram -c 'fi_msg|FI_SEND' \
	-m 'FI_CONTEXT|fi_context2'
expect 22 "$our_info" -c FI_MSG,FI_RMA
complains 'error: Unrecognized capability: FI_MSG,FI_RMA'
expect 22 "$our_info" -m FI_SUNNY
complains 'error: Unrecognized mode: FI_SUNNY'
expect 22 "$our_info" -t FI_EP_STREAM
complains 'error: Unrecognized endpoint type: FI_EP_STREAM'
expect 22 "$our_info" -a FI_POSTCARD
complains 'error: Unrecognized address format: FI_POSTCARD'

# Nothing found.
expect 61 "$our_info" -p nosuchprovider
complains 'fi_getinfo: -61 (No data available)'
[ ! -s "$scratch/out" ] || fail "a failure prints something on stdout"
expect 61 "$our_info" -p nosuchprovider -e
[ ! -s "$scratch/out" ] || fail "-e prints variables though nothing was found"
expect 61 "$our_info" -p udp -d nosuchdomain
expect 61 "$our_info" -p udp -f nosuchfabric

# Short: blocks of six lines.
expect 0 "$our_info" -p udp -t FI_EP_DGRAM
fields='provider|fabric|domain|version|type|protocol'
awk -v fields="$fields" '
	BEGIN { n = split(fields, f, "|") }
	{ want = f[(NR - 1) % n + 1] }
	{ pattern = (want == "provider" ? "^" : "^    ") want ": [^ ]" }
	$0 !~ pattern { print "line " NR ": " $0; bad = 1 }
	END { exit bad || NR % n }' "$scratch/out" || fail "short output"
has 'provider: udp'
has '    type: FI_EP_DGRAM'
has '    protocol: FI_PROTO_UDP'
has '    version: [0-9]+\.[0-9]+'

# An address narrows it down.
expect 0 "$our_info" -p udp -t FI_EP_DGRAM -s 127.0.0.1 -v
has '    src_addr: fi_sockaddr_in://127\.0\.0\.1:0'
expect 0 "$our_info" --provider=udp --ep_type=FI_EP_DGRAM --node=127.0.0.1 \
	--port=4711 -v
has '    dest_addr: fi_sockaddr_in://127\.0\.0\.1:4711'

# List.
expect 0 "$our_info" -l
has 'udp:'
[ $(($(wc -l <"$scratch/out") % 2)) = 0 ] || fail "-l has an odd number of lines"
grep -vxE '[^ ]+:|    version: [0-9]+\.[0-9]+' "$scratch/out" &&
	fail "-l has other lines"

# Long.
expect 0 "$our_info" -v -p udp -t FI_EP_DGRAM
[ "$(head -n 2 "$scratch/out")" = "$(printf -- '---\nfi_info:')" ] || fail "head of -v"
for field in caps mode addr_format src_addrlen dest_addrlen handle fi_tx_attr \
	fi_rx_attr fi_ep_attr fi_domain_attr fi_fabric_attr; do
	grep -qE "^    $field:( |\$)" "$scratch/out" || fail "-v lacks $field"
done
has '        mem_tag_format: 0x[0-9a-f]{16}'
has '        prov_name: udp'
expect 0 "$our_info" -i fi_sockaddr_in6 -p udp
grep -q '^    addr_format: FI_SOCKADDR_IN$' "$scratch/out" && fail "-i does not select"
expect 0 "$our_info" -i 'no such text' -p udp
[ ! -s "$scratch/out" ] || fail "-i shows what does not match"

# Variables.
run env FI_LOG_PROV='a b' "$our_info" -g log_prov
[ "$(grep -c '' "$scratch/out")" = 4 ] ||
	fail "-g prints more or less than one variable"
has '# FI_LOG_PROV: String'
has 'FI_LOG_PROV="a b"'
[ -z "$(tail -n 1 "$scratch/out")" ] || fail "no empty line behind a variable"
run env FI_LOG_LEVEL=warn "$our_info" -e
has 'FI_LOG_LEVEL=warn'
has '# FI_UDP_IFACE: String'
grep -E '^# FI_[A-Z0-9_]+: ' "$scratch/out" |
	grep -vE ': (String|Integer|size_t)$' |
	grep -vF ': Boolean (0/1, on/off, true/false, yes/no)' &&
	fail "-e has other types"

# Why not.
expect 0 "$our_info" --why -p udp -t FI_EP_DGRAM
has 'udp: [0-9]+ matching'
expect 0 "$our_info" --why -p udp -t FI_EP_DGRAM -c FI_TAGGED
has 'provider: udp'
has '    refused: caps: missing: FI_TAGGED \(FI_EP_DGRAM\)'
expect 0 "$our_info" --why -t FI_EP_MSG -p udp
has '    refused: .*: asked .*, possible .*'

# fi_strerror.
says() { # text code
	expect 0 "$our_strerror" "$2"
	[ "$(cat "$scratch/out")" = "$1" ] ||
		fail "fi_strerror $2: $(cat "$scratch/out")"
}
says 'Error available' 259
says 'Error available' -259
says 'Error available' 0x103
says 'Error available' 0403
says 'Resource temporarily unavailable' -11
says 'Success' 0
says 'Unspecified error' 9999
says 'Host unreacheable due to firewall' 271
expect 0 "$our_strerror" -h
grep -q '^Usage: ' "$scratch/out" || fail "fi_strerror -h prints no usage"
expect 1 "$our_strerror"
grep -q '^Usage: ' "$scratch/out" || fail "fi_strerror prints no usage"
expect 1 "$our_strerror" 1 2
for bad in 12x '' x '5 '; do
	expect 1 "$our_strerror" "$bad"
	[ "$(head -n 1 "$scratch/out")" = "ERROR: unable to parse '$bad'" ] ||
		fail "fi_strerror '$bad': $(head -n 1 "$scratch/out")"
	[ -z "$(sed -n 2p "$scratch/out")" ] || fail "fi_strerror '$bad': no blank line"
done
expect 1 "$our_strerror" 99999999999
[ "$(head -n 1 "$scratch/out")" = "ERROR: '99999999999' is out of range" ] ||
	fail "fi_strerror: $(head -n 1 "$scratch/out")"
[ ! -s "$scratch/err" ] || fail "fi_strerror writes to stderr"
finish
