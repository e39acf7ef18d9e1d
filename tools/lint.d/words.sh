# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The language of comments, docs and commits. Words that hide the subject of a sentence, and words that another word
# has replaced, are counted: tools/lint.d/words has the most that comments and docs may have of each. These limits
# fall, and never rise.

readonly WORD_LIMITS=tools/lint.d/words
# The last commit that was made before commits were checked.
readonly COMMITS_SINCE=${HMMRT_COMMITS_SINCE:-42ab82f}
# First words of a subject that are no verb, or not its imperative.
readonly NO_VERBS='a|an|the|what|who|whose|where|when|of|for|in|on|no|not|some|all|each|one|new|more|its|it'
readonly VERBS='need|feed|speed|seed|shed|embed|proceed|exceed|bring|string|ring|spring|sing|bed|wed'

# FILE:TEXT of all prose: of texts every line, of other files the comments. In C and C++, strings hide what looks like a
# comment in them. The files that list the words are left out.
all_prose() {
	local file files=()
	for file in "${FILES[@]}"; do
		case $file in
		"$WORD_LIMITS" | tools/lint.d/* | LICENSE* | *.json | *.svg | *.abi | *.txt) [[ $file == *CMakeLists.txt ]] || continue ;;
		esac
		files+=("$file")
	done
	# shellcheck disable=SC2016 # variables of Perl
	perl -e '
		my $hidden = qr/"(?:\\.|[^"\\\n])*"|\x27\\?"\x27/;
		for my $file (@ARGV) {
			open(my $in, "<", $file) or next;
			my $text = do { local $/; <$in> } // "";
			if ($file =~ /\.([ch]|[ch]pp)$/) {
				$text = join "\n", $text =~ m{(?:$hidden)(*SKIP)(*F)|/\*.*?\*/|//[^\n]*}gs;
			} elsif ($file !~ /\.md$/) {
				$text = join "\n", map { /(?:^|\s)#(.*)/ ? $1 : () } split /\n/, $text;
			}
			print "$file:$_\n" for split /\n/, $text;
		}' "${files[@]}"
}

# WORD NUMBER of each word that is limited, as it is now.
count_words() {
	local prose=$LINT_BUILD/prose text=$LINT_BUILD/prose-text word
	all_prose >"$prose"
	cut -d: -f2- "$prose" >"$text"
	while read -r word _; do
		echo "$word $(grep -oiwF -- "${word//_/ }" "$text" | wc -l)"
	done < <(grep -v '^#' "$WORD_LIMITS")
}

check_limits() {
	local word limit number
	while read -r word limit number; do
		if ((number > limit)); then
			echo "$WORD_LIMITS: '${word//_/ }' is $number times in comments and docs, at most $limit are allowed; some are:"
			grep -iwF -- "${word//_/ }" "$LINT_BUILD/prose" | head -n 20 | sed 's/^/  /'
		elif ((number < limit)); then
			echo "$WORD_LIMITS: '${word//_/ }' is there $number times, not $limit; tools/lint --lower-words lowers the limit"
		fi
	done < <(count_words | join <(grep -v '^#' "$WORD_LIMITS" | sort) <(sort))
}

# Writes the numbers of now where they are lower.
lower_words() {
	local new=$LINT_BUILD/words.new
	{
		grep '^#' "$WORD_LIMITS"
		count_words | sort | join <(grep -v '^#' "$WORD_LIMITS" | sort) - |
			awk '{ print $1, $3 < $2 ? $3 : $2 }'
	} >"$new" && cp "$new" "$WORD_LIMITS"
}

# One word, one thing: no word is twice in the left column of the table of words.
check_table_of_words() {
	local file=docs/architecture.md
	sed -n '/^## Words/,/^## /s/^| \([^|]*\) |.*/\1/p' "$file" | grep -v '^word$\|^-*$' | tr ',' '\n' | sed 's/^ *//; s/ *$//' |
		sort | uniq -d | sed "s|.*|$file:1: the table of words has '&' more than once|"
}

# check_subject COMMIT SUBJECT
check_subject() {
	local verb
	((${#2} <= 72)) || echo "commit $1: the subject has ${#2} characters, more than 72: $2"
	if ! [[ $2 =~ ^[A-Za-z0-9_.,/\ -]+:\ ([a-z][a-z-]*)\  ]]; then
		echo "commit $1: the subject is not 'area: do what': $2"
		return
	fi
	verb=${BASH_REMATCH[1]}
	[[ $verb =~ ^($NO_VERBS)$ || ($verb =~ (ed|ing)$ && ! $verb =~ ^($VERBS)$) ]] &&
		echo "commit $1: '$verb' is no imperative: $2"
}

# A body has a line that is not empty and no trailer.
says_why() {
	local line
	while IFS= read -r line; do
		[[ $line && ! $line =~ ^[A-Z][A-Za-z-]+:\  ]] && return
	done <<<"$1"
	return 1
}

# Commits that came after the check, where there is a history that has them.
check_commits() {
	local commit subject body
	[[ -e .git ]] && git merge-base --is-ancestor "$COMMITS_SINCE" HEAD 2>/dev/null || return 0
	while IFS=$'\n' read -r -d '' commit && IFS=$'\n' read -r -d '' subject && IFS= read -r -d '' body; do
		check_subject "${commit#$'\n'}" "$subject"
		says_why "$body" || echo "commit ${commit#$'\n'}: the body does not say why: $subject"
	done < <(git log --no-merges --format='%h%x00%s%x00%b%x00' "$COMMITS_SINCE..HEAD")
}

check_words() {
	check_limits
	check_table_of_words
	check_commits
	return 0
}
