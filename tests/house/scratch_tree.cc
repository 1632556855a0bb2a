#include "tests/house/scratch_tree.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "common/check.h"

namespace weft::house {
namespace {

namespace fs = std::filesystem;

fs::path MakeFolder() {
  std::string name = testing::TempDir() + "house_test.XXXXXX";
  WEFT_CHECK(mkdtemp(name.data()) != nullptr) << name;
  return name;
}

}  // namespace

ScratchTree::ScratchTree() : root_(MakeFolder()) {}

ScratchTree::~ScratchTree() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

void ScratchTree::Write(const fs::path& path, const std::string& text) const {
  fs::create_directories((root_ / path).parent_path());
  std::ofstream(root_ / path, std::ios::binary) << text;
}

}  // namespace weft::house
