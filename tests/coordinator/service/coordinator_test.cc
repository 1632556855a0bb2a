// Runs over a real socket, with peers that speak for the ranks.
#include "coordinator/service/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "common/plan/json.h"
#include "common/rpc/rpc.h"
#include "coordinator/planner/planner.h"
#include "coordinator/service/job_rules.h"
#include "tests/coordinator/service/test_peer.h"

namespace weft {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr Duration kPatience = std::chrono::seconds(30);
constexpr const char* kTimeline =
    R"({"layers":[{"name":"fc1","bytes":4000,"forward_us":50,"backward_us":100},
                  {"name":"fc2","bytes":400,"forward_us":10,"backward_us":20}]})";

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Plan SmallPlan() {
  PlanRequest request;
  request.options.period = 1;
  request.timeline = ParseTimeline(kTimeline).value();
  request.links = {{{.latency_us = 1, .us_per_byte = 0.001}}};
  return MakePlan(request).value();
}

v1::AgentMessage Iteration(std::int64_t iteration) {
  v1::AgentMessage message;
  v1::IterationReport& report = *message.mutable_iterations()->add_reports();
  report.set_iteration(iteration);
  report.set_epoch(1);
  report.set_start_ns(iteration * 1'000'000);
  report.set_forward_end_ns(iteration * 1'000'000 + 400'000);
  report.set_end_ns(iteration * 1'000'000 + 1'000'000);
  report.set_stall_ns(100'000);
  report.set_loss_sum(16);
  report.set_predictions(8);
  report.set_correct(6);
  report.set_samples(8);
  report.set_staleness_iterations(1);
  report.set_sent_bytes(4400);
  report.set_received_bytes(4400);
  report.set_communication_ns(200'000);
  v1::Transfer& transfer = *report.add_transfers();
  transfer.set_planned_start_ns(iteration * 1'000'000 + 10'000);
  transfer.set_start_ns(iteration * 1'000'000 + 12'000);
  transfer.set_granted_ns(iteration * 1'000'000 + 13'000);
  transfer.set_end_ns(iteration * 1'000'000 + 23'000);
  transfer.set_push_bytes(4400);
  transfer.set_pull_bytes(4400);
  return message;
}

v1::AgentMessage Evaluation(std::int64_t iteration, bool final) {
  v1::AgentMessage message;
  message.mutable_evaluation()->set_iteration(iteration);
  message.mutable_evaluation()->set_epoch(1);
  message.mutable_evaluation()->set_loss(0.5);
  message.mutable_evaluation()->set_accuracy(0.875);
  message.mutable_evaluation()->set_final(final);
  if (final) message.mutable_evaluation()->set_model_path("model.safetensors");
  return message;
}

v1::AgentMessage ReadyMessage() {
  v1::AgentMessage message;
  message.mutable_ready()->set_parameter_count(1100);
  message.mutable_ready()->set_total_iterations(2);
  return message;
}

// One worker (rank 0) and one server (rank 1).
class CoordinatorTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "weft_coordinator_XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    address_ = "unix:" + directory_ + "/c";
    options_.job.name = "job";
    options_.job_text = "the job's text";
    options_.run_directory = directory_;
    options_.command = "weft run 'a b.yaml'";
    options_.started = std::chrono::system_clock::time_point(std::chrono::seconds(1'769'853'600));
    std::ofstream(directory_ + "/job.yaml") << options_.job_text;
  }

  void TearDown() override {
    EndPump();
    coordinator_.reset();
    service_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Start() {
    auto service = AttendService::Start(address_);
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = std::move(service).value();
    metrics_ = std::make_unique<CoordinatorMetrics>("job");
    auto coordinator = Coordinator::Make(options_, *service_, *metrics_, Clock::Steady());
    ASSERT_TRUE(coordinator.ok()) << coordinator.status();
    coordinator_ = std::move(coordinator).value();
    pump_ = std::thread([this] {
      Clock& clock = Clock::Steady();
      const TimePoint deadline = clock.Now() + kPatience;
      while (!stop_ && !coordinator_->ended() && clock.Now() < deadline) {
        if (launcher_ended_.exchange(false)) coordinator_->OnLauncherEnded("the launcher ended", false);
        coordinator_->Pump(clock.Now() + std::chrono::milliseconds(5));
      }
    });
    worker_ = std::make_unique<TestPeer>(address_, 0, 1);
    server_ = std::make_unique<TestPeer>(address_, 1, 1);
  }

  void EndPump() {
    stop_ = true;
    if (pump_.joinable()) pump_.join();
  }

  // Lets the run end by itself, and writes its last files.
  int FinishRun() {
    pump_.join();
    EXPECT_TRUE(coordinator_->ended());
    return coordinator_->ended() ? coordinator_->Finish() : -1;
  }

  // Both registered, prepared and ready.
  void GetReady() {
    worker_->Register(1, "job");
    server_->Register(1, "job");
    for (TestPeer* peer : {worker_.get(), server_.get()}) {
      const auto prepare = peer->Receive();
      ASSERT_TRUE(prepare.has_value() && prepare->has_prepare());
      EXPECT_EQ(prepare->prepare().job_yaml(), "the job's text");
      EXPECT_EQ(prepare->prepare().run_directory(), directory_);
      peer->Send(ReadyMessage());
    }
  }

  void TrainToTheEnd() {
    for (TestPeer* peer : {worker_.get(), server_.get()}) {
      const auto train = peer->Receive();
      ASSERT_TRUE(train.has_value() && train->has_train());
      EXPECT_TRUE(ParsePlan(train->train().plan_json()).ok());
    }
    worker_->Send(Iteration(1));
    worker_->Send(Iteration(2));
    v1::AgentMessage finished;
    finished.mutable_finished()->set_iterations(2);
    worker_->Send(finished);
    server_->Send(Evaluation(2, /*final=*/true));
    for (TestPeer* peer : {worker_.get(), server_.get()}) {
      const auto exit = peer->Receive();
      ASSERT_TRUE(exit.has_value() && exit->has_exit());
      EXPECT_EQ(exit->exit().code(), 0);
      EXPECT_TRUE(peer->Close().ok());
    }
    launcher_ended_ = true;
  }

  std::vector<v1::RunEvent> Watch() {
    grpc::ClientContext context;
    context.set_deadline(GrpcDeadline(Clock::Steady().Now() + kPatience));
    const auto stub = v1::Coordinator::NewStub(Connect(address_, Clock::Steady().Now() + kPatience).value());
    const auto reader = stub->Watch(&context, v1::WatchRequest());
    std::vector<v1::RunEvent> events;
    for (v1::RunEvent event; reader->Read(&event);) events.push_back(event);
    EXPECT_TRUE(reader->Finish().ok());
    return events;
  }

  std::string directory_;
  std::string address_;
  CoordinatorOptions options_;
  std::unique_ptr<AttendService> service_;
  std::unique_ptr<CoordinatorMetrics> metrics_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<TestPeer> worker_;
  std::unique_ptr<TestPeer> server_;
  std::thread pump_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> launcher_ended_ = false;
};

TEST_F(CoordinatorTest, PlanGiven_RunLeavesItsFiles) {
  options_.plans = {SmallPlan()};
  Start();
  GetReady();
  TrainToTheEnd();
  std::thread watcher([this] {
    const std::vector<v1::RunEvent> events = Watch();
    ASSERT_FALSE(events.empty());
    EXPECT_TRUE(events.back().has_ended());
    EXPECT_EQ(std::count_if(events.begin(), events.end(), [](const v1::RunEvent& e) { return e.has_plan(); }), 1);
  });
  EXPECT_EQ(FinishRun(), 0);
  watcher.join();

  EXPECT_TRUE(ParsePlan(Contents(directory_ + "/plan.json")).ok());
  const Json summary = Json::parse(Contents(directory_ + "/summary.json"));
  EXPECT_EQ(summary["strategy"], "InterleavedPS");
  EXPECT_EQ(summary["iterations"], 2);
  EXPECT_EQ(summary["accuracy"], 0.875);
  EXPECT_EQ(summary["bytes_per_iteration"], 8800.0);
  EXPECT_EQ(summary["sent_bytes"], Json({8800}));
  EXPECT_EQ(summary["exchanged_bits"], 8 * 4 * 4400);  // two iterations, both directions, at servers that send too
  EXPECT_NEAR(summary["communication_per_batch_seconds"], 0.0002, 1e-12);
  EXPECT_NEAR(summary["compute_per_batch_seconds"], 0.0008, 1e-12);
  EXPECT_NEAR(summary["iteration_seconds"]["median"], 0.001, 1e-12);
  EXPECT_NEAR(summary["stall_fraction"], 0.1, 1e-12);
  EXPECT_EQ(summary["exit_code"], 0);
  EXPECT_EQ(summary["command"], "weft run 'a b.yaml'");
  EXPECT_EQ(summary["started"], "2026-01-31T10:00:00Z");
  EXPECT_THAT(summary["ended"], HasSubstr("2026-01-31T10:0"));
  EXPECT_EQ(summary["hosts"][0]["ranks"], Json({"worker 0", "server 0"}));
  EXPECT_FALSE(summary["software"]["weft"].get<std::string>().empty());
  const Json& group = summary["groups"].at(0);
  EXPECT_EQ(group["group"], 0);
  EXPECT_EQ(group["transfers"], 2);
  EXPECT_EQ(group["push_bytes"], 8800);
  EXPECT_EQ(group["pull_bytes"], 8800);
  EXPECT_EQ(group["overruns"], 0);
  EXPECT_NEAR(group["transfer_seconds"], 10e-6, 1e-12);
  EXPECT_NEAR(group["grant_wait_seconds"], 1e-6, 1e-12);
  EXPECT_NEAR(group["start_error_seconds"], 2e-6, 1e-12);
  EXPECT_THAT(Contents(directory_ + "/report.html"), HasSubstr("\"iterations\":2"));

  std::ifstream metrics(directory_ + "/metrics.jsonl");
  std::vector<std::int64_t> iterations;
  for (std::string line; std::getline(metrics, line);) iterations.push_back(Json::parse(line)["iteration"]);
  EXPECT_THAT(iterations, testing::UnorderedElementsAre(1, 2, 2));  // two iterations and the evaluation
  EXPECT_GT(Json::parse(Contents(directory_ + "/trace.json"))["traceEvents"].size(), 0u);
}

TEST_F(CoordinatorTest, NoPlan_MeasuresAndPlans) {
  Start();
  GetReady();
  const auto profile = worker_->Receive();
  ASSERT_TRUE(profile.has_value() && profile->has_measure_profile());
  EXPECT_EQ(profile->measure_profile().warmup_iterations(), 5u);
  EXPECT_EQ(profile->measure_profile().iterations(), 20u);
  v1::AgentMessage measured;
  measured.mutable_profile()->set_timeline_json(kTimeline);
  measured.mutable_profile()->add_iteration_seconds(0.0002);
  worker_->Send(measured);
  for (TestPeer* peer : {server_.get(), worker_.get()}) {
    const auto link = peer->Receive();
    ASSERT_TRUE(link.has_value() && link->has_measure_link());
    EXPECT_EQ(link->measure_link().worker_rank(), 0u);
    EXPECT_EQ(link->measure_link().peer_rank(), 1u);
  }
  v1::AgentMessage link;
  link.mutable_link()->set_peer_rank(1);
  for (const auto& [bytes, seconds] : {std::pair(1024, 2e-6), std::pair(1 << 20, 1e-3)}) {
    link.mutable_link()->add_samples()->set_bytes(bytes);
    link.mutable_link()->mutable_samples()->rbegin()->set_seconds(seconds);
  }
  worker_->Send(link);
  TrainToTheEnd();
  std::thread watcher([this] { Watch(); });
  EXPECT_EQ(FinishRun(), 0);
  watcher.join();
  const Result<Timeline> timeline = ParseTimeline(Contents(directory_ + "/timeline.json"));
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_EQ(timeline->layers.size(), 2u);
  EXPECT_NEAR(Json::parse(Contents(directory_ + "/summary.json"))["compute_seconds"]["median"], 0.0002, 1e-12);
}

TEST_F(CoordinatorTest, PlansGiven_AreAllKeptBeforeItTrains) {
  options_.plans = {SmallPlan(), SmallPlan()};
  options_.plans[1].from_iteration = 41;
  Start();
  GetReady();
  const auto train = worker_->Receive();
  ASSERT_TRUE(train.has_value() && train->has_train());
  EXPECT_EQ(train->train().later_plans_json_size(), 1);
  EXPECT_EQ(Contents(directory_ + "/plans/plan-41.json"), PlanToJson(options_.plans[1]));
  EXPECT_EQ(Contents(directory_ + "/plan.json"), PlanToJson(options_.plans[0]));
}

TEST_F(CoordinatorTest, OlderGeneration_IsRefusedAndTheRunGoesOn) {
  options_.plans = {SmallPlan()};
  Start();
  TestPeer late(address_, 0, 1);
  late.Register(0, "job");
  EXPECT_FALSE(late.Receive().has_value());
  EXPECT_EQ(late.Close().code(), StatusCode::kFailedPrecondition);
  GetReady();
}

TEST_F(CoordinatorTest, MessageBeforeRegistration_IsRefused) {
  Start();
  worker_->Send(ReadyMessage());
  EXPECT_FALSE(worker_->Receive().has_value());
  EXPECT_EQ(worker_->Close().code(), StatusCode::kFailedPrecondition);
}

TEST_F(CoordinatorTest, RankThatDies_EndsTheRunWithItsNameAndTellsTheOther) {
  options_.plans = {SmallPlan()};
  Start();
  GetReady();
  ASSERT_TRUE(worker_->Receive()->has_train());
  ASSERT_TRUE(server_->Receive()->has_train());
  server_->Die();
  const auto exit = worker_->Receive();
  ASSERT_TRUE(exit.has_value() && exit->has_exit());
  EXPECT_EQ(exit->exit().code(), 1);
  EXPECT_EQ(exit->exit().reason(), "server 0 (pid 1001) died");
  std::vector<v1::RunEvent> events;
  std::thread watcher([&] { events = Watch(); });
  EXPECT_EQ(FinishRun(), 1);
  watcher.join();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().ended().message(), "server 0 (pid 1001) died");
  EXPECT_EQ(Json::parse(Contents(directory_ + "/summary.json"))["message"], "server 0 (pid 1001) died");
}

TEST_F(CoordinatorTest, ModelIsNotFinite_EndsTheRunAsDiverged) {
  options_.plans = {SmallPlan()};
  Start();
  GetReady();
  ASSERT_TRUE(worker_->Receive()->has_train());
  ASSERT_TRUE(server_->Receive()->has_train());
  v1::AgentMessage diverged;
  diverged.mutable_diverged()->set_iteration(2);
  server_->Send(diverged);
  const auto exit = worker_->Receive();
  ASSERT_TRUE(exit.has_value() && exit->has_exit());
  EXPECT_EQ(exit->exit().code(), 1);
  std::vector<v1::RunEvent> events;
  std::thread watcher([&] { events = Watch(); });
  EXPECT_EQ(FinishRun(), 1);
  watcher.join();
  ASSERT_FALSE(events.empty());
  EXPECT_FALSE(events.back().ended().resumable());
  EXPECT_THAT(events.back().ended().message(), HasSubstr("the model is not finite after iteration 2"));
  EXPECT_EQ(Json::parse(Contents(directory_ + "/summary.json"))["diverged"], true);
}

TEST_F(CoordinatorTest, StopBeforeTraining_EndsWith130) {
  Start();
  grpc::ClientContext context;
  v1::StopResponse response;
  const auto stub = v1::Coordinator::NewStub(Connect(address_, Clock::Steady().Now() + kPatience).value());
  EXPECT_TRUE(stub->Stop(&context, v1::StopRequest(), &response).ok());
  std::thread watcher([this] { Watch(); });
  EXPECT_EQ(FinishRun(), 130);
  watcher.join();
}

TEST_F(CoordinatorTest, ResumeStoppedBeforeTraining_LeavesTheSummaryAndTheTrace) {
  std::ofstream(directory_ + "/summary.json") << "of the part before";
  std::ofstream(directory_ + "/trace.json") << "its trace";
  options_.plans = {SmallPlan()};
  options_.start_iteration = 2;
  Start();
  grpc::ClientContext context;
  v1::StopResponse response;
  const auto stub = v1::Coordinator::NewStub(Connect(address_, Clock::Steady().Now() + kPatience).value());
  EXPECT_TRUE(stub->Stop(&context, v1::StopRequest(), &response).ok());
  std::vector<v1::RunEvent> events;
  std::thread watcher([&] { events = Watch(); });
  EXPECT_EQ(FinishRun(), 130);
  watcher.join();
  EXPECT_EQ(Contents(directory_ + "/summary.json"), "of the part before");
  EXPECT_EQ(Contents(directory_ + "/trace.json"), "its trace");
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().ended().summary_json(), "");
  EXPECT_TRUE(events.back().ended().resumable());
}

TEST_F(CoordinatorTest, Resume_TakesLaterAndTornLinesOutOfTheMetrics) {
  std::ofstream(directory_ + "/metrics.jsonl") << R"({"iteration": 1}
{"iteration": 2}
{"iteration": 3}
{"iterat)";
  options_.plans = {SmallPlan()};
  options_.start_iteration = 2;
  Start();
  EXPECT_EQ(Contents(directory_ + "/metrics.jsonl"),
            "{\"iteration\": 1}\n{\"iteration\": 2}\n{\"iteration\":2,\"resumed\":true}\n");
}

TEST(AttendServiceTest, SocketPathTooLong_IsRefusedByName) {
  const std::string path = "/tmp/" + std::string(120, 'a');
  const auto service = AttendService::Start("unix:" + path);
  ASSERT_FALSE(service.ok());
  EXPECT_EQ(service.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(service.status().message(), HasSubstr("107 bytes"));
}

TEST(CheckPlanFitsTest, OtherNumbersOrStrategy_AreRefused) {
  JobSpec job;
  job.strategy.type = StrategyType::kInterleavedPS;
  const Plan plan = SmallPlan();
  EXPECT_TRUE(CheckPlanFits(plan, job).ok());
  job.worker.replicas = 2;
  EXPECT_EQ(CheckPlanFits(plan, job).message(), "plan: workers 1 is not the job's 2");
  job.worker.replicas = 1;
  job.strategy.type = StrategyType::kMergedPS;
  EXPECT_THAT(CheckPlanFits(plan, job).message(), HasSubstr("strategy InterleavedPS is not the job's MergedPS"));
}

TEST(CheckPlanFitsTest, ServersWithoutUse_AreRefused) {
  JobSpec job;
  job.strategy.type = StrategyType::kSwarm;
  job.server.replicas = 0;
  Plan plan;
  plan.strategy = StrategyType::kSwarm;
  plan.servers = 0;
  EXPECT_TRUE(CheckPlanFits(plan, job).ok());
  plan.servers = 3;
  EXPECT_EQ(CheckPlanFits(plan, job).message(), "plan: servers 3 is not the job's 0");
}

}  // namespace
}  // namespace weft
