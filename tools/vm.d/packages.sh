# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The Debian packages that the other steps need: found missing, installed when root, named otherwise.

wanted_packages() {
	sed 's/#.*//' "$REPO/tools/packages"
	awk '!/^#/ && NF { print $2 }' "$REPO/tools/kernel/KERNELS"
}

missing_packages() {
	local package
	for package in $(wanted_packages); do
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
	done
}

install_command() { echo "apt-get update && apt-get install --no-install-recommends --yes $*"; }

install_packages() {
	export DEBIAN_FRONTEND=noninteractive
	apt-get update &&
		apt-get install --no-install-recommends --yes -o DPkg::Lock::Timeout=600 "$@"
}

install_missing_locked() {
	local missing
	mapfile -t missing < <(missing_packages)
	((${#missing[@]})) || return 0
	step "installing ${#missing[@]} packages" install_packages "${missing[@]}"
}

ensure_packages() {
	local missing
	command -v dpkg-query >/dev/null || die "this is not a Debian system; tools/packages lists what is needed"
	mapfile -t missing < <(missing_packages)
	((${#missing[@]})) || return 0
	if ((EUID)); then
		say "missing packages; as root, run:"
		say "  $(install_command "${missing[@]}")"
		exit 1
	fi
	with_lock packages install_missing_locked
}
