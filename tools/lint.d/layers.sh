# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The layers of hmmrt.ko: a file may only use functions and variables of its own and lower layers. We don't check
# indirect calls (operations, work functions), macros and inline functions.

# From the bottom up. The prefix of a file's name is its layer.
KMOD_LAYERS="policy event mem space decide move serve api"
# Files whose names don't have a layer as prefix.
KMOD_OTHER="main:api"
# Files with cyclic dependencies have to be read together, so we limit their number.
KMOD_CIRCLE=6

# Prints NAME FILE for each global function and variable.
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
