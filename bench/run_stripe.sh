#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_stripe.sh BUILD [ROUNDS [RATE0 [RATE1]]]: what striping over two rails gives. Two
# hosts of network namespaces with two rails between them, limited to the rates (of tc(8),
# by default 1gbit); one large tagged message after the other, over one rail, over two
# without striping and with it: of fi_bench, and of NetPIPE with Open MPI, one rank on each
# host. Needs root.
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

# one LINKS SIZE STRIPE: megabytes per second of fi_bench
one() {
	local links=$1 size=$2 server port=$((47600 + RANDOM % 300))
	local setting=(FI_LNX_PROV_LINKS="$links" FI_LNX_STRIPE_SIZE="$3")
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

# mpi LINKS SIZE STRIPE: megabytes per second of NetPIPE
mpi() {
	local name exports=()
	for name in LD_LIBRARY_PATH FI_PROVIDER FI_LNX_PROV_LINKS FI_LNX_STRIPE_SIZE; do
		exports+=(-x "$name")
	done
	on 0 timeout 60 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		LD_LIBRARY_PATH="$build/src" FI_PROVIDER=lnx FI_LNX_PROV_LINKS="$1" \
		FI_LNX_STRIPE_SIZE="$3" mpirun.openmpi -n 2 --host 10.90.0.1,10.90.0.2 \
		"${by_shell[@]}" --bind-to none --mca pml cm --mca mtl ofi \
		--mca mtl_ofi_provider_include lnx "${exports[@]}" \
		NPopenmpi -o /dev/null -l "$2" -u "$2" -p 0 -n $((5 + (64 << 20) / $2)) 2>&1 |
		sed -n 's/.* \([0-9.]*\) Mbps in.*/\1/p' | tail -n 1 |
		awk '{ printf "%.0f", $1 * 1048576 / 8e6 }'
}

median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

# table COMMAND SIZE...: sizes down, ways across
table() {
	local command=$1 size way links stripe
	local ways=('tcp:rail0 0' 'tcp:rail0,rail1 0' 'tcp:rail0,rail1 262144')
	printf '%10s %10s %10s %10s\n' bytes 'one rail' two striped
	for size in "${@:2}"; do
		for ((i = 0; i < rounds; i++)); do
			for way in "${!ways[@]}"; do
				read -r links stripe <<<"${ways[way]}"
				$command "$links" "$size" "$stripe" >>"$dir/$command.$way.$size"
				echo >>"$dir/$command.$way.$size"
			done
		done
		printf '%10d' "$size"
		for way in "${!ways[@]}"; do
			printf ' %10s' "$(median <"$dir/$command.$way.$size")"
		done
		printf '\n'
	done
}

printf 'rails of %s and %s, one message at a time, MB/s, median of %d\n' "${rates[@]}" \
	"$rounds"
sizes=(1048576 4194304 16777216)
table one "${sizes[@]}" 67108864
if [ -n "$(command -v mpirun.openmpi)" ] && [ -n "$(command -v NPopenmpi)" ]; then
	make_shell "$dir/shell"
	printf 'Open MPI, to and fro\n'
	table mpi "${sizes[@]}"
else
	echo 'without Open MPI and NetPIPE: not measured with them' >&2
fi
