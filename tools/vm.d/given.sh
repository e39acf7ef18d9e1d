# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What a run gives to the command: environment variables.

VARIABLES=() # NAME=VALUE

# Variables that bash sets itself and lets no script change.
readonly BASH_VARIABLES='^(BASHOPTS|BASH_VERSINFO|EUID|PPID|SHELLOPTS|UID)$'

# Prints NAME=VALUE of a variable that tools/vm was started with. The variables of this script hide some of them.
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
	[[ $name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || usage_error "--env $1: not NAME or NAME=VALUE"
	[[ ! $name =~ $BASH_VARIABLES ]] || usage_error "--env $name: the shell in the guest sets it itself"
	if [[ $pair != *=* ]]; then
		# The full stop keeps line feeds at the end of the value.
		pair=$(variable_of_caller "$name") ||
			usage_error "--env $name: it is not set here; --env $name=VALUE gives it a value"
		pair=${pair%.}
	fi
	VARIABLES+=("$pair")
}

# Prints the commands that set the variables in a shell.
export_commands() {
	local pair
	for pair in "${VARIABLES[@]}"; do printf 'export %s=%q\n' "${pair%%=*}" "${pair#*=}"; done
}
