// Each tests/common/job/golden/NAME.yaml is refused with the lines of NAME.errors, "LINE: message". With
// WEFT_REGENERATE set in the environment the .errors files are written anew instead; look at what changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "common/job/parse.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = "tests/common/job/golden";

std::string ReadAll(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> GoldenNames() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kGolden)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(JobGoldenTest, EveryBadJob_IsRefusedWithItsLines) {
  const std::vector<std::string> names = GoldenNames();
  ASSERT_GE(names.size(), 25U);
  for (const std::string& name : names) {
    std::string lines;
    for (const JobError& error : ParseJob(ReadAll(kGolden / (name + ".yaml"))).errors) {
      lines += std::to_string(error.line) + ": " + error.message + "\n";
    }
    EXPECT_NE(lines, "") << name << " is valid";
    const fs::path expected = kGolden / (name + ".errors");
    if (std::getenv("WEFT_REGENERATE") != nullptr) std::ofstream(expected) << lines;
    EXPECT_EQ(lines, ReadAll(expected)) << name;
  }
}

TEST(JobGoldenTest, Examples_AreValid) {
  int examples = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator("examples")) {
    if (entry.path().extension() != ".yaml") continue;
    ++examples;
    EXPECT_EQ(ToStatus(ParseJob(ReadAll(entry.path())).errors), OkStatus()) << entry.path();
  }
  EXPECT_GE(examples, 3);
}

}  // namespace
}  // namespace weft
