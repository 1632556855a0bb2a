// Registers whose operations on one other rank can be held: from then on they neither happen nor end, as with a peer
// that stands still, until they are released. One thread calls.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/transport/registers.h"

namespace weft {

class HeldRegisters : public Registers {
 public:
  explicit HeldRegisters(Registers& below) : below_(below) {}

  // Lets so many further operations on `rank` pass, and holds all after them.
  void HoldAfter(int rank, int operations) {
    rank_ = rank;
    pass_ = operations;
  }
  // Carries out what was held, in order, and holds no more.
  void Release() {
    pass_.reset();
    for (const std::function<void()>& run : std::exchange(held_, {})) run();
  }

  RegisterMechanism mechanism() const override { return below_.mechanism(); }
  const std::string& reason() const override { return below_.reason(); }
  std::span<std::byte> local() override { return below_.local(); }
  void Get(int rank, std::size_t offset, SharedBytes into, RegisterDone done) override {
    Do(rank, [this, rank, offset, into, done] { below_.Get(rank, offset, into, done); });
  }
  void Put(int rank, std::size_t offset, SharedBytes from, RegisterDone done) override {
    Do(rank, [this, rank, offset, from, done] { below_.Put(rank, offset, from, done); });
  }
  void Fetch(int rank, std::size_t offset, FetchOperation operation, std::uint64_t operand, FetchDone done) override {
    Do(rank, [this, rank, offset, operation, operand, done] { below_.Fetch(rank, offset, operation, operand, done); });
  }

 private:
  void Do(int rank, std::function<void()> run) {
    if (rank == rank_ && pass_ && (*pass_)-- <= 0) {
      pass_ = 0;
      held_.push_back(std::move(run));
    } else {
      run();
    }
  }

  Registers& below_;
  int rank_ = -1;
  std::optional<int> pass_;
  std::vector<std::function<void()>> held_;
};

}  // namespace weft
