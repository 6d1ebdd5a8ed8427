#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# dev_help.sh SOURCE BUILD: ./dev VERB --help is help and nothing else; ./dev install ends
# with what is left to do.
set -u
cd "$1" || exit 1
build=$2
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WEFT_NO_INSTALL=1

fail() {
	echo "not ok - $*"
	failed=1
}

verbs=$(./dev help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
[ -n "$verbs" ] || fail "no verbs"
for verb in $verbs; do
	for option in -h --help; do
		./dev "$verb" "$option" >"$work/out" 2>"$work/err" </dev/null ||
			fail "./dev $verb $option: exit status $?"
		if ! grep -q "^  $verb " "$work/out" || [ -s "$work/err" ] ||
			[ "$(grep -c '^  [a-z]' "$work/out")" != 1 ]; then
			fail "./dev $verb $option"
			cat "$work/out" "$work/err"
		fi
	done
done
./dev nosuch --help >/dev/null 2>&1
[ $? = 2 ] || fail "./dev nosuch --help"

WEFT_INSTALL_FROM=$build ./dev install "$work/prefix" >"$work/out" 2>&1 ||
	fail "./dev install"
[ -e "$work/prefix/lib/libfabric.so.1" ] || fail "./dev install: no library"
if [ -x /sbin/ldconfig ]; then
	grep -q "echo $work/prefix/lib >/etc/ld.so.conf.d/00-weft.conf && ldconfig" "$work/out" ||
		fail "./dev install: nothing about ldconfig"
fi
[ $failed = 0 ] || cat "$work/out"

# A build of minutes shows how far it is: with programs that only say so.
mkdir -p "$work/tree/tests" "$work/bin"
cp dev "$work/tree/"
cp tests/limits.sh "$work/tree/tests/"
printf '#!/bin/sh\n' >"$work/bin/meson"
printf '#!/bin/sh\nfor i in $(seq 200); do echo "[$i/200] Compiling"; done\n' >"$work/bin/ninja"
chmod +x "$work/bin"/*
PATH=$work/bin:$PATH "$work/tree/dev" install "$work/other" >"$work/out" 2>&1 ||
	fail "./dev install with a build"
shown=$(grep -c '^\[[0-9]*/200\] Compiling$' "$work/out")
if [ "$shown" -lt 5 ] || [ "$shown" -gt 20 ]; then
	fail "./dev install shows $shown steps of the build"
	cat "$work/out"
fi
printf '#!/bin/sh\necho "error: broken"\nexit 1\n' >"$work/bin/ninja"
PATH=$work/bin:$PATH "$work/tree/dev" install "$work/other" >"$work/out" 2>&1 &&
	fail "./dev install with a build that fails"
grep -q 'error: broken' "$work/out" || fail "./dev install: why the build failed"
exit $failed
