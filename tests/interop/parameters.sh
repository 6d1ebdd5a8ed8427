# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Every variable of a provider, as fi_info lists them, is in its man page; and the page
# names none that the library does not know.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/interop/lib.sh
. "$here/lib.sh"

checked=0
for provider in $("$our_info" -l | sed -n 's/^\([a-z_]*\):$/\1/p'); do
	# off_coll is in fi_coll(7), ofi_rxm in fi_rxm(7), hooks are in fi_hook(7).
	page=$here/../../man/man7/fi_${provider#of*_}.7
	[[ $provider != ofi_hook_* ]] || page=$here/../../man/man7/fi_hook.7
	prefix=FI_${provider^^}_
	"$our_info" -g "$prefix" | sed -n "s/^# \(${prefix}[A-Z0-9_]*\): .*/\1/p" |
		sort -u >"$scratch/known"
	# A name that stands for another provider has neither variables nor a page.
	if [ ! -f "$page" ] && [ ! -s "$scratch/known" ]; then
		grep -q "^\.BR* .*$provider" "$here/../../man/man7/fi_provider.7" ||
			fail "$provider is in no man page"
		continue
	fi
	[ -f "$page" ] || { fail "$provider has no man page"; continue; }
	grep -o "${prefix}[A-Z0-9_]*" "$page" | sort -u >"$scratch/told"
	same_names "fi_$provider(7)"
	checked=$((checked + 1))
done
[ "$checked" -gt 0 ] || fail "no provider was listed"
finish
