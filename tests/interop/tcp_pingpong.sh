#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Both sides on our library, over connected and reliable datagram endpoints of tcp: our
# fi_pingpong, and the unmodified one of the distribution.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

need "$our_pingpong" "$our_info"

both() { # address program type option...
	pair "$1" ours "$2" ours "$2" -p tcp -e "$3" "${@:4}"
}

rows_of() { # type
	size_rows ours "$our_info" tcp "FI_EP_${1^^}"
}

for type in msg rdm; do
	rows=$(rows_of $type) || { fail "fi_info shows no tcp $type endpoint"; continue; }
	both 127.0.0.1 "$our_pingpong" $type -S all -c -I 4
	check_pair "ours, $type, IPv4" "$rows"
	if has_ipv6; then
		both ::1 "$our_pingpong" $type -6 -S all -c -I 4
		check_pair "ours, $type, IPv6" "$rows"
	else
		echo "IPv6: no loopback address, not tested"
	fi
	if [ -x "$debian_pingpong" ]; then
		both 127.0.0.1 "$debian_pingpong" $type -S all -c -I 4
		check_pair "the distribution's, $type" "$rows"
	fi
done
finish
