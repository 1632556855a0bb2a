#include "agent/transport/mpi/mpi_transport.h"

#include <unistd.h>

#include <climits>
#include <cstdio>
#include <utility>

#include "agent/transport/mpi/progress.h"
#include "agent/transport/mpi/register_probe.h"
#include "agent/transport/mpi/window.h"
#include "agent/transport/register_service.h"
#include "agent/transport/shared_registers.h"
#include "common/check.h"

namespace weft {
Result<std::unique_ptr<MpiTransport>> MpiTransport::Create(const MpiOptions& options, TimePoint deadline) {
  WEFT_CHECK(options.part_bytes > 0 && options.part_bytes <= INT_MAX) << options.part_bytes;
  auto progress = std::make_shared<MpiProgress>(options);
  WEFT_RETURN_IF_ERROR(MpiProgress::Start(progress, deadline));
  return std::unique_ptr<MpiTransport>(new MpiTransport(std::move(progress), options.share_memory));
}

MpiTransport::~MpiTransport() { progress_->Stop(); }

int MpiTransport::rank() const { return progress_->rank(); }
int MpiTransport::world_size() const { return progress_->world_size(); }
std::string MpiTransport::description() const { return progress_->description(); }

void MpiTransport::Send(int to, Tag tag, std::span<const std::byte> data, Completion done) {
  WEFT_CHECK(to >= 0 && to < world_size()) << "rank " << to;
  // MPI's receives take memory that is not constant; a send leaves it alone.
  const std::span<std::byte> bytes(const_cast<std::byte*>(data.data()), data.size());
  progress_->Post({.direction = MpiProgress::Direction::kSend,
                   .peer = to,
                   .tag = tag.value(),
                   .data = bytes,
                   .done = std::move(done)});
}

void MpiTransport::Receive(int from, Tag tag, std::span<std::byte> data, Completion done) {
  WEFT_CHECK(from >= 0 && from < world_size()) << "rank " << from;
  progress_->Post({.direction = MpiProgress::Direction::kReceive,
                   .peer = from,
                   .tag = tag.value(),
                   .data = data,
                   .done = std::move(done)});
}

void MpiTransport::AllReduce(std::span<float> data, int ranks, Completion done) {
  progress_->PostRun([this, data, ranks, done = std::move(done)](const Status& refusal) mutable {
    if (!refusal.ok() || data.empty() || ranks == 1) return done(refusal);
    all_reduce_.Start(data, ranks, std::move(done));
  });
}

Result<std::unique_ptr<Registers>> MpiTransport::MakeRegisters(const RegistersOptions& options, TimePoint deadline) {
  const MutexLock lock(registers_mutex_);
  WEFT_ASSIGN_OR_RETURN(const int instance, AgreeOnInstance(*this, options.ranks, next_instance_, deadline));
  RegisterChoice choice{.mechanism = options.mechanism.value_or(RegisterMechanism::kSharedMemory),
                        .reason = "asked for"};
  Status not_shared = UnimplementedError("not wanted");
  if (choice.mechanism == RegisterMechanism::kSharedMemory && options.share_memory && share_memory_) {
    auto shared = SharedRegisters::Make(*this, options, instance, deadline);
    if (shared.ok()) return std::unique_ptr<Registers>(std::move(shared).value());
    not_shared = shared.status();
  }
  if (choice.mechanism == RegisterMechanism::kSharedMemory) {
    if (options.mechanism || not_shared.code() != StatusCode::kUnimplemented) return not_shared;
    WEFT_ASSIGN_OR_RETURN(const int probed, AgreeOnInstance(*this, options.ranks, next_instance_, deadline));
    WEFT_ASSIGN_OR_RETURN(choice, ProbeRegisters(*this, progress_, options.ranks, probed, deadline));
    choice.reason += "; no shared memory: " + not_shared.message();
  }
  if (choice.mechanism == RegisterMechanism::kService) {
    return std::unique_ptr<Registers>(std::make_unique<RegisterService>(*this, options, instance, choice.reason));
  }
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<MpiWindow> window,
                        MakeWindow(*this, progress_, options.ranks, options.bytes, instance, deadline));
  return std::unique_ptr<Registers>(
      std::make_unique<WindowRegisters>(progress_, std::move(window), choice.mechanism, choice.reason));
}

void MpiTransport::Abort(const Status& cause) { progress_->Abort(cause); }

Status MpiTransport::Shutdown(TimePoint deadline) { return progress_->Shutdown(deadline); }

void ExitWithoutFinalize(int code) {
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace weft
