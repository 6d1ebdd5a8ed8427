#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh LIST MODULES DEFAULT_DIR: which provider libraries are loaded, and which are
# refused with which words. LIST prints what fi_getinfo returns, MODULES holds the
# variants of the test module, DEFAULT_DIR is where the library looks by itself.
set -u
list=$1 modules=$2 default_dir=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
count=0
unset "${!FI_@}" LD_LIBRARY_PATH

# dir NAME VARIANT...: a directory of modules, each called lib<variant>-fi.so.
dir() {
	local name=$work/$1 variant
	shift
	mkdir -p "$name"
	for variant; do
		cp "$modules/lib$variant-fi.so" "$name/"
	done
	echo "$name"
}

# run [VAR=VALUE...]: LIST under these variables. Leaves $out, without the providers
# that the library has built in, and $log.
run() {
	env FI_LOG_LEVEL=warn "$@" "$list" >"$work/out" 2>"$work/log" ||
		echo "error: status $?" >>"$work/out"
	out=$(grep -E '^(testprov|elder|secure|error: |.* (ordered|level)_)' "$work/out")
	log=$(cat "$work/log")
}

result() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		printf 'output:\n%s\nlog:\n%s\n' "$out" "$log" | sed 's/^/# /'
	fi
}

skip() {
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

# expect NAME OUTPUT [PATTERN...]: the last run printed this and logged all of these.
expect() {
	local name=$1 bad=0 pattern
	[ "$out" = "$2" ] || bad=1
	shift 2
	for pattern; do
		grep -qE -- "$pattern" <<<"$log" || bad=1
	done
	result $bad "$name"
}

quiet() {
	local bad=0
	[ -z "$log" ] || bad=1
	result $bad "$1"
}

good=$(dir good good)
newer=$(dir newer newer)

# ---- directories (PRV-007, PRV-008, PRV-018) ------------------------------------
run FI_PROVIDER_PATH="$good"
expect "a directory is searched" "testprov good 1.0"
quiet "nothing is said about a good provider"

run FI_PROVIDER_PATH="$work/nowhere:$good::"
expect "a missing directory is skipped" "testprov good 1.0" "from $work/nowhere: No such"

mixed=$(dir mixed good)
cp "$modules/libnewer-fi.so" "$mixed/libnewer-fi.so.1"
cp "$modules/libnewer-fi.so" "$mixed/libnewer.so"
cp "$modules/libtwin-fi.so" "$mixed/-fi.so"
run FI_PROVIDER_PATH="$mixed"
expect "only files called *-fi.so count" "testprov twin 1.0"
rm "$mixed/-fi.so"
run FI_PROVIDER_PATH="$mixed"
expect "others stay unread" "testprov good 1.0"
quiet "and unmentioned"

out=$(env FI_PROVIDER_PATH="$good" "$list" 2.6 fabric | grep -A1 testprov)
expect "its fabric opens" "$(printf 'testprov good 1.0\nopened 0')"

# ---- which of one name (PRV-019, PRV-020) ----------------------------------------
run FI_PROVIDER_PATH="$good:$newer"
expect "the newest wins" "testprov newer 1.1"
run FI_PROVIDER_PATH="@$good:$newer"
expect "with @ the first wins" "testprov good 1.0"
run FI_PROVIDER_PATH="$good:$(dir twin twin)"
expect "of two equals the first wins" "testprov good 1.0"
run FI_PROVIDER_PATH="$newer:+$good/libgood-fi.so"
expect "a preferred file wins" "testprov good 1.0"
run FI_PROVIDER_PATH="@$newer:+$good/libgood-fi.so"
expect "a preferred file wins over @" "testprov good 1.0"
run FI_PROVIDER_PATH="$good:+$good/libgood-fi.so:$newer"
expect "a preferred file wins from a directory that is searched" "testprov good 1.0"
run FI_PROVIDER_PATH="+$mixed/libnewer.so"
expect "a preferred file may have any name" "testprov newer 1.1"
run FI_PROVIDER_PATH="$good:+libnewer-fi.so:+$work/none-fi.so"
expect "a preferred file needs a whole path" "testprov good 1.0" \
	"libnewer-fi.so is not loaded: .* must begin with /" \
	"none-fi.so is not loaded: No such file"
run FI_PROVIDER_PATH="$good:$good" TRACE_MODULES=1
expect "a directory named twice starts its providers once" "testprov good 1.0"
result $(($(grep -c started <<<"$log") - 1)) "once"

# ---- broken files (PRV-009, PRV-011, PRV-012) ------------------------------------
# refused NAME VARIANT WORDS: the variant costs one warning and nothing else.
refused() {
	run FI_PROVIDER_PATH="$(dir "bad-$2" "$2"):$good"
	expect "refused: $1" "testprov good 1.0" "$2-fi.so .*: .*$3"
	result $(($(grep -c '<warn>' <<<"$log") - 1)) "refused with one warning: $1"
}
refused "no fi_prov_ini" noini "it has no fi_prov_ini"
refused "fi_prov_ini returns NULL" null "returned nothing"
refused "no name" noname "its name is not"
refused "a name with ;" badname "its name is not"
refused "a name of 64 letters" longname "its name is not"
refused "made for an interface before 1.3" api12 "older than 1.3"
refused "no fabric callback" nofabric "no fabric callback"

# broken NAME WORDS: what stands in $work/broken costs one warning and nothing else.
broken() {
	run FI_PROVIDER_PATH="$work/broken:$good"
	expect "not loaded: $1" "testprov good 1.0" "libx-fi.so is not loaded: .*$2"
	result $(($(grep -c '<warn>' <<<"$log") - 1)) "not loaded, with one warning: $1"
	rm -rf "$work/broken"
	mkdir "$work/broken"
}
mkdir "$work/broken"
x=$work/broken/libx-fi.so
echo text >"$x"
broken "not ELF" "not a shared library"
: >"$x"
broken "empty" "not a shared library"
mkdir "$x"
broken "a directory" "not a file"
mkfifo "$x"
broken "a FIFO" "not a file"
ln -s /dev/zero "$x"
broken "a device" "not a file"
ln -s "$work/gone" "$x"
broken "a link to nothing" "No such file"
ln -s libx-fi.so "$x"
broken "a link to itself" "symbolic links"
cp "$list" "$x" && printf '\x02' | dd of="$x" bs=1 seek=16 conv=notrunc status=none
broken "a program" "not a shared library"
for part in 3 30 300 1000 4000 8000; do
	head -c "$part" "$good/libgood-fi.so" >"$x"
	broken "cut after $part bytes" "(cut short|not a shared library)"
done
cp "$good/libgood-fi.so" "$x" && printf '\x03' | dd of="$x" bs=1 seek=18 conv=notrunc status=none
broken "another machine" "another machine"
cp "$good/libgood-fi.so" "$x" && printf '\x01' | dd of="$x" bs=1 seek=4 conv=notrunc status=none
broken "32 bits" "another machine"

run FI_PROVIDER_PATH="$good/libgood-fi.so"
expect "a file is not a directory" "" "from $good/libgood-fi.so: Not a directory"
long=$(printf '%05000d' 0)
run FI_PROVIDER_PATH="/$long:+/$long:$good"
expect "paths that are too long" "testprov good 1.0" "File name too long"

# ---- versions (GI-040) -----------------------------------------------------------
elder=$(dir elder api19)
run FI_PROVIDER_PATH="$elder"
expect "not asked for a newer interface" ""
out=$(env FI_PROVIDER_PATH="$elder" "$list" 1.9 | grep elder)
expect "asked for its own" "elder api19 1.0"

# ---- who may have written it -----------------------------------------------------
mine=$(dir mine good)
if [ "$(id -u)" = 0 ]; then
	chown 4711 "$mine/libgood-fi.so"
	run FI_PROVIDER_PATH="$mine"
	expect "root: a file of another user" "" "belongs to another user"
	chown 0 "$mine/libgood-fi.so"
	chmod 666 "$mine/libgood-fi.so"
	run FI_PROVIDER_PATH="$mine"
	expect "root: a file that all may write" "" "everybody may write"
	chmod 644 "$mine/libgood-fi.so"
	chown 4711 "$mine"
	run FI_PROVIDER_PATH="$mine"
	expect "root: a directory of another user" "" "from $mine: .*another user"
	run FI_PROVIDER_PATH="+$mine/libgood-fi.so"
	expect "root: a preferred file there" "" "belongs to another user"
	chown 0 "$mine"
	chmod 1777 "$mine"
	run FI_PROVIDER_PATH="$mine"
	expect "root: a directory that all may write" "" "from $mine: everybody"
	mkdir "$work/links"
	ln -s "$mine/libgood-fi.so" "$work/links/libgood-fi.so"
	run FI_PROVIDER_PATH="$work/links"
	expect "root: a link into such a directory" "" "everybody may write"
	chmod 755 "$mine"
	run FI_PROVIDER_PATH="$work/links"
	expect "root: a link into a good one" "testprov good 1.0"
else
	skip "root's providers" "needs root"
fi

cp "$list" "$work/special"
if [ "$(id -u)" = 0 ] && chown 65534 "$work/special" && chmod 4755 "$work/special" &&
	"$work/special" 2>/dev/null | grep -q secure; then
	list=$work/special run FI_PROVIDER_PATH="$good"
	expect "set-user-id: the path is ignored" "secure" "FI_PROVIDER_PATH is ignored"
else
	skip "set-user-id" "needs root and a file system with such programs"
fi

# ---- the end of the process (PRV-013) --------------------------------------------
run FI_PROVIDER_PATH="$good" TRACE_MODULES=1
expect "the end" "testprov good 1.0" \
	"started, its parameter is -61" "cleanup, its parameter is -2"
run FI_PROVIDER_PATH="$good:$newer" TRACE_MODULES=1
expect "the one that is not used goes at once" "testprov newer 1.1" \
	"good: cleanup, its parameter is -2" "newer: cleanup"
events=$(sed -n 's/^module good: \([a-z]*\).*/\1/p' <<<"$log" | paste -sd ' ')
[ "$events" = "started cleanup unloaded" ]
result $? "its library goes last"

# ---- the fixed order (GI-050, PRV-022); ofi_rxm answers only where it is named -----
run FI_PROVIDER_PATH="$(dir order ordered_udp ordered_shm ordered_tcp ordered_rxm ordered_efa good)" \
	FI_PROVIDER=^lnx
expect "order of providers" "efa ordered_efa 9999.0
tcp ordered_tcp 9999.0
shm ordered_shm 9999.0
udp ordered_udp 9999.0
testprov good 1.0"
run FI_PROVIDER_PATH="$(dir level level_udp)" FI_PROVIDER=udp
expect "a loaded provider wins over an equal one built in" "udp level_udp 206.0"

# ---- places that are searched by themselves (PRV-015, PRV-016, PRV-021, PRV-023) --
mkdir "$work/ld"
cp "$modules/libordered_tcp-fi.so" "$work/ld/libtcp-fi.so"
cp "$modules/libordered_rxm-fi.so" "$work/ld/librxm-fi.so"
cp "$modules/libgood-fi.so" "$work/ld/libgood-fi.so"
run LD_LIBRARY_PATH="$work/ld"
if [ -n "${WEFT_RESTRICTED_DL:-}" ]; then
	expect "the loader path is not used" "" # PRV-024
else
	expect "known names on the loader path" "tcp ordered_tcp 9999.0"
fi
run LD_LIBRARY_PATH="$work/ld" FI_PROVIDER_PATH=
expect "not with FI_PROVIDER_PATH set, even empty" ""
run LD_LIBRARY_PATH="$work/ld" FI_PROVIDER_PATH="$good"
expect "nor with a directory in it" "testprov good 1.0"
head -c 4000 "$modules/libgood-fi.so" >"$work/ld/libtcp-fi.so"
echo text >"$work/ld/librxm-fi.so"
echo text >"$work/ld/libtcp-fi.so"
[ -n "${WEFT_RESTRICTED_DL:-}" ] || {
	run LD_LIBRARY_PATH="$work/ld"
	expect "a broken one is named" "" "libtcp-fi.so is not loaded" "librxm-fi.so is not"
}

# in_default COMMAND...: with the module in the default directory, seen by it alone.
cat >"$work/in_default" <<-'EOF'
	#!/bin/sh
	mount -t tmpfs -o mode=755 none "$ANCHOR" && mkdir -p "$DEFAULT" &&
		cp "$MODULE" "$DEFAULT/" && exec "$LIST"
EOF
chmod 755 "$work/in_default"
anchor=$default_dir
while [ ! -d "$anchor" ]; do anchor=$(dirname "$anchor"); done
in_default=(ANCHOR="$anchor" DEFAULT="$default_dir" MODULE="$modules/libgood-fi.so"
	LIST="$list")
run_default() {
	out=$(env FI_LOG_LEVEL=warn "${in_default[@]}" "$@" unshare -rm "$work/in_default" \
		2>"$work/log" | grep -E '^testprov')
	log=$(cat "$work/log")
}
if [ "$anchor" != / ] && unshare -rm mount -t tmpfs none "$anchor" 2>/dev/null; then
	run_default
	expect "the default directory" "testprov good 1.0"
	run_default FI_PROVIDER_PATH=
	expect "the default directory: empty path" "testprov good 1.0"
	run_default FI_PROVIDER_PATH=@
	expect "the default directory: @ alone" "testprov good 1.0"
	run_default FI_PROVIDER_PATH="+$work/none"
	expect "the default directory: preferred alone" "testprov good 1.0"
	run_default FI_PROVIDER_PATH="$work/broken"
	expect "not the default directory: another one named" ""
else
	skip "the default directory" "needs a mount namespace"
fi

echo "1..$count"
