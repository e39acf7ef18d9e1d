# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Checks kernel code. The kernel's source and build folders come from the options, or from tools/vm.

# vm_kernel KERNEL_SOURCE|KERNEL_BUILD: prints this folder of the kernel that tools/vm builds.
vm_kernel() (
	# shellcheck source=/dev/null
	. "$REPO/tools/vm.d/common.sh" && . "$REPO/tools/vm.d/kernel.sh" && kernel_paths "$(default_kernel)" plain 2>/dev/null
	echo "${!1}"
)

need_kernel_source() {
	[[ $KERNEL_SOURCE ]] || KERNEL_SOURCE=$(vm_kernel KERNEL_SOURCE)
	[[ -x $KERNEL_SOURCE/scripts/checkpatch.pl ]] && return
	echo "no kernel source in '$KERNEL_SOURCE'; run tools/vm kernel or give --kernel-source DIR"
	return 1
}

need_kernel_build() {
	[[ $KERNEL_BUILD ]] || KERNEL_BUILD=$(vm_kernel KERNEL_BUILD)
	[[ -e $KERNEL_BUILD/Module.symvers ]] && return
	echo "no built kernel in '$KERNEL_BUILD'; run tools/vm kernel or give --kernel-build DIR"
	return 1
}

# Removes the findings that checkpatch-ignored lists. An entry that doesn't match anything is a finding, too, unless it
# is optional.
drop_ignored() {
	awk -v list="$LINT_D/checkpatch-ignored" '
		BEGIN {
			while ((getline line < list) > 0) {
				if (line ~ /^#/ || line == "") continue
				split(line, field, /[ \t]+/)
				optional = sub(/[?]$/, "", field[2])
				entry = field[1] " " field[2]
				pattern = entry
				gsub(/[.]/, "[.]", pattern)
				gsub(/[*]/, ".*", pattern)
				patterns[entry] = "^" pattern "$"
				unused[entry] = !optional
			}
		}
		{
			split($0, part, ":")
			known = 0
			for (entry in patterns)
				if (part[1] " " part[4] ~ patterns[entry]) {
					known = 1
					unused[entry] = 0
				}
			if (!known) print
		}
		END { for (entry in unused) if (unused[entry]) print "tools/lint.d/checkpatch-ignored: no longer needed: " entry }'
}

check_checkpatch() {
	require perl perl || return
	need_kernel_source || return
	local found=$LINT_BUILD/checkpatch
	rm -rf "$found" && mkdir "$found" || return
	printf '%s\0' "${KERNEL_FILES[@]}" "${C_FILES[@]}" | checkpatch_side_by_side "$found" || return
	find "$found" -type f -exec cat {} + | sed -E 's/: (ERROR|WARNING|CHECK):([A-Z_]+): /:\1:\2: /' | drop_ignored
}

# checkpatch_side_by_side FOLDER: checks the files listed on standard input in parallel, a few per process. The findings
# go to FOLDER, in one file for each processor. We accept checkpatch's status 1, because all of its findings may be
# ignored ones.
# shellcheck disable=SC2016 # expanded by the inner shell
checkpatch_side_by_side() {
	KERNEL_SOURCE=$KERNEL_SOURCE FOUND=$1 xargs -0 -n 8 -P "$(nproc)" --process-slot-var=SLOT bash -c '
		perl "$KERNEL_SOURCE/scripts/checkpatch.pl" --strict --no-tree --file --terse --show-types --no-summary \
			-- "$@" >>"$FOUND/$SLOT" 2>&1
		(($? <= 1))' checkpatch
}

check_kernel_doc() {
	require perl perl || return
	need_kernel_source || return
	perl "$KERNEL_SOURCE/scripts/kernel-doc" -none -Werror "${KERNEL_FILES[@]}" 2>&1 |
		grep -v '^[0-9]* warnings as Errors$'
	return 0
}

# Rebuilds the modules and the canary with W=1 and sparse, in a copy of their sources.
check_sparse() {
	require sparse sparse || return
	require rsync rsync || return
	need_kernel_build || return
	local copy=$LINT_BUILD/modules log=$LINT_BUILD/sparse.log folder
	# shellcheck source=/dev/null
	(. "$REPO/tools/vm.d/build.sh" && sync_module_sources "$copy") >"$log"
	for folder in "$copy" "$copy/tests/canary"; do
		[[ -e $folder/Kbuild ]] || continue
		find "$folder" -name '*.o' -delete
		make -C "$KERNEL_BUILD" M="$folder" HMMRT_TEST_MODULES=y W=1 C=1 CHECK=sparse -j"$(nproc)" modules >>"$log" 2>&1 ||
			echo "the modules failed to build; see $log"
	done
	grep -E '(warning|error):|^WARNING:|^ERROR:' "$log" | sed "s|$copy/||g"
	return 0
}
