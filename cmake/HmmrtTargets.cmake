# SPDX-License-Identifier: MIT
# Compiler options for the project's code.

if(HMMRT_SANITIZE STREQUAL "thread")
  set(HMMRT_SANITIZERS -fsanitize=thread)
elseif(HMMRT_SANITIZE)
  set(HMMRT_SANITIZERS -fsanitize=address,undefined -fno-sanitize-recover=all)
endif()

# hmmrt_strict(TARGET...): enables warnings, and sanitizers with HMMRT_SANITIZE. In a unity build, names of one file
# shadow those of another.
function(hmmrt_strict)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE -Wall -Wextra
                           $<$<NOT:$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wshadow>
                           $<$<BOOL:${HMMRT_WERROR}>:-Werror>)
    if(HMMRT_SANITIZE)
      target_compile_options(${target} PRIVATE ${HMMRT_SANITIZERS} -fno-omit-frame-pointer)
      target_link_options(${target} PRIVATE ${HMMRT_SANITIZERS})
    endif()
  endforeach()
endfunction()

# hmmrt_less_effort(TARGET...): optimizes little. It is for code that need not be fast and uses libraries of templates:
# they take most of the time that a build takes.
function(hmmrt_less_effort)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE -g1 $<IF:$<STREQUAL:${HMMRT_SANITIZE},ON>,-O0,-O1>)
  endforeach()
endfunction()

# hmmrt_gtest(TARGET...): for tests with GoogleTest. They share a precompiled header.
function(hmmrt_gtest)
  if(NOT TARGET hmmrt-gtest-header)
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/gtest_header.cpp CONTENT "// The precompiled header of tests needs a source.\n")
    add_library(hmmrt-gtest-header OBJECT ${CMAKE_BINARY_DIR}/gtest_header.cpp)
    target_link_libraries(hmmrt-gtest-header PRIVATE GTest::gtest Threads::Threads)
    target_precompile_headers(hmmrt-gtest-header PRIVATE <gtest/gtest.h>)
    hmmrt_less_effort(hmmrt-gtest-header)
    hmmrt_strict(hmmrt-gtest-header)
  endif()
  hmmrt_less_effort(${ARGN})
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM hmmrt-gtest-header)
  endforeach()
endfunction()
