// Who waits for whom, and for how long: one node's pace over registers that are held, as those of a peer that stands
// still.
#include "agent/dataplane/swarm_pace.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "agent/dataplane/swarm_layout.h"
#include "tests/agent/dataplane/direct_registers.h"
#include "tests/agent/dataplane/held_registers.h"

namespace weft {
namespace {

constexpr std::array<int, 2> kOthers = {1, 2};

class SwarmPaceTest : public testing::Test {
 protected:
  SwarmPace Make(std::int64_t max_lead, Duration patience) {
    return SwarmPace({.max_lead = max_lead, .patience = patience}, kOthers, held_, Clock::Steady());
  }
  void Tell(int rank, std::int64_t iteration) {
    StoreWord(memory_.of(rank), kIterationOffset, static_cast<std::uint64_t>(iteration));
  }

  const DirectMemory memory_{3, kHeaderBytes};
  DirectRegisters registers_{memory_, 0};
  HeldRegisters held_{registers_};
};

constexpr Duration kLong = std::chrono::minutes(1);

TEST_F(SwarmPaceTest, Tell_IsWhatTheOthersRead) {
  Make(4, kLong).Tell(7);
  EXPECT_EQ(LoadWord(memory_.of(0), kIterationOffset), 7U);
}

TEST_F(SwarmPaceTest, WithinTheLead_NobodyIsReadAndNobodyWaitedFor) {
  SwarmPace pace = Make(4, kLong);
  pace.Await(4);
  EXPECT_EQ(pace.traffic().operations, 0);
}

TEST_F(SwarmPaceTest, WithoutALead_NobodyIsReadAndNobodyWaitedFor) {
  SwarmPace pace = Make(0, kLong);
  pace.Await(1000);
  EXPECT_EQ(pace.traffic().operations, 0);
}

// What was read holds as long as it proves that nobody is too far behind.
TEST_F(SwarmPaceTest, NeighboursAreReadOnceInALead) {
  Tell(1, 10);
  Tell(2, 12);
  SwarmPace pace = Make(4, kLong);
  for (std::int64_t t = 5; t <= 14; ++t) pace.Await(t);
  EXPECT_EQ(pace.traffic().operations, 2);
  EXPECT_EQ(pace.traffic().received_bytes, 16);
}

TEST_F(SwarmPaceTest, TooFarAhead_WaitsForTheSlowest) {
  Tell(1, 20);
  Tell(2, 5);
  SwarmPace pace = Make(4, kLong);
  std::atomic<std::int64_t> slowest = 5;
  std::thread other([&] {
    for (std::int64_t t = 6; t <= 16; ++t) {
      slowest = t;
      Tell(2, t);
      std::this_thread::yield();
    }
  });
  pace.Await(20);
  EXPECT_EQ(slowest, 16);
  other.join();
}

TEST_F(SwarmPaceTest, NeighbourThatDoesNotGoOn_CostsOnePatience) {
  Tell(1, 100);
  SwarmPace pace = Make(4, std::chrono::milliseconds(20));
  pace.Await(10);  // ends, although rank 2 is at 0
  const std::int64_t looks = pace.traffic().operations;
  pace.Await(11);
  EXPECT_EQ(pace.traffic().operations, looks + 1) << "one look whether it goes on, and no wait";
}

TEST_F(SwarmPaceTest, NeighbourThatGoesOnAgain_IsWaitedForAgain) {
  Tell(1, 100);
  SwarmPace pace = Make(4, std::chrono::milliseconds(20));
  pace.Await(10);
  Tell(2, 2);
  const std::int64_t looks = pace.traffic().operations;
  pace.Await(11);  // for 20 ms, with a look a millisecond
  EXPECT_GT(pace.traffic().operations, looks + 1);
}

TEST_F(SwarmPaceTest, ReadThatDoesNotEnd_CostsOnePatience) {
  Tell(1, 100);
  held_.HoldAfter(2, 0);
  SwarmPace pace = Make(4, std::chrono::milliseconds(20));
  pace.Await(10);
  pace.Await(11);
  EXPECT_EQ(pace.traffic().operations, 2) << "one to each, the second under way still";
}

}  // namespace
}  // namespace weft
