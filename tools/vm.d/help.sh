# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The texts of `tools/vm help` and `tools/vm doctor`.

guest_options() {
	cat <<-'END'

		Options:
		  --kernel VERSION     a kernel of tools/kernel/KERNELS (default: that of this release of Debian); for
		                       tests also all
		  --kernel stock[=S]   the kernel of the Debian suite S (default sid) as it is, with the user space of S, where
		                       the Debian packages are installed and DKMS builds the modules. As root only.
		  --debug              the debug flavour: KASAN, lockdep, kmemleak, fault injection; several times slower
		  --llvm               kernel and modules that clang and LLVM's tools have built, instead of GCC and binutils;
		                       of the tests those on the plain kernel run, with --debug those on the debug kernel
		  --memory SIZE        the guest's memory (default 4G)
		  --cpus N             its processors (default 2, with --icount 1)
		  --numa N             its NUMA nodes (default 1, for tests 2)
		  --thp MODE           its transparent huge pages: always, madvise (default) or never
		  --time-limit SEC     stop the guest after this time (default 900, for tests 4200)
		  --device-memory SIZE memory of each device, like 64M (default 256M); SIZE,SIZE,... gives each its own
		  --devices N          number of devices, 1 to 16 (default 2)
		  --lanes N            lanes of a device, 1 to 128 (default: one for each processor); sets HMMRT_LANES
		  --env NAME[=VALUE]   an environment variable for the command, with the value it has here without VALUE;
		                       can be repeated
		  --module-param P=V   a parameter of hmmrt.ko or hmmrt_simgpu.ko, can be repeated; also from
		                       HMMRT_SIMGPU_PARAMS. One that the modules do not have is refused.
		  --coherent           coherent devices: the CPU reads and writes their memory in place
		  --core               write the core of a program that crashes to build/out/core.PROGRAM.PID, for gdb; without
		                       it the guest writes none
		  --no-modules         do not load hmmrt's modules before the command
		  --no-build           use the modules and programs that are already built
		  --no-leak-scan       debug flavour: skip the leak scan at the end (saves some seconds)
		  --prealloc           allocate all guest memory on this machine first; for measurements
		  --icount             the guest's clock counts instructions, one as a nanosecond, so that times are nearly
		                       the same in each run; emulated, with one processor, not with KVM. Sets HMMRT_CLOCK
		                       to instructions.
		  --host               load the modules into this machine's kernel and run without a guest
	END
}

help_overview() {
	cat <<-'END'
		tools/vm: build hmmrt and run it in a guest whose kernel has HMM and device-private memory.

		  tools/vm demo              run the examples
		  tools/vm test [NAME...]    run all tests, or the named test programs
		  tools/vm run -- CMD...     run a command in the guest
		  tools/vm shell             open a shell in the guest
		  tools/vm build             build modules, libraries, tests and examples
		  tools/vm kernel            build the guest's kernel
		  tools/vm packages          install the Debian packages that all this needs
		  tools/vm doctor            list what is missing on this machine and how to get it
		  tools/vm help COMMAND      describe one of these commands

		The first use installs packages (when root) and builds a kernel; both are kept. The guest sees the files of
		this machine, read-only. It can write to build/out, which is shared and which HMMRT_OUT names, and to its own
		/tmp, /var/tmp, /mnt, /run and /dev/shm, which end with it. What this machine has in the first three is there,
		too.
	END
}

help_run() {
	cat <<-'END'
		tools/vm run [OPTIONS] -- CMD...

		Boots a guest, loads hmmrt.ko and hmmrt_simgpu.ko, runs the command in the current folder and stops.
		The exit status is that of the command, or
		  64  the arguments make no sense
		  69  the guest did not boot, panicked, hung or was lost
		  70  the kernel complained during the run: a warning, a lock or memory error, a leak, a hang
		Logs are kept under build/log. A line names each program that died of SIGILL, and what the guest's processor has:
		an emulated one has no AVX-512.

		The command reads standard input. In a loop that reads a file, give it </dev/null.
		It writes files to build/out, which the variable HMMRT_OUT names; all other files of this machine are
		read-only. The command gets the variables PATH, HOME, TERM, LANG, LC_ALL, HMMRT_*, GTEST_* and those of --env.
	END
	guest_options
}

help_shell() {
	echo "tools/vm shell [OPTIONS]: opens an interactive shell in a guest; leave it with exit."
	guest_options
}

help_demo() {
	echo "tools/vm demo [OPTIONS]: runs the examples one after the other; pictures go to build/out. It installs and builds"
	echo "only what they need."
	guest_options
}

help_test() {
	cat <<-'END'
		tools/vm test [OPTIONS] [NAME...]

		Runs tools/lint, native tests with ASan and UBSan, some on the cpu device with TSan and valgrind, tests in a
		guest with the plain kernel and with the debug kernel, the canaries: a failing test, a warning, a leak and a
		hang, each of which must make a run fail; and tools/vm itself, as a newcomer types it. NAME selects a kind of
		test (lint, host, cpu, plain, debug, canary, newcomer, package) or all test programs with NAME in their
		name.
		--debug runs only the tests on the debug kernel. --kernel all runs the guest's tests with each kernel;
		--kernel stock runs those that need no debug kernel, and tests the packages in its guest.
		The last line is `N passed, N failed, N skipped`, after a line for each failure; results are in
		build/out/results.

		Without a NAME two guests run concurrently and divide the test programs. They use up to 10 GB of memory with
		the default --memory. With the name of a program one guest is used.
	END
	guest_options
	cat <<-'END'
		  --guests N           number of concurrent guests (default 2)
		  --long               as many rounds and pages on the debug kernel as on the plain one; without it some
		                       programs do less there, because it is several times slower; and all programs on the
		                       cpu device with TSan and valgrind; 2000 random CUDA kernels; and the Debian packages
		                       (package), as root
		  --fresh              runs `tools/vm demo` and `tools/vm test` as on machines that have nothing yet: in minimal
		                       systems of Debian 13 and 12 (-minimal), with compilers (-clang), and with half of what is
		                       optional (-half), each with a clone of the last commit in a folder that other users
		                       cannot enter. Of NAMEs, 12 or 12-clang selects systems, demo or test one of the commands,
		                       and others go to that test. As root only; several hours without a NAME.
		  --cold               --fresh without the kernels that this machine has built: they are built there, too
	END
}

help_kernel() {
	cat <<-'END'
		tools/vm kernel [--kernel VERSION] [--debug] [--llvm]: builds the guest's kernel and prints its path.

		--kernel stock[=SUITE] makes the system of a stock kernel, a folder of about 2 GB. A system that was made stays as
		it is; delete the folder stock/SUITE beside those of the kernels for one of today.
	END
}

help_packages() {
	echo "tools/vm packages [--llvm]: installs the packages that other commands would install, as root, or lists them."
}

help_build() {
	echo "tools/vm build [--kernel VERSION] [--debug] [--llvm]: builds kernel, modules and user space without booting. With"
	echo "--llvm the kernel and the modules are built with LLVM=1, and kept beside those of GCC."
}

help_doctor() {
	cat <<-'END'
		tools/vm doctor [--llvm]: lists what is missing on this machine and how to get it; changes nothing.

		The exit status is 1 if something is missing without which tools/vm does not work. What is optional does not
		count: a slower or smaller way is there without it, or tools/vm builds it when a command needs it.
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
		option KVM "there is no /dev/kvm that can be written; $without" false
	elif kernel_is_built "$(default_kernel)" plain; then
		option KVM "/dev/kvm is there, but no guest boots with it; $without" kvm_works
	else
		option KVM "/dev/kvm is there; tools/vm tries it when the kernel is built; $without" false
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
				state="built, but not of this source package, configuration and compiler"
			else
				state="not built yet"
			fi
			option "kernel $version $flavour${LLVM:+ of LLVM}" "$state; $command builds it, and so does the first run with it" \
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
