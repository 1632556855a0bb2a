// `weft simulate`: what every strategy with a parameter server would do on a timeline, side by side.
#pragma once

namespace CLI {
class App;
}

namespace weft {

void AddSimulateCommand(CLI::App* app, int* exit_code);

}  // namespace weft
