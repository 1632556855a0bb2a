// What i loses j gains, with a process for each rank, over MPI: all write to rank 0 and to each other without a pause,
// for WEFT_SWARM_SECONDS (2 by default). WEFT_SWARM_APART=1: as ranks on different hosts do;
// WEFT_SWARM_REGISTERS="one-sided" and the like: by that mechanism.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "agent/dataplane/swarm_node.h"
#include "agent/transport/transport.h"
#include "common/clock.h"
#include "tests/agent/transport/every_rank.h"

namespace weft {
namespace {

constexpr std::uint16_t kChannel = 100;
constexpr float kStart = 0.5F;

Duration HammerTime() {
  const char* seconds = std::getenv("WEFT_SWARM_SECONDS");
  return FromSeconds(seconds == nullptr ? 2 : std::atof(seconds));
}

bool ShareMemory() { return std::getenv("WEFT_SWARM_APART") == nullptr; }

std::optional<RegisterMechanism> Mechanism() {
  const char* name = std::getenv("WEFT_SWARM_REGISTERS");
  for (const RegisterMechanism one : {RegisterMechanism::kSharedMemory, RegisterMechanism::kOneSided,
                                      RegisterMechanism::kOneSidedWithProgressThread, RegisterMechanism::kService}) {
    if (name != nullptr && std::string(name) == Name(one)) return one;
  }
  return std::nullopt;
}

TimePoint Soon() { return Clock::Steady().Now() + std::chrono::seconds(60); }

void MeetAll(Transport& transport) {
  std::vector<float> one = {1};
  ASSERT_EQ(AllReduceAndWait(transport, one, transport.world_size(), Soon()), OkStatus());
  ASSERT_EQ(one[0], static_cast<float>(transport.world_size()));
}

// What rank 0 is told by each, as doubles: counts stay far below 2^53.
enum Fact {
  kModel,    // X_i
  kPutIn,    // the sum of its displacements
  kLargest,  // |X_i|
  kRounds,
  kAveraged,
  kEnded,  // interactions, however
  kAppended,
  kFolded,
  kVoid,  // cells that were closed or refused
  kPending,
  kTorn,
  kConflicts,
  kFacts
};
using Facts = std::array<double, kFacts>;

class Hammer {
 public:
  Hammer(Transport& transport, int bits, std::size_t floats)
      : transport_(transport), floats_(floats), quantizer_{.bits = bits, .rotation = false, .seed = 2} {}

  void Run() {
    auto made = transport_.MakeRegisters({.ranks = transport_.world_size(),
                                          .bytes = SwarmNode::RegisterBytes(quantizer_, floats_),
                                          .mechanism = Mechanism(),
                                          .share_memory = ShareMemory()},
                                         Soon());
    ASSERT_TRUE(made.ok()) << made.status();
    registers_ = std::move(made).value();
    node_ = std::make_unique<SwarmNode>(SwarmNodeOptions{.rank = transport_.rank(),
                                                         .ranks = transport_.world_size(),
                                                         .quantizer = quantizer_,
                                                         .exchange_timeout = std::chrono::seconds(30),
                                                         .claim_timeout = std::chrono::seconds(30)},
                                        std::vector<float>(floats_, kStart), *registers_,
                                        std::make_shared<SwarmWaker>(), Clock::Steady());
    ASSERT_EQ(node_->Publish(), OkStatus());
    MeetAll(transport_);
    Exchange();
    MeetAll(transport_);  // nothing is on its way to anybody any more
    node_->Fold();
  }

  std::span<const float> model() const { return node_->model(); }
  const Registers& registers() const { return *registers_; }

  Facts Tell() const {
    const SwarmCounts counts = node_->counts();
    Facts facts{};
    facts[kModel] = static_cast<double>(node_->model()[0]);
    facts[kPutIn] = put_in_;
    facts[kLargest] = largest_;
    facts[kRounds] = static_cast<double>(rounds_);
    facts[kAveraged] = static_cast<double>(counts.interactions[static_cast<std::size_t>(InteractionEnd::kAveraged)]);
    for (const std::int64_t count : counts.interactions) facts[kEnded] += static_cast<double>(count);
    facts[kAppended] = static_cast<double>(counts.appended);
    facts[kFolded] = static_cast<double>(counts.folded);
    facts[kVoid] = static_cast<double>(counts.closed_cells + counts.refused);
    facts[kPending] = node_->waiting();
    facts[kTorn] = static_cast<double>(counts.torn_reads);
    facts[kConflicts] = static_cast<double>(counts.conflicts);
    return facts;
  }

 private:
  void Exchange() {
    const int rank = transport_.rank(), ranks = transport_.world_size();
    std::mt19937_64 random(static_cast<std::uint64_t>(rank));
    std::uniform_int_distribution<int> others(0, ranks - 2), steps(-64, 64);
    const TimePoint end = Clock::Steady().Now() + HammerTime();
    while (Clock::Steady().Now() < end) {
      const bool at_one = rank != 0 && rounds_ % 4 != 0;
      int partner = at_one ? 0 : others(random);
      if (!at_one && partner >= rank) ++partner;
      // Where others share the core, the partner's turn to fold what it was given.
      if (node_->Interact(partner) == InteractionEnd::kQueueFull) std::this_thread::yield();
      node_->Fold();
      // Multiples of 2^-10, whose own sum is exact; there and back, so that the models' rounding stays what it is.
      step_ = rounds_ % 2 == 0 ? static_cast<float>(steps(random)) * 0x1p-10F : -step_;
      put_in_ += static_cast<double>(step_);
      node_->AddDisplacement(std::vector<float>(floats_, step_));
      largest_ = std::max(largest_, static_cast<double>(std::abs(node_->model()[0])));
      ASSERT_EQ(node_->Publish(), OkStatus());
      ++rounds_;
    }
    ASSERT_TRUE(node_->Unsettled().empty());
  }

  Transport& transport_;
  const std::size_t floats_;
  const QuantizerOptions quantizer_;
  std::unique_ptr<Registers> registers_;
  std::unique_ptr<SwarmNode> node_;
  float step_ = 0;
  double put_in_ = 0;
  double largest_ = 0;
  std::int64_t rounds_ = 0;
};

// Of all ranks, at rank 0; empty elsewhere.
std::vector<Facts> Gather(Transport& transport, const Facts& own) {
  const Tag tag(MessageKind::kControl, kChannel, 0);
  if (transport.rank() != 0) {
    EXPECT_EQ(SendAndWait(transport, 0, tag, std::as_bytes(std::span(own)), Soon()), OkStatus());
    return {};
  }
  std::vector<Facts> all(static_cast<std::size_t>(transport.world_size()));
  all[0] = own;
  for (int rank = 1; rank < transport.world_size(); ++rank) {
    const std::span<std::byte> into = std::as_writable_bytes(std::span(all[static_cast<std::size_t>(rank)]));
    EXPECT_EQ(ReceiveAndWait(transport, rank, tag, into, Soon()), OkStatus());
  }
  return all;
}

TEST(SwarmRanksTest, Sum_WithConcurrentWriters_IsWhatWasPutIn) {
  OnEveryRank([](Transport& transport) {
    Hammer hammer(transport, 8, 1);
    hammer.Run();
    const std::vector<Facts> all = Gather(transport, hammer.Tell());
    if (all.empty()) return;
    Facts sum{};
    double largest = 0;
    for (const Facts& facts : all) {
      for (std::size_t f = 0; f < kFacts; ++f) sum[f] += facts[f];
      largest = std::max(largest, facts[kLargest]);
      EXPECT_EQ(facts[kEnded], facts[kRounds]);
      EXPECT_EQ(facts[kAveraged], facts[kAppended]);
    }
    EXPECT_EQ(sum[kAppended], sum[kFolded] + sum[kPending] + sum[kVoid]);
    EXPECT_EQ(sum[kPending], 0);
    EXPECT_GT(sum[kAppended], 0);
    // Each of these additions rounds by at most half a unit of the last place, at random; six standard deviations.
    const double additions = sum[kRounds] + sum[kAppended] + sum[kFolded];
    const double unit = std::exp2(std::ceil(std::log2(2 * largest)) - 24);
    const double off = sum[kModel] - static_cast<double>(kStart) * transport.world_size() - sum[kPutIn];
    EXPECT_LT(std::abs(off), 6 * unit / std::sqrt(12.0) * std::sqrt(additions));
    std::cout << std::setprecision(9) << "ranks=" << transport.world_size() << " registers=\""
              << Name(hammer.registers().mechanism()) << "\" rounds=" << sum[kRounds] << " appended=" << sum[kAppended]
              << " folded=" << sum[kFolded] << " pending=" << sum[kPending] << " void=" << sum[kVoid]
              << " torn=" << sum[kTorn] << " began_again=" << sum[kConflicts] << " put_in=" << sum[kPutIn]
              << " off=" << off << "\n";
  });
}

// All weights of a model stay equal to the bit, unless somebody uses a mixture of two versions.
TEST(SwarmRanksTest, Models_OfEqualWeights_StayEqualSinceNoTornReadIsUsed) {
  OnEveryRank([](Transport& transport) {
    Hammer hammer(transport, 0, 5000);
    hammer.Run();
    const std::span<const float> model = hammer.model();
    EXPECT_TRUE(std::ranges::all_of(model, [&](float w) { return w == model[0]; }));
    const std::vector<Facts> all = Gather(transport, hammer.Tell());
    double rounds = 0, torn = 0;
    for (const Facts& facts : all) {
      rounds += facts[kRounds];
      torn += facts[kTorn];
    }
    if (!all.empty()) std::cout << "weights=5000 rounds=" << rounds << " torn=" << torn << "\n";
  });
}

}  // namespace
}  // namespace weft
