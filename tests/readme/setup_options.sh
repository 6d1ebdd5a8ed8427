#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# setup_options.sh SOURCE: options that cannot be had are refused, and the message says so.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v meson >/dev/null || { echo "skipped: meson is not here"; exit 77; }

for kind in static both; do
	if meson setup -Ddefault_library=$kind "$work/$kind" "$1" >"$work/log" 2>&1 ||
		! grep -q "shared library only: -Ddefault_library=$kind" "$work/log"; then
		echo "not ok - -Ddefault_library=$kind"
		tail -n 5 "$work/log"
		exit 1
	fi
	echo "ok - -Ddefault_library=$kind"
done
