#include "common/rundir/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/common/rundir/full_disk.h"
#include "tests/common/temporary_folder.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CheckpointTest : public testing::Test {
 protected:
  static CheckpointState State(std::int64_t iteration) {
    return {.iteration = iteration,
            .epoch = 2,
            .seed = 18446744073709551615u,
            .membership_generation = 3,
            .workers = 4,
            .servers = 1,
            .job_sha256 = "abc",
            .plan = "{\"period\":4,\n\"note\":\"\u03b2\"}"};
  }
  Status Write(std::int64_t iteration) {
    const std::vector<float> values{static_cast<float>(iteration), 2, 3};
    const std::vector<TensorView> tensors{{"center.w", {3}, values}, {"worker.0.w", {1, 2}, std::span(values).last(2)}};
    return WriteCheckpoint(folder_.path(), State(iteration), tensors);
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) names.insert(entry.path().filename());
    return names;
  }
  CheckpointSearch Find() const {
    auto search = FindNewestCheckpoint(folder_.path());
    EXPECT_TRUE(search.ok()) << search.status();
    return std::move(search).value();
  }

  const TemporaryFolder folder_;
};

TEST_F(CheckpointTest, Write_ThenOpen_GivesStateAndTensors) {
  ASSERT_EQ(Write(7), OkStatus());
  EXPECT_THAT(Names(), ElementsAre("step-7.json", "step-7.safetensors"));
  const auto checkpoint = OpenCheckpoint(folder_.path(), 7);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->state, State(7));
  std::vector<float> values(3);
  ASSERT_EQ(checkpoint->tensors.Read("center.w", values), OkStatus());
  EXPECT_EQ(values, (std::vector<float>{7, 2, 3}));
}

TEST_F(CheckpointTest, FindNewest_EitherFileCutAtAnyByte_NamesItAndGoesBack) {
  ASSERT_EQ(Write(9), OkStatus());
  ASSERT_EQ(Write(10), OkStatus());
  for (const std::string name : {"step-10.json", "step-10.safetensors"}) {
    const std::string whole = ReadBytes(folder_ / name);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      WriteBytes(folder_ / name, whole.substr(0, size));
      const CheckpointSearch search = Find();
      ASSERT_TRUE(search.newest.has_value()) << name << " cut at " << size;
      EXPECT_EQ(search.newest->state.iteration, 9);
      ASSERT_EQ(search.refused.size(), 1u);
      EXPECT_THAT(search.refused[0].message(), HasSubstr(folder_ / name + ": "));
      EXPECT_EQ(search.refused[0].message().find('\n'), std::string::npos);
    }
    WriteBytes(folder_ / name, whole);
  }
  EXPECT_EQ(Find().newest->state.iteration, 10);
}

TEST_F(CheckpointTest, Open_AnyByteOfEitherFileChanged_IsRefusedUnlessItMeansTheSame) {
  ASSERT_EQ(Write(10), OkStatus());
  for (const std::string name : {"step-10.json", "step-10.safetensors"}) {
    const std::string whole = ReadBytes(folder_ / name);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      if (name.ends_with("json") && (whole[at] == ' ' || whole[at] == '\n')) continue;  // 'space ^ 1' is no space
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ 1);
      WriteBytes(folder_ / name, changed);
      EXPECT_EQ(OpenCheckpoint(folder_.path(), 10).status().code(), StatusCode::kInvalidArgument) << name << " " << at;
    }
    WriteBytes(folder_ / name, whole);
  }
}

TEST_F(CheckpointTest, FindNewest_ForeignAndMissingFiles_AreRefusedByName) {
  ASSERT_EQ(Write(5), OkStatus());
  WriteBytes(folder_ / "step-20.json", "{\"a\": 1}");
  WriteBytes(folder_ / "step-19.safetensors", "");
  std::filesystem::copy_file(folder_ / "step-5.json", folder_ / "step-18.json");
  ASSERT_EQ(Write(17), OkStatus());
  std::filesystem::remove(folder_ / "step-17.safetensors");
  WriteBytes(folder_ / "notes.txt", "not ours");
  WriteBytes(folder_ / "step-x.json", "not ours");
  const CheckpointSearch search = Find();
  ASSERT_TRUE(search.newest.has_value());
  EXPECT_EQ(search.newest->state, State(5));
  ASSERT_EQ(search.refused.size(), 4u);
  EXPECT_EQ(search.refused[0].message(),
            folder_ / "step-20.json" + ": is no checkpoint: its format is not weft-checkpoint-1");
  EXPECT_EQ(search.refused[1].message(),
            folder_ / "step-19.safetensors" + ": has no step-19.json: it was not finished");
  EXPECT_EQ(search.refused[2].message(), folder_ / "step-18.json" + ": is of iteration 5");
  EXPECT_EQ(search.refused[3].message(), folder_ / "step-17.safetensors" + ": No such file or directory");
}

TEST_F(CheckpointTest, FindNewest_EmptyOrMissingFolder_FindsNone) {
  EXPECT_FALSE(Find().newest.has_value());
  EXPECT_EQ(FindNewestCheckpoint(folder_ / "none").status().code(), StatusCode::kNotFound);
}

TEST_F(CheckpointTest, Write_PastTheRoomThereIs_LeavesTheOlderOne) {
  ASSERT_EQ(Write(1), OkStatus());
  const std::vector<float> large(5000);
  const std::vector<TensorView> tensors{{"w", {5000}, large}};
  {
    const FileSizeLimit limit(4096);
    const Status status = WriteCheckpoint(folder_.path(), State(2), tensors);
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(status.message(), HasSubstr("step-2.safetensors"));
  }
  EXPECT_THAT(Names(), ElementsAre("step-1.json", "step-1.safetensors"));
  EXPECT_EQ(Find().newest->state.iteration, 1);
}

TEST_F(CheckpointTest, Write_OnAFullDisk_LeavesTheOlderOne) {
  const SmallDisk disk(folder_.path(), 64);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not allowed here";
  ASSERT_EQ(Write(1), OkStatus());
  const std::vector<float> large(50'000);
  const std::vector<TensorView> tensors{{"w", {50'000}, large}};
  EXPECT_EQ(WriteCheckpoint(folder_.path(), State(2), tensors),
            ResourceExhaustedError("write " + (folder_ / "step-2.safetensors") + ": No space left on device"));
  EXPECT_THAT(Names(), ElementsAre("step-1.json", "step-1.safetensors"));
  EXPECT_EQ(Find().newest->state.iteration, 1);
}

TEST_F(CheckpointTest, Prune_KeepsTheNewestAndWhatIsNotOurs) {
  for (const std::int64_t iteration : {8, 9, 10, 11}) ASSERT_EQ(Write(iteration), OkStatus());
  WriteBytes(folder_ / "step-7.safetensors", "no state was written");
  WriteBytes(folder_ / "step-11.json.tmp-1", "a writer was killed");
  WriteBytes(folder_ / "notes.txt", "not ours");
  ASSERT_EQ(PruneCheckpoints(folder_.path(), 11, 2), OkStatus());
  EXPECT_THAT(Names(),
              ElementsAre("notes.txt", "step-10.json", "step-10.safetensors", "step-11.json", "step-11.safetensors"));
}

TEST_F(CheckpointTest, Prune_AfterAResumeFromBeforeATornOne_KeepsWhatWasWrittenSince) {
  for (const std::int64_t iteration : {10, 20}) ASSERT_EQ(Write(iteration), OkStatus());
  WriteBytes(folder_ / "step-20.safetensors", "torn");
  ASSERT_EQ(Write(15), OkStatus());
  ASSERT_EQ(PruneCheckpoints(folder_.path(), 15, 1), OkStatus());
  EXPECT_THAT(Names(), ElementsAre("step-15.json", "step-15.safetensors", "step-20.json", "step-20.safetensors"));
  EXPECT_EQ(Find().newest->state.iteration, 15);
}

}  // namespace
}  // namespace weft
