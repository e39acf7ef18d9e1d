# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The messages of commits.

# The last commit that was made before commits were checked.
readonly COMMITS_SINCE=${HMMRT_COMMITS_SINCE:-42ab82f}
# First words of a subject that are no verb, or not its imperative.
readonly NO_VERBS='a|an|the|what|who|whose|where|when|of|for|in|on|no|not|some|all|each|one|new|more|its|it'
readonly VERBS='need|feed|speed|seed|shed|embed|proceed|exceed|bring|string|ring|spring|sing|bed|wed'

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
