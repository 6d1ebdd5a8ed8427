#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What fi_info says of the device.
# shellcheck source=tests/vm/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

with ours "$our_info" -p verbs -v >"$scratch/info" || fail "fi_info -p verbs exits with $?"
for line in 'type: FI_EP_MSG' 'type: FI_EP_DGRAM' 'name: rxa$' "fi_sockaddr_in://$rxe_address:" \
	'protocol: FI_PROTO_RDMA_CM_IB_RC' 'protocol: FI_PROTO_IB_UD' 'state: FI_LINK_UP'; do
	grep -q "$line" "$scratch/info" || fail "fi_info -p verbs -v has no $line"
done
# What a program that asks for no provider, as most do, takes for unconnected endpoints.
for hints in "" "-p verbs" "-p verbs;ofi_rxm"; do
	# shellcheck disable=SC2086
	first=$(with ours "$our_info" $hints -t FI_EP_RDM | sed -n 's/^provider: //p' | head -n 1)
	[ "$first" = 'verbs;ofi_rxm' ] || fail "the first answer for FI_EP_RDM, $hints: $first"
done
# Layers over others are there for programs that look for their names, behind the others.
behind=$(with ours "$our_info" -t FI_EP_RDM | sed -n 's/^provider: //p' | uniq | tr '\n' ' ')
case $behind in
*'tcp;ofi_rxm'*' tcp '*) fail "a layer is answered before what does not need it: $behind" ;;
*'tcp;ofi_rxm'*) ;;
*) fail "tcp;ofi_rxm is not answered: $behind" ;;
esac
first=$(FI_PROVIDER=verbs with ours "$our_info" -t FI_EP_RDM | sed -n 's/^provider: //p' | head -n 1)
[ "$first" = 'verbs;ofi_rxm' ] || fail "with FI_PROVIDER=verbs: $first"
[ "$failures" = 0 ] || cat "$scratch/info"
finish
