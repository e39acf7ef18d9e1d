# SPDX-License-Identifier: MIT
# Decides if hmmcc is built: it needs the development files of LLVM and clang, and that clang. HMMRT_HMMCC_FOUND has the
# answer. The passes use the interface of LLVM 14, which changes with each version.
set(HMMRT_HMMCC AUTO CACHE STRING "Build hmmcc, which compiles CUDA source: AUTO (with the tools, if LLVM and clang are found), ON or OFF")
set_property(CACHE HMMRT_HMMCC PROPERTY STRINGS AUTO ON OFF)

# clang loads the plugin, and gets GCC's libasan with it.
set(hmmcc_sanitizer_suits ON)
if(HMMRT_SANITIZE AND (HMMRT_SANITIZE STREQUAL "thread" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU"))
  set(hmmcc_sanitizer_suits OFF)
endif()

set(HMMRT_HMMCC_FOUND OFF)
set(hmmcc_answer "no, HMMRT_HMMCC is OFF")
if(HMMRT_HMMCC STREQUAL "AUTO" AND NOT HMMRT_TOOLS)
  set(hmmcc_answer "no, HMMRT_TOOLS is OFF")
elseif(HMMRT_HMMCC AND NOT hmmcc_sanitizer_suits)
  set(hmmcc_answer "no, HMMRT_SANITIZE is ${HMMRT_SANITIZE} with ${CMAKE_CXX_COMPILER_ID}")
elseif(HMMRT_HMMCC)
  find_package(LLVM 14 CONFIG QUIET HINTS /usr/lib/llvm-14/lib/cmake/llvm)
  if(LLVM_FOUND)
    find_package(Clang CONFIG QUIET HINTS ${LLVM_DIR}/../clang ${LLVM_INSTALL_PREFIX}/lib/cmake/clang)
    find_program(HMMCC_CLANG NAMES clang++ PATHS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH)
  endif()
  if(LLVM_FOUND AND Clang_FOUND AND HMMCC_CLANG)
    execute_process(COMMAND ${HMMCC_CLANG} -print-resource-dir OUTPUT_VARIABLE hmmcc_resources
                    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set(HMMCC_CLANG_HEADERS ${hmmcc_resources}/include)
    set(HMMRT_HMMCC_FOUND ON)
    set(hmmcc_answer "yes, with LLVM ${LLVM_PACKAGE_VERSION}")
  elseif(HMMRT_HMMCC STREQUAL "AUTO")
    set(hmmcc_answer "no, LLVM 14 and its clang are missing (llvm-dev, libclang-dev, clang)")
  else()
    message(FATAL_ERROR "hmmcc needs LLVM 14 and its clang (llvm-dev, libclang-dev, clang)")
  endif()
endif()
message(STATUS "hmmcc: ${hmmcc_answer}")
