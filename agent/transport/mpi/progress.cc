#include "agent/transport/mpi/progress.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "agent/transport/mpi/components.h"
#include "agent/transport/tag.h"
#include "common/check.h"

namespace weft {
namespace {

// How long the thread looks again at once after something happened: a few round trips of a small message.
constexpr Duration kKeepLooking = std::chrono::microseconds(50);
constexpr Duration kShortestSleep = std::chrono::microseconds(10);
// Waits that the thread ends by a notification; the time only bounds a lost one.
constexpr Duration kWaitStep = std::chrono::seconds(1);
// How long an abort waits for MPI to give up buffers.
constexpr Duration kAbortLimit = std::chrono::milliseconds(100);

TimePoint Now() { return Clock::Steady().Now(); }

int ErrorClass(int code) {
  int error_class = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &error_class);
  return error_class;
}

}  // namespace

std::string MpiErrorText(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return "MPI error " + std::to_string(code);
  return std::string(text, static_cast<std::size_t>(length));
}

MpiProgress::MpiProgress(const MpiOptions& options) : options_(options) {}

Status MpiProgress::Start(const std::shared_ptr<MpiProgress>& self, TimePoint deadline) {
  // Signals are the caller's: the thread, and those that MPI starts from it, take none.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  self->thread_ = std::thread([self] { self->Main(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);

  Status result;
  {
    const MutexLock lock(self->mutex_);
    while (!self->initialized_) {
      if (!self->state_changed_.WaitUntil(self->mutex_, deadline) && !self->initialized_) {
        self->hangs_ = true;
        break;
      }
    }
    result = self->initialized_
                 ? self->initialization_
                 : DeadlineExceededError("MPI_Init did not end before its deadline: a rank did not come");
  }
  if (!result.ok()) self->Stop();
  return result;
}

void MpiProgress::Post(Operation operation) {
  // std::function wants something that can be copied.
  auto shared = std::make_shared<Operation>(std::move(operation));
  PostRun([this, shared](const Status& refusal) {
    if (refusal.ok()) return Begin(std::move(*shared));
    shared->done(refusal);
  });
}

void MpiProgress::PostRun(std::function<void(const Status&)> run) {
  {
    const MutexLock lock(mutex_);
    if (!ended_) {
      posted_.emplace_back([this, run = std::move(run)] { run(aborted_); });
      posted_changed_.NotifyOne();
      return;
    }
  }
  run(CancelledError("MPI is shut down"));
}

void MpiProgress::Abort(const Status& cause) {
  const auto run = [this](std::function<void()> what) {
    const Status ran = RunOnThread(
        [what = std::move(what)] {
          what();
          return OkStatus();
        },
        TimePoint::max(), "abort");
    WEFT_CHECK(ran.ok()) << ran.ToString();
  };
  run([this, cause] { CancelAll(cause); });
  // What completions had started meanwhile, such as the next messages of a sum, ends as well.
  run([] {});
}

Status MpiProgress::Shutdown(TimePoint deadline) {
  return RunOnThread([this, deadline] { return AgreeAndFinalize(deadline); }, deadline + kAbortLimit, "MPI_Finalize");
}

Status MpiProgress::RunOnThread(std::function<Status()> run, TimePoint deadline, const char* what) {
  WEFT_CHECK(std::this_thread::get_id() != thread_.get_id()) << "a completion must not wait for the transport";
  struct Outcome {
    bool ran = false;
    Status status;
  };
  auto outcome = std::make_shared<Outcome>();  // guarded by mutex_; the thread may set it when nobody waits any more
  const MutexLock lock(mutex_);
  if (ended_) return OkStatus();
  posted_.emplace_back([this, outcome, run = std::move(run)] {
    const Status status = run();
    const MutexLock inner(mutex_);
    outcome->ran = true;
    outcome->status = status;
    state_changed_.NotifyAll();
  });
  posted_changed_.NotifyOne();
  while (!outcome->ran) {
    state_changed_.WaitUntil(mutex_, std::min(deadline, Now() + kWaitStep));
    if (!outcome->ran && Now() >= deadline) {
      hangs_ = true;
      return DeadlineExceededError("rank " + std::to_string(rank_) + ": " + what + " did not end before its deadline");
    }
  }
  return outcome->status;
}

void MpiProgress::Stop() {
  bool hangs = false;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    hangs = hangs_;
    posted_changed_.NotifyOne();
  }
  if (hangs) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void MpiProgress::Main() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  prctl(PR_SET_NAME, "mpi-progress", 0UL, 0UL, 0UL);
  const Status initialization = Initialize();
  {
    const MutexLock lock(mutex_);
    initialization_ = initialization;
    initialized_ = true;
    state_changed_.NotifyAll();
  }
  TimePoint last_event = Now();
  while (true) {
    const bool ran = RunPosted();
    const bool completed = mpi_usable_ && Test();
    if (ran || completed) {
      last_event = Now();
      continue;
    }
    {
      const MutexLock lock(mutex_);
      if (stopping_ && posted_.empty()) break;
    }
    Rest(last_event);
  }
  CancelAll(CancelledError("the transport was closed"));
  std::vector<std::function<void()>> late;
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    late.swap(posted_);
  }
  for (const auto& run : late) run();
}

Status MpiProgress::Initialize() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  mpi_usable_ = true;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size_);
  description_ = MpiComponents() + " of " + MpiVersion();
  if (provided < MPI_THREAD_SERIALIZED) {
    return FailedPreconditionError("MPI gives thread level " + std::to_string(provided) + ", below SERIALIZED");
  }
  void* limit = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&limit), &found);
  const int largest_tag = found != 0 ? *static_cast<int*>(limit) : 32767;
  if (largest_tag < Tag::kMaxValue) {
    return FailedPreconditionError("MPI (" + description_ + ") carries tags up to " + std::to_string(largest_tag) +
                                   ", below " + std::to_string(Tag::kMaxValue));
  }
  return OkStatus();
}

bool MpiProgress::RunPosted() {
  std::vector<std::function<void()>> posted;
  {
    const MutexLock lock(mutex_);
    if (posted_.empty()) return false;
    posted.swap(posted_);
  }
  for (const auto& run : posted) run();
  return true;
}

void MpiProgress::Begin(Operation operation) {
  auto shared = std::make_shared<Operation>(std::move(operation));
  std::size_t offset = 0;
  do {
    const std::size_t bytes = std::min(options_.part_bytes, shared->data.size() - offset);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = shared->direction == Direction::kSend
                         ? MPI_Isend(shared->data.data() + offset, static_cast<int>(bytes), MPI_BYTE, shared->peer,
                                     shared->tag, MPI_COMM_WORLD, &request)
                         : MPI_Irecv(shared->data.data() + offset, static_cast<int>(bytes), MPI_BYTE, shared->peer,
                                     shared->tag, MPI_COMM_WORLD, &request);
    if (code != MPI_SUCCESS) {
      shared->error = UnavailableError("rank " + std::to_string(shared->peer) + ": " + MpiErrorText(code));
      break;
    }
    Track(request, shared);
    parts_.back().bytes = bytes;
    offset += bytes;
  } while (offset < shared->data.size());
  EndIfNothingIsLeft(*shared);
}

std::shared_ptr<MpiProgress::Operation> MpiProgress::OneSided(int rank, Completion done) {
  return std::make_shared<Operation>(
      Operation{.direction = Direction::kOneSided, .peer = rank, .done = std::move(done)});
}

void MpiProgress::Track(MPI_Request request, const std::shared_ptr<Operation>& operation) {
  requests_.push_back(request);
  parts_.push_back({operation, 0});
  ++operation->parts_left;
}

void MpiProgress::EndIfNothingIsLeft(Operation& operation) {
  if (operation.parts_left == 0) operation.done(operation.error);
}

// True when something completed.
bool MpiProgress::Test() {
  if (requests_.empty()) {
    // Nothing of ours is in flight, but MPI may have to answer a peer (a connection, the end of a buffered send).
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    return false;
  }
  completed_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const int code =
      MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, completed_.data(), statuses_.data());
  if (count <= 0) return false;
  std::vector<Part> ended;
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]);
    ended.push_back(std::move(parts_[index]));
    // MPI leaves it so when it succeeded; one that failed must not be tested again either.
    requests_[index] = MPI_REQUEST_NULL;
  }
  std::erase_if(parts_, [](const Part& part) { return part.operation == nullptr; });
  std::erase(requests_, MPI_REQUEST_NULL);
  WEFT_CHECK(parts_.size() == requests_.size()) << parts_.size() << " parts, " << requests_.size() << " requests";
  // Completions may start operations: only after the lists agree again.
  for (std::size_t i = 0; i < ended.size(); ++i) {
    MPI_Status& status = statuses_[i];
    EndPart(ended[i], code == MPI_ERR_IN_STATUS ? status.MPI_ERROR : code, status);
  }
  return true;
}

void MpiProgress::EndPart(const Part& part, int code, MPI_Status& status) {
  Operation& operation = *part.operation;
  Status error;
  int cancelled = 0;
  if (operation.direction == Direction::kReceive) MPI_Test_cancelled(&status, &cancelled);
  if (cancelled != 0) {
    error = aborted_;
  } else if (code != MPI_SUCCESS && ErrorClass(code) == MPI_ERR_TRUNCATE) {
    error = DataLossError("a message from rank " + std::to_string(operation.peer) + " is larger than the buffer of " +
                          std::to_string(operation.data.size()) + " bytes");
  } else if (code != MPI_SUCCESS) {
    error = UnavailableError("rank " + std::to_string(operation.peer) + ": " + MpiErrorText(code));
  } else if (operation.direction == Direction::kReceive) {
    int received = 0;
    MPI_Get_count(&status, MPI_BYTE, &received);
    if (static_cast<std::size_t>(received) != part.bytes) {
      error = DataLossError("a message of " + std::to_string(received) + " bytes from rank " +
                            std::to_string(operation.peer) + " for a buffer of " + std::to_string(part.bytes));
    }
  }
  if (operation.error.ok()) operation.error = error;
  if (--operation.parts_left == 0) operation.done(operation.error);
}

void MpiProgress::CancelAll(const Status& cause) {
  if (!aborted_.ok()) return;
  aborted_ = CancelledError(cause.message());
  if (!mpi_usable_) return;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    // Open MPI cancels receives that no message has matched yet, and no sends.
    if (parts_[i].operation->direction == Direction::kReceive) MPI_Cancel(&requests_[i]);
  }
  const TimePoint limit = Now() + kAbortLimit;
  while (!requests_.empty() && Now() < limit) {
    if (!Test()) sched_yield();
  }
  if (requests_.empty()) return;
  mpi_usable_ = false;
  std::vector<Part> left;
  left.swap(parts_);
  requests_.clear();
  left_behind_ = left;
  for (const Part& part : left) {
    if (--part.operation->parts_left == 0) part.operation->done(aborted_);
  }
}

Status MpiProgress::AgreeAndFinalize(TimePoint deadline) {
  CancelAll(CancelledError("the transport is being shut down"));
  if (!mpi_usable_) return FailedPreconditionError("an abort left buffers to MPI, or MPI is finalized");
  MPI_Request all_here = MPI_REQUEST_NULL;
  if (const int code = MPI_Ibarrier(MPI_COMM_WORLD, &all_here); code != MPI_SUCCESS) {
    return UnavailableError("waiting for all ranks: " + MpiErrorText(code));
  }
  const TimePoint start = Now();
  int done = 0;
  while (true) {
    if (const int code = MPI_Test(&all_here, &done, MPI_STATUS_IGNORE); code != MPI_SUCCESS) {
      return UnavailableError("waiting for all ranks: " + MpiErrorText(code));
    }
    if (done != 0) break;
    if (Now() >= deadline) {
      mpi_usable_ = false;
      return DeadlineExceededError("rank " + std::to_string(rank_) + ": not all ranks came to the shutdown in time");
    }
    Rest(start);
  }
  for (const auto& free : before_finalize_) free();
  MPI_Finalize();
  mpi_usable_ = false;
  return OkStatus();
}

void MpiProgress::Rest(TimePoint last_event) {
  const TimePoint now = Now();
  const Duration idle = now - last_event;
  if (mpi_usable_ && idle < kKeepLooking) {
    sched_yield();
    return;
  }
  const Duration sleep =
      mpi_usable_ ? std::min(options_.longest_sleep, std::max<Duration>(kShortestSleep, idle / 32)) : kWaitStep;
  const MutexLock lock(mutex_);
  if (posted_.empty() && !stopping_) posted_changed_.WaitUntil(mutex_, now + sleep);
}

}  // namespace weft
