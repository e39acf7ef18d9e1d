# SPDX-License-Identifier: MIT
# Tests that need the modules and run in the guest. tests/guest-tests.txt of the
# build folder lists them: one absolute path per line, followed by the time limit
# in seconds if it is not the default, and by `fast` if a debug kernel runs the
# program with --long only.

# hmmrt_guest_test(PROGRAM [TIME_LIMIT SECONDS [FAST_KERNEL]]): PROGRAM is a target or the path of a script.
# FAST_KERNEL is for programs that are long on a debug kernel and test no module code that others do not test there.
function(hmmrt_guest_test program)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FAST_KERNEL" "TIME_LIMIT" "")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hmmrt_guest_test(${program}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  if(arg_FAST_KERNEL AND NOT arg_TIME_LIMIT)
    message(FATAL_ERROR "hmmrt_guest_test(${program}): FAST_KERNEL requires a TIME_LIMIT")
  endif()
  set(kernels "")
  if(arg_FAST_KERNEL)
    set(kernels fast)
  endif()
  string(JOIN " " line ${program} ${arg_TIME_LIMIT} ${kernels})
  set_property(GLOBAL APPEND_STRING PROPERTY HMMRT_GUEST_TESTS "${line}\n")
endfunction()

# Call once, after all tests are declared.
function(hmmrt_write_guest_tests)
  get_property(tests GLOBAL PROPERTY HMMRT_GUEST_TESTS)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/tests/guest-tests.txt CONTENT "${tests}")
endfunction()
