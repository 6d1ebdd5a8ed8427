#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Two hosts: host 1 connects to host 0.
# shellcheck source=tests/vm/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

for type in msg dgram rdm; do
	options=(-p verbs -e "$type" -I 10)
	[ $type != rdm ] || options=(-p 'verbs;ofi_rxm' -e rdm -c -I 10)
	if [ "$HOST" = 0 ]; then
		with ours "$our_pingpong" "${options[@]}" || fail "$type server exits with $?"
		continue
	fi
	for ((i = 0; i < 50; i++)); do
		with ours "$our_pingpong" "${options[@]}" 192.168.77.1 && break
		sleep 0.2
	done
	[ $i -lt 50 ] || fail "$type client"
done
finish
