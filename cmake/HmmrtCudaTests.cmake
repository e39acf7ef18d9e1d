# SPDX-License-Identifier: MIT
# Tests that are CUDA programs, built by hmmcc.

# hmmrt_cuda_test(NAME LEVEL [FAST_KERNEL]): builds NAME.cu as cuda-NAME-LEVEL, for the guest and for the cpu device (ctest
# -L hmmcc). LEVEL is O0 or O3.
function(hmmrt_cuda_test name level)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${name}.cu)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/cuda-${name}-${level})
  add_custom_command(OUTPUT ${program}
    COMMAND hmmcc -${level} ${source} -o ${program} -MD -MF ${program}.d -MT ${program}
    DEPENDS ${source} hmmcc hmmcc-plugin hmmcuda hmmrt-static
    DEPFILE ${program}.d
    COMMENT "hmmcc -${level} ${name}.cu")
  add_custom_target(build-cuda-${name}-${level} ALL DEPENDS ${program})
  hmmrt_guest_test(${program} TIME_LIMIT 120 ${ARGN})
  add_test(NAME cpu-cuda-${name}-${level} COMMAND ${program})
  set_tests_properties(cpu-cuda-${name}-${level} PROPERTIES LABELS hmmcc TIMEOUT 120
    ENVIRONMENT "HMMRT_DEVICE=cpu;HMMRT_LANES=2")
endfunction()
