# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Checks C++ and the public headers.

readonly CXX_STANDARD=c++20

# The output of clang-format depends on its version. We use Debian 12's.
readonly FORMAT_VERSION=14

# has_format_version: prints a warning and fails if this is another version.
has_format_version() {
	local version
	version=$(clang-format --version | sed -E 's/.*version ([0-9]+).*/\1/')
	((version == FORMAT_VERSION)) && return
	echo "warning: no files were checked, because clang-format is version $version, not $FORMAT_VERSION"
	return 1
}

check_format() {
	require clang-format clang-format || return
	has_format_version || return 0
	((${#CPP_FILES[@]})) || return 0
	clang-format --dry-run -Werror -- "${CPP_FILES[@]}" 2>&1 | grep -i error |
		sed -E 's/^([^:]+):[0-9:]+ error: .*/\1/' | sort | uniq -c |
		while read -r places text; do echo "$text: not formatted in $places places; run tools/lint --fix"; done
	return 0
}

fix_format() {
	require clang-format clang-format && has_format_version || return
	clang-format -i -- "${CPP_FILES[@]}"
}

# include_alone HEADER COMPILER OPTIONS...: succeeds, as grep does, if a program that only includes the header, twice,
# has errors or warnings, and prints them.
include_alone() {
	local header=$1
	shift
	printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
		"$@" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -Iinclude/uapi - 2>&1 | grep -E 'error:|warning:'
}

# Iterating over a braced list needs <initializer_list>. Whether another standard header includes it depends on the
# library's release, so files have to include it themselves.
braces_without_header() {
	local file
	grep -lE 'for \([^;]* : \{' -- "$@" | while read -r file; do
		grep -qF '#include <initializer_list>' "$file" ||
			echo "$file: iterates over a braced list without including <initializer_list>"
	done
}

# Public headers have to compile on their own, in every language that they support. The modules' interface must not have
# padding.
check_headers() {
	require gcc gcc && require g++ g++ && require clang++ clang || return
	local header
	braces_without_header {include/hmm,examples,tools/hmmctl,tools/bench,tools/lib}/*.?pp runtime/*/*.h runtime/*/*.[ch]pp
	for header in include/uapi/linux/*.h; do
		header=${header#include/uapi/}
		include_alone "$header" gcc -x c -std=gnu99 -Wpadded
		include_alone "$header" g++ -x c++ -std=$CXX_STANDARD
		include_alone "$header" clang -x c -std=gnu99
	done
	for header in include/hmm/*.h; do
		include_alone "${header#include/}" gcc -x c -std=c99
	done
	for header in cuda cuda_profiler_api cuda_runtime cuda_runtime_api driver_types hip/hip_runtime vector_functions; do
		include_alone "cuda/$header.h" gcc -x c -std=c99
	done
	for header in include/cuda/*.h include/cuda/hip/*.h; do
		include_alone "${header#include/}" g++ -x c++ -std=c++14
	done
	for header in include/hmm/*.h include/hmm/*.hpp include/cuda/*.h include/cuda/hip/*.h; do
		[[ -e $header ]] || continue
		include_alone "${header#include/}" g++ -x c++ -std=$CXX_STANDARD
		include_alone "${header#include/}" clang++ -x c++ -std=$CXX_STANDARD
	done
	return 0
}

# The agent is compiled without x87 and SSE, which clang-tidy needs to read the standard library.
readonly TIDY_ARGUMENTS=(--extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-unused-command-line-argument
	--extra-arg=-mx87 --extra-arg=-msse2)

# tidy_groups LIST DATABASE FOLDER: writes files to FOLDER that each include up to eight of the listed files, with a
# compilation database, and prints their names. That is faster because clang-tidy spends most of its time reading the
# library's headers. The files of a group have the same compile options.
tidy_groups() {
	rm -rf "$3" && mkdir "$3" || return
	awk -v repo="$REPO" -v folder="$3" '
		NR == FNR { wanted[repo "/" $0] = 1; left++; next }
		/^ *"directory":/ { directory = $0 }
		/^ *"command":/ { command = $0 }
		/^ *"file":/ {
			split($0, part, "\"")
			file = part[4]
			if (!(file in wanted)) next
			delete wanted[file]
			left--
			sub(/ -o [^ ]* -c .*/, "", command)
			if (files[command]++ % 8 == 0) {
				group[command] = folder "/" ++groups ".cpp"
				print group[command]
				entries = entries (groups > 1 ? ",\n" : "") "{\n" directory "\n" command " -c " group[command] "\",\n" \
					"  \"file\": \"" group[command] "\"\n}"
			}
			printf "#include \"%s\"\n", file >group[command]
		}
		END {
			printf "[\n%s\n]\n", entries >(folder "/compile_commands.json")
			exit left != 0
		}' "$1" "$2"
}

# tidy_files DATABASE-FOLDER [OPTION...]: runs clang-tidy on the files listed on standard input.
tidy_files() {
	local folder=$1
	shift
	xargs -r -d '\n' -P "$(nproc)" -n 1 clang-tidy -p "$folder" --quiet "${TIDY_ARGUMENTS[@]}" "$@" 2>&1 |
		grep -E '(warning|error|Error).*:|terminated by signal|dumped' | sed "s|^$REPO/||" | sort -u
}

# tidy_database FILE: writes to FILE how the build compiles each file. A unity build compiles several files at once, so
# for such a build we configure another folder without it, and use the generated files of the original build.
tidy_database() {
	local folder=$USER_BUILD log=$LINT_BUILD/tidy.log
	if grep -q '^CMAKE_UNITY_BUILD:.*=ON' "$USER_BUILD/CMakeCache.txt" 2>/dev/null; then
		folder=$LINT_BUILD/tidy
		cmake -S "$REPO" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DHMMRT_PURE_TESTS=OFF >"$log" 2>&1 ||
			{ cat "$log" && return 1; }
	fi
	sed -E "s|-Winvalid-pch -include [^ ]*/cmake_pch\.hxx||; s|$folder/|$USER_BUILD/|g" "$folder/compile_commands.json" >"$1"
}

# Runs clang-tidy on each file that the build compiles, with the same options, but without precompiled headers: clang
# can't read another compiler's, and they would hide missing #includes. The build must contain every file of runtime/.
# We skip tests: GoogleTest's headers take longer than everything else, and its macros look like mistakes.
check_clang_tidy() {
	require clang-tidy clang-tidy || return
	local file left_out=0 list=$LINT_BUILD/tidy-files groups=$LINT_BUILD/tidy-groups
	local database=$LINT_BUILD/compile_commands.json
	if [[ ! -e $USER_BUILD/compile_commands.json ]]; then
		echo "no build in '$USER_BUILD'; run tools/vm build or give --user-build DIR"
		return 1
	fi
	tidy_database "$database" || return
	for file in "${CPP_FILES[@]}"; do
		[[ $file == *.cpp && $file != tests/* ]] || continue
		if [[ $QUICK == yes && $file == tools/* ]]; then
			((left_out += 1))
		elif grep -qF "\"$REPO/$file\"" "$database"; then
			echo "$file" >&3
		elif [[ $file == runtime/* ]]; then
			echo "$file:1: is not part of the build"
		fi
	done 3>"$list"
	((left_out == 0)) || echo "warning: clang-tidy skipped $left_out files of tools/; run tools/lint clang-tidy to check them"
	if [[ $QUICK == no ]]; then
		tidy_files "$LINT_BUILD" <"$list"
	elif tidy_groups "$list" "$database" "$groups" >"$groups.list"; then
		tidy_files "$groups" --checks=-bugprone-suspicious-include --extra-arg=-Wno-shadow <"$groups.list"
	else
		echo "some files of $list are not in any group"
	fi
	return 0
}
