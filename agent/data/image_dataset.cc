#include "agent/data/image_dataset.h"

#include <cmath>
#include <utility>

#include "common/check.h"

namespace weft {
namespace {

std::vector<std::array<float, 256>> NormalizationTables(const SampleShape& shape,
                                                        const std::vector<std::uint8_t>& pixels) {
  const auto channels = static_cast<std::size_t>(shape.dimensions.front());
  const std::size_t plane = static_cast<std::size_t>(shape.size()) / channels;
  std::vector<std::array<std::int64_t, 256>> histograms(channels);
  for (std::size_t first = 0, channel = 0; first < pixels.size(); first += plane, channel = (channel + 1) % channels) {
    for (std::size_t i = first; i < first + plane; ++i) ++histograms[channel][pixels[i]];
  }
  std::vector<std::array<float, 256>> tables(channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    double count = 0, sum = 0, sum_of_squares = 0;
    for (int value = 0; value < 256; ++value) {
      const auto seen = static_cast<double>(histograms[channel][static_cast<std::size_t>(value)]);
      count += seen;
      sum += seen * value;
      sum_of_squares += seen * value * value;
    }
    const double mean = sum / count;
    const double variance = sum_of_squares / count - mean * mean;
    const double deviation = variance > 0 ? std::sqrt(variance) : 255.0;
    for (int value = 0; value < 256; ++value) {
      tables[channel][static_cast<std::size_t>(value)] = static_cast<float>((value - mean) / deviation);
    }
  }
  return tables;
}

}  // namespace

ImageDataset::ImageDataset(SampleShape shape, ImageSplit train, ImageSplit test)
    : shape_(std::move(shape)),
      train_(std::move(train)),
      test_(std::move(test)),
      normalized_(NormalizationTables(shape_, train_.pixels)) {
  WEFT_CHECK(std::ssize(train_.pixels) == shape_.size() * size(Split::kTrain));
  WEFT_CHECK(std::ssize(test_.pixels) == shape_.size() * size(Split::kTest));
}

void ImageDataset::Gather(Split split, std::span<const std::int64_t> indices, Samples& out) const {
  const ImageSplit& from = of(split);
  const auto sample = static_cast<std::size_t>(shape_.size());
  const std::size_t plane = sample / normalized_.size();
  out.size = std::ssize(indices);
  out.inputs.resize(indices.size() * sample);
  out.labels.resize(indices.size());
  out.tokens.clear();
  float* to = out.inputs.data();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto index = static_cast<std::size_t>(indices[i]);
    WEFT_CHECK(index < from.labels.size()) << "sample " << indices[i] << " of " << from.labels.size();
    out.labels[i] = from.labels[index];
    const std::uint8_t* pixel = from.pixels.data() + index * sample;
    for (const auto& table : normalized_) {
      for (std::size_t k = 0; k < plane; ++k) *to++ = table[*pixel++];
    }
  }
}

}  // namespace weft
