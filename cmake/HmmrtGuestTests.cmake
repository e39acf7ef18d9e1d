# SPDX-License-Identifier: MIT
# Tests that need the modules. They run in the guest, which finds them in
# tests/guest-tests.txt of the build folder: one absolute path a line, with its time
# limit in seconds behind it if that is not the usual one.

# hmmrt_guest_test(PROGRAM [TIME_LIMIT SECONDS]): PROGRAM is an executable of ours or the path of a script.
function(hmmrt_guest_test program)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIME_LIMIT" "")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hmmrt_guest_test(${program}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  string(JOIN " " line ${program} ${arg_TIME_LIMIT})
  set_property(GLOBAL APPEND_STRING PROPERTY HMMRT_GUEST_TESTS "${line}\n")
endfunction()

# Call once, when all tests are declared.
function(hmmrt_write_guest_tests)
  get_property(tests GLOBAL PROPERTY HMMRT_GUEST_TESTS)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/tests/guest-tests.txt CONTENT "${tests}")
endfunction()
