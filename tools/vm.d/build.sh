# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Modules and user space of this checkout.
#
#   build/VERSION-FLAVOUR/    a copy of the module sources with the modules built for that kernel
#   build/user/               libraries, tools, tests and examples (cmake)
#   build/host-asan/          the same under ASan and UBSan, for the tests that need no guest

module_dir() { echo "$BUILD/$1-$2"; }

# Kbuild puts objects beside sources, so each kernel gets its own copy of them. What is no source
# (objects, *.mod.c, generated/) stays in the copy, so only what changed is compiled again.
# Prints what it changed.
sync_module_sources() {
	mkdir -p "$1"
	(cd "$REPO" && rsync --archive --omit-dir-times --relative --delete --out-format=%n \
		--exclude='*.mod.c' --exclude='generated/' \
		--include='*/' --include='*.[chS]' --include=Kbuild --include='*.sh' --exclude='*' \
		Kbuild include kmod tests/canary "$1/")
}

# make_modules KERNEL_BUILD DIR: the modules themselves, then the canary of the tests.
make_modules() {
	make -C "$1" M="$2" W=1 -j"$JOBS" modules &&
		make -C "$1" M="$2/tests/canary" W=1 modules
}

# Whether the modules in DIR were built, and for this very kernel.
modules_are_for() { [[ -e $2/done && $(<"$2/done") == "$1" ]]; }

build_modules_locked() {
	local text=$1 kernel_build=$2 dir=$3 changed
	changed=$(sync_module_sources "$dir") || return
	[[ -z $changed ]] && modules_are_for "$kernel_build" "$dir" && return
	rm -f "$dir/done"
	step "$text" make_modules "$kernel_build" "$dir" || return
	echo "$kernel_build" >"$dir/done"
}

# build_modules VERSION FLAVOUR
build_modules() {
	ensure_kernel "$1" "$2" || return
	with_lock "$(checkout_lock "modules-$1-$2")" \
		build_modules_locked "modules for $1 $2" "$KERNEL_BUILD" "$(module_dir "$1" "$2")"
}

# User space is the same for all kernels, so what it takes from one comes from the default kernel.
default_kernel_source() (ensure_source "$(default_kernel)" && echo "$KERNEL_SOURCE")

cmake_build() {
	local dir=$1 source
	shift
	source=$(default_kernel_source) || return
	[[ -e $dir/build.ninja ]] || cmake -S "$REPO" -B "$dir" -G Ninja \
		-DCMAKE_BUILD_TYPE=RelWithDebInfo -DHMMRT_KERNEL_SOURCE="$source" "$@" || return
	cmake --build "$dir" --parallel "$JOBS"
}

up_to_date() { [[ -e $1/build.ninja ]] && [[ $(ninja -C "$1" -n 2>/dev/null) == *"no work to do"* ]]; }

# user_step TEXT DIR [CMAKE-OPTION...]
user_step() {
	local text=$1
	shift
	up_to_date "$1" || step "$text" cmake_build "$@"
}

# The whole user space; the kernel source is needed for kselftest_harness.h.
build_user() {
	[[ -e $REPO/CMakeLists.txt ]] || return 0
	with_lock "$(checkout_lock user)" user_step "user space" "$BUILD/user"
}

# The kernel's own tests of HMM, of the version that they run on, beside the modules that they test. In a shell
# of its own: the source is looked for with the paths of the plain flavour.
build_upstream() (
	ensure_source "$1" || exit
	dir=$(module_dir "$1" "$2")
	with_lock "$(checkout_lock "modules-$1-$2")" "$REPO/tests/upstream/build" "$KERNEL_SOURCE" "$dir/hmm-tests"
)

build_host_tests() {
	[[ -e $REPO/CMakeLists.txt ]] || return 0
	with_lock "$(checkout_lock host-asan)" user_step "user space under ASan and UBSan" \
		"$BUILD/host-asan" -DHMMRT_SANITIZE=ON
}

# Everything that a run on this kernel needs.
build_all() {
	build_modules "$1" "$2" && build_upstream "$1" "$2" && build_user
}
