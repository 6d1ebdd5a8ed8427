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
[ "$failures" = 0 ] || cat "$scratch/info"
finish
