# SPDX-License-Identifier: MIT
# cmake -DPAGE=FOLDER -DTO=FILE -P: writes a C++ file that has the page of hmmctl's HTML report.
set(text "// Made by cmake/EmbedPage.cmake.\n#include \"html_page.hpp\"\n\nnamespace hmmctl {\n\n")
foreach(kind html css js)
  file(READ ${PAGE}/report.${kind} content)
  string(FIND "${content}" ")page\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${PAGE}/report.${kind} has the end of the literal that it is to stand in")
  endif()
  string(APPEND text "const std::string_view page_${kind} = R\"page(${content})page\";\n")
endforeach()
string(APPEND text "\n} // namespace hmmctl\n")
file(WRITE ${TO} "${text}")
