# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Shared by tests of commands. Each test works in its own folder and writes TAP.

work=$(realpath "$(mktemp -d)")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
count=0 failed=0

# result NAME STATUS
result() {
	((++count))
	if (($2 == 0)); then
		echo "ok $count $1"
	else
		echo "not ok $count $1"
		sed 's/^/# /' output
		((++failed))
	fi
}

# runs NAME COMMAND...: the command succeeds.
runs() {
	local name=$1
	shift
	"$@" >output 2>&1
	result "$name" $?
}

# says NAME TEXT...: the last output contains each of these texts.
says() {
	local name=$1 text rc=0
	shift
	for text in "$@"; do grep -qF -- "$text" output || rc=1; done
	result "$name" "$rc"
}

# fails NAME STATUS COMMAND...: the command fails with this status.
fails() {
	local name=$1 status=$2 rc=0
	shift 2
	"$@" >output 2>&1 || rc=$?
	[[ $rc == "$status" ]]
	result "$name" $?
}

# Ends the test.
finish() {
	echo "1..$count"
	exit $((failed > 0))
}
