# SPDX-License-Identifier: MIT
#
# Makes the manual page hmmcc(1) from the output of `hmmcc --help`: a usage line, a paragraph, and options, which are
# indented by two spaces and separated from their text by two or more.

function escaped(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	sub(/^[.']/, "\\\\\\&&", text)
	return text
}

BEGIN {
	printf ".TH HMMCC 1 \"\" \"hmmcc %s\" \"hmmrt\"\n", version
	print ".SH NAME\nhmmcc \\- builds programs from CUDA and HIP source for hmmrt"
}

sub(/^usage: hmmcc /, "") {
	printf ".SH SYNOPSIS\n\\fBhmmcc\\fR %s\n.SH DESCRIPTION\n", escaped($0)
	next
}

/^  [^ ]/ {
	if (!options++)
		print ".SH OPTIONS"
	option = substr($0, 3)
	text = ""
	if (match(option, /  +/)) {
		text = substr(option, RSTART + RLENGTH)
		option = substr(option, 1, RSTART - 1)
	}
	printf ".TP\n\\fB%s\\fR\n", escaped(option)
	if (text != "")
		print escaped(text)
	next
}

NF {
	sub(/^ +/, "")
	print escaped($0)
}

END {
	print ".SH EXIT STATUS\n2 if the command line is wrong, 1 if something does not build."
	print ".SH SEE ALSO\n\\fBhmmctl\\fR(1), \\fBhmmrt\\fR(7), and cuda.md in the documentation"
}
