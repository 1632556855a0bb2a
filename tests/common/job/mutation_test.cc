// Job files spoiled at random: each is read or refused in short lines, and what is read stays the same job when it is
// written out and read again.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "common/job/parse.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const char* folder : {"examples", "tests/common/job/golden"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".yaml") continue;
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      seeds.push_back(text.str());
    }
  }
  return seeds;
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::size_t Below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_); }

  std::string Mutate(std::string text) {
    static const std::vector<std::string> kTokens = {
        "{",    "}",     "[",    "]",    ": ",     "- ",  "\n",    "\n  ",  "\"",
        "'",    "#",     "&a ",  "*a",   "!!str ", "|\n", ">\n",   "---\n", "...\n",
        "? ",   "%TAG ", "~",    "null", ".nan",   "-1",  "1e999", "\t",    std::string(1, '\0'),
        "\xff", "<<: ",  "spec", "true"};
    for (std::size_t changes = 1 + Below(4); changes > 0; --changes) {
      const std::size_t at = Below(text.size() + 1);
      const std::size_t length = Below(20);
      switch (Below(4)) {
        case 0:
          text.insert(at, kTokens[Below(kTokens.size())]);
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(Below(text.size() + 1), text.substr(at, length));
          break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(Below(256));
      }
    }
    return text;
  }

 private:
  std::mt19937 random_;
};

TEST(JobMutationTest, SpoiledJobs_AreReadOrRefusedInShortLines) {
  const std::vector<std::string> seeds = Seeds();
  ASSERT_FALSE(seeds.empty());
  Mutator mutator(1);
  int valid = 0;
  constexpr int kJobs = 800;
  for (int i = 0; i < kJobs; ++i) {
    const std::string text = mutator.Mutate(seeds[mutator.Below(seeds.size())]);
    const ParsedJob job = ParseJob(text);
    for (const JobError& error : job.errors) {
      EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
      EXPECT_LT(error.message.size(), 400U) << error.message;
    }
    const std::vector<std::string> overrides = {"metadata.name=other"};
    const ParsedJob renamed = ParseJob(text, overrides);
    if (!job.ok() || !renamed.ok()) continue;
    ++valid;
    const ParsedJob again = ParseJob(renamed.text, overrides);
    EXPECT_EQ(ToStatus(again.errors), OkStatus()) << renamed.text;
    EXPECT_EQ(again.text, renamed.text);
    EXPECT_EQ(again.spec.unused_here, job.spec.unused_here);
    EXPECT_EQ(again.spec.data.path, job.spec.data.path);
  }
  EXPECT_GT(valid, 0);
  EXPECT_LT(valid, kJobs);
}

TEST(JobMutationTest, RandomOverrides_AreTakenOrRefusedInShortLines) {
  const std::vector<std::string> seeds = {"worker.replicas=4", "spec.strategy={type: Swarm, swarm: {localSteps: 3}}",
                                          "strategy.type=merged-ps", "metadata.name=x", "worker.template.a.b.c=[1, 2]"};
  const std::string job =
      "apiVersion: weft.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: j}\n"
      "spec: {model: {name: lenet}, data: {path: /d}}\n";
  Mutator mutator(2);
  for (int i = 0; i < 800; ++i) {
    const std::vector<std::string> overrides = {mutator.Mutate(seeds[mutator.Below(seeds.size())])};
    for (const JobError& error : ParseJob(job, overrides).errors) {
      EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
      EXPECT_LT(error.message.size(), 400U) << error.message;
    }
  }
}

}  // namespace
}  // namespace weft
