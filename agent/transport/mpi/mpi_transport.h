// Messages between processes, over Open MPI. One progress thread makes every MPI call (progress.h); the functions here
// queue operations to it.
//
// A message of more than `part_bytes` goes in parts. When its receiver's buffer has another size, the operation ends
// with DATA_LOSS, and what else is sent with that tag is not defined. A peer's death is mostly not seen here: mpirun
// ends all ranks, or the caller's deadline passes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "agent/transport/all_reduce.h"
#include "agent/transport/transport.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"

namespace weft {

class MpiProgress;

struct MpiOptions {
  // Larger messages go in parts of this size, at most INT_MAX; all ranks have the same. A part that ends tells the
  // progress thread that there is traffic. Larger parts: over shared memory without cross-memory attach, it sleeps in
  // mid-message. Smaller ones: it looks more often than it must.
  std::size_t part_bytes = 256 << 10;
  // The longest that the progress thread sleeps between two looks at the network, while nothing arrives. A message that
  // comes after a long silence is seen up to this much later; an idle rank costs about 10 us of processor per look.
  Duration longest_sleep = std::chrono::microseconds(250);
  // False: ranks on one host make registers as if they were on several.
  bool share_memory = true;
};

class MpiTransport : public Transport {
 public:
  // Starts the progress thread, which calls MPI_Init_thread, and waits for it until `deadline`. At most once a process.
  // DEADLINE_EXCEEDED: a peer did not come; end the process with ExitWithoutFinalize. FAILED_PRECONDITION: the MPI
  // library carries smaller tags than Tag::kMaxValue. (Other failures of MPI_Init end the process with Open MPI's own
  // message: MPI gives no way to catch them.)
  static Result<std::unique_ptr<MpiTransport>> Create(const MpiOptions& options, TimePoint deadline);

  // Stops the progress thread. Without Shutdown before it, MPI is not finalized and mpirun takes the rank for failed.
  ~MpiTransport() override;

  int rank() const override;
  int world_size() const override;
  void Send(int to, Tag tag, std::span<const std::byte> data, Completion done) override;
  void Receive(int from, Tag tag, std::span<std::byte> data, Completion done) override;
  void AllReduce(std::span<float> data, int ranks, Completion done) override;
  Result<std::unique_ptr<Registers>> MakeRegisters(const RegistersOptions& options, TimePoint deadline) override
      WEFT_EXCLUDES(registers_mutex_);
  // Receives are cancelled. What MPI can't give up within 100 ms (a peer stands still in mid-transfer) is left to it:
  // then MPI is never called again, so that it does not touch the buffers, and Shutdown refuses.
  void Abort(const Status& cause) override;
  std::string description() const override;

  // Ends what is in flight as Abort does, waits for all ranks to come here, and finalizes MPI. Not from a `done`.
  // DEADLINE_EXCEEDED: a rank did not come, or MPI_Finalize hangs. FAILED_PRECONDITION: an Abort left buffers to MPI.
  // After an error, end the process with ExitWithoutFinalize.
  Status Shutdown(TimePoint deadline);

 private:
  MpiTransport(std::shared_ptr<MpiProgress> progress, bool share_memory)
      : progress_(std::move(progress)), share_memory_(share_memory), all_reduce_(*this) {}

  // Shared with the thread, which may outlive this object when it hangs in MPI_Init or MPI_Finalize.
  const std::shared_ptr<MpiProgress> progress_;
  const bool share_memory_;
  RingAllReduce all_reduce_;
  Mutex registers_mutex_;  // held while registers are made
  int next_instance_ WEFT_GUARDED_BY(registers_mutex_) = 0;
};

// Flushes standard output and error and ends the process without destructors and without MPI_Finalize, which waits for
// ranks that may never come. mpirun then ends the other ranks.
[[noreturn]] void ExitWithoutFinalize(int code);

}  // namespace weft
