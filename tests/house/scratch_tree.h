// A folder of made-up files, gone at the end of the test.
#pragma once

#include <filesystem>
#include <string>

namespace weft::house {

class ScratchTree {
 public:
  ScratchTree();
  ~ScratchTree();
  ScratchTree(const ScratchTree&) = delete;
  ScratchTree& operator=(const ScratchTree&) = delete;

  // Makes the folders above `path` too.
  void Write(const std::filesystem::path& path, const std::string& text) const;

  const std::filesystem::path& root() const { return root_; }

 private:
  const std::filesystem::path root_;
};

}  // namespace weft::house
