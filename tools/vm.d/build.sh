# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Builds modules and user space of this checkout.
#
#   build/VERSION-FLAVOUR/    a copy of the module sources with the modules built for that kernel; with --llvm it is
#                             build/VERSION-llvm-FLAVOUR/
#   build/user/               libraries, tools, tests and examples (cmake)
#   build/host-asan/          the same with ASan and UBSan, for the tests that need no guest

USER_TARGET=all # what is built of user space; the demo needs hmmrt-examples only, and no modules for tests

module_dir() { echo "$BUILD/$(build_name "$1" "$2")"; }

# Kbuild writes objects next to the sources, so each kernel gets its own copy of the sources. Objects, *.mod.c and
# generated/ stay in the copy, so that only changed files are compiled again. Prints the files that it changed.
sync_module_sources() {
	mkdir -p "$1"
	(cd "$REPO" && rsync --archive --omit-dir-times --relative --delete --out-format=%n \
		--exclude='*.mod.c' --exclude='generated/' \
		--include='*/' --include='*.[chS]' --include=Kbuild --include='*.sh' --exclude='*' \
		Kbuild include kmod tests/canary "$1/")
}

# make_modules KERNEL_BUILD DIR: makes hmmrt's modules, and but for the demo those for tests, then the module of the
# canary tests.
make_modules() {
	local tests=n
	[[ $USER_TARGET != all ]] || tests=y
	in_system make -C "$1" M="$2" LLVM="$LLVM" HMMRT_TEST_MODULES="$tests" W=1 -j"$JOBS" modules || return
	[[ $tests == n ]] || in_system make -C "$1" M="$2/tests/canary" LLVM="$LLVM" W=1 modules
}

# modules_are_for KERNEL_BUILD DIR: succeeds if DIR has the modules that are needed, built for exactly this kernel.
modules_are_for() {
	local built
	[[ -e $2/done ]] || return
	built=$(<"$2/done")
	[[ $built == "$1 all" || $built == "$1 $USER_TARGET" ]]
}

build_modules_locked() {
	local text=$1 kernel_build=$2 dir=$3 changed
	changed=$(sync_module_sources "$dir") || return
	[[ -z $changed ]] && modules_are_for "$kernel_build" "$dir" && return
	rm -f "$dir/done"
	step "$text" make_modules "$kernel_build" "$dir" || return
	echo "$kernel_build $USER_TARGET" >"$dir/done"
}

# build_modules VERSION FLAVOUR
build_modules() {
	ensure_kernel "$1" "$2" || return
	with_lock "$(checkout_lock "modules-$(build_name "$1" "$2")")" \
		build_modules_locked "modules for $1 $2${LLVM:+ of LLVM}" "$KERNEL_BUILD" "$(module_dir "$1" "$2")"
}

# User space is the same for all kernels. Its tests use the default kernel's source, and the demo uses none.
default_kernel_source() (
	[[ $USER_TARGET == all ]] || exit 0
	ensure_source "$(default_kernel)" && echo "$KERNEL_SOURCE"
)

# cmake looks again for packages when all is to be built after the demo, which needs fewer of them.
cmake_build() {
	local dir=$1 target=$2 source
	shift 2
	source=$(default_kernel_source) || return
	[[ -e $dir/configured-for-$target ]] || { in_system cmake -S "$REPO" -B "$dir" -G Ninja \
		-DCMAKE_BUILD_TYPE=RelWithDebInfo -DHMMRT_KERNEL_SOURCE="$source" "$@" &&
		touch "$dir/configured-for-$target"; } || return
	in_system cmake --build "$dir" --parallel "$JOBS" --target "$target"
}

up_to_date() { [[ -e $1/configured-for-$2 ]] && [[ $(in_system ninja -C "$1" -n "$2" 2>/dev/null) == *"no work to do"* ]]; }

# user_step TEXT DIR TARGET [CMAKE-OPTION...]
user_step() {
	local text=$1
	shift
	up_to_date "$1" "$2" || step "$text" cmake_build "$@"
}

# Builds all of user space but the tests that run in build/host-asan only, or what the demo needs. It needs the kernel
# source for kselftest_harness.h. Files that are compiled together read the headers once, which halves the time.
build_user() {
	[[ -e $REPO/CMakeLists.txt ]] || return 0
	with_lock "$(checkout_lock user)" user_step "user space" "$BUILD/user" "$USER_TARGET" \
		-DHMMRT_PURE_TESTS=OFF -DCMAKE_UNITY_BUILD=ON
}

# build_upstream VERSION FLAVOUR: builds the kernel's own HMM tests of this version next to the modules. It runs in a
# subshell because ensure_source sets the kernel paths to those of the plain flavour.
build_upstream() (
	ensure_source "$1" || exit
	dir=$(module_dir "$1" "$2")
	with_lock "$(checkout_lock "modules-$(build_name "$1" "$2")")" "$REPO/tests/upstream/build" "$KERNEL_SOURCE" "$dir/hmm-tests"
)

# GCC takes half as long with these flags, and the sanitizers still name functions and lines.
build_host_tests() {
	local flags="-O1 -g1 -DNDEBUG"
	[[ -e $REPO/CMakeLists.txt ]] || return 0
	with_lock "$(checkout_lock host-asan)" user_step "user space under ASan and UBSan" "$BUILD/host-asan" all \
		-DHMMRT_SANITIZE=ON -DCMAKE_C_FLAGS_RELWITHDEBINFO="$flags" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="$flags"
}

# build_in_kernel VERSION FLAVOUR: the kernel, and what is built in its folders.
build_in_kernel() {
	build_modules "$1" "$2" || return
	[[ $USER_TARGET != all ]] || build_upstream "$1" "$2"
}

build_user_last() { renice -n 19 -p "$BASHPID" >/dev/null && build_user; }

# build_beside VERSION FLAVOUR: builds user space beside the kernel, at the lowest priority: while one processor unpacks,
# configures or links a kernel, the others have nothing to do. The first one that fails ends the other. Each is waited for
# when it ends: bash forgets the status of an ended process when its number is used again, which a kernel's build does.
build_beside() {
	local jobs=() user kernel ended other rc=0 failed='' log=$BUILD/log/user.$$
	mkdir -p "$BUILD/log"
	trap 'end_jobs "${jobs[@]}"; exit 130' INT TERM HUP
	begin build_user_last >"$log" 2>&1
	user=$JOB jobs=("$user")
	begin build_in_kernel "$@"
	kernel=$JOB jobs=("$user" "$kernel")
	wait -n -p ended "$user" "$kernel" || rc=$? failed=$ended
	other=$((user + kernel - ended))
	jobs=("$other")
	if ((rc)); then end_jobs "$other"; else wait "$other" || rc=$? failed=$other; fi
	trap - INT TERM HUP
	[[ $failed != "$user" ]] || echo >&2
	[[ $failed == "$kernel" ]] || cat "$log" >&2
	rm -f "$log"
	return "$rc"
}

# Builds everything that a run on this kernel needs.
build_all() {
	if is_stock "$1"; then
		build_for_stock
		return
	fi
	build_in_kernel "$1" "$2" && build_user
}
