// What every mechanism of registers must do, on every transport that has it. Runs on 2 ranks or more.
#include <cstring>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "agent/transport/registers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/agent/transport/batch.h"
#include "tests/agent/transport/every_rank.h"

namespace weft {
namespace {

SharedBytes Bytes(std::size_t size) { return std::make_shared<std::vector<std::byte>>(size); }

SharedBytes Words(const std::vector<std::uint64_t>& words) {
  SharedBytes bytes = Bytes(words.size() * 8);
  std::memcpy(bytes->data(), words.data(), bytes->size());
  return bytes;
}

std::uint64_t WordOf(const SharedBytes& bytes, std::size_t index) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes->data() + index * 8, 8);
  return word;
}

void Meet(Transport& transport) {
  float nothing = 0;
  ASSERT_EQ(AllReduceAndWait(transport, std::span(&nothing, 1), transport.world_size(), Deadline()), OkStatus());
}

class RegistersSuite : public testing::TestWithParam<RegisterMechanism> {
 protected:
  // The registers of all ranks, or nothing (the test is then skipped) where the transport has no such mechanism.
  static std::unique_ptr<Registers> Make(Transport& transport, std::size_t bytes) {
    auto registers =
        transport.MakeRegisters({.ranks = transport.world_size(), .bytes = bytes, .mechanism = GetParam()}, Deadline());
    if (!registers.ok()) {
      EXPECT_EQ(registers.status().code(), StatusCode::kUnimplemented) << registers.status();
      return nullptr;
    }
    EXPECT_EQ((*registers)->mechanism(), GetParam());
    EXPECT_FALSE((*registers)->reason().empty());
    EXPECT_EQ((*registers)->local().size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*registers)->local().data()) % 64, 0U);
    return std::move(*registers);
  }
};

TEST_P(RegistersSuite, New_EveryRankReadsZeros) {
  OnEveryRank([](Transport& transport) {
    const auto registers = Make(transport, 1000 * 8);
    if (!registers) return;
    for (int rank = 0; rank < transport.world_size(); ++rank) {
      const SharedBytes all = Bytes(1000 * 8);
      (*all)[77] = std::byte{1};
      ASSERT_EQ(GetAndWait(*registers, rank, 0, all, Deadline()), OkStatus());
      EXPECT_EQ(*all, std::vector<std::byte>(1000 * 8));
    }
    Meet(transport);
  });
}

TEST_P(RegistersSuite, OwnersStores_AreReadByAll) {
  OnEveryRank([](Transport& transport) {
    const auto registers = Make(transport, 64);
    if (!registers) return;
    const auto own = static_cast<std::uint64_t>(transport.rank());
    StoreWords(*Words({own + 1, own + 2, own + 3}), registers->local().subspan(8, 24));
    StoreWord(registers->local(), 40, own + 4);
    Meet(transport);
    for (int rank = 0; rank < transport.world_size(); ++rank) {
      const SharedBytes some = Bytes(40);
      ASSERT_EQ(GetAndWait(*registers, rank, 8, some, Deadline()), OkStatus());
      const auto theirs = static_cast<std::uint64_t>(rank);
      EXPECT_EQ(*some, *Words({theirs + 1, theirs + 2, theirs + 3, 0, theirs + 4})) << "rank " << rank;
    }
    Meet(transport);
  });
}

TEST_P(RegistersSuite, Puts_AreReadByTheOwner) {
  OnEveryRank([](Transport& transport) {
    const auto ranks = static_cast<std::size_t>(transport.world_size());
    const auto registers = Make(transport, ranks * 16);
    if (!registers) return;
    const auto own = static_cast<std::uint64_t>(transport.rank());
    for (int rank = 0; rank < transport.world_size(); ++rank) {
      ASSERT_EQ(PutAndWait(*registers, rank, own * 16, Words({own + 1, static_cast<std::uint64_t>(rank)}), Deadline()),
                OkStatus());
    }
    Meet(transport);
    for (std::size_t from = 0; from < ranks; ++from) {
      EXPECT_EQ(LoadWord(registers->local(), from * 16), from + 1);
      EXPECT_EQ(LoadWord(registers->local(), from * 16 + 8), own);
    }
    Meet(transport);
  });
}

TEST_P(RegistersSuite, ConcurrentAdds_SumUp) {
  constexpr int kAdds = 200;
  OnEveryRank([](Transport& transport) {
    const auto registers = Make(transport, 64);
    if (!registers) return;
    Batch batch;
    for (int i = 0; i < kAdds; ++i) {
      for (int rank = 0; rank < transport.world_size(); ++rank) {
        const Completion ended = batch.Expect("add");
        registers->Fetch(
            rank, 16, FetchOperation::kAdd, static_cast<std::uint64_t>(transport.rank() + 1),
            [ended](const Result<std::uint64_t>& before) { ended(before.ok() ? OkStatus() : before.status()); });
      }
    }
    ASSERT_TRUE(batch.Wait());
    EXPECT_THAT(batch.errors(), testing::IsEmpty());
    Meet(transport);
    const auto ranks = static_cast<std::uint64_t>(transport.world_size());
    for (int rank = 0; rank < transport.world_size(); ++rank) {
      const auto word = FetchAndWait(*registers, rank, 16, FetchOperation::kAdd, 0, Deadline());
      ASSERT_TRUE(word.ok()) << word.status();
      EXPECT_EQ(*word, kAdds * ranks * (ranks + 1) / 2);
    }
    Meet(transport);
  });
}

TEST_P(RegistersSuite, FetchAdd_GivesEachTicketOnce) {
  constexpr std::uint64_t kTickets = 50;
  OnEveryRank([](Transport& transport) {
    const auto ranks = static_cast<std::uint64_t>(transport.world_size());
    const auto registers = Make(transport, 8 * (1 + kTickets * ranks));
    if (!registers) return;
    for (std::uint64_t i = 0; i < kTickets; ++i) {
      const auto ticket = FetchAndWait(*registers, 0, 0, FetchOperation::kAdd, 1, Deadline());
      ASSERT_TRUE(ticket.ok()) << ticket.status();
      ASSERT_LT(*ticket, kTickets * ranks);
      const auto before = FetchAndWait(*registers, 0, 8 * (1 + *ticket), FetchOperation::kAdd, 1, Deadline());
      ASSERT_TRUE(before.ok()) << before.status();
      EXPECT_EQ(*before, 0U) << "ticket " << *ticket << " was given twice";
    }
    Meet(transport);
  });
}

TEST_P(RegistersSuite, OrAndAnd_SetAndClearBits) {
  OnEveryRank([](Transport& transport) {
    const auto registers = Make(transport, 8);
    if (!registers) return;
    const std::uint64_t bit = std::uint64_t{1} << transport.rank();
    ASSERT_TRUE(FetchAndWait(*registers, 0, 0, FetchOperation::kOr, bit, Deadline()).ok());
    Meet(transport);
    const auto set = FetchAndWait(*registers, 0, 0, FetchOperation::kOr, 0, Deadline());
    ASSERT_TRUE(set.ok()) << set.status();
    std::uint64_t all = 0;
    for (int rank = 0; rank < transport.world_size(); ++rank) all |= std::uint64_t{1} << rank;
    EXPECT_EQ(*set, all);
    Meet(transport);
    ASSERT_TRUE(FetchAndWait(*registers, 0, 0, FetchOperation::kAnd, ~bit, Deadline()).ok());
    Meet(transport);
    const auto cleared = FetchAndWait(*registers, 0, 0, FetchOperation::kOr, 0, Deadline());
    ASSERT_TRUE(cleared.ok()) << cleared.status();
    EXPECT_EQ(*cleared, 0U);
    Meet(transport);
  });
}

TEST_P(RegistersSuite, WordsUnderWriters_AreWhole) {
  constexpr int kRounds = 100;
  constexpr std::size_t kWords = 512;
  OnEveryRank([](Transport& transport) {
    const auto registers = Make(transport, kWords * 8);
    if (!registers) return;
    // All put words whose halves agree into rank 0's register; a torn word would have halves of two of them.
    const int peer = 0;
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      const std::uint64_t half = round * 16 + static_cast<std::uint64_t>(transport.rank());
      ASSERT_EQ(
          PutAndWait(*registers, peer, 0, Words(std::vector<std::uint64_t>(kWords, half << 32 | half)), Deadline()),
          OkStatus());
      const SharedBytes read = Bytes(kWords * 8);
      ASSERT_EQ(GetAndWait(*registers, peer, 0, read, Deadline()), OkStatus());
      for (std::size_t i = 0; i < kWords; ++i) {
        const std::uint64_t word = WordOf(read, i);
        ASSERT_EQ(word >> 32, word & 0xffffffff) << "word " << i;
        ASSERT_GT(word, 0U);
      }
    }
    Meet(transport);
  });
}

TEST_P(RegistersSuite, OwnerRewritesWhileOthersRead_AChecksumTellsWhatIsTorn) {
  constexpr int kVersions = 200;
  constexpr std::size_t kWords = 4096;  // a version, words that follow from it, and their sum
  OnEveryRank([](Transport& transport) {
    const auto registers = Make(transport, kWords * 8);
    if (!registers) return;
    const auto content = [](std::uint64_t version) {
      std::vector<std::uint64_t> words(kWords, version * 0x9e3779b97f4a7c15);
      words.front() = version;
      words.back() = std::accumulate(words.begin(), words.end() - 1, std::uint64_t{0});
      return Words(words);
    };
    if (transport.rank() == 0) {
      for (std::uint64_t version = 1; version <= kVersions; ++version) {
        StoreWords(*content(version), registers->local());
      }
    } else {
      std::uint64_t last = 0;
      while (last < kVersions) {
        const SharedBytes read = Bytes(kWords * 8);
        ASSERT_EQ(GetAndWait(*registers, 0, 0, read, Deadline()), OkStatus());
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i + 1 < kWords; ++i) sum += WordOf(read, i);
        if (sum != WordOf(read, kWords - 1)) continue;  // torn
        ASSERT_GE(WordOf(read, 0), last) << "an older version";
        last = WordOf(read, 0);
        if (last > 0) {
          ASSERT_EQ(*read, *content(last));
        }
      }
    }
    Meet(transport);
  });
}

TEST_P(RegistersSuite, OwnerComputesWithoutACall_OthersAreServed) {
  OnEveryRank([](Transport& transport) {
    const auto registers = Make(transport, 128);
    if (!registers) return;
    const auto others = static_cast<std::uint64_t>(transport.world_size() - 1);
    if (transport.rank() == 1) {
      // Until all others have read, written and changed a word, and seen that they have.
      const TimePoint limit = Deadline();
      while (LoadWord(registers->local(), 0) < others && Clock::Steady().Now() < limit) {
      }
      EXPECT_EQ(LoadWord(registers->local(), 0), others);
    } else {
      const SharedBytes read = Bytes(64);
      ASSERT_EQ(GetAndWait(*registers, 1, 64, read, Deadline()), OkStatus());
      ASSERT_EQ(
          PutAndWait(*registers, 1, 64 + 8 * static_cast<std::size_t>(transport.rank() % 8), Words({1}), Deadline()),
          OkStatus());
      ASSERT_TRUE(FetchAndWait(*registers, 1, 0, FetchOperation::kAdd, 1, Deadline()).ok());
    }
    Meet(transport);
  });
}

TEST_P(RegistersSuite, LargeRegister_ComesWhole) {
  constexpr std::size_t kWords = 700'001;
  OnEveryRank([](Transport& transport) {
    const auto registers = Make(transport, kWords * 8);
    if (!registers) return;
    std::vector<std::uint64_t> own(kWords);
    for (std::size_t i = 0; i < kWords; ++i) own[i] = i * 8 + static_cast<std::uint64_t>(transport.rank());
    StoreWords(std::as_bytes(std::span(own)), registers->local());
    Meet(transport);
    Batch batch;
    std::vector<SharedBytes> read;
    for (int rank = 0; rank < transport.world_size(); ++rank) {
      read.push_back(Bytes(kWords * 8));
      registers->Get(rank, 0, read.back(), batch.Expect("get"));
    }
    ASSERT_TRUE(batch.Wait());
    EXPECT_THAT(batch.errors(), testing::IsEmpty());
    for (std::size_t rank = 0; rank < read.size(); ++rank) {
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < kWords; ++i) wrong += WordOf(read[rank], i) != i * 8 + rank ? 1U : 0U;
      EXPECT_EQ(wrong, 0U) << "rank " << rank;
    }
    Meet(transport);
  });
}

TEST_P(RegistersSuite, Two_DoNotTouchEachOther) {
  OnEveryRank([](Transport& transport) {
    const auto first = Make(transport, 64);
    if (!first) return;
    const auto second = Make(transport, 128);
    ASSERT_TRUE(second);
    const int next = (transport.rank() + 1) % transport.world_size();
    ASSERT_EQ(PutAndWait(*first, next, 8, Words({1}), Deadline()), OkStatus());
    ASSERT_EQ(PutAndWait(*second, next, 16, Words({2}), Deadline()), OkStatus());
    Meet(transport);
    EXPECT_EQ(LoadWord(first->local(), 8), 1U);
    EXPECT_EQ(LoadWord(first->local(), 16), 0U);
    EXPECT_EQ(LoadWord(second->local(), 8), 0U);
    EXPECT_EQ(LoadWord(second->local(), 16), 2U);
    Meet(transport);
  });
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, RegistersSuite,
                         // One-sided with progress thread is one-sided.
                         testing::Values(RegisterMechanism::kSharedMemory, RegisterMechanism::kOneSided,
                                         RegisterMechanism::kService),
                         [](const auto& mechanism) {
                           std::string name = Name(mechanism.param);
                           std::erase_if(name, [](char c) { return c == ' ' || c == '-'; });
                           return name;
                         });

// Both ways of choosing: with memory that can be shared, and as if the ranks were on several hosts.
class RegistersChoice : public testing::TestWithParam<bool> {};

TEST_P(RegistersChoice, NoMechanismAskedFor_AllRanksHaveOneThatWorks) {
  OnEveryRank([](Transport& transport) {
    const TimePoint start = Clock::Steady().Now();
    const auto registers =
        transport.MakeRegisters({.ranks = transport.world_size(), .bytes = 64, .share_memory = GetParam()}, Deadline());
    ASSERT_TRUE(registers.ok()) << registers.status();
    const double milliseconds = ToSeconds(Clock::Steady().Now() - start) * 1e3;
    EXPECT_FALSE((*registers)->reason().empty());
    if (transport.rank() == 0) {
      std::cout << Name((*registers)->mechanism()) << ": " << (*registers)->reason() << ", after " << milliseconds
                << " ms\n";
    }
    if (!GetParam()) {
      EXPECT_NE((*registers)->mechanism(), RegisterMechanism::kSharedMemory);
    }
    std::vector<float> mechanism = {static_cast<float>((*registers)->mechanism())};
    ASSERT_EQ(AllReduceAndWait(transport, mechanism, transport.world_size(), Deadline()), OkStatus());
    EXPECT_EQ(mechanism[0], static_cast<float>((*registers)->mechanism()) * static_cast<float>(transport.world_size()));
    const int next = (transport.rank() + 1) % transport.world_size();
    const auto before = FetchAndWait(**registers, next, 0, FetchOperation::kAdd, 5, Deadline());
    ASSERT_TRUE(before.ok()) << before.status();
    EXPECT_EQ(*before, 0U);
    Meet(transport);
  });
}

// What MPI sends for itself while it makes a window must not be taken by a receive of ours.
TEST_P(RegistersChoice, ReceivesPostedBefore_GetTheirOwnMessages) {
  OnEveryRank([](Transport& transport) {
    const int size = transport.world_size();
    const int next = (transport.rank() + 1) % size;
    const int previous = (transport.rank() + size - 1) % size;
    const Tag first(MessageKind::kControl, 0, 0);  // the lowest there is
    std::vector<std::byte> received(8);
    const std::vector<std::byte> sent(8, std::byte{7});
    Batch batch;
    transport.Receive(previous, first, received, batch.Expect("receive"));
    const auto registers =
        transport.MakeRegisters({.ranks = size, .bytes = 64, .share_memory = GetParam()}, Deadline());
    ASSERT_TRUE(registers.ok()) << registers.status();
    transport.Send(next, first, sent, batch.Expect("send"));
    ASSERT_TRUE(batch.Wait());
    EXPECT_THAT(batch.errors(), testing::IsEmpty());
    EXPECT_EQ(received, sent);
    Meet(transport);
  });
}

INSTANTIATE_TEST_SUITE_P(SharedMemory, RegistersChoice, testing::Bool());

class RegistersEnd : public testing::TestWithParam<RegisterMechanism> {};

// Leaves the transport aborted, as those of TransportEnd do.
TEST_P(RegistersEnd, Abort_EveryOperationIsCancelledWithTheCause) {
  OnEveryRank([](Transport& transport) {
    const auto made =
        transport.MakeRegisters({.ranks = transport.world_size(), .bytes = 64, .mechanism = GetParam()}, Deadline());
    ASSERT_TRUE(made.ok()) << made.status();
    transport.Abort(InternalError("a test ends here"));
    for (int rank = 0; rank < transport.world_size(); ++rank) {
      if (rank == transport.rank()) continue;
      const Status read = GetAndWait(**made, rank, 0, Bytes(64), Deadline());
      EXPECT_EQ(read.code(), StatusCode::kCancelled) << read;
      EXPECT_THAT(read.message(), testing::HasSubstr("a test ends here"));
      EXPECT_EQ(PutAndWait(**made, rank, 0, Bytes(64), Deadline()).code(), StatusCode::kCancelled);
      EXPECT_EQ(FetchAndWait(**made, rank, 0, FetchOperation::kAdd, 1, Deadline()).status().code(),
                StatusCode::kCancelled);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, RegistersEnd,
                         testing::Values(RegisterMechanism::kSharedMemory, RegisterMechanism::kService));

}  // namespace
}  // namespace weft
