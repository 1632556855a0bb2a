// Ten training steps against PyTorch's (golden.json, made by tests/tools/make_golden.py in double precision).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "agent/model/lenet.h"
#include "agent/model/mlp.h"
#include "agent/model/resnet.h"
#include "agent/model/transformer.h"
#include "tests/agent/model/model_testing.h"

namespace weft {
namespace {

constexpr float kLearningRate = 0.05F;
constexpr float kResnetLearningRate = 0.002F;  // the script tells why
constexpr int kSteps = 10;

void LocalStep(Model& model, float learning_rate) {
  for (const Layer& layer : model.layers()) {
    for (const Parameter& parameter : layer.parameters) {
      const float rate = parameter.running_statistic ? kStatisticRate : learning_rate;
      for (std::int64_t i = 0; i < parameter.count(); ++i) {
        const auto at = static_cast<std::size_t>(parameter.first + i);
        model.weights()[at] -= rate * model.gradients()[at];
      }
    }
  }
}

void ExpectTensor(std::span<const float> values, const nlohmann::json& golden, double tolerance) {
  const std::string name = golden["name"];
  const auto norm = golden["norm"].get<double>();
  const double root = std::sqrt(static_cast<double>(values.size()));
  double sum = 0;
  double squares = 0;
  for (const float v : values) {
    sum += static_cast<double>(v);
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  EXPECT_NEAR(std::sqrt(squares), norm, tolerance * norm) << name;
  EXPECT_NEAR(sum, golden["sum"].get<double>(), tolerance * norm * root) << name;
  const std::size_t stride = std::max<std::size_t>(1, values.size() / 8);
  std::size_t at = 0;
  for (const nlohmann::json& sample : golden["samples"]) {
    // Against the tensor's root mean square: single values may lie near 0.
    EXPECT_NEAR(static_cast<double>(values[at]), sample.get<double>(), 10 * tolerance * norm / root)
        << name << " at " << at;
    at += stride;
  }
}

void ExpectTenSteps(Model& model, const ModelInput& input, std::int64_t size, const std::string& name, double tolerance,
                    float learning_rate = kLearningRate) {
  std::ifstream file("tests/agent/model/golden.json");
  ASSERT_TRUE(file) << "the tests run from the repository's root";
  const nlohmann::json golden = nlohmann::json::parse(file)[name];
  model.Initialize(7);
  NullObserver observer;
  for (int step = 0; step < kSteps; ++step) {
    const OwnedBatch batch = RandomBatch(input, size, 100 + static_cast<std::uint64_t>(step));
    const BatchResult result = model.TrainStep(batch.view(), observer).value();
    const double expected = golden["losses"][static_cast<std::size_t>(step)];
    ASSERT_NEAR(result.loss_sum / static_cast<double>(result.predictions), expected, tolerance * expected)
        << "step " << step;
    LocalStep(model, learning_rate);
  }
  const BatchResult evaluation = model.Evaluate(RandomBatch(input, size, 100).view()).value();
  const double expected = golden["evaluation"];
  EXPECT_NEAR(evaluation.loss_sum / static_cast<double>(evaluation.predictions), expected, tolerance * expected);

  auto tensor = golden["tensors"].begin();
  for (const Layer& layer : model.layers()) {
    for (const Parameter& parameter : layer.parameters) {
      ASSERT_NE(tensor, golden["tensors"].end()) << parameter.name;
      EXPECT_EQ((*tensor)["name"].get<std::string>(), parameter.name);
      EXPECT_EQ((*tensor)["shape"].get<std::vector<std::int64_t>>(), parameter.shape) << parameter.name;
      ExpectTensor(model.weights().subspan(static_cast<std::size_t>(parameter.first),
                                           static_cast<std::size_t>(parameter.count())),
                   *tensor, tolerance);
      ++tensor;
    }
  }
  EXPECT_EQ(tensor, golden["tensors"].end());
}

TEST(Golden, Mlp_AfterTenSteps_EqualsPyTorch) {
  const std::unique_ptr<Model> model = MakeMlp(64, {32, 16}, 10);
  ExpectTenSteps(*model, {.dimensions = {1, 8, 8}, .classes = 10, .text = false}, 9, "mlp", 1e-5);
}

// In float32 a pool may choose the other of two values that are nearly equal.
TEST(Golden, Lenet_AfterTenSteps_EqualsPyTorch) {
  const std::unique_ptr<Model> model = MakeLenet(1, 28, 28, 10);
  EXPECT_EQ(model->weights().size(), 61706U);
  ExpectTenSteps(*model, {.dimensions = {1, 28, 28}, .classes = 10, .text = false}, 5, "lenet", 1e-4);
}

TEST(Golden, Resnet20_AfterTenSteps_EqualsPyTorch) {
  const std::unique_ptr<Model> model = MakeResnet({.channels = 3, .height = 8, .width = 8, .classes = 10});
  EXPECT_EQ(model->weights().size(), 269722U + 1376U);
  ExpectTenSteps(*model, {.dimensions = {3, 8, 8}, .classes = 10, .text = false}, 6, "resnet20", 1e-3,
                 kResnetLearningRate);
}

TEST(Golden, Transformer_AfterTenSteps_EqualsPyTorch) {
  const std::unique_ptr<Model> model = MakeTransformer({.layers = 2, .width = 16, .heads = 2, .context = 12});
  ExpectTenSteps(*model, {.dimensions = {13}, .classes = 256, .text = true}, 3, "transformer", 1e-5);
}

}  // namespace
}  // namespace weft
