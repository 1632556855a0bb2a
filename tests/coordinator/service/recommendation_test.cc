#include "coordinator/service/recommendation.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

// One layer of 1 MB, compute of 10 ms.
constexpr const char* kTimeline = R"({"layers":[{"name":"fc","bytes":1000000,"forward_us":3000,"backward_us":7000}]})";

// Two workers and a server, all links alike.
Measurements Measured(double us_per_megabyte) {
  Measurements measurements(2, 1);
  for (int worker = 0; worker < 2; ++worker) {
    v1::ProfileResult profile;
    profile.set_timeline_json(kTimeline);
    EXPECT_TRUE(measurements.AddProfile(worker, profile).ok());
    for (const int peer : {1 - worker, 2}) {
      v1::LinkResult link;
      link.set_peer_rank(static_cast<std::uint32_t>(peer));
      for (const std::int64_t bytes : {1'000, 100'000, 1'000'000}) {
        v1::LinkSample& sample = *link.add_samples();
        sample.set_bytes(bytes);
        sample.set_seconds(1e-6 * (10 + us_per_megabyte * 1e-6 * static_cast<double>(bytes)));
      }
      EXPECT_TRUE(measurements.AddLink(worker, link).ok());
    }
  }
  return measurements;
}

JobSpec Job() {
  JobSpec job;
  job.worker.replicas = 2;
  job.server.replicas = 1;
  return job;
}

int Recommended(StrategyType strategy, double us_per_megabyte, const JobSpec& job = Job()) {
  const Result<int> workers = RecommendedWorkers(job, strategy, Measured(us_per_megabyte));
  EXPECT_TRUE(workers.ok()) << workers.status();
  return workers.ok() ? *workers : 0;
}

TEST(RecommendedWorkersTest, InterleavedPS_IsWhatTheServersLinkCarries) {
  JobSpec job = Job();
  job.strategy.parameter_server.period = 1;
  // A transfer of 1 ms: the link carries 10 in the 10 ms of compute, and an eleventh brings nothing.
  const int workers = Recommended(StrategyType::kInterleavedPS, 1'000, job);
  EXPECT_GE(workers, 8);
  EXPECT_LE(workers, 10);
  // With the period left free, K workers wait K - 10 ms in one of at most 32 iterations: S(K) = 320 K / (310 + K),
  // whose slope falls below a half at K = 135. A quarter below that lies the step before.
  const int with_periods = Recommended(StrategyType::kInterleavedPS, 1'000);
  EXPECT_GE(with_periods, 101);
  EXPECT_LE(with_periods, 136);
}

TEST(RecommendedWorkersTest, SlowerLinks_RecommendFewer) {
  JobSpec job = Job();
  job.strategy.parameter_server.period = 1;
  int before = kMostRecommendedWorkers;
  for (const double us_per_megabyte : {250, 500, 1'000, 2'000, 4'000}) {
    const int workers = Recommended(StrategyType::kInterleavedPS, us_per_megabyte, job);
    EXPECT_LT(workers, before) << us_per_megabyte;
    before = workers;
  }
  EXPECT_EQ(Recommended(StrategyType::kMergedPS, 100'000), 1);  // 20 ms of pushing for 10 ms of compute saved
}

TEST(RecommendedWorkersTest, TopologyOfSomeSizesOnly_TheOthersArePassedOver) {
  JobSpec job = Job();
  job.strategy.swarm.topology.type = TopologyType::kHypercube;
  const int workers = Recommended(StrategyType::kSwarm, 1, job);
  EXPECT_GT(workers, 1);
  EXPECT_EQ(workers & (workers - 1), 0) << workers;
}

TEST(RecommendedWorkersTest, NothingMeasured_IsAnError) {
  EXPECT_EQ(RecommendedWorkers(Job(), StrategyType::kInterleavedPS, Measurements(2, 1)).status(),
            InvalidArgumentError("no link was measured"));
}

}  // namespace
}  // namespace weft
