# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Systems of other Debian suites, each in a folder to chroot into. Only root can make and enter them.

SHOWN_IN_ROOT=()

# installed_here PACKAGE: succeeds if the package is installed on this machine.
installed_here() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# make_root FOLDER SUITE PACKAGE...: makes a system. The folder only gets its final name once it is complete. Its apt
# has this machine's download settings, for example a proxy. Experimental isn't a complete suite, so its folder has sid
# and can install from both. We set the umask so that other users can enter the root: nothing works for them otherwise.
make_root() {
	local root=$1 suite=${2/experimental/sid} packages=("${@:3}") mirror sources=() name
	mirror=$(debian_mirror)
	[[ $mirror ]] || { say "apt has no Debian mirror in its package lists; try apt-get update" && return 1; }
	installed_here mmdebstrap || install_packages mmdebstrap || return
	for name in "$suite" "$2"; do sources+=("deb [signed-by=$DEBIAN_KEYRING] $mirror $name main"); done
	[[ $2 == experimental ]] || unset "sources[1]"
	rm -rf "$root.partial" && mkdir -p "$(dirname "$root")" && apt-config dump Acquire >"$root.apt" && (
		umask 022
		mmdebstrap --variant=apt --include="$(IFS=, && echo "${packages[*]}")" --aptopt="$root.apt" \
			--aptopt='APT::Install-Recommends "false"' "$suite" "$root.partial" "${sources[@]}"
	) && mv "$root.partial" "$root"
}

# in_root FOLDER COMMAND...: runs the command in that system, in this checkout. We mount the checkout and the folders of
# SHOWN_IN_ROOT at their paths; the mounts go away with the command. With FOLDER_IN_ROOT we don't mount the checkout,
# and the command starts in that folder of the system. With CHANGES_IN_ROOT an overlay collects all changes in that
# folder, and the system itself isn't modified.
in_root() {
	local root=$1 start=${FOLDER_IN_ROOT:-$REPO} shown=("${SHOWN_IN_ROOT[@]}")
	shift
	[[ ${FOLDER_IN_ROOT-} ]] || shown+=("$REPO")
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --propagation private bash -c '
		umask 022
		root=$1 changes=$2 start=$3 shown=("${@:5:$4}")
		shift $((4 + $4))
		if [[ $changes ]]; then
			mkdir -p "$changes"/{upper,work,root} && mount -t overlay overlay "$changes/root" \
				-o "lowerdir=$root,upperdir=$changes/upper,workdir=$changes/work" || exit
			root=$changes/root
		fi
		for folder in "${shown[@]}"; do
			mkdir -p "$root$folder" && mount --bind "$folder" "$root$folder" || exit
		done
		mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" || exit
		exec chroot "$root" /usr/bin/env -C "$start" PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive "$@"' - "$root" "${CHANGES_IN_ROOT-}" "$start" "${#shown[@]}" "${shown[@]}" "$@"
}
