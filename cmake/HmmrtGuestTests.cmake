# SPDX-License-Identifier: MIT
# Tests that need the modules. They run in the guest, which finds them in
# tests/guest-tests.txt of the build folder: one absolute path a line, with its time
# limit in seconds behind it if that is not the usual one.

# hmmrt_guest_test(TARGET [TIME_LIMIT SECONDS]): TARGET is an executable.
function(hmmrt_guest_test target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIME_LIMIT" "")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hmmrt_guest_test(${target}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  string(JOIN " " line $<TARGET_FILE:${target}> ${arg_TIME_LIMIT})
  set_property(GLOBAL APPEND_STRING PROPERTY HMMRT_GUEST_TESTS "${line}\n")
endfunction()

# Call once, when all tests are declared.
function(hmmrt_write_guest_tests)
  get_property(tests GLOBAL PROPERTY HMMRT_GUEST_TESTS)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/tests/guest-tests.txt CONTENT "${tests}")
endfunction()
