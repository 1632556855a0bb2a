#include "coordinator/service/attend_service.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "tests/coordinator/service/test_peer.h"

namespace weft {
namespace {

constexpr int kMessages = 2000;
constexpr int kGroups = 2500;  // a message: 20 kB, so that all of them pass what the sockets hold
constexpr Duration kPatience = std::chrono::seconds(30);

// A rank that reports on and on, and nobody who listens yet.
class EagerRankTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string address = "unix:" + testing::TempDir() + "weft_attend_" + std::to_string(getpid());
    auto service = AttendService::Start(address);
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
    peer_ = std::make_unique<TestPeer>(address, /*rank=*/0, /*workers=*/1);
    sender_ = std::thread([this] {
      for (int i = 0; i < kMessages; ++i) {
        v1::AgentMessage message;
        v1::IterationReport& report = *message.mutable_iterations()->add_reports();
        report.set_iteration(i + 1);
        report.mutable_group_stall_us()->Resize(kGroups, 1);
        peer_->Send(std::move(message));
        ++sent_;
      }
    });
  }
  void TearDown() override { sender_.join(); }

  // Until the rank gets no further.
  void WaitUntilItStands() const {
    for (int before = -1; before != sent_ && sent_ < kMessages;) {
      before = sent_;
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
  }

  std::unique_ptr<AttendService> service_;
  std::unique_ptr<TestPeer> peer_;
  std::thread sender_;
  std::atomic<int> sent_ = 0;
};

TEST_F(EagerRankTest, NobodyTakes_TheRankWaitsAndNothingIsLost) {
  WaitUntilItStands();
  EXPECT_LT(sent_, kMessages / 4);
  for (int i = 0; i < kMessages; ++i) {
    const std::optional<ServiceEvent> event = service_->WaitUntil(Clock::Steady().Now() + kPatience);
    ASSERT_TRUE(event.has_value());
    const auto* arrived = std::get_if<MessageArrived>(&*event);
    ASSERT_NE(arrived, nullptr);
    ASSERT_EQ(arrived->message.iterations().reports(0).iteration(), i + 1);
  }
}

TEST_F(EagerRankTest, ServiceGoesWhileTheRankWaits_EndsItsStream) {
  WaitUntilItStands();
  service_.reset();
  EXPECT_FALSE(peer_->Receive().has_value());
}

TEST_F(EagerRankTest, StreamClosedWhileTheRankWaits_IsToldAsLost) {
  WaitUntilItStands();
  service_->Close(1, AbortedError("enough"));
  bool lost = false;
  while (!lost) {
    const std::optional<ServiceEvent> event = service_->WaitUntil(Clock::Steady().Now() + kPatience);
    ASSERT_TRUE(event.has_value());
    lost = std::holds_alternative<StreamLost>(*event);
  }
  EXPECT_EQ(peer_->Close().code(), StatusCode::kAborted);
}

}  // namespace
}  // namespace weft
