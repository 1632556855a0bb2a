// What holds for every model that computes: gradients against finite differences, the order of events, odd batches,
// refused batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "agent/model/random.h"
#include "tests/agent/model/model_testing.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class EveryModel : public ::testing::TestWithParam<TinyModel> {
 protected:
  EveryModel() { model_->Initialize(7); }

  std::vector<float> Gradients() const { return {model_->gradients().begin(), model_->gradients().end()}; }
  double MeanLoss(const Batch& batch) {
    const BatchResult result = model_->TrainStep(batch, observer_).value();
    return result.loss_sum / static_cast<double>(result.predictions);
  }

  const TinyModel tiny_ = GetParam();
  std::unique_ptr<Model> model_ = tiny_.make();
  NullObserver observer_;
};

TEST_P(EveryModel, Layers_InForwardOrder_CoverTheFlatVectorOnce) {
  std::int64_t next = 0;
  for (const Layer& layer : model_->layers()) {
    EXPECT_EQ(layer.first, next) << layer.name;
    for (const Parameter& parameter : layer.parameters) {
      EXPECT_EQ(parameter.first, next) << parameter.name;
      next += parameter.count();
    }
    EXPECT_EQ(layer.first + layer.count, next) << layer.name;
  }
  EXPECT_EQ(static_cast<std::size_t>(next), model_->weights().size());
  EXPECT_EQ(static_cast<std::size_t>(next), model_->gradients().size());
}

// Per parameter tensor, along random directions v of -1 and 1: g.v against (L(w + hv) - L(w - hv)) / 2h. The best of
// several h counts: a long one may cross the kinks of ReLUs and pools, a short one drowns in float32's rounding.
TEST_P(EveryModel, Gradient_AgainstFiniteDifferences_Agrees) {
  const OwnedBatch owned = RandomBatch(tiny_.input, 3, 11);
  const Batch batch = owned.view();
  MeanLoss(batch);
  const std::vector<float> gradients = Gradients();
  const std::span<float> weights = model_->weights();
  const std::vector<float> start(weights.begin(), weights.end());
  std::uint64_t stream = 0;
  for (const Layer& layer : model_->layers()) {
    for (const Parameter& parameter : layer.parameters) {
      if (parameter.running_statistic) continue;
      for (int repeat = 0; repeat < 3; ++repeat) {
        const CounterRandom random(3, stream++);
        const auto first = static_cast<std::size_t>(parameter.first);
        const auto count = static_cast<std::size_t>(parameter.count());
        double expected = 0;
        double norm = 0;
        const auto loss_at = [&](float step) {
          for (std::size_t i = 0; i < count; ++i) {
            weights[first + i] = start[first + i] + (random.UniformSigned(i) < 0 ? -step : step);
          }
          return MeanLoss(batch);
        };
        for (std::size_t i = 0; i < count; ++i) {
          const double g = gradients[first + i];
          expected += random.UniformSigned(i) < 0 ? -g : g;
          norm += g * g;
        }
        double measured = 0;
        double error = std::numeric_limits<double>::infinity();
        for (const float length : {8e-3F, 2e-3F, 5e-4F}) {
          const float h = length / std::sqrt(static_cast<float>(count));
          const double slope = (loss_at(h) - loss_at(-h)) / (2.0 * static_cast<double>(h));
          if (std::abs(slope - expected) > error) continue;
          error = std::abs(slope - expected);
          measured = slope;
        }
        std::copy_n(start.begin() + parameter.first, count, weights.begin() + parameter.first);
        EXPECT_NEAR(measured, expected, 0.01 * std::sqrt(norm) + 1e-4 * std::sqrt(static_cast<double>(count)))
            << parameter.name;
      }
    }
  }
}

// Records the events, and at GradientReady keeps the layer's gradient and spoils its weights: who announces a gradient
// too early, or reads weights after it, is found out.
class SpoilingObserver : public LayerObserver {
 public:
  explicit SpoilingObserver(Model& model) : model_(model), kept_(model.gradients().size(), -1.0F) {}
  Status BeforeForward(int layer) override { return Record('f', layer); }
  Status AfterForward(int layer) override { return Record('F', layer); }
  Status BeforeBackward(int layer) override { return Record('b', layer); }
  Status GradientReady(int layer) override {
    const Layer& l = model_.layers()[static_cast<std::size_t>(layer)];
    std::copy_n(model_.gradients().begin() + l.first, l.count, kept_.begin() + l.first);
    std::fill_n(model_.weights().begin() + l.first, l.count, std::numeric_limits<float>::quiet_NaN());
    return Record('B', layer);
  }

  const std::vector<std::pair<char, int>>& events() const { return events_; }
  const std::vector<float>& kept() const { return kept_; }

 private:
  Status Record(char event, int layer) {
    events_.emplace_back(event, layer);
    return OkStatus();
  }
  Model& model_;
  std::vector<std::pair<char, int>> events_;
  std::vector<float> kept_;
};

std::vector<std::pair<char, int>> ExpectedEvents(int layers) {
  std::vector<std::pair<char, int>> events;
  for (int i = 0; i < layers; ++i) events.insert(events.end(), {{'f', i}, {'F', i}});
  for (int i = layers - 1; i >= 0; --i) events.insert(events.end(), {{'b', i}, {'B', i}});
  return events;
}

TEST_P(EveryModel, Observer_InAStep_SeesEachLayerOnceInOrder) {
  const OwnedBatch owned = RandomBatch(tiny_.input, 2, 11);
  SpoilingObserver observer(*model_);
  ASSERT_TRUE(model_->TrainStep(owned.view(), observer).ok());
  EXPECT_EQ(observer.events(), ExpectedEvents(static_cast<int>(model_->layers().size())));
}

TEST_P(EveryModel, GradientReady_WhenAnnounced_IsFinalAndItsWeightsUnused) {
  const OwnedBatch owned = RandomBatch(tiny_.input, 2, 11);
  ASSERT_TRUE(model_->TrainStep(owned.view(), observer_).ok());
  const std::vector<float> undisturbed = Gradients();
  SpoilingObserver observer(*model_);
  ASSERT_TRUE(model_->TrainStep(owned.view(), observer).ok());
  EXPECT_EQ(observer.kept(), undisturbed);
  EXPECT_EQ(Gradients(), undisturbed);
}

TEST_P(EveryModel, TrainStep_WithEmptyBatch_GivesZeroGradientsAndAllEvents) {
  const OwnedBatch full = RandomBatch(tiny_.input, 2, 11);
  ASSERT_TRUE(model_->TrainStep(full.view(), observer_).ok());
  SpoilingObserver observer(*model_);
  const Result<BatchResult> result = model_->TrainStep(Batch{}, observer);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->predictions, 0);
  EXPECT_EQ(result->loss_sum, 0);
  EXPECT_EQ(Gradients(), std::vector<float>(model_->gradients().size(), 0.0F));
  EXPECT_EQ(observer.events(), ExpectedEvents(static_cast<int>(model_->layers().size())));
  EXPECT_EQ(model_->Evaluate(Batch{})->predictions, 0);
}

TEST_P(EveryModel, TrainStep_AfterALargerBatch_GivesTheSameBits) {
  for (const std::int64_t size : {1, 5}) {
    const OwnedBatch small = RandomBatch(tiny_.input, size, 12);
    const double before = MeanLoss(small.view());
    const std::vector<float> expected = Gradients();
    MeanLoss(RandomBatch(tiny_.input, 9, 13).view());
    EXPECT_EQ(MeanLoss(small.view()), before);
    EXPECT_EQ(Gradients(), expected);
  }
}

TEST_P(EveryModel, Evaluate_InSlices_EqualsTheSumOfSingles) {
  const std::int64_t size = 67;
  const OwnedBatch owned = RandomBatch(tiny_.input, size, 14);
  const BatchResult all = model_->Evaluate(owned.view()).value();
  BatchResult sum;
  for (std::int64_t i = 0; i < size; ++i) {
    OwnedBatch one;
    one.size = 1;
    const auto slice = [&](const auto& from, auto& to) {
      const auto each = static_cast<std::int64_t>(from.size()) / size;
      to.assign(from.begin() + i * each, from.begin() + (i + 1) * each);
    };
    slice(owned.inputs, one.inputs);
    slice(owned.labels, one.labels);
    slice(owned.tokens, one.tokens);
    const BatchResult part = model_->Evaluate(one.view()).value();
    sum.loss_sum += part.loss_sum;
    sum.predictions += part.predictions;
    sum.correct += part.correct;
  }
  EXPECT_NEAR(all.loss_sum, sum.loss_sum, 1e-4 * sum.loss_sum);
  EXPECT_EQ(all.predictions, sum.predictions);
  EXPECT_EQ(all.correct, sum.correct);
}

TEST_P(EveryModel, Initialize_WithOneSeed_GivesTheSameBitsAndWithAnotherOthers) {
  const std::unique_ptr<Model> other = tiny_.make();
  other->Initialize(7);
  EXPECT_TRUE(std::ranges::equal(model_->weights(), other->weights()));
  other->Initialize(8);
  EXPECT_FALSE(std::ranges::equal(model_->weights(), other->weights()));
}

TEST_P(EveryModel, TrainStep_WithAWrongSampleSize_IsRefused) {
  OwnedBatch owned = RandomBatch(tiny_.input, 2, 11);
  if (tiny_.input.text) {
    owned.tokens.pop_back();
  } else {
    owned.inputs.pop_back();
  }
  const Status status = model_->TrainStep(owned.view(), observer_).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("are not 2 samples of"));
  EXPECT_EQ(model_->Evaluate(owned.view()).status().code(), StatusCode::kInvalidArgument);
}

// Text has no labels, and every byte is a class.
class EveryImageModel : public EveryModel {};

TEST_P(EveryImageModel, TrainStep_WithALabelOutOfRange_NamesSampleAndRange) {
  for (const std::int32_t label : {-1, tiny_.input.classes}) {
    OwnedBatch owned = RandomBatch(tiny_.input, 2, 11);
    owned.labels[1] = label;
    const Status status = model_->TrainStep(owned.view(), observer_).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("label " + std::to_string(label) + " of sample 1"));
  }
}

TEST_P(EveryImageModel, TrainStep_WithAMissingLabel_IsRefused) {
  OwnedBatch owned = RandomBatch(tiny_.input, 2, 11);
  owned.labels.pop_back();
  EXPECT_EQ(model_->TrainStep(owned.view(), observer_).status().code(), StatusCode::kInvalidArgument);
}

class FailingObserver : public NullObserver {
 public:
  Status GradientReady(int /*layer*/) override { return UnavailableError("rank 3 is gone"); }
};

TEST_P(EveryModel, TrainStep_WhenTheObserverFails_EndsWithItsError) {
  FailingObserver observer;
  const OwnedBatch owned = RandomBatch(tiny_.input, 2, 11);
  EXPECT_EQ(model_->TrainStep(owned.view(), observer).status(), UnavailableError("rank 3 is gone"));
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, ::testing::ValuesIn(TinyModels()),
                         [](const auto& param_info) { return param_info.param.name; });

INSTANTIATE_TEST_SUITE_P(Models, EveryImageModel, ::testing::ValuesIn(TinyImageModels()),
                         [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace weft
