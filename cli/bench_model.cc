#include "cli/bench_model.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "agent/model/make_model.h"
#include "agent/model/products.h"
#include "common/clock.h"

namespace weft {
namespace {

struct Bench {
  std::string name;
  ModelSpec spec;
  ModelInput input;
  int batch = 64;
  std::vector<std::int64_t> outputs;  // of each convolution: rows times columns
};

std::vector<Bench> Benches() {
  const ModelInput grey{.dimensions = {1, 28, 28}, .classes = 10, .text = false};
  const ModelInput colour{.dimensions = {3, 32, 32}, .classes = 10, .text = false};
  std::vector<Bench> benches(4);
  benches[0] = {.name = "mlp", .spec = {}, .input = grey, .outputs = {}};
  benches[0].spec.name = ModelType::kMlp;
  benches[1] = {.name = "lenet", .spec = {}, .input = grey, .outputs = {28 * 28, 10 * 10}};
  benches[1].spec.name = ModelType::kLenet;
  benches[2] = {.name = "resnet20", .spec = {}, .input = colour, .outputs = {}};
  benches[2].spec.name = ModelType::kResnet20;
  // One convolution before the first stage, six in each.
  benches[2].outputs.assign(7, 32 * 32);
  benches[2].outputs.insert(benches[2].outputs.end(), 6, 16 * 16);
  benches[2].outputs.insert(benches[2].outputs.end(), 6, 8 * 8);
  benches[3] = {.name = "transformer", .spec = {}, .input = {}, .batch = 8, .outputs = {}};
  benches[3].spec.name = ModelType::kTransformer;
  benches[3].input = {.dimensions = {benches[3].spec.transformer_context + 1}, .classes = 256, .text = true};
  return benches;
}

class NullObserver : public LayerObserver {
 public:
  Status BeforeForward(int) override { return OkStatus(); }
  Status AfterForward(int) override { return OkStatus(); }
  Status BeforeBackward(int) override { return OkStatus(); }
  Status GradientReady(int) override { return OkStatus(); }
};

struct Figures {
  std::string name;
  int batch = 0;
  std::string unit;
  double per_second = 0;
  double step_seconds = 0;
  double product_seconds = 0;
  double share = 0;
  double flops = 0;  // of the products
};

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Result<Figures> Measure(const Bench& bench, int batch_size, double seconds) {
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, MakeModel(bench.spec, bench.input));
  model->Initialize(1);
  std::int64_t sample = 1;
  for (const std::int64_t d : bench.input.dimensions) sample *= d;
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  std::vector<std::uint8_t> tokens;
  for (std::int64_t i = 0; i < batch_size * sample; ++i) {
    const std::int64_t value = i * 40503 % 65521 % 256;
    if (bench.input.text) {
      tokens.push_back(static_cast<std::uint8_t>(value));
    } else {
      inputs.push_back(static_cast<float>(value) / 128.0F - 1.0F);
    }
  }
  if (!bench.input.text) {
    for (int i = 0; i < batch_size; ++i) labels.push_back(i % bench.input.classes);
  }
  const Batch batch{.size = batch_size, .inputs = inputs, .labels = labels, .tokens = tokens};

  const std::int64_t predictions = bench.input.text ? batch_size * (sample - 1) : batch_size;
  std::vector<Product> products = WeightProducts(model->layers(), batch_size, predictions, bench.outputs);
  if (bench.spec.name == ModelType::kTransformer) {
    const std::vector<Product> attention = AttentionProducts(
        sample - 1, bench.spec.transformer_width / bench.spec.transformer_heads,
        static_cast<std::int64_t>(batch_size) * bench.spec.transformer_heads * bench.spec.transformer_layers);
    products.insert(products.end(), attention.begin(), attention.end());
  }
  ProductRunner runner(std::move(products));

  Clock& clock = Clock::Steady();
  NullObserver observer;
  std::vector<double> steps;
  std::vector<double> bare;
  const TimePoint end = clock.Now() + FromSeconds(seconds);
  for (int round = 0; round < 4 || clock.Now() < end; ++round) {
    const TimePoint start = clock.Now();
    WEFT_RETURN_IF_ERROR(model->TrainStep(batch, observer).status());
    const TimePoint middle = clock.Now();
    runner.Run();
    const TimePoint stop = clock.Now();
    if (round == 0) continue;  // memory is touched for the first time
    steps.push_back(ToSeconds(middle - start));
    bare.push_back(ToSeconds(stop - middle));
  }
  Figures figures;
  figures.name = bench.name;
  figures.batch = batch_size;
  figures.unit = bench.input.text ? "tokens" : "images";
  figures.step_seconds = Median(steps);
  figures.product_seconds = Median(bare);
  figures.per_second = static_cast<double>(predictions) / figures.step_seconds;
  figures.share = figures.product_seconds / figures.step_seconds;
  figures.flops = runner.flops();
  return figures;
}

void Print(const std::vector<Figures>& all, bool json) {
  if (!json) {
    std::printf("%-12s %6s %12s %10s %10s %14s %10s\n", "model", "batch", "per second", "", "step ms", "products ms",
                "share");
    for (const Figures& f : all) {
      std::printf("%-12s %6d %12.0f %10s %10.2f %14.2f %10.2f\n", f.name.c_str(), f.batch, f.per_second, f.unit.c_str(),
                  f.step_seconds * 1e3, f.product_seconds * 1e3, f.share);
    }
    return;
  }
  nlohmann::json out;
  out["models"] = nlohmann::json::array();
  for (const Figures& f : all) {
    out["models"].push_back({{"name", f.name},
                             {"batch", f.batch},
                             {"unit", f.unit},
                             {"per_second", f.per_second},
                             {"step_seconds", f.step_seconds},
                             {"product_seconds", f.product_seconds},
                             {"product_flops", f.flops},
                             {"share", f.share}});
  }
  std::printf("%s\n", out.dump().c_str());
}

}  // namespace

Status BenchModel(const BenchModelOptions& options) {
  std::vector<Figures> all;
  for (const Bench& bench : Benches()) {
    if (!options.model.empty() && options.model != bench.name) continue;
    WEFT_ASSIGN_OR_RETURN(Figures figures,
                          Measure(bench, options.batch > 0 ? options.batch : bench.batch, options.seconds));
    all.push_back(std::move(figures));
  }
  if (all.empty()) {
    return InvalidArgumentError("--model: " + options.model + " is none of mlp, lenet, resnet20 and transformer");
  }
  Print(all, options.json);
  return OkStatus();
}

}  // namespace weft
