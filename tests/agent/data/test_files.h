// Small real files for the data tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace weft {

// A new folder, removed with all that is in it at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

void WriteBytes(const std::string& path, std::string_view bytes);

// One gzip member.
std::string Gzip(std::string_view bytes);

// IDX with `dimensions` in its header and `elements` behind it.
std::string Idx(std::initializer_list<std::uint32_t> dimensions, std::string_view elements);

}  // namespace weft
