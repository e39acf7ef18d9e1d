# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Checks all text files: licences, spelling, and references that files must not contain.

# Letters in brackets keep these patterns from matching themselves.
readonly MACHINE_PATHS='(^|[^A-Za-z0-9_.$}])/([w]ork|[r]oot|[h]ome)/[A-Za-z0-9._]'
readonly NOTES='\b([T]ODO|[F]IXME|[X]XX)\b|\b[i]ssue #?[0-9]'
readonly HOSTS='[h]ttps?://|\b([a-z0-9-]+\.)+(com|org|net)\b'
# Addresses that are names of formats: the SVG namespace, JSON Schema, and the format of debian/copyright.
readonly NO_HOSTS='www\.w3\.org/2000/svg|www\.w3\.org/1999/xlink|json-schema\.org/draft-07/schema|www\.debian\.org/doc/packaging-manuals/copyright-format'

# find_licence FILE: sets LICENCE to the licence for the file's folder.
find_licence() {
	case $1 in
	kmod/* | include/linux/* | tests/canary/*.c | tests/mutants/*.[ch] | */Kbuild | Kbuild) LICENCE="GPL-2.0-only" ;;
	include/uapi/*) LICENCE="GPL-2.0 WITH Linux-syscall-note" ;;
	*) LICENCE="MIT" ;;
	esac
}

# has_no_spdx_line FILE: succeeds for the licence texts themselves, and for formats without comments.
has_no_spdx_line() {
	case $1 in
	LICENSE | LICENSES/* | debian/changelog | debian/copyright | debian/source/format | *.json | *.svg | *.abi | *.txt) [[ $1 != *CMakeLists.txt ]] ;;
	*) return 1 ;;
	esac
}

# The SPDX line has to be the first one, or the second one after #!. The loop avoids starting processes, which takes
# long for many files.
check_spdx() {
	local file first second line found
	local mark='SPDX-License-Identifier: '
	for file in "${FILES[@]}"; do
		has_no_spdx_line "$file" && continue
		{ IFS= read -r first && IFS= read -r second; } <"$file"
		line=$first
		[[ $first == '#!'* ]] && line=$second
		found=''
		[[ $line != *"$mark"* ]] || found=${line##*"$mark"}
		found=${found% \*/}
		found=${found% -->}
		find_licence "$file"
		[[ $found == "$LICENCE" ]] ||
			echo "$file:1: licence is '${found:-missing}', expected '$LICENCE' in this folder"
	done
}

# Finds paths of a developer's machine, notes about remaining work, and names of hosts that a program would depend on.
# Only Markdown files may have links.
check_project() {
	local files=() file
	for file in "${FILES[@]}"; do
		[[ $file == LICENSE || $file == LICENSES/* ]] || files+=("$file")
	done
	# The guest's initramfs mounts the next root at /root; "user" is a placeholder.
	grep -nHE "$MACHINE_PATHS" -- "${files[@]}" | grep -vE '^tools/vm.d/initramfs-init:|/home/user/' | sed 's/^/machine path: /'
	grep -nHE "$NOTES" -- "${files[@]}" | sed 's/^/leftover note: /'
	grep -nHE "$HOSTS" -- "${files[@]}" | grep -vE "^[^:]*\.md:|$NO_HOSTS" | sed 's/^/host name: /'
	return 0
}

# Code must not depend on kernel version numbers. kmod/compat/, which probes headers, handles differences.
check_versions() {
	local file files=()
	for file in "${KERNEL_FILES[@]}" Kbuild; do
		[[ $file == kmod/compat/* || ! -e $file ]] || files+=("$file")
	done
	grep -nHE 'LINUX_VERSION_CODE|KERNEL_VERSION' -- "${files[@]}" /dev/null
	return 0
}

check_codespell() {
	require codespell codespell || return
	local files=() file
	for file in "${FILES[@]}"; do
		[[ $file == LICENSES/* ]] || files+=("$file")
	done
	codespell --config .codespellrc -- "${files[@]}" || return 0
}

check_shellcheck() {
	require shellcheck shellcheck || return
	shellcheck --external-sources --format=gcc -- "${SHELL_FILES[@]}" || return 0
}
