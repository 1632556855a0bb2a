// What every Transport must do. Runs on 2 ranks or more.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "agent/transport/fault.h"
#include "agent/transport/probe.h"
#include "agent/transport/transport.h"
#include "common/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/agent/transport/batch.h"
#include "tests/agent/transport/every_rank.h"

namespace weft {
namespace {

Tag PushTag(int channel, std::int64_t round = 0) { return Tag(MessageKind::kPush, channel, round); }

// Bytes that depend on all of the arguments.
std::vector<std::byte> Pattern(std::size_t size, int from, int salt) {
  std::vector<std::byte> bytes(size);
  std::uint64_t state = static_cast<std::uint64_t>(from * 7919 + salt * 104729 + 1);
  for (std::size_t i = 0; i < size; i += sizeof(state)) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::memcpy(&bytes[i], &state, std::min(sizeof(state), size - i));
  }
  return bytes;
}

class TransportSizes : public testing::TestWithParam<std::size_t> {};

TEST_P(TransportSizes, EveryPairBothWays_BytesArrive) {
  const std::size_t size = GetParam();
  OnEveryRank([size](Transport& transport) {
    const int rank = transport.rank();
    const int ranks = transport.world_size();
    std::vector<std::vector<std::byte>> sent(static_cast<std::size_t>(ranks));
    std::vector<std::vector<std::byte>> received(static_cast<std::size_t>(ranks));
    Batch batch;
    for (int peer = 0; peer < ranks; ++peer) {
      const auto p = static_cast<std::size_t>(peer);
      sent[p] = Pattern(size, rank, peer);
      received[p].resize(size);
      if (peer == rank) continue;
      transport.Receive(peer, PushTag(1), received[p], batch.Expect("receive"));
      transport.Send(peer, PushTag(1), sent[p], batch.Expect("send"));
    }
    ASSERT_TRUE(batch.Wait());
    EXPECT_THAT(batch.errors(), testing::IsEmpty());
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      EXPECT_TRUE(received[static_cast<std::size_t>(peer)] == Pattern(size, peer, rank)) << "from " << peer;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, TransportSizes, testing::Values(0, 1, 3, 1000, 4097, 100001, 4 << 20));

TEST(TransportSuite, World_RanksAreNumbered) {
  OnEveryRank([](Transport& transport) {
    EXPECT_EQ(transport.world_size(), TestWorldSize());
    EXPECT_GE(transport.rank(), 0);
    EXPECT_LT(transport.rank(), transport.world_size());
    EXPECT_FALSE(transport.description().empty());
  });
}

TEST(TransportSuite, ManyInFlight_EachReachesItsBuffer) {
  constexpr int kMessages = 300;
  OnEveryRank([](Transport& transport) {
    const int next = (transport.rank() + 1) % transport.world_size();
    const int previous = (transport.rank() + transport.world_size() - 1) % transport.world_size();
    std::vector<std::vector<std::byte>> sent(kMessages);
    std::vector<std::vector<std::byte>> received(kMessages);
    const auto size_of = [](int i) { return static_cast<std::size_t>(i * 37 % 5000); };
    Batch batch;
    for (int i = 0; i < kMessages; ++i) {
      const auto n = static_cast<std::size_t>(i);
      sent[n] = Pattern(size_of(i), transport.rank(), i);
      received[n].resize(size_of(i));
      // Half of the receives are posted before their messages are sent, the others after.
      if (i % 2 == 0) transport.Receive(previous, PushTag(i), received[n], batch.Expect("receive"));
      transport.Send(next, PushTag(i), sent[n], batch.Expect("send"));
    }
    for (int i = kMessages - 1; i > 0; i -= 2) {
      transport.Receive(previous, PushTag(i), received[static_cast<std::size_t>(i)], batch.Expect("late receive"));
    }
    ASSERT_TRUE(batch.Wait());
    EXPECT_THAT(batch.errors(), testing::IsEmpty());
    for (int i = 0; i < kMessages; ++i) {
      EXPECT_TRUE(received[static_cast<std::size_t>(i)] == Pattern(size_of(i), previous, i)) << "message " << i;
    }
  });
}

TEST(TransportSuite, OneTag_MessagesKeepTheirOrder) {
  constexpr int kMessages = 200;
  OnEveryRank([](Transport& transport) {
    const int next = (transport.rank() + 1) % transport.world_size();
    const int previous = (transport.rank() + transport.world_size() - 1) % transport.world_size();
    std::vector<std::int64_t> sent(kMessages);
    std::vector<std::int64_t> received(kMessages, -1);
    Batch batch;
    for (std::size_t i = 0; i < kMessages; ++i) {
      sent[i] = static_cast<std::int64_t>(i);
      transport.Send(next, PushTag(7), std::as_bytes(std::span(&sent[i], 1)), batch.Expect("send"));
      transport.Receive(previous, PushTag(7), std::as_writable_bytes(std::span(&received[i], 1)),
                        batch.Expect("receive"));
    }
    ASSERT_TRUE(batch.Wait());
    EXPECT_THAT(batch.errors(), testing::IsEmpty());
    EXPECT_EQ(received, sent);
  });
}

TEST(TransportSuite, LargeThenSmallOnOneTag_KeepTheirOrder) {
  OnEveryRank([](Transport& transport) {
    if (transport.rank() > 1) return;
    const int peer = 1 - transport.rank();
    const std::vector<std::size_t> sizes = {3 << 20, 8, 70000, 0, 1};
    std::vector<std::vector<std::byte>> sent;
    std::vector<std::vector<std::byte>> received;
    Batch batch;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sent.push_back(Pattern(sizes[i], transport.rank(), static_cast<int>(i)));
      received.emplace_back(sizes[i]);
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      transport.Send(peer, PushTag(4095), sent[i], batch.Expect("send"));
      transport.Receive(peer, PushTag(4095), received[i], batch.Expect("receive"));
    }
    ASSERT_TRUE(batch.Wait());
    EXPECT_THAT(batch.errors(), testing::IsEmpty());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_TRUE(received[i] == Pattern(sizes[i], peer, static_cast<int>(i))) << "message " << i;
    }
  });
}

TEST(TransportSuite, TagsAndRounds_AreMatchedNotArrivalOrder) {
  OnEveryRank([](Transport& transport) {
    if (transport.rank() > 1) return;
    const int peer = 1 - transport.rank();
    const std::vector<Tag> tags = {Tag(MessageKind::kControl, 0, 0), Tag(MessageKind::kPush, 0, 0),
                                   Tag(MessageKind::kPush, 0, 255), Tag(MessageKind::kPull, 4095, 0),
                                   Tag(MessageKind::kProbe, 4095, 255)};
    std::vector<int> sent(tags.size());
    std::vector<int> received(tags.size(), -1);
    Batch batch;
    for (std::size_t i = 0; i < tags.size(); ++i) {
      sent[i] = static_cast<int>(100 + i);
      transport.Send(peer, tags[i], std::as_bytes(std::span(&sent[i], 1)), batch.Expect("send"));
    }
    for (std::size_t i = tags.size(); i-- > 0;) {
      transport.Receive(peer, tags[i], std::as_writable_bytes(std::span(&received[i], 1)), batch.Expect("receive"));
    }
    ASSERT_TRUE(batch.Wait());
    EXPECT_THAT(batch.errors(), testing::IsEmpty());
    EXPECT_EQ(received, sent);
  });
}

TEST(TransportSuite, CompletionsStartOperations_PingPongEnds) {
  constexpr int kTurns = 500;
  OnEveryRank([](Transport& transport) {
    if (transport.rank() > 1) return;
    const int peer = 1 - transport.rank();
    struct Game {
      std::int64_t ball = 0;
      std::function<void()> receive;
    };
    auto game = std::make_shared<Game>();
    Batch batch;
    const Completion ended = batch.Expect("game");
    const auto bytes = [game] { return std::as_writable_bytes(std::span(&game->ball, 1)); };
    // Each side passes the ball on from the completion of its receive, one higher.
    const auto send = [&transport, peer, game, bytes, ended] {
      transport.Send(peer, PushTag(3), bytes(), [game, ended](const Status& status) {
        if (!status.ok() || game->ball >= kTurns) return ended(status);
        game->receive();
      });
    };
    game->receive = [&transport, peer, game, bytes, ended, send] {
      transport.Receive(peer, PushTag(3), bytes(), [game, ended, send](const Status& status) {
        if (!status.ok() || game->ball > kTurns) return ended(status);
        ++game->ball;
        send();
      });
    };
    if (transport.rank() == 0) {
      send();
    } else {
      game->receive();
    }
    ASSERT_TRUE(batch.Wait());
    EXPECT_THAT(batch.errors(), testing::IsEmpty());
    EXPECT_GE(game->ball, kTurns - 1);
    game->receive = nullptr;
  });
}

TEST(TransportSuite, OtherSize_IsDataLoss) {
  OnEveryRank([](Transport& transport) {
    if (transport.rank() > 1) return;
    const int peer = 1 - transport.rank();
    const std::vector<std::byte> sent = Pattern(100, transport.rank(), 0);
    std::vector<std::byte> shorter(99);
    std::vector<std::byte> longer(101);
    std::vector<std::byte> right(100);
    Batch sends;
    for (int i = 0; i < 3; ++i) transport.Send(peer, PushTag(5), sent, sends.Expect("send"));
    const Status too_short = ReceiveAndWait(transport, peer, PushTag(5), shorter, Deadline());
    const Status too_long = ReceiveAndWait(transport, peer, PushTag(5), longer, Deadline());
    EXPECT_EQ(too_short.code(), StatusCode::kDataLoss) << too_short;
    EXPECT_EQ(too_long.code(), StatusCode::kDataLoss) << too_long;
    EXPECT_EQ(ReceiveAndWait(transport, peer, PushTag(5), right, Deadline()), OkStatus());
    EXPECT_TRUE(right == Pattern(100, peer, 0));
    ASSERT_TRUE(sends.Wait());
  });
}

TEST(TransportSuite, SendAndReceiveAndWait_Succeed) {
  OnEveryRank([](Transport& transport) {
    if (transport.rank() > 1) return;
    const int peer = 1 - transport.rank();
    const std::vector<std::byte> sent = Pattern(200000, transport.rank(), 1);
    std::vector<std::byte> received(200000);
    if (transport.rank() == 0) {
      EXPECT_EQ(SendAndWait(transport, peer, PushTag(2), sent, Deadline()), OkStatus());
      EXPECT_EQ(ReceiveAndWait(transport, peer, PushTag(2), received, Deadline()), OkStatus());
    } else {
      EXPECT_EQ(ReceiveAndWait(transport, peer, PushTag(2), received, Deadline()), OkStatus());
      EXPECT_EQ(SendAndWait(transport, peer, PushTag(2), sent, Deadline()), OkStatus());
    }
    EXPECT_TRUE(received == Pattern(200000, peer, 1));
  });
}

TEST(TransportSuite, Probe_BothEnds_GivesATimeForEachSize) {
  OnEveryRank([](Transport& transport) {
    if (transport.rank() > 1) return;
    const int peer = 1 - transport.rank();
    if (transport.rank() == 1) {
      EXPECT_EQ(ProbeAsPonger(transport, peer, Deadline()), OkStatus());
      return;
    }
    const Result<std::vector<ProbeSample>> samples = ProbeAsPinger(transport, peer, Clock::Steady(), Deadline());
    ASSERT_TRUE(samples.ok()) << samples.status();
    ASSERT_GE(samples->size(), 2U);
    std::int64_t bytes = 1024;
    for (const ProbeSample& sample : *samples) {
      EXPECT_EQ(sample.bytes, bytes);
      EXPECT_GT(sample.seconds, 0);
      EXPECT_LT(sample.seconds, ToSeconds(kTestLimit));
      bytes *= 4;
    }
  });
}

TEST(TransportSuite, DelayedSends_ArriveWholeAndInTheOrderOfTheirTag) {
  constexpr std::size_t kMessages = 60;
  OnEveryRank([](Transport& below) {
    if (below.rank() > 1) return;
    FaultTransport transport(below, {.max_delay = std::chrono::microseconds(500), .seed = 3});
    const int peer = 1 - transport.rank();
    std::vector<std::size_t> sent(kMessages);
    std::vector<std::size_t> received(kMessages);
    Batch batch;
    for (std::size_t i = 0; i < kMessages; ++i) {
      sent[i] = i;
      // Three tags, so that messages overtake each other.
      const Tag tag = PushTag(static_cast<int>(i % 3));
      transport.Send(peer, tag, std::as_bytes(std::span(&sent[i], 1)), batch.Expect("send"));
      transport.Receive(peer, tag, std::as_writable_bytes(std::span(&received[i], 1)), batch.Expect("receive"));
    }
    ASSERT_TRUE(batch.Wait());
    EXPECT_THAT(batch.errors(), testing::IsEmpty());
    EXPECT_EQ(received, sent);
  });
}

// The tests that leave the transport aborted: each runs in processes of its own where the ranks are processes.

TEST(TransportEnd, Abort_EverythingInFlightAndLater_IsCancelledWithTheCause) {
  OnEveryRank([](Transport& transport) {
    const int peer = (transport.rank() + 1) % transport.world_size();
    std::vector<std::byte> buffer(5000);
    Batch batch;
    for (int i = 0; i < 5; ++i) {
      transport.Receive(peer, PushTag(i), std::span(buffer).subspan(static_cast<std::size_t>(i) * 1000, 1000),
                        batch.Expect("receive"));
    }
    transport.Abort(InternalError("a test ends here"));
    // All have run by now: there is nothing to wait for.
    const std::vector<Status> errors = batch.errors();
    ASSERT_EQ(errors.size(), 5U);
    for (const Status& error : errors) {
      EXPECT_EQ(error.code(), StatusCode::kCancelled) << error;
      EXPECT_THAT(error.message(), testing::HasSubstr("a test ends here"));
    }
    EXPECT_EQ(SendAndWait(transport, peer, PushTag(9), buffer, Deadline()).code(), StatusCode::kCancelled);
    EXPECT_EQ(ReceiveAndWait(transport, peer, PushTag(9), buffer, Deadline()).code(), StatusCode::kCancelled);
  });
}

TEST(TransportEnd, ReceiveAndWait_NothingComes_NamesThePeer) {
  OnEveryRank([](Transport& transport) {
    const int peer = (transport.rank() + 1) % transport.world_size();
    std::vector<std::byte> buffer(10);
    const TimePoint soon = Clock::Steady().Now() + std::chrono::milliseconds(20);
    const Status status = ReceiveAndWait(transport, peer, PushTag(0), buffer, soon);
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(status.message(), testing::HasSubstr("receiving 10 bytes from rank " + std::to_string(peer)));
  });
}

TEST(TransportEnd, Probe_PeerDoesNotCome_NamesThePeer) {
  OnEveryRank([](Transport& transport) {
    if (transport.rank() != 0) return;
    const TimePoint soon = Clock::Steady().Now() + std::chrono::milliseconds(20);
    const Result<std::vector<ProbeSample>> samples = ProbeAsPinger(transport, 1, Clock::Steady(), soon);
    EXPECT_EQ(samples.status().code(), StatusCode::kDeadlineExceeded) << samples.status();
    EXPECT_THAT(samples.status().message(), testing::HasSubstr("rank 1"));
  });
}

}  // namespace
}  // namespace weft
