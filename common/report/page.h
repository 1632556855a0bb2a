// The page without its data, as CMake puts it together from common/report/page and Chart.js (page/make_page.cmake).
#pragma once

#include <string_view>

namespace weft {

// Where the data go; it stands once in the page.
inline constexpr std::string_view kReportDataMark = "WEFT-REPORT-DATA";

std::string_view ReportPage();

}  // namespace weft
