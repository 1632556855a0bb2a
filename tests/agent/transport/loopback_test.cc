// What the loopback adds to a transport: links with a rate, delays, losses and deaths, and counts.
#include "agent/transport/loopback.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "agent/transport/fault.h"
#include "agent/transport/outcome.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::HasSubstr;

TimePoint In(Duration duration) { return Clock::Steady().Now() + duration; }
TimePoint Deadline() { return In(std::chrono::seconds(30)); }
Tag PushTag(int channel) { return Tag(MessageKind::kPush, channel, 0); }

// One operation and the memory it works on.
struct Operation {
  explicit Operation(std::size_t size, std::byte fill = std::byte{0}) : bytes(size, fill) {}
  void Send(Transport& transport, int to, Tag tag) {
    transport.Send(to, tag, bytes, [this](const Status& status) { outcome.Set(status); });
  }
  void Receive(Transport& transport, int from, Tag tag) {
    transport.Receive(from, tag, bytes, [this](const Status& status) { outcome.Set(status); });
  }
  Status Await(Transport& transport) { return outcome.Await(transport, Deadline(), "test"); }

  std::vector<std::byte> bytes;
  Outcome outcome;
};

LoopbackOptions OneGigabit() {
  return {.links = {{.egress_bytes_per_second = 125e6, .ingress_bytes_per_second = 125e6}}};
}

TEST(Loopback, LimitedLink_TransferTakesAtLeastBytesOverRate) {
  LoopbackNetwork network(2, OneGigabit());
  Operation receive(1'250'000);
  receive.Receive(network.endpoint(1), 0, PushTag(0));
  Operation send(1'250'000, std::byte{3});
  const TimePoint start = Clock::Steady().Now();
  send.Send(network.endpoint(0), 1, PushTag(0));
  ASSERT_EQ(receive.Await(network.endpoint(1)), OkStatus());
  EXPECT_GE(Clock::Steady().Now() - start, std::chrono::milliseconds(10));
  EXPECT_EQ(receive.bytes, send.bytes);
}

TEST(Loopback, Latency_IsAddedToTheSendersMessages) {
  LoopbackNetwork network(2, {.links = {{.latency = std::chrono::milliseconds(5)}, {}}});
  Operation receive(1);
  receive.Receive(network.endpoint(1), 0, PushTag(0));
  Operation send(1);
  const TimePoint start = Clock::Steady().Now();
  send.Send(network.endpoint(0), 1, PushTag(0));
  ASSERT_EQ(receive.Await(network.endpoint(1)), OkStatus());
  EXPECT_GE(Clock::Steady().Now() - start, std::chrono::milliseconds(5));
}

TEST(Loopback, Kill_OperationsInFlightAndLater_NameTheRank) {
  LoopbackNetwork network(3);
  Operation waiting(8);
  waiting.Receive(network.endpoint(0), 2, PushTag(0));
  Operation own(8);
  own.Receive(network.endpoint(2), 0, PushTag(1));
  network.Kill(2);
  Operation later(8);
  later.Send(network.endpoint(1), 2, PushTag(0));
  for (const Status& status :
       {waiting.Await(network.endpoint(0)), own.Await(network.endpoint(2)), later.Await(network.endpoint(1))}) {
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
    EXPECT_THAT(status.message(), HasSubstr("rank 2"));
  }
  // The others go on.
  Operation send(8);
  send.Send(network.endpoint(0), 1, PushTag(0));
  Operation receive(8);
  receive.Receive(network.endpoint(1), 0, PushTag(0));
  EXPECT_EQ(receive.Await(network.endpoint(1)), OkStatus());
  EXPECT_EQ(send.Await(network.endpoint(0)), OkStatus());
}

class LoopbackDeath : public testing::TestWithParam<double> {};

TEST_P(LoopbackDeath, InTheSecondMessage_FirstArrivesSecondEndsUnavailable) {
  LoopbackOptions options = OneGigabit();
  options.deaths = {{.rank = 0, .message = 2, .fraction = GetParam()}};
  LoopbackNetwork network(2, options);
  Operation first(100'000, std::byte{1});
  Operation second(100'000, std::byte{2});
  Operation first_in(100'000);
  Operation second_in(100'000);
  Operation third_in(8);
  first_in.Receive(network.endpoint(1), 0, PushTag(0));
  second_in.Receive(network.endpoint(1), 0, PushTag(0));
  third_in.Receive(network.endpoint(1), 0, PushTag(0));
  first.Send(network.endpoint(0), 1, PushTag(0));
  second.Send(network.endpoint(0), 1, PushTag(0));
  EXPECT_EQ(first_in.Await(network.endpoint(1)), OkStatus());
  const Status status = second_in.Await(network.endpoint(1));
  if (GetParam() < 1) {
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
    EXPECT_EQ(second.Await(network.endpoint(0)).code(), StatusCode::kUnavailable);
    const auto arrived =
        static_cast<std::size_t>(std::count(second_in.bytes.begin(), second_in.bytes.end(), std::byte{2}));
    EXPECT_EQ(arrived, static_cast<std::size_t>(GetParam() * 100'000));
  } else {
    EXPECT_EQ(status, OkStatus());
  }
  EXPECT_THAT(third_in.Await(network.endpoint(1)).message(), HasSubstr("rank 0 is gone"));
}

INSTANTIATE_TEST_SUITE_P(Fractions, LoopbackDeath, testing::Values(0, 0.5, 1));

TEST(Loopback, Cut_PeersRunIntoTheirDeadline) {
  LoopbackNetwork network(3);
  network.Cut(2);
  std::vector<std::byte> bytes(100);
  const Status sent = SendAndWait(network.endpoint(0), 2, PushTag(0), bytes, In(std::chrono::milliseconds(5)));
  EXPECT_EQ(sent.code(), StatusCode::kDeadlineExceeded) << sent;
  EXPECT_THAT(sent.message(), HasSubstr("to rank 2"));
  const Status received = ReceiveAndWait(network.endpoint(1), 2, PushTag(0), bytes, In(std::chrono::milliseconds(5)));
  EXPECT_EQ(received.code(), StatusCode::kDeadlineExceeded) << received;
  EXPECT_THAT(received.message(), HasSubstr("from rank 2"));
}

TEST(Loopback, CutInMidTransfer_AbortFreesTheBuffers) {
  LoopbackNetwork network(2, {.links = {{.egress_bytes_per_second = 1000, .ingress_bytes_per_second = 1000}}});
  Operation send(1'000'000);
  Operation receive(1'000'000);
  receive.Receive(network.endpoint(1), 0, PushTag(0));
  send.Send(network.endpoint(0), 1, PushTag(0));
  network.Cut(0);
  network.endpoint(0).Abort(InternalError("stop"));
  network.endpoint(1).Abort(InternalError("stop"));
  EXPECT_EQ(send.Await(network.endpoint(0)).code(), StatusCode::kCancelled);
  EXPECT_EQ(receive.Await(network.endpoint(1)).code(), StatusCode::kCancelled);
}

TEST(Loopback, LoseNext_ThatMessageNeverArrivesAndItsSenderKnows) {
  LoopbackNetwork network(3);
  network.LoseNext(0, 1, MessageKind::kPush);
  Operation lost(8, std::byte{1});
  Operation second(8, std::byte{2});
  Operation other_kind(8, std::byte{3});
  Operation other_peer(8, std::byte{4});
  const Tag pull(MessageKind::kPull, 0, 0);
  other_kind.Send(network.endpoint(0), 1, pull);
  other_peer.Send(network.endpoint(0), 2, PushTag(0));
  lost.Send(network.endpoint(0), 1, PushTag(0));
  second.Send(network.endpoint(0), 1, PushTag(0));
  Operation received(8);
  Operation pulled(8);
  Operation at_2(8);
  received.Receive(network.endpoint(1), 0, PushTag(0));
  pulled.Receive(network.endpoint(1), 0, pull);
  at_2.Receive(network.endpoint(2), 0, PushTag(0));
  const Status loss = lost.Await(network.endpoint(0));
  EXPECT_EQ(loss.code(), StatusCode::kUnavailable) << loss;
  EXPECT_THAT(loss.message(), HasSubstr("from rank 0 to rank 1 was lost"));
  for (Operation* one : {&second, &other_kind, &other_peer}) EXPECT_EQ(one->Await(network.endpoint(0)), OkStatus());
  ASSERT_EQ(received.Await(network.endpoint(1)), OkStatus());
  ASSERT_EQ(pulled.Await(network.endpoint(1)), OkStatus());
  ASSERT_EQ(at_2.Await(network.endpoint(2)), OkStatus());
  EXPECT_EQ(received.bytes, second.bytes);
  EXPECT_EQ(pulled.bytes, other_kind.bytes);
  EXPECT_EQ(at_2.bytes, other_peer.bytes);
}

// Which of 1,000 messages of `kind` are lost, of those that are sent one after the other over a slow link.
std::vector<bool> Losses(std::uint64_t seed, MessageKind kind) {
  LoopbackNetwork network(2, {.seed = seed, .loss_probability = 0.2, .lossy_kinds = {MessageKind::kPeer}});
  std::vector<std::unique_ptr<Operation>> sends;
  for (int i = 0; i < 1000; ++i) {
    sends.push_back(std::make_unique<Operation>(100));
    sends.back()->Send(network.endpoint(0), 1, Tag(kind, 0, 0));
  }
  std::vector<bool> lost;
  for (const auto& send : sends) lost.push_back(!send->Await(network.endpoint(0)).ok());
  return lost;
}

TEST(Loopback, LossProbability_LosesThatShareOfThoseKinds_TheSameWithOneSeed) {
  const std::vector<bool> lost = Losses(1, MessageKind::kPeer);
  // 200 expected; 62 are five standard deviations.
  EXPECT_NEAR(static_cast<double>(std::count(lost.begin(), lost.end(), true)), 200, 62);
  EXPECT_EQ(Losses(1, MessageKind::kPeer), lost);
  EXPECT_NE(Losses(2, MessageKind::kPeer), lost);
  const std::vector<bool> others = Losses(1, MessageKind::kPush);
  EXPECT_EQ(std::count(others.begin(), others.end(), true), 0);
}

TEST(Loopback, LossInMidChannel_LaterReceivesGetTheLaterMessages) {
  LoopbackNetwork network(2, {.links = {{.egress_bytes_per_second = 1e9, .ingress_bytes_per_second = 1e9}}});
  std::vector<std::unique_ptr<Operation>> sends;
  std::vector<std::unique_ptr<Operation>> receives;
  for (int i = 0; i < 5; ++i) {
    sends.push_back(std::make_unique<Operation>(200'000, std::byte(i)));
    receives.push_back(std::make_unique<Operation>(200'000));
    receives.back()->Receive(network.endpoint(1), 0, PushTag(0));
  }
  for (int i = 0; i < 5; ++i) {
    if (i == 2) network.LoseNext(0, 1, MessageKind::kPush);
    sends[static_cast<std::size_t>(i)]->Send(network.endpoint(0), 1, PushTag(0));
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(sends[static_cast<std::size_t>(i)]->Await(network.endpoint(0)).ok(), i != 2) << i;
  }
  for (int i = 0; i < 4; ++i) {
    Operation& receive = *receives[static_cast<std::size_t>(i)];
    ASSERT_EQ(receive.Await(network.endpoint(1)), OkStatus());
    EXPECT_EQ(receive.bytes, sends[static_cast<std::size_t>(i < 2 ? i : i + 1)]->bytes) << i;
  }
  network.endpoint(1).Abort(InternalError("stop"));
}

// The order in which one message for each of `tags` tags arrives, under injected delays.
std::vector<int> OrderOfArrival(int tags, std::uint64_t seed) {
  LoopbackNetwork network(2, {.seed = seed, .max_delay = std::chrono::milliseconds(20)});
  std::vector<int> order;  // of the network thread until all have arrived
  std::vector<std::unique_ptr<Operation>> sends;
  Outcome all;
  for (int i = 0; i < tags; ++i) {
    network.endpoint(1).Receive(0, PushTag(i), {}, [&order, &all, i, tags](const Status& status) {
      EXPECT_EQ(status, OkStatus());
      order.push_back(i);
      if (order.size() == static_cast<std::size_t>(tags)) all.Set(OkStatus());
    });
  }
  for (int i = 0; i < tags; ++i) {
    sends.push_back(std::make_unique<Operation>(0));
    sends.back()->Send(network.endpoint(0), 1, PushTag(i));
  }
  EXPECT_EQ(all.Await(network.endpoint(1), Deadline(), "arrivals"), OkStatus());
  return order;
}

TEST(Loopback, Delays_ReorderTagsDifferentlyWithEachSeed) {
  std::vector<int> sorted(40);
  for (int i = 0; i < 40; ++i) sorted[static_cast<std::size_t>(i)] = i;
  const std::vector<int> one = OrderOfArrival(40, 1);
  const std::vector<int> two = OrderOfArrival(40, 2);
  EXPECT_NE(one, sorted);
  EXPECT_NE(two, one);
  EXPECT_THAT(one, testing::UnorderedElementsAreArray(sorted));
}

TEST(Loopback, DelaysOnOneTag_KeepItsOrder) {
  LoopbackNetwork network(2, {.seed = 5, .max_delay = std::chrono::milliseconds(1)});
  std::vector<std::unique_ptr<Operation>> sends;
  std::vector<std::unique_ptr<Operation>> receives;
  for (int i = 0; i < 50; ++i) {
    receives.push_back(std::make_unique<Operation>(3));
    receives.back()->Receive(network.endpoint(1), 0, PushTag(0));
    sends.push_back(std::make_unique<Operation>(3, static_cast<std::byte>(i)));
    sends.back()->Send(network.endpoint(0), 1, PushTag(0));
  }
  for (std::size_t i = 0; i < receives.size(); ++i) {
    ASSERT_EQ(receives[i]->Await(network.endpoint(1)), OkStatus());
    EXPECT_EQ(receives[i]->bytes, sends[i]->bytes) << i;
  }
}

TEST(Loopback, Statistics_CountMessagesAndBytesByKind) {
  LoopbackNetwork network(2);
  Operation push(100);
  Operation pull(40);
  Operation push_in(100);
  Operation pull_in(40);
  push.Send(network.endpoint(0), 1, Tag(MessageKind::kPush, 0, 0));
  push_in.Receive(network.endpoint(1), 0, Tag(MessageKind::kPush, 0, 0));
  pull.Send(network.endpoint(1), 0, Tag(MessageKind::kPull, 0, 0));
  pull_in.Receive(network.endpoint(0), 1, Tag(MessageKind::kPull, 0, 0));
  ASSERT_EQ(push_in.Await(network.endpoint(1)), OkStatus());
  ASSERT_EQ(pull_in.Await(network.endpoint(0)), OkStatus());
  const RankStatistics server = network.statistics(1);
  EXPECT_EQ(server.ingress.messages, 1);
  EXPECT_EQ(server.ingress.bytes, 100);
  EXPECT_EQ(server.egress.bytes, 40);
  EXPECT_EQ(server.ingress.by_kind[static_cast<std::size_t>(MessageKind::kPush)].bytes, 100);
  EXPECT_EQ(server.egress.by_kind[static_cast<std::size_t>(MessageKind::kPull)].messages, 1);
  network.ResetStatistics();
  EXPECT_EQ(network.statistics(1).ingress.bytes, 0);
}

TEST(Loopback, Destruction_EndsWhatIsInFlight) {
  Operation receive(8);
  Operation send(8);
  {
    LoopbackNetwork network(2, {.links = {{.latency = std::chrono::hours(1)}}});
    receive.Receive(network.endpoint(1), 0, PushTag(0));
    send.Send(network.endpoint(0), 1, PushTag(0));
  }
  LoopbackNetwork other(1);
  EXPECT_EQ(receive.Await(other.endpoint(0)).code(), StatusCode::kCancelled);
  EXPECT_EQ(send.Await(other.endpoint(0)).code(), StatusCode::kCancelled);
}

TEST(FaultTransport, Abort_HeldSendsAreCancelled) {
  LoopbackNetwork network(2);
  FaultTransport transport(network.endpoint(0), {.max_delay = std::chrono::hours(1), .seed = 1});
  Operation send(8);
  send.Send(transport, 1, PushTag(0));
  transport.Abort(InternalError("stop"));
  EXPECT_EQ(send.Await(transport).code(), StatusCode::kCancelled);
  Operation later(8);
  later.Send(transport, 1, PushTag(0));
  EXPECT_EQ(later.Await(transport).code(), StatusCode::kCancelled);
  EXPECT_EQ(network.statistics(0).egress.messages, 0);
}

}  // namespace
}  // namespace weft
