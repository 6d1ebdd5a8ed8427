#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# in_guest.sh TEST...: inside the guest; run each, and leave a line in /out/results for it:
# name, result, seconds. On two hosts both run each test at the same time, and it passed
# where it passed on both; host 0 writes the line.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/limits.sh
. "$here/../limits.sh"

# Time limits follow the load of the machine that runs the guest; emulation doubles them.
read_load() {
	local load
	load=$(cat /out/load 2>/dev/null)
	export WEFT_LOAD=$((2 * ${load:-1}))
}

# together NAME: the other host has come as far.
together() {
	local i
	[ "$HOSTS" != 1 ] || return 0
	touch "/out/$1.$HOST"
	for ((i = 0; i < 3000; i++)); do
		[ ! -e "/out/$1.$((1 - HOST))" ] || return 0
		sleep 0.1
	done
}

result_of() { # exit status
	case $1 in
	0) echo passed ;;
	77) echo skipped ;;
	*) echo failed ;;
	esac
}

for name; do
	together "$name.begin"
	begin=$SECONDS
	read_load
	case $name in
	suite_* | mpi) most=600 ;;
	*) most=150 ;;
	esac
	[ "${WEFT_MOST:-0}" = 0 ] || most=$WEFT_MOST
	timeout -k 5 "$(limit_s $most)" bash "$here/$name.sh" </dev/null >"/out/$name.$HOST.log" 2>&1
	result_of $? >"/out/$name.result.$HOST"
	together "$name.end"
	[ "$HOST" = 0 ] || continue
	result=passed
	for wanted in skipped failed; do
		! grep -qx $wanted /out/"$name".result.? || result=$wanted
	done
	printf '%s\t%s\t%s\n' "$name" "$result" $((SECONDS - begin)) | tee -a /out/results
	[ "$result" != skipped ] || tail -n 1 "/out/$name.$HOST.log"
	# A crash of the device's driver may be behind what fails.
	[ "$result" != failed ] || dmesg | tail -n 20 >>"/out/$name.$HOST.log"
done
