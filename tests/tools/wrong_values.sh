#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# wrong_values.sh FI_INFO FI_PINGPONG: a setting that has no effect is told once, at the
# default level of the log, with the nearest valid value, and nothing is told of right ones.
# Programs that find nothing say why.
set -u
info=$1
pingpong=$2
unset "${!FI_@}"
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "not ok - $*"
	sed 's/^/#   /' "$work/err"
	failed=1
}

# told PATTERN VAR=VALUE... [-- OPTION...]: one line, and that pattern in it.
told() {
	local pattern=$1 settings=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		settings+=("$1")
		shift
	done
	[ $# = 0 ] || shift
	env "${settings[@]}" "$info" "$@" >/dev/null 2>"$work/err"
	if [ "$(grep -c '<warn>' "$work/err")" != 1 ] || ! grep -Eq -- "$pattern" "$work/err"; then
		fail "${settings[*]}: one line with $pattern"
	else
		echo "ok - ${settings[*]}"
	fi
}

# quiet VAR=VALUE...
quiet() {
	env "$@" "$info" >/dev/null 2>"$work/err" || fail "$*: offers nothing"
	[ ! -s "$work/err" ] || fail "$*: nothing is told"
	echo "ok - $*"
}

# says PATTERN COMMAND...: it fails, and says that.
says() {
	local pattern=$1
	shift
	if "$@" >/dev/null 2>"$work/err" || ! grep -Eq -- "$pattern" "$work/err"; then
		fail "$*: fails with $pattern"
	elif [ "$(grep -c '^    ' "$work/err")" -gt 2 ]; then
		fail "$*: two reasons at most"
	else
		echo "ok - $*"
	fi
}

# Where the interfaces have other names, one that is similar to "lo".
told 'FI_TCP_IFACE is "loo": possible .*lo.* did you mean lo\?' FI_TCP_IFACE=loo
told 'FI_UDP_IFACE is "loo": possible .*lo.* did you mean lo\?' FI_UDP_IFACE=loo
told 'FI_TCP_LOCAL is "yes": possible tcp, auto, shm; auto is used' FI_TCP_LOCAL=yes
told 'FI_TCP_LOCAL is "atuo": .*did you mean auto\?' FI_TCP_LOCAL=atuo
told 'FI_TCP_TX_SIZE is "abc": possible 1 to 16777216; the default' FI_TCP_TX_SIZE=abc
told 'FI_TCP_TX_SIZE is "0": possible 1 to 16777216, nearest 1' FI_TCP_TX_SIZE=0
told 'FI_TCP_TX_SIZE is "64k": possible 1 to' FI_TCP_TX_SIZE=64k
told 'FI_TCP_FIREWALL_ADDR is "maybe": not one of 0/1, no/yes' FI_TCP_FIREWALL_ADDR=maybe
told 'FI_PROVIDER_PATH: .*/nonexistent: No such file' FI_PROVIDER_PATH=/nonexistent
told 'FI_PROVIDER_PATH: /none-fi.so is not loaded: No such' FI_PROVIDER_PATH=+/none-fi.so
told 'FI_PROVIDER: there is no provider tpc here; did you mean tcp\?' FI_PROVIDER=tpc,udp
told 'FI_LOG_PROV: no provider is called tcpp; did you mean tcp\?' FI_LOG_PROV=tcpp
told 'FI_LOG_PROV: no provider is called rxm; did you mean ofi_rxm\?' FI_LOG_PROV=^rxm
told 'FI_LOG_SUBSYS has no subsystem "corre"; did you mean core\?' FI_LOG_SUBSYS=corre
told 'FI_LOG_LEVEL is "wran", not silent, warn' FI_LOG_LEVEL=wran
told 'FI_LOG_INTERVAL is "-5", not a number' FI_LOG_INTERVAL=-5
told 'FI_ADDR_FORMAT: "FI_SOCKADDR_IM" .*did you mean FI_SOCKADDR_IN\?' \
	FI_ADDR_FORMAT=FI_SOCKADDR_IM
told 'FI_LNX_PROV_LINKS: .*nothing to link of tcp:loo; did you mean lo\?' \
	FI_LNX_PROV_LINKS=shm+tcp:loo FI_TCP_IFACE=lo FI_PROVIDER=lnx
told 'FI_LNX_PROV_LINKS: .*nothing to link of tpc' \
	FI_LNX_PROV_LINKS=shm+tpc FI_PROVIDER=lnx
told 'FI_LNX_MULTI_RAIL_SELECTION is "PER_MSGS": .*did you mean PER_MSG\?' \
	FI_LNX_MULTI_RAIL_SELECTION=PER_MSGS

told 'FI_HOOK: there is no hook monitr; did you mean monitor\?' FI_HOOK='ofi_hook_monitor;monitr'

quiet FI_TCP_IFACE=lo,eth7 FI_UDP_IFACE=^eth7 FI_TCP_TX_SIZE=64 FI_TCP_RX_SIZE=0x40 \
	FI_TCP_LOCAL=shm FI_LOG_PROV=tcp,core,efa,ofi_hook_monitor FI_HOOK=monitor \
	FI_ADDR_FORMAT=FI_SOCKADDR_IN FI_PROVIDER=tcp,efa FI_LOG_SUBSYS=^cq FI_LOG_INTERVAL=0 \
	FI_TCP_MAX_SAVED_SIZE=-1
for level in silent none off error 0; do
	quiet FI_LOG_LEVEL=$level FI_TCP_LOCAL=yes FI_LOG_SUBSYS=corre
done
quiet FI_LOG_LEVEL=

says 'there is no provider nosuch here$' "$info" -p nosuch
says 'there is no provider tpc here; did you mean tcp\?' "$info" -p tpc
says 'hints have one name, and FI_PROVIDER a list' "$info" -p tcp,udp
says 'tcp: domain_attr.name: asked eth9, possible .*lo' "$info" -p tcp -d eth9
says 'tcp: node: asked nohost.invalid, possible what resolves' "$info" -p tcp -n nohost.invalid
says 'tcp: caps: missing: FI_HMEM \(FI_EP_RDM\)' "$info" -p tcp -c 'FI_HMEM|FI_MSG'
says 'udp: FI_PROVIDER: asked tcp, possible udp' env FI_PROVIDER=tcp "$info" -p udp
says 'there is no provider tpc here; did you mean tcp\?' timeout 20 "$pingpong" -p tpc 127.0.0.1

# Of the questions that layers ask to answer this one, nothing.
"$info" --why -d eth9 >"$work/err" 2>&1
if grep -Eq 'asked tcp|gave no reason' "$work/err"; then
	fail "--why: only what was asked"
fi
grep -q 'FI_HOOK=monitor puts it in front' "$work/err" || fail "--why: hooks"
exit $failed
