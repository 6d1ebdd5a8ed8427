#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# new_provider.sh SOURCE BUILD
#
# The commands of docs/new-provider.md that build a provider outside of the tree, as
# printed.
set -euo pipefail
export WEFT=$1 BUILD=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$WEFT"/examples/provider/*.[ch] "$dir"
cd "$dir"
commands=$(sed -n '/^    cc -shared/,/fi_info/s/^    //p' "$WEFT/docs/new-provider.md")
[ -n "$commands" ]
bash -ec "$commands" >out
head -2 out
grep -q '^provider: loop' out
