// weft top RUN | --coordinator ADDR: a run that goes on, full-screen in the terminal.
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace weft {

// See command.h.
void AddTopCommand(CLI::App* app, int* exit_code);

}  // namespace weft
