#include "common/math/sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/check.h"
#include "common/math/counter_hash.h"

namespace weft {
namespace {

constexpr std::size_t kBuckets = kSketchBuckets;

// What hashes one block of kBuckets coordinates.
struct BlockKey {
  std::size_t shift = 0;  // h(i) = (i + shift) mod kBuckets
  std::uint32_t in = 0;   // of the signs
  std::uint32_t out = 0;
};

BlockKey KeyOf(std::uint64_t seed, std::size_t block) {
  const std::uint64_t first = CounterHash(seed, block, 0);
  return {.shift = CounterHash(seed, block, 1) % kBuckets,
          .in = static_cast<std::uint32_t>(first),
          .out = static_cast<std::uint32_t>(first >> 32)};
}

// Every coordinate of a block has a sign of its own: the top bit of a keyed hash of its place, in 32-bit arithmetic,
// which vectorizes.
inline float Signed(float value, std::uint32_t place, const BlockKey& key) {
  std::uint32_t h = (place ^ key.in) * 0x7feb352dU;
  h = ((h ^ (h >> 15)) + key.out) * 0x846ca68bU;
  h = (h ^ (h >> 16)) * 0x9e3779b1U;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (h & 0x80000000U));
}

// buckets[0 .. count) += signs * x, x at `place` of its block.
void AddRun(const float* x, std::size_t place, std::size_t count, const BlockKey& key, double* buckets) {
  for (std::size_t i = 0; i < count; ++i) {
    buckets[i] += static_cast<double>(Signed(x[i], static_cast<std::uint32_t>(place + i), key));
  }
}

}  // namespace

// Coordinates of one block never collide, since h only turns the block; those of two blocks collide with probability
// 1 / kBuckets, since their shifts are independent. The variance of |S x|^2 needs no more than that and independent
// signs: E (sum over i != j that collide of sign_i sign_j x_i x_j)^2 = 2 sum Pr[h(i) = h(j)] x_i^2 x_j^2, which is at
// most 2 / kBuckets |x|^4. And a turned block is added without a scatter.
void SketchOf(std::span<const float> x, std::uint64_t seed, std::span<double> buckets) {
  WEFT_CHECK(buckets.size() == kBuckets) << "a sketch of " << buckets.size() << " buckets";
  std::fill(buckets.begin(), buckets.end(), 0.0);
  for (std::size_t begin = 0; begin < x.size(); begin += kBuckets) {
    const BlockKey key = KeyOf(seed, begin / kBuckets);
    const std::size_t count = std::min(kBuckets, x.size() - begin);
    const std::size_t before_end = std::min(count, kBuckets - key.shift);
    AddRun(x.data() + begin, 0, before_end, key, buckets.data() + key.shift);
    AddRun(x.data() + begin + before_end, before_end, count - before_end, key, buckets.data());
  }
}

Result<double> VarianceFromSketches(std::span<const std::vector<double>> sketches) {
  if (sketches.empty()) return InvalidArgumentError("the variance of no sketch");
  const std::size_t buckets = sketches[0].size();
  for (std::size_t i = 0; i < sketches.size(); ++i) {
    if (sketches[i].size() != buckets) {
      return InvalidArgumentError("the sketch of node " + std::to_string(i) + " has " +
                                  std::to_string(sketches[i].size()) + " buckets, that of node 0 " +
                                  std::to_string(buckets));
    }
  }
  double variance = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    double mean = 0;
    for (const std::vector<double>& sketch : sketches) mean += sketch[bucket];
    mean /= static_cast<double>(sketches.size());
    for (const std::vector<double>& sketch : sketches) {
      variance += (sketch[bucket] - mean) * (sketch[bucket] - mean);
    }
  }
  return variance;
}

double SketchRelativeError() { return std::sqrt(2.0 / kSketchBuckets); }

double ModelVariance(std::span<const std::vector<float>> models) {
  if (models.empty()) return 0;
  double variance = 0;
  for (std::size_t i = 0; i < models[0].size(); ++i) {
    double mean = 0;
    for (const std::vector<float>& model : models) mean += static_cast<double>(model[i]);
    mean /= static_cast<double>(models.size());
    for (const std::vector<float>& model : models) {
      const double difference = static_cast<double>(model[i]) - mean;
      variance += difference * difference;
    }
  }
  return variance;
}

}  // namespace weft
