# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# --host: loads the modules into this machine's running kernel instead of booting a guest.

HOST_BUILD=${HMMRT_HOST_BUILD:-/lib/modules/$(uname -r)/build}

# Prints what the running kernel lacks, and fails if anything is missing.
check_host_kernel() {
	local config option missing=()
	config=/boot/config-$(uname -r)
	[[ -e $config ]] || config=$HOST_BUILD/.config
	for option in DEVICE_PRIVATE HMM_MIRROR MMU_NOTIFIER MODULE_UNLOAD; do
		if [[ -e /proc/config.gz ]]; then
			zgrep -q "^CONFIG_$option=y" /proc/config.gz || missing+=("CONFIG_$option")
		else
			grep -qs "^CONFIG_$option=y" "$config" || missing+=("CONFIG_$option")
		fi
	done
	[[ -d $HOST_BUILD ]] || missing+=("its headers ($HOST_BUILD)")
	((EUID == 0)) || missing+=("root")
	((${#missing[@]})) || return 0
	say "cannot use this machine's kernel: missing ${missing[*]}"
	return 1
}

unload_host_modules() {
	local module
	for module in hmmrt_dmirror hmmrt_sample hmmrt_faulty hmmrt_simgpu hmmrt; do
		grep -q "^$module " /proc/modules || continue
		rmmod "$module" || say "module $module could not be unloaded"
	done
	! grep -qE '^hmmrt(_[a-z]+)? ' /proc/modules
}

load_host_modules() {
	local module name params
	for module in $MODULES; do
		name=PARAMS_$module
		read -ra params <<<"${!name}"
		if ! grep -q "^$module " /proc/modules; then
			insmod "$MODULE_DIR/$module.ko" "${params[@]}" || return
		elif ((${#params[@]})); then
			say "module $module is already loaded, without ${params[*]}; unload it first"
			return 1
		fi
	done
}

# Runs the command in a subshell, so that its variables don't affect this script.
run_with_variables() (
	export HMMRT_MODULE_DIR=$MODULE_DIR HMMRT_GUEST='' HMMRT_OUT=$BUILD/out
	((${#VARIABLES[@]} == 0)) || export "${VARIABLES[@]}"
	"$@"
)

# build_host BUILD_FIRST: builds the modules for the running kernel, and user space.
build_host() {
	check_host_kernel || return "$EXIT_GUEST"
	MODULE_DIR=$(module_dir "$(uname -r)" host)
	[[ $1 == yes ]] || return 0
	with_lock "$(checkout_lock modules-host)" \
		build_modules_locked "modules for the running kernel" "$HOST_BUILD" "$MODULE_DIR" && build_user
}

# run_host COMMAND...: like run_guest, on the running kernel. We only check the log lines of this run.
run_host() {
	local rc=0 mark complaints
	check_module_params
	new_run_dir
	mark="hmmrt-vm: run ${RUN_DIR##*.}"
	echo "$mark" >/dev/kmsg
	load_host_modules || return "$EXIT_GUEST"
	run_with_variables "$@" || rc=$?
	unload_host_modules || rc=$EXIT_LOG
	dmesg | sed "0,/$mark/d" >"$RUN_DIR/kmsg"
	if ! complaints=$("$VM_D/scan-log" "$RUN_DIR/kmsg"); then
		say "the kernel complained during the run (the command exited with $rc):"
		head -n 40 <<<"$complaints" >&2
		return "$EXIT_LOG"
	fi
	return "$rc"
}
