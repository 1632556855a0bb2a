#include "tests/integration/thread_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

#include "agent/data/load.h"
#include "agent/model/make_model.h"
#include "agent/train/agent.h"
#include "agent/transport/loopback.h"
#include "cli/run_watcher.h"
#include "common/job/parse.h"
#include "coordinator/service/coordinator.h"
#include "coordinator/service/job_rules.h"

namespace weft {
namespace {

constexpr Duration kPatience = std::chrono::minutes(2);

void PutBigEndian(std::ofstream& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.put(static_cast<char>(value >> shift & 0xffu));
}

// Each class is a bright stripe of its own, so that there is something to learn.
void WriteSplit(const std::string& stem, const std::string& folder, int size) {
  std::ofstream images(folder + "/" + stem + "-images-idx3-ubyte", std::ios::binary);
  std::ofstream labels(folder + "/" + stem + "-labels-idx1-ubyte", std::ios::binary);
  for (const std::uint32_t word : {2051u, static_cast<std::uint32_t>(size), 28u, 28u}) PutBigEndian(images, word);
  for (const std::uint32_t word : {2049u, static_cast<std::uint32_t>(size)}) PutBigEndian(labels, word);
  std::uint32_t state = 1;
  for (int i = 0; i < size; ++i) {
    const int label = i % 10;
    labels.put(static_cast<char>(label));
    for (int pixel = 0; pixel < 28 * 28; ++pixel) {
      state = state * 1664525u + 1013904223u;
      const bool bright = pixel / 28 / 2 == label;
      images.put(static_cast<char>((bright ? 160u : 0u) + (state >> 24) / 4));
    }
  }
}

// Follows the run as `weft run` does, on a thread of its own.
void Follow(const std::string& address, ThreadRunOutcome* outcome) {
  const TimePoint deadline = Clock::Steady().Now() + kPatience;
  Result<std::unique_ptr<RunWatcher>> watcher = RunWatcher::Connect(address, deadline);
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  while (!(*watcher)->done() && Clock::Steady().Now() < deadline) {
    const std::optional<v1::RunEvent> event = (*watcher)->WaitUntil(deadline);
    if (!event.has_value()) continue;
    if (event->has_note()) outcome->notes.push_back(event->note().text());
    if (!event->has_ended()) continue;
    outcome->message = event->ended().message();
    outcome->summary = nlohmann::json::parse(event->ended().summary_json());
  }
}

}  // namespace

void WriteSmallImages(const std::string& folder, int train, int test) {
  std::filesystem::create_directories(folder);
  WriteSplit("train", folder, train);
  WriteSplit("t10k", folder, test);
}

void WriteSmallText(const std::string& path, int bytes) {
  std::ofstream out(path, std::ios::binary);
  for (int i = 0; i < bytes; ++i) out.put("the quick brown fox jumps over the lazy dog. "[i % 45]);
}

Plan InventedPlan(const JobSpec& job) {
  const std::unique_ptr<Dataset> dataset = LoadDataset(job.data, job.model.transformer_context).value();
  const SampleShape& shape = dataset->shape();
  const std::unique_ptr<Model> model =
      MakeModel(job.model, {.dimensions = shape.dimensions, .classes = shape.classes, .text = shape.text}).value();
  PlanRequest request = SettingsOf(job).value();
  for (const Layer& layer : model->layers()) {
    request.timeline.layers.push_back(
        {.name = layer.name, .bytes = 4 * layer.count, .forward_us = 100, .backward_us = 100, .backward_start_us = 0});
  }
  double start = 0;
  for (auto layer = request.timeline.layers.rbegin(); layer != request.timeline.layers.rend(); ++layer) {
    layer->backward_start_us = start;
    start += layer->backward_us;
  }
  request.timeline.end_us = start;
  const Link link{.latency_us = 10, .us_per_byte = 0.001};
  request.links = {{link}};
  request.peer_links = {link};
  Result<Plan> plan = MakePlan(request);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return std::move(plan).value();
}

ThreadRunOutcome RunInThreads(const std::string& yaml, const std::string& directory) {
  ThreadRunOutcome outcome;
  ParsedJob job = ParseJob(yaml);
  EXPECT_TRUE(job.ok()) << ToStatus(job.errors);
  if (!job.ok()) return outcome;
  std::filesystem::create_directories(directory + "/checkpoints");
  const std::string address = "unix:" + directory + "/c";

  CoordinatorOptions options;
  options.job_text = yaml;
  options.run_directory = directory;
  options.plans = {InventedPlan(job.spec)};
  AgentOptions agent{.coordinator = address,
                     .job = job.spec.name,
                     .generation = options.generation,
                     .workers = job.spec.worker.replicas,
                     .servers = job.spec.server.replicas,
                     .metrics_port = -1,
                     .peer_timeout = std::chrono::seconds(60)};
  options.job = std::move(job.spec);
  Clock& clock = Clock::Steady();
  std::unique_ptr<AttendService> service = AttendService::Start(address).value();
  CoordinatorMetrics metrics(agent.job);
  std::unique_ptr<Coordinator> coordinator = Coordinator::Make(std::move(options), *service, metrics, clock).value();

  const int world = agent.workers + agent.servers;
  LoopbackNetwork network(world);
  std::atomic<int> running = world;
  std::vector<int> codes(static_cast<std::size_t>(world));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      codes[static_cast<std::size_t>(rank)] = RunAgent(agent, network.endpoint(rank), clock);
      --running;
    });
  }
  threads.emplace_back([&] { Follow(address, &outcome); });
  const TimePoint deadline = clock.Now() + kPatience;
  while (!coordinator->ended() && clock.Now() < deadline) {
    if (running == 0) coordinator->OnLauncherEnded("the ranks ended", /*by_signal=*/false);
    coordinator->Pump(clock.Now() + std::chrono::milliseconds(5));
  }
  if (!coordinator->ended()) coordinator->GiveUp("the test's time is over");
  outcome.exit_code = coordinator->Finish();
  for (std::thread& thread : threads) thread.join();
  for (const int code : codes) EXPECT_EQ(code, outcome.exit_code);
  return outcome;
}

}  // namespace weft
