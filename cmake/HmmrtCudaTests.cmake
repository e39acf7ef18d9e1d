# SPDX-License-Identifier: MIT
# Tests that are CUDA programs, built by hmmcc.

# hmmrt_cuda_test(NAME LEVEL [SOURCE FILE] [NATIVE] [LANES] [FAST_KERNEL]): builds NAME.cu, or FILE, as cuda-NAME-LEVEL, for
# the guest and for the cpu device (ctest -L hmmcc), or with NATIVE only for that. LEVEL is O0 or O3. Natively it runs with
# two devices of two lanes, with LANES also with one device of one lane and with two of four.
function(hmmrt_cuda_test name level)
  cmake_parse_arguments(arg "NATIVE;LANES" "SOURCE" "" ${ARGN})
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
  add_dependencies(hmmcc-tests build-cuda-${name}-${level})
  if(NOT arg_NATIVE)
    hmmrt_guest_test(${program} TIME_LIMIT 120 ${arg_UNPARSED_ARGUMENTS})
  endif()
  hmmrt_native_cuda_test(cpu-cuda-${name}-${level} ${program} 2 2)
  if(arg_LANES)
    hmmrt_native_cuda_test(cpu-cuda-${name}-${level}-1-lane ${program} 1 1)
    hmmrt_native_cuda_test(cpu-cuda-${name}-${level}-4-lanes ${program} 2 4)
  endif()
endfunction()

function(hmmrt_native_cuda_test name program devices lanes)
  add_test(NAME ${name} COMMAND ${program})
  set_tests_properties(${name} PROPERTIES LABELS hmmcc TIMEOUT 120
    ENVIRONMENT "HMMRT_DEVICE=cpu;HMMRT_DEVICES=${devices};HMMRT_LANES=${lanes}")
endfunction()

# hmmrt_random_cuda_test(LEVEL FIRST COUNT): the kernels of these seeds, see tests/cuda/random.
function(hmmrt_random_cuda_test level first count)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/random-${level}.cu)
  add_custom_command(OUTPUT ${source}
    COMMAND random_kernels ${first} ${count} >${source}
    DEPENDS random_kernels
    COMMENT "Generating ${count} random kernels from seed ${first}")
  hmmrt_cuda_test(random ${level} SOURCE ${source} LANES FAST_KERNEL)
endfunction()
