// The thread that makes every MPI call of a process. While messages come and go it looks again at once; then it sleeps
// between two looks, a 32nd of the time since the last event, at most MpiOptions::longest_sleep: a message is seen
// late by a small part of the time that it was waited for, and an idle rank takes little of a processor. An operation
// that is posted wakes it at once.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "agent/transport/mpi/mpi_transport.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"

namespace weft {

// What MPI says of an error code.
std::string MpiErrorText(int code);

class MpiProgress {
 public:
  enum class Direction { kSend, kReceive, kOneSided };
  struct Operation {
    Direction direction = Direction::kSend;
    int peer = 0;
    int tag = 0;
    std::span<std::byte> data{};  // a send only reads it
    Completion done{};
    int parts_left = 0;                                              // that MPI still owns
    Status error{};                                                  // the first part's that failed
    std::vector<std::shared_ptr<std::vector<std::byte>>> buffers{};  // of a one-sided one, which owns them
  };

  explicit MpiProgress(const MpiOptions& options);

  // Starts the thread and waits until MPI is initialized. See MpiTransport::Create for the errors.
  static Status Start(const std::shared_ptr<MpiProgress>& self, TimePoint deadline);

  void Post(Operation operation) WEFT_EXCLUDES(mutex_);
  // Runs `run` on the thread, with OK or with what every operation now ends with.
  void PostRun(std::function<void(const Status&)> run) WEFT_EXCLUDES(mutex_);
  // Runs `run` on the thread and waits for it until `deadline`: DEADLINE_EXCEEDED means that MPI hangs.
  Status RunOnThread(std::function<Status()> run, TimePoint deadline, const char* what) WEFT_EXCLUDES(mutex_);

  void Abort(const Status& cause) WEFT_EXCLUDES(mutex_);
  Status Shutdown(TimePoint deadline) WEFT_EXCLUDES(mutex_);
  // Ends the thread (or lets it go, when it hangs in MPI).
  void Stop() WEFT_EXCLUDES(mutex_);

  // For one-sided calls, on the thread: an operation, each of its requests, and its end when all have ended already.
  static std::shared_ptr<Operation> OneSided(int rank, Completion done);
  void Track(MPI_Request request, const std::shared_ptr<Operation>& operation);
  static void EndIfNothingIsLeft(Operation& operation);
  // `free` is run before MPI is finalized, when all ranks are there, in the order of these calls. On the thread.
  void BeforeFinalize(std::function<void()> free) { before_finalize_.push_back(std::move(free)); }
  // For measurements, on the thread: looks at the network once.
  bool Test();

  int rank() const { return rank_; }
  int world_size() const { return world_size_; }
  const std::string& description() const { return description_; }

 private:
  struct Part {
    std::shared_ptr<Operation> operation;
    std::size_t bytes = 0;
  };

  // All of these run on the thread.
  void Main();
  Status Initialize();
  bool RunPosted() WEFT_EXCLUDES(mutex_);
  void Begin(Operation operation);
  void EndPart(const Part& part, int code, MPI_Status& status);
  void CancelAll(const Status& cause);
  Status AgreeAndFinalize(TimePoint deadline);
  void Rest(TimePoint last_event) WEFT_EXCLUDES(mutex_);

  const MpiOptions options_;

  // Set by the thread before Start returns, constant from then on.
  int rank_ = 0;
  int world_size_ = 0;
  std::string description_;

  Mutex mutex_;
  CondVar posted_changed_;
  CondVar state_changed_;
  std::vector<std::function<void()>> posted_ WEFT_GUARDED_BY(mutex_);  // to be run on the thread, in order
  bool stopping_ WEFT_GUARDED_BY(mutex_) = false;
  bool initialized_ WEFT_GUARDED_BY(mutex_) = false;
  bool ended_ WEFT_GUARDED_BY(mutex_) = false;  // the thread makes no further call
  bool hangs_ WEFT_GUARDED_BY(mutex_) = false;  // in MPI, past a deadline: it can't be joined
  Status initialization_ WEFT_GUARDED_BY(mutex_);

  // The thread's own. requests_[i] belongs to parts_[i].
  std::vector<MPI_Request> requests_;
  std::vector<Part> parts_;
  std::vector<int> completed_;        // of one look; kept for its memory
  std::vector<MPI_Status> statuses_;  // likewise
  std::vector<std::function<void()>> before_finalize_;
  std::vector<Part> left_behind_;  // with MPI, by an abort: their buffers may still be written
  Status aborted_;                 // not OK: what every later operation ends with
  bool mpi_usable_ = false;        // initialized, not finalized, and no buffer left behind by an abort

  std::thread thread_;
};

}  // namespace weft
