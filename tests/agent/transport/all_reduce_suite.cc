// What every Transport's AllReduce must do. Runs on 2 ranks or more.
#include <cstring>
#include <tuple>
#include <vector>

#include "agent/transport/all_reduce.h"
#include "agent/transport/fault.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/agent/transport/batch.h"
#include "tests/agent/transport/every_rank.h"

namespace weft {
namespace {

// Values whose sum over ranks is not exact, so that the order of additions shows in its bits.
float ValueOf(int rank, std::size_t i, int salt = 0) {
  return static_cast<float>(rank + 1) * 0.1F +
         static_cast<float>((i * 37 + static_cast<std::size_t>(salt) * 11) % 1009) * 0.37F;
}

std::vector<float> DataOf(int rank, std::size_t size, int salt = 0) {
  std::vector<float> data(size);
  for (std::size_t i = 0; i < size; ++i) data[i] = ValueOf(rank, i, salt);
  return data;
}

void ExpectSum(const std::vector<float>& data, int ranks, int salt = 0) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    double sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += ValueOf(rank, i, salt);
    ASSERT_NEAR(data[i], sum, 1e-5 * sum) << "element " << i;
  }
}

// Every rank's bits are rank 0's.
void ExpectSameEverywhere(Transport& transport, const std::vector<float>& data, int ranks) {
  const Tag tag(MessageKind::kState, 0, 0);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data));
  if (transport.rank() == 0) {
    for (int peer = 1; peer < ranks; ++peer)
      ASSERT_EQ(SendAndWait(transport, peer, tag, bytes, Deadline()), OkStatus());
    return;
  }
  std::vector<std::byte> of_rank_0(bytes.size());
  ASSERT_EQ(ReceiveAndWait(transport, 0, tag, of_rank_0, Deadline()), OkStatus());
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), of_rank_0.begin()));
}

class AllReduceSizes : public testing::TestWithParam<std::size_t> {};

TEST_P(AllReduceSizes, AllRanks_EachHasTheSumInTheSameBits) {
  const std::size_t size = GetParam();
  OnEveryRank([size](Transport& transport) {
    std::vector<float> data = DataOf(transport.rank(), size);
    ASSERT_EQ(AllReduceAndWait(transport, data, transport.world_size(), Deadline()), OkStatus());
    ExpectSum(data, transport.world_size());
    ExpectSameEverywhere(transport, data, transport.world_size());
  });
}

// 65,536 floats are one chunk of the ring; the last size has several in each segment, and windows of them.
INSTANTIATE_TEST_SUITE_P(Sizes, AllReduceSizes,
                         testing::Values(0, 1, 2, 3, 5, 1000, 65'536, 262'144, 262'147, 3'000'001));

TEST(AllReduceSuite, OneRank_DataStaysAsItIs) {
  OnEveryRank([](Transport& transport) {
    if (transport.rank() > 0) return;
    std::vector<float> data = DataOf(0, 100);
    ASSERT_EQ(AllReduceAndWait(transport, data, 1, Deadline()), OkStatus());
    EXPECT_EQ(data, DataOf(0, 100));
  });
}

TEST(AllReduceSuite, FirstTwoRanks_OthersTakeNoPart) {
  OnEveryRank([](Transport& transport) {
    std::vector<float> data = DataOf(transport.rank(), 501);
    if (transport.rank() < 2) {
      ASSERT_EQ(AllReduceAndWait(transport, data, 2, Deadline()), OkStatus());
      ExpectSum(data, 2);
    }
    // The numbers of sums that ranks have started differ now.
    std::vector<float> all = DataOf(transport.rank(), 77);
    ASSERT_EQ(AllReduceAndWait(transport, all, transport.world_size(), Deadline()), OkStatus());
    ExpectSum(all, transport.world_size());
  });
}

TEST(AllReduceSuite, SeveralInFlight_EachHasItsOwnSum) {
  constexpr int kSums = 20;
  OnEveryRank([](Transport& transport) {
    std::vector<std::vector<float>> data;
    for (int i = 0; i < kSums; ++i) data.push_back(DataOf(transport.rank(), static_cast<std::size_t>(i * 7001), i));
    Batch batch;
    for (std::vector<float>& one : data) transport.AllReduce(one, transport.world_size(), batch.Expect("sum"));
    ASSERT_TRUE(batch.Wait());
    EXPECT_THAT(batch.errors(), testing::IsEmpty());
    for (int i = 0; i < kSums; ++i) ExpectSum(data[static_cast<std::size_t>(i)], transport.world_size(), i);
  });
}

TEST(AllReduceSuite, StartedByACompletion_Ends) {
  OnEveryRank([](Transport& transport) {
    std::vector<float> first = DataOf(transport.rank(), 1000);
    std::vector<float> second = DataOf(transport.rank(), 2000);
    Batch batch;
    const Completion second_ended = batch.Expect("second");
    const Completion first_ended = batch.Expect("first");
    transport.AllReduce(first, transport.world_size(), [&](const Status& status) {
      transport.AllReduce(second, transport.world_size(), second_ended);
      first_ended(status);
    });
    ASSERT_TRUE(batch.Wait());
    EXPECT_THAT(batch.errors(), testing::IsEmpty());
    ExpectSum(first, transport.world_size());
    ExpectSum(second, transport.world_size());
  });
}

TEST(AllReduceSuite, DelayedSends_SameSum) {
  OnEveryRank([](Transport& below) {
    FaultTransport transport(below, {.max_delay = std::chrono::microseconds(300), .seed = 5});
    std::vector<std::vector<float>> data;
    for (int i = 0; i < 4; ++i) data.push_back(DataOf(transport.rank(), 300'000, i));
    Batch batch;
    for (std::vector<float>& one : data) transport.AllReduce(one, transport.world_size(), batch.Expect("sum"));
    ASSERT_TRUE(batch.Wait());
    EXPECT_THAT(batch.errors(), testing::IsEmpty());
    for (int i = 0; i < 4; ++i) ExpectSum(data[static_cast<std::size_t>(i)], transport.world_size(), i);
  });
}

// So small that MPI takes every send at once: whoever shuts down afterwards finds no buffer left behind. What larger
// sums leave is mpi_failure_ranks' sum-without-peers.
TEST(TransportEnd, AllReduce_PeersDoNotCome_AbortEndsItWithTheCause) {
  constexpr std::size_t kFloats = 600;
  OnEveryRank([](Transport& transport) {
    if (transport.rank() > 0) return;
    std::vector<float> data(3 * kFloats, 1.0F);
    Batch batch;
    for (std::size_t i = 0; i < 3; ++i) {
      transport.AllReduce(std::span(data).subspan(i * kFloats, kFloats), transport.world_size(), batch.Expect("sum"));
    }
    transport.Abort(InternalError("a test ends here"));
    const std::vector<Status> errors = batch.errors();
    ASSERT_EQ(errors.size(), 3U);
    for (const Status& error : errors) {
      EXPECT_EQ(error.code(), StatusCode::kCancelled) << error;
      EXPECT_THAT(error.message(), testing::HasSubstr("a test ends here"));
    }
    EXPECT_EQ(AllReduceAndWait(transport, data, transport.world_size(), Deadline()).code(), StatusCode::kCancelled);
    EXPECT_EQ(AllReduceAndWait(transport, data, 1, Deadline()).code(), StatusCode::kCancelled);
  });
}

}  // namespace
}  // namespace weft
