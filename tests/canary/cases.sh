# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Cases are functions case_NAME of a script; its run_case runs one of them. A failing case prints why, and returns
# nonzero.

all_cases() { declare -F | sed -n 's/^declare -f case_//p'; }

# run_cases [NAME...]: runs all cases or the named ones, prints a line each, and fails if one of them does.
run_cases() {
	local name rc failed=0 cases=("$@")
	(($#)) || mapfile -t cases < <(all_cases)
	for name in "${cases[@]}"; do
		rc=0
		run_case "$name" || rc=$?
		if ((rc)); then
			echo "not ok $name"
			failed=1
		else
			echo "ok $name"
		fi
	done
	return "$failed"
}
