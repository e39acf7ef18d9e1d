# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Boots a guest, runs one command in it, and determines the result.
#
# Each run has a folder build/log/run.XXXXXX, which the guest mounts. The host writes the command to it, the guest
# writes `status` and `kmemleak` (see guest-init), and QEMU writes the serial console to `serial`, which has the
# whole kernel log even if the guest is lost.

# Options of a run and their defaults. tools/vm sets them from the command line.
KERNEL=$(default_kernel)
FLAVOUR=plain
MEMORY=4G
CPUS='' # processors; if empty, 2, or 1 with --icount
ONE_THREAD=no # yes: one thread emulates all processors of the guest, in turns
NUMA='' # nodes; if empty, the command's default
THP='' # mode of transparent huge pages; if empty, the kernel's default
TIME_LIMIT='' # seconds; if empty, the command's default
MODULES="hmmrt hmmrt_simgpu"
LEAK_SCAN=yes
PREALLOC=no
ICOUNT=no # the guest's clock counts instructions
INTERACTIVE=no
INPUT=no # the command reads standard input
COHERENT=no
CORE=no
SYSTEM='' # root folder of a stock kernel's user space

# Memory for coherent devices. It follows the guest's RAM, and we reserve it so that the guest's kernel doesn't use it.
readonly COHERENT_REGIONS=4
readonly COHERENT_MIB=256
readonly USUAL_TIME_LIMIT=900
# Folders that programs write to. The guest has a tmpfs on each, so what they write is lost when it ends. In the SHOWN
# folders it also sees this machine's files.
readonly WRITABLE="/tmp /run /var/tmp /mnt"
readonly SHOWN="/tmp /var/tmp /mnt"
readonly MOST_SHOWN=500 # maximum number of entries of such a folder
readonly RUNS_KEPT=20
readonly KVM_DEADLINE=15

new_run_dir() {
	local old
	mkdir -p "$BUILD/log" "$BUILD/out"
	# Other guests may be running. They have an initramfs until they end, or for longer if they were killed.
	# shellcheck disable=SC2012 # names are our own
	{ ls -dt "$BUILD"/log/run.* 2>/dev/null || true; } | tail -n "+$RUNS_KEPT" | while read -r old; do
		[[ $(find "$old/initramfs.cpio" -mtime -1 2>/dev/null) ]] || rm -rf "$old"
	done
	RUN_DIR=$(mktemp -d "$BUILD/log/run.XXXXXX")
	chmod 755 "$RUN_DIR"
}

# Plans the guest's memory map, in MiB. We keep at most 2 GiB of RAM below 4 GiB, where the firmware has its tables. The
# devices' memory comes last and is always above 4 GiB.
plan_memory() {
	local region start
	MEMORY_MIB=$(((($(numfmt --from=iec "$MEMORY") >> 20) + 1) / 2 * 2))
	((MEMORY_MIB > 0)) || usage_error "--memory $MEMORY: too small"
	MEMORY_LOW_MIB=$((MEMORY_MIB < 2048 ? MEMORY_MIB : 2048))
	start=$((4096 + MEMORY_MIB - MEMORY_LOW_MIB))
	COHERENT_MEMORY=()
	for ((region = 0; region < COHERENT_REGIONS; region++)); do
		COHERENT_MEMORY+=("$(printf '%#x' $(((start + region * COHERENT_MIB) << 20)))")
	done
}

# Assigns each coherent device a region of the memory that the guest's kernel doesn't use.
add_coherent_memory() {
	local param devices=2 mib list
	[[ $COHERENT == yes && $MODULES ]] || return 0
	for param in $PARAMS_hmmrt_simgpu; do
		case $param in
		devices=*) devices=${param#*=} ;;
		memory=*)
			for mib in $(tr , ' ' <<<"${param#*=}"); do
				((mib <= COHERENT_MIB)) || usage_error "--coherent: a device can have at most ${COHERENT_MIB}M, not ${mib}M"
			done
			;;
		esac
	done
	((devices <= COHERENT_REGIONS)) || usage_error "--coherent: there can be at most $COHERENT_REGIONS devices, not $devices"
	list=$(IFS=, && echo "${COHERENT_MEMORY[*]:0:devices}")
	PARAMS_hmmrt_simgpu+=" coherent=$list"
}

# Finds the modules and checks their parameters.
choose_modules() {
	MODULE_DIR=$(module_dir "$KERNEL" "$FLAVOUR")
	[[ -z $MODULES ]] || modules_are_for "$KERNEL_BUILD" "$MODULE_DIR" || die "the modules are not built; run tools/vm build"
	check_module_params
	add_coherent_memory
}

# Writes the variables for the scripts in the guest as shell assignments that both busybox and bash can read.
write_conf() {
	local name
	CWD=$PWD
	for name in REPO BUILD RUN_DIR SYSTEM KERNEL_BUILD CWD WRITABLE SHOWN MODULES MODULE_DIR LEAK_SCAN INTERACTIVE INPUT \
		CORE EXIT_GUEST PARAMS_hmmrt PARAMS_hmmrt_simgpu; do
		printf '%s=%q\n' "$name" "${!name:-}"
	done >"$RUN_DIR/vm.conf"
	if [[ $INTERACTIVE == yes && -t 0 ]]; then
		stty size | { read -r rows cols && printf 'ROWS=%q\nCOLS=%q\n' "$rows" "$cols"; } >>"$RUN_DIR/vm.conf"
	fi
}

# The command gets a small, well-defined environment: these variables and all that start with HMMRT_ or GTEST_.
write_environment() {
	local name
	for name in PATH HOME TERM LANG LC_ALL $(compgen -e HMMRT_) $(compgen -e GTEST_); do
		[[ -v $name ]] && printf 'export %s=%q\n' "$name" "${!name}"
	done >"$RUN_DIR/environment"
	{
		printf 'export HMMRT_GUEST=%q\n' "$(build_name "$KERNEL" "$FLAVOUR")"
		printf 'export HMMRT_MODULE_DIR=%q\n' "$MODULE_DIR"
		[[ $SYSTEM ]] || printf 'export HMMRT_KERNEL_BUILD=%q\n' "$KERNEL_BUILD"
		printf 'export HMMRT_OUT=%q\n' "$BUILD/out"
		printf 'export HMMRT_COHERENT_MEMORY=%q\n' "${COHERENT_MEMORY[*]}"
		[[ $ICOUNT == no ]] || echo 'export HMMRT_CLOCK=instructions'
	} >>"$RUN_DIR/environment"
}

# write_command COMMAND...: writes the command, preceded by its variables. We set these here, not in the environment
# file, so that they don't affect the scripts in the guest.
write_command() { { export_commands && printf '%q ' "$@"; } >"$RUN_DIR/command"; }

# fstab_name TEXT: escapes a name for fstab.
fstab_name() {
	local name=${1//\\/\\134}
	name=${name// /\\040}
	name=${name//$'\t'/\\011}
	printf %s "${name//$'\n'/\\012}"
}

# newest_entries DIR: prints the newest folders, files and symbolic links of DIR, each terminated by NUL.
newest_entries() {
	find "$1" -mindepth 1 -maxdepth 1 -type d,f,l -printf '%T@ %p\0' 2>/dev/null | sort -znr |
		sed -z "s/^[^ ]* //; ${MOST_SHOWN}q"
}

# show_folder DIR ROOT: lets the guest mount each entry of DIR, through fstab, where ROOT has an empty folder or file.
show_folder() {
	local entry name
	mkdir -p "$2/shown$1"
	chmod 1777 "$2/shown$1"
	while IFS= read -r -d '' entry; do
		if [[ -L $entry ]]; then
			cp -P "$entry" "$2/shown$entry" 2>/dev/null || true
			continue
		elif [[ -d $entry ]]; then
			mkdir "$2/shown$entry"
		else
			: >"$2/shown$entry"
		fi
		name=$(fstab_name "$entry")
		printf '/host%s /root%s none bind 0 0\n' "$name" "$name"
	done < <(newest_entries "$1") >>"$2/etc/fstab"
	(($(find "$2/shown$1" -mindepth 1 -maxdepth 1 -printf . | wc -c) < MOST_SHOWN)) ||
		say "$1 has too many entries: the guest only sees the newest $MOST_SHOWN"
}

make_initramfs() {
	local root=$RUN_DIR/initramfs dir
	mkdir -p "$root/bin" "$root/etc" "$root/shown"
	for dir in $SHOWN; do
		[[ ! -d $dir || -L $dir ]] || show_folder "$dir" "$root"
	done
	cp "$(command -v busybox)" "$root/bin/busybox"
	[[ ! $SYSTEM ]] || add_boot_modules "$root"
	cp "$VM_D/initramfs-init" "$root/init"
	cp "$RUN_DIR/vm.conf" "$root/vm.conf"
	chmod 755 "$root/init"
	(cd "$root" && find . | cpio --quiet -o -H newc) >"$RUN_DIR/initramfs.cpio"
	rm -rf "$root"
}

# Tests whether KVM works here by booting a guest that prints a line and powers off. A broken KVM may hang instead of
# failing, so the probe has a deadline.
probe_kvm() {
	local dir pid try
	dir=$(mktemp -d)
	mkdir -p "$dir/root/bin"
	cp "$(command -v busybox)" "$dir/root/bin/busybox"
	printf '#!/bin/busybox sh\n/bin/busybox echo kvm-works\n/bin/busybox poweroff -f\n' >"$dir/root/init"
	chmod 755 "$dir/root/init"
	(cd "$dir/root" && find . | cpio --quiet -o -H newc) >"$dir/cpio"
	qemu-system-x86_64 -accel kvm -cpu max -m 256M -nodefaults -display none \
		-serial "file:$dir/serial" -no-reboot -kernel "$KERNEL_IMAGE" -initrd "$dir/cpio" \
		-append "console=ttyS0 panic=-1" </dev/null >/dev/null 2>&1 &
	pid=$!
	# Don't use wait: a process that is stuck in the kernel doesn't exit even when killed.
	for ((try = 0; try < KVM_DEADLINE * 10; try++)); do
		kill -0 "$pid" 2>/dev/null && sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
	if grep -qs kvm-works "$dir/serial"; then echo kvm; else echo "tcg,thread=multi"; fi
	rm -rf "$dir"
}

# find_accelerator FILE: writes the accelerator to FILE, unless another process has just done so.
find_accelerator() {
	[[ -s $1 ]] && return
	rm -f "$CACHE"/accelerator-*
	probe_kvm >"$1.new"
	mv "$1.new" "$1"
}

# Prints the accelerator, which we determine once per boot of this machine.
accelerator() {
	local file
	[[ -w /dev/kvm ]] || { echo "tcg,thread=multi" && return; }
	file=$CACHE/accelerator-$(cat /proc/sys/kernel/random/boot_id)
	[[ -s $file ]] || with_lock accelerator find_accelerator "$file"
	cat "$file"
}

# Chooses the accelerator and the number of processors. A guest that counts instructions doesn't boot with more than
# one: the first processor waits for the second, which never runs.
choose_processors() {
	ACCEL=$(accelerator)
	CPUS=${CPUS:-$([[ $ICOUNT == yes ]] && echo 1 || echo 2)}
	[[ $ONE_THREAD == no || $ACCEL != tcg* ]] || ACCEL=tcg,thread=single
	[[ $ICOUNT == yes ]] || return 0
	((CPUS == 1)) || usage_error "--icount: the guest can have only one processor, not $CPUS"
	[[ $ACCEL == tcg* ]] ||
		usage_error "--icount: guests use KVM on this machine, but only an emulated processor can count instructions"
	ACCEL=tcg,thread=single
}

# With two or more nodes, we divide memory and processors evenly, and give the devices' memory to the last node. Each
# processor is a socket of its own, because a socket must not span nodes.
numa_arguments() {
	local node first=0 last given=0 end
	((NUMA > 1)) || return 0
	((CPUS >= NUMA)) || usage_error "--numa $NUMA needs at least $NUMA processors (--cpus)"
	printf '%s\n' -smp "$CPUS,sockets=$CPUS"
	for ((node = 0; node < NUMA; node++)); do
		last=$(((node + 1) * CPUS / NUMA - 1))
		end=$(((node + 1) * MEMORY_MIB / NUMA + (node == NUMA - 1 ? COHERENT_REGIONS * COHERENT_MIB : 0)))
		printf '%s\n' -object "memory-backend-ram,id=m$node,size=$((end - given))M" \
			-numa "node,nodeid=$node,memdev=m$node,cpus=$first-$last"
		first=$((last + 1))
		given=$end
	done
}

qemu_arguments() {
	local share=local,security_model=none,multidevs=remap
	local reserved=$((COHERENT_REGIONS * COHERENT_MIB)) options
	options="console=ttyS0 panic=-1 oops=panic ignore_loglevel printk.devkmsg=on secretmem.enable=1"
	[[ -z $THP ]] || options+=" transparent_hugepage=$THP"
	# An emulated processor doesn't announce a reliable TSC. The alternatives are QEMU devices, and reading one
	# stops all processors. On a busy machine the kernel's timer check fails as well, because the ticks come late.
	[[ $ACCEL != tcg* ]] || options+=" tsc=reliable no_timer_check"
	# With --icount the TSC counts nanoseconds. Tell the guest, because its own calibration is less accurate.
	[[ $ICOUNT == no ]] || options+=" tsc_early_khz=1000000"
	# Since 6.17, KASAN decides by the CPU features whether page tables have five levels. identify_cpu() clears the
	# features before it reads them again: if an interrupt arrives in between, KASAN reports its addresses as wild.
	[[ $FLAVOUR != debug ]] || options+=" no5lvl"
	printf '%s\n' -machine "q35,pit=off,max-ram-below-4g=${MEMORY_LOW_MIB}M" -accel "$ACCEL" \
		-cpu max,erms=off,fsrm=off -smp "$CPUS" -m "$((MEMORY_MIB + reserved))M" \
		-nodefaults -display none -no-reboot -serial "file:$RUN_DIR/serial" \
		-kernel "$KERNEL_IMAGE" -initrd "$RUN_DIR/initramfs.cpio" \
		-append "$options memmap=${reserved}M\$${COHERENT_MEMORY[0]}" \
		-virtfs "$share,path=/,mount_tag=host,readonly=on" \
		-virtfs "$share,path=$BUILD/out,mount_tag=out" \
		-virtfs "$share,path=$RUN_DIR,mount_tag=run" \
		-device virtio-serial-pci
	[[ ! $SYSTEM ]] || printf '%s\n' -virtfs "$share,path=$BUILD/root,mount_tag=system,readonly=on"
	numa_arguments
	[[ $PREALLOC == no ]] || echo -mem-prealloc
	# An instruction takes one nanosecond. If the guest is idle, QEMU skips to the next timer instead of sleeping.
	[[ $ICOUNT == no ]] || printf '%s\n' -icount shift=0,sleep=off
	if [[ $INTERACTIVE == yes ]]; then
		printf '%s\n' -chardev stdio,id=tty,signal=off -device virtconsole,chardev=tty
	else
		printf '%s\n' -chardev "file,id=out,path=$RUN_DIR/out,append=on" -device virtserialport,name=out,chardev=out \
			-chardev "file,id=err,path=$RUN_DIR/err,append=on" -device virtserialport,name=err,chardev=err
		[[ $INPUT == no ]] ||
			printf '%s\n' -chardev stdio,id=in,signal=off -device virtserialport,name=in,chardev=in
	fi
}

# lost_in_boot STATUS: succeeds if QEMU lost the guest before init ran, for one of two reasons that a retry fixes:
#
# QEMU occasionally aborts while the emulated firmware or kernel sets up PCI devices, because its lookup of a device's
# registers races with another processor that moves them.
#
# To patch code that another processor may be executing, the kernel temporarily inserts a breakpoint. An emulated
# processor can hit the breakpoint after the kernel has removed it, and the kernel treats that as an error.
lost_in_boot() {
	! grep -qa "Run /init" "$RUN_DIR/serial" 2>/dev/null || return
	(($1 == 134)) || { [[ $ACCEL == tcg* ]] && grep -qa "Oops: int3" "$RUN_DIR/serial"; }
}

# Runs QEMU under the time limit. The callers only care about the statuses "timed out" (124, 137) and "aborted" (134).
run_qemu_once() {
	local arguments pid rc=0 qemu=(timeout --foreground -k 2 "$TIME_LIMIT" qemu-system-x86_64)
	mapfile -t arguments <"$RUN_DIR/qemu"
	[[ ! $SYSTEM ]] || qemu=(with_system_root "${qemu[@]}")
	"${qemu[@]}" "${arguments[@]}" <&0 2>"$RUN_DIR/qemu.err" &
	pid=$!
	trap 'kill "$pid" ${READER:+"$READER"} 2>/dev/null; exit 130' INT TERM HUP
	wait "$pid" 2>/dev/null || rc=$?
	trap - INT TERM HUP
	return "$rc"
}

run_qemu() {
	local attempt rc
	qemu_arguments >"$RUN_DIR/qemu"
	for attempt in 1 2 3; do
		rc=0
		run_qemu_once || rc=$?
		lost_in_boot "$rc" || break
		say "the guest was lost during boot (attempt $attempt of 3): $(tail -n 1 "$RUN_DIR/qemu.err")"
	done
	return "$rc"
}

# Forwards standard input to QEMU while the guest reads it. We don't pass it to QEMU directly, because QEMU would change
# a terminal's mode. We ignore SIGTTIN so that reading a terminal in the background fails instead of stopping
# everything.
run_qemu_with_input() {
	local rc=0
	mkfifo "$RUN_DIR/in"
	(trap '' TTIN && exec cat <&0 >"$RUN_DIR/in" 2>/dev/null) <&0 &
	READER=$!
	run_qemu <"$RUN_DIR/in" >/dev/null || rc=$?
	# The reader may be blocked on a terminal without input.
	kill "$READER" 2>/dev/null || true
	wait "$READER" 2>/dev/null || true
	READER=''
	rm -f "$RUN_DIR/in"
	return "$rc"
}

# Forwards the command's output as the guest writes it.
run_qemu_with_output() {
	local out err rc=0
	mkfifo "$RUN_DIR/out" "$RUN_DIR/err"
	cat "$RUN_DIR/out" &
	out=$!
	cat "$RUN_DIR/err" >&2 &
	err=$!
	# Keep the pipes open here, so that the readers run until QEMU ends, even if QEMU fails immediately.
	exec {hold_out}>"$RUN_DIR/out" {hold_err}>"$RUN_DIR/err"
	if [[ $INPUT == yes ]]; then run_qemu_with_input || rc=$?; else run_qemu </dev/null || rc=$?; fi
	exec {hold_out}>&- {hold_err}>&-
	wait "$out" "$err" || true
	rm -f "$RUN_DIR/out" "$RUN_DIR/err"
	return "$rc"
}

report_lost_guest() {
	if (($1 == 124 || $1 == 137)); then
		say "the guest was stopped because it reached the time limit of $TIME_LIMIT s (--time-limit)"
	else
		say "the guest was lost before the command finished"
	fi
	cat "$RUN_DIR/qemu.err" >&2
	if [[ -s $RUN_DIR/serial ]]; then
		"$VM_D/scan-log" "$RUN_DIR/serial" >&2 || true
		say "the last lines of its console:"
		tail -n 20 "$RUN_DIR/serial" | tr -d '\r' >&2
	fi
	say "the full console log is in $RUN_DIR/serial"
}

report_cores() {
	local core
	[[ -s $RUN_DIR/cores ]] || return 0
	while IFS= read -r core; do say "core dumped: $core"; done <"$RUN_DIR/cores"
}

# Prints the programs that died of an invalid opcode, according to the kernel log.
illegal_programs() { sed -n 's/^.*traps: \(.*\)\[[0-9]*\] trap invalid opcode .*/\1/p' "$RUN_DIR/serial" 2>/dev/null | sort -u; }

report_illegal_instructions() {
	local program cause="it used an instruction that the guest's processor lacks, or trapped on purpose"
	[[ $ACCEL != tcg* ]] ||
		cause="the guest's processor has only x86-64-v3 (no AVX-512); build with -march=x86-64-v3, unless the program traps on purpose"
	while IFS= read -r program; do say "$program died of SIGILL: $cause"; done < <(illegal_programs)
}

# Returns the command's status, EXIT_GUEST if the guest was lost, or EXIT_LOG if the kernel complained.
judge_run() {
	local qemu_status=$1 complaints status
	if [[ ! -s $RUN_DIR/status ]]; then
		report_lost_guest "$qemu_status"
		return "$EXIT_GUEST"
	fi
	status=$(<"$RUN_DIR/status")
	cat "$RUN_DIR/serial" "$RUN_DIR/kmemleak" >"$RUN_DIR/kmsg"
	if ! complaints=$("$VM_D/scan-log" "$RUN_DIR/kmsg"); then
		say "the kernel complained during the run (the command exited with $status); the full log is in $RUN_DIR/kmsg:"
		head -n 40 <<<"$complaints" >&2
		return "$EXIT_LOG"
	fi
	return "$status"
}

# run_guest COMMAND...: boots, runs the command, returns its status, EXIT_GUEST or EXIT_LOG.
run_guest() {
	local rc=0
	TIME_LIMIT=${TIME_LIMIT:-$USUAL_TIME_LIMIT}
	NUMA=${NUMA:-1}
	plan_memory
	choose_processors
	choose_modules
	new_run_dir
	write_conf
	write_environment
	write_command "$@"
	make_initramfs
	if [[ $INTERACTIVE == yes ]]; then run_qemu || rc=$?; else run_qemu_with_output || rc=$?; fi
	rm -f "$RUN_DIR/initramfs.cpio"
	report_cores
	report_illegal_instructions
	judge_run "$rc"
}
