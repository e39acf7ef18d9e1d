# SPDX-License-Identifier: MIT
add_executable(hmmrt-idle tools/hmmrt-idle.cpp)
target_include_directories(hmmrt-idle PRIVATE include/uapi)
set_target_properties(hmmrt-idle PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tools)
hmmrt_strict(hmmrt-idle)
