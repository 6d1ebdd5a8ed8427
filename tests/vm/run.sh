#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh [-o RESULTS.xml] BUILD quick|all|TEST...: run the tests of this folder in a guest,
# quick those that end within two minutes, with the library and the programs in BUILD.
# Those on one host share one boot; those on two hosts (two_*.sh) another. Prints a line for
# each and the output of those that failed; writes them as JUnit, too. Exit status 77: there
# are no guests here.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
results=
while getopts o: option; do
	case $option in
	o) results=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || { sed -n 's/^# \(run.sh .*\)/usage: \1/p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd) || exit 2
# shellcheck source=tests/limits.sh
. "$here/../limits.sh"

"$build/tools/fi_info" -l 2>/dev/null | grep -q '^verbs' ||
	{ echo "skipped: the library in $1 has no provider verbs"; exit 77; }
shift

# Seconds for each test on an idle machine that is not emulated; 0 are those of in_guest.sh.
most=0
[ "$1" != quick ] || most=40

# The names of a list: its own lines, and with "all" those of quick.list, too.
names_of() {
	case $1 in
	quick) sed 's/#.*//' "$here/quick.list" ;;
	all) sed 's/#.*//' "$here/quick.list" "$here/all.list" ;;
	*) printf '%s\n' "$*" ;;
	esac
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/out"
mapfile -t names < <(names_of "$@" | tr ' ' '\n' | sed '/^$/d')
one=()
two=()
for name in "${names[@]}"; do
	case $name in
	two_*) two+=("$name") ;;
	*) one+=("$name") ;;
	esac
done

# missing NAME...: those without a line in the results.
missing() {
	local name
	for name; do
		grep -q "^$name	" "$scratch/out/results" || echo "$name"
	done
}

# guests HOSTS NAME...: what a guest that stopped or ended early did not reach gets one more.
guests() {
	local hosts=$1 status attempt name names
	shift
	for attempt in 1 2; do
		[ $# -gt 0 ] || return 0
		[ "$attempt" = 1 ] || echo "once more, in a new guest: $*"
		status=0
		"$here/guest-run" -n "$hosts" -t $((60 + (most ? 2 * most : 1200) * $#)) \
			-o "$scratch/out" -e "WEFT_BUILD=$build" -e "WEFT_SHORT=${WEFT_SHORT:-}" \
			-e "WEFT_MOST=$most" bash "$here/in_guest.sh" "$@" 2>&1 | tee "$scratch/said" ||
			status=$?
		[ $status != 77 ] || { cat "$scratch/said"; exit 77; }
		mapfile -t names < <(missing "$@")
		set -- "${names[@]}"
	done
	# What makes an emulated machine stop twice is not a test.
	[ $# = 0 ] || [ $status != 75 ] || echo "skipped, two guests stopped: $*"
	for name; do
		if [ $status = 75 ]; then
			printf '%s\tskipped\t0\n' "$name"
		else
			printf '%s\tfailed\t0\n' "$name"
		fi >>"$scratch/out/results"
	done
}

: >"$scratch/out/results"
guests 1 "${one[@]}"
guests 2 "${two[@]}"

failed=0
{
	echo "<testsuite>"
	while IFS=$'\t' read -r name result seconds; do
		echo "<testcase classname='vm' name='$name' time='$seconds'>"
		case $result in
		failed)
			echo "<failure/>"
			failed=1
			echo "FAILED: $name" >&2
			tail -n 40 "$scratch/out/$name".*.log >&2 || true
			;;
		skipped) echo "<skipped/>" ;;
		esac
		echo "</testcase>"
	done <"$scratch/out/results"
	echo "</testsuite>"
} >"$scratch/results.xml"
[ -z "$results" ] || cp "$scratch/results.xml" "$results"
exit $failed
