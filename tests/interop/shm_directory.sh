#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What becomes of shm where /dev/shm is read-only, full or taken by somebody: an answer
# and a reason, or it works. Needs mounts of its own.
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

# Memory of connections is not taken from there.
fresh size=4k
head -c 4096 /dev/zero >/dev/shm/full
opens "a full /dev/shm"

fresh nr_inodes=1
refuses "no room for the directory" 'directory of our sockets: No space left'
fresh nr_inodes=2
refuses "no room for a socket" 'No space left'

fresh rw
mkdir -m 755 "$mine"
refuses "a directory open to others" 'with mode 755, possible user 0 with mode 700'
fresh rw
ln -s /tmp "$mine"
refuses "a link" 'directory of our sockets: '
if chown 12345 /dev/shm 2>/dev/null; then
	fresh rw
	mkdir -m 700 "$mine"
	chown 12345 "$mine"
	refuses "another user's directory" 'is of user 12345 with mode 700'
fi
finish
