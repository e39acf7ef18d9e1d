# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# `tools/vm mutate`: counts how many small mistakes in the modules the tests notice. We build the modules once, with all
# mutants of tests/mutants/mutate, and run the test programs with one mutant after the other, in guests that live until
# a mutant breaks them. Before that, each program runs without a mutant, which shows how long it takes and which mutants
# it reaches.

MUTANT_SEED=1
MUTANT_COUNT=100

# choose_mutants OPTION NUMBER
choose_mutants() {
	[[ $COMMAND == mutate ]] || usage_error "$1 is only for tools/vm mutate"
	if [[ $1 == --seed ]]; then MUTANT_SEED=$2; else MUTANT_COUNT=$2; fi
	[[ $MUTANT_COUNT =~ ^.{1,3}$ ]] || usage_error "--count $2: there can be at most 999 mutants"
}

# build_mutants DIR TABLE: puts the mutants into the copy of the sources in DIR, and builds it.
build_mutants() {
	sync_module_sources "$1" >/dev/null
	rm -f "$1/done"
	cp "$REPO/tests/mutants/hmmrt_mutant.c" "$1" && cp "$REPO/tests/mutants/hmmrt_mutant.h" "$1/include" &&
		echo "obj-m += hmmrt_mutant.o" >>"$1/Kbuild" &&
		(cd "$1" && "$REPO/tests/mutants/mutate" "$MUTANT_SEED" "$MUTANT_COUNT" kmod/{policy,space,move}*.c) >"$2" &&
		step "modules with mutants for $KERNEL $FLAVOUR" make_modules "$KERNEL_BUILD" "$1" &&
		echo "$KERNEL_BUILD all" >"$1/done"
}

# run_mutants_on_host MODULE_DIR DIR: tests/host needs no guest for mutants of policy_*.
run_mutants_on_host() {
	local number place
	(cd "$1" && step "tests/host with mutants" gcc -w -O1 -pthread -I"$REPO/tests/host" -I"$REPO/tests/model" \
		-Ikmod -Ikmod/simgpu -Iinclude -Iinclude/uapi -o "$2/host" -x c kmod/policy*.c kmod/simgpu/dpt.c "$REPO"/tests/host/*.c \
		-x c++ -std=c++20 "$REPO"/tests/host/*_test.cpp -x none -lgtest_main -lgtest -lstdc++ -lm) || return
	while read -r number place _; do
		[[ $place == kmod/policy* ]] || continue
		MUTANT=$number timeout 300 "$2/host" >"$2/host.log" 2>&1 </dev/null && continue
		echo "caught: host: $("$REPO/tests/failed-names" -v status=1 "$2/host.log" | sed 1q)" >"$2/done/$number"
		mkdir "$2/taken/$number"
	done <"$2/mutants"
}

# run_items DIR: works through DIR/items in guests that run at the same time. What a guest is lost in is caught.
run_items() {
	local dir=$1 part item pids=()
	trap 'kill "${pids[@]}" 2>/dev/null; exit 130' INT TERM HUP
	for ((part = 1; part <= TEST_GUESTS; part++)); do
		while (($(find "$dir/taken" -mindepth 1 | wc -l) < $(wc -l <"$dir/items"))); do
			rm -f "$dir/at.$part"
			run_guest "$REPO/tests/mutants/in-guest" "$BUILD" "$dir" "$part" || true
			[[ -s $dir/at.$part ]] || break
			read -r item _ <"$dir/at.$part"
			[[ -s $dir/done/$item ]] || sed 's/^[^ ]* /caught: the guest was lost in /' "$dir/at.$part" >"$dir/done/$item"
		done >>"$dir/guest.$part" 2>&1 </dev/null &
		pids+=($!)
	done
	wait
	trap - INT TERM HUP
	rm -rf "$dir"/taken/*
}

# list_programs [NAME...]: prints the test programs with one of these names, otherwise those of tests/uapi.
list_programs() {
	local pattern='/tests/uapi/[^/]*$'
	(($# == 0)) || pattern="/[^/]*($(IFS='|' && echo "$*"))[^/]*$"
	awk '$3 != "fast" || flavour == "plain" { print $1 }' flavour="$FLAVOUR" "$BUILD/user/tests/guest-tests.txt" |
		grep -E "$pattern" || die "no test program has such a name"
}

# sort_programs DIR: writes DIR/programs, from the results of the programs. Leaves out those that failed.
sort_programs() {
	local path result
	while read -r path; do
		result=$(cat "$1/done/${path##*/}" 2>/dev/null) || result="not run"
		if [[ $result == [0-9]* ]]; then echo "$path $result"; else say "leaving out ${path##*/}: $result"; fi
	done <"$1/items" | awk '{ print $2, $1, $3 }' | sort -n >"$1/programs"
}

report_mutants() {
	local number text result
	while read -r number text; do
		result=$(cat "$1/done/$number" 2>/dev/null) || result="not run"
		echo "$result | $number $text"
	done <"$1/mutants" | sort | tee "$1/report"
	sed 's/[:|].*//' "$1/report" | sort | uniq -c
}

command_mutate() {
	local dir=$BUILD/out/mutants modules
	if [[ $ON_HOST == yes ]] || is_stock "$KERNEL"; then
		usage_error "mutants need a guest with a kernel of tools/kernel/KERNELS"
	fi
	NUMA=${NUMA:-$TEST_NUMA} TIME_LIMIT=${TIME_LIMIT:-36000} LEAK_SCAN=no
	MUTANTS=-mutants MODULES="hmmrt_mutant hmmrt hmmrt_simgpu"
	modules=$(module_dir "$KERNEL" "$FLAVOUR")
	ensure_packages && ensure_kernel "$KERNEL" "$FLAVOUR" && build_first build_user || return
	rm -rf "$dir"
	mkdir -p "$dir/taken" "$dir/done" "$BUILD/out/results"
	build_mutants "$modules" "$dir/mutants" || return
	list_programs "${ARGUMENTS[@]}" >"$dir/items"
	run_items "$dir"
	sort_programs "$dir"
	((${#ARGUMENTS[@]})) || run_mutants_on_host "$modules" "$dir" || return
	cut -d ' ' -f 1 "$dir/mutants" >"$dir/items"
	run_items "$dir"
	report_mutants "$dir"
}
