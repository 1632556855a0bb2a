#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "agent/data/formats.h"
#include "agent/data/image_dataset.h"
#include "agent/data/input_file.h"

namespace weft {
namespace {

constexpr int kClasses = 10;
constexpr std::uint32_t kUnsignedBytes = 0x0800;  // IDX's magic: 0, 0, element type, dimensions

struct ImageFile {
  std::uint32_t count = 0;
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  std::string path;
};

std::string Hex(std::uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", value);
  return text.data();
}

Result<std::uint32_t> ReadBigEndian(InputFile& file) {
  std::vector<std::uint8_t> bytes;
  WEFT_RETURN_IF_ERROR(file.Append(4, bytes));
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

Status ExpectMagic(InputFile& file, std::uint32_t dimensions) {
  WEFT_ASSIGN_OR_RETURN(const std::uint32_t magic, ReadBigEndian(file));
  if (magic != (kUnsignedBytes | dimensions)) {
    return file.Refuse("magic " + Hex(magic) + " is not " + Hex(kUnsignedBytes | dimensions) +
                       ", IDX of unsigned bytes with " + std::to_string(dimensions) + " dimension" +
                       (dimensions == 1 ? "" : "s"));
  }
  return OkStatus();
}

Result<ImageFile> ReadImages(const std::string& folder, const std::string& name, ImageSplit& split) {
  WEFT_ASSIGN_OR_RETURN(const auto file, InputFile::OpenEither(folder, name));
  WEFT_RETURN_IF_ERROR(ExpectMagic(*file, 3));
  ImageFile images;
  images.path = file->path();
  WEFT_ASSIGN_OR_RETURN(images.count, ReadBigEndian(*file));
  WEFT_ASSIGN_OR_RETURN(images.height, ReadBigEndian(*file));
  WEFT_ASSIGN_OR_RETURN(images.width, ReadBigEndian(*file));
  const std::string size = std::to_string(images.height) + "x" + std::to_string(images.width);
  if (images.count == 0) return file->Refuse("0 images: at least 1 is needed");
  constexpr std::uint32_t kMaximumSide = 1 << 14;
  if (images.height == 0 || images.width == 0 || images.height > kMaximumSide || images.width > kMaximumSide) {
    return file->Refuse("images of " + size + ": each side must be from 1 to " + std::to_string(kMaximumSide));
  }
  const std::uint64_t bytes = std::uint64_t{images.height} * images.width * images.count;  // below 2^60
  if (bytes > kMaximumSplitBytes) {
    return file->Refuse(std::to_string(images.count) + " images of " + size + " are above the limit of " +
                        std::to_string(kMaximumSplitBytes) + " bytes");
  }
  WEFT_RETURN_IF_ERROR(file->Append(bytes, split.pixels));
  WEFT_RETURN_IF_ERROR(file->ExpectEnd());
  return images;
}

Status ReadLabels(const std::string& folder, const std::string& name, const ImageFile& images, ImageSplit& split) {
  WEFT_ASSIGN_OR_RETURN(const auto file, InputFile::OpenEither(folder, name));
  WEFT_RETURN_IF_ERROR(ExpectMagic(*file, 1));
  WEFT_ASSIGN_OR_RETURN(const std::uint32_t count, ReadBigEndian(*file));
  if (count != images.count) {
    return file->Refuse(std::to_string(count) + " labels, but " + images.path + " has " + std::to_string(images.count) +
                        " images");
  }
  WEFT_RETURN_IF_ERROR(file->Append(count, split.labels));
  WEFT_RETURN_IF_ERROR(file->ExpectEnd());
  for (std::size_t i = 0; i < split.labels.size(); ++i) {
    if (split.labels[i] >= kClasses) {
      return file->Refuse("label " + std::to_string(split.labels[i]) + " of image " + std::to_string(i) + " is above " +
                          std::to_string(kClasses - 1));
    }
  }
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<Dataset>> LoadIdx(const std::string& folder) {
  ImageSplit train, test;
  WEFT_ASSIGN_OR_RETURN(const ImageFile train_images, ReadImages(folder, "train-images-idx3-ubyte", train));
  WEFT_RETURN_IF_ERROR(ReadLabels(folder, "train-labels-idx1-ubyte", train_images, train));
  WEFT_ASSIGN_OR_RETURN(const ImageFile test_images, ReadImages(folder, "t10k-images-idx3-ubyte", test));
  if (test_images.height != train_images.height || test_images.width != train_images.width) {
    return InvalidArgumentError(test_images.path + ": images of " + std::to_string(test_images.height) + "x" +
                                std::to_string(test_images.width) + ", but " + train_images.path + " has " +
                                std::to_string(train_images.height) + "x" + std::to_string(train_images.width));
  }
  WEFT_RETURN_IF_ERROR(ReadLabels(folder, "t10k-labels-idx1-ubyte", test_images, test));
  SampleShape shape{.dimensions = {1, train_images.height, train_images.width}, .classes = kClasses, .text = false};
  return std::unique_ptr<Dataset>(std::make_unique<ImageDataset>(std::move(shape), std::move(train), std::move(test)));
}

}  // namespace weft
