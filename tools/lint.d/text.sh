# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Checks of any text: licences, spelling, and what the files may speak of.

# Letters in brackets keep these patterns from finding themselves.
readonly MACHINE_PATHS='(^|[^A-Za-z0-9_.$}])/([w]ork|[r]oot|[h]ome)/[A-Za-z0-9._]'
readonly NOTES='\b([T]ODO|[F]IXME|[X]XX)\b|\b[i]ssue #?[0-9]'
readonly HOSTS='[h]ttps?://|\b([a-z0-9-]+\.)+(com|org|net)\b'
# Names of formats that are addresses: the name space of SVG, JSON Schema, and the format of debian/copyright.
readonly NO_HOSTS='www\.w3\.org/2000/svg|www\.w3\.org/1999/xlink|json-schema\.org/draft-07/schema|www\.debian\.org/doc/packaging-manuals/copyright-format'

# Sets LICENCE to the one that the file has by its folder.
find_licence() {
	case $1 in
	kmod/* | include/linux/* | tests/canary/*.c | */Kbuild | Kbuild) LICENCE="GPL-2.0-only" ;;
	include/uapi/*) LICENCE="GPL-2.0 WITH Linux-syscall-note" ;;
	*) LICENCE="MIT" ;;
	esac
}

# The licence texts themselves, and formats that have no comments.
has_no_spdx_line() {
	case $1 in
	LICENSE | LICENSES/* | debian/changelog | debian/copyright | debian/source/format | *.json | *.svg | *.abi | *.txt) [[ $1 != *CMakeLists.txt ]] ;;
	*) return 1 ;;
	esac
}

# On the first line, or on the second after #!. The loop starts no processes, because that takes long for many files.
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
			echo "$file:1: licence is '${found:-not said}', by its folder it is '$LICENCE'"
	done
}

# No path of the machine that a file was written on, no note about what remains to be done, and no host that a program
# would depend on. Texts may have links.
check_project() {
	local files=() file
	for file in "${FILES[@]}"; do
		[[ $file == LICENSE || $file == LICENSES/* ]] || files+=("$file")
	done
	# In the initramfs of the guest, /root is where the next root is mounted; a user called user is nobody.
	grep -nHE "$MACHINE_PATHS" -- "${files[@]}" | grep -vE '^tools/vm.d/initramfs-init:|/home/user/' | sed 's/^/a path of some machine: /'
	grep -nHE "$NOTES" -- "${files[@]}" | sed 's/^/a note to oneself: /'
	grep -nHE "$HOSTS" -- "${files[@]}" | grep -vE "^[^:]*\.md:|$NO_HOSTS" | sed 's/^/the name of a host: /'
	return 0
}

# Differences between kernels are found by what the headers have, in one place.
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
