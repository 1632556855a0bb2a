#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "agent/data/formats.h"
#include "agent/data/input_file.h"

namespace weft {
namespace {

class TextDataset : public Dataset {
 public:
  TextDataset(std::vector<std::uint8_t> bytes, std::size_t test_begin, int context)
      : shape_{.dimensions = {context + 1}, .classes = 256, .text = true},
        bytes_(std::move(bytes)),
        train_(std::span(bytes_).first(test_begin)),
        test_(std::span(bytes_).subspan(test_begin)) {}

  const SampleShape& shape() const override { return shape_; }
  std::int64_t size(Split split) const override { return (std::ssize(of(split)) - 1) / stride(); }

  void Gather(Split split, std::span<const std::int64_t> indices, Samples& out) const override {
    out.size = std::ssize(indices);
    out.inputs.clear();
    out.labels.clear();
    out.tokens.resize(indices.size() * static_cast<std::size_t>(shape_.size()));
    auto to = out.tokens.begin();
    for (const std::int64_t index : indices) {
      WEFT_CHECK(index >= 0 && index < size(split)) << "sample " << index << " of " << size(split);
      const auto from =
          of(split).subspan(static_cast<std::size_t>(index * stride()), static_cast<std::size_t>(shape_.size()));
      to = std::copy(from.begin(), from.end(), to);
    }
  }

 private:
  std::span<const std::uint8_t> of(Split split) const { return split == Split::kTrain ? train_ : test_; }
  std::int64_t stride() const { return shape_.size() - 1; }

  const SampleShape shape_;
  const std::vector<std::uint8_t> bytes_;
  const std::span<const std::uint8_t> train_;
  const std::span<const std::uint8_t> test_;
};

// `path` itself, or the files in it by name.
Result<std::vector<std::string>> FilesOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->is_regular_file(error)) files.push_back(entry->path().string());
  }
  if (error) return InvalidArgumentError(path + ": " + error.message());
  if (files.empty()) return InvalidArgumentError(path + ": has no files: at least 1 is needed");
  std::sort(files.begin(), files.end());
  return files;
}

Status AppendFile(const std::string& path, std::vector<std::uint8_t>& bytes) {
  constexpr std::size_t kChunkBytes = 1 << 20;
  WEFT_ASSIGN_OR_RETURN(const auto file, InputFile::Open(path));
  for (;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kChunkBytes);
    WEFT_ASSIGN_OR_RETURN(const std::size_t got, file->Read(std::span(bytes).subspan(before)));
    bytes.resize(before + got);
    if (got < kChunkBytes) return OkStatus();
    if (bytes.size() > kMaximumSplitBytes) {
      return file->Refuse("goes on past the limit of " + std::to_string(kMaximumSplitBytes) + " bytes");
    }
  }
}

}  // namespace

Result<std::unique_ptr<Dataset>> LoadText(const std::string& path, int context) {
  if (context < 1) return InvalidArgumentError("context " + std::to_string(context) + " is below 1");
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(path));
  std::vector<std::uint8_t> bytes;
  for (const std::string& file : files) WEFT_RETURN_IF_ERROR(AppendFile(file, bytes));
  const std::size_t test_begin = bytes.size() - bytes.size() / 10;
  const std::size_t sample = static_cast<std::size_t>(context) + 1;
  if (bytes.size() / 10 < sample) {
    return InvalidArgumentError(path + ": " + std::to_string(bytes.size()) + " bytes are below " +
                                std::to_string(10 * sample) + ", so the last tenth holds no sample of " +
                                std::to_string(sample));
  }
  return std::unique_ptr<Dataset>(std::make_unique<TextDataset>(std::move(bytes), test_begin, context));
}

}  // namespace weft
