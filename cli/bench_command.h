// `weft bench`: how fast parts of Weft are on this machine. `weft bench model` times training steps on one thread.
#pragma once

namespace CLI {
class App;
}

namespace weft {

void AddBenchCommand(CLI::App* app, int* exit_code);

}  // namespace weft
