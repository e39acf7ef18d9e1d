# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Builds the guest's kernels. A kernel is a VERSION of tools/kernel/KERNELS in a FLAVOUR, plain or debug.
#
#   $CACHE/package/PACKAGE_PACKAGEVERSION_all.deb  the source package, if this machine's release doesn't have it
#   $CACHE/source/PACKAGE-PACKAGEVERSION/       the unpacked source; builds are out of tree
#   $CACHE/kernel/VERSION-FLAVOUR-KEY/          its build folder; complete if it has the file `done`. With --llvm it is
#                                               VERSION-llvm-FLAVOUR-KEY.
#
# KEY is a hash of the source's package version, the compiler and the configuration without comments, so a changed
# option or an updated package makes a new kernel and keeps the old one. make continues an interrupted build.

KERNEL_D=$REPO/tools/kernel
LLVM='' # kbuild's variable: 1 with --llvm, to build kernel and modules with clang and LLVM's tools

# is_stock KERNEL: succeeds for a distribution's unmodified kernel: see stock.sh.
is_stock() { [[ $1 == stock-* ]]; }

all_kernels() { awk '!/^#/ && NF { print $1 }' "$KERNEL_D/KERNELS"; }

# Prints the kernel of this machine's release, or else the first one in KERNELS.
default_kernel() {
	awk -v release="$(os_release VERSION_CODENAME)" '
		/^#/ || !NF { next }
		!first { first = $1 }
		{ for (i = 3; i <= NF; i++) if ($i == release) own = $1 }
		END { print own ? own : first }' "$KERNEL_D/KERNELS"
}

kernel_package() {
	local package
	package=$(awk -v v="$1" '!/^#/ && $1 == v { print $2 }' "$KERNEL_D/KERNELS")
	[[ $package ]] || usage_error "unknown kernel '$1' (valid: $(all_kernels | xargs))"
	echo "$package"
}

# kernel_suites VERSION: prints the suites to fetch the source from; none if this machine's release has the package,
# which we install then.
kernel_suites() {
	awk -v v="$1" -v release="$(os_release VERSION_CODENAME)" '
		!/^#/ && $1 == v {
			for (i = 3; i <= NF; i++) { if ($i == release) exit; suites = suites " " $i }
			print suites
		}' "$KERNEL_D/KERNELS" | xargs
}

# kernel_options VERSION FLAVOUR: prints the merged options; later files override earlier ones.
kernel_options() {
	local files=("$KERNEL_D/guest.config")
	[[ $2 == debug ]] && files+=("$KERNEL_D/debug.config")
	[[ -e $KERNEL_D/$1.config ]] && files+=("$KERNEL_D/$1.config")
	sed 's/#.*//; /^[[:space:]]*$/d' "${files[@]}" |
		awk -F= '{ value[$1] = $2 } END { for (name in value) print name "=" value[name] }' | sort
}

# kernel_package_version VERSION: prints the version of the installed or fetched source package.
kernel_package_version() {
	local package file
	package=$(kernel_package "$1")
	if [[ -z $(kernel_suites "$1") ]]; then
		dpkg-query -W -f '${Version}' "$package" || die "package $package is not installed"
	else
		file=$(fetched_package "$package")
		[[ $file ]] || die "package $package has not been downloaded; run tools/vm kernel --kernel $1"
		dpkg-deb --field "$file" Version
	fi
}

# build_name VERSION FLAVOUR: prints the name under which we keep builds for this kernel.
build_name() { echo "$1${LLVM:+-llvm}-$2"; }

# Prints the version line of the compiler for kernel and modules.
kernel_compiler() { "$([[ $LLVM ]] && echo clang || echo gcc)" --version | sed -n 1p; }

# kernel_paths VERSION FLAVOUR: sets KERNEL_SOURCE, KERNEL_BUILD, KERNEL_TARGET and KERNEL_IMAGE.
kernel_paths() {
	local version key
	version=$(kernel_package_version "$1") || exit
	KERNEL_SOURCE=$CACHE/source/$(kernel_package "$1")-$version
	key=$( (echo "$version" && kernel_compiler && kernel_options "$1" "$2") | sha256sum | cut -c1-12)
	KERNEL_BUILD=$CACHE/kernel/$(build_name "$1" "$2")-$key
	# Booting vmlinux avoids the decompression, which takes about a second in an emulated guest, and 37 objects.
	# This direct boot (PVH) doesn't work with KASAN.
	KERNEL_TARGET=vmlinux
	KERNEL_IMAGE=$KERNEL_BUILD/vmlinux
	[[ $2 == plain ]] || { KERNEL_TARGET=bzImage && KERNEL_IMAGE=$KERNEL_BUILD/arch/x86/boot/bzImage; }
}

# packed_source VERSION: writes the compressed source to standard output.
packed_source() {
	local package
	package=$(kernel_package "$1")
	if [[ -z $(kernel_suites "$1") ]]; then
		cat "/usr/src/$package.tar.xz"
	else
		dpkg-deb --fsys-tarfile "$(fetched_package "$package")" | tar -xO "./usr/src/$package.tar.xz"
	fi
}

# Three quarters of the source, which the guest's kernels don't use. We keep Makefile and Kconfig files, because the
# build reads them.
readonly UNUSED_SOURCES=(
	'arch/[!x]*/*.[chS]' 'arch/[!x]*/*.dts*' 'sound/*.[ch]'
	drivers/{gpu,media,scsi,staging,usb,clk,pinctrl,infiniband,video}'/*.[ch]' 'drivers/net/*/*.[ch]'
	Documentation/'*'.{rst,txt,yaml,svg}
)

unpack_kernel() {
	local partial=$KERNEL_SOURCE.partial unused
	unused=("${UNUSED_SOURCES[@]/#/--exclude=$(kernel_package "$1")/}")
	rm -rf "$partial"
	mkdir -p "$partial" &&
		packed_source "$1" | tar -xJ -C "$partial" --strip-components=1 --anchored "${unused[@]}" &&
		mv "$partial" "$KERNEL_SOURCE"
}

kernel_make() { make -C "$KERNEL_SOURCE" O="$KERNEL_BUILD" LLVM="$LLVM" "$@"; }

# configure_kernel VERSION FLAVOUR: applies the options, and fails if one of them didn't take effect.
configure_kernel() {
	local options=$KERNEL_BUILD/requested.config line lost=0
	mkdir -p "$KERNEL_BUILD" &&
		kernel_options "$1" "$2" >"$options" &&
		kernel_make KCONFIG_ALLCONFIG="$options" allnoconfig || return
	while read -r line; do
		if [[ $line == *=n ]]; then
			! grep -q "^${line%=n}=" "$KERNEL_BUILD/.config" && continue
		else
			grep -qxF "$line" "$KERNEL_BUILD/.config" && continue
		fi
		echo "option did not take effect: $line"
		lost=1
	done <"$options"
	((lost == 0)) && kernel_make -j"$JOBS" prepare modules_prepare
}

# Counts the objects that still have to be compiled, with a dry run. We ignore its errors: it can't link objects that it
# didn't build.
count_objects() { { kernel_make -n -k "$KERNEL_TARGET" modules 2>/dev/null || true; } | grep -c -- ' -c -o ' || true; }

# show_progress PID LOG TOTAL TEXT: follows the build log until the process ends. On a terminal it updates a count;
# elsewhere it prints a percentage after each tenth.
show_progress() {
	local pid=$1 log=$2 total=$3 text=$4 count last=0 tenth
	while kill -0 "$pid" 2>/dev/null; do
		count=$(grep -cE '^  (CC|AS)( \[M\])? ' "$log" || true)
		((count > total)) && count=$total
		if [[ -t 2 ]]; then
			printf '\rvm: %s: %d of %d objects ' "$text" "$count" "$total" >&2
		elif tenth=$((count * 10 / (total + 1))) && ((tenth > last)); then
			printf '%d0%% ' "$tenth" >&2
			last=$tenth
		fi
		sleep 1
	done
}

compile_kernel() {
	local text="kernel $1 $2${LLVM:+ with LLVM}" log=$KERNEL_BUILD/build.log start=$SECONDS total pid rc=0
	total=$(count_objects)
	printf 'vm: %s: %d objects ' "$text" "$total" >&2
	: >"$log" # show_progress may read it before make writes
	begin kernel_make -j"$JOBS" "$KERNEL_TARGET" modules >"$log" 2>&1
	pid=$JOB
	trap 'end_jobs "$pid"; exit 130' INT TERM HUP
	show_progress "$pid" "$log" "$total" "$text"
	wait "$pid" || rc=$?
	trap - INT TERM HUP
	if ((rc)); then
		printf 'failed\n' >&2
		tail -n 30 "$log" >&2
		die "the kernel build failed; the full output is in $log"
	fi
	printf 'done in %s\n' "$(human_time $((SECONDS - start)))" >&2
}

# kernel_is_built VERSION FLAVOUR
kernel_is_built() (kernel_paths "$1" "$2" 2>/dev/null && [[ -e $KERNEL_BUILD/done ]])

make_kernel_locked() {
	[[ -e $KERNEL_BUILD/done ]] && return
	with_lock "$(basename "$KERNEL_SOURCE")" unpack_kernel_once "$1" &&
		step "configuring kernel $1 $2${LLVM:+ with LLVM}" configure_kernel "$1" "$2" &&
		compile_kernel "$1" "$2" &&
		touch "$KERNEL_BUILD/done"
}

unpack_kernel_once() {
	[[ -d $KERNEL_SOURCE ]] || step "unpacking $(kernel_package "$1")" unpack_kernel "$1"
}

ensure_kernel_package() {
	local suites
	read -ra suites < <(kernel_suites "$1")
	((${#suites[@]} == 0)) || ensure_fetched "$(kernel_package "$1")" "${suites[@]}"
}

# ensure_source VERSION: unpacks the source if needed, and sets KERNEL_SOURCE.
ensure_source() {
	ensure_kernel_package "$1" || return
	kernel_paths "$1" plain
	with_lock "$(basename "$KERNEL_SOURCE")" unpack_kernel_once "$1"
}

# ensure_kernel VERSION FLAVOUR: builds the kernel if needed, and sets KERNEL_SOURCE, KERNEL_BUILD and KERNEL_IMAGE.
ensure_kernel() {
	if is_stock "$1"; then
		ensure_stock "$1"
		return
	fi
	ensure_kernel_package "$1" || return
	kernel_paths "$1" "$2"
	[[ -e $KERNEL_BUILD/done ]] || with_lock "$(basename "$KERNEL_BUILD")" make_kernel_locked "$1" "$2"
}
