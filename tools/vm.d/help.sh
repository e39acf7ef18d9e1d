# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The texts of `tools/vm help` and `tools/vm doctor`.

guest_options() {
	cat <<-'END'

		Options:
		  --kernel VERSION     a kernel of tools/kernel/KERNELS (default: the one of this Debian release); for tests
		                       also all
		  --kernel stock[=S]   the unmodified kernel and user space of the Debian suite S (default sid), with hmmrt
		                       installed from its Debian packages and the modules built by DKMS; needs root
		  --debug              the debug flavour: KASAN, lockdep, kmemleak, fault injection; several times slower
		  --llvm               build kernel and modules with clang and LLVM's tools instead of GCC and binutils; tests
		                       then only run on the plain kernel, with --debug only on the debug kernel
		  --memory SIZE        the guest's memory (default 4G)
		  --cpus N             its processors (default 2, with --icount 1)
		  --numa N             its NUMA nodes (default 1, for tests 2)
		  --thp MODE           its transparent huge pages: always, madvise (default) or never
		  --time-limit SEC     stop the guest after this time (default 900, for tests 4200)
		  --device-memory SIZE memory of each device, like 64M (default 256M); SIZE,SIZE,... for different sizes
		  --devices N          number of devices, 1 to 16 (default 2)
		  --lanes N            lanes of a device, 1 to 128 (default: one per processor); sets HMMRT_LANES
		  --env NAME[=VALUE]   set an environment variable for the command; without VALUE, pass on the value that it
		                       has here; can be repeated
		  --module-param P=V   a parameter of hmmrt.ko or hmmrt_simgpu.ko; can be repeated. HMMRT_SIMGPU_PARAMS can
		                       also hold parameters.
		  --coherent           coherent devices: the CPU accesses their memory in place
		  --core               write core dumps of crashed programs to build/out/core.PROGRAM.PID (default: no core
		                       dumps)
		  --no-modules         do not load hmmrt's modules before the command
		  --no-build           use the modules and programs that are already built
		  --no-leak-scan       debug flavour: skip the leak scan at the end (saves some seconds)
		  --prealloc           allocate all guest memory on this machine first; for measurements
		  --icount             let the guest's clock advance by a nanosecond per instruction, so that times are
		                       reproducible; the guest is emulated, with one processor. Sets HMMRT_CLOCK to
		                       instructions.
		  --host               load the modules into this machine's kernel and run without a guest
	END
}

help_overview() {
	cat <<-'END'
		tools/vm: build hmmrt and run it in a guest whose kernel has HMM and device-private memory.

		  tools/vm demo              run the examples
		  tools/vm test [NAME...]    run all tests, or the named test programs
		  tools/vm mutate            count how many small mistakes in the modules the tests notice
		  tools/vm run -- CMD...     run a command in the guest
		  tools/vm shell             open a shell in the guest
		  tools/vm build             build modules, libraries, tests and examples
		  tools/vm kernel            build the guest's kernel
		  tools/vm packages          install the required Debian packages
		  tools/vm doctor            list what is missing on this machine and how to get it
		  tools/vm help COMMAND      describe one of these commands

		The first run installs packages (as root) and builds a kernel; later runs reuse both. The guest sees this
		machine's files read-only. It can write to build/out, which is shared (HMMRT_OUT has its path), and to its own
		/tmp, /var/tmp, /mnt, /run and /dev/shm, which are lost when it stops. The first three also show this machine's
		files.
	END
}

help_run() {
	cat <<-'END'
		tools/vm run [OPTIONS] -- CMD...

		Boots a guest, loads hmmrt.ko and hmmrt_simgpu.ko, runs the command in the current folder and stops.
		The exit status is that of the command, or
		  64  invalid arguments
		  69  the guest did not boot, panicked, hung or was lost
		  70  the kernel complained during the run: a warning, a lock or memory error, a leak, a hang
		Logs are kept under build/log. If a program dies of SIGILL, a message gives its name and the likely cause:
		emulated processors have no AVX-512.

		The command reads standard input. In a loop that reads a file, give it </dev/null.
		It can write files to build/out (HMMRT_OUT has its path); all other files of this machine are read-only. The
		environment has PATH, HOME, TERM, LANG, LC_ALL, HMMRT_*, GTEST_* and the variables of --env.
	END
	guest_options
}

help_shell() {
	echo "tools/vm shell [OPTIONS]: opens an interactive shell in a guest; exit stops the guest."
	guest_options
}

help_demo() {
	echo "tools/vm demo [OPTIONS]: runs the examples one after the other and writes charts to build/out. Only installs and"
	echo "builds what the examples need."
	guest_options
}

help_test() {
	cat <<-'END'
		tools/vm test [OPTIONS] [NAME...]

		Runs the tests that NAME selects, a kind of test or all test programs with NAME in their name, or without a
		NAME all kinds but the last three, which run if named or with --long. The kinds are
		  lint      tools/lint, except for what needs a build
		  host      native tests with ASan and UBSan
		  analysis  tools/lint sparse abi clang-tidy
		  cpu       tests on the cpu device with valgrind, and tests of hmmcc
		  plain     tests in a guest with the plain kernel
		  debug     tests in a guest with the debug kernel
		  canary    provoked failures, warnings, leaks and hangs, each of which must make a run fail
		  newcomer  tools/vm itself, used as a new user would
		  package   the Debian packages; as root
		--debug runs only the tests on the debug kernel. --kernel all runs the guest tests with each kernel;
		--kernel stock runs those that need no debug kernel, and tests the packages in its guest.
		The last line is `N passed, N failed, N skipped`, after a line for each failure; results are in
		build/out/results. Without a NAME, the guests only start if the tests that need none passed.

		Without a NAME, two guests run concurrently and share the test programs. They use up to 10 GB of memory with
		the default --memory. If a program is named, one guest is used.
	END
	guest_options
	cat <<-'END'
		  --guests N           number of concurrent guests (default 2)
		  --long               run all programs on the slower debug kernel, and do not shorten them there; run all
		                       programs on the cpu device with TSan and valgrind; also run the kinds canary,
		                       newcomer and package (as root), and 2000 random CUDA kernels
		  --fresh              run `tools/vm demo` and `tools/vm test` as on newly installed machines: in Debian 13 and
		                       12 systems that are minimal (-minimal), have compilers (-clang), or have half of the
		                       optional packages (-half), each with a clone of the last commit in a folder that other
		                       users cannot enter. NAME can be a system like 12 or 12-clang, or demo or test to run
		                       only this command; other NAMEs are passed to tools/vm test. Needs root; without a NAME
		                       it takes several hours.
		  --cold               like --fresh, but do not reuse kernels that this machine has built
	END
}

help_mutate() {
	cat <<-'END'
		tools/vm mutate [OPTIONS] [NAME...]: counts how many small mistakes in the modules the tests notice.

		Makes --count N mutants of kmod/policy*.c, space*.c and move*.c, which --seed S chooses: each negates a condition
		or drops a call. The programs of tests/uapi, or those with a NAME in their name, run with each mutant that they
		reach, until one fails; without a NAME, mutants of policy*.c run in tests/host first. Prints a line for each
		mutant and the totals; build/out/mutants/report has them, too. Takes hours.
		  --seed S             choose other mutants (default 1)
		  --count N            number of mutants, up to 999 (default 100)
		  --guests N           number of concurrent guests (default 2)
	END
	guest_options
}

help_kernel() {
	cat <<-'END'
		tools/vm kernel [--kernel VERSION] [--debug] [--llvm]: builds the guest's kernel and prints its path.

		--kernel stock[=SUITE] creates a system with a stock kernel, a folder of about 2 GB. An existing system is never
		updated; to get a current one, delete its folder stock/SUITE in the cache.
	END
}

help_packages() {
	echo "tools/vm packages [--llvm]: as root, installs the packages that the other commands need; otherwise lists them."
}

help_build() {
	echo "tools/vm build [--kernel VERSION] [--debug] [--llvm]: builds kernel, modules and user space without booting. With"
	echo "--llvm, kernel and modules are built with LLVM=1 in folders of their own."
}

help_doctor() {
	cat <<-'END'
		tools/vm doctor [--llvm]: lists what is missing on this machine and how to get it; changes nothing.

		The exit status is 1 if something that tools/vm requires is missing. Optional items do not count: without them,
		tools/vm is slower or does less, or it builds them when a command needs them.
	END
}

# Writes the whole text at once and ignores SIGPIPE, so that a reader that closes the pipe early, such as head, doesn't
# make us fail.
show_help() {
	local text
	text=$(if declare -F "help_$1" >/dev/null; then "help_$1"; else help_overview; fi)
	(trap '' PIPE && printf '%s\n' "$text") 2>/dev/null || true
}

MISSING=0

# need TEXT COMMAND...: prints the doctor's line for a requirement, and counts it in MISSING if the command fails.
need() {
	local text=$1
	shift
	if "$@" >/dev/null 2>&1; then
		printf '  ok        %s\n' "$text"
	else
		printf '  missing   %s\n' "$text"
		((++MISSING))
	fi
}

# option TEXT OTHERWISE COMMAND...: prints the doctor's line for something optional.
option() {
	local text=$1 otherwise=$2
	shift 2
	if "$@" >/dev/null 2>&1; then
		printf '  ok        %s\n' "$text"
	else
		printf '  optional  %s: %s\n' "$text" "$otherwise"
	fi
}

# /dev/kvm may exist without working, so only a guest that booted with KVM proves that it works.
kvm_works() (
	kernel_paths "$(default_kernel)" plain
	[[ $(accelerator) == kvm ]]
)

check_kvm() {
	local without="without it the guest is emulated, which is slower"
	if [[ ! -w /dev/kvm ]]; then
		option KVM "/dev/kvm does not exist or is not writable; $without" false
	elif kernel_is_built "$(default_kernel)" plain; then
		option KVM "/dev/kvm exists, but guests do not boot with it; $without" kvm_works
	else
		option KVM "/dev/kvm exists; tools/vm tests it once the kernel is built; $without" false
	fi
}

# Prints the disk space that we need, in GB. Most of it is for a kernel and its source.
space_gb() { if kernel_is_built "$(default_kernel)" plain >/dev/null 2>&1; then echo 1; else echo 4; fi; }

# free_space GB: succeeds if this much is free on the cache's file system.
free_space() {
	local dir=$CACHE
	while [[ ! -d $dir ]]; do dir=$(dirname "$dir"); done
	(($(df --output=avail -k "$dir" | tail -n 1) >= $1 * 1024 * 1024))
}

# free_memory GB: succeeds if this much memory is available.
free_memory() { awk -v gb="$1" '/^MemAvailable/ { exit $2 < gb * 1024 * 1024 }' /proc/meminfo; }

check_kernels() {
	local versions version flavour command state
	mapfile -t versions < <(all_kernels)
	for version in "${versions[@]}"; do
		for flavour in plain debug; do
			command="tools/vm kernel --kernel $version${LLVM:+ --llvm}"
			[[ $flavour == plain ]] || command+=" --debug"
			if compgen -G "$CACHE/kernel/$(build_name "$version" "$flavour")-*/done" >/dev/null; then
				state="built from another source package, configuration or compiler"
			else
				state="not built yet"
			fi
			option "kernel $version $flavour${LLVM:+ with LLVM}" "$state; it is built on first use, or by $command" \
				kernel_is_built "$version" "$flavour"
		done
	done
}

show_doctor() {
	local missing gb
	need_debian
	mapfile -t missing < <(missing_packages)
	gb=$(space_gb)
	echo "This machine:"
	need "Debian packages" test "${#missing[@]}" = 0
	need "$gb GB of free space in $CACHE" free_space "$gb"
	need "5 GB of free memory, for a guest (with less: --memory)" free_memory 5
	option "10 GB of free memory, for two guests" "tools/vm test --guests 1 uses one" free_memory 10
	check_kvm
	check_kernels
	if ((${#missing[@]})); then
		printf '\nTo install what is missing, as root:\n  %s\n' "$(install_command "${missing[@]}")"
	fi
	printf '\n--host (without a guest): '
	check_host_kernel 2>&1 && echo "this kernel has all required options"
	if ((MISSING)); then printf '\nmissing: %d\n' "$MISSING"; else printf '\nnothing is missing\n'; fi
	((MISSING == 0))
}
