// Registers by MPI's one-sided calls (registers.h): a window, which every rank opens for all of its life.
//
// Only calls that give a request, which the progress thread tests with all others: a flush would block it for as long
// as one peer stands still. A request of MPI_Rput ends when the origin's memory is free, and says nothing of the
// target; so a Put is an MPI_Rget_accumulate with MPI_REPLACE, which ends with the old words' arrival, and which writes
// words whole. It costs the way back. Larger operations go in parts of 256 KiB, as messages do.
//
// The window is freed in Shutdown, when all ranks are there; without Shutdown the process ends without MPI_Finalize.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/transport/mpi/progress.h"
#include "agent/transport/registers.h"

namespace weft {

// The window of the `ranks` first ranks. Everything but local() runs on the progress thread.
class MpiWindow : public std::enable_shared_from_this<MpiWindow> {
 public:
  // Collective, and blocking: for when all of the ranks are known to be there. `bytes` zeroed bytes of each rank.
  // UNIMPLEMENTED with MPI's error text, or when MPI keeps a second copy of windows, which would have to be
  // synchronized by calls.
  static Result<std::shared_ptr<MpiWindow>> Create(MpiProgress& progress, int ranks, std::size_t bytes);

  std::span<std::byte> local() const { return local_; }

  void Get(int rank, std::size_t offset, SharedBytes into, RegisterDone done);
  void Put(int rank, std::size_t offset, SharedBytes from, RegisterDone done);
  void Fetch(int rank, std::size_t offset, FetchOperation operation, std::uint64_t operand, FetchDone done);
  // Collective.
  void Free();

 private:
  MpiWindow(MpiProgress& progress, int ranks, std::size_t bytes) : progress_(progress), ranks_(ranks), bytes_(bytes) {}
  Status Open();

  MPI_Aint At(int rank, std::size_t offset) const;
  // Starts one request of `operation`; false when MPI refuses.
  using Start = std::function<int(MPI_Request*)>;
  bool StartPart(const std::shared_ptr<MpiProgress::Operation>& operation, const Start& start);

  MpiProgress& progress_;
  const int ranks_;
  const std::size_t bytes_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  std::span<std::byte> local_;
  std::vector<MPI_Aint> starts_;  // by rank: where its aligned memory begins in its part of the window
};

class WindowRegisters : public Registers {
 public:
  WindowRegisters(std::shared_ptr<MpiProgress> progress, std::shared_ptr<MpiWindow> window, RegisterMechanism mechanism,
                  std::string reason)
      : progress_(std::move(progress)), window_(std::move(window)), mechanism_(mechanism), reason_(std::move(reason)) {}

  RegisterMechanism mechanism() const override { return mechanism_; }
  const std::string& reason() const override { return reason_; }
  std::span<std::byte> local() override { return window_->local(); }
  void Get(int rank, std::size_t offset, SharedBytes into, RegisterDone done) override;
  void Put(int rank, std::size_t offset, SharedBytes from, RegisterDone done) override;
  void Fetch(int rank, std::size_t offset, FetchOperation operation, std::uint64_t operand, FetchDone done) override;

 private:
  const std::shared_ptr<MpiProgress> progress_;
  const std::shared_ptr<MpiWindow> window_;
  const RegisterMechanism mechanism_;
  const std::string reason_;
};

}  // namespace weft
