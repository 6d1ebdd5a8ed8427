#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# kernel.sh FOLDER: leave the kernel of this Debian release in FOLDER as vmlinux, with the
# modules that a guest with soft-RoCE needs in FOLDER/modules. The package is downloaded
# and unpacked, not installed. Does nothing where FOLDER has them already. Exit status 77
# with a reason: no package can be had.
set -euo pipefail
folder=$1

# Dependencies come with them. crc32_generic: soft-RoCE opens it by name only.
wanted=(virtio_pci virtio_net 9pnet_virtio 9p overlay crc32_generic crc32c_generic
	rdma_rxe rdma_cm ib_uverbs rdma_ucm ib_umad veth)

skip() {
	echo "skipped: $1"
	exit 77
}

# The meta-package depends on the package of the kernel itself.
kernel_package() {
	apt-cache depends linux-image-amd64 2>/dev/null |
		sed -n 's/^ *Depends: *\(linux-image-[0-9].*\)$/\1/p' | head -n 1
}

# The kernel inside its own decompressor, which takes seconds where the processor is
# emulated: the end of the file is an xz stream somewhere, the loader's notes are inside.
unwrap() { # bzImage, destination
	local at
	for at in $(LC_ALL=C grep -obUaP '\xfd7zXZ\x00' "$1" | cut -d: -f1); do
		# Bytes after the stream make xz complain at the end of what is right.
		tail -c +$((at + 1)) "$1" | xz -dc --single-stream >"$2" 2>/dev/null || true
		[ "$(head -c 4 "$2" | tail -c 3)" != ELF ] || return 0
	done
	cp "$1" "$2"
}

# with_dependencies MODULES.DEP NAME...: the files of these modules and of all that they
# need, each once.
with_dependencies() {
	local dep=$1
	shift
	awk -v names="$*" '
		BEGIN { split(names, list, " "); for (i in list) wanted[list[i]] = 1 }
		{
			name = $1
			gsub(/.*\/|\.ko:$/, "", name)
			if (name in wanted)
				for (i = 1; i <= NF; i++) {
					sub(/:$/, "", $i)
					print $i
				}
		}' "$dep" | sort -u
}

[ ! -e "$folder/modules/modules.dep" ] || exit 0
for tool in apt-get dpkg xz busybox; do
	command -v "$tool" >/dev/null || skip "$tool is not here"
done
package=$(kernel_package)
[ -n "$package" ] || skip "no kernel package is known"
mkdir -p "$folder"
scratch=$(mktemp -d "$folder/unpack.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && timeout 300 apt-get download -qq "$package" >download.log 2>&1) ||
	skip "cannot download $package"
dpkg -x "$scratch"/*.deb "$scratch/tree"
version=$(basename "$scratch"/tree/boot/vmlinuz-*)
version=${version#vmlinuz-}
tree=$scratch/tree/lib/modules/$version
[ -d "$tree" ] || tree=$scratch/tree/usr/lib/modules/$version
busybox depmod -b "$scratch/tree" "$version"
unwrap "$scratch/tree/boot/vmlinuz-$version" "$folder/vmlinux"

rm -rf "$folder/modules.new"
mkdir -p "$folder/modules.new"
with_dependencies "$tree/modules.dep" "${wanted[@]}" | while read -r file; do
	mkdir -p "$folder/modules.new/$(dirname "$file")"
	cp "$tree/$file" "$folder/modules.new/$file"
	grep "^$file:" "$tree/modules.dep" >>"$folder/modules.new/modules.new.dep"
done
printf '%s\n' "${wanted[@]}" >"$folder/modules.new/wanted"
echo "$version" >"$folder/version"
mv "$folder/modules.new/modules.new.dep" "$folder/modules.new/modules.dep"
rm -rf "$folder/modules"
mv "$folder/modules.new" "$folder/modules"
