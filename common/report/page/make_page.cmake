# cmake -DPAGE=<this folder> -DSCRIPTS=a.js,b.js -DLIBRARY=chart.min.js -DLICENSE=… -DOUT=page.cc -P make_page.cmake
#
# Puts the style, the scripts, the library and its licence into report.html, and that into a C++ source: one file is what
# a user opens, and one program is what makes it.
cmake_minimum_required(VERSION 3.23)

file(READ ${PAGE}/report.html page)
file(READ ${PAGE}/report.css style)
file(READ ${LIBRARY} library)
file(READ ${LICENSE} license)
string(REPLACE "," ";" script_names "${SCRIPTS}")
set(scripts "")
foreach(name IN LISTS script_names)
  file(READ ${PAGE}/${name} script)
  string(APPEND scripts "${script}")
endforeach()

# A source map's address would be asked for by a browser's developer tools.
string(REGEX REPLACE "//# sourceMappingURL=[^\n]*" "" library "${library}")
foreach(part IN ITEMS library scripts)
  string(TOLOWER "${${part}}" lower)
  if(lower MATCHES "</script")
    message(FATAL_ERROR "the report's ${part} would end its <script> element early")
  endif()
endforeach()

foreach(part IN ITEMS style library license scripts)
  string(FIND "${page}" "{{${part}}}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "report.html has no place for {{${part}}}")
  endif()
  string(REPLACE "{{${part}}}" "${${part}}" page "${page}")
endforeach()

file(WRITE ${OUT}.html "${page}")
file(READ ${OUT}.html bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT}
"// Made by common/report/page/make_page.cmake.
#include \"common/report/page.h\"

namespace weft {
namespace {
constexpr unsigned char kPage[] = {
${bytes}};
}  // namespace

std::string_view ReportPage() { return {reinterpret_cast<const char*>(kPage), sizeof kPage}; }

}  // namespace weft
")
