// `weft validate`: tells whether a file is a TrainingJob, or everything that keeps it from being one.
#pragma once

namespace CLI {
class App;
}

namespace weft {

void AddValidateCommand(CLI::App* app, int* exit_code);

}  // namespace weft
