#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What becomes of shm where /dev/shm is read-only, full or has another user's files of our
# names: an answer and a reason, or it works. Needs mounts of its own.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

if [ -z "${SHM_DIRECTORY_INSIDE:-}" ]; then
	export SHM_DIRECTORY_INSIDE=1
	options=(--mount)
	[ "$(id -u)" = 0 ] || options+=(--map-root-user)
	unshare "${options[@]}" true 2>/dev/null || skip "no mount namespace to be had"
	unshare "${options[@]}" bash "$0"
	exit $?
fi
mine=/dev/shm/weft-$(id -u)

# fresh OPTIONS: an empty /dev/shm.
fresh() {
	umount /dev/shm 2>/dev/null
	mount -t tmpfs -o "$1" none /dev/shm || skip "no file system can be mounted"
}

opens() { # name
	pair 127.0.0.1 ours "$our_pingpong" ours "$our_pingpong" -p shm -e rdm -S 64 -I 10 -c
	check_pair "$1" 1
}

refuses() { # name status log
	server_env=(FI_LOG_LEVEL=warn FI_LOG_PROV=shm)
	pair 127.0.0.1 ours "$our_pingpong" ours "$our_pingpong" -p shm -e rdm -S 64 -I 10
	server_env=()
	[ "$client_status" != 0 ] || fail "$1: the client succeeds"
	[ "$server_status" != 0 ] || fail "$1: the server succeeds"
	grep -q "$2" "$scratch/server.err" || {
		fail "$1: no '$2' in the log"
		cat "$scratch/server.err"
	}
	echo "$1: done"
}

fresh rw
opens "a /dev/shm that is empty"

fresh ro
with ours "$our_info" -p shm --why >"$scratch/out" 2>&1
grep -q 'refused: shared memory: /dev/shm cannot be used: Read-only file system' \
	"$scratch/out" || fail "read-only: $(cat "$scratch/out")"

# transport SETTING TEXT: what tcp says of peers on this machine.
transport() {
	FI_TCP_LOCAL=$1 with ours "$our_info" --why -p tcp -t FI_EP_RDM >"$scratch/out" 2>&1
	grep -qF "transport: peers on this machine: $2" "$scratch/out" || fail "$2: $(cat "$scratch/out")"
}
transport auto 'sockets: shm is not available: No data available (FI_TCP_LOCAL=auto)'
transport shm 'refused: shm is not available: No data available (FI_TCP_LOCAL=shm)'
fresh rw
transport auto 'shared memory, or sockets where'
boot_id=/proc/sys/kernel/random/boot_id
if mount --bind /dev/null $boot_id; then
	transport auto 'sockets: the identity of the running kernel is not available: '
	umount $boot_id
fi

# Memory of connections is not taken from there.
fresh size=4k
head -c 4096 /dev/zero >/dev/shm/full
opens "a full /dev/shm"

fresh nr_inodes=1
refuses "no room for the directory" 'directory of our sockets: No space left'
fresh nr_inodes=2
refuses "no room for a socket" 'No space left'

# with_taken NAME: it works, one line says why the sockets are elsewhere, and they are gone
# afterwards.
with_taken() {
	server_env=(FI_LOG_LEVEL=warn FI_LOG_PROV=shm)
	opens "$1"
	server_env=()
	[ "$(grep -c "$mine is not a directory of user" "$scratch/server.err")" = 1 ] || {
		fail "$1: not one line that says so"
		cat "$scratch/server.err"
	}
	[ "$(find /dev/shm -mindepth 1 ! -path "$mine" | wc -l)" = 0 ] ||
		fail "$1: left behind: $(ls /dev/shm)"
	[ -z "$(ls "$mine")" ] || fail "$1: in the directory: $(ls "$mine")"
}

fresh rw
mkdir -m 755 "$mine"
with_taken "a directory open to others"
fresh rw
mkdir /tmp/weft-target.$$
ln -s /tmp/weft-target.$$ "$mine"
with_taken "a link"
rmdir /tmp/weft-target.$$
if chown 12345 /dev/shm 2>/dev/null; then
	fresh rw
	mkdir -m 700 "$mine"
	chown 12345 "$mine"
	with_taken "another user's directory"
	# Nor do those help that look as if they were ours, in any number.
	for i in 1 2 3 4 5 6 7 8 9; do
		mkdir -m 700 "$mine.000000000000000$i"
		chown 12345 "$mine.000000000000000$i"
	done
	opens "many directories of another user"
fi
finish
