// What holds for the parameter servers beside the equations: cost, order, conservation, faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "agent/dataplane/chunks.h"
#include "agent/dataplane/control_message.h"
#include "agent/dataplane/parameter_server_worker.h"
#include "tests/agent/dataplane/toy_cluster.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// All floats of a layer stay equal to each other, so a torn one shows.
std::int64_t EvenGradient(ToyWorker& worker, std::int64_t t) {
  for (std::size_t i = 0; i < worker.weights.size(); ++i) {
    worker.gradients[i] = 0.1F * worker.weights[i] + 0.5F * static_cast<float>(worker.index + t % 3);
  }
  return 1;
}

ToyRun SmallRun(int workers, int servers, int period) {
  ToyRun run;
  run.shape = {.strategy = StrategyType::kInterleavedPS,
               .workers = workers,
               .servers = servers,
               .period = period,
               .layers = {50000, 20, 3000},
               .layers_per_group = 1};
  run.initial.assign(static_cast<std::size_t>(ToyCount(run.shape.layers)), 1.0F);
  run.options.peer_timeout = std::chrono::milliseconds(400);
  run.gradient = EvenGradient;
  run.iterations = 6;
  return run;
}

void ExpectUntorn(const ToyRun& run, const std::vector<float>& centre) {
  for (const Shard& shard : ToyPlan(run.shape).shards) {
    for (std::int64_t i = 1; i < shard.count; ++i) {
      ASSERT_EQ(centre[static_cast<std::size_t>(shard.first + i)], centre[static_cast<std::size_t>(shard.first)])
          << "group " << shard.group << " float " << i;
    }
  }
}

// Per iteration on average: each shard of m bytes is pushed and pulled by each worker in C(m) chunks, with a request
// and a grant, in one iteration of T; the last synchronization adds one round of all.
TEST(InterleavedParameterServer_AnyShape, SendsTheMessagesAndBytesOfTheFormula) {
  for (const auto& [workers, servers, period] : {std::tuple{2, 1, 1}, std::tuple{3, 2, 2}, std::tuple{4, 1, 3}}) {
    ToyRun run = SmallRun(workers, servers, period);
    run.iterations = 2 * period;
    const Plan plan = ToyPlan(run.shape);
    const ToyResult result = RunToy(run);
    std::int64_t chunks = 0;
    for (const Shard& shard : plan.shards) chunks += Chunks::Of(plan.strategy, shard.count).count();
    const std::int64_t rounds = 2 + 1, shards = static_cast<std::int64_t>(plan.shards.size());
    for (int k = 0; k < workers; ++k) {
      const RankStatistics& traffic = result.traffic[static_cast<std::size_t>(k)];
      const auto& out = traffic.egress.by_kind;
      const auto& in = traffic.ingress.by_kind;
      EXPECT_EQ(out[static_cast<std::size_t>(MessageKind::kPush)].messages, rounds * chunks);
      EXPECT_EQ(in[static_cast<std::size_t>(MessageKind::kPull)].messages, rounds * chunks);
      EXPECT_EQ(out[static_cast<std::size_t>(MessageKind::kPush)].bytes, rounds * 4 * ToyCount(run.shape.layers));
      EXPECT_EQ(in[static_cast<std::size_t>(MessageKind::kPull)].bytes, rounds * 4 * ToyCount(run.shape.layers));
      EXPECT_EQ(out[static_cast<std::size_t>(MessageKind::kControl)].messages, rounds * shards + servers);
      EXPECT_EQ(in[static_cast<std::size_t>(MessageKind::kControl)].messages, rounds * shards + servers);
    }
    std::int64_t received = 0, sent = 0;
    for (const ServerStatistics& server : result.servers) {
      received += server.received.bytes;
      sent += server.sent.bytes;
    }
    EXPECT_EQ(received, workers * rounds * 4 * ToyCount(run.shape.layers));
    EXPECT_EQ(sent, received);
  }
}

TEST(InterleavedParameterServer_EachRound, RotatesTheSlotsByOne) {
  const ToyRun run = SmallRun(3, 1, 1);
  const ToyResult result = RunToy(run);
  for (std::size_t k = 0; k < 3; ++k) {
    std::int64_t seen = 0;
    for (const IterationRecord& record : result.records[k]) {
      for (const TransferRecord& transfer : record.transfers) {
        EXPECT_EQ((transfer.slot + transfer.round) % 3, static_cast<std::int64_t>(k));
        EXPECT_LE(transfer.start, transfer.granted);
        EXPECT_LE(transfer.granted, transfer.end);
        ++seen;
      }
    }
    EXPECT_GE(seen, 3 * 5);
  }
}

// Section 3: with g = 0, w + sum_k w^k is conserved when beta = K alpha.
TEST(InterleavedParameterServer_SlotAheadWhenComputeWaits, IsNotWaitedFor) {
  for (const Apply apply : {Apply::kDeadline, Apply::kLate}) {
    ToyRun run = SmallRun(3, 1, 2);
    run.options.peer_timeout = std::chrono::seconds(20);
    run.options.apply = apply;
    run.options.forward_time = std::chrono::hours(1);
    const ToyResult result = RunToy(run);
    for (const Status& status : result.worker_status) EXPECT_TRUE(status.ok()) << status;
    for (const Status& status : result.server_status) EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(InterleavedParameterServer_WithoutGradients, ConservesTheSum) {
  for (const Apply apply : {Apply::kDeadline, Apply::kLate}) {
    ToyRun run = SmallRun(3, 2, 2);
    run.initial.clear();
    run.options.apply = apply;
    run.gradient = [](ToyWorker&, std::int64_t) { return std::int64_t{0}; };
    const std::int64_t count = ToyCount(run.shape.layers);
    std::vector<double> before(static_cast<std::size_t>(count)), after(before);
    const std::vector<float> centre = ToyWeights(count, 7);
    for (std::size_t i = 0; i < before.size(); ++i) before[i] = static_cast<double>(centre[i]);
    const std::vector<float> zeros(centre.size());
    for (int k = 0; k < 3; ++k) {
      run.resume_workers.push_back(
          {k, ToyWeights(count, 100 + static_cast<std::uint32_t>(k)), zeros, zeros, ToyLayers(run.shape.layers)});
      for (std::size_t i = 0; i < before.size(); ++i) {
        before[i] += static_cast<double>(run.resume_workers.back().weights[i]);
      }
    }
    const ToyResult result = RunToy(run);
    for (std::size_t i = 0; i < after.size(); ++i) {
      after[i] = static_cast<double>(result.centre[i]);
      for (const ToyWorker& worker : result.workers) after[i] += static_cast<double>(worker.weights[i]);
      ASSERT_NEAR(after[i], before[i], 2e-5);
    }
  }
}

TEST(ParameterServer_WorkerDiesInMidPush, EndsEveryRankWithItsNameAndAWholeCentre) {
  // Of the first iteration's messages, the 2nd and later ones are chunks of pushes.
  for (const std::int64_t message : {4, 7, 12}) {
    ToyRun run = SmallRun(3, 1, 1);
    run.network.deaths = {{.rank = 1, .message = message, .fraction = 0.5}};
    const ToyResult result = RunToy(run);
    EXPECT_EQ(result.server_status[0].code(), StatusCode::kUnavailable);
    EXPECT_THAT(result.server_status[0].message(), HasSubstr("rank 1"));
    for (const std::size_t k : {0, 2}) {
      EXPECT_EQ(result.worker_status[k].code(), StatusCode::kUnavailable);
      EXPECT_THAT(result.worker_status[k].message(), HasSubstr("worker 1 (rank 1) is gone, says server 0 (rank 3)"));
    }
    EXPECT_FALSE(result.worker_status[1].ok());
    ExpectUntorn(run, result.centre);
  }
}

TEST(ParameterServer_ServerDies, EndsEveryRankWithItsName) {
  for (const StrategyType strategy : {StrategyType::kInterleavedPS, StrategyType::kMergedPS}) {
    ToyRun run = SmallRun(2, 2, 1);
    run.shape.strategy = strategy;
    run.after_iteration = [](int worker, std::int64_t iteration, LoopbackNetwork& network) {
      if (worker == 0 && iteration == 3) network.Kill(3);
      return OkStatus();
    };
    const ToyResult result = RunToy(run);
    for (const Status& status : result.worker_status) {
      EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
      EXPECT_THAT(status.message(), HasSubstr("server 1 (rank 3)"));
    }
    EXPECT_FALSE(result.server_status[0].ok());
    EXPECT_THAT(result.server_status[0].message(), HasSubstr("rank 3"));
    ExpectUntorn(run, result.centre);
  }
}

TEST(ParameterServer_CutLink, EndsEveryRankByItsTimeOut) {
  for (const StrategyType strategy : {StrategyType::kInterleavedPS, StrategyType::kMergedPS}) {
    ToyRun run = SmallRun(2, 1, 1);
    run.shape.strategy = strategy;
    run.after_iteration = [](int worker, std::int64_t iteration, LoopbackNetwork& network) {
      if (worker == 1 && iteration == 2) network.Cut(1);
      return OkStatus();
    };
    const ToyResult result = RunToy(run);
    EXPECT_EQ(result.server_status[0].code(), StatusCode::kDeadlineExceeded) << result.server_status[0];
    EXPECT_THAT(result.server_status[0].message(), AllOf(HasSubstr("worker 1 (rank 1)"), HasSubstr("within 0.4 s")));
    EXPECT_EQ(result.worker_status[0].code(), StatusCode::kDeadlineExceeded) << result.worker_status[0];
    EXPECT_THAT(result.worker_status[0].message(), HasSubstr("worker 1 (rank 1)"));
    EXPECT_EQ(result.worker_status[1].code(), StatusCode::kDeadlineExceeded) << result.worker_status[1];
    EXPECT_THAT(result.worker_status[1].message(), HasSubstr("server 0 (rank 2)"));
    ExpectUntorn(run, result.centre);
  }
}

TEST(ParameterServer_WorkerGivesUp, EndsTheOthersAtOnceWithItsName) {
  ToyRun run = SmallRun(3, 1, 2);
  run.options.peer_timeout = std::chrono::seconds(30);
  run.after_iteration = [](int worker, std::int64_t iteration, LoopbackNetwork&) {
    return worker == 2 && iteration == 2 ? InternalError("full disk") : OkStatus();
  };
  const ToyResult result = RunToy(run);
  EXPECT_THAT(result.server_status[0].message(), HasSubstr("worker 2 (rank 2)"));
  for (const std::size_t k : {0, 1}) EXPECT_THAT(result.worker_status[k].message(), HasSubstr("worker 2 (rank 2)"));
}

TEST(ParameterServer_OlderGeneration, RefusesTheWorker) {
  ToyRun run = SmallRun(2, 1, 1);
  run.options.generation = 5;
  run.tune = [](int worker, ParameterServerOptions& options) {
    if (worker == 1) options.generation = 4;
  };
  const ToyResult result = RunToy(run);
  EXPECT_EQ(result.worker_status[1].code(), StatusCode::kFailedPrecondition) << result.worker_status[1];
  EXPECT_GE(result.servers[0].refused_messages, 1);
  EXPECT_FALSE(result.worker_status[0].ok());
}

TEST(ParameterServer_PlanThatCannotWork, IsRefused) {
  ToyRun run = SmallRun(2, 1, 1);
  LoopbackNetwork network(3);
  Plan plan = ToyPlan(run.shape);
  std::vector<float> weights(static_cast<std::size_t>(ToyCount(run.shape.layers))), gradients(weights);
  const ModelView view{.weights = weights, .gradients = gradients, .layers = ToyLayers(run.shape.layers)};
  const auto refusal = [&](const ParameterServerOptions& options) {
    return MakeParameterServerWorker(
               options, plan, view, [](FloatRange, std::int64_t) {}, network.endpoint(0), Clock::Steady())
        .status();
  };
  ParameterServerOptions unstable;
  unstable.center_rate = 1.2;
  unstable.elastic_rate = 0.8;
  EXPECT_EQ(refusal(unstable).code(), StatusCode::kInvalidArgument);
  ParameterServerOptions nan;
  nan.center_rate = std::nan("");
  EXPECT_EQ(refusal(nan).code(), StatusCode::kInvalidArgument);
  plan.shards[1].first += 1;
  EXPECT_THAT(refusal({}).message(), HasSubstr("gap or overlaps"));
  plan = ToyPlan(run.shape);
  plan.groups.pop_back();
  EXPECT_EQ(refusal({}).code(), StatusCode::kInvalidArgument);
}

TEST(ControlMessage_EveryField, SurvivesTheWire) {
  const ControlMessage message{.kind = ControlKind::kGrant,
                               .last = true,
                               .code = StatusCode::kDataLoss,
                               .generation = 0x0102030405060708,
                               .shard = 4095,
                               .rank = -1,
                               .round = 1LL << 40,
                               .iteration = 77,
                               .samples = 64,
                               .time = Duration(-5),
                               .staleness_wait = Duration(9)};
  const ControlBuffer bytes = EncodeControl(message);
  const ControlMessage read = DecodeControl(bytes).value();
  EXPECT_EQ(EncodeControl(read), bytes);
  EXPECT_EQ(read.time, message.time);
  EXPECT_EQ(read.rank, -1);
  EXPECT_EQ(bytes[8], std::byte{8}) << "little endian";
  ControlBuffer foreign = bytes;
  foreign[0] = std::byte{0};
  EXPECT_EQ(DecodeControl(foreign).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace weft
