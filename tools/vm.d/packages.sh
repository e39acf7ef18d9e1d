# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The Debian packages that the other steps need. As root we install missing ones; otherwise we list them. We never
# install packages of another release, only fetch them into $CACHE/package.

readonly DEBIAN_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# Prints the required packages. Tests need the default kernel's source, whichever kernel runs.
wanted_packages() {
	local version versions parts=1
	versions=$(chosen_kernels)
	[[ $USER_TARGET != all ]] || { parts+="2" && versions+=" $(default_kernel)"; }
	parts+=${LLVM:+3}
	awk -v parts="$parts" 'BEGIN { part = 1 } /^# ---/ { part++ } { sub(/#.*/, "") } parts ~ part' "$REPO/tools/packages"
	for version in $versions; do
		is_stock "$version" || [[ $(kernel_suites "$version") ]] || kernel_package "$version"
	done | sort -u
}

missing_packages() {
	local package
	for package in $(wanted_packages); do
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
	done
}

install_command() { echo "apt-get update && apt-get install --no-install-recommends --yes $*"; }

# In a container that has no other user than root, prints the option that makes apt download as root.
download_option() { awk '{ users += $3 } END { if (users == 1) print "-oAPT::Sandbox::User=root" }' /proc/self/uid_map; }

install_packages() {
	local options
	export DEBIAN_FRONTEND=noninteractive
	mapfile -t options < <(download_option)
	apt-get "${options[@]}" update &&
		apt-get "${options[@]}" install --no-install-recommends --yes -o DPkg::Lock::Timeout=600 "$@"
}

install_missing_locked() {
	local missing
	mapfile -t missing < <(missing_packages)
	((${#missing[@]})) || return 0
	step "installing ${#missing[@]} packages" install_packages "${missing[@]}"
}

# We only know Debian's packages; derivatives such as Ubuntu have others.
is_debian() { [[ $(os_release ID) == debian ]] && command -v dpkg-query >/dev/null; }

# container_command ARGUMENT...: prints a command that runs tools/vm with these arguments in a Debian container. The
# container needs no privileges, and has this checkout and the cache at their usual paths; label=disable is there
# because SELinux would deny access to them.
container_command() {
	local program=podman options=(--rm --interactive --tty --security-opt label=disable)
	command -v podman >/dev/null || ! command -v docker >/dev/null || program=docker
	[[ ! -w /dev/kvm ]] || options+=(--device /dev/kvm)
	options+=(--volume "$REPO:$REPO" --volume "$CACHE:$CACHE" --env "HMMRT_CACHE=$CACHE" --workdir "$REPO")
	printf '%q ' "$program" run "${options[@]}" docker.io/library/debian:13 tools/vm "$@"
}

need_debian() {
	is_debian && return
	mkdir -p "$CACHE" # otherwise docker creates it, owned by root
	die "this is $(os_release PRETTY_NAME), not Debian; run tools/vm in a Debian 13 container: $(container_command "${CALL[@]}")"
}

ensure_packages() {
	local missing
	need_debian
	mapfile -t missing < <(missing_packages)
	((${#missing[@]})) || return 0
	if ((EUID)); then
		say "missing packages; as root, run:"
		say "  $(install_command "${missing[@]}")"
		exit 1
	fi
	with_lock packages install_missing_locked
}

# fetched_package PACKAGE: prints the path of the newest fetched version, if there is one.
fetched_package() { find "$CACHE/package" -name "$1_*.deb" 2>/dev/null | sort -V | tail -n 1; }

# Prints the Debian mirror of this machine's apt configuration.
# shellcheck disable=SC2016 # apt's fields
debian_mirror() {
	apt-get indextargets --format '$(CREATED_BY) $(ORIGIN) $(LABEL) $(REPO_URI)' |
		sed -n 's/^Packages Debian Debian //p' | head -n 1
}

# fetch_package PACKAGE SUITE...: fetches the package from the first suite that has it. apt downloads and verifies it,
# with package lists of its own, so that this machine's apt state doesn't change.
fetch_package() (
	package=$1 offers=
	mirror=$(debian_mirror)
	[[ $mirror ]] || die "apt has no Debian mirror in its package lists; try apt-get update"
	folder=$(mktemp -d)
	trap 'rm -rf "$folder"' EXIT
	# apt downloads as another user, who needs read access.
	chmod 755 "$folder" && cd "$folder" || exit
	for suite in "${@:2}"; do
		apt_of_suite "$suite" "$mirror"
		step "looking for $package in $suite" apt-get "${OPTIONS[@]}" update || exit
		if [[ $(offered "$package") ]]; then
			step "fetching $package from $suite" download_package "$package"
			exit
		fi
		others=$(offered "${package%-*}-[0-9.]*" | xargs)
		offers+="${offers:+; }$suite has ${others:-none}"
	done
	die "no suite has $package any more: $offers"
)

# apt_of_suite SUITE MIRROR: sets OPTIONS so that apt only knows this suite, doesn't know the installed packages, and
# keeps its files in the current folder.
apt_of_suite() {
	local dir=$PWD/$1
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	echo "deb [signed-by=$DEBIAN_KEYRING] $2 $1 main" >"$dir/sources.list"
	mapfile -t OPTIONS < <(download_option)
	OPTIONS+=(
		-o Dir::Etc::SourceList="$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null -o APT::Default-Release=
		-o Dir::State::Lists="$dir/lists" -o Dir::State::Status=/dev/null -o Dir::Cache="$dir/cache"
		-o Acquire::Languages=none -o APT::Update::Error-Mode=any
	)
}

# offered PATTERN: prints the suite's packages whose names match the pattern.
offered() { apt-cache "${OPTIONS[@]}" search --names-only "^$1\$" | sed 's/ .*//' | sort -V; }

download_package() {
	mkdir -p "$CACHE/package"
	apt-get "${OPTIONS[@]}" download "$1" && mv "$1"_*.deb "$CACHE/package/"
}

fetch_package_once() { [[ $(fetched_package "$1") ]] || fetch_package "$@"; }

# ensure_fetched PACKAGE SUITE...: keeps a fetched package even if no suite has it anymore.
ensure_fetched() {
	[[ $(fetched_package "$1") ]] || with_lock "fetch-$1" fetch_package_once "$@"
}
