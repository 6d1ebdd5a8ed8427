#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_stripe.sh BUILD [ROUNDS [RATE0 [RATE1]]]: what striping over two rails gives. Two
# hosts of network namespaces with two rails between them, limited to the rates (of tc(8),
# by default 1gbit); one large tagged message after the other, over one rail, over two
# without striping and with it. Needs root.
set -uo pipefail
build=$(cd "$1" && pwd)
rounds=${2:-3}
rates=("${3:-1gbit}" "${4:-${3:-1gbit}}")
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/netns/hosts.sh
. "$here/../tests/netns/hosts.sh"
# Without namespaces the other benchmarks go on.
skip() {
	echo "skipped: $1"
	exit 0
}
make_hosts 2
for rail in 0 1; do
	for host in 0 1; do
		on $host tc qdisc add dev rail$rail root tbf rate "${rates[rail]}" \
			burst 256kb latency 50ms || skip "no limit of the rate"
	done
done

# one LINKS SIZE [VARIABLE=VALUE]: megabytes per second
one() {
	local links=$1 size=$2 server port=$((47600 + RANDOM % 300))
	shift 2
	local setting=(FI_LNX_PROV_LINKS="$links" "$@")
	on 0 env "${setting[@]}" "$build/tools/fi_bench" -S -P $port -p lnx \
		>"$dir/served" 2>&1 &
	server=$!
	sleep 0.3
	on 1 env "${setting[@]}" "$build/tools/fi_bench" -p lnx -t bandwidth -s "$size" \
		-w 1 --touch no -D 1 -P $port --csv - -q 10.90.0.1 2>"$dir/log" |
		awk -F, -v size="$size" 'NR == 2 { printf "%.0f", size / $14 * 1000 }'
	kill $server 2>/dev/null
	wait $server 2>/dev/null
}

median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

printf 'rails of %s and %s, one message at a time, MB/s, median of %d\n' "${rates[@]}" \
	"$rounds"
printf '%10s %10s %10s %10s\n' bytes 'one rail' two striped
for size in 1048576 4194304 16777216 67108864; do
	for ((i = 0; i < rounds; i++)); do
		one tcp:rail0 $size >>"$dir/a.$size"
		echo >>"$dir/a.$size"
		one tcp:rail0,rail1 $size FI_LNX_STRIPE_SIZE=0 >>"$dir/b.$size"
		echo >>"$dir/b.$size"
		one tcp:rail0,rail1 $size FI_LNX_STRIPE_SIZE=262144 >>"$dir/c.$size"
		echo >>"$dir/c.$size"
	done
	printf '%10d %10s %10s %10s\n' $size "$(median <"$dir/a.$size")" \
		"$(median <"$dir/b.$size")" "$(median <"$dir/c.$size")"
done
