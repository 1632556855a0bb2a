#include "common/rundir/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "common/rundir/atomic_file.h"
#include "common/rundir/digest.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian, and so is what is written");

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kLengthBytes = 8;
constexpr std::int64_t kMaximumHeaderBytes = 100'000'000;  // the format's own limit
constexpr char kMetadata[] = "__metadata__";

constexpr std::int64_t kMaximumBytes = std::int64_t{1} << 56;  // no file is longer, and sums of two do not overflow

// The product of a shape's sizes; -1 for a negative size or a product that no file holds.
std::int64_t CountOf(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) return -1;
    if (size != 0 && count > kMaximumBytes / size) return -1;
    count *= size;
  }
  return count;
}

std::int64_t BytesOf(TensorType type) { return type == TensorType::kF32 ? 4 : 8; }

Status CheckTensors(std::span<const TensorView> tensors) {
  std::set<std::string> names;
  for (const TensorView& tensor : tensors) {
    if (tensor.name == kMetadata || !names.insert(tensor.name).second) {
      return InvalidArgumentError("tensor name " + tensor.name + " is taken");
    }
    if (CountOf(tensor.shape) != std::ssize(tensor.values)) {
      return InvalidArgumentError("tensor " + tensor.name + ": " + std::to_string(tensor.values.size()) +
                                  " values do not fit its shape");
    }
  }
  return OkStatus();
}

std::string MakeHeader(std::span<const TensorView> tensors, const std::map<std::string, std::string>& metadata) {
  ordered_json header = ordered_json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::int64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    const std::int64_t end = offset + std::ssize(tensor.values) * 4;
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  // Names come from models and metadata from jobs; one that is not UTF-8 must not throw here.
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the tensors are aligned to 8 bytes
  return text;
}

// Writes to the file and the digest alike.
class Writer {
 public:
  explicit Writer(AtomicFile& file) : file_(file) {}
  Status Write(std::span<const std::byte> bytes) {
    digest_.Update(bytes);
    bytes_ += std::ssize(bytes);
    return file_.Write(bytes);
  }
  FileDigest Finish() { return {.bytes = bytes_, .sha256 = digest_.Finish()}; }

 private:
  AtomicFile& file_;
  Sha256 digest_;
  std::int64_t bytes_ = 0;
};

// One entry of the header; an empty string, or what is wrong with it.
std::string ParseTensor(const std::string& name, const json& entry, TensorInfo& info, std::int64_t& bytes) {
  const auto refuse = [&name](const std::string& message) { return "tensor " + name + ": " + message; };
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    return refuse("is not {dtype, shape, data_offsets}");
  }
  const json& type = entry["dtype"];
  if (type == "F32") {
    info.type = TensorType::kF32;
  } else if (type == "F64") {
    info.type = TensorType::kF64;
  } else if (type == "I64") {
    info.type = TensorType::kI64;
  } else {
    return refuse("dtype " + type.dump(-1, ' ', true, json::error_handler_t::replace) + " is not F32, F64 or I64");
  }
  const json& offsets = entry["data_offsets"];
  const auto unsigned_numbers = [](const json& array) {
    return array.is_array() && std::all_of(array.begin(), array.end(), [](const json& number) {
             return number.is_number_unsigned() && number.get<std::uint64_t>() <= std::uint64_t{kMaximumBytes};
           });
  };
  if (!unsigned_numbers(entry["shape"])) return refuse("shape is not a list of sizes");
  if (!unsigned_numbers(offsets) || offsets.size() != 2) return refuse("data_offsets are not two numbers");
  info.name = name;
  info.shape = entry["shape"].get<std::vector<std::int64_t>>();
  info.count = CountOf(info.shape);
  info.offset = offsets[0].get<std::int64_t>();
  bytes = info.count * BytesOf(info.type);
  if (info.count < 0 || offsets[1].get<std::int64_t>() - info.offset != bytes) {
    return refuse("data_offsets " + offsets.dump() + " do not fit its shape");
  }
  return "";
}

}  // namespace

Result<FileDigest> WriteSafetensors(const std::string& path, std::span<const TensorView> tensors,
                                    const std::map<std::string, std::string>& metadata) {
  if (const Status status = CheckTensors(tensors); !status.ok()) return status.WithContext(path);
  const std::string header = MakeHeader(tensors, metadata);
  const std::array<std::uint64_t, 1> length{header.size()};
  WEFT_ASSIGN_OR_RETURN(const auto file, AtomicFile::Create(path));
  Writer writer(*file);
  WEFT_RETURN_IF_ERROR(writer.Write(std::as_bytes(std::span(length))));
  WEFT_RETURN_IF_ERROR(writer.Write(std::as_bytes(std::span(header))));
  for (const TensorView& tensor : tensors) WEFT_RETURN_IF_ERROR(writer.Write(std::as_bytes(tensor.values)));
  WEFT_RETURN_IF_ERROR(file->Commit());
  return writer.Finish();
}

Result<SafetensorsReader> SafetensorsReader::Open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return ErrnoError(path, errno);
  SafetensorsReader reader(path, file);
  struct stat info {};
  if (::fstat(file, &info) != 0) return ErrnoError(path, errno);
  if (!S_ISREG(info.st_mode)) return reader.Refuse("is not a regular file");
  reader.file_bytes_ = info.st_size;
  WEFT_RETURN_IF_ERROR(reader.ReadHeader());
  return reader;
}

SafetensorsReader::SafetensorsReader(SafetensorsReader&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      file_bytes_(other.file_bytes_),
      tensors_(std::move(other.tensors_)),
      metadata_(std::move(other.metadata_)) {}

SafetensorsReader::~SafetensorsReader() {
  if (file_ >= 0) ::close(file_);
}

Status SafetensorsReader::ReadHeader() {
  if (file_bytes_ < kLengthBytes) return Refuse(std::to_string(file_bytes_) + " bytes are no safetensors file");
  std::array<std::uint64_t, 1> length{};
  WEFT_RETURN_IF_ERROR(ReadAt(0, std::as_writable_bytes(std::span(length))));
  const std::int64_t room = std::min(file_bytes_ - kLengthBytes, kMaximumHeaderBytes);
  if (length[0] > static_cast<std::uint64_t>(room)) {
    return Refuse("a header of " + std::to_string(length[0]) + " bytes does not fit a file of " +
                  std::to_string(file_bytes_) + ": torn, or no safetensors file");
  }
  const auto header_bytes = static_cast<std::int64_t>(length[0]);
  std::string text(length[0], '\0');
  WEFT_RETURN_IF_ERROR(ReadAt(kLengthBytes, std::as_writable_bytes(std::span(text))));
  // The parser would drop all but one of two equal keys; of two tensors of one name none is the right one.
  std::set<std::string> names;
  bool repeated = false;
  const auto watch_keys = [&](int depth, json::parse_event_t event, json& key) {
    if (depth == 1 && event == json::parse_event_t::key) repeated |= !names.insert(key.get<std::string>()).second;
    return true;
  };
  const json header = json::parse(text, watch_keys, /*allow_exceptions=*/false);
  if (!header.is_object()) return Refuse("its header is no JSON object");
  if (repeated) return Refuse("its header has two tensors of one name");

  std::vector<std::pair<TensorInfo, std::int64_t>> found;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      if (!entry.is_object()) return Refuse("__metadata__ is no object");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return Refuse("__metadata__." + key + " is no string");
        metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    auto& [info, bytes] = found.emplace_back();
    if (const std::string wrong = ParseTensor(name, entry, info, bytes); !wrong.empty()) return Refuse(wrong);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.offset, a.second) < std::pair(b.first.offset, b.second);
  });
  std::int64_t end = 0;
  for (auto& [info, bytes] : found) {
    if (info.offset != end) {
      return Refuse("tensor " + info.name + " begins at " + std::to_string(info.offset) + ", not at " +
                    std::to_string(end) + " where the one before ends");
    }
    end += bytes;
    info.offset += kLengthBytes + header_bytes;
    tensors_.push_back(std::move(info));
  }
  const std::int64_t whole = kLengthBytes + header_bytes + end;
  if (whole != file_bytes_) {
    return Refuse(std::to_string(file_bytes_) + " bytes, but its header says " + std::to_string(whole));
  }
  return OkStatus();
}

Status SafetensorsReader::ReadAt(std::int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(file_, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError("read " + path_, errno);
    if (got == 0) return Refuse("ends at byte " + std::to_string(offset));
    out = out.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
  return OkStatus();
}

const TensorInfo* SafetensorsReader::Find(const std::string& name) const {
  const auto at = std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& info) { return info.name == name; });
  return at == tensors_.end() ? nullptr : &*at;
}

Status SafetensorsReader::Read(const std::string& name, std::span<float> out) const {
  const TensorInfo* info = Find(name);
  if (info == nullptr) return Refuse("has no tensor " + name);
  if (info->count != std::ssize(out)) {
    return Refuse("tensor " + name + " has " + std::to_string(info->count) + " values, not " +
                  std::to_string(out.size()));
  }
  switch (info->type) {
    case TensorType::kF32:
      return ReadAt(info->offset, std::as_writable_bytes(out));
    case TensorType::kF64: {
      std::vector<double> values(out.size());
      WEFT_RETURN_IF_ERROR(ReadAt(info->offset, std::as_writable_bytes(std::span(values))));
      std::transform(values.begin(), values.end(), out.begin(), [](double v) { return static_cast<float>(v); });
      return OkStatus();
    }
    case TensorType::kI64:
      break;
  }
  return Refuse("tensor " + name + " is I64, not F32 or F64");
}

Result<FileDigest> SafetensorsReader::Digest() const {
  Sha256 digest;
  std::vector<std::byte> buffer(1 << 20);
  for (std::int64_t at = 0; at < file_bytes_;) {
    const auto step = static_cast<std::size_t>(std::min<std::int64_t>(file_bytes_ - at, std::ssize(buffer)));
    const auto chunk = std::span(buffer).first(step);
    WEFT_RETURN_IF_ERROR(ReadAt(at, chunk));
    digest.Update(chunk);
    at += static_cast<std::int64_t>(step);
  }
  return FileDigest{.bytes = file_bytes_, .sha256 = digest.Finish()};
}

}  // namespace weft
