// Named tensors in a file, in the format that the `safetensors` package reads: docs/format/safetensors.md has it byte
// by byte.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"

namespace weft {

// Row-major; as many values as the shape's product. Borrows.
struct TensorView {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const float> values;
};

struct FileDigest {
  std::int64_t bytes = 0;
  std::string sha256;  // hexadecimal
};

// Writes `tensors` as F32, in their order, with `metadata` under "__metadata__", atomically
// (common/rundir/atomic_file.h). The same tensors and metadata give the same bytes. INVALID_ARGUMENT: two tensors of
// one name, the name "__metadata__", or a shape that does not fit its values. Others: as AtomicFile.
Result<FileDigest> WriteSafetensors(const std::string& path, std::span<const TensorView> tensors,
                                    const std::map<std::string, std::string>& metadata);

enum class TensorType { kF32, kF64, kI64 };

struct TensorInfo {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<std::int64_t> shape;
  std::int64_t count = 0;   // values
  std::int64_t offset = 0;  // bytes from the start of the file
};

// A file whose header has been verified: the tensors' ranges are inside of the file, without gap or overlap, and end
// where it ends. Single thread.
class SafetensorsReader {
 public:
  // INVALID_ARGUMENT: foreign, torn, or of another type than F32, F64 and I64. Others: the errno's code, NOT_FOUND
  // among them. Each names the file.
  static Result<SafetensorsReader> Open(const std::string& path);

  ~SafetensorsReader();
  SafetensorsReader(SafetensorsReader&& other) noexcept;
  SafetensorsReader(const SafetensorsReader&) = delete;

  // In the order of their place in the file.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // nullptr: none of this name.
  const TensorInfo* Find(const std::string& name) const;

  // The values of tensor `name` into `out`; F64 is rounded to float.
  // INVALID_ARGUMENT: no such tensor, another number of values, or I64; the file became shorter since it was opened.
  Status Read(const std::string& name, std::span<float> out) const;

  // Size and SHA-256 of the whole file.
  Result<FileDigest> Digest() const;

 private:
  SafetensorsReader(std::string path, int file) : path_(std::move(path)), file_(file) {}
  Status ReadHeader();
  Status ReadAt(std::int64_t offset, std::span<std::byte> out) const;
  Status Refuse(const std::string& message) const { return InvalidArgumentError(path_ + ": " + message); }

  std::string path_;
  int file_;
  std::int64_t file_bytes_ = 0;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace weft
