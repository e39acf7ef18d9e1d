# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Checks that the documentation only refers to what exists (headings, paths, our names in the code), and that its C++
# compiles.

readonly FOLDERS='kmod|runtime|include|tests|tools|docs|examples|cmake|debian|LICENSES'

# anchors FILE: prints the anchors that Git hosting sites generate for the file's headings.
anchors() { sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'; }

# Prints FILE:LINE:TEXT for the prose, without fenced examples.
prose() {
	awk 'FNR == 1 { fenced = 0 } /^```/ { fenced = !fenced; next } !fenced { print FILENAME ":" FNR ":" $0 }' "${MARKDOWN[@]}"
}

# find_in_prose PATTERN: prints FILE:LINE:MATCH for each match of a Perl pattern.
find_in_prose() {
	# shellcheck disable=SC2016 # variables of Perl
	prose | perl -sne '
		my ($where, $text) = /^([^:]*:\d+:)(.*)/ or next;
		print "$where$&\n" while $text =~ /$pattern/g;' -- -pattern="$1"
}

check_links() {
	local file line target path anchor
	local -A anchors=() # by path that a link refers to
	while IFS=: read -r file line target; do
		[[ $target == *://* ]] && continue # external
		path=${target%%#*} anchor=
		[[ $target == *#* ]] && anchor=${target#*#}
		if [[ ! $path ]]; then
			path=$file
		elif [[ $file == */* ]]; then
			path=${file%/*}/$path
		fi
		if [[ ! -e $path ]]; then
			echo "$file:$line: link to $target: no such file"
		elif [[ $anchor ]]; then
			[[ -v anchors[$path] ]] || anchors[$path]=$'\n'$(anchors "$path")$'\n'
			[[ ${anchors[$path]} == *$'\n'"$anchor"$'\n'* ]] ||
				echo "$file:$line: link to $target: no such heading"
		fi
	done < <(find_in_prose '\]\(\K[^)\s]+')
}

# Checks all paths in Markdown files, and in other files the references to docs/.
check_paths() {
	local file line path
	while IFS=: read -r file line path; do
		compgen -G "$path" >/dev/null || echo "$file:$line: $path does not exist"
	done < <({
		grep -noHP "(?<![\w/.\$}*-])($FOLDERS)/[\w./*-]*[\w*/]" -- "${MARKDOWN[@]}"
		grep -noHP '(?<![\w/.$}*-])docs/[\w-]+\.md' -- "${FILES[@]}"
	} | sort -u)
}

# Our names in backquotes have to occur somewhere in the code; of a->b and a::b, each part has to.
# shellcheck disable=SC2016 # the pattern's backquotes aren't a command
check_names() {
	local words=$LINT_BUILD/words
	printf '%s\n' "${FILES[@]}" | grep -v '\.md$' | xargs -d '\n' grep -ohE '[A-Za-z_][A-Za-z0-9_]*' | sort -u >"$words"
	find_in_prose '`\K(hmmrt_|HMMRT_|HMM_|hmm[A-Z]|hmm::|simgpu_|(block|space|vram|view|dpt|table)->)[\w:>-]*(\(\))?(?=`)' |
		awk '
			NR == FNR { known[$0]; next }
			{
				match($0, /^[^:]*:[0-9]+:/)
				where = substr($0, 1, RLENGTH)
				name = substr($0, RLENGTH + 1)
				n = split(name, part, /[^A-Za-z0-9_]+/)
				for (i = 1; i <= n; i++)
					if (part[i] != "" && !(part[i] in known)) print where " " name " is nowhere in the code"
			}' "$words" -
}

# C++ examples in Markdown have to be complete programs that compile.
check_samples() {
	local file line sample=$LINT_BUILD/sample.cpp
	while IFS=: read -r file line; do
		sed -n "$((line + 1)),/^\`\`\`/p" "$file" | sed '$d' >"$sample"
		g++ -x c++ -std=c++20 -Wall -Wextra -Werror -fsyntax-only -Iinclude "$sample" >/dev/null 2>&1 ||
			echo "$file:$line: the C++ below does not compile"
	done < <(grep -nH '^```cpp' -- "${MARKDOWN[@]}" | cut -d: -f1,2)
}

check_docs() {
	require perl perl || return
	check_links
	check_paths
	check_names
	check_samples
	return 0
}
