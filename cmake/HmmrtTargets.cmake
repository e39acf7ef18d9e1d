# SPDX-License-Identifier: MIT
# Compiler options for the project's code.

# hmmrt_strict(TARGET...): enables warnings, and sanitizers with HMMRT_SANITIZE.
function(hmmrt_strict)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow
                           $<$<BOOL:${HMMRT_WERROR}>:-Werror>)
    if(HMMRT_SANITIZE)
      target_compile_options(${target} PRIVATE -fsanitize=address,undefined
                             -fno-sanitize-recover=all -fno-omit-frame-pointer)
      target_link_options(${target} PRIVATE -fsanitize=address,undefined)
    endif()
  endforeach()
endfunction()
