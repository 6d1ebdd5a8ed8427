# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The variables of the library itself: fabric(7) and fi_info -e tell of the same ones,
# those without effect are said to be, and a name that nothing reads gets a line.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/interop/lib.sh
. "$here/lib.sh"

page=$here/../../man/man7/fabric.7
"$our_info" -e | sed -n 's/^# \(FI_[A-Z0-9_]*\): .*/\1/p' |
	grep -vE '^FI_(TCP|UDP|SHM|LNX|OFF_COLL|OFI_HOOK_MONITOR|OFI_RXD|OFI_RXM|VERBS)_' | sort -u >"$scratch/known"
sed -n '/^.SH ENVIRONMENT/,/^.SH FILES/p' "$page" | grep -oE 'FI_[A-Z0-9_]+' |
	grep -vE '^FI_(SOCKADDR_IN|EFA_)$' | sort -u >"$scratch/told"
same_names 'fabric(7)'

without_effect=(FI_UNIVERSE_SIZE FI_FORK_UNSAFE)
if grep -q FI_SHM_ <("$our_info" -e); then
	without_effect+=(FI_SHM_USE_DSA_SAR FI_SHM_USE_XPMEM FI_SHM_MAX_GDRCOPY_SIZE
		FI_SHM_BUFFER_THRESHOLD)
fi
for name in "${without_effect[@]}"; do
	"$our_info" -e | grep -A1 "^# $name:" | grep -qi 'no effect' ||
		fail "fi_info -e does not say that $name has no effect"
done

# lines [VAR=VALUE]...: of the log of a program that starts the library.
lines() {
	{ env "$@" "$our_info" -l >/dev/null; } 2>&1
}

unread='FI_UDP_IFCAE is set, but nothing reads it; did you mean FI_UDP_IFACE?'
[ "$(lines FI_UDP_IFCAE=lo | grep -cF "$unread")" = 1 ] ||
	fail "a name that nothing reads gets no line at the default level"
[ "$(lines FI_UDP_IFCAE=lo FI_LOG_LEVEL=warn | grep -cF "$unread")" = 1 ] ||
	fail "a name that nothing reads does not get one line at level warn"
[ -z "$(lines FI_UDP_IFCAE=lo FI_LOG_PROV=^core)" ] ||
	fail "the line comes although the core may not log"
[ -z "$(lines FI_EFA_IFACE=x FI_MR_CACHE_MONITOR=disabled FI_UNIVERSE_SIZE=4)" ] ||
	fail "a name that other libraries read gets a line"
finish
