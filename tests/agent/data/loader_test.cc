#include "agent/data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "agent/data/shuffle.h"

namespace weft {
namespace {

// `size` samples; sample i has label i mod `classes`, none with 0 classes.
class NumberedSamples : public Dataset {
 public:
  NumberedSamples(std::int64_t size, int classes) : size_(size) {
    shape_.dimensions = {1};
    shape_.classes = classes;
    for (std::int64_t i = 0; i < size && classes > 0; ++i) labels_.push_back(static_cast<std::uint8_t>(i % classes));
  }
  const SampleShape& shape() const override { return shape_; }
  std::int64_t size(Split split) const override { return split == Split::kTrain ? size_ : 0; }
  std::span<const std::uint8_t> labels(Split) const override { return labels_; }
  void Gather(Split, std::span<const std::int64_t> indices, Samples& out) const override {
    out.size = std::ssize(indices);
    out.inputs.assign(indices.begin(), indices.end());
  }

 private:
  const std::int64_t size_;
  SampleShape shape_;
  std::vector<std::uint8_t> labels_;
};

Loader Make(const Dataset& data, const LoaderOptions& options) {
  auto loader = Loader::Create(data, options);
  EXPECT_TRUE(loader.ok()) << loader.status();
  return std::move(loader).value();
}

std::vector<std::int64_t> Copy(std::span<const std::int64_t> indices) { return {indices.begin(), indices.end()}; }

// All that one epoch of all workers uses, worker by worker and iteration by iteration.
std::vector<std::int64_t> UsedInEpoch(const Dataset& data, LoaderOptions options, std::int64_t epoch) {
  std::vector<std::int64_t> used;
  for (options.worker = 0; options.worker < options.workers; ++options.worker) {
    Loader loader = Make(data, options);
    for (std::int64_t i = 1; i <= loader.iterations_per_epoch(); ++i) {
      const auto batch = loader.Indices(epoch * loader.iterations_per_epoch() + i);
      EXPECT_LE(std::ssize(batch), options.batch_per_worker);
      used.insert(used.end(), batch.begin(), batch.end());
    }
  }
  return used;
}

TEST(LoaderTest, Epoch_AnyWorkersBatchAndPartition_UsesEverySampleOnce) {
  for (const std::int64_t size : {1, 2, 7, 64, 100, 1001}) {
    const NumberedSamples data(size, 10);
    std::vector<std::int64_t> all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    for (const int workers : {1, 2, 3, 5, 8}) {
      for (const std::int64_t batch : {1, 3, 64}) {
        for (const PartitionType partition : {PartitionType::kIID, PartitionType::kLabelSkew}) {
          for (const std::int64_t epoch : {0, 3}) {
            auto used = UsedInEpoch(
                data, {.seed = 5, .batch_per_worker = batch, .workers = workers, .worker = 0, .partition = partition},
                epoch);
            std::sort(used.begin(), used.end());
            ASSERT_EQ(used, all) << size << " samples, " << workers << " workers, batch " << batch;
          }
        }
      }
    }
  }
}

TEST(LoaderTest, LastIteration_SplitsWhatIsLeftAsEvenlyAsPossible) {
  for (const std::int64_t size : {1, 7, 100, 1001}) {
    const NumberedSamples data(size, 10);
    for (const PartitionType partition : {PartitionType::kIID, PartitionType::kLabelSkew}) {
      std::set<std::int64_t> sizes;
      for (int worker = 0; worker < 3; ++worker) {
        Loader loader =
            Make(data, {.seed = 1, .batch_per_worker = 8, .workers = 3, .worker = worker, .partition = partition});
        EXPECT_EQ(loader.iterations_per_epoch(), (size + 23) / 24);
        sizes.insert(std::ssize(loader.Indices(loader.iterations_per_epoch())));
      }
      EXPECT_LE(*sizes.rbegin() - *sizes.begin(), 1);
    }
  }
}

TEST(LoaderTest, GlobalBatches_AnyNumberOfWorkersOfOneGlobalSize_AreTheSame) {
  const NumberedSamples data(1000, 0);
  const auto global_batch = [&data](int workers, std::int64_t iteration) {
    std::vector<std::int64_t> joined;
    for (int worker = 0; worker < workers; ++worker) {
      Loader loader = Make(data, {.seed = 9, .batch_per_worker = 60 / workers, .workers = workers, .worker = worker});
      const auto part = loader.Indices(iteration);
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  };
  for (const std::int64_t iteration : {1, 2, 17, 18, 40}) {
    const auto alone = global_batch(1, iteration);
    for (const int workers : {2, 3, 5}) EXPECT_EQ(global_batch(workers, iteration), alone);
  }
}

TEST(LoaderTest, Indices_InAnyOrderOfIterations_AreThoseOfTheOrderlyRun) {
  const NumberedSamples data(100, 10);
  const LoaderOptions options{.seed = 2, .batch_per_worker = 7, .workers = 2, .worker = 1};
  Loader orderly = Make(data, options);
  std::vector<std::vector<std::int64_t>> batches;
  for (std::int64_t i = 1; i <= 40; ++i) batches.push_back(Copy(orderly.Indices(i)));
  Loader resumed = Make(data, options);
  for (const std::size_t i : {33u, 12u, 40u, 1u, 8u, 9u}) {
    EXPECT_EQ(Copy(resumed.Indices(static_cast<std::int64_t>(i))), batches[i - 1]);
  }
}

TEST(LoaderTest, Order_OtherSeedOrEpoch_IsAnother) {
  const NumberedSamples data(100, 10);
  const auto order = [&data](std::uint64_t seed, std::int64_t epoch) {
    return UsedInEpoch(data, {.seed = seed, .batch_per_worker = 10, .workers = 1, .worker = 0}, epoch);
  };
  EXPECT_EQ(order(1, 0), order(1, 0));
  EXPECT_NE(order(1, 0), order(1, 1));
  EXPECT_NE(order(1, 0), order(2, 0));
  EXPECT_NE(order(1, 1), order(2, 0));
}

TEST(LoaderTest, LabelSkew_GivesEachWorkerItsOwnLabels) {
  const NumberedSamples data(1000, 10);
  for (int worker = 0; worker < 5; ++worker) {
    Loader loader = Make(
        data,
        {.seed = 1, .batch_per_worker = 10, .workers = 5, .worker = worker, .partition = PartitionType::kLabelSkew});
    for (std::int64_t i = 1; i <= 40; ++i) {
      for (const std::int64_t index : loader.Indices(i)) EXPECT_EQ(index % 10 / 2, worker);
    }
  }
}

TEST(LoaderTest, Load_GathersTheIndices) {
  const NumberedSamples data(50, 0);
  Loader loader = Make(data, {.seed = 1, .batch_per_worker = 8, .workers = 1, .worker = 0});
  Samples samples;
  loader.Load(3, samples);
  const auto indices = Copy(loader.Indices(3));
  EXPECT_EQ(samples.size, 8);
  EXPECT_EQ(samples.inputs, std::vector<float>(indices.begin(), indices.end()));
}

TEST(LoaderTest, Create_WhatCannotWork_IsRefused) {
  const NumberedSamples data(10, 0), empty(0, 10);
  EXPECT_EQ(Loader::Create(empty, {}).status(), InvalidArgumentError("the training split has no samples"));
  EXPECT_EQ(Loader::Create(data, {.batch_per_worker = 0}).status(),
            InvalidArgumentError("training.batchSizePerWorker: 0 is below 1"));
  EXPECT_EQ(Loader::Create(data, {.workers = 0}).status(), InvalidArgumentError("worker.replicas: 0 is below 1"));
  EXPECT_EQ(Loader::Create(data, {.workers = 2, .worker = 2}).status(),
            InvalidArgumentError("worker 2 is not one of 2"));
  EXPECT_EQ(Loader::Create(data, {.partition = PartitionType::kLabelSkew}).status(),
            InvalidArgumentError("data.partition.type: LabelSkew needs samples with labels"));
}

TEST(ShuffleTest, KnownSeed_GivesTheSameOrderOnEveryMachine) {
  std::vector<std::int64_t> values{0, 1, 2, 3, 4, 5, 6, 7};
  Shuffle(1, 0, values);
  EXPECT_EQ(values, (std::vector<std::int64_t>{0, 7, 4, 3, 1, 6, 5, 2}));
}

// Each of 24 orders of 4 values turns up about 1000 times in 24000: chi-square with 23 degrees of freedom, of which
// 99.99 % are below 58.
TEST(ShuffleTest, ManyStreams_GiveEveryOrderEquallyOften) {
  std::map<std::vector<std::int64_t>, int> seen;
  for (std::uint64_t stream = 0; stream < 24000; ++stream) {
    std::vector<std::int64_t> values{0, 1, 2, 3};
    Shuffle(42, stream, values);
    ++seen[values];
  }
  ASSERT_EQ(seen.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : seen) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 58);
}

}  // namespace
}  // namespace weft
