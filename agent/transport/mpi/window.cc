#include "agent/transport/mpi/window.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "agent/transport/register_memory.h"
#include "common/check.h"

namespace weft {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kPartBytes = 256 << 10;
constexpr std::size_t kAlignment = 64;
// MPI_Comm_create_group sends messages of this tag over MPI_COMM_WORLD, where a receive of ours with the same tag would
// take them, and the call never return. Of no message: links are measured before registers are made, with channel 0.
constexpr Tag kGroupTag{MessageKind::kProbe, Tag::kMaxChannel, 255};

MPI_Op OpOf(FetchOperation operation) {
  switch (operation) {
    case FetchOperation::kAdd:
      return MPI_SUM;
    case FetchOperation::kOr:
      return MPI_BOR;
    case FetchOperation::kAnd:
      return MPI_BAND;
  }
  return MPI_NO_OP;
}

}  // namespace

Result<std::shared_ptr<MpiWindow>> MpiWindow::Create(MpiProgress& progress, int ranks, std::size_t bytes) {
  std::shared_ptr<MpiWindow> window(new MpiWindow(progress, ranks, bytes));
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  std::vector<int> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, ranks, members.data(), &group);
  int code = MPI_Comm_create_group(MPI_COMM_WORLD, group, kGroupTag.value(), &window->communicator_);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  if (code != MPI_SUCCESS) return UnimplementedError("no communicator of the workers: " + MpiErrorText(code));
  MPI_Comm_set_errhandler(window->communicator_, MPI_ERRORS_RETURN);
  if (const Status opened = window->Open(); !opened.ok()) return opened;
  return window;
}

Status MpiWindow::Open() {
  void* base = nullptr;
  int code = MPI_Win_allocate(static_cast<MPI_Aint>(bytes_ + kAlignment), 1, MPI_INFO_NULL, communicator_,
                              static_cast<void*>(&base), &window_);
  if (code != MPI_SUCCESS) return UnimplementedError("no window: " + MpiErrorText(code));
  MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
  const std::size_t start = (kAlignment - reinterpret_cast<std::uintptr_t>(base) % kAlignment) % kAlignment;
  local_ = {static_cast<std::byte*>(base) + start, bytes_};
  std::memset(local_.data(), 0, local_.size());
  const auto mine = static_cast<MPI_Aint>(start);
  starts_.resize(static_cast<std::size_t>(ranks_));
  // Also makes sure that all have zeroed theirs.
  code = MPI_Allgather(&mine, 1, MPI_AINT, starts_.data(), 1, MPI_AINT, communicator_);
  if (code != MPI_SUCCESS) return UnimplementedError("no window: " + MpiErrorText(code));
  void* model = nullptr;
  int found = 0;
  MPI_Win_get_attr(window_, MPI_WIN_MODEL, static_cast<void*>(&model), &found);
  if (found == 0 || *static_cast<int*>(model) != MPI_WIN_UNIFIED) {
    return UnimplementedError("MPI keeps a second copy of windows");
  }
  // Nobody locks exclusively, so there is nothing to wait for.
  code = MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  if (code != MPI_SUCCESS) return UnimplementedError("the window can't be opened: " + MpiErrorText(code));
  return OkStatus();
}

MPI_Aint MpiWindow::At(int rank, std::size_t offset) const {
  return starts_[static_cast<std::size_t>(rank)] + static_cast<MPI_Aint>(offset);
}

void MpiWindow::Free() {
  if (window_ != MPI_WIN_NULL) {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  if (communicator_ != MPI_COMM_NULL) MPI_Comm_free(&communicator_);
}

bool MpiWindow::StartPart(const std::shared_ptr<MpiProgress::Operation>& operation, const Start& start) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (const int code = start(&request); code != MPI_SUCCESS) {
    operation->error = UnavailableError("rank " + std::to_string(operation->peer) + ": " + MpiErrorText(code));
    return false;
  }
  progress_.Track(request, operation);
  return true;
}

void MpiWindow::Get(int rank, std::size_t offset, SharedBytes into, RegisterDone done) {
  const auto operation = MpiProgress::OneSided(rank, std::move(done));
  operation->buffers.push_back(into);
  for (std::size_t begin = 0; begin < into->size(); begin += kPartBytes) {
    const auto words = static_cast<int>(std::min(kPartBytes, into->size() - begin) / kWord);
    const MPI_Aint at = At(rank, offset + begin);
    const bool started = StartPart(operation, [&](MPI_Request* request) {
      return MPI_Rget(into->data() + begin, words, MPI_UINT64_T, rank, at, words, MPI_UINT64_T, window_, request);
    });
    if (!started) break;
  }
  MpiProgress::EndIfNothingIsLeft(*operation);
}

void MpiWindow::Put(int rank, std::size_t offset, SharedBytes from, RegisterDone done) {
  const auto operation = MpiProgress::OneSided(rank, std::move(done));
  const auto before = std::make_shared<std::vector<std::byte>>(from->size());
  operation->buffers = {from, before};
  for (std::size_t begin = 0; begin < from->size(); begin += kPartBytes) {
    const auto words = static_cast<int>(std::min(kPartBytes, from->size() - begin) / kWord);
    const MPI_Aint at = At(rank, offset + begin);
    const bool started = StartPart(operation, [&](MPI_Request* request) {
      return MPI_Rget_accumulate(from->data() + begin, words, MPI_UINT64_T, before->data() + begin, words, MPI_UINT64_T,
                                 rank, at, words, MPI_UINT64_T, MPI_REPLACE, window_, request);
    });
    if (!started) break;
  }
  MpiProgress::EndIfNothingIsLeft(*operation);
}

void MpiWindow::Fetch(int rank, std::size_t offset, FetchOperation operation, std::uint64_t operand, FetchDone done) {
  const auto words = std::make_shared<std::vector<std::byte>>(2 * kWord);  // the operand, and the word before
  std::memcpy(words->data(), &operand, kWord);
  const auto one_sided =
      MpiProgress::OneSided(rank, [words = words.get(), done = std::move(done)](const Status& status) {
        if (!status.ok()) return done(status);
        std::uint64_t before = 0;
        std::memcpy(&before, words->data() + kWord, kWord);
        done(before);
      });
  one_sided->buffers.push_back(words);
  StartPart(one_sided, [&](MPI_Request* request) {
    return MPI_Rget_accumulate(words->data(), 1, MPI_UINT64_T, words->data() + kWord, 1, MPI_UINT64_T, rank,
                               At(rank, offset), 1, MPI_UINT64_T, OpOf(operation), window_, request);
  });
  MpiProgress::EndIfNothingIsLeft(*one_sided);
}

void WindowRegisters::Get(int rank, std::size_t offset, SharedBytes into, RegisterDone done) {
  CheckWords(offset, into->size(), local().size());
  progress_->PostRun(
      [window = window_, rank, offset, into = std::move(into), done = std::move(done)](const Status& refusal) {
        if (!refusal.ok()) return done(refusal);
        window->Get(rank, offset, into, done);
      });
}

void WindowRegisters::Put(int rank, std::size_t offset, SharedBytes from, RegisterDone done) {
  CheckWords(offset, from->size(), local().size());
  progress_->PostRun(
      [window = window_, rank, offset, from = std::move(from), done = std::move(done)](const Status& refusal) {
        if (!refusal.ok()) return done(refusal);
        window->Put(rank, offset, from, done);
      });
}

void WindowRegisters::Fetch(int rank, std::size_t offset, FetchOperation operation, std::uint64_t operand,
                            FetchDone done) {
  CheckWords(offset, kWord, local().size());
  progress_->PostRun(
      [window = window_, rank, offset, operation, operand, done = std::move(done)](const Status& refusal) {
        if (!refusal.ok()) return done(refusal);
        window->Fetch(rank, offset, operation, operand, done);
      });
}

}  // namespace weft
