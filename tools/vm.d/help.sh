# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The texts of `tools/vm help` and `tools/vm doctor`.

guest_options() {
	cat <<-'END'

		Options:
		  --kernel VERSION     a kernel of tools/kernel/KERNELS (default: its first); for tests also all
		  --debug              the debug flavour: KASAN, lockdep, kmemleak, fault injection; several times slower
		  --memory SIZE        the guest's memory (default 4G)
		  --cpus N             its processors (default 2)
		  --numa N             its NUMA nodes (default 1, for tests 2)
		  --thp MODE           its transparent huge pages: always, madvise (default) or never
		  --time-limit SEC     after this a guest that still runs is ended (default 900)
		  --module-param P=V   a parameter for hmmrt_simgpu.ko, more than once if needed; also from HMMRT_SIMGPU_PARAMS
		  --coherent           the CPU reads and writes the devices' memory in place
		  --no-modules         do not load hmmrt's modules first
		  --no-build           use the modules and programs as they are
		  --no-leak-scan       debug flavour: no leak scan at the end (saves some seconds)
		  --prealloc           touch all guest memory on the host first; for measurements
		  --host               load the modules into this machine's own kernel and run without a guest
	END
}

help_overview() {
	cat <<-'END'
		tools/vm: build hmmrt and run it in a guest whose kernel has HMM and device-private memory.

		  tools/vm demo              see it work
		  tools/vm test [NAME...]    run all tests, or the named test programs
		  tools/vm run -- CMD...     run a command in the guest
		  tools/vm shell             a shell in the guest
		  tools/vm build             build modules, libraries, tests and examples
		  tools/vm kernel            build the guest's kernel
		  tools/vm doctor            what is missing on this machine and how to get it
		  tools/vm help COMMAND      more about one of these

		The first use installs packages (when root) and builds a kernel; both are kept. The guest sees this
		machine's files, read-only; /tmp, /var/tmp, /run and /dev/shm are its own and build/out is shared.
	END
}

help_run() {
	cat <<-'END'
		tools/vm run [OPTIONS] -- CMD...

		Boots a guest, loads hmmrt.ko and hmmrt_simgpu.ko, runs the command in the current folder and stops.
		The exit status is the command's own, or
		  69  the guest did not boot, panicked, hung or was lost
		  70  the kernel complained during the run: a warning, a lock or memory error, a leak, a hang
		Logs are kept under build/log.
	END
	guest_options
}

help_shell() {
	echo "tools/vm shell [OPTIONS]: an interactive shell in a guest; leave it with exit."
	guest_options
}

help_demo() {
	echo "tools/vm demo [OPTIONS]: runs the examples one after the other; pictures go to build/out."
	guest_options
}

help_test() {
	cat <<-'END'
		tools/vm test [OPTIONS] [NAME...]

		Tests on the host under ASan and UBSan, then in a guest with the plain kernel, then with the debug kernel,
		then the canaries: a failing test, a warning, a leak and a hang, each of which must turn a run red.
		A NAME is one of lint, host, plain, debug and canary, for only these kinds of test, or part of a test
		program's name, for only these programs. --debug leaves out what does not run on the debug kernel.
		--kernel all runs the guest's tests with one kernel after the other.
		The last line is `N passed, N failed, N skipped`; results are in build/out/results.

		All programs run in two guests at once, which share them: that takes the memory of two, up to 10 GB of this
		machine with --memory as it is. With names it is one.
	END
	guest_options
	cat <<-'END'
		  --guests N           guests at once (default 2)
	END
}

help_kernel() { echo "tools/vm kernel [--kernel VERSION] [--debug]: builds the guest's kernel and says where it is."; }

help_build() {
	echo "tools/vm build [--kernel VERSION] [--debug]: builds kernel, modules and user space; boots nothing."
}

help_doctor() { echo "tools/vm doctor: says what is missing on this machine and how to get it; changes nothing."; }

show_help() {
	if declare -F "help_$1" >/dev/null; then "help_$1"; else help_overview; fi
}

# check TEXT COMMAND...: one line of the doctor.
check() {
	local text=$1
	shift
	if "$@" >/dev/null 2>&1; then printf '  ok       %s\n' "$text"; else printf '  missing  %s\n' "$text"; fi
}

kernel_is_built() (
	kernel_paths "$1" "$2"
	[[ -e $KERNEL_BUILD/done ]]
)

enough_space() {
	mkdir -p "$CACHE"
	(($(df --output=avail -k "$CACHE" | tail -n 1) > 6 * 1024 * 1024))
}

# free_memory GB: there is that much.
free_memory() { awk -v gb="$1" '/^MemAvailable/ { exit $2 < gb * 1024 * 1024 }' /proc/meminfo; }

show_doctor() {
	local missing versions version flavour
	mapfile -t missing < <(missing_packages)
	echo "This machine:"
	check "Debian packages" test "${#missing[@]}" = 0
	check "6 GB of room in $CACHE" enough_space
	check "5 GB of free memory, for a guest" free_memory 5
	check "10 GB of free memory, for two at once (tools/vm test --guests 1 runs one)" free_memory 10
	check "KVM (without it the guest is emulated, which works and is slower)" test -w /dev/kvm
	mapfile -t versions < <(all_kernels)
	for version in "${versions[@]}"; do
		for flavour in plain debug; do
			check "kernel $version $flavour (tools/vm kernel --kernel $version builds it)" kernel_is_built "$version" "$flavour"
		done
	done
	if ((${#missing[@]})); then
		printf '\nTo install what is missing, as root:\n  %s\n' "$(install_command "${missing[@]}")"
	fi
	printf '\n--host, that is without a guest: '
	check_host_kernel 2>&1 && echo "this kernel has what is needed"
	return 0
}
