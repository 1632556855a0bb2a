#include "agent/train/state_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

#include "agent/transport/loopback.h"

namespace weft {
namespace {

TimePoint Soon() { return Clock::Steady().Now() + std::chrono::seconds(20); }

TEST(StateExchangeTest, Send_TensorsOfSeveralSizes_ArriveWithNamesAndOrder) {
  LoopbackNetwork network(2);
  const StateMessage sent{
      .iteration = 17, .final = true, .tensors = {{"weights", {1, 2, 3}}, {"empty", {}}, {"momentum", {-1}}}};
  std::thread sender(
      [&] { EXPECT_TRUE(SendState(network.endpoint(0), 1, StatePurpose::kCheckpoint, sent, Soon()).ok()); });
  const Result<StateMessage> got = ReceiveState(network.endpoint(1), 0, StatePurpose::kCheckpoint, Soon());
  sender.join();
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->iteration, 17);
  EXPECT_TRUE(got->final);
  ASSERT_EQ(got->tensors.size(), 3u);
  EXPECT_EQ(got->tensors[0].name, "weights");
  EXPECT_EQ(got->tensors[0].values, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(got->tensors[1].values.size(), 0u);
  EXPECT_EQ(got->tensors[2].name, "momentum");
}

TEST(StateExchangeTest, Send_TwoPurposesAtOnce_AreNotMixedUp) {
  LoopbackNetwork network(2);
  std::thread checkpoint([&] {
    EXPECT_TRUE(SendState(network.endpoint(0), 1, StatePurpose::kCheckpoint,
                          {.iteration = 1, .final = false, .tensors = {{"c", {1}}}}, Soon())
                    .ok());
  });
  std::thread evaluation([&] {
    EXPECT_TRUE(SendState(network.endpoint(0), 1, StatePurpose::kEvaluation,
                          {.iteration = 2, .final = false, .tensors = {{"e", {2}}}}, Soon())
                    .ok());
  });
  EXPECT_EQ(ReceiveState(network.endpoint(1), 0, StatePurpose::kEvaluation, Soon()).value().tensors[0].name, "e");
  EXPECT_EQ(ReceiveState(network.endpoint(1), 0, StatePurpose::kCheckpoint, Soon()).value().tensors[0].name, "c");
  checkpoint.join();
  evaluation.join();
}

TEST(StateExchangeTest, Receive_SenderDies_EndsWithItsRank) {
  LoopbackNetwork network(2);
  network.Kill(0);
  const Result<StateMessage> got = ReceiveState(network.endpoint(1), 0, StatePurpose::kRestore, kUntilAborted);
  EXPECT_EQ(got.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(got.status().message(), testing::HasSubstr("rank 0"));
}

TEST(StateExchangeTest, Receive_ManifestThatIsNoJson_IsDataLoss) {
  LoopbackNetwork network(2);
  const std::string manifest = "{\"iteration\":";
  const std::uint64_t length = manifest.size();
  std::thread sender([&] {
    // The tags of the checkpoint stream: length, manifest.
    EXPECT_TRUE(SendAndWait(network.endpoint(0), 1, Tag(MessageKind::kState, 0, 0),
                            std::as_bytes(std::span(&length, 1)), Soon())
                    .ok());
    EXPECT_TRUE(
        SendAndWait(network.endpoint(0), 1, Tag(MessageKind::kState, 1, 0), std::as_bytes(std::span(manifest)), Soon())
            .ok());
  });
  const Result<StateMessage> got = ReceiveState(network.endpoint(1), 0, StatePurpose::kCheckpoint, Soon());
  sender.join();
  EXPECT_EQ(got.status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace weft
