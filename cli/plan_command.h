// `weft plan`: the plan for a timeline, as a table or as JSON.
#pragma once

namespace CLI {
class App;
}

namespace weft {

void AddPlanCommand(CLI::App* app, int* exit_code);

}  // namespace weft
