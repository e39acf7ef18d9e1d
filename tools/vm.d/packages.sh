# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The Debian packages that the other steps need. Missing ones are installed when running as root, and listed
# otherwise. A package of another release is not installed, only fetched into $CACHE/package.

readonly DEBIAN_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# Includes the default kernel's source: user space is built with it, whichever kernel runs.
wanted_packages() {
	local version
	sed 's/#.*//' "$REPO/tools/packages"
	for version in $(default_kernel) $(chosen_kernels); do
		[[ $(kernel_suite "$version") ]] || kernel_package "$version"
	done | sort -u
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

# Prints the path of the newest fetched version, if there is one.
fetched_package() { find "$CACHE/package" -name "$1_*.deb" 2>/dev/null | sort -V | tail -n 1; }

# Prints the Debian mirror of this machine's apt configuration.
# shellcheck disable=SC2016 # apt's fields
debian_mirror() {
	apt-get indextargets --format '$(CREATED_BY) $(ORIGIN) $(LABEL) $(REPO_URI)' |
		sed -n 's/^Packages Debian Debian //p' | head -n 1
}

# fetch_package PACKAGE SUITE: apt fetches and verifies the package, with separate package lists. The apt state of
# this machine does not change.
fetch_package() (
	mirror=$(debian_mirror)
	[[ $mirror ]] || die "apt knows no Debian mirror; apt-get update may help"
	folder=$(mktemp -d)
	trap 'rm -rf "$folder"' EXIT
	# apt downloads as another user, which needs read access.
	chmod 755 "$folder"
	mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$CACHE/package"
	echo "deb [signed-by=$DEBIAN_KEYRING] $mirror $2 main" >"$folder/sources.list"
	options=(
		-o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null -o APT::Default-Release=
		-o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache"
		-o Acquire::Languages=none -o APT::Update::Error-Mode=any
	)
	cd "$folder" || exit
	apt-get "${options[@]}" update && apt-get "${options[@]}" download "$1" || exit
	mv "$1"_*.deb "$CACHE/package/"
)

fetch_package_once() { [[ $(fetched_package "$1") ]] || step "fetching $1 from $2" fetch_package "$1" "$2"; }

# ensure_fetched PACKAGE SUITE
ensure_fetched() {
	[[ $(fetched_package "$1") ]] || with_lock "fetch-$1" fetch_package_once "$1" "$2"
}
