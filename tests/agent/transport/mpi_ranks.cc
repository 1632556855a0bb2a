// Every rank is a process that runs the whole program under mpirun; rank_main runs once in each.
#include <iostream>
#include <string>

#include "agent/transport/mpi/mpi_transport.h"
#include "common/clock.h"
#include "gtest/gtest.h"
#include "tests/agent/transport/every_rank.h"

namespace weft {
namespace {

MpiTransport* g_transport = nullptr;

// No rank starts a test while another is still in the one before.
void WaitForAll() {
  const TimePoint deadline = Clock::Steady().Now() + std::chrono::seconds(60);
  const Tag tag(MessageKind::kControl, Tag::kMaxChannel, 0);
  const int last = g_transport->world_size() - 1;
  const int rank = g_transport->rank();
  // A token goes round twice: the second time tells that the first came to all.
  for (int turn = 0; turn < 2 && last > 0; ++turn) {
    if (rank > 0) {
      ASSERT_EQ(ReceiveAndWait(*g_transport, rank - 1, tag, {}, deadline), OkStatus());
    }
    ASSERT_EQ(SendAndWait(*g_transport, rank == last ? 0 : rank + 1, tag, {}, deadline), OkStatus());
    if (rank == 0) {
      ASSERT_EQ(ReceiveAndWait(*g_transport, last, tag, {}, deadline), OkStatus());
    }
  }
}

}  // namespace

int TestWorldSize() { return g_transport->world_size(); }

void OnEveryRank(const std::function<void(Transport&)>& rank_main) {
  rank_main(*g_transport);
  // After those tests no message passes any more.
  const std::string suite = testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
  if (suite.find("End") == std::string::npos) WaitForAll();
}

}  // namespace weft

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const weft::TimePoint start = weft::Clock::Steady().Now();
  // Small parts, so that the larger messages of the suite go in several.
  auto transport = weft::MpiTransport::Create({.part_bytes = 100'000}, start + std::chrono::seconds(60));
  if (!transport.ok()) {
    std::cerr << transport.status() << "\n";
    weft::ExitWithoutFinalize(1);
  }
  weft::g_transport = transport.value().get();
  const int failed = RUN_ALL_TESTS();
  const weft::Status ended = weft::g_transport->Shutdown(weft::Clock::Steady().Now() + std::chrono::seconds(30));
  if (!ended.ok()) {
    std::cerr << ended << "\n";
    weft::ExitWithoutFinalize(1);
  }
  return failed;
}
