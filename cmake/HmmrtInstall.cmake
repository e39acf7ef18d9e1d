# SPDX-License-Identifier: MIT
# Installs headers, both libraries, the CMake package, the pkg-config file and manual pages, as the component `library`;
# tools/hmmctl installs itself, as the component `tools`, and tools/hmmcc as the component `hmmcc`. stage/ of the build
# folder has a copy of all. The examples use the library there and do not wait for the tools.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)

install(TARGETS hmmrt-shared hmmrt-static hmmcuda hmmcuda-shared EXPORT hmmrtTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Strips debug information only: reports of failures need the symbol table to name functions.
if(HMMRT_STRIP)
  install(CODE "
    foreach(file $<TARGET_FILE_NAME:hmmrt-shared> $<TARGET_FILE_NAME:hmmrt-static> $<TARGET_FILE_NAME:hmmcuda>
        $<TARGET_FILE_NAME:hmmcuda-shared>)
      execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug
        \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/\${file}\"
        RESULT_VARIABLE failed)
      if(failed)
        message(FATAL_ERROR \"cannot strip the debug information of \${file}\")
      endif()
    endforeach()")
endif()
install(DIRECTORY include/hmm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/cuda DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hmmrt)
install(FILES include/uapi/linux/hmmrt.h include/uapi/linux/hmmrt_event.h include/uapi/linux/hmmrt_knob.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/linux)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hmmrt)
install(EXPORT hmmrtTargets NAMESPACE hmmrt:: DESTINATION ${package_dir})
configure_package_config_file(cmake/hmmrtConfig.cmake.in ${CMAKE_BINARY_DIR}/hmmrtConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/hmmrtConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/hmmrtConfig.cmake ${CMAKE_BINARY_DIR}/hmmrtConfigVersion.cmake cmake/hmmrtExecutable.cmake
  DESTINATION ${package_dir})
file(RELATIVE_PATH pc_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/hmmrt.pc.in ${CMAKE_BINARY_DIR}/hmmrt.pc @ONLY)
configure_file(cmake/hmmrt-cuda.pc.in ${CMAKE_BINARY_DIR}/hmmrt-cuda.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/hmmrt.pc ${CMAKE_BINARY_DIR}/hmmrt-cuda.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET hmmcc)
  file(RELATIVE_PATH package_to_program /prefix/${package_dir} /prefix/${CMAKE_INSTALL_BINDIR}/hmmcc)
  file(RELATIVE_PATH package_to_libraries /prefix/${package_dir} /prefix/${CMAKE_INSTALL_LIBDIR})
  configure_file(cmake/hmmccToolchain.cmake.in ${CMAKE_BINARY_DIR}/hmmccToolchain.cmake @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/hmmccToolchain.cmake DESTINATION ${package_dir} COMPONENT hmmcc)
  install(FILES cmake/modules/FindCUDAToolkit.cmake DESTINATION ${package_dir}/modules COMPONENT hmmcc)
endif()

# Manual pages of the functions, of the library and of the device nodes.
if(HMMRT_PERL)
  set(pages ${CMAKE_BINARY_DIR}/man)
  file(GLOB page_sources CONFIGURE_DEPENDS include/hmm/*.h)
  add_custom_command(OUTPUT ${pages}/.stamp
    COMMAND ${HMMRT_PERL} ${PROJECT_SOURCE_DIR}/tools/man/write-pages ${PROJECT_VERSION} ${pages}
    COMMAND ${CMAKE_COMMAND} -E touch ${pages}/.stamp
    DEPENDS tools/man/write-pages tools/man/hmmrt.4.in docs/api.md docs/quickstart.md ${page_sources}
    COMMENT "Writing the manual pages"
    VERBATIM)
  add_custom_target(hmmrt-manual ALL DEPENDS ${pages}/.stamp)
  if(TARGET hmmcc-tests)
    add_dependencies(hmmcc-tests hmmrt-manual)
  endif()
  install(DIRECTORY ${pages}/man3 ${pages}/man4 ${pages}/man7 DESTINATION ${CMAKE_INSTALL_MANDIR})
else()
  message(STATUS "manual pages of the library: not built, because perl is missing")
endif()

set(HMMRT_STAGE ${CMAKE_BINARY_DIR}/stage)
# hmmrt_stage(COMPONENT DEPENDENCY...): the target hmmrt-stage-COMPONENT installs it into stage/.
function(hmmrt_stage component)
  set(stamp ${HMMRT_STAGE}/.${component})
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR} --prefix ${HMMRT_STAGE} --component ${component}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${ARGN}
    COMMENT "Installing the ${component} into stage/"
    VERBATIM)
  add_custom_target(hmmrt-stage-${component} ALL DEPENDS ${stamp})
endfunction()

file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS include/hmm/* include/cuda/* include/uapi/linux/hmmrt.h
     include/uapi/linux/hmmrt_event.h include/uapi/linux/hmmrt_knob.h)
set(library hmmrt-shared hmmrt-static hmmcuda hmmcuda-shared)
if(TARGET hmmrt-manual)
  list(APPEND library hmmrt-manual)
endif()
hmmrt_stage(library ${library} ${public_headers} cmake/hmmrtExecutable.cmake)
if(TARGET hmmctl)
  hmmrt_stage(tools hmmctl hmmctl-bench hmmctl-replay hmmctl-manual hmmrt-allocations tools/hmmctl/hmmctl.schema.json)
endif()
if(TARGET hmmcc)
  if(TARGET hmmcc-tests)
    add_dependencies(hmmcc-tests hmmcc-manual)
  endif()
  hmmrt_stage(hmmcc hmmcc hmmcc-plugin hmmcc-manual cmake/hmmccToolchain.cmake.in cmake/modules/FindCUDAToolkit.cmake)
endif()
