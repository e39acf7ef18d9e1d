# SPDX-License-Identifier: MIT
# Compiler options for the project's code.

if(HMMRT_SANITIZE STREQUAL "thread")
  set(HMMRT_SANITIZERS -fsanitize=thread)
elseif(HMMRT_SANITIZE)
  set(HMMRT_SANITIZERS -fsanitize=address,undefined -fno-sanitize-recover=all)
endif()

# hmmrt_strict(TARGET...): enables warnings, and sanitizers with HMMRT_SANITIZE.
function(hmmrt_strict)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow
                           $<$<BOOL:${HMMRT_WERROR}>:-Werror>)
    if(HMMRT_SANITIZE)
      target_compile_options(${target} PRIVATE ${HMMRT_SANITIZERS} -fno-omit-frame-pointer)
      target_link_options(${target} PRIVATE ${HMMRT_SANITIZERS})
    endif()
  endforeach()
endfunction()
