# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# `tools/vm test --fresh`: runs both commands of the README as if on a newly installed machine. A root is a minimal
# Debian system with the packages that its line in fresh_roots() lists. We clone hmmrt into its /root, which other users
# can't enter, and let tools/vm install what it needs.
#
#   $CACHE/fresh/SUITE/     the minimal system: apt and its dependencies; never modified
#   build/fresh/NAME/       an overlay with what this root adds: packages, clone, build. We delete it if everything
#                           passes, and keep it for inspection otherwise.
#
# A root uses kernels from this machine's cache if its compiler and kernel source are the same; with --cold the cache is
# empty.

FRESH=no # set by --fresh
COLD=no  # set by --cold
readonly FRESH_FOLDER=/root
readonly FRESH_CLONE=$FRESH_FOLDER/hmmrt

# Prints NAME SUITE PACKAGE... of each root. "minimal" has no further packages. "clang" has compilers, but not all
# packages that hmmcc needs. "half" has half of the optional packages: libraries without their headers, headers without
# their library, and a version of LLVM that isn't the release's default.
fresh_roots() {
	cat <<-'END'
		13-minimal trixie
		13-clang trixie clang llvm-dev
		13-half trixie libclang-cpp19 libcli11-dev libfmt10 libnuma1 libomp5-19 libpng16-16t64 llvm-18-dev nlohmann-json3-dev
		12-minimal bookworm
		12-clang bookworm clang llvm-dev
		12-half bookworm libclang-cpp19 libcli11-dev libfmt9 libnuma1 libomp5-14 libpng16-16 llvm-19-dev nlohmann-json3-dev
	END
}

# choose_fresh [ROOT...] [demo] [test] [NAME...]: sets FRESH_ROOTS to lines of fresh_roots(), FRESH_COMMANDS to demo,
# test or both, and FRESH_NAMES to the tests to run. The ROOT 12 selects all roots of Debian 12.
choose_fresh() {
	local word lines all
	mapfile -t all < <(fresh_roots)
	FRESH_ROOTS=() FRESH_COMMANDS=() FRESH_NAMES=()
	for word in "$@"; do
		case $word in
		1[0-9]*)
			mapfile -t lines < <(fresh_roots | grep -E "^$word(-[a-z]+)? ")
			((${#lines[@]})) || usage_error "--fresh: unknown system '$word' (valid: $(fresh_roots | cut -d ' ' -f 1 | xargs))"
			FRESH_ROOTS+=("${lines[@]}")
			;;
		demo | test) FRESH_COMMANDS+=("$word") ;;
		*) FRESH_NAMES+=("$word") ;;
		esac
	done
	((${#FRESH_ROOTS[@]})) || FRESH_ROOTS=("${all[@]}")
	((${#FRESH_COMMANDS[@]} + ${#FRESH_NAMES[@]})) || FRESH_COMMANDS=(demo test)
	((${#FRESH_NAMES[@]} == 0)) || [[ " ${FRESH_COMMANDS[*]} " == *" test "* ]] || FRESH_COMMANDS+=(test)
}

# Prints the mirror of Debian's security updates.
security_mirror() {
	local mirror
	# shellcheck disable=SC2016 # apt's fields
	mirror=$(apt-get indextargets --format '$(CREATED_BY) $(ORIGIN) $(LABEL) $(REPO_URI)' |
		sed -n 's/^Packages Debian Debian-Security //p' | head -n 1)
	echo "${mirror:-$(debian_mirror | sed 's,/*$,-security,')}"
}

# make_fresh_base SUITE: makes the minimal system. It doesn't have to survive a power failure, so dpkg doesn't sync.
make_fresh_base() {
	local base=$CACHE/fresh/$1 suite FOLDER_IN_ROOT=$FRESH_FOLDER
	[[ ! -d $base ]] || return 0
	rm -rf "$base.base" && make_root "$base.base" "$1" ca-certificates &&
		for suite in "$(debian_mirror) $1-updates" "$(security_mirror) $1-security"; do
			echo "deb [signed-by=$DEBIAN_KEYRING] $suite main"
		done >"$base.base/etc/apt/sources.list.d/updates.list" &&
		echo force-unsafe-io >"$base.base/etc/dpkg/dpkg.cfg.d/fresh" &&
		in_root "$base.base" apt-get update && in_root "$base.base" apt-get dist-upgrade --yes &&
		in_root "$base.base" apt-get clean && mv "$base.base" "$base"
}

# in_fresh COMMAND...: runs the command in the root, with the environment of a fresh root login.
in_fresh() {
	local SHOWN_IN_ROOT=() FOLDER_IN_ROOT=$FRESH_CLONE CHANGES_IN_ROOT=$FRESH_CHANGES name
	local variables=(HOME="$FRESH_FOLDER" USER=root LOGNAME=root TERM="${TERM:-dumb}" LANG=C.UTF-8
		PATH=/usr/sbin:/usr/bin:/sbin:/bin)
	for name in $(compgen -e | grep -iE '_proxy$'); do variables+=("$name=${!name}"); done
	[[ $COLD == yes ]] || SHOWN_IN_ROOT=("$CACHE") variables+=("HMMRT_CACHE=$CACHE")
	in_root "$CACHE/fresh/$FRESH_SUITE" env -i "${variables[@]}" "$@"
}

# Clones the last commit, or copies the tree if this is an unpacked archive.
clone_for_fresh() (
	clone=$FRESH_CHANGES/upper$FRESH_CLONE
	umask 022
	mkdir -p "$FRESH_CHANGES/upper/etc" && install -d -m 700 "$FRESH_CHANGES/upper$FRESH_FOLDER" || exit
	[[ ! -e /etc/resolv.conf ]] || cp --dereference /etc/resolv.conf "$FRESH_CHANGES/upper/etc/"
	if [[ -e $REPO/.git ]]; then
		git clone --quiet --no-hardlinks "$REPO" "$clone"
	else
		mkdir "$clone" && tar -c -C "$REPO" --exclude=./build . | tar -x -C "$clone"
	fi
)

install_in_fresh() {
	local apt=(env DEBIAN_FRONTEND=noninteractive apt-get --no-install-recommends --yes)
	in_fresh apt-get update && in_fresh "${apt[@]}" dist-upgrade && in_fresh "${apt[@]}" install "$@"
}

# fresh_phase TEXT COMMAND...: like step, and records the time in FRESH_TIMES.
fresh_phase() {
	local start=$SECONDS rc=0
	step "$FRESH_NAME: $1" "${@:2}" || rc=$?
	FRESH_TIMES+=("$1 $(human_time $((SECONDS - start)))")
	return "$rc"
}

# run_in_fresh ARGUMENT...: runs tools/vm in the root. We show its progress messages as it prints them, and write its
# whole output to a log.
run_in_fresh() {
	local log=$BUILD/out/results/fresh-$FRESH_NAME-$1.log start=$SECONDS rc=0 phases='^(vm: |== .* passed, |failed: )'
	set -- "$log" "$@"
	say "$FRESH_NAME: tools/vm ${*:2}"
	in_fresh tools/vm "${@:2}" </dev/null 2>&1 | tee "$log" |
		{ grep --line-buffered -E "$phases" || true; } | sed -u "s/^/$FRESH_NAME: /" || rc=$?
	FRESH_TIMES+=("$2 $(human_time $((SECONDS - start)))")
	((rc == 0)) || tail -n 30 "$log"
	return "$rc"
}

# test_in_fresh NAME SUITE [PACKAGE...]: counts each command as a test. A root that can't be set up counts as one failed
# test.
test_in_fresh() {
	local passed=0 failures=() command arguments rc=0
	FRESH_NAME=$1 FRESH_SUITE=$2 FRESH_CHANGES=$BUILD/fresh/$1 FRESH_TIMES=()
	shift 2
	rm -rf "$FRESH_CHANGES"
	if ! fresh_phase root with_lock "fresh-$FRESH_SUITE" make_fresh_base "$FRESH_SUITE" ||
		! fresh_phase clone clone_for_fresh || ! fresh_phase packages install_in_fresh "$@"; then
		tally "fresh $FRESH_NAME" 0 1 0 "the system could not be set up"
		return
	fi
	for command in "${FRESH_COMMANDS[@]}"; do
		arguments=()
		[[ $command != test ]] || arguments=(--guests "$TEST_GUESTS" "${FRESH_NAMES[@]}")
		rc=0
		run_in_fresh "$command" "${arguments[@]}" || rc=$?
		if ((rc)); then failures+=("tools/vm $command ended with status $rc"); else ((++passed)); fi
	done
	((${#failures[@]})) || rm -rf "$FRESH_CHANGES"
	echo "$FRESH_NAME: $(printf '%s, ' "${FRESH_TIMES[@]}" | sed 's/, $//')"
	tally "fresh $FRESH_NAME" "$passed" "${#failures[@]}" 0 "${failures[@]}"
}

test_fresh() {
	local line words
	[[ ! $LAST_OPTION ]] || usage_error "--fresh cannot be combined with $LAST_OPTION"
	choose_fresh "$@"
	((EUID == 0)) || die "test --fresh must run as root, because it creates minimal systems and enters them with chroot"
	[[ ! -e $REPO/.git ]] || [[ -z $(git -C "$REPO" status --porcelain) ]] ||
		say "uncommitted changes are not tested"
	mkdir -p "$BUILD/out/results" "$CACHE"
	for line in "${FRESH_ROOTS[@]}"; do
		read -ra words <<<"$line"
		test_in_fresh "${words[@]}"
	done
	print_sums
}
