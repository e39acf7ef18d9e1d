# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034 # the other parts use these
#
# Which files there are, and what kind each is.

# Sets FILES (all text files that git has, or would add) and its parts. A file is of the kernel's style or of
# ours by its folder, as it is under one licence or another.
find_files() {
	local file
	mapfile -t FILES < <(git ls-files --cached --others --exclude-standard -- . ':!build' | sort -u |
		while read -r file; do [[ -f $file && ! -L $file ]] && echo "$file"; done |
		xargs -r -d '\n' grep -lI '')
	KERNEL_FILES=() CPP_FILES=() SHELL_FILES=() MARKDOWN=()
	for file in "${FILES[@]}"; do
		case $file in
		*.md) MARKDOWN+=("$file") ;;
		*.c | *.h | *.cpp | *.hpp) if is_kernel_code "$file"; then KERNEL_FILES+=("$file"); else CPP_FILES+=("$file"); fi ;;
		*) is_shell "$file" && SHELL_FILES+=("$file") ;;
		esac
	done
}

is_kernel_code() {
	case $1 in
	kmod/* | include/linux/* | include/uapi/* | tests/canary/*) return 0 ;;
	*) return 1 ;;
	esac
}

is_shell() {
	local line
	[[ $1 == *.sh ]] && return
	IFS= read -r line <"$1"
	[[ $line =~ ^'#!'.*[/\ ](ba|da)?sh($|\ ) ]]
}
