// The server's pure parts: when to grant, how to count, by how much to shift slots.
#include <gtest/gtest.h>

#include <vector>

#include "agent/dataplane/direction_meter.h"
#include "agent/dataplane/link_scheduler.h"
#include "agent/dataplane/phase_estimator.h"
#include "agent/dataplane/shard_rounds.h"

namespace weft {
namespace {

TimePoint At(double ms) { return TimePoint(FromMicroseconds(1e9 + ms * 1e3)); }

// A transfer of 8 chunks of 1 ms, the first 0.5 ms later for the grant's way.
void RunTransfer(LinkScheduler& scheduler, std::int64_t id, double start_ms) {
  scheduler.Granted(id, 8000, At(start_ms));
  for (int chunk = 1; chunk <= 8; ++chunk) scheduler.Progressed(id, chunk * 1000, At(start_ms + 0.5 + chunk));
}

TEST(LinkScheduler_FreeLink, GrantsAtOnce) {
  LinkScheduler scheduler;
  EXPECT_EQ(scheduler.NextGrant(), TimePoint{});
}

TEST(LinkScheduler_FirstTransfer, WaitsForItsEndWhileNothingIsKnown) {
  LinkScheduler scheduler;
  scheduler.Granted(0, 8000, At(0));
  EXPECT_EQ(scheduler.NextGrant(), std::nullopt);
}

TEST(LinkScheduler_KnownLink, GrantsARoundTripBeforeTheEnd) {
  LinkScheduler scheduler;
  for (int i = 0; i < 40; ++i) RunTransfer(scheduler, i, 100.0 * i);
  EXPECT_NEAR(ToMicroseconds(scheduler.round_trip()), 500, 20);
  const double start = 10000;
  scheduler.Granted(99, 8000, At(start));
  ASSERT_TRUE(scheduler.NextGrant().has_value());
  EXPECT_NEAR(ToMicroseconds(*scheduler.NextGrant() - At(start)), 8000, 50) << "8.5 ms less the round trip";
  scheduler.Progressed(99, 4000, At(start + 6.5));  // slower than known
  EXPECT_GT(*scheduler.NextGrant(), At(start + 9.5));
}

// 1 us a byte and a round trip of 1 ms; pieces come whole.
TEST(LinkScheduler_TransfersShorterThanTheRoundTrip, GrantsAsManyAsHideIt) {
  LinkScheduler scheduler;
  double now_ms = 0;
  for (int i = 0; i < 40; ++i) {
    const std::int64_t bytes = i % 2 == 0 ? 50000 : 100;
    scheduler.Granted(i, bytes, At(now_ms));
    now_ms += 1 + static_cast<double>(bytes) * 1e-3;
    scheduler.Progressed(i, bytes, At(now_ms));
  }
  // Before the first of these has come back, the others follow as fast as the link takes them.
  int in_flight = 0;
  for (TimePoint now = At(now_ms); now < At(now_ms + 1); now = *scheduler.NextGrant()) {
    scheduler.Granted(100 + in_flight++, 200, now);
    ASSERT_TRUE(scheduler.NextGrant().has_value());
  }
  EXPECT_GE(in_flight, 3);
  EXPECT_LE(in_flight, 6);
}

// Transfers of one piece each on a link that takes them one after the other, always with one that waits for its grant.
// Returns how many were under way at most during the last ten.
std::size_t MostInFlight(LinkScheduler& scheduler, std::int64_t first_id, double ms_each, double& now_ms) {
  std::vector<std::pair<std::int64_t, double>> under_way;  // number, end
  double link_free_ms = now_ms;
  std::size_t most = 0;
  std::int64_t granted = 0;
  for (int ended = 0; ended < 60;) {
    const std::optional<TimePoint> next = scheduler.NextGrant();
    const bool grant = next.has_value() && (under_way.empty() || *next <= At(under_way.front().second));
    if (grant) {
      if (*next > At(now_ms)) now_ms = ToMicroseconds(*next - At(0)) / 1e3;
      scheduler.Granted(first_id + granted, 50000, At(now_ms));
      link_free_ms = std::max(link_free_ms, now_ms + 0.1) + ms_each;
      under_way.emplace_back(first_id + granted++, link_free_ms);
      if (ended >= 50) most = std::max(most, under_way.size());
      continue;
    }
    now_ms = under_way.front().second;
    scheduler.Progressed(under_way.front().first, 50000, At(now_ms));
    under_way.erase(under_way.begin());
    ++ended;
  }
  return most;
}

TEST(LinkScheduler_LinkThatHasBecomeSlower, LearnsItAlthoughNoTransferGoesAlone) {
  LinkScheduler scheduler;
  double now_ms = 0;
  EXPECT_LE(MostInFlight(scheduler, 0, 4, now_ms), 2);
  now_ms += 100;
  EXPECT_LE(MostInFlight(scheduler, 1000, 8, now_ms), 2);
  now_ms += 100;
  EXPECT_LE(MostInFlight(scheduler, 2000, 4, now_ms), 2);
}

TEST(DirectionMeter_TwoTransfers, CountsTheirOverlap) {
  DirectionMeter meter;
  meter.Begin(At(0));
  meter.Begin(At(6));
  meter.AddBytes(At(0), At(10), 1000);
  meter.End(At(10));
  meter.AddBytes(At(6), At(20), 1400);
  meter.End(At(20));
  meter.AdvanceTo(At(50));
  EXPECT_EQ(meter.busy(), std::chrono::milliseconds(20));
  EXPECT_EQ(meter.concurrent(), std::chrono::milliseconds(4));
  EXPECT_EQ(meter.bytes(), 2400);
  EXPECT_NEAR(meter.peak_bytes_per_second(), 1400 / 0.01, 1) << "1000 and 400 of the 1400 in the first window";
}

TEST(PhaseEstimator_LateWorker, ShiftsTheOthersTowardsIt) {
  PhaseEstimator phases(2, std::chrono::milliseconds(100));
  for (int t = 1; t <= 60; ++t) {
    phases.Report(0, t, At(100.0 * t));
    phases.Report(1, t, At(100.0 * t + 10));
  }
  EXPECT_NEAR(ToMicroseconds(phases.Correction(0)), 5000, 10);
  EXPECT_NEAR(ToMicroseconds(phases.Correction(1)), -5000, 10);
}

TEST(PhaseEstimator_WorkerAWholeIterationAhead, NeedsNoShift) {
  PhaseEstimator phases(2, std::chrono::milliseconds(100));
  for (int t = 1; t <= 60; ++t) {
    phases.Report(0, t, At(100.0 * t));
    phases.Report(1, t, At(100.0 * (t - 1)));
  }
  EXPECT_NEAR(ToMicroseconds(phases.Correction(0)), 0, 1);
}

TEST(ShardRounds_PushesInAnyOrder, AreAddedInTheRoundsOrder) {
  const std::vector<float> values = {1e8F, 1.0F, -1e8F};  // the sum depends on the order
  for (const std::vector<int>& arrivals : {std::vector<int>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
    ShardRounds rounds({.workers = 3, .elastic = true, .center_rate = 1.0F}, {0.0F}, 1);
    for (std::size_t i = 0; i < 3; ++i) {
      const int worker = arrivals[i];
      rounds.BeginPush(worker, 0)[0] = values[static_cast<std::size_t>(worker)];
      EXPECT_EQ(rounds.Received(worker, 1), i == 2);
      EXPECT_EQ((*rounds.committed())[0], 0.0F) << "whole until the round is";
    }
    rounds.Commit();
    // Round 1 begins with worker 1: (1 - 1e8) + 1e8.
    EXPECT_EQ((*rounds.committed())[0], ((1.0F + -1e8F) + 1e8F) / 3);
    EXPECT_EQ(rounds.rounds(), 2);
  }
}

}  // namespace
}  // namespace weft
