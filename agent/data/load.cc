#include "agent/data/load.h"

#include "agent/data/formats.h"

namespace weft {
namespace {

class SyntheticDataset : public Dataset {
 public:
  explicit SyntheticDataset(std::int64_t samples) : samples_(samples) {}
  const SampleShape& shape() const override { return shape_; }
  std::int64_t size(Split split) const override { return split == Split::kTrain ? samples_ : 0; }
  void Gather(Split, std::span<const std::int64_t> indices, Samples& out) const override {
    out.size = std::ssize(indices);
    out.inputs.clear();
    out.labels.clear();
    out.tokens.clear();
  }

 private:
  const SampleShape shape_{.dimensions = {0}, .classes = 0, .text = false};
  const std::int64_t samples_;
};

}  // namespace

Result<std::unique_ptr<Dataset>> LoadDataset(const DataSpec& data, int text_context) {
  switch (data.format) {
    case DataFormat::kIDX:
      return LoadIdx(data.path);
    case DataFormat::kCIFAR10:
      return LoadCifar10(data.path);
    case DataFormat::kText:
      return LoadText(data.path, text_context);
    case DataFormat::kSynthetic:
      if (data.synthetic_samples < 1) {
        return InvalidArgumentError("data.synthetic.samples: " + std::to_string(data.synthetic_samples) +
                                    " is below 1");
      }
      return std::unique_ptr<Dataset>(std::make_unique<SyntheticDataset>(data.synthetic_samples));
  }
  return InvalidArgumentError("data.format: unknown value " + std::to_string(static_cast<int>(data.format)));
}

}  // namespace weft
