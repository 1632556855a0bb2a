// CountSketch (Charikar, Chen, Farach-Colton 2002): a vector's projection onto few buckets that keeps distances. All
// nodes sketch with one seed; the coordinator computes the models' variance from the sketches alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/status.h"

namespace weft {

inline constexpr int kSketchBuckets = 4096;

// buckets[h(i)] += sign(i) * x[i] over all i, h and sign from a counter-based hash of (seed, i). Overwrites `buckets`
// (kSketchBuckets doubles). O(d).
void SketchOf(std::span<const float> x, std::uint64_t seed, std::span<double> buckets);

// Gamma = sum_i |X_i - mu|^2 estimated from the nodes' sketches S_i as sum_i |S_i - mean S|^2: unbiased, with an RMS
// relative error of at most SketchRelativeError(). INVALID_ARGUMENT: sketches of different sizes, or none.
Result<double> VarianceFromSketches(std::span<const std::vector<double>> sketches);

// sqrt(2 / buckets).
double SketchRelativeError();

// Gamma = sum_i |X_i - mu|^2 itself, in double. All of one size.
double ModelVariance(std::span<const std::vector<float>> models);

}  // namespace weft
