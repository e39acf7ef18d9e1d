# SPDX-License-Identifier: MIT
# How our own code is compiled.

# hmmrt_strict(TARGET...): warnings, and sanitizers where asked for.
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
