# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The layers of hmmrt.ko: a file uses functions and variables of files of its own layer and of layers below. What calls
# go through (operations, work functions) is not looked at, nor are macros and inlines.

# From the bottom up. The prefix of a file's name says which.
KMOD_LAYERS="policy event mem space decide move serve api"
# A file whose name does not say it.
KMOD_OTHER="main:api"
# Files that use each other, in a circle, are to be read together: not more than so many.
KMOD_CIRCLE=6

# NAME FILE of each function and variable that other files may use.
kmod_definitions() { ctags -x --extras=-F --kinds-C=fv --_xformat='%{name} %{input}' "$@"; }

check_layers() {
	require ctags universal-ctags || return
	local file files=()
	for file in "${KERNEL_FILES[@]}"; do
		[[ $file == kmod/*.c && $file != kmod/*/* ]] && files+=("$file")
	done
	awk -v layers="$KMOD_LAYERS" -v other="$KMOD_OTHER" -v circle="$KMOD_CIRCLE" -f "$LINT_D/layers.awk" \
		<(kmod_definitions "${files[@]}") "${files[@]}"
}
