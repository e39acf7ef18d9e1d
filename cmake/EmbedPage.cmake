# SPDX-License-Identifier: MIT
# cmake -DPAGE=FOLDER -DTO=FILE -P: writes a C++ file that has the page of hmmctl's HTML report.
set(text "// Made by cmake/EmbedPage.cmake.\n#include \"html_report.hpp\"\n\nnamespace hmmctl {\n\n")
foreach(kind html css js)
  file(READ ${PAGE}/report.${kind} content)
  string(FIND "${content}" ")page\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${PAGE}/report.${kind} contains the delimiter of the raw string literal that it is embedded in")
  endif()
  string(APPEND text "const std::string_view page_${kind} = R\"page(${content})page\";\n")
endforeach()
string(APPEND text "\n} // namespace hmmctl\n")
file(WRITE ${TO} "${text}")
