# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Stock kernels: a Debian suite's unmodified kernel, with that suite's user space. KERNEL is stock-SUITE.
#
#   $CACHE/stock/SUITE/      the system: a root folder with the suite's kernel, its headers, DKMS and compilers
#   build/stock-SUITE/       BUILD of such a run, with user/, modules, results and logs as for other kernels, and
#     packages/              the Debian packages, built in the system
#     changes/               an overlay with the changes that installing them made to the system

readonly USUAL_STOCK_SUITE=sid
# initramfs-init loads these, if the kernel has them as modules.
readonly BOOT_MODULES="virtio_pci virtio_console 9p 9pnet_virtio overlay"
# Files that can't affect the packages.
readonly NOT_PACKAGED='^(tests|\.ci)/'

# choose_stock SUITE
choose_stock() {
	[[ $1 =~ ^[a-z]+$ ]] || usage_error "--kernel stock=$1: not the name of a Debian suite"
	[[ $COMMAND != doctor ]] || usage_error "tools/vm doctor does not support --kernel stock"
	KERNEL=stock-$1
}

# Builds for a system use that system's libraries, so they need a folder of their own.
use_stock_folder() {
	[[ $FLAVOUR == plain ]] || usage_error "--debug: a stock kernel has no debug flavour"
	[[ ! $LLVM ]] || usage_error "--llvm: a stock kernel is already built"
	[[ $ON_HOST == no ]] || usage_error "--host runs the kernel of this machine, not a stock kernel"
	BUILD=$REPO/build/$KERNEL
}

stock_packages() { sed 's/#.*//' "$REPO/tools/kernel/stock-packages" | xargs -n 1; }

# make_stock SUITE: makes the system. From experimental, only the kernel and its headers are installed.
make_stock() {
	local root=$SYSTEM packages
	mapfile -t packages < <(stock_packages)
	{ [[ -d $root.base ]] || make_root "$root.base" "$1" "${packages[@]}"; } &&
		in_root "$root.base" apt-get update &&
		in_root "$root.base" apt-get install --yes --target-release="$1" linux-image-amd64 linux-headers-amd64 &&
		in_root "$root.base" apt-get clean &&
		mv "$root.base" "$root"
}

make_stock_once() { [[ -d $SYSTEM ]] || step "creating a $1 system" make_stock "$1"; }

# Succeeds if hmmrt-dkms can build modules for this kernel; otherwise prints the option that it lacks.
stock_has_options() {
	local option
	for option in DEVICE_PRIVATE HMM_MIRROR; do
		grep -q "^CONFIG_$option=y" "$SYSTEM/boot/config-$RELEASE" || { echo "CONFIG_$option" && return 1; }
	done
}

# ensure_stock KERNEL: makes the system if needed, and sets SYSTEM, RELEASE, KERNEL_BUILD and KERNEL_IMAGE. If the
# kernel lacks a required option, we boot it without modules; tools/vm test refuses to.
ensure_stock() {
	local suite=${1#stock-} lacking
	((EUID == 0)) || die "--kernel stock must run as root, because it creates a $suite system and enters it with chroot"
	SYSTEM=$CACHE/stock/$suite
	mkdir -p "$BUILD/user" "$REPO/build/user"
	with_lock "stock-$suite" make_stock_once "$suite" || return
	RELEASE=$(find "$SYSTEM/usr/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -V | tail -n 1)
	KERNEL_IMAGE=$SYSTEM/boot/vmlinuz-$RELEASE
	KERNEL_BUILD=/usr/src/linux-headers-$RELEASE
	[[ -e $KERNEL_IMAGE && -d $SYSTEM$KERNEL_BUILD ]] || die "the system in $SYSTEM lacks a kernel or its headers"
	if ! lacking=$(stock_has_options); then
		[[ $COMMAND != test ]] || die "Linux $RELEASE of $suite lacks $lacking, so there are no modules to test"
		say "Linux $RELEASE of $suite lacks $lacking, so no modules are loaded"
		MODULES=''
	fi
}

# in_system COMMAND...: runs the command where we build the kernel's programs: for a stock kernel in its system, with
# the kernel source that the tests use, otherwise on this machine.
in_system() {
	local SHOWN_IN_ROOT=() source
	if is_stock "$KERNEL"; then
		source=$(default_kernel_source) || return
		[[ ! $source ]] || SHOWN_IN_ROOT=("$source")
		in_root "$SYSTEM" "$@"
	else
		"$@"
	fi
}

# Prints a hash of the files that the packages are built from.
packages_key() {
	(cd "$REPO" && . tools/lint.d/files.sh && list_files | grep -vE "$NOT_PACKAGED" | sort |
		while read -r file; do [[ ! -f $file ]] || printf '%s\0' "$file"; done | xargs -0 sha256sum | sha256sum)
}

install_stock_packages() {
	local changes=$BUILD/changes
	rm -rf "$changes"
	CHANGES_IN_ROOT=$changes in_root "$SYSTEM" apt-get install --yes \
		"$BUILD"/packages/{hmmrt-dkms,libhmmrt0,libhmmrt-dev,hmmrt-tools}_*.deb &&
		rm -rf "$changes"/{work,root} && stock_modules_are_there
}

# Installing the packages succeeds even if the modules don't build for a kernel. Here, a kernel with the required
# options has to have them.
stock_modules_are_there() {
	local name log
	[[ $MODULES ]] || return 0
	for name in $MODULES; do
		[[ $(find "$BUILD/changes/upper/usr/lib/modules/$RELEASE" -name "$name.ko*") ]] && continue
		echo "DKMS failed to build $name for Linux $RELEASE:"
		for log in "$BUILD"/changes/upper/var/lib/dkms/hmmrt/*/build/make.log; do [[ ! -e $log ]] || tail -n 30 "$log"; done
		return 1
	done
}

# Builds the packages in the system and installs them as a user would; DKMS then builds the modules.
ensure_stock_packages() {
	local key
	key=$RELEASE-$(packages_key) || return
	[[ ! -e $BUILD/packages.key || $(<"$BUILD/packages.key") != "$key" ]] || return 0
	rm -f "$BUILD/packages.key"
	step "building packages in the ${KERNEL#stock-} system" in_system tools/package --no-hmmcc --to "$BUILD/packages" &&
		step "installing them in it" install_stock_packages &&
		echo "$key" >"$BUILD/packages.key"
}

# Builds the packages, the test modules and user space.
build_for_stock() {
	with_lock "$(checkout_lock "$KERNEL")" ensure_stock_packages || return
	[[ ! $MODULES ]] || build_modules "$KERNEL" plain || return
	build_user
}

# add_boot_modules INITRAMFS: copies the modules that initramfs-init loads, with names in the order to load them.
add_boot_modules() {
	local name file number=100
	mkdir -p "$1/modules"
	for name in $BOOT_MODULES; do
		PATH=$PATH:/usr/sbin:/sbin modprobe --dirname="$SYSTEM" --set-version="$RELEASE" --show-depends "$name"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
		name=$1/modules/$((++number))-$(basename "$file" | sed 's/\.ko.*/.ko/')
		case $file in
		*.xz) xz -dc "$file" >"$name" ;;
		*.zst) zstd -dc -q "$file" >"$name" ;;
		*) cp "$file" "$name" ;;
		esac
	done
}

# with_system_root COMMAND...: mounts the system with the installed packages read-only at BUILD/root and executes the
# command. We use exec so that a signal to this process reaches the command.
with_system_root() {
	mkdir -p "$BUILD/root" "$BUILD/changes"
	install -d -m 755 "$BUILD/changes/upper"
	# shellcheck disable=SC2016 # expanded by the inner shell
	exec unshare --mount --propagation private bash -c '
		mount -t overlay overlay -o "ro,lowerdir=$1:$2" "$3" && shift 3 && exec "$@"' \
		- "$BUILD/changes/upper" "$SYSTEM" "$BUILD/root" "$@"
}
