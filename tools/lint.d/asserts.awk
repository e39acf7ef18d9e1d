# SPDX-License-Identifier: MIT
#
# Prints functions that promise a lock and do not assert it. A promise is a clause of the comment above a
# function that has "Context:" or "caller", names a lock and says "held" or "holds", without a negation or "may be";
# or a name that ends in _locked. Prototypes and macros are not looked at.

function promises(text,    n, i, clause) {
	if (text !~ /Context:|[Cc]aller/) return 0
	n = split(text, clause, /[.;]|Context:|Return:/)
	for (i = 1; i <= n; i++)
		if (clause[i] ~ /(_lock|->lock|->migrate|->grow|mmap_lock)([^a-z].*)? held|holds? .*(lock|migrate|grow)/ &&
		    tolower(clause[i]) !~ /(^|[^a-z])(no|not|nothing|none|without|may be)[^a-z]/)
			return 1
	return 0
}

FNR == 1 { comment = ""; in_comment = 0; head = ""; in_body = 0 }

in_body {
	if ($0 ~ /lockdep_assert|mmap_assert|assert_spin_locked/) asserted = 1
	if ($0 ~ /^}/) {
		if (promised && !asserted)
			printf "%s:%d: %s() says that a lock is held and does not assert it\n", FILENAME, line, name
		in_body = 0; comment = ""; head = ""
	}
	next
}

/^\/\*/ { comment = ""; in_comment = 1 }
in_comment {
	text = $0
	gsub(/^[ \t]*\/?\*+\/?|\*\/$/, "", text)
	comment = comment " " text
	if ($0 ~ /\*\//) in_comment = 0
	next
}

/^{/ && head ~ /\(/ {
	in_body = 1; asserted = 0
	name = head
	sub(/\(.*/, "", name)
	sub(/.*[^A-Za-z0-9_]/, "", name)
	promised = promises(comment) || name ~ /_locked$/
	next
}
/^[#}]|;[ \t]*$|^$/ { comment = ($0 ~ /^$/ && head == "") ? comment : ""; head = ""; next }
/^[A-Za-z_]/ { head = $0; line = FNR; next }
head != "" { head = head " " $0 }
