// `weft testbed`: networks to try things on, of network namespaces on this machine (docs/testbed.md).
#pragma once

namespace CLI {
class App;
}

namespace weft {

void AddTestbedCommand(CLI::App* app, int* exit_code);

}  // namespace weft
