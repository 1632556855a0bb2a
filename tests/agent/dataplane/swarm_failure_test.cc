// What goes wrong between nodes of SwarmSGD: counted, and spread by nobody.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/agent/dataplane/swarm_testing.h"

namespace weft {
namespace {

constexpr std::size_t kFloats = 100;

std::vector<float> All(float value) { return std::vector<float>(kFloats, value); }

std::int64_t CountOf(SwarmNode& node, InteractionEnd end) {
  return node.counts().interactions[static_cast<std::size_t>(end)];
}

void ExpectModel(SwarmNode& node, float value, float tolerance = 1e-6F) {
  for (const float weight : node.model()) ASSERT_NEAR(weight, value, tolerance);
}

TEST(SwarmQueueTest, NinthDelta_FindsTheQueueFullAndChangesNothing) {
  SwarmNodes swarm({.nodes = 10}, All(1));
  for (int i = 1; i <= 8; ++i) {
    EXPECT_EQ(swarm[i].Interact(0), InteractionEnd::kAveraged) << i;
  }
  swarm.StepAndPublish(9, All(3));
  EXPECT_EQ(swarm[9].Interact(0), InteractionEnd::kQueueFull);
  ExpectModel(swarm[9], 4);
  EXPECT_EQ(CountOf(swarm[9], InteractionEnd::kQueueFull), 1);
  EXPECT_EQ(swarm[0].Fold(), 8);
  ExpectModel(swarm[0], 1);
  // Folded, but in no publication yet: the cells are not free.
  EXPECT_EQ(swarm[9].Interact(0), InteractionEnd::kQueueFull);
  swarm.Publish(0);
  EXPECT_EQ(swarm[9].Interact(0), InteractionEnd::kAveraged);
  ExpectModel(swarm[9], 2.5F);
  swarm[0].Fold();
  ExpectModel(swarm[0], 2.5F);
}

TEST(SwarmQueueTest, DeltasThatWait_AreSeenByEveryReader) {
  SwarmNodes swarm({.nodes = 3}, All(0));
  swarm.StepAndPublish(1, All(8));
  EXPECT_EQ(swarm[1].Interact(0), InteractionEnd::kAveraged);
  EXPECT_EQ(swarm[0].waiting(), 1);
  EXPECT_EQ(swarm[2].Interact(0), InteractionEnd::kAveraged);
  ExpectModel(swarm[2], 2);  // of 0 and of 0 + 4
  swarm[0].Fold();
  ExpectModel(swarm[0], 2);
}

class SwarmStandstillTest : public testing::Test {
 protected:
  SwarmStandstillTest()
      : swarm_({.nodes = 3,
                .exchange_timeout = std::chrono::seconds(1),
                .claim_timeout = std::chrono::seconds(2),
                .clock = &clock_},
               All(0)) {
    swarm_.StepAndPublish(1, All(8));
  }

  // Node 1 interacts with node 0, which stands still after so many operations.
  void StandStill(int operations) {
    swarm_.registers(1).HoldAfter(0, operations);
    swarm_[1].Start(0);
    EXPECT_TRUE(swarm_[1].active());
    clock_.Advance(std::chrono::seconds(1));
    swarm_[1].Poll();
    EXPECT_FALSE(swarm_[1].active());
    EXPECT_EQ(swarm_[1].last_end(), InteractionEnd::kTimeout);
    EXPECT_FALSE(swarm_[1].Available(0));
    EXPECT_TRUE(swarm_[1].Available(2));
    ExpectModel(swarm_[1], 8);
  }
  void ExpectSum(double sum) {
    for (const double value : swarm_.SettledSum()) ASSERT_NEAR(value, sum, 1e-6);
  }

  ManualClock clock_;
  SwarmNodes swarm_;
};

TEST_F(SwarmStandstillTest, Read_ThatDoesNotEnd_CostsOneDeadline) {
  StandStill(1);
  EXPECT_TRUE(swarm_[1].Unsettled().empty());  // it changes nothing
  EXPECT_EQ(swarm_[1].Interact(2), InteractionEnd::kAveraged);
  ExpectModel(swarm_[1], 4);
  swarm_.registers(1).Release();
  swarm_[1].Poll();
  EXPECT_TRUE(swarm_[1].Available(0));
  EXPECT_EQ(swarm_[1].Interact(0), InteractionEnd::kAveraged);
  EXPECT_EQ(CountOf(swarm_[1], InteractionEnd::kTimeout), 1);
  ExpectSum(8);
}

TEST_F(SwarmStandstillTest, Append_ThatEndsLate_CountsThen) {
  StandStill(3);  // its cell is claimed
  EXPECT_EQ(swarm_[1].Unsettled(), std::vector<int>{0});
  EXPECT_EQ(swarm_[0].Fold(), 0);
  swarm_.registers(1).Release();
  swarm_[1].Poll();
  EXPECT_TRUE(swarm_[1].Unsettled().empty());
  ExpectModel(swarm_[1], 4);
  EXPECT_EQ(swarm_[0].Fold(), 1);
  ExpectModel(swarm_[0], 4);
  EXPECT_EQ(swarm_[1].counts().appended, 1);
}

TEST_F(SwarmStandstillTest, Cell_ThatIsClaimedTooLong_IsClosedAndItsDeltaCountsNowhere) {
  StandStill(3);
  swarm_[0].Poll();
  clock_.Advance(std::chrono::seconds(2));
  swarm_[0].Poll();
  swarm_[0].Poll();
  EXPECT_EQ(swarm_[0].counts().closed_cells, 1);
  // Nobody else is hindered by it.
  EXPECT_EQ(swarm_[2].Interact(0), InteractionEnd::kAveraged);
  swarm_.registers(1).Release();
  swarm_[1].Poll();
  EXPECT_TRUE(swarm_[1].Unsettled().empty());
  EXPECT_EQ(swarm_[1].counts().appended, 0);
  ExpectModel(swarm_[1], 8);
  swarm_[0].Poll();  // frees the cell
  swarm_[0].Fold();
  swarm_.Publish(0);
  ExpectModel(swarm_[0], 0);
  ExpectSum(8);
  for (int again = 0; again < 9; ++again) {
    EXPECT_EQ(swarm_[1].Interact(0), InteractionEnd::kAveraged) << again;
    swarm_[0].Fold();
    swarm_.Publish(0);
  }
  ExpectSum(8);
}

TEST_F(SwarmStandstillTest, ReadySeat_ThatIsLate_CountsIfItWasNotClosed) {
  StandStill(4);  // the delta is written, and nobody may use it
  EXPECT_EQ(swarm_[0].waiting(), 0);
  swarm_.registers(1).Release();
  swarm_[0].Poll();
  clock_.Advance(std::chrono::seconds(3));
  swarm_[0].Poll();
  EXPECT_EQ(swarm_[0].counts().closed_cells, 0);
  EXPECT_EQ(swarm_[0].Fold(), 1);
  swarm_[1].Poll();
  ExpectModel(swarm_[1], 4);
  ExpectSum(8);
}

TEST_F(SwarmStandstillTest, Reader_WhileAnotherWrites_BeginsAgainAndThenFindsItBusy) {
  swarm_.registers(1).HoldAfter(0, 3);
  swarm_[1].Start(0);
  swarm_[2].Start(0);
  for (int again = 0; again < 10 && swarm_[2].active(); ++again) {
    clock_.Advance(std::chrono::milliseconds(1));
    swarm_[2].Poll();
  }
  EXPECT_EQ(swarm_[2].last_end(), InteractionEnd::kBusy);
  EXPECT_EQ(swarm_[2].counts().conflicts, 4);
  swarm_.registers(1).Release();
  swarm_[1].Poll();
  EXPECT_EQ(swarm_[2].Interact(0), InteractionEnd::kAveraged);
  ExpectModel(swarm_[2], 2);
  ExpectSum(8);
}

// Both read before either writes: without the conflict they would swap their models.
TEST_F(SwarmStandstillTest, TwoThatWriteToEachOther_DoNotSwap) {
  swarm_.registers(0).HoldAfter(1, 2);
  swarm_[0].Start(1);  // has read 1
  EXPECT_EQ(swarm_[1].Interact(0), InteractionEnd::kAveraged);
  ExpectModel(swarm_[1], 4);
  swarm_.registers(0).Release();  // claims a cell of 1's, and finds that its own queue is not what it was
  swarm_[0].Poll();
  EXPECT_EQ(swarm_[0].counts().conflicts, 1);
  swarm_.Publish(1);
  clock_.Advance(std::chrono::milliseconds(1));
  swarm_[0].Poll();
  EXPECT_EQ(swarm_[0].last_end(), InteractionEnd::kAveraged);
  swarm_[1].Fold();
  ExpectModel(swarm_[0], 4);
  ExpectModel(swarm_[1], 4);
}

TEST(SwarmDeathTest, Writer_KilledInMidWrite_CostsACellAndNoMass) {
  // Node 1's messages: two to make the registers; requests for header, model, claim and write; the delta itself.
  SwarmShape shape{.nodes = 3, .medium = SwarmMedium::kService, .claim_timeout = std::chrono::milliseconds(1)};
  shape.network.deaths = {{.rank = 1, .message = 7, .fraction = 0.5}};
  SwarmNodes swarm(shape, All(1));
  EXPECT_EQ(swarm[1].Interact(0), InteractionEnd::kPeerDead);
  const TimePoint deadline = Clock::Steady().Now() + std::chrono::seconds(20);
  while (swarm[0].counts().closed_cells == 0 && Clock::Steady().Now() < deadline) swarm[0].Poll();
  EXPECT_EQ(swarm[0].counts().closed_cells, 1);
  EXPECT_EQ(swarm[0].Fold(), 0);
  swarm.StepAndPublish(2, All(2));
  EXPECT_EQ(swarm[2].Interact(1), InteractionEnd::kPeerDead);
  EXPECT_EQ(swarm[2].Interact(0), InteractionEnd::kAveraged);
  swarm[0].Fold();
  ExpectModel(swarm[0], 2);
  ExpectModel(swarm[2], 2);
}

TEST(SwarmReadTest, Model_OutOfTheKeysRange_IsReadByFurtherDigitsAndRaw) {
  for (const float distance : {0.05F, 3.0F, 4e6F}) {
    SwarmNodes swarm({.nodes = 2, .quantizer = {.bits = 4, .rotation = false, .seed = 1}}, All(1));
    swarm[1].AddDisplacement(All(distance));
    EXPECT_EQ(swarm[1].Interact(0), InteractionEnd::kAveraged);
    swarm[0].Fold();
    const float middle = 1 + distance / 2;
    ExpectModel(swarm[0], middle, 0.08F * distance);
    ExpectModel(swarm[1], middle, 0.08F * distance);
    EXPECT_EQ(swarm[1].counts().further_digit_blocks, 1) << distance;
    EXPECT_EQ(swarm[1].counts().raw_blocks, distance > 1e6F ? 1 : 0) << distance;
    EXPECT_NEAR(swarm[1].counts().quantizer_distance, static_cast<double>(distance),
                0.02 * static_cast<double>(distance));
  }
}

TEST(SwarmReadTest, RegisterThatStaysTorn_IsCountedAndNotUsed) {
  SwarmNodes swarm({.nodes = 2}, All(1));
  swarm.StepAndPublish(1, All(2));
  // A publication that has not got to its end.
  const SwarmLayout layout(Quantizer({.bits = 0, .rotation = false, .seed = 1}, kFloats));
  StoreWord(swarm.registers(0).local(), layout.SlotOffset(1) + layout.second_version_in_slot(), 0);
  EXPECT_EQ(swarm[1].Interact(0), InteractionEnd::kTorn);
  EXPECT_EQ(swarm[1].counts().torn_reads, 4);
  ExpectModel(swarm[1], 3);
  // One changed bit, which the version does not tell.
  swarm.Publish(0);
  const std::size_t at = layout.SlotOffset(2) + 5 * kWordBytes;
  StoreWord(swarm.registers(0).local(), at, LoadWord(swarm.registers(0).local(), at) ^ 1);
  EXPECT_EQ(swarm[1].Interact(0), InteractionEnd::kTorn);
  swarm.Publish(0);
  EXPECT_EQ(swarm[1].Interact(0), InteractionEnd::kAveraged);
}

TEST(SwarmReadTest, DeltaThatIsBroken_IsCountedAndRefused) {
  SwarmNodes swarm({.nodes = 2}, All(1));
  const SwarmLayout layout(Quantizer({.bits = 0, .rotation = false, .seed = 1}, kFloats));
  const std::span<std::byte> memory = swarm.registers(0).local();
  std::vector<std::byte> cell(layout.cell_bytes(), std::byte{0x5a});  // no delta's header
  const std::uint64_t checksum = SwarmChecksum(0, std::span<const std::byte>(cell).first(layout.checksum_in_cell()));
  SetWord(cell, layout.checksum_in_cell(), checksum);
  StoreWords(cell, memory.subspan(layout.CellOffset(2), cell.size()));
  StoreWord(memory, kSeatsOffset + 2 * kWordBytes, SeatWord::Ready(1, checksum));
  EXPECT_EQ(swarm[1].Interact(0), InteractionEnd::kNotFinite);
  EXPECT_EQ(swarm[0].Fold(), 0);
  EXPECT_EQ(swarm[0].counts().refused, 1);
  ExpectModel(swarm[0], 1);
  swarm.Publish(0);
  EXPECT_EQ(swarm[1].Interact(0), InteractionEnd::kAveraged);
}

TEST(SwarmReadTest, ModelThatIsNotFinite_IsNotPublished) {
  for (const int bits : {0, 8}) {
    SwarmNodes swarm({.nodes = 2, .quantizer = {.bits = bits, .rotation = false, .seed = 1}}, All(1));
    std::vector<float> weights = All(1);
    weights[77] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(swarm[0].Rebase(weights));
    weights[77] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(swarm[0].Rebase(weights));
    ExpectModel(swarm[0], 1);
    swarm[0].AddDisplacement(weights);
    EXPECT_EQ(swarm[0].Publish().code(), StatusCode::kInvalidArgument) << bits;
    EXPECT_EQ(swarm[1].Interact(0), InteractionEnd::kAveraged);  // with what was published before
    ExpectModel(swarm[1], 1, 0.01F);
    // What it would give away is refused, too.
    EXPECT_EQ(swarm[0].Interact(1), InteractionEnd::kNotFinite);
    EXPECT_EQ(swarm[1].waiting(), 0);
  }
}

TEST(SwarmTrafficTest, Interaction_Takes5AndKOperations) {
  SwarmNodes swarm(
      {.nodes = 5, .medium = SwarmMedium::kService, .quantizer = {.bits = 8, .rotation = false, .seed = 1}}, All(1));
  const Quantizer quantizer({.bits = 8, .rotation = false, .seed = 1}, kFloats);
  const auto head = static_cast<std::int64_t>(quantizer.register_prefix_bytes()) + 24;
  const auto cell = static_cast<std::int64_t>(quantizer.delta_bytes()) + 16;
  for (int k = 0; k < 4; ++k) {
    swarm.network().ResetStatistics();
    EXPECT_EQ(swarm[k + 1].Interact(0), InteractionEnd::kAveraged);
    const SwarmTraffic traffic = swarm[k + 1].counts().traffic;
    EXPECT_EQ(traffic.operations, 5 + k);
    EXPECT_EQ(traffic.received_bytes, 128 + head + k * cell + 16);
    EXPECT_EQ(traffic.sent_bytes, cell + 16);
    // The service: a request of 40 bytes for each operation, and the cell; an answer for each.
    const RankStatistics statistics = swarm.network().statistics(k + 1);
    EXPECT_EQ(statistics.egress.messages, 5 + k + 1);
    EXPECT_EQ(statistics.egress.bytes, 40 * (5 + k) + cell);
    EXPECT_EQ(statistics.ingress.messages, 5 + k);
    EXPECT_EQ(statistics.ingress.bytes, traffic.received_bytes);
  }
}

// docs/format/swarm-registers.md
TEST(SwarmLayoutTest, Example_IsTheDocumentations) {
  SwarmNodes swarm({.nodes = 2}, {1, 2});
  swarm.StepAndPublish(1, {2, 2});
  EXPECT_EQ(swarm[1].Interact(0), InteractionEnd::kAveraged);
  const std::span<const std::byte> memory = swarm.registers(0).local();
  ASSERT_EQ(memory.size(), 1408U);
  const std::vector<std::pair<std::size_t, std::uint64_t>> words = {
      {0, 1},
      {8, 2},
      {24, 0x0000b63dfc000101},
      {256, 1},
      {264, 0x000002015a514657},
      {272, 0xddc2d77200000000},
      {288, 2},
      {328, 0x400000003f800000},
      {336, 0x5a9ca97cd6d7407f},
      {344, 1},
      {512, 0x0001000000000000},
      {520, 0x000001015a514657},
      {528, 0xddc2d77200000001},
      {536, 2},
      {544, 2},
      {584, 0x3f8000003f800000},
      {592, 0x0fed9e3eeab63dfc},
  };
  std::size_t at = 0;
  for (const auto& [offset, word] : words) {
    for (; at < offset; at += kWordBytes) EXPECT_EQ(LoadWord(memory, at), 0U) << at;
    EXPECT_EQ(LoadWord(memory, offset), word) << offset;
    at = offset + kWordBytes;
  }
  for (; at < memory.size(); at += kWordBytes) EXPECT_EQ(LoadWord(memory, at), 0U) << at;
}

}  // namespace
}  // namespace weft
