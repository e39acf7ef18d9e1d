# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Programs linked with the library rely on its exported functions and on the layout of their arguments.

readonly ABI_BASELINE=tests/abi/libhmmrt.abi

abi_library() { echo "$USER_BUILD/runtime/libhmmrt.so"; }

# Prints the exports of the built library, with paths relative to the tree.
describe_abi() {
	abidw --exported-interfaces-only --headers-dir "$REPO/include/hmm" --drop-private-types --drop-undefined-syms \
		--no-elf-needed --no-show-locs --no-corpus-path --no-comp-dir-path --type-id-style hash "$(abi_library)" |
		sed -E "s# path='($REPO/|(\.\./)+)# path='#"
}

# Succeeds if there is a built library.
has_abi_library() {
	[[ -e $(abi_library) ]] && return
	echo "no library in '$USER_BUILD'; run tools/vm build or give --user-build DIR"
	return 1
}

check_abi() {
	require abidw abigail-tools || return
	has_abi_library || return
	local now=$LINT_BUILD/libhmmrt.abi difference
	describe_abi >"$now"
	if ! grep -q "<function-decl name='hmm" "$now"; then
		echo "$(abi_library): built without debug information"
		return 1
	fi
	difference=$(abidiff --harmless --no-corpus-path "$ABI_BASELINE" "$now") && return
	echo "$ABI_BASELINE: the library's ABI differs; if that is intended, run tools/lint --renew-abi"
	printf '%s\n' "$difference" | sed 's/^/ /'
}

renew_abi() {
	require abidw abigail-tools && has_abi_library || return
	mkdir -p "${ABI_BASELINE%/*}" && describe_abi >"$ABI_BASELINE"
}
