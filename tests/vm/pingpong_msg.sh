#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# fi_pingpong over connected endpoints, the data verified: ours, and the distribution's
# program on our library.
# shellcheck source=tests/vm/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

for program in "$our_pingpong" "$debian_pingpong"; do
	pair "$rxe_address" ours "$program" ours "$program" -p verbs -e msg -c -I 10
	check_pair "$program" 6
done
finish
