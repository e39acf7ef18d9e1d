# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Functions with more than 60 lines and files with more than 800 get a warning; more than 100 and 1200 are an error. The
# documentation says that the sample driver has less than a hundred lines, so we check the part between its two
# headings.

# judge WHERE TEXT LINES WARN REFUSE: prints a warning or a finding if LINES exceeds a limit.
judge() {
	if (($3 > $5)); then
		echo "$1: $2 has $3 lines, more than $5"
	elif (($3 > $4)); then
		echo "warning: $1: $2 has $3 lines, more than $4"
	fi
}

# Prints NAME FILE FIRST LAST for each function, from its signature to its closing brace.
c_functions() {
	printf '%s\n' "${KERNEL_FILES[@]}" "${C_FILES[@]}" "${CPP_FILES[@]}" |
		ctags -L - -x --kinds-C=f --kinds-C++=f --_xformat='%{name} %{input} %{line} %{end}'
}

shell_functions() {
	awk '/^[a-z_0-9]+\(\) [{(]$/ { name = $1; first = FNR }
		/^[})]$/ && name { print name, FILENAME, first, FNR; name = "" }' "${SHELL_FILES[@]}"
}

check_sample_size() {
	local file=kmod/sample/hmmrt_sample.c lines
	[[ -e $file ]] || return 0
	lines=$(awk '/^\/\* --- the driver /{ first = NR } /^\/\* --- its node/{ print NR - first; exit }' "$file")
	if ((${lines:-0} <= 0)); then
		echo "$file:1: the headings around the driver's part are missing"
	elif ((lines >= 100)); then
		echo "$file:1: the driver's part has $lines lines, more than 99"
	fi
}

check_size() {
	require ctags universal-ctags || return
	local file name first last lines
	while read -r name file first last; do
		[[ $last =~ ^[0-9]+$ ]] || continue
		judge "$file:$first" "function ${name%()}" $((last - first + 1)) 60 100
	done < <(c_functions && shell_functions)
	check_sample_size
	while read -r lines file; do
		[[ $file == LICENSES/* || $file == *.abi || $file == *.svg ]] || judge "$file:1" "the file" "$lines" 800 1200
	done < <(printf '%s\0' "${FILES[@]}" | xargs -0 awk 'FNR == 1 && NR > 1 { print lines, file } { lines = FNR; file = FILENAME }
		END { print lines, file }')
}
