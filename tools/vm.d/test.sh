# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# `tools/vm test`: runs the kinds of tests one after the other. The last line has the totals. The lines before it repeat
# each failure, because CI may truncate the beginning of a log.
#
#   lint     checks of tools/lint that only read the sources, counted as one test
#   host     tests that need no kernel module, run natively with ASan and UBSan
#   analysis checks of tools/lint that need a built kernel and user space, counted as one test
#   cpu      programs of tests/runtime on the cpu device, natively under valgrind, and with --long also under TSan; CUDA
#            programs, and hmmcc itself
#   plain    the guest with the plain kernel
#   debug    the guest with the debug kernel
#   canary   tests of the test tools; like the next two, only if named or with --long
#   newcomer tools/vm as a user types it
#   package  Debian packages: built, installed in a temporary root, and purged
#
# lint and host come first, because they don't need a kernel. If no tests are named, we stop before the guests start when
# a test of an earlier kind failed.

PASSED=0
FAILED=0
SKIPPED=0
FAILURES=() # a line for each
TEST_TIME_LIMIT=4200
TEST_NUMA=2
TEST_GUESTS=2 # number of guests that run concurrently
MOST_FINDINGS=20 # maximum number of findings that we repeat for each lint check
readonly CHECKS_OF_BUILDS='sparse|abi|clang-tidy' # the checks of the kind analysis
LINT_ITSELF='' # process ID of lint's self-test
declare -A SCRIPTS=() # process IDs of canary, newcomer and package
TALLIED=0 # value of SECONDS at the last tally

# tally TITLE PASSED FAILED SKIPPED [FAILURE...]: adds these results to the totals, and prints them with the time since
# the last tally.
tally() {
	local title=$1 failure
	PASSED=$((PASSED + $2)) FAILED=$((FAILED + $3)) SKIPPED=$((SKIPPED + $4))
	printf '== %s: %d passed, %d failed, %d skipped (%s)\n\n' "${@:1:4}" "$(human_time $((SECONDS - TALLIED)))"
	TALLIED=$SECONDS
	(($3 == 0 || $# > 4)) || FAILURES+=("$title: $3 failed")
	for failure in "${@:5}"; do FAILURES+=("$title: $failure"); done
}

# tally_run TITLE STATUS PASSED FAILED SKIPPED [FAILURE...]: like tally, but counts a non-zero status without a failed
# test as a failure.
tally_run() {
	local title=$1 status=$2 passed=$3 failed=$4 skipped=$5
	shift 5
	if ((status != 0 && failed == 0)); then
		echo "$title ended with status $status"
		tally "$title" "$passed" 1 "$skipped" "ended with status $status"
	else
		tally "$title" "$passed" "$failed" "$skipped" "$@"
	fi
}

# build_first COMMAND...: runs a build command, unless --no-build was given.
build_first() { [[ $BUILD_FIRST == no ]] || "$@"; }

# Uses the default kernel's checkpatch, so that the result doesn't depend on --kernel.
run_lint() (
	[[ ${HMMRT_TEST_LONG-} == yes ]] || set -- --quick "$@"
	ensure_source "$(default_kernel)"
	HMMRT_KERNEL_SOURCE=$KERNEL_SOURCE HMMRT_KERNEL_BUILD=$KERNEL_BUILD "$REPO/tools/lint" "$@"
)

# lint_findings LOG: prints the findings, with the names of their checks. Lines that aren't followed by a check's result
# come from lint itself.
lint_findings() {
	awk -v most="$MOST_FINDINGS" '
		/^lint: .* ok(, [0-9]+ warnings)?$/ { n = 0; next }
		/^lint: [a-z-]+: [0-9]+ findings$/ {
			for (i = 0; i < n && i < most; i++) print $2, kept[i]
			if (n > most) print $2, n - most " more findings"
			n = 0
			next
		}
		!/^warning: / && /^[^[:space:]]/ { kept[n++] = $0 }
		END { for (i = 0; i < n; i++) print kept[i] }' "$1"
}

# test_by_lint KIND CHECK...: runs these checks as one test.
test_by_lint() {
	local kind=$1 log=$BUILD/out/results/$1.log failures
	shift
	if run_lint "$@" >"$log" 2>&1; then
		tally "$kind" 1 0 0
	else
		tail -n 60 "$log"
		mapfile -t failures < <(lint_findings "$log")
		tally "$kind" 0 1 0 "${failures[@]}"
	fi
}

test_lint() {
	local checks
	mapfile -t checks < <("$REPO/tools/lint" --list | grep -vxE "$CHECKS_OF_BUILDS")
	test_by_lint lint "${checks[@]}"
}

test_analysis() {
	local checks
	IFS='|' read -ra checks <<<"$CHECKS_OF_BUILDS"
	if ! ensure_kernel "$(default_kernel)" plain || ! build_first build_user; then
		tally analysis 0 1 0 "the build failed"
		return
	fi
	test_by_lint analysis "${checks[@]}"
}

# junit_number ATTRIBUTE FILE: prints this attribute of the test suite in ctest's JUnit file, or 0 if there is no file.
junit_number() {
	local number
	number=$(sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p; /<testcase/q" "$2" 2>/dev/null) || true
	echo "${number:-0}"
}

# junit_failures FILE: prints the names of the failed tests in ctest's JUnit file.
junit_failures() { sed -n 's/^[[:space:]]*<testcase name="\([^"]*\)".* status="fail".*/\1/p' "$1" 2>/dev/null; }

# run_ctest TITLE FOLDER LABEL BUILD [NAME...]: natively runs the tests with this label, or only the named ones of them.
run_ctest() {
	local title=$1 folder=$2 label=$3 build=$4 rc=0 junit=$BUILD/out/results/$1.xml log=$BUILD/out/results/$1.log
	local tests failed skipped select=() failures
	shift 4
	rm -f "$junit"
	(($#)) && select=(-R "$(IFS='|' && echo "$*")")
	if ! build_first "$build"; then
		tally "$title" 0 1 0 "the build failed"
		return
	fi
	ctest --test-dir "$folder" -j 2 -L "$label" "${select[@]}" --output-on-failure --timeout 300 \
		--output-junit "$junit" --no-tests=ignore >"$log" 2>&1 || rc=$?
	((rc == 0)) || tail -n 60 "$log"
	tests=$(junit_number tests "$junit")
	failed=$(junit_number failures "$junit")
	skipped=$(($(junit_number skipped "$junit") + $(junit_number disabled "$junit")))
	if ((tests == 0 && $# == 0)); then
		echo "no $title tests were found"
		rc=1
	fi
	mapfile -t failures < <(junit_failures "$junit")
	tally_run "$title" "$rc" $((tests - failed - skipped)) "$failed" "$skipped" "${failures[@]}"
}

test_on_host() { run_ctest host "$BUILD/host-asan" host build_host_tests "$@"; }

# These tests run natively: in an emulated guest, a compiler takes minutes.
test_hmmcc() { run_ctest hmmcc "$BUILD/user" hmmcc build_user; }

# add_sums FILE...: adds the counts that the guests wrote to the caller's passed, failed and skipped.
add_sums() {
	local file sums
	for file in "$@"; do
		[[ -s $file ]] || continue
		read -ra sums <"$file"
		((passed += sums[0], failed += sums[1], skipped += sums[2])) || true
	done
}

# add_failures FILE...: appends the lines of these files to the caller's failures.
add_failures() {
	local file
	for file in "$@"; do
		[[ ! -s $file ]] || mapfile -t -O "${#failures[@]}" failures <"$file"
	done
}

# run_parts RESULTS: runs the programs in several guests, which share the work, and returns the highest status. A
# program that no guest ran and a guest that didn't write its counts are failures.
run_parts() {
	local results=$1 part rc=0 worst=0 pids=() ONE_THREAD=no
	prepare || return
	# If the guests have more threads than this machine has processors, a processor of a guest often waits for one that
	# doesn't run, and a debug kernel spends most of its time that way. A processor that waits for another one gives up
	# its turn at once. The plain kernel and --long test real parallelism.
	[[ $FLAVOUR != debug || ${HMMRT_TEST_LONG-} == yes ]] || (($(nproc) >= 2 * TEST_GUESTS)) || ONE_THREAD=yes
	rm -rf "$results" "$results.taken"
	mkdir -p "$results.taken"
	trap 'kill "${pids[@]}" 2>/dev/null; exit 130' INT TERM HUP
	for ((part = 1; part <= TEST_GUESTS; part++)); do
		(BUILD_FIRST=no run_anywhere "$REPO/tests/run-guest" "$BUILD" --part "$part") &
		pids+=($!)
	done
	for ((part = 1; part <= TEST_GUESTS; part++)); do
		rc=0
		wait "${pids[part - 1]}" || rc=$?
		((worst = rc > worst ? rc : worst)) || true
		[[ -s $results.$part.txt ]] || count_failure "guest $part ended with status $rc and reported no results"
	done
	trap - INT TERM HUP
	count_left_out "$results"
	rm -rf "$results.taken"
	return "$worst"
}

# count_failure TEXT: adds a failure that doesn't belong to a program to the caller's failures.
count_failure() {
	echo "$1"
	failures+=("$1")
	((failed++)) || true
}

# count_left_out RESULTS: counts programs in the list that have no log as failures.
count_left_out() {
	local path name
	while read -r path _; do
		name=$(basename "$path")
		[[ -e $1/$name.log ]] || count_failure "$name was not run"
	done < <(grep -vE '^[[:space:]]*(#|$)' "$BUILD/user/tests/guest-tests.txt")
}

# test_on_cpu TOOL [NAME...]: runs programs of tests/runtime on the cpu device under tsan or valgrind. Without --long we
# only run the named ones, because valgrind is slow.
test_on_cpu() {
	local tool=$1 results=$BUILD/out/results/cpu-$1 rc=0 passed=0 failed=0 skipped=0 failures=()
	shift
	[[ ${HMMRT_TEST_LONG-} != yes ]] || set --
	rm -f "$results".{txt,failed}
	build_first build_user && "$REPO/tests/runtime/on-cpu" "$tool" "$@" || rc=$?
	add_sums "$results.txt"
	add_failures "$results.failed"
	tally_run "cpu device under $tool" "$rc" "$passed" "$failed" "$skipped" "${failures[@]}"
}

# test_in FLAVOUR [NAME...]: builds for this flavour, runs the programs in guests, and adds up the counts that these
# write.
test_in() {
	local rc=0 passed=0 failed=0 skipped=0 failures=() title results
	FLAVOUR=$1
	shift
	title="$KERNEL $FLAVOUR${LLVM:+ with LLVM}"
	results=$BUILD/out/results/$(build_name "$KERNEL" "$FLAVOUR")
	if [[ $ON_HOST == yes ]]; then
		title="$(uname -r)"
		results=$BUILD/out/results/host
	fi
	rm -f "$results".{txt,failed} "$results".[0-9]*.{txt,failed}
	if [[ $ON_HOST == yes ]] || (($#)); then
		run_anywhere "$REPO/tests/run-guest" "$BUILD" "$@" || rc=$?
	else
		run_parts "$results" || rc=$?
	fi
	add_sums "$results.txt" "$results".[0-9]*.txt
	add_failures "$results.failed" "$results".[0-9]*.failed
	tally_run "$title" "$rc" "$passed" "$failed" "$skipped" "${failures[@]}"
}

# begin_script KIND [FLAVOUR...]: builds the modules of these flavours, and starts tests/KIND/run, which calls tools/vm
# and writes TAP. The scripts run in parallel, because their guests often wait.
begin_script() {
	local kind=$1 flavour
	shift
	for flavour in "$@"; do
		build_first build_modules "$KERNEL" "$flavour" && continue
		tally "$KERNEL $kind" 0 1 0 "the $flavour modules failed to build"
		return
	done
	{
		trap - INT
		exec "$REPO/tests/$kind/run" "$KERNEL"
	} >"$BUILD/out/results/$kind-$KERNEL.log" 2>&1 &
	SCRIPTS[$kind]=$!
}

# end_script KIND: waits for the script and counts its results.
end_script() {
	local kind=$1 log=$BUILD/out/results/$1-$KERNEL.log rc=0 sums failures
	[[ ${SCRIPTS[$kind]-} ]] || return 0
	wait "${SCRIPTS[$kind]}" || rc=$?
	unset "SCRIPTS[$kind]"
	cat "$log"
	read -ra sums < <("$REPO/tests/count-results" -v status="$rc" "$log")
	mapfile -t failures < <("$REPO/tests/failed-names" -v status="$rc" "$log")
	tally "$KERNEL $kind" "${sums[@]}" "${failures[@]}"
}

# The scripts mostly wait, so the guests of the debug kernel run meanwhile.
begin_scripts() {
	! kind_is_selected canary || begin_lint_itself
	! kind_is_selected canary || begin_script canary plain debug
	! kind_is_selected newcomer || begin_script newcomer plain
	! kind_is_selected package || begin_script package
}

end_scripts() {
	local kind
	for kind in canary newcomer package; do end_script "$kind"; done
}

# Starts lint's self-test once. It runs in parallel with the canaries, which often wait for a time limit in their guest.
begin_lint_itself() {
	[[ ! $LINT_ITSELF ]] || return 0
	{
		trap - INT
		run_lint --self-test
	} >"$BUILD/out/results/lint-self-test.log" 2>&1 &
	LINT_ITSELF=$!
}

# The last line of the self-test is "self-test: N passed, N failed".
test_lint_itself() {
	local log=$BUILD/out/results/lint-self-test.log rc=0 passed=0 failed=0 failures
	begin_lint_itself
	wait "$LINT_ITSELF" || rc=$?
	((rc == 0)) || tail -n 60 "$log"
	read -r passed failed < <(sed -n 's/^self-test: \([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log") || true
	((passed + failed > 0)) || rc=1
	mapfile -t failures < <(grep -E '^self-test: .*(exited with|did not finish)' "$log")
	tally_run "lint's self-test" "$rc" "$passed" "$failed" 0 "${failures[@]#self-test: }"
}

# Splits the arguments into KINDS and PROGRAMS. Without arguments we select all kinds; with programs only, we select the
# kinds that have programs.
select_tests() {
	local name
	KINDS=() PROGRAMS=()
	for name in "$@"; do
		case $name in
		lint | host | analysis | cpu | plain | debug | canary | newcomer | package) KINDS+=("$name") ;;
		*) PROGRAMS+=("$name") ;;
		esac
	done
	if is_stock "$KERNEL"; then
		select_tests_of_stock
		return
	fi
	refuse_for_llvm
	((${#KINDS[@]})) && return
	KINDS=(host plain debug)
	((${#PROGRAMS[@]})) || KINDS=(lint host analysis cpu plain debug)
	[[ ${PROGRAMS[*]} || ${HMMRT_TEST_LONG-} != yes ]] || KINDS+=(canary newcomer package)
	[[ ! $LLVM ]] || KINDS=(plain)
	if [[ $FLAVOUR == debug ]]; then KINDS=(debug); fi
	if [[ $ON_HOST == yes ]]; then KINDS=(host plain); fi
}

# A stock kernel runs the guest programs and, unless programs are named, the package tests.
select_tests_of_stock() {
	local kind
	for kind in "${KINDS[@]}"; do
		[[ $kind == plain || $kind == package ]] || usage_error "$kind: a stock kernel only runs plain and package tests"
	done
	((${#KINDS[@]})) && return
	KINDS=(plain)
	((${#PROGRAMS[@]})) || KINDS+=(package)
}

# The other kinds don't use modules, or use those that GCC built.
refuse_for_llvm() {
	local kind
	for kind in "${KINDS[@]}"; do
		[[ ! $LLVM || $kind == plain || $kind == debug ]] || usage_error "--llvm only affects tests in a guest, not $kind"
	done
}

# Kinds that need no guest run once, not for each kernel.
test_here() {
	case $1 in
	lint) test_lint ;;
	host) test_on_host "${PROGRAMS[@]}" ;;
	analysis) test_analysis ;;
	cpu)
		[[ ${HMMRT_TEST_LONG-} != yes ]] || test_on_cpu tsan
		test_on_cpu valgrind advice copy launch memory stream
		test_hmmcc
		;;
	esac
}

kind_is_selected() { [[ " ${KINDS[*]} " == *" $1 "* ]]; }

# Some tests switch to other users, for whom nothing works if they can't enter the root. That happens if the root is a
# folder that mktemp made, for example.
ensure_open_root() {
	local mode
	mode=$(stat -c %a /)
	((EUID != 0 || 8#$mode & 1)) || die "other users cannot enter /, because its mode is $mode, not 755, and some tests switch to other users"
}

# test_selected KIND...: runs the selected ones of these kinds, none of which needs a guest.
test_selected() {
	local kind
	for kind in "$@"; do
		! kind_is_selected "$kind" || test_here "$kind"
	done
}

# may_go_on NAMED...: fails if a test failed, unless tests were named. A format that is wrong then shows within minutes.
may_go_on() {
	((FAILED == 0 || $#)) && return
	say "the guests don't start, because tests before them failed ($FAILED); \`tools/vm test plain debug\` starts them anyway"
	return 1
}

# Kernels come before user space: they take longest, and so their problems show up early.
build_for_tests() {
	for KERNEL in "$@"; do
		ensure_kernel "$KERNEL" plain
		! kind_is_selected debug || ensure_kernel "$KERNEL" debug
		build_first build_all "$KERNEL" plain
	done
}

test_in_guests() {
	for KERNEL in "$@"; do
		! kind_is_selected plain || test_in plain "${PROGRAMS[@]}"
		begin_scripts
		! kind_is_selected debug || test_in debug "${PROGRAMS[@]}"
		end_scripts
	done
	! kind_is_selected canary || test_lint_itself
}

test_everything() {
	local kernels
	TIME_LIMIT=${TIME_LIMIT:-$TEST_TIME_LIMIT}
	NUMA=${NUMA:-$TEST_NUMA}
	select_tests "$@"
	mkdir -p "$BUILD/out/results"
	ensure_open_root
	ensure_packages
	mapfile -t kernels < <(chosen_kernels)
	test_selected lint host
	if may_go_on "$@" && printf '%s\n' "${KINDS[@]}" | grep -qvxE 'lint|host'; then
		build_for_tests "${kernels[@]}"
		test_selected analysis cpu
		! may_go_on "$@" || test_in_guests "${kernels[@]}"
	fi
	print_sums
}

# Prints all failures and the totals. Fails if a test failed, or if none passed.
print_sums() {
	((${#FAILURES[@]} == 0)) || printf 'failed: %s\n' "${FAILURES[@]}"
	echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
	((FAILED == 0 && PASSED > 0))
}
