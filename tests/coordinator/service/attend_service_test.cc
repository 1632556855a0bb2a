// What watchers get to see, over a real socket.
#include "coordinator/service/attend_service.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "common/rpc/rpc.h"
#include "proto/coordinator.grpc.pb.h"

namespace weft {
namespace {

// Sanitizers allocate slowly: the longest test then takes 30 s.
constexpr Duration kPatience = std::chrono::seconds(100);

v1::RunEvent Stage(const std::string& text) {
  v1::RunEvent event;
  event.mutable_stage()->set_text(text);
  return event;
}

v1::RunEvent Progress(std::int64_t iteration, int ranks = 1) {
  v1::RunEvent event;
  event.mutable_progress()->set_iteration(iteration);
  for (int rank = 0; rank < ranks; ++rank) event.mutable_progress()->add_ranks()->set_iteration_seconds(0.1);
  return event;
}

class WatchTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "weft_watch_XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    Result<std::unique_ptr<AttendService>> service = AttendService::Start("unix:" + folder_ + "/c");
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = std::move(service).value();
    stub_ = v1::Coordinator::NewStub(Connect("unix:" + folder_ + "/c", Clock::Steady().Now() + kPatience).value());
    context_.set_deadline(GrpcDeadline(Clock::Steady().Now() + kPatience));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  v1::RunEvent Next(grpc::ClientReader<v1::RunEvent>& reader) {
    v1::RunEvent event;
    EXPECT_TRUE(reader.Read(&event));
    return event;
  }

  std::string folder_;
  std::unique_ptr<AttendService> service_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
  grpc::ClientContext context_;
};

TEST_F(WatchTest, OneWhoComesLate_GetsWhatHasBeenAndTheNewestProgress) {
  service_->Publish(Stage("training"));
  service_->Publish(Progress(1));
  service_->Publish(Progress(2));
  const auto reader = stub_->Watch(&context_, v1::WatchRequest());
  EXPECT_EQ(Next(*reader).stage().text(), "training");
  EXPECT_EQ(Next(*reader).progress().iteration(), 2);
  service_->Publish(Progress(3));
  EXPECT_EQ(Next(*reader).progress().iteration(), 3);
}

TEST_F(WatchTest, AfterTheEnd_NothingComesBehindIt) {
  service_->Publish(Progress(7));
  v1::RunEvent ended;
  ended.mutable_ended()->set_exit_code(1);
  service_->Publish(ended);
  const auto reader = stub_->Watch(&context_, v1::WatchRequest());
  EXPECT_EQ(Next(*reader).progress().iteration(), 7);
  EXPECT_EQ(Next(*reader).ended().exit_code(), 1);
  service_->FinishWatchers(Clock::Steady().Now() + kPatience);
  v1::RunEvent further;
  EXPECT_FALSE(reader->Read(&further));
}

TEST_F(WatchTest, OneWhoDoesNotRead_MissesProgressAndNothingElse) {
  service_->Publish(Stage("training"));
  const auto reader = stub_->Watch(&context_, v1::WatchRequest());
  ASSERT_EQ(Next(*reader).stage().text(), "training");
  constexpr int kEvents = 800;
  constexpr int kStage = 400;
  // 8 MB in all, more than the buffers on the way hold.
  v1::RunEvent long_one = Progress(0, 1000);
  for (int i = 1; i <= kEvents; ++i) {
    if (i == kStage) service_->Publish(Stage("saving"));
    long_one.mutable_progress()->set_iteration(i);
    service_->Publish(long_one);
  }
  int progress = 0;
  int stages = 0;
  std::int64_t last = 0;
  while (last < kEvents && !HasFailure()) {
    const v1::RunEvent event = Next(*reader);
    if (event.has_stage()) {
      EXPECT_LT(last, kStage);
      ++stages;
      continue;
    }
    EXPECT_GT(event.progress().iteration(), last);
    last = event.progress().iteration();
    ++progress;
  }
  EXPECT_EQ(stages, 1);
  EXPECT_LT(progress, kEvents / 2);
}

}  // namespace
}  // namespace weft
