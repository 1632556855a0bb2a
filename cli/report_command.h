// `weft report`: makes report.html of a run directory, or one page that compares several.
#pragma once

namespace CLI {
class App;
}

namespace weft {

void AddReportCommand(CLI::App* app, int* exit_code);

}  // namespace weft
