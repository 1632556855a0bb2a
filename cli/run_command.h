// `weft run`: trains one job on this machine, and shows how it goes.
#pragma once

namespace CLI {
class App;
}

namespace weft {

// Both outlive the parsing. `*exit_code`: 0, 1 when the run failed, 2 for bad input, 130 after Ctrl-C.
void AddRunCommand(CLI::App* app, int* exit_code);

}  // namespace weft
