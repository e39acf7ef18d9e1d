#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# probe.sh OUTPUT COMPILER FLAGS...: compiles each probe of probes.c against the kernel headers, with the flags for the
# kernel's modules, and writes the answers to OUTPUT as HMMRT_HAVE_NAME. Kbuild calls it.

set -eu

output=$1
shift
probes=$(dirname "$0")/probes.c
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# compiles ANSWER COMPILER FLAGS...: compiles one answer. The compiler's messages go to a log with the same name.
compiles() {
	answer=$1
	shift
	"$@" -Wno-error -Werror=implicit-function-declaration -Werror=implicit-int \
		-Werror=incompatible-pointer-types -Werror=int-conversion \
		-DPROBE_"$answer" -fsyntax-only "$probes" >"$folder/$answer" 2>&1
}

fail() {
	echo "$0: $1" >&2
	shift
	for answer; do sed "s/^/  $answer: /" "$folder/$answer"; done >&2
	exit 1
}

# First make sure that the headers compile, and that an undeclared function is an error.
check_itself() {
	compiles ITSELF "$@" || fail "no probe can be compiled for this kernel" ITSELF
	! compiles NOTHING "$@" || fail "a function that is declared nowhere was accepted"
	grep -q hmmrt_is_declared_nowhere "$folder/NOTHING" || fail "a probe failed, but not because of itself" NOTHING
}

ask() {
	name=$1 newer=yes older=yes
	shift
	compiles "NO_$name" "$@" &
	compiles "$name" "$@" || newer=no
	wait "$!" || older=no
	case $newer-$older in
	yes-no) echo "#define HMMRT_HAVE_$name 1" ;;
	no-yes) echo "/* no $name */" ;;
	no-no) fail "this kernel has neither answer to $name" "$name" "NO_$name" ;;
	yes-yes) fail "this kernel has both answers to $name" ;;
	esac
}

check_itself "$@"
{
	echo "/* SPDX-License-Identifier: GPL-2.0-only */"
	sed -n 's/^#ifdef PROBE_NO_\([A-Z_]*\)$/\1/p' "$probes" | while read -r question; do ask "$question" "$@"; done
} >"$folder/answers"
mkdir -p "$(dirname "$output")"
cat "$folder/answers" >"$output"
