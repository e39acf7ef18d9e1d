# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Checks commit messages.

# The last commit before this check existed.
readonly COMMITS_SINCE=${HMMRT_COMMITS_SINCE:-42ab82f}
# Words that aren't verbs; then, verbs whose imperative ends in -ed or -ing.
readonly NO_VERBS='a|an|the|what|who|whose|where|when|of|for|in|on|no|not|some|all|each|one|new|more|its|it'
readonly VERBS='need|feed|speed|seed|shed|embed|proceed|exceed|bring|string|ring|spring|sing|bed|wed'

# check_subject COMMIT SUBJECT
check_subject() {
	local verb
	((${#2} <= 72)) || echo "commit $1: the subject has ${#2} characters, more than 72: $2"
	if ! [[ $2 =~ ^[A-Za-z0-9_.,/\ -]+:\ ([a-z][a-z\'-]*)\  ]]; then
		echo "commit $1: the subject is not 'area: do what': $2"
		return
	fi
	verb=${BASH_REMATCH[1]}
	[[ $verb =~ ^($NO_VERBS)$ || ($verb =~ (ed|ing)$ && ! $verb =~ ^($VERBS)$) ]] &&
		echo "commit $1: '$verb' is not an imperative: $2"
}

# says_why BODY: succeeds if the body has a line that is neither empty nor a trailer.
says_why() {
	local line
	while IFS= read -r line; do
		[[ $line && ! $line =~ ^[A-Z][A-Za-z-]+:\  ]] && return
	done <<<"$1"
	return 1
}

# Checks the commits since COMMITS_SINCE, if the history has that commit.
check_commits() {
	local commit subject body
	[[ -e .git ]] && git merge-base --is-ancestor "$COMMITS_SINCE" HEAD 2>/dev/null || return 0
	while IFS=$'\n' read -r -d '' commit && IFS=$'\n' read -r -d '' subject && IFS= read -r -d '' body; do
		check_subject "${commit#$'\n'}" "$subject"
		says_why "$body" || echo "commit ${commit#$'\n'}: the body does not say why: $subject"
	done < <(git log --no-merges --format='%h%x00%s%x00%b%x00' "$COMMITS_SINCE..HEAD")
}
