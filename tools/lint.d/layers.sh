# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The layers of hmmrt.ko: a file may only use functions and variables of its own and lower layers. We don't check
# indirect calls (operations, work functions), macros and inline functions. In runtime/, a folder is a layer, and we check
# includes.

# From the bottom up. The prefix of a file's name is its layer.
KMOD_LAYERS="policy event mem space decide move serve api"
# Files whose names don't have a layer as prefix.
KMOD_OTHER="main:api"
# Files with cyclic dependencies have to be read together, so we limit their number.
KMOD_CIRCLE=6

# The folders of runtime/, from the bottom up.
RUNTIME_LAYERS="agent sys base fault thread machine session memory api cuda"

# Prints NAME FILE for each global function and variable.
kmod_definitions() { ctags -x --extras=-F --kinds-C=fv --_xformat='%{name} %{input}' "$@"; }

# check_includes FILE...: prints includes of higher layers, and files outside of the layers' folders.
check_includes() {
	awk -v layers="$RUNTIME_LAYERS" '
		BEGIN {
			n = split(layers, name, " ")
			for (i = 1; i <= n; i++) rank[name[i]] = i
		}
		FNR == 1 {
			split(FILENAME, part, "/")
			own = rank[part[2]] + 0
			if (!own) printf "%s:1: is in no layer\n", FILENAME
		}
		/^[ \t]*#[ \t]*include[ \t]*"/ {
			split($0, quoted, "\"")
			folder = quoted[2]
			gsub(/\.\.\//, "", folder)
			sub(/\/.*/, "", folder)
			if (own && rank[folder] > own)
				printf "%s:%d: includes %s, which is in a higher layer\n", FILENAME, FNR, quoted[2]
		}' "$@"
}

check_layers() {
	require ctags universal-ctags || return
	local file files=() runtime=()
	for file in "${CPP_FILES[@]}"; do
		[[ $file == runtime/* ]] && runtime+=("$file")
	done
	((${#runtime[@]} == 0)) || check_includes "${runtime[@]}"
	for file in "${KERNEL_FILES[@]}"; do
		[[ $file == kmod/*.c && $file != kmod/*/* ]] && files+=("$file")
	done
	awk -v layers="$KMOD_LAYERS" -v other="$KMOD_OTHER" -v circle="$KMOD_CIRCLE" -f "$LINT_D/layers.awk" \
		<(kmod_definitions "${files[@]}") "${files[@]}"
}
