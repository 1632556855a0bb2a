// Sums and registers over the loopback when ranks die or are cut off, and when messages are lost.
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "agent/transport/all_reduce.h"
#include "agent/transport/loopback.h"
#include "agent/transport/register_tags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/agent/transport/batch.h"

namespace weft {
namespace {

using testing::HasSubstr;

TimePoint Soon() { return Clock::Steady().Now() + std::chrono::milliseconds(20); }

template <typename RankMain>
void OnEveryRankOf(LoopbackNetwork& network, int ranks, const RankMain& rank_main) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&network, &rank_main, rank] { rank_main(network.endpoint(rank)); });
  }
  for (std::thread& thread : threads) thread.join();
}

// The registers of `ranks` ranks, made by one thread.
std::vector<std::unique_ptr<Registers>> MakeAll(LoopbackNetwork& network, int ranks, std::size_t bytes,
                                                RegisterMechanism mechanism) {
  std::vector<std::unique_ptr<Registers>> all(static_cast<std::size_t>(ranks));
  OnEveryRankOf(network, ranks, [&](Transport& transport) {
    auto made = transport.MakeRegisters({.ranks = ranks, .bytes = bytes, .mechanism = mechanism}, Deadline());
    ASSERT_TRUE(made.ok()) << made.status();
    all[static_cast<std::size_t>(transport.rank())] = std::move(made).value();
  });
  return all;
}

SharedBytes Bytes(std::size_t size) { return std::make_shared<std::vector<std::byte>>(size); }

class AllReduceTraffics : public testing::TestWithParam<std::tuple<int, std::size_t>> {};

TEST_P(AllReduceTraffics, OneSum_SendsTheStatedMessagesAndBytes) {
  const auto [ranks, floats] = GetParam();
  LoopbackNetwork network(ranks);
  OnEveryRankOf(network, ranks, [ranks = ranks, floats = floats](Transport& transport) {
    std::vector<float> data(floats, 1.0F);
    ASSERT_EQ(AllReduceAndWait(transport, data, ranks, Deadline()), OkStatus());
  });
  std::int64_t bytes = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const AllReduceTraffic stated = AllReduceTrafficOf(floats, ranks, rank);
    const LinkStatistics sent = network.statistics(rank).egress;
    EXPECT_EQ(sent.messages, stated.messages) << "rank " << rank;
    EXPECT_EQ(sent.bytes, stated.bytes) << "rank " << rank;
    bytes += sent.bytes;
  }
  // 2(n - 1)/n of the data for each of n ranks.
  EXPECT_EQ(bytes, static_cast<std::int64_t>(floats * sizeof(float)) * 2 * (ranks - 1));
}

INSTANTIATE_TEST_SUITE_P(RanksAndSizes, AllReduceTraffics,
                         testing::Combine(testing::Values(1, 2, 3, 8), testing::Values(0, 1, 7, 65'537, 1'000'000)));

TEST(AllReduceFaults, RankDiesInMidSum_AllOthersEndWithUnavailable) {
  constexpr int kRanks = 5;
  for (const int message : {1, 3, 8}) {
    LoopbackNetwork network(kRanks, {.deaths = {{.rank = 2, .message = message, .fraction = 0.5}}});
    OnEveryRankOf(network, kRanks, [](Transport& transport) {
      std::vector<float> data(1'000'000, 1.0F);
      const Status status = AllReduceAndWait(transport, data, kRanks, Deadline());
      EXPECT_EQ(status.code(), StatusCode::kUnavailable) << "rank " << transport.rank() << ": " << status;
    });
  }
}

TEST(AllReduceFaults, MessageLost_AllEndWithUnavailable) {
  constexpr int kRanks = 4;
  LoopbackNetwork network(kRanks);
  network.LoseNext(1, 2, MessageKind::kReduce);
  OnEveryRankOf(network, kRanks, [](Transport& transport) {
    std::vector<float> data(100'000, 1.0F);
    const Status status = AllReduceAndWait(transport, data, kRanks, Deadline());
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << "rank " << transport.rank() << ": " << status;
  });
}

TEST(AllReduceFaults, AbortInMidSum_BuffersAreFreeWhenItReturns) {
  constexpr int kRanks = 3;
  for (int steps = 0; steps < 40; steps += 2) {
    LoopbackNetwork network(kRanks);
    std::vector<std::vector<float>> data(kRanks, std::vector<float>(300'000, 1.0F));
    std::vector<std::unique_ptr<Batch>> ended;
    for (int rank = 0; rank < kRanks; ++rank) {
      ended.push_back(std::make_unique<Batch>());
      for (std::size_t i = 0; i < 3; ++i) {
        const std::span<float> part = std::span(data[static_cast<std::size_t>(rank)]).subspan(i * 100'000, 100'000);
        network.endpoint(rank).AllReduce(part, kRanks, ended.back()->Expect("sum"));
      }
    }
    for (int i = 0; i < steps; ++i) network.statistics(0);  // lets the network go on
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      network.endpoint(static_cast<int>(rank)).Abort(InternalError("stop"));
      EXPECT_FALSE(ended[rank]->pending()) << "after " << steps << " steps";
      // What touches them later is found by the address sanitizer.
      ended[rank].reset();
      data[rank] = {};
    }
  }
}

TEST(AllReduceFaults, RankCutOff_OthersRunIntoTheirDeadline) {
  LoopbackNetwork network(3);
  network.Cut(2);
  OnEveryRankOf(network, 2, [](Transport& transport) {
    std::vector<float> data(1000, 1.0F);
    const Status status = AllReduceAndWait(transport, data, 3, Soon());
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(status.message(), HasSubstr("summing 1000 floats over 3 ranks"));
  });
}

TEST(RegistersFaults, RankDoesNotCome_OthersNameIt) {
  LoopbackNetwork network(3);
  OnEveryRankOf(network, 2, [](Transport& transport) {
    const auto made = transport.MakeRegisters({.ranks = 3, .bytes = 64}, Soon());
    EXPECT_EQ(made.status().code(), StatusCode::kDeadlineExceeded) << made.status();
    EXPECT_THAT(made.status().message(), HasSubstr("rank 2 did not come"));
  });
}

class RegistersDeath : public testing::TestWithParam<RegisterMechanism> {};

TEST_P(RegistersDeath, RankDies_OperationsWithItAreUnavailableAndOthersGoOn) {
  LoopbackNetwork network(3);
  const auto all = MakeAll(network, 3, 64, GetParam());
  network.Kill(2);
  network.statistics(0);  // waits until it is dead
  const Status read = GetAndWait(*all[0], 2, 0, Bytes(64), Deadline());
  EXPECT_EQ(read.code(), StatusCode::kUnavailable) << read;
  EXPECT_THAT(read.message(), HasSubstr("rank 2 is gone"));
  EXPECT_EQ(PutAndWait(*all[0], 2, 0, Bytes(64), Deadline()).code(), StatusCode::kUnavailable);
  EXPECT_EQ(FetchAndWait(*all[0], 2, 0, FetchOperation::kAdd, 1, Deadline()).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(GetAndWait(*all[0], 1, 0, Bytes(64), Deadline()), OkStatus());
  EXPECT_EQ(PutAndWait(*all[1], 0, 0, Bytes(64), Deadline()), OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, RegistersDeath,
                         testing::Values(RegisterMechanism::kSharedMemory, RegisterMechanism::kService));

TEST(RegistersFaults, ServiceOfARankCutOff_RunsIntoTheDeadlineAndHoldsUpNoOther) {
  LoopbackNetwork network(3);
  const auto all = MakeAll(network, 3, 64, RegisterMechanism::kService);
  network.Cut(2);
  // More than there are slots: the last ones wait.
  std::vector<std::unique_ptr<Batch>> never;
  for (int i = 0; i < 300; ++i) {
    never.push_back(std::make_unique<Batch>());
    all[0]->Get(2, 0, Bytes(64), never.back()->Expect("get"));
  }
  const Status read = GetAndWait(*all[0], 2, 0, Bytes(64), Soon());
  EXPECT_EQ(read.code(), StatusCode::kDeadlineExceeded) << read;
  EXPECT_THAT(read.message(), HasSubstr("reading rank 2's register"));
  const auto word = FetchAndWait(*all[0], 2, 0, FetchOperation::kAdd, 1, Soon());
  EXPECT_THAT(word.status().message(), HasSubstr("changing a word of rank 2's register"));
  EXPECT_EQ(GetAndWait(*all[0], 1, 0, Bytes(64), Deadline()), OkStatus());
  EXPECT_EQ(PutAndWait(*all[1], 0, 0, Bytes(64), Deadline()), OkStatus());
  network.endpoint(0).Abort(InternalError("stop"));
  for (const auto& one : never) EXPECT_TRUE(one->Wait());
}

TEST(RegistersFaults, SharedMemoryOfARankCutOff_IsReadAsBefore) {
  LoopbackNetwork network(2);
  const auto all = MakeAll(network, 2, 64, RegisterMechanism::kSharedMemory);
  network.Cut(1);
  StoreWord(all[1]->local(), 8, 5);
  const auto word = FetchAndWait(*all[0], 1, 8, FetchOperation::kAdd, 1, Deadline());
  ASSERT_TRUE(word.ok()) << word.status();
  EXPECT_EQ(*word, 5U);
}

TEST(RegistersFaults, RequestLost_OperationSaysSoAndIsNotCarriedOut) {
  LoopbackNetwork network(2);
  const auto all = MakeAll(network, 2, 64, RegisterMechanism::kService);
  network.LoseNext(0, 1, MessageKind::kRegister);
  const auto lost = FetchAndWait(*all[0], 1, 0, FetchOperation::kAdd, 1, Deadline());
  EXPECT_EQ(lost.status().code(), StatusCode::kUnavailable) << lost.status();
  EXPECT_THAT(lost.status().message(), HasSubstr("was lost"));
  // Nothing of it is left to be mistaken for a later one's.
  const auto next = FetchAndWait(*all[0], 1, 0, FetchOperation::kAdd, 1, Deadline());
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(*next, 0U);
}

TEST(RegistersFaults, AnswerLost_IsSentAgainAndTheOperationCarriedOutOnce) {
  LoopbackNetwork network(2);
  const auto all = MakeAll(network, 2, 64, RegisterMechanism::kService);
  for (std::uint64_t i = 0; i < 10; ++i) {
    network.LoseNext(1, 0, MessageKind::kRegister);
    network.LoseNext(1, 0, MessageKind::kRegister);
    const auto before = FetchAndWait(*all[0], 1, 0, FetchOperation::kAdd, 1, Deadline());
    ASSERT_TRUE(before.ok()) << before.status();
    EXPECT_EQ(*before, i);
  }
}

TEST(RegistersFaults, DataLost_IsSentAgain) {
  LoopbackNetwork network(2, {.links = {{.latency = std::chrono::milliseconds(5)}}});
  const auto all = MakeAll(network, 2, 64, RegisterMechanism::kService);
  const SharedBytes data = Bytes(64);
  std::memset(data->data(), 7, data->size());
  Batch batch;
  all[0]->Put(1, 0, data, batch.Expect("put"));
  // The request is on its way; the data leaves when it has arrived.
  network.LoseNext(0, 1, MessageKind::kRegister);
  ASSERT_TRUE(batch.Wait());
  EXPECT_THAT(batch.errors(), testing::IsEmpty());
  EXPECT_EQ(LoadWord(all[1]->local(), 56), 0x0707070707070707U);
}

// A rank that has gone mad takes no other with it, and others are served.
TEST(RegistersFaults, RequestBeyondTheRegister_IsNotCarriedOutAndItsSenderServedNoMore) {
  LoopbackNetwork network(3);
  const auto all = MakeAll(network, 3, 64, RegisterMechanism::kService);
  std::vector<std::byte> request(40, std::byte{0xff});
  ASSERT_EQ(SendAndWait(network.endpoint(1), 0, RegisterTag(0, RegisterChannel::kRequest, 0), request, Deadline()),
            OkStatus());
  EXPECT_EQ(GetAndWait(*all[1], 0, 0, Bytes(8), Soon()).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(GetAndWait(*all[2], 0, 0, Bytes(8), Deadline()), OkStatus());
  for (const std::byte one : all[0]->local()) EXPECT_EQ(one, std::byte{0});
}

TEST(RegistersFaults, OwnerLetsItsRegistersGo_OthersStillReadThem) {
  for (const RegisterMechanism mechanism : {RegisterMechanism::kSharedMemory, RegisterMechanism::kService}) {
    LoopbackNetwork network(2);
    auto all = MakeAll(network, 2, 64, mechanism);
    StoreWord(all[1]->local(), 16, 9);
    all[1].reset();
    const auto word = FetchAndWait(*all[0], 1, 16, FetchOperation::kOr, 0, Deadline());
    ASSERT_TRUE(word.ok()) << word.status();
    EXPECT_EQ(*word, 9U);
  }
}

}  // namespace
}  // namespace weft
