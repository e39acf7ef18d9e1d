# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Paths, exit codes, messages, locks and jobs for tools/vm, tools/package and tools/compilers.
#
# CACHE holds unpacked kernel sources and built kernels; all checkouts of a user share it.
# BUILD belongs to this checkout: modules, user space, results (out/) and logs (log/).

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
VM_D=$REPO/tools/vm.d
BUILD=$REPO/build
CACHE=${HMMRT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/hmmrt}
JOBS=$(nproc)

# Exit codes of tools/vm itself
readonly EXIT_USAGE=64 # invalid arguments
readonly EXIT_GUEST=69 # the guest did not boot, panicked, hung or was lost
readonly EXIT_LOG=70   # the kernel log holds a complaint

PROGRAM=vm # prefix of messages
HELP=help  # argument that shows the program's help

say() { printf '%s: %s\n' "$PROGRAM" "$*" >&2; }

die() {
	say "$*"
	exit 1
}

usage_error() {
	say "$* (see tools/$PROGRAM $HELP)"
	exit "$EXIT_USAGE"
}

# os_release NAME: prints this variable of /etc/os-release, for example VERSION_CODENAME, or an empty line.
os_release() (
	unset "$1"
	# shellcheck source=/dev/null
	. /etc/os-release 2>/dev/null || true
	echo "${!1-}"
)

# Prints seconds in a readable form.
human_time() {
	local s=$1
	if ((s < 60)); then echo "$s s"; else printf '%d min %02d s\n' $((s / 60)) $((s % 60)); fi
}

# step TEXT COMMAND...: runs the command and prints one line. Its output goes to a log; on failure we print the end of
# the log. Standard input is /dev/null, because the real one belongs to the command that the caller finally runs.
step() {
	local text=$1 log rc=0 start=$SECONDS
	shift
	mkdir -p "$BUILD/log"
	log=$(mktemp "$BUILD/log/step.XXXXXX")
	printf '%s: %s ...' "$PROGRAM" "$text" >&2
	"$@" </dev/null >"$log" 2>&1 || rc=$?
	if ((rc)); then
		printf ' failed\n' >&2
		tail -n 40 "$log" >&2
		say "the full output is in $log"
		return "$rc"
	fi
	printf ' %s\n' "$(human_time $((SECONDS - start)))" >&2
	grep -E 'warning:' "$log" >&2 || true
	rm -f "$log"
}

# with_lock NAME COMMAND...: runs the command under the lock NAME, which all of the user's checkouts share.
with_lock() {
	local lock=$CACHE/lock/$1 rc=0 fd
	shift
	mkdir -p "$CACHE/lock"
	exec {fd}>"$lock"
	if ! flock --nonblock "$fd"; then
		say "waiting for another tools/$PROGRAM (${lock##*/})"
		flock "$fd"
	fi
	"$@" || rc=$?
	exec {fd}>&-
	return "$rc"
}

# checkout_lock NAME: prints a lock name that is unique to this checkout.
checkout_lock() { echo "checkout-$(printf %s "$REPO" | sha256sum | cut -c1-12)-$1"; }

# begin COMMAND...: starts the command in the background and sets JOB to its process ID. The command leads a process
# group of its own, so that end_jobs can end everything that it started. ^C therefore only reaches the caller, which has
# to end the job itself. We ignore SIGTTOU so that the job can write to a terminal that has TOSTOP set.
begin() {
	set -m
	{
		set +m
		trap '' TTOU
		"$@"
	} </dev/null &
	JOB=$!
	set +m
}

# end_jobs [JOB]...: ends these jobs and everything that they started. Don't pass a job that has been waited for: its
# number may be in use again.
end_jobs() {
	local job try
	for job in "$@"; do kill -- "-$job" 2>/dev/null || true; done
	for job in "$@"; do
		for ((try = 0; try < 100; try++)); do
			kill -0 -- "-$job" 2>/dev/null || break
			sleep 0.1
		done
		kill -KILL -- "-$job" 2>/dev/null || true
		wait "$job" 2>/dev/null || true
	done
}
