// Registers in memory that all ranks map (registers.h, shared memory): loads, stores and processor atomics. No other
// process has to run, and every operation ends before its call returns.
//
// Works between the processes of one host and between the threads of one process alike. A rank that stands still, or is
// cut off from messages, is read and written as before. One that is gone is noticed as the transport notices it.
#pragma once

#include <memory>
#include <string>

#include "agent/transport/registers.h"
#include "agent/transport/shared_segment.h"
#include "agent/transport/transport.h"

namespace weft {

class SharedRegisters : public Registers {
 public:
  // Of the `options.ranks` first ranks, which all come here with the same `instance` (register_service.h); rank 0 makes
  // the memory. All get the same verdict: UNIMPLEMENTED when some rank is on another host (its name or its network
  // namespace is another), or can't map the memory; says which and why.
  // DEADLINE_EXCEEDED and errors as for messages.
  static Result<std::unique_ptr<SharedRegisters>> Make(Transport& transport, const RegistersOptions& options,
                                                       int instance, TimePoint deadline);
  ~SharedRegisters() override;

  RegisterMechanism mechanism() const override { return RegisterMechanism::kSharedMemory; }
  const std::string& reason() const override { return reason_; }
  std::span<std::byte> local() override { return MemoryOf(rank_); }
  void Get(int rank, std::size_t offset, SharedBytes into, RegisterDone done) override;
  void Put(int rank, std::size_t offset, SharedBytes from, RegisterDone done) override;
  void Fetch(int rank, std::size_t offset, FetchOperation operation, std::uint64_t operand, FetchDone done) override;

 private:
  class Watch;

  SharedRegisters(Transport& transport, const RegistersOptions& options, std::unique_ptr<SharedSegment> memory,
                  int instance);
  std::span<std::byte> MemoryOf(int rank) const;

  const int rank_;
  const int ranks_;
  const std::size_t bytes_;  // of each rank
  const std::unique_ptr<SharedSegment> memory_;
  const std::shared_ptr<Watch> watch_;  // shared with its completions
  const std::string reason_;
};

}  // namespace weft
