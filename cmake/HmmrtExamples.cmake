# SPDX-License-Identifier: MIT
# The examples are a separate project. They are built against the installed
# package, as users build them.
include(ExternalProject)

ExternalProject_Add(hmmrt-examples
  SOURCE_DIR ${CMAKE_CURRENT_SOURCE_DIR}/examples
  BINARY_DIR ${CMAKE_BINARY_DIR}/examples
  CMAKE_ARGS -DCMAKE_PREFIX_PATH=${HMMRT_STAGE} -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}
             -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_CXX_STANDARD=${CMAKE_CXX_STANDARD}
  DEPENDS hmmrt-stage-library
  INSTALL_COMMAND ""
  BUILD_ALWAYS ON)
