# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034 # the other parts use these
#
# Lists files by kind.

# Prints all files in the current folder that git tracks or would add. Without git, for example in an unpacked source
# archive, prints all files except those that .gitignore lists.
list_files() {
	if [[ -e .git ]] && git ls-files --cached --others --exclude-standard -- . ':!build' 2>/dev/null; then
		return
	fi
	find_files_not_ignored
}

# Only supports comments, folder names with a trailing slash, and names in .gitignore.
find_files_not_ignored() {
	local line ignored=(-name .git)
	while read -r line; do
		case $line in
		'' | '#'*) ;;
		*/) ignored+=(-o -type d -name "${line%/}") ;;
		*) ignored+=(-o -name "$line") ;;
		esac
	done <.gitignore
	find . \( "${ignored[@]}" \) -prune -o ! -type d -printf '%P\n'
}

# Sets FILES (the text files) and these subsets:
#   KERNEL_FILES  C of the modules
#   C_FILES       C of tests that use the kernel's test harness, in the kernel's style
#   CPP_FILES     C++, and C that C++ programs include or learn from, in our style
#   SHELL_FILES, MARKDOWN
find_files() {
	local file
	mapfile -t FILES < <(list_files | sort -u |
		while read -r file; do [[ -f $file && ! -L $file ]] && echo "$file"; done |
		xargs -r -d '\n' grep -lI '')
	KERNEL_FILES=() C_FILES=() CPP_FILES=() SHELL_FILES=() MARKDOWN=()
	for file in "${FILES[@]}"; do
		case $file in
		*.md) MARKDOWN+=("$file") ;;
		kmod/*.[ch] | include/linux/*.h | include/uapi/*.h | tests/canary/*.[ch] | tests/mutants/*.[ch]) KERNEL_FILES+=("$file") ;;
		tests/runtime/*.[ch] | tests/cuda/*.[ch]) CPP_FILES+=("$file") ;;
		tests/*.[ch]) C_FILES+=("$file") ;;
		*.[ch] | *.[ch]pp | *.cu) CPP_FILES+=("$file") ;;
		*) is_shell "$file" && SHELL_FILES+=("$file") ;;
		esac
	done
}

is_shell() {
	local line
	[[ $1 == *.sh ]] && return
	IFS= read -r line <"$1"
	[[ $line =~ ^'#!'.*[/\ ](ba|da)?sh($|\ ) ]]
}
