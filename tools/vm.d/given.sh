# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Module parameters, and environment variables for the command. We check parameters here and name the wrong one, because
# the kernel ignores a parameter that a module doesn't have.

MODULE_PARAMS=() # NAME=VALUE; the last one of a name takes effect
VARIABLES=()     # NAME=VALUE for the command

# Limits of the modules and the library.
readonly MAX_DEVICES=16
readonly MAX_DEVICE_MIB=65536
readonly MAX_LANES=128

# Variables that bash sets itself and doesn't let scripts change.
readonly BASH_VARIABLES='^(BASHOPTS|BASH_VERSINFO|EUID|PPID|SHELLOPTS|UID)$'

# whole_number TEXT FIRST LAST: succeeds if the text is a decimal number from FIRST to LAST.
whole_number() { [[ $1 =~ ^[0-9]{1,9}$ ]] && ((10#$1 >= $2 && 10#$1 <= $3)); }

# size_in_mib SIZE: converts a size like 64M to MiB, rounded down; fails if it isn't a size.
size_in_mib() {
	[[ $1 =~ ^([0-9]{1,15})([KMGkmg]?)$ ]] || return
	case ${BASH_REMATCH[2]} in
	K | k) echo $((10#${BASH_REMATCH[1]} >> 10)) ;;
	M | m) echo $((10#${BASH_REMATCH[1]})) ;;
	G | g) echo $((10#${BASH_REMATCH[1]} << 10)) ;;
	*) echo $((10#${BASH_REMATCH[1]} >> 20)) ;;
	esac
}

# size_is_whole SIZE: succeeds if the size is a multiple of 2 MiB, as device memory has to be.
size_is_whole() {
	local number=${1%[KMGkmg]}
	case $1 in
	*[Kk]) ((10#$number % 2048 == 0)) ;;
	*[Mm]) ((10#$number % 2 == 0)) ;;
	*[Gg]) true ;;
	*) ((10#$number % (2 << 20) == 0)) ;;
	esac
}

mib_of_device() { (($1 >= 2 && $1 <= MAX_DEVICE_MIB && $1 % 2 == 0)); }

# set_device_memory SIZE[,SIZE...]
set_device_memory() {
	local size mib sizes list=''
	[[ $1 && ,$1, != *,,* ]] || usage_error "--device-memory $1: invalid size, use for example 64M"
	IFS=, read -ra sizes <<<"$1"
	((${#sizes[@]} <= MAX_DEVICES)) ||
		usage_error "--device-memory: ${#sizes[@]} sizes given, but there can be at most $MAX_DEVICES devices"
	for size in "${sizes[@]}"; do
		mib=$(size_in_mib "$size") || usage_error "--device-memory $size: invalid size, use for example 64M"
		{ size_is_whole "$size" && mib_of_device "$mib"; } ||
			usage_error "--device-memory $size: must be a multiple of 2M from 2M to $((MAX_DEVICE_MIB >> 10))G"
		list+=${list:+,}$mib
	done
	MODULE_PARAMS+=("memory=$list")
}

set_devices() {
	whole_number "$1" 1 "$MAX_DEVICES" || usage_error "--devices $1: must be a number from 1 to $MAX_DEVICES"
	MODULE_PARAMS+=("devices=$((10#$1))")
}

set_lanes() {
	whole_number "$1" 1 "$MAX_LANES" || usage_error "--lanes $1: must be a number from 1 to $MAX_LANES"
	VARIABLES+=("HMMRT_LANES=$((10#$1))")
}

# set_module_param NAME[=VALUE]: only checks the syntax; check_module_params asks the modules.
set_module_param() {
	[[ $1 =~ ^[A-Za-z_][A-Za-z0-9_]*(=[^[:space:]]*)?$ ]] || usage_error "--module-param $1: expected NAME=VALUE"
	MODULE_PARAMS+=("$1")
}

# variable_of_caller NAME: prints NAME=VALUE and a full stop for a variable that tools/vm was started with. We read it
# from /proc, because this script's own variables may have replaced it.
variable_of_caller() {
	local pair
	while IFS= read -r -d '' pair; do
		[[ $pair != "$1="* ]] || { printf '%s.' "$pair" && return; }
	done <"/proc/$$/environ"
	return 1
}

# set_variable NAME[=VALUE]
set_variable() {
	local name=${1%%=*} pair=$1
	[[ $name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || usage_error "--env $1: expected NAME or NAME=VALUE"
	[[ ! $name =~ $BASH_VARIABLES ]] || usage_error "--env $name: the guest's shell sets this variable itself"
	if [[ $pair != *=* ]]; then
		# $(...) strips trailing line feeds; the full stop preserves those of the value.
		pair=$(variable_of_caller "$name") ||
			usage_error "--env $name: not set in this environment; set a value with --env $name=VALUE"
		pair=${pair%.}
	fi
	VARIABLES+=("$pair")
}

# Prints shell commands that export VARIABLES.
export_commands() {
	local pair
	for pair in "${VARIABLES[@]}"; do printf 'export %s=%q\n' "${pair%%=*}" "${pair#*=}"; done
}

# params_of MODULE: prints NAME TYPE for each parameter of a built module; a type is, for example, "array of uint".
params_of() {
	PATH=$PATH:/usr/sbin:/sbin modinfo -F parm "$MODULE_DIR/$1.ko" | sed -nE 's/^([A-Za-z0-9_]+):.*\(([^()]*)\)$/\1 \2/p'
}

# value_is TYPE TEXT: succeeds if the text is a valid value of this type.
value_is() {
	local type=${1#array of } text=$2 value values
	if [[ $1 == "array of "* ]]; then
		[[ $text && ,$text, != *,,* ]] || return
		IFS=, read -ra values <<<"$text"
		for value in "${values[@]}"; do value_is "$type" "$value" || return; done
		return
	fi
	case $type in
	bool) [[ $text =~ ^([yYnN01]|on|off)$ ]] ;;
	uint | ulong) [[ $text =~ ^(0[xX][0-9a-fA-F]+|[0-9]+)$ ]] ;;
	int) [[ $text =~ ^-?(0[xX][0-9a-fA-F]+|[0-9]+)$ ]] ;;
	esac
}

describe_type() {
	case $1 in
	bool) echo "Y or N" ;;
	"array of "*) echo "a number or a comma-separated list of numbers" ;;
	*) echo "a number" ;;
	esac
}

# check_range NAME VALUE: checks devices= and memory=; for bad ones, the modules only report "Invalid argument".
check_range() {
	local mib sizes
	case $1 in
	devices)
		whole_number "$2" 1 "$MAX_DEVICES" || usage_error "module parameter devices=$2: must be a number from 1 to $MAX_DEVICES"
		;;
	memory)
		IFS=, read -ra sizes <<<"$2"
		for mib in "${sizes[@]}"; do
			{ whole_number "$mib" 2 "$MAX_DEVICE_MIB" && mib_of_device "$((10#$mib))"; } ||
				usage_error "module parameter memory=$2: sizes must be even numbers of MiB from 2 to $MAX_DEVICE_MIB"
		done
		;;
	esac
}

# Checks all parameters against the names and types in the built modules, and assigns each to the PARAMS_MODULE variable
# of the module that has it. HMMRT_SIMGPU_PARAMS only counts if modules are loaded.
check_module_params() {
	local module name type param value all='' found params
	local -A types=() owners=()
	if [[ -z $MODULES ]]; then
		((${#MODULE_PARAMS[@]} == 0)) || usage_error "module parameter ${MODULE_PARAMS[0]}: cannot be used with --no-modules"
		return 0
	fi
	read -ra params <<<"${HMMRT_SIMGPU_PARAMS:-}"
	params+=("${MODULE_PARAMS[@]}")
	for module in $MODULES; do
		declare -g "PARAMS_$module="
		while read -r name type; do
			types[$name]=$type owners[$name]=$module all+=" $name"
		done < <(params_of "$module")
	done
	for param in "${params[@]}"; do
		name=${param%%=*} value=y
		[[ $param != *=* ]] || value=${param#*=}
		type=${types[$name]:-}
		[[ $type ]] || usage_error "unknown module parameter '$name' (valid:$all)"
		[[ $param == *=* || $type == bool ]] || usage_error "module parameter $name needs a value: $(describe_type "$type")"
		value_is "$type" "$value" || usage_error "module parameter $param: expected $(describe_type "$type")"
		check_range "$name" "$value"
		found=PARAMS_${owners[$name]}
		declare -g "$found=${!found} $param"
	done
}
