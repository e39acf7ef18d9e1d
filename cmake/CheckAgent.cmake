# SPDX-License-Identifier: MIT
# cmake -DREADELF=... -DAGENT=FILE -P: checks what the linker script cannot assert.
execute_process(COMMAND ${READELF} -lW ${AGENT} OUTPUT_VARIABLE headers RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "cannot read ${AGENT}")
endif()
string(REGEX MATCHALL "\n  LOAD [^\n]*" segments "${headers}")
list(LENGTH segments count)
if(NOT count EQUAL 1 OR NOT segments MATCHES " R E ")
  message(FATAL_ERROR "the agent must consist of a single read-execute segment:\n${headers}")
endif()
if(headers MATCHES "DYNAMIC|INTERP")
  message(FATAL_ERROR "the agent must not need a dynamic linker:\n${headers}")
endif()
