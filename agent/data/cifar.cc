#include <cstdint>
#include <utility>

#include "agent/data/formats.h"
#include "agent/data/image_dataset.h"
#include "agent/data/input_file.h"

namespace weft {
namespace {

constexpr int kClasses = 10;
constexpr std::size_t kImageBytes = 3 * 32 * 32;
constexpr std::size_t kRecordBytes = 1 + kImageBytes;

Status ReadBatch(const std::string& folder, const std::string& name, ImageSplit& split) {
  WEFT_ASSIGN_OR_RETURN(const auto file, InputFile::OpenEither(folder, name));
  std::vector<std::uint8_t> record(kRecordBytes);
  for (std::size_t i = 0;; ++i) {
    WEFT_ASSIGN_OR_RETURN(const std::size_t got, file->Read(record));
    if (got == 0 && i == 0) return file->Refuse("0 images: at least 1 is needed");
    if (got == 0) return OkStatus();
    if (got < kRecordBytes) {
      return file->Refuse(std::to_string(i * kRecordBytes + got) + " bytes are no whole number of records of " +
                          std::to_string(kRecordBytes));
    }
    if (record[0] >= kClasses) {
      return file->Refuse("label " + std::to_string(record[0]) + " of image " + std::to_string(i) + " is above " +
                          std::to_string(kClasses - 1));
    }
    if (split.pixels.size() + kImageBytes > kMaximumSplitBytes) {
      return file->Refuse("goes on past the limit of " + std::to_string(kMaximumSplitBytes) + " bytes");
    }
    split.labels.push_back(record[0]);
    split.pixels.insert(split.pixels.end(), record.begin() + 1, record.end());
  }
}

}  // namespace

Result<std::unique_ptr<Dataset>> LoadCifar10(const std::string& folder) {
  ImageSplit train, test;
  for (int batch = 1; batch <= 5; ++batch) {
    WEFT_RETURN_IF_ERROR(ReadBatch(folder, "data_batch_" + std::to_string(batch) + ".bin", train));
  }
  WEFT_RETURN_IF_ERROR(ReadBatch(folder, "test_batch.bin", test));
  SampleShape shape{.dimensions = {3, 32, 32}, .classes = kClasses, .text = false};
  return std::unique_ptr<Dataset>(std::make_unique<ImageDataset>(std::move(shape), std::move(train), std::move(test)));
}

}  // namespace weft
