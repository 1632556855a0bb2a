#include "cli/bench_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/bench_model.h"
#include "cli/bench_quantizer.h"
#include "cli/command.h"

namespace weft {

namespace {

void AddBenchModel(CLI::App* bench, int* exit_code) {
  CLI::App* model = bench->add_subcommand("model", "Time training steps on one thread, next to bare matrix products");
  const auto options = std::make_shared<BenchModelOptions>();
  model->add_option("--model", options->model, "mlp, lenet, resnet20 or transformer; all when not given");
  model->add_option("--batch", options->batch, "Samples a step; 0: 64, and 8 for the transformer")
      ->check(CLI::Range(0, 65536));
  model->add_option("--seconds", options->seconds, "How long to time each model")->check(CLI::Range(0.01, 3600.0));
  model->add_flag("--json", options->json, "Print JSON");
  model->callback([options, exit_code] { *exit_code = ReportStatus(BenchModel(*options)); });
}

void AddBenchQuantizer(CLI::App* bench, int* exit_code) {
  CLI::App* quantizer = bench->add_subcommand("quantizer", "Time the model's code on one core, next to memcpy");
  const auto options = std::make_shared<BenchQuantizerOptions>();
  quantizer->add_option("--bits", options->bits, "Widths, 2 to 16, or 0 for off; several when not given");
  quantizer->add_option("--bytes", options->bytes, "Sizes in bytes of float32; 256 KiB and 64 MiB when not given");
  quantizer->add_option("--seconds", options->seconds, "How long to time each width and size")
      ->check(CLI::Range(0.01, 3600.0));
  quantizer->add_flag("--json", options->json, "Print JSON");
  quantizer->callback([options, exit_code] { *exit_code = ReportStatus(BenchQuantizer(*options)); });
}

}  // namespace

void AddBenchCommand(CLI::App* app, int* exit_code) {
  CLI::App* bench = app->add_subcommand("bench", "Time a model's steps or the quantizer on this machine");
  bench->require_subcommand(1);
  AddBenchModel(bench, exit_code);
  AddBenchQuantizer(bench, exit_code);
}

}  // namespace weft
