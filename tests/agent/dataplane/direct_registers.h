// Registers of ranks that are threads of one process, by the processor's own loads, stores and atomics: what shared
// memory is between processes. Operations end before they return.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/transport/register_memory.h"
#include "agent/transport/registers.h"

namespace weft {

class DirectMemory {
 public:
  DirectMemory(int ranks, std::size_t bytes) {
    for (int rank = 0; rank < ranks; ++rank) memories_.push_back(std::make_unique<RegisterMemory>(bytes));
  }
  std::span<std::byte> of(int rank) const { return memories_.at(static_cast<std::size_t>(rank))->bytes(); }

 private:
  std::vector<std::unique_ptr<RegisterMemory>> memories_;
};

class DirectRegisters : public Registers {
 public:
  DirectRegisters(const DirectMemory& memory, int rank) : memory_(memory), rank_(rank) {}

  RegisterMechanism mechanism() const override { return RegisterMechanism::kSharedMemory; }
  const std::string& reason() const override { return reason_; }
  std::span<std::byte> local() override { return memory_.of(rank_); }
  void Get(int rank, std::size_t offset, SharedBytes into, RegisterDone done) override {
    LoadWords(memory_.of(rank).subspan(offset, into->size()), *into);
    done(OkStatus());
  }
  void Put(int rank, std::size_t offset, SharedBytes from, RegisterDone done) override {
    StoreWords(*from, memory_.of(rank).subspan(offset, from->size()));
    done(OkStatus());
  }
  void Fetch(int rank, std::size_t offset, FetchOperation operation, std::uint64_t operand, FetchDone done) override {
    done(FetchWord(memory_.of(rank), offset, operation, operand));
  }

 private:
  const DirectMemory& memory_;
  const int rank_;
  const std::string reason_ = "threads of one process";
};

}  // namespace weft
