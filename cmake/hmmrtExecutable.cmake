# SPDX-License-Identifier: MIT
# A part of the package hmmrt: programs from CUDA source, see docs/cuda.md.
include_guard(GLOBAL)
cmake_policy(VERSION 3.20) # how DEPFILE is read

# Sets ${result} to an object file that hmmcc makes of a source, for a target.
function(hmmrt_cuda_object result target source options)
  set(path ${source})
  cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
  get_source_file_property(generated ${source} GENERATED)
  if(NOT EXISTS ${path} AND generated)
    set(path ${source})
    cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} NORMALIZE)
  elseif(NOT EXISTS ${path})
    message(FATAL_ERROR "hmm_add_executable(${target}): ${path} does not exist")
  endif()
  cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE name)
  string(REPLACE "../" "__/" name ${name})
  set(object ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.hmmcc/${name}.o)
  cmake_path(GET object PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})

  set(standard $<TARGET_PROPERTY:${target},CXX_STANDARD>)
  set(definitions $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  add_custom_command(OUTPUT ${object}
    COMMAND ${HMMRT_HMMCC} -fPIE
            "$<$<CONFIG:Debug>:-g>$<$<CONFIG:Release>:-O3;-DNDEBUG>$<$<CONFIG:RelWithDebInfo>:-O2;-g;-DNDEBUG>$<$<CONFIG:MinSizeRel>:-Os;-DNDEBUG>"
            "$<$<BOOL:${standard}>:-std=c++${standard}>"
            "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
            "-I$<JOIN:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,;-I>"
            ${options} -MD -MF ${object}.d -MT ${object} -c ${path} -o ${object}
    DEPENDS ${path} ${HMMRT_HMMCC}
    DEPFILE ${object}.d
    COMMENT "Building CUDA object of ${target}: ${name}"
    COMMAND_EXPAND_LISTS
    VERBATIM)
  set(${result} ${object} PARENT_SCOPE)
endfunction()

# hmm_add_executable(NAME SOURCE... [OPTIONS OPTION...] [LIBRARIES LIBRARY...]): add_executable(), where hmmcc compiles
# .cu and .hip files, with these options.
function(hmm_add_executable target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OPTIONS;LIBRARIES")
  if(NOT EXISTS ${HMMRT_HMMCC})
    message(FATAL_ERROR "hmm_add_executable(${target}): this hmmrt was installed without hmmcc: ${HMMRT_HMMCC} does not exist")
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT CXX IN_LIST languages)
    message(FATAL_ERROR "hmm_add_executable(${target}): the project must enable the language CXX")
  endif()
  set(sources)
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    if(source MATCHES "\\.(cu|hip)$")
      hmmrt_cuda_object(source ${target} ${source} "${arg_OPTIONS}")
    endif()
    list(APPEND sources ${source})
  endforeach()
  add_executable(${target} ${sources})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} hmmrt::cuda)
endfunction()
