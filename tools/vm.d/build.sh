# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Builds this checkout's modules and user space.
#
#   build/VERSION-FLAVOUR/    a copy of the module sources, with the modules built for that kernel; with --llvm it is
#                             build/VERSION-llvm-FLAVOUR/
#   build/VERSION-FLAVOUR-mutants/  the same with mutants (see mutate.sh)
#   build/user/               libraries, tools, tests and examples (cmake)
#   build/host-asan/          the same with ASan and UBSan, for the tests that need no guest

USER_TARGET=all # the target to build in user space; the demo only needs hmmrt-examples, and no test modules
MUTANTS='' # suffix of the folder of the modules; `tools/vm mutate` sets it

module_dir() { echo "$BUILD/$(build_name "$1" "$2")$MUTANTS"; }

# Kbuild writes objects next to the sources, so each kernel gets its own copy of the sources. We keep objects, *.mod.c
# and generated/ in the copy, so that only changed files are recompiled. Prints the files that changed.
sync_module_sources() {
	mkdir -p "$1"
	(cd "$REPO" && rsync --archive --omit-dir-times --relative --delete --out-format=%n \
		--exclude='*.mod.c' --exclude='generated/' \
		--include='*/' --include='*.[chS]' --include=Kbuild --include='*.sh' --exclude='*' \
		Kbuild include kmod tests/canary "$1/")
}

# make_modules KERNEL_BUILD DIR: builds hmmrt's modules and, except for the demo, the test modules and the module of the
# canary tests.
make_modules() {
	local tests=n
	[[ $USER_TARGET != all ]] || tests=y
	in_system make -C "$1" M="$2" LLVM="$LLVM" HMMRT_TEST_MODULES="$tests" W=1 -j"$JOBS" modules || return
	[[ $tests == n ]] || in_system make -C "$1" M="$2/tests/canary" LLVM="$LLVM" W=1 modules
}

# modules_are_for KERNEL_BUILD DIR: succeeds if DIR has all required modules, built for exactly this kernel.
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
		build_modules_locked "modules for $1 $2${LLVM:+ with LLVM}" "$KERNEL_BUILD" "$(module_dir "$1" "$2")"
}

# User space is the same for all kernels. Its tests use the default kernel's source; the demo doesn't need any.
default_kernel_source() (
	[[ $USER_TARGET == all ]] || exit 0
	ensure_source "$(default_kernel)" && echo "$KERNEL_SOURCE"
)

# The demo needs fewer packages than the full build, so each target gets a cmake run of its own, which looks for
# packages again.
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

# Builds USER_TARGET, without the tests that only run in build/host-asan. The tests need the kernel source for
# kselftest_harness.h. A unity build reads the headers fewer times, which halves the build time.
build_user() {
	[[ -e $REPO/CMakeLists.txt ]] || return 0
	with_lock "$(checkout_lock user)" user_step "user space" "$BUILD/user" "$USER_TARGET" \
		-DHMMRT_PURE_TESTS=OFF -DCMAKE_UNITY_BUILD=ON
}

# build_upstream VERSION FLAVOUR: builds this kernel version's own HMM tests next to the modules. It runs in a subshell
# because ensure_source points the kernel paths to the plain flavour.
build_upstream() (
	ensure_source "$1" || exit
	dir=$(module_dir "$1" "$2")
	with_lock "$(checkout_lock "modules-$(build_name "$1" "$2")")" "$REPO/tests/upstream/build" "$KERNEL_SOURCE" "$dir/hmm-tests"
)

# These flags halve GCC's time, and the sanitizers still report functions and lines.
build_host_tests() {
	local flags="-O1 -g1 -DNDEBUG"
	[[ -e $REPO/CMakeLists.txt ]] || return 0
	with_lock "$(checkout_lock host-asan)" user_step "user space under ASan and UBSan" "$BUILD/host-asan" all \
		-DHMMRT_SANITIZE=ON -DCMAKE_C_FLAGS_RELWITHDEBINFO="$flags" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="$flags"
}

# build_in_kernel VERSION FLAVOUR: builds the kernel, the modules and, except for the demo, the upstream HMM tests.
build_in_kernel() {
	build_modules "$1" "$2" || return
	[[ $USER_TARGET != all ]] || build_upstream "$1" "$2"
}

build_user_last() { renice -n 19 -p "$BASHPID" >/dev/null && build_user; }

# build_beside VERSION FLAVOUR: builds user space in parallel with the kernel, at the lowest priority: unpacking,
# configuring and linking a kernel only keep one processor busy. If one of the two fails, we end the other. We wait for
# each one as soon as it ends: bash forgets the status of an ended process once its PID is reused, and a kernel build
# goes through enough PIDs for that.
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

# build_all VERSION FLAVOUR: builds everything that a run on this kernel needs.
build_all() {
	if is_stock "$1"; then
		build_for_stock
		return
	fi
	build_in_kernel "$1" "$2" && build_user
}
