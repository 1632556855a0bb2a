#include "cli/bench_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/bench_model.h"
#include "cli/command.h"

namespace weft {

void AddBenchCommand(CLI::App* app, int* exit_code) {
  CLI::App* bench = app->add_subcommand("bench", "Time a part of Weft on this machine");
  bench->require_subcommand(1);
  CLI::App* model = bench->add_subcommand("model", "Time training steps on one thread, next to bare matrix products");
  const auto options = std::make_shared<BenchModelOptions>();
  model->add_option("--model", options->model, "mlp, lenet, resnet20 or transformer; all when not given");
  model->add_option("--batch", options->batch, "Samples a step; 0: 64, and 8 for the transformer")
      ->check(CLI::Range(0, 65536));
  model->add_option("--seconds", options->seconds, "How long to time each model")->check(CLI::Range(0.01, 3600.0));
  model->add_flag("--json", options->json, "Print JSON");
  model->callback([options, exit_code] { *exit_code = ReportStatus(BenchModel(*options)); });
}

}  // namespace weft
