# SPDX-License-Identifier: MIT
# cmake -DINCLUDE=include/hmm -DOUTPUT=FILE -P: writes a line HMM_FUNCTION(name) for each function that the C headers
# declare.
cmake_minimum_required(VERSION 3.20)
file(GLOB headers ${INCLUDE}/*.h)
set(text "// Made from the headers in ${INCLUDE}.\n")
foreach(header IN LISTS headers)
  file(READ ${header} content)
  string(REGEX MATCHALL "HMM_API [^;(]*[ *\n](hm|gmem)[A-Za-z0-9_]+\\(" declarations "${content}")
  foreach(declaration IN LISTS declarations)
    string(REGEX REPLACE ".*[ *\n]([A-Za-z0-9_]+)\\($" "HMM_FUNCTION(\\1)\n" line "${declaration}")
    string(APPEND text "${line}")
  endforeach()
endforeach()
file(WRITE ${OUTPUT} "${text}")
