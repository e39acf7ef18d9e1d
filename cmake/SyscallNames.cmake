# SPDX-License-Identifier: MIT
# cmake -DHEADER=unistd_64.h -DOUTPUT=FILE -P: writes a line {number, "name"} for
# each __NR_name that the header defines.
file(STRINGS ${HEADER} lines REGEX "^#define __NR_[a-z0-9_]+ [0-9]+$")
set(entries "// Made from ${HEADER}.\n")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^#define __NR_([a-z0-9_]+) ([0-9]+)$" "{\\2, \"\\1\"},\n" entry "${line}")
  string(APPEND entries "${entry}")
endforeach()
if(NOT lines)
  message(FATAL_ERROR "${HEADER} defines no system calls")
endif()
file(WRITE ${OUTPUT} "${entries}")
