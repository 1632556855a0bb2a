// `weft topology`: what an overlay graph is like, before a job is run on it.
#pragma once

namespace CLI {
class App;
}

namespace weft {

void AddTopologyCommand(CLI::App* app, int* exit_code);

}  // namespace weft
