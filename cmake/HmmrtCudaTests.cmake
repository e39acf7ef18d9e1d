# SPDX-License-Identifier: MIT
# Tests that are CUDA programs, built by hmmcc.

# hmmrt_cuda_test(NAME LEVEL [SOURCE FILE] [NATIVE] [FAST_KERNEL]): builds NAME.cu, or FILE, as cuda-NAME-LEVEL, for the
# guest and for the cpu device (ctest -L hmmcc), or with NATIVE only for that. LEVEL is O0 or O3.
function(hmmrt_cuda_test name level)
  cmake_parse_arguments(arg "NATIVE" "SOURCE" "" ${ARGN})
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${name}.cu)
  if(arg_SOURCE)
    set(source ${arg_SOURCE})
  endif()
  set(program ${CMAKE_CURRENT_BINARY_DIR}/cuda-${name}-${level})
  add_custom_command(OUTPUT ${program}
    COMMAND hmmcc -${level} ${source} -o ${program} -MD -MF ${program}.d -MT ${program}
    DEPENDS ${source} hmmcc hmmcc-plugin hmmcuda hmmrt-static
    DEPFILE ${program}.d
    COMMENT "hmmcc -${level} ${name}.cu")
  add_custom_target(build-cuda-${name}-${level} ALL DEPENDS ${program})
  if(NOT arg_NATIVE)
    hmmrt_guest_test(${program} TIME_LIMIT 120 ${arg_UNPARSED_ARGUMENTS})
  endif()
  add_test(NAME cpu-cuda-${name}-${level} COMMAND ${program})
  set_tests_properties(cpu-cuda-${name}-${level} PROPERTIES LABELS hmmcc TIMEOUT 120
    ENVIRONMENT "HMMRT_DEVICE=cpu;HMMRT_LANES=2")
endfunction()

# hmmrt_random_cuda_test(LEVEL FIRST COUNT): the kernels of these seeds, see tests/cuda/random.
function(hmmrt_random_cuda_test level first count)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/random-${level}.cu)
  add_custom_command(OUTPUT ${source}
    COMMAND random_kernels ${first} ${count} >${source}
    DEPENDS random_kernels
    COMMENT "random kernels of ${count} seeds from ${first}")
  hmmrt_cuda_test(random ${level} SOURCE ${source} FAST_KERNEL)
endfunction()
