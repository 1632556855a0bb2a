#include "cli/run_watcher.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "common/rpc/rpc.h"
#include "proto/coordinator.grpc.pb.h"

namespace weft {

struct RunWatcher::Wire {
  explicit Wire(const std::shared_ptr<grpc::Channel>& channel) : stub(v1::Coordinator::NewStub(channel)) {
    reader = stub->Watch(&context, v1::WatchRequest());
  }
  std::unique_ptr<v1::Coordinator::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<v1::RunEvent>> reader;
};

Result<std::unique_ptr<RunWatcher>> RunWatcher::Connect(const std::string& address, TimePoint deadline) {
  WEFT_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, weft::Connect(address, deadline));
  return std::unique_ptr<RunWatcher>(new RunWatcher(std::make_unique<Wire>(channel)));
}

RunWatcher::RunWatcher(std::unique_ptr<Wire> wire) : wire_(std::move(wire)) {
  reader_ = std::thread([this] { Read(); });
}

RunWatcher::~RunWatcher() {
  wire_->context.TryCancel();
  reader_.join();
}

void RunWatcher::Read() {
  v1::RunEvent event;
  while (wire_->reader->Read(&event)) {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
    changed_.NotifyAll();
  }
  // How it ended does not matter: a run that has ended said so in an event.
  [[maybe_unused]] const grpc::Status status = wire_->reader->Finish();
  MutexLock lock(mutex_);
  ended_ = true;
  changed_.NotifyAll();
}

std::optional<v1::RunEvent> RunWatcher::WaitUntil(TimePoint deadline) {
  MutexLock lock(mutex_);
  while (events_.empty()) {
    if (ended_ || (!changed_.WaitUntil(mutex_, deadline) && events_.empty())) return std::nullopt;
  }
  v1::RunEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

bool RunWatcher::done() {
  MutexLock lock(mutex_);
  return ended_ && events_.empty();
}

Status RunWatcher::Stop() {
  grpc::ClientContext context;
  context.set_deadline(GrpcDeadline(Clock::Steady().Now() + std::chrono::seconds(1)));
  v1::StopResponse response;
  return FromGrpc(wire_->stub->Stop(&context, v1::StopRequest(), &response));
}

}  // namespace weft
