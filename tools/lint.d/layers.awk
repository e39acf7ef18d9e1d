# SPDX-License-Identifier: MIT
#
# Prints uses of higher layers, files without a layer, and cycles of more than `circle` files. The first input file has
# NAME FILE of each definition; the others are the sources. `layers` lists the layers, lowest first; `other` has
# NAME:LAYER of files whose prefix isn't a layer.

function layer_of(file,    name) {
	name = file
	sub(/.*\//, "", name)
	sub(/\.c$/, "", name)
	if (name in named) return rank[named[name]]
	sub(/_.*/, "", name)
	return rank[name] + 0
}

# Returns the line without comments, strings, members and tags.
function code(line,    out, at) {
	out = ""
	while (line != "") {
		if (in_comment) {
			at = index(line, "*/")
			if (!at) return out
			line = substr(line, at + 2)
			in_comment = 0
			continue
		}
		at = index(line, "/*")
		if (!at) { out = out line; break }
		out = out substr(line, 1, at - 1)
		line = substr(line, at + 2)
		in_comment = 1
	}
	sub(/\/\/.*/, "", out)
	gsub(/"([^"\\]|\\.)*"/, "", out)
	gsub(/(->|\.)[ \t]*[A-Za-z_][A-Za-z_0-9]*/, "", out)
	gsub(/(struct|enum|union)[ \t]+[A-Za-z_][A-Za-z_0-9]*/, "", out)
	return out
}

function use(name,    file) {
	file = defined_in[name]
	if (file == FILENAME) return
	if (!((FILENAME, file) in uses)) uses[FILENAME, file] = 1
	if (layer_of(FILENAME) < layer_of(file) && !told[FILENAME, name]++)
		printf "%s:%d: uses %s of %s, which is in a higher layer\n", FILENAME, FNR, name, file
}

BEGIN {
	n = split(layers, field, " ")
	for (i = 1; i <= n; i++) rank[field[i]] = i
	n = split(other, field, " ")
	for (i = 1; i <= n; i++) {
		split(field[i], part, ":")
		named[part[1]] = part[2]
	}
}

FILENAME == ARGV[1] { defined_in[$1] = $2; next }

FNR == 1 {
	in_comment = 0
	files[++nfiles] = FILENAME
	if (!layer_of(FILENAME)) printf "%s:1: is in no layer\n", FILENAME
}

{
	line = code($0)
	while (match(line, /[A-Za-z_][A-Za-z_0-9]*/)) {
		name = substr(line, RSTART, RLENGTH)
		line = substr(line, RSTART + RLENGTH)
		if (name in defined_in) use(name)
	}
}

END {
	for (k = 1; k <= nfiles; k++)
		for (i = 1; i <= nfiles; i++) {
			if (!((files[i], files[k]) in uses)) continue
			for (j = 1; j <= nfiles; j++)
				if ((files[k], files[j]) in uses) uses[files[i], files[j]] = 1
		}
	for (i = 1; i <= nfiles; i++) {
		if (files[i] in seen) continue
		size = 0
		for (j = 1; j <= nfiles; j++)
			if (((files[i], files[j]) in uses) && ((files[j], files[i]) in uses)) {
				seen[files[j]] = 1
				size++
			}
		if (size > circle) printf "%s:1: is in a dependency cycle of %d files, more than %d\n", files[i], size, circle
	}
}
